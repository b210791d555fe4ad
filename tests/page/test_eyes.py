"""Every view of the page, in windows of three widths, light and dark: nothing cut off, overlapping, empty or faint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.eyes import complaints, windows
from tests.page.conftest import Served
from tests.page.test_browser import Person
from tests.page.test_items import CHANCES, CLASS_VIEW, KIND, PREDICTED, QUERY, VALUE, VALUE_VIEW

VIEWS = ("overview", "explore", "teach", "decide")


def look_at(person: Person, where: str) -> None:
    """Look at the page in all windows."""
    seen = [f"{window}, {found}" for window in windows(person.page) for found in complaints(person.page)]
    assert not seen, "\n".join([where, *seen])


def test_all_views_of_a_ranking(browser: Any, served: Served) -> None:
    person = Person(browser, served.address)
    page = person.page
    page.wait_for_selector("#overview .gained .verdict")
    page.wait_for_selector("#views-table td")
    look_at(person, "overview")
    page.check("input[name=layout][value=rows]")
    look_at(person, "overview as rows")
    page.fill("#search", "item-1")
    look_at(person, "search")
    # An item, by keyboard alone.
    page.focus("#overview-list .virtual")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#item[open] .parts")
    look_at(person, "item")
    page.keyboard.press("Escape")
    assert not page.is_visible("#item")
    assert page.evaluate("document.activeElement.classList.contains('virtual')"), "focus is where it was"
    person.go("explore")
    person.settle()
    page.wait_for_selector("#plot-scatter .main-svg")
    look_at(person, "explore auto")
    person.by_hand()
    page.wait_for_selector("#plot-accuracy .main-svg")
    person.until("document.querySelector('#heat button.best')")
    look_at(person, "explore by hand")
    person.go("teach")
    person.pair()
    look_at(person, "teach")
    person.go("decide")
    look_at(person, "decide")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    look_at(person, "decided")
    for view in VIEWS:
        person.go(view)
        assert page.evaluate("document.activeElement.closest('section')?.id") == view, "focus follows the view"
    assert person.problems == []
    person.context.close()


def test_no_key_hints_where_people_touch(browser: Any, served: Served) -> None:
    person = Person(browser, served.address, viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    person.go("teach")
    person.pair()
    assert "Keys" not in person.text("#teach")
    assert person.page.locator("kbd:visible").count() == 0
    person.go("explore")
    person.page.wait_for_selector("#plot-scatter .main-svg")
    assert person.page.locator(".modebar:visible").count() == 0, "it would lie over the legend"
    person.context.close()


def write(folder: Path, kind: str) -> tuple[list[str], Callable[[Person, int], None]]:
    """Write the files of a task; return the words that serve them, and how an item is answered."""
    ids = [f"i{k}" for k in range(150)]
    np.save(folder / "view.npy", CLASS_VIEW if kind == "classes" else VALUE_VIEW)
    table = CHANCES if kind == "classes" else pd.DataFrame({"score": PREDICTED})
    extra = {"query": QUERY, "title": [f"Result number {k}" for k in range(150)]} if kind == "queries" else {}
    table.assign(id=ids, **extra).to_csv(folder / "scores.csv", index=False)
    words = ["scores.csv", "--features", "view=view.npy"]
    if kind == "classes":
        names = [word for name in CHANCES for word in ("--score", name)]
        return [*words, *names, "--task", "classification"], lambda person, item: person.page.keyboard.press(
            str(KIND[item] + 1)
        )
    if kind == "values":

        def type_in(person: Person, item: int) -> None:
            person.page.fill("#value", f"{VALUE[item]:.2f}")
            person.page.press("#value", "Enter")

        return [*words, "--task", "regression"], type_in
    return [*words, "--group", "query"], lambda person, item: person.page.keyboard.press("ArrowLeft")


@pytest.mark.parametrize(
    ("kind", "question"),
    [("classes", "Which class is it?"), ("values", "What is its value?"), ("queries", "Which is higher for query “q")],
)
def test_pages_of_other_tasks(browser: Any, tmp_path: Path, kind: str, question: str) -> None:
    words, answer = write(tmp_path, kind)
    served = Served(tmp_path, *words)
    person = Person(browser, served.address)
    page = person.page
    person.settle()
    person.go("teach")
    for count in range(1, 13):
        page.wait_for_selector("#choose-skip[aria-disabled=false]")
        if count == 1:
            assert person.text("#teach-title").startswith(question)
        item = 0 if kind == "queries" else int(person.text("#single-item .name").removeprefix("i"))
        answer(person, item)
        person.until("count => document.getElementById('saved').textContent.includes(`Saved: ${count} answer`)", count)
    look_at(person, "teach")
    if kind == "values":
        page.fill("#value", "much")
        page.press("#value", "Enter")
        assert "“much” is not a number" in person.text("#pair-words")
    person.go("overview")
    person.until("!document.querySelector('#overview .gained').textContent.includes('no labels')")
    page.wait_for_selector("#views-table td")
    look_at(person, "overview")
    if kind == "queries":
        page.fill("#search", "number 42")
        assert "1 found" in person.text("#found")
        page.select_option("#group-menu", label="q3")
        shown = "document.querySelectorAll('#overview-list [role=option]:not([hidden])').length"
        person.until(f"{shown} === 10")
    page.focus("#overview-list .virtual")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.wait_for_selector("#item[open] dl")
    page.wait_for_selector("#item[open] .others")
    look_at(person, "item")
    page.click("#item-close")
    person.go("explore")
    person.settle()
    look_at(person, "explore")
    person.go("decide")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    look_at(person, "decided")
    assert person.problems == []
    person.context.close()
    served.stop()
