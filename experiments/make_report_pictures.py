"""Make the pictures of docs/report.md: the demonstration's report in Chromium, on a desk and a phone, light and dark.

python experiments/make_report_pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright

import tupi
from make_screenshots import CHROMIUM, FLAGS, PATIENCE, keep
from tupi.research.demo import demo_case

WINDOWS = {
    f"report-{name}-{scheme}.png": {"viewport": viewport, "color_scheme": scheme}
    for name, viewport in (("desk", {"width": 1100, "height": 1180}), ("phone", {"width": 360, "height": 820}))
    for scheme in ("light", "dark")
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    case = demo_case()
    scores = pd.Series(case.predictions, index=pd.RangeIndex(len(case.predictions), name="id"))
    result = tupi.denoise(scores, case.features, case.labels)
    with tempfile.TemporaryDirectory() as work, sync_playwright() as playwright:
        address = result.report(Path(work) / "report.html").as_uri()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, window in WINDOWS.items():
            page = browser.new_context(**window).new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(address)
            page.wait_for_selector(".main-svg")
            keep(page, folder / name)
        browser.close()


if __name__ == "__main__":
    main()
