"""Replies that arrive late, in Chromium: what was asked for before must not take the place of what came after it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.page.conftest import Served
from tests.page.test_browser import Person


@pytest.fixture
def person(browser: Any, served: Served) -> Iterator[Person]:
    person = Person(browser, served.address)
    yield person
    person.context.close()
    # The browser tells of requests that fail, which is what some tests are about.
    assert [problem for problem in person.problems if "Failed to load resource" not in problem] == []


class Held:
    """The first reply to a request whose address fits a pattern, kept back until `let_go`; later ones pass."""

    def __init__(self, person: Person, pattern: str) -> None:
        self._person, self._kept = person, list[Callable[[], None]]()
        self._seen = False
        person.page.route(re.compile(pattern), self._hold)

    def _hold(self, route: Any) -> None:
        if self._seen:
            route.continue_()
            return
        self._seen = True
        reply = route.fetch()
        self._kept.append(lambda: route.fulfill(response=reply))

    def wait(self) -> None:
        """Wait until the server has replied."""
        while not self._kept:
            self._person.page.wait_for_timeout(30)

    def let_go(self) -> None:
        self._kept.pop()()
        self._person.page.wait_for_timeout(300)  # what the page makes of it takes milliseconds


def posted(person: Person, path: str, **words: Any) -> dict[str, Any]:
    """Post as another window of the same browser would, and return the reply."""
    body = json.dumps(words)
    return person.page.evaluate(
        "([path, body]) => fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })"
        ".then((reply) => reply.json())",
        [path, body],
    )


def answer(person: Person, key: str) -> None:
    """Answer a question as somebody else."""
    question = person.page.evaluate("fetch('/api/question?rater=other').then((reply) => reply.json())")["question"]
    pair = {side: question[side]["item"] for side in ("left", "right")}
    posted(person, "/api/answer", rater="other", key=key, answer="left", **pair)


def test_an_item_that_was_opened_before(person: Person) -> None:
    person.settle()
    page = person.page
    held = Held(person, r"/api/item/123\?")
    page.fill("#search", "item-123")
    page.click("#overview-list .found")
    held.wait()  # auto would tell what moved it
    page.keyboard.press("Escape")
    person.by_hand()
    person.go("overview")
    page.click("#overview-list .found")
    page.wait_for_selector("text=Tupi does not tell what moved single items")
    held.let_go()
    assert "Tupi does not tell what moved single items" in person.text("#item-body")


def test_the_map_of_another_kernel(person: Person) -> None:
    person.by_hand()
    page = person.page
    page.wait_for_selector("#heat button.best")
    held = Held(person, r"/api/heat\?.*kernel=gaussian")
    page.focus("#t")
    page.keyboard.press("ArrowLeft")  # whatever moves asks for the map again
    held.wait()
    page.select_option("#kernel", "diffusion")
    person.until("/being computed/.test(document.getElementById('heat-words').textContent)")
    person.until("!document.querySelector('#heat button.pending')")
    person.until("document.body.dataset.shown.startsWith('tupi|diffusion') && document.body.dataset.final === 'true'")
    page.wait_for_timeout(1500)  # longer than the page waits before it asks for the map again
    shown = page.locator("#heat button").all_inner_texts()
    held.let_go()
    assert page.locator("#heat button").all_inner_texts() == shown


def test_an_earlier_decision(person: Person) -> None:
    person.by_hand()
    person.go("decide")
    page = person.page
    held = Held(person, r"/api/decision$")
    page.click("#run")  # auto
    held.wait()
    page.check("input[value=look]")
    person.until("document.getElementById('run').getAttribute('aria-disabled') === 'false'")
    page.click("#run")
    person.until("document.getElementById('command').textContent.includes('--method tupi')")
    held.let_go()
    assert "--method tupi" in person.text("#command")
    # A decision that somebody else made is counted from its own answers.
    person.go("teach")
    person.answer_rightly(2)
    person.go("decide")
    person.until("document.getElementById('decide-words').textContent.includes('2 answers came in since')")
    posted(person, "/api/decide", choice="auto", use="both")
    person.until("document.getElementById('command').textContent.includes('--method auto')")
    person.until("document.getElementById('decide-words').textContent === 'Done.'")


def test_a_decision_that_nobody_waits_for_any_more(person: Person) -> None:
    person.settle()
    person.go("decide")
    page = person.page
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    held = Held(person, r"/api/decided\?")
    page.click("#show-decision")
    held.wait()
    person.go("explore")
    held.let_go()
    assert page.is_visible("#explore")
    person.go("overview")
    assert "ranked by auto" in person.text("#overview-words")


def test_what_views_of_another_method_are_worth(person: Person) -> None:
    person.settle()
    page = person.page
    table = "document.getElementById('views-table').textContent"
    page.wait_for_selector("#views-table tbody tr")
    held = Held(person, r"/api/views\?.*worth=1")
    page.evaluate("document.getElementById('find-worth').click()")
    held.wait()
    person.go("explore")
    of_auto = page.evaluate(table)
    page.select_option("#method", "ridge")
    person.until("document.querySelector('#explore .gained h3')?.textContent === 'What ridge gained'")
    person.until(f"before => {table} !== before", of_auto)
    shown = page.evaluate(table)
    held.let_go()
    assert page.evaluate(table) == shown
    assert page.evaluate("document.getElementById('worth-state').textContent") == ""


def test_agreement_with_labels_that_changed_meanwhile(person: Person) -> None:
    person.by_hand()
    page = person.page
    held = Held(person, r"/api/scores\?")
    labels = int(page.evaluate("document.body.dataset.labels"))
    answer(person, "one")
    held.wait()
    answer(person, "two")  # the news of it come while the reply about the first is on its way
    page.wait_for_timeout(500)
    held.let_go()
    person.until(f"document.body.dataset.labels === '{labels + 2}'")


def test_agreement_does_not_hide_a_decision(person: Person) -> None:
    person.by_hand()
    page = person.page
    person.go("decide")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    person.go("explore")
    # The server forgot the steps, which it may.
    kept: list[Any] = []
    page.route(re.compile(r"/api/scores\?"), lambda route: kept.append(route), times=1)
    answer(person, "one")
    while not kept:
        page.wait_for_timeout(30)
    person.go("decide")
    page.click("#show-decision")
    page.wait_for_selector("#overview:not([hidden])")
    person.until("document.getElementById('overview-words').textContent.includes('the decision')")
    kept[0].fulfill(json={"labels": 2, "accuracy": []})
    page.wait_for_timeout(300)
    assert "the decision" in person.text("#overview-words")


def test_the_question_of_whoever_answered_before(person: Person) -> None:
    person.go("teach")
    first = person.pair()
    page = person.page
    held = Held(person, r"/api/answer$")
    page.keyboard.press("ArrowLeft")
    held.wait()
    page.fill("#rater", "Ann")
    page.press("#rater", "Tab")
    person.until("document.getElementById('saved').textContent.startsWith('Saved: 0 answers of yours')")
    mine = tuple(person.text(f"#choose-{side} .name") for side in ("left", "right"))
    assert mine != first
    held.let_go()
    assert person.pair() == mine
    assert person.text("#saved").startswith("Saved: 0 answers of yours")
    person.answer("ArrowRight")
    assert person.saved() == 1


def test_agreement_with_older_labels(person: Person) -> None:
    person.by_hand()
    page = person.page
    words = person.text("#explore-words")
    assert "pairwise accuracy is" in words
    seen: list[str] = []

    def reply_with_older(route: Any) -> None:
        seen.append(route.request.url)
        route.fulfill(json={"labels": 0, "accuracy": [0.0] * 31})

    page.route(re.compile(r"/api/scores\?"), reply_with_older, times=1)
    answer(person, "one")
    while not seen:
        page.wait_for_timeout(30)
    page.wait_for_timeout(100)
    assert "pairwise accuracy is 0.0%" not in person.text("#explore-words")


def test_a_question_that_cannot_be_had_after_its_answer(person: Person) -> None:
    person.go("teach")
    person.pair()
    person.go("overview")
    kept: list[Any] = []
    page = person.page
    page.route(re.compile(r"/api/question"), lambda route: kept.append(route), times=1)
    person.go("teach")
    while not kept:
        page.wait_for_timeout(30)
    person.answer("ArrowLeft")
    kept[0].abort()
    page.wait_for_timeout(300)
    assert page.evaluate("document.getElementById('pair-words').textContent") == ""
    assert person.saved() == 1


def test_what_one_window_saved_is_not_forgotten_for_another(person: Person) -> None:
    person.go("teach")
    person.pair()
    held = Held(person, r"/api/answer$")
    person.page.keyboard.press("ArrowLeft")
    held.wait()
    unsent = json.dumps({"path": "/api/answer", "words": {"key": "of another window"}})
    person.page.evaluate("words => localStorage.setItem('tupi-unsent', words)", unsent)
    held.let_go()
    assert person.saved() == 1
    assert person.page.evaluate("localStorage.getItem('tupi-unsent')") == unsent


def test_a_gain_that_cannot_be_had_does_not_hide_a_later_one(person: Person) -> None:
    page = person.page
    page.wait_for_selector("#overview .gained:not([hidden]) .verdict")
    # Without news nothing asks again.
    page.route(re.compile(r"/api/events$"), lambda route: route.abort())
    kept: list[Any] = []
    page.route(re.compile(r"/api/found\?"), lambda route: kept.append(route) if len(kept) < 2 else route.continue_())
    page.reload()
    page.wait_for_selector("body[data-ready]")
    person.go("explore")
    person.settle()
    while not kept:
        page.wait_for_timeout(30)
    page.select_option("#method", "ridge")
    while len(kept) < 2:
        page.wait_for_timeout(30)
    kept[0].abort()
    page.wait_for_timeout(100)
    kept[1].continue_()
    person.until("document.querySelector('#explore .gained h3')?.textContent === 'What ridge gained'")
