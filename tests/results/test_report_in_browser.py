"""The report in Chromium: on a desk, on a phone and on paper, light and dark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.eyes import complaints, windows
from tests.reported import labelled
from tupi.results.report import write_report

LONG = "a_rather_long_name_of_a_view_that_nobody_shortened_" * 2


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    result = labelled()
    names = [LONG, "color"]
    shown = labelled(
        index=pd.Index([f"photo-{k}-{LONG}" for k in range(40)], name="photo"),
        weights=result.weights.set_axis(names, axis=1),
        dependence=result.dependence.set_axis(names, axis=0),
        uncertainty=np.linspace(0.1, 2, 40),
        suggested=np.arange(12),
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(shown, path, [("command", f"tupi denoise {'x' * 300}.csv")]).as_uri()


def test_nothing_is_cut_off_overlapping_empty_pale_or_from_elsewhere(browser: Any, address: str) -> None:
    context = browser.new_context()
    page, problems, asked = context.new_page(), [], []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    drawn = page.locator("[data-figure]")
    assert page.locator("[data-figure] .main-svg").count() >= drawn.count() == 6
    seen = []
    for window in windows(page):
        seen += [f"{window}, {found}" for found in complaints(page)]
        assert page.locator(".verdict .head").bounding_box()["y"] < 450, "in sight without scrolling, also on a phone"
    assert not seen, "\n".join(seen)
    for scheme in ("light", "dark"):
        page.emulate_media(media="print", color_scheme=scheme)
        page.set_viewport_size({"width": 680, "height": 900})  # A4 without margins
        assert not page.locator("nav").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert complaints(page) == [], "on paper"
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    context.close()
