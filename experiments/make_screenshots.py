"""Make the pictures of docs/page.md: starts the demonstration's page and uses it in Chromium.

python experiments/make_screenshots.py [FOLDER]
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import sklearn.datasets
from playwright.sync_api import Page, sync_playwright

CHROMIUM = os.environ.get("TUPI_CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
N_ANSWERS = 20
PATIENCE = 180_000  # milliseconds


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        command = [sys.executable, "-c", "from tupi.cli import main; main()", "serve", "--demo", "--no-browser"]
        server = subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            found = re.match(r"Open (\S+)", server.stdout.readline())
            assert found is not None
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            use(browser.new_page(viewport={"width": 1200, "height": 860}), found[1], folder)
            narrow = browser.new_context(
                viewport={"width": 400, "height": 860}, color_scheme="dark", device_scale_factor=1
            )
            small(narrow.new_page(), found[1], folder)
            browser.close()
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(20)


def use(page: Page, address: str, folder: Path) -> None:
    """Do the four things, and take a picture of each."""
    open_page(page, address)
    page.wait_for_selector("#overview .gained .verdict")
    page.wait_for_timeout(1000)  # pictures in sight load
    page.screenshot(path=folder / "page-overview.png")
    page.click("nav a[href='#explore']")
    page.click("#by-hand")
    page.wait_for_selector("#plot-accuracy .main-svg")
    while page.locator("#heat button[aria-label*=step]").count() < page.locator("#heat button").count() or not (
        page.locator("#heat button").count()
    ):
        page.wait_for_timeout(300)
    page.screenshot(path=folder / "page-explore.png", full_page=True)
    page.click("nav a[href='#teach']")
    teach(page)
    page.screenshot(path=folder / "page-teach.png")
    page.click("nav a[href='#decide']")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    page.wait_for_timeout(500)
    page.screenshot(path=folder / "page-decide.png", full_page=True)


def small(page: Page, address: str, folder: Path) -> None:
    """Take a picture of a narrow, dark window."""
    open_page(page, address)
    page.click("nav a[href='#teach']")
    page.wait_for_selector("#choose-left img")
    page.wait_for_timeout(1000)
    page.screenshot(path=folder / "page-narrow.png")


def open_page(page: Page, address: str) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("body[data-ready]")


def teach(page: Page) -> None:
    """Answer some questions rightly."""
    digits = sklearn.datasets.load_digits().target
    for k in range(N_ANSWERS):
        page.wait_for_selector("#choose-left[aria-disabled=false] .name")
        left, right = (digits[int(page.inner_text(f"#choose-{side} .name"))] for side in ("left", "right"))
        page.keyboard.press("ArrowLeft" if left > right else "ArrowRight" if right > left else "ArrowDown")
        while f"{k + 1} answer" not in page.inner_text("#saved"):
            page.wait_for_timeout(20)
    page.wait_for_selector("#gain-bar:not([hidden])")
    while "being counted" in page.inner_text("#gain-words"):
        page.wait_for_timeout(200)


if __name__ == "__main__":
    main()
