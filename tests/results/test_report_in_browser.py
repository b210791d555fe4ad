"""The report in Chromium: on a desk, on a phone and on paper, light and dark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.reported import labelled
from tupi.results.report import write_report

LONG = "a_rather_long_name_of_a_view_that_nobody_shortened_" * 2
CONTRAST = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[0-9.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    while (element && getComputedStyle(element).backgroundColor === "rgba(0, 0, 0, 0)") element = element.parentElement;
    return element ? getComputedStyle(element).backgroundColor : "rgb(255, 255, 255)";
  };
  return Math.min(...[...document.querySelectorAll("p, th, td, h1, h2, h3, a, dt, dd, figcaption, caption")]
    .filter((element) => element.textContent.trim())
    .map((element) => [light(getComputedStyle(element).color), light(behind(element))])
    .map(([one, other]) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)));
}"""


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


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (360, "light"), (360, "dark")])
def test_nothing_is_too_wide_too_pale_or_from_elsewhere(browser: Any, address: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, problems, asked = context.new_page(), [], []
    page.on("pageerror", lambda problem: problems.append(str(problem)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    drawn = page.locator("[data-figure]")
    assert page.locator("[data-figure] .main-svg").count() >= drawn.count() == 6
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.locator(".verdict .head").bounding_box()["y"] < 450  # in sight without scrolling, also on a phone
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 900})  # A4 without margins
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.wait_for_timeout(300)  # figures follow the paper
    widths = page.evaluate("[...document.querySelectorAll('.main-svg')].map((e) => e.getBoundingClientRect().right)")
    assert max(widths) <= 680
    assert problems == []
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    context.close()
