"""Make the pictures of docs/page.md: pages of demonstrations, used in Chromium on a desk and on a phone.

    python experiments/make_screenshots.py [FOLDER] [--only PAGE]

The pages: `demo` (ranking), `classes`, `values` and `queries`.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn.datasets
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from sklearn.linear_model import LinearRegression, LogisticRegression

from tupi.page.demo_files import write_demo_files
from tupi.research.datasets.digits import load_digits

CHROMIUM = os.environ.get("TUPI_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
DESK: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}}
PHONE: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
WINDOWS = {
    f"{name}-{scheme}": window | {"color_scheme": scheme}
    for name, window in (("desk", DESK), ("phone", PHONE))
    for scheme in ("light", "dark")
}
N_ANSWERS = 24
PATIENCE = 180_000  # milliseconds
COLOURS = 256  # of a picture: enough for a page, and half of the bytes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="docs/pictures", type=Path)
    parser.add_argument("--only", choices=list(PAGES))
    words = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, page in PAGES.items():
            if words.only in (None, name):
                page(browser, words.folder)
        browser.close()


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """Give the address of a page that is served from a folder."""
    command = [sys.executable, "-c", "from tupi.cli import main; main()", "serve", *words, "--no-browser"]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        found = re.match(r"Open (\S+)", server.stdout.readline())
        assert found is not None
        yield found[1]
    finally:
        server.send_signal(signal.SIGINT)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:  # in the middle of something long
            server.kill()


@contextmanager
def opened(browser: Browser, window: dict[str, Any], address: str) -> Iterator[Page]:
    """Give a page in a window of its own."""
    context = browser.new_context(**window)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    page.wait_for_selector("body[data-final=true]")
    yield page
    context.close()


def keep(page: Page, path: Path, whole: bool = False) -> None:
    """Save what is seen, or all of a page, in few colours."""
    page.wait_for_timeout(700)  # pictures in sight load, and figures are drawn
    page.screenshot(path=path, full_page=whole)
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(path)


def go(page: Page, view: str) -> None:
    page.click(f"nav a[href='#{view}']")
    page.wait_for_selector(f"#{view}:not([hidden])")


def demo(browser: Browser, folder: Path) -> None:
    """Show the four views of the demonstration, and one of its items."""
    with tempfile.TemporaryDirectory() as work, served(Path(work), "--demo") as address:
        for name, window in WINDOWS.items():
            with opened(browser, window, address) as page:
                page.wait_for_selector("#overview .gained .verdict")
                page.wait_for_selector("#views-table td")
                keep(page, folder / f"page-overview-{name}.png")
                page.click("#movers-up li:first-child button")
                page.wait_for_selector("#item .parts")
                keep(page, folder / f"page-item-{name}.png")
                page.click("#item-close")
                go(page, "explore")
                page.click("#by-hand")
                page.wait_for_selector("#plot-accuracy .main-svg")
                while page.locator("#heat button.pending").count() or not page.locator("#heat button.best").count():
                    page.wait_for_timeout(300)
                keep(page, folder / f"page-explore-{name}.png", whole=True)
                go(page, "teach")
                if name == "desk-light":
                    compare_digits(page)
                page.wait_for_selector("#choose-left .name")
                keep(page, folder / f"page-teach-{name}.png")
                go(page, "decide")
                if name == "desk-light":
                    page.click("#run")
                page.wait_for_selector("#decision:not([hidden])")
                keep(page, folder / f"page-decide-{name}.png", whole=True)


def compare_digits(page: Page) -> None:
    """Answer some questions rightly."""
    digits = sklearn.datasets.load_digits().target
    for k in range(N_ANSWERS):
        page.wait_for_selector("#choose-left[aria-disabled=false] .name")
        left, right = (digits[int(page.inner_text(f"#choose-{side} .name"))] for side in ("left", "right"))
        page.keyboard.press("ArrowLeft" if left > right else "ArrowRight" if right > left else "ArrowDown")
        wait_saved(page, k + 1)
    page.wait_for_selector("#gain-bar:not([hidden])")
    while "being counted" in page.inner_text("#gain-words"):
        page.wait_for_timeout(200)


def wait_saved(page: Page, count: int) -> None:
    while f"{count} answer" not in page.inner_text("#saved"):
        page.wait_for_timeout(20)


def answer_items(page: Page, say: Callable[[str], None], count: int) -> None:
    """Answer questions about single items, whose names `say` is told."""
    go(page, "teach")
    for k in range(count):
        page.wait_for_selector("#choose-skip[aria-disabled=false]")
        say(page.inner_text("#single-item .name"))
        wait_saved(page, k + 1)


def look_and_teach(page: Page, folder: Path, kind: str, name: str) -> None:
    """Keep the question and the overview of a page."""
    go(page, "teach")
    page.wait_for_selector("#teach .choice .name")
    keep(page, folder / f"page-{kind}-teach-{name}.png")
    go(page, "overview")
    page.wait_for_selector("#overview .gained .verdict")
    while "There are no labels" in page.inner_text("#overview .gained"):
        page.wait_for_timeout(200)
    page.wait_for_selector("#views-table td")
    keep(page, folder / f"page-{kind}-overview-{name}.png")


def of_kind(kind: str, write: Callable[[Path], tuple[list[str], Callable[[Page], None]]]) -> Callable[..., None]:
    """Return what makes the pictures of a page for another task, on a light desk and a dark phone."""

    def make(browser: Browser, folder: Path) -> None:
        with tempfile.TemporaryDirectory() as work:
            words, teach = write(Path(work))
            with served(Path(work), *words) as address:
                for name in ("desk-light", "phone-dark"):
                    with opened(browser, WINDOWS[name], address) as page:
                        if name == "desk-light":
                            teach(page)
                        look_and_teach(page, folder, kind, name)

    return make


def write_classes(folder: Path) -> tuple[list[str], Callable[[Page], None]]:
    """Which digit is it? A classifier that saw one view."""
    write_demo_files(folder)
    data, digits = load_digits("fou"), sklearn.datasets.load_digits().target
    seen = np.random.default_rng(0).permutation(len(digits))[:200]
    weak = LogisticRegression(max_iter=2000).fit(data.views["mor"][seen], digits[seen])
    chances = pd.DataFrame(weak.predict_proba(data.views["mor"]), columns=[f"digit {k}" for k in range(10)])
    chances.insert(0, "id", np.arange(len(digits)))
    chances.to_csv(folder / "chances.csv", index=False)

    def teach(page: Page) -> None:
        answer_items(page, lambda name: page.click(f"#class-choices button:has-text('digit {digits[int(name)]}')"), 40)

    features = [word for view in ("kar", "zer") for word in ("--features", f"{view}={view}.npy")]
    return ["chances.csv", *features, "--task", "classification", "--images", "pictures"], teach


def write_values(folder: Path) -> tuple[list[str], Callable[[Page], None]]:
    """How far did the disease go in a year? A regression that saw three columns."""
    data = sklearn.datasets.load_diabetes(as_frame=True)
    own = ["age", "sex", "bp"]
    weak = LinearRegression().fit(data.data[own], data.target)
    ids = [f"patient {k}" for k in range(len(data.target))]
    table = pd.DataFrame({"id": ids, "predicted": weak.predict(data.data[own]).round(1)})
    table.to_csv(folder / "predicted.csv", index=False)
    for view, columns in (("body", ["bmi"]), ("serum", ["s1", "s2", "s3", "s4", "s5", "s6"])):
        np.save(folder / f"{view}.npy", data.data[columns].to_numpy())

    def teach(page: Page) -> None:
        def say(name: str) -> None:
            page.fill("#value", str(data.target[ids.index(name)]))
            page.press("#value", "Enter")

        answer_items(page, say, 40)

    features = ["--features", "body=body.npy", "--features", "serum=serum.npy"]
    return ["predicted.csv", *features, "--task", "regression"], teach


def write_queries(folder: Path) -> tuple[list[str], Callable[[Page], None]]:
    """Which result is better? Made-up results of made-up queries."""
    rng = np.random.default_rng(0)
    subjects = [
        "bread",
        "bicycles",
        "maps",
        "tea",
        "violins",
        "glaciers",
        "chess",
        "bees",
        "kites",
        "lamps",
        "rivers",
        "salt",
    ]
    forms = ("A short history of {}", "How to buy {}", "All about {}", "{}: questions", "The best {} of the year")
    n = len(subjects) * 10
    quality = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "id": [f"r{k}" for k in range(n)],
            "query": np.repeat(subjects, 10),
            "score": (quality + rng.normal(size=n)).round(3),
            "title": [forms[k % len(forms)].format(subjects[k // 10]).capitalize() for k in range(n)],
        }
    )
    table.to_csv(folder / "results.csv", index=False)
    np.save(folder / "text.npy", np.column_stack([quality, quality**2]) + 0.5 * rng.normal(size=(n, 2)))
    known = rng.permutation(n)[:60]
    pd.DataFrame({"id": table["id"][known], "grade": np.digitize(quality[known], [-0.7, 0, 0.7])}).to_csv(
        folder / "grades.csv", index=False
    )
    words = ["results.csv", "--features", "text=text.npy", "--group", "query", "--labels", "grades.csv"]
    return words, lambda page: None


PAGES: dict[str, Callable[..., None]] = {
    "demo": demo,
    "classes": of_kind("classes", write_classes),
    "values": of_kind("values", write_values),
    "queries": of_kind("queries", write_queries),
}


if __name__ == "__main__":
    main()
