"""How quickly the page follows a person at n = 50,000: drives Chromium and prints medians.

    python benchmarks/page.py [--n 50000] [--repeats 9] [--json FILE]

Times are taken inside the page, from the slider's own event to the animation frame after everything, plots included,
was drawn anew and painted. An answer comes 0.7 s after all that the one before changed was seen. A busy machine makes
the times longer; so what follows an answer is also told in CPU time of the server and of all processes of the browser
(Linux only).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

CHROMIUM = os.environ.get("TUPI_CHROMIUM", "/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Moves a slider and returns the milliseconds until the first ranking of the new setting, and until the last.
MOVE = """([slider, value, wanted]) => new Promise((resolve) => {
  const body = document.body;
  const input = document.getElementById(slider);
  const from = performance.now();
  let first = null;
  const afterPaint = (call) => requestAnimationFrame(() => setTimeout(call)); // the task after a frame was painted
  const look = () => {
    if (!body.dataset.shown.startsWith(wanted)) return;
    if (first === null) afterPaint(() => { first ??= performance.now() - from; });
    if (body.dataset.final !== "true") return;
    observer.disconnect();
    afterPaint(() => {
      const last = performance.now() - from;
      resolve([first ?? last, last]);
    });
  };
  const observer = new MutationObserver(look);
  observer.observe(body, { attributes: true, attributeFilter: ["data-shown", "data-final"] });
  input.value = value;
  input.dispatchEvent(new Event("input", { bubbles: true }));
})"""


# Answers a question and returns the milliseconds until Explore shows what `auto` makes of it, and until its gain does.
ANSWER = """(key) => new Promise(async (resolve) => {
  const body = document.body;
  const { question } = await (await fetch("/api/question?rater=timer")).json();
  const words = { rater: "timer", key, answer: "left", left: question.left.item, right: question.right.item };
  const from = performance.now();
  const headers = { "Content-Type": "application/json" };
  await fetch("/api/answer", { method: "POST", headers, body: JSON.stringify(words) });
  const wanted = String((await (await fetch("/api/status")).json()).labels);
  const afterPaint = (call) => requestAnimationFrame(() => setTimeout(call));
  const times = {};
  const done = (name) => afterPaint(() => {
    times[name] ??= performance.now() - from;
    if (times.shown && times.gain) {
      observer.disconnect();
      resolve([times.shown, times.gain]);
    }
  });
  const look = () => {
    if (body.dataset.labels === wanted && body.dataset.final === "true") done("shown");
    if (body.dataset.judged === wanted) done("gain");
  };
  const observer = new MutationObserver(look);
  observer.observe(body, { attributes: true, attributeFilter: ["data-labels", "data-final", "data-judged"] });
  look();
})"""


def write_files(folder: Path, n: int) -> list[str]:
    """Write scores, five views of 20 columns and 60 labels; return the words that serve them."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, 5))
    np.save(folder / "scores.npy", hidden[:, 0] + rng.normal(size=n))
    known = np.full(n, np.nan)
    known[:60] = hidden[:60, 0]
    np.save(folder / "labels.npy", known)
    words = ["scores.npy", "--labels", "labels.npy"]
    for k in range(5):
        view = hidden[:, :3] @ rng.normal(size=(3, 20)) + rng.normal(size=(n, 20))
        np.save(folder / f"view{k}.npy", view.astype(np.float32))
        words += ["--features", f"view{k}=view{k}.npy"]
    return words


def serve(folder: Path, words: list[str]) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-c", "from tupi.cli import main; main()", "serve", *words, "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    found = re.match(r"Open (\S+)", process.stdout.readline())
    assert found is not None
    return process, found[1]


def wait_for(page: Any, true: str) -> None:
    while not page.evaluate(true):
        page.wait_for_timeout(50)


def cpu_milliseconds() -> float:
    """Return the CPU time of all processes that this one started and that are still there."""
    total, parents = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            facts = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents[int(folder.name)], total[int(folder.name)] = int(facts[1]), int(facts[11]) + int(facts[12])

    def is_ours(process: int) -> bool:
        parent = parents.get(process, 0)
        return parent == os.getpid() or (parent != 0 and is_ours(parent))

    return 1000 * sum(total[process] for process in total if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def measure(page: Any, address: str, repeats: int) -> dict[str, list[float]]:
    page.goto(address)
    page.wait_for_selector("body[data-ready]")
    times: dict[str, list[float]] = {name: [] for name in LIMITS}
    wait_for(page, "document.body.dataset.final === 'true'")
    page.click("nav a[href='#explore']")
    page.wait_for_selector("#plot-scatter .main-svg")
    # The first answers only fill up what is needed to judge, and the first judgement compiles.
    for k in range(N_FIRST + repeats):
        page.wait_for_timeout(BETWEEN)
        before = cpu_milliseconds()
        shown, gain = page.evaluate(ANSWER, f"timer-{k}")
        if k >= N_FIRST:
            times["answer shown"].append(shown)
            times["answer gain"].append(gain)
            times["answer cpu"].append(cpu_milliseconds() - before)
    page.click("#by-hand")
    ready = "fetch('/api/status').then((r) => r.json()).then((s) => s.kernels.gaussian === 'ready')"
    wait_for(page, ready)
    shown = "document.body.dataset.shown && !document.body.dataset.shown.endsWith('|0')"
    for _ in range(repeats):
        page.reload()
        wait_for(page, shown)
        # From the start of the navigation to the first ranking of the method.
        times["paint"].append(page.evaluate("performance.now()"))
    page.wait_for_selector("#plot-weights .main-svg")
    wait_for(page, "document.body.dataset.final === 'true'")
    last = "document.body.dataset.shown.split('|').at(-1)"
    page.evaluate(MOVE, ["t", 30, "tupi|gaussian|0.3|0.1|0|30"])
    for k in range(3 * repeats):
        t = (7 * k) % 30 + 1
        if page.evaluate(last) != str(t):
            times["T"].append(page.evaluate(MOVE, ["t", t, f"tupi|gaussian|0.3|0.1|0|{t}"])[1])
    page.evaluate(MOVE, ["t", 8, "tupi|gaussian|0.3|0.1|0|8"])
    lams = page.evaluate("fetch('/api/facts').then((r) => r.json()).then((f) => f.lams)")
    # The slider's neighbours, after a pause in which they were computed ahead.
    page.wait_for_timeout(1000)
    for k in [lams.index(0.4), lams.index(0.3), lams.index(0.2), lams.index(0.3)] * max(1, repeats // 4):
        first, final = page.evaluate(MOVE, ["lam", k, f"tupi|gaussian|{lams[k]}|"])
        times["near first"].append(first)
        times["near last"].append(final)
    # Settings that nobody has seen: both sliders jump.
    widths = page.evaluate("fetch('/api/facts').then((r) => r.json()).then((f) => f.sigma_w2s)")
    for k in range(repeats):
        width, lam = k % len(widths), [0, 8, 1, 7, 6][k % 5]
        page.evaluate(MOVE, ["sigma_w2", width, f"tupi|gaussian|{page.evaluate(CURRENT_LAM)}|{widths[width]}|"])
        first, final = page.evaluate(MOVE, ["lam", lam, f"tupi|gaussian|{lams[lam]}|{widths[width]}|"])
        times["far first"].append(first)
        times["far last"].append(final)
    return times


CURRENT_LAM = "document.getElementById('lam-value').textContent"
BETWEEN = 700  # milliseconds between answers: nobody answers before having looked
N_FIRST = 20  # answers, half of them about random pairs, before the gain is known
LIMITS = {
    "answer shown": 1000,
    "answer gain": 1000,
    "answer cpu": 1000,
    "paint": 2000,
    "T": 100,
    "near first": 500,
    "near last": 2000,
    "far first": 500,
    "far last": 2000,
}
WORDS = {
    "answer shown": "an answer: Explore shows what auto makes of it",
    "answer gain": "an answer: its gain is judged anew",
    "answer cpu": "an answer: CPU time until both, server and browser together",
    "paint": "reload to the first ranking, embedding ready",
    "T": "moving T: everything drawn",
    "near first": "moving lam by one, first ranking",
    "near last": "moving lam by one, final ranking and plots",
    "far first": "moving lam to a setting not seen before, first ranking",
    "far last": "moving lam to a setting not seen before, final ranking and plots",
}


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        process, address = serve(folder, write_files(folder, arguments.n))
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(600_000)
            start = time.monotonic()
            times = measure(page, address, arguments.repeats)
            browser.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(20)
    load = os.getloadavg()[0]
    print(f"n = {arguments.n:,}, {os.cpu_count()} cores, load {load:.1f}, {time.monotonic() - start:.0f} s")
    for key, values in times.items():
        middle, worst = statistics.median(values), max(values)
        verdict = "ok" if middle <= LIMITS[key] else "TOO SLOW"
        print(f"{WORDS[key]:66s} median {middle:7.0f} ms, worst {worst:7.0f} ms, at most {LIMITS[key]} ms: {verdict}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"n": arguments.n, "load": load, "milliseconds": times}, indent=2) + "\n")


if __name__ == "__main__":
    main()
