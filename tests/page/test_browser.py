"""The page in Chromium, used as a person would use it."""

from __future__ import annotations

import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.page.conftest import N, Served, serve_words, truth, write_files
from tupi.research.datasets.fetch import in_data_folder
from tupi.results import summary

VIEWS = ("overview", "explore", "teach", "decide")
PATIENCE = 120_000  # milliseconds: machines are shared


class Person:
    """Somebody with a browser of their own."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.open(address)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready]")

    def until(self, true: str, *words: Any) -> None:
        """Wait until a JavaScript function is true; the page's policy forbids it to poll by itself."""
        end = time.monotonic() + PATIENCE / 1000
        while not self.page.evaluate(true, *words):
            assert time.monotonic() < end, true
            self.page.wait_for_timeout(30)

    def go(self, view: str) -> None:
        self.page.click(f"nav a[href='#{view}']")
        self.page.wait_for_selector(f"#{view}:not([hidden])")

    def by_hand(self) -> None:
        """Take the paper's sliders."""
        self.go("explore")
        self.settle()
        self.page.click("#by-hand")
        self.until("document.body.dataset.shown.startsWith('tupi|') && document.body.dataset.final === 'true'")

    def settle(self) -> None:
        self.page.wait_for_selector("body[data-final=true]")

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def pair(self) -> tuple[str, str]:
        self.until("document.getElementById('choose-left').ariaDisabled === 'false'")
        return tuple(self.text(f"#choose-{side} .name") for side in ("left", "right"))

    def answer(self, key: str) -> None:
        """Press a key and wait until the page says that the answer is saved."""
        before = self.pair()
        self.page.keyboard.press(key)
        self.until(
            "before => document.querySelector('#choose-left .name')?.textContent !== before[0]"
            " || document.querySelector('#choose-right .name')?.textContent !== before[1]",
            list(before),
        )

    def answer_rightly(self, count: int) -> None:
        true = truth()
        for _ in range(count):
            left, right = (int(name.removeprefix("item-")) for name in self.pair())
            self.answer("ArrowLeft" if true[left] > true[right] else "ArrowRight")

    def saved(self) -> int:
        return int(re.search(r"Saved: ([\d,]+)", self.text("#saved"))[1].replace(",", ""))  # type: ignore[index]


@pytest.fixture
def person(browser: Any, served: Served) -> Iterator[Person]:
    person = Person(browser, served.address)
    yield person
    person.context.close()
    assert person.problems == []
    elsewhere = [
        url for url in person.asked if not url.startswith((f"http://127.0.0.1:{served.port}/", "data:", "blob:"))
    ]
    assert elsewhere == []


def rows(person: Person, place: str = "#overview-list") -> list[str]:
    return person.page.eval_on_selector_all(
        f"{place} [role=option]:not([hidden])",
        "all => all.sort((a, b) => a.getAttribute('aria-posinset') - b.getAttribute('aria-posinset'))"
        ".map(one => one.getAttribute('aria-label'))",
    )


def test_overview_shows_ranks_movers_and_finds_items(person: Person) -> None:
    page = person.page
    person.settle()
    assert "240 items" in person.text("#about")
    assert page.is_checked("input[value=grid]")
    first = rows(person)[0]
    assert re.match(r"item-\d{3}: rank 1, was \d+, (same place|(up|down) \d+ places?)", first)
    page.check("input[name=layout][value=rows]")
    shown = rows(person)
    assert len(shown) < 40, "only what is in sight exists"
    person.until("document.querySelector('#overview-list .row img').complete")
    page.check("input[name=order][value=before]")
    assert re.search(r"was 1,", rows(person)[0])
    page.check("input[name=order][value=after]")
    assert rows(person)[0] == first
    # To the end by keyboard.
    page.focus("#overview-list .virtual")
    page.keyboard.press("End")
    person.until(f"document.querySelector('#overview-list [aria-posinset=\"{N}\"]') !== null")
    # A mover leads to its place in the list, and to what is known of it.
    name = person.text("#movers-up li:first-child .name")
    page.click("#movers-up li:first-child button")
    page.wait_for_selector("#item[open] .parts")
    assert name in person.text("#item-title")
    page.keyboard.press("Escape")
    assert page.get_attribute("#overview-list .found", "aria-label").startswith(f"{name}: rank")
    # Search by id.
    page.fill("#search", "ITEM-123")
    assert "1 found" in person.text("#found")
    assert page.get_attribute("#overview-list .found", "aria-label").startswith("item-123: rank")
    page.fill("#search", "item-12")
    page.press("#search", "Enter")
    assert page.get_attribute("#overview-list .found", "aria-label").startswith("item-121: rank")
    page.fill("#search", "nothing like it")
    assert "No item" in person.text("#found")


def test_the_page_opens_on_the_best_answer_with_what_it_gained(person: Person, served: Served) -> None:
    page = person.page
    page.wait_for_selector("#overview .gained:not([hidden]) .verdict")
    result = tupi.denoise(*inputs_of(served.folder))
    assert "240 items, ranked by auto." in person.text("#overview-words")
    said = person.text("#overview .gained")
    assert result.evidence is not None
    assert result.evidence.sentence in said
    assert summary.verdict(result).head in said
    assert page.get_attribute("#overview .interval", "aria-label").startswith(
        f"Gain {100 * result.evidence.gain:+.1f} points"
    )
    best = result.to_frame()["prediction"].idxmax()
    assert rows(person)[0].startswith(f"{best}: rank 1,")
    # The table of views is that of the same result.
    page.wait_for_selector("#views-table tbody tr")
    found = {row.split("\t")[0]: row.split("\t")[1:4] for row in person.text("#views-table tbody").split("\n")}
    for view, row in result.dependence.iterrows():
        worth, *links = found[view]
        np.testing.assert_allclose([float(one) for one in links], row[["before", "after"]], atol=0.00501)
        gain, low, high = result.view_gains.loc[view, ["gain", "low", "high"]]
        assert worth == f"{100 * gain:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    # The paper's sliders are one of the things to explore, and their figures are not about auto.
    person.by_hand()
    assert page.is_visible("#lam")
    assert not page.is_visible("#explore .gained")
    person.go("overview")
    assert not page.is_visible("#overview .gained")
    assert "ranked by tupi, λ 0.3" in person.text("#overview-words")


def inputs_of(folder: Path) -> tuple[Any, Any, Any]:
    inputs = write_files(folder, pictures=False).read("ranking")
    return inputs.predictions, inputs.features, inputs.labels


def test_explore_follows_the_sliders(person: Person) -> None:
    page = person.page
    person.by_hand()
    page.wait_for_selector("#plot-accuracy .main-svg")
    at_8 = rows(person, "#explore-list")
    assert "Step 8" in person.text("#explore-words")
    label = page.get_attribute("#plot-dependence", "aria-label")
    # T by keyboard.
    page.focus("#t")
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    person.until("document.body.dataset.shown.endsWith('|0')")
    assert person.text("#t-value") == "0"
    assert all("same place" in row for row in rows(person, "#explore-list"))
    page.keyboard.press("End")
    person.until("document.body.dataset.shown.endsWith('|30') && document.body.dataset.final === 'true'")
    assert page.get_attribute("#plot-dependence", "aria-label") != label
    page.fill("#t", "8")
    person.settle()
    assert rows(person, "#explore-list") == at_8
    # lambda and sigma.
    page.focus("#lam")
    page.keyboard.press("End")
    person.until("document.body.dataset.shown.startsWith('tupi|gaussian|10|0.1')")
    person.settle()
    assert rows(person, "#explore-list") != at_8
    assert person.text("#lam-value") == "10"
    page.focus("#sigma_w2")
    page.keyboard.press("Home")
    person.until("document.body.dataset.shown.startsWith('tupi|gaussian|10|0.003')")
    # The heat map leads to a setting.
    cell = page.wait_for_selector("#heat button[aria-label*='0.4, '][aria-label*=' 0.1: '][aria-label*=step]")
    label = cell.get_attribute("aria-label")
    best = int(re.search(r"step (\d+)", label)[1])  # type: ignore[index]
    cell.click()
    person.until(f"document.body.dataset.shown === 'tupi|gaussian|0.4|0.1|0|{best}'")
    # The rest of it is computed although nobody moves, and the best cells are marked.
    person.until("!document.querySelector('#heat button.pending')")
    scores = [float(one.rstrip(" ★").rstrip("%")) for one in page.locator("#heat button").all_inner_texts()]
    marked = [float(one.rstrip(" ★").rstrip("%")) for one in page.locator("#heat button.best").all_inner_texts()]
    assert len(scores) == 63
    assert set(marked) == {max(scores)}
    assert person.text("#heat-words").startswith(f"The best, ★, is {max(scores)}%: λ ")
    page.select_option("#kernel", "diffusion")
    person.until("/are being computed and say “wait”/.test(document.getElementById('heat-words').textContent)")
    assert page.locator("#heat button.pending").first.inner_text() == "wait"
    # Another kernel and another method.
    page.select_option("#kernel", "diffusion")
    person.until("document.body.dataset.shown.startsWith('tupi|diffusion')")
    page.select_option("#method", "auto")
    person.until("document.body.dataset.shown.startsWith('auto|')")
    assert not page.is_visible("#lam")
    assert "The labels were used to learn" in person.text("#explore-words")
    # The overview shows the same ranking, and a reload keeps it.
    top = rows(person, "#explore-list")[0]
    person.go("overview")
    assert rows(person)[0] == top
    page.reload()
    page.wait_for_selector("body[data-ready]")
    person.until("document.body.dataset.shown?.startsWith('auto|')")
    assert rows(person)[0] == top


PLOTS = ("scatter", "weights", "dependence", "accuracy")


def plots(person: Person) -> set[str]:
    return {name for name in PLOTS if person.page.is_visible(f"#plot-{name} .main-svg")}


def test_methods_show_nothing_of_the_setting_before(person: Person) -> None:
    page = person.page
    person.by_hand()
    page.wait_for_selector("#plot-accuracy .main-svg")
    person.until("document.querySelectorAll('.plot .main-svg').length >= 4")
    assert plots(person) == set(PLOTS)
    page.fill("#t", "0")  # a method without steps has its result all the same
    for method in ("auto", "fuse", "ridge"):
        page.select_option("#method", method)
        person.until(f"document.body.dataset.shown.startsWith('{method}|') && document.body.dataset.final === 'true'")
        assert any("same place" not in row for row in rows(person, "#explore-list")), method
        person.until(f"document.querySelector('#explore .gained h3')?.textContent === 'What {method} gained'")
        page.wait_for_selector("#plot-dependence .main-svg")
        assert plots(person) == {"scatter", "dependence"}, method
        for control in ("#kernel", "#lam", "#sigma_w2", "#t"):
            assert not page.is_visible(control), control
        assert page.get_attribute("#plot-weights", "aria-label") is None
        assert not page.is_visible("#map")
        page.select_option("#method", "tupi")
        person.until("document.body.dataset.shown.startsWith('tupi|')")
        page.wait_for_selector("#plot-weights .main-svg")
        assert not page.is_visible("#explore .gained")


def test_explore_follows_the_answers(browser: Any, tmp_path: Path) -> None:
    origin = write_files(tmp_path, labels=False, pictures=False)
    served = Served(tmp_path, *serve_words(origin))
    person = Person(browser, served.address)
    page = person.page
    person.by_hand()
    page.wait_for_selector("#plot-weights .main-svg")
    # A method that does not apply says why, and shows no ranking of another one.
    page.select_option("#method", "fuse")
    person.until("document.getElementById('explore-words').textContent.startsWith('labels: found none')")
    assert plots(person) == set()
    assert not page.is_visible("#explore-list")
    person.go("overview")
    assert "as they came in. labels: found none" in person.text("#overview-words")
    person.go("explore")
    page.select_option("#method", "tupi")
    person.until("document.body.dataset.shown.endsWith('|8') && document.body.dataset.final === 'true'")
    # Answers that came since judge the steps that were there before.
    person.go("teach")
    person.answer_rightly(9)
    person.go("explore")
    page.wait_for_selector("#plot-accuracy .main-svg")
    drawn = page.evaluate(
        "(({ data, layout }) => [data[0].y, layout.yaxis.range])(document.getElementById('plot-accuracy'))"
    )
    assert all(0 <= value <= 1 for value in drawn[0])
    assert drawn[1][1] < 1.2
    assert "On the labels, pairwise accuracy is" in person.text("#explore-words")
    # What is fitted to them follows, too.
    for method in ("fuse", "auto"):
        page.select_option("#method", method)
        person.until(
            "/It was given 9 answers.*from 9 (labels|comp)/.test(document.getElementById('explore-words').textContent)"
        )
    person.go("teach")
    person.answer_rightly(1)
    person.go("explore")
    person.until(
        "/It was given 10 answers.*from 10 (labels|comp)/.test(document.getElementById('explore-words').textContent)"
    )
    assert person.problems == []
    person.context.close()
    served.stop()


def test_an_agreement_that_is_always_the_same_has_a_narrow_axis(person: Person) -> None:
    person.by_hand()
    page = person.page
    page.wait_for_selector("#plot-accuracy .main-svg")
    labels = int(page.evaluate("document.body.dataset.labels"))
    page.route("**/api/scores*", lambda route: route.fulfill(json={"labels": labels + 1, "accuracy": [1.0] * 31}))
    person.go("teach")
    person.answer_rightly(1)
    person.go("explore")
    drawn = "(({ data, layout }) => [...new Set(data[0].y), ...layout.yaxis.range])"
    person.until(f"{drawn}(document.getElementById('plot-accuracy')).length === 3")
    assert page.evaluate(f"{drawn}(document.getElementById('plot-accuracy'))") == [1, 0.95, 1.05]


def test_teach_by_keys_and_mouse_with_undo_and_reload(person: Person, served: Served) -> None:
    page = person.page
    person.go("teach")
    first = person.pair()
    person.answer("ArrowLeft")
    assert person.saved() == 1
    second = person.pair()
    assert second != first
    page.reload()  # in the middle: the same question waits
    page.wait_for_selector("body[data-ready]")
    assert person.pair() == second
    assert person.saved() == 1
    page.click("#choose-right")
    person.until("document.getElementById('saved').textContent.includes('2 answers')")
    third = person.pair()
    person.answer("ArrowDown")
    assert person.saved() == 3
    page.keyboard.press("u")
    person.until("document.getElementById('saved').textContent.startsWith('Undone')")
    assert person.pair() == third
    person.answer("s")
    page.click("#choose-equal")
    person.until("document.getElementById('saved').textContent.includes('4 answers')")
    verdicts = re.findall(r'"answer": "(\w+)"|("undo")', (served.folder / "answers.jsonl").read_text())
    assert [one or two for one, two in verdicts] == ["left", "right", "equal", '"undo"', "skip", "equal"]
    # Keys that are typed elsewhere are no answers.
    page.fill("#rater", "")
    page.type("#rater", "sus")
    assert (served.folder / "answers.jsonl").read_text().count('"answer"') == 5


def test_a_question_that_arrives_after_its_answer_is_not_asked_again(person: Person) -> None:
    person.go("teach")
    first = person.pair()
    person.go("overview")
    held: list[tuple[Any, Any]] = []
    person.page.route("**/api/question*", lambda route: held.append((route, route.fetch())))
    person.go("teach")  # asks what to ask, and the reply is slow
    while not held:
        person.page.wait_for_timeout(30)
    person.answer("ArrowLeft")
    second = person.pair()
    assert second != first
    route, reply = held[0]
    route.fulfill(response=reply)
    person.page.wait_for_timeout(300)
    assert person.pair() == second
    person.answer("ArrowRight")
    assert person.saved() == 2


def test_gain_appears_and_grows_with_answers(person: Person) -> None:
    person.go("teach")
    person.answer_rightly(6)
    words = "document.getElementById('gain-words').textContent"
    person.until(f"/Judged on the pairs of 30 labelled items and on 3 answers .* of 6 answers in all/.test({words})")
    assert person.page.is_visible("#gain-bar")
    person.answer_rightly(12)
    person.until(f"/Judged on the pairs of 30 labelled items and on 9 answers .* of 18 answers in all/.test({words})")
    assert re.search(r"gain [+-][\d.]+ points, 95% interval [+-]\d", person.text("#gain-words"))
    person.go("decide")
    person.page.click("#run")
    person.page.wait_for_selector("#decision:not([hidden])")
    summary = person.text("#decision-summary")
    assert "Labels that were used: 30 labels and 18 answers." in summary
    assert "30 labelled items and on 9 answers about pairs drawn at random, of 18 answers" in summary
    assert not re.search(r"On [\d,]+ labels", summary)


def test_two_raters_at_once(person: Person, browser: Any, served: Served) -> None:
    other = Person(browser, served.address)
    for one in (person, other):
        one.go("teach")
    assert set(person.pair()) != set(other.pair())
    for _ in range(3):
        person.answer("ArrowLeft")
        other.answer("ArrowRight")
    assert person.saved() == 3
    assert other.saved() == 3
    other.page.reload()
    other.page.wait_for_selector("body[data-ready]")
    other.pair()
    assert "and 3 answers by 1 other" in other.text("#saved")
    # One undoes without touching what the other said.
    other.page.keyboard.press("u")
    other.until("document.getElementById('saved').textContent.startsWith('Undone')")
    assert other.saved() == 2
    person.answer("ArrowLeft")
    assert person.saved() == 4
    other.context.close()


def test_decide_says_why_and_gives_everything_away(person: Person, served: Served, tmp_path: Path) -> None:
    page = person.page
    person.go("decide")
    assert "Nothing was decided" in person.text("#decide-words")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    summary = person.text("#decision-summary")
    assert "pairwise accuracy went from" in summary
    assert "95% interval" in summary
    with page.expect_download() as caught:
        page.click("#downloads a[download='better.csv']")
    table = pd.read_csv(caught.value.path())
    assert len(table) == N
    accuracy = {when: np.mean(order(table[when]) == order(truth())) for when in ("initial", "prediction")}
    assert accuracy["prediction"] > accuracy["initial"]
    for name in ("labels.csv", "settings.json", "report.html", "run.npz", "repeat.py", "repeat.sh"):
        with page.expect_download() as caught:
            page.click(f"#downloads a[download='{name}']")
        assert Path(caught.value.path()).stat().st_size > 10
    assert person.text("#command").startswith("tupi denoise ")
    assert "tupi.denoise(" in person.text("#python")
    page.click("#show-decision")
    page.wait_for_selector("#overview:not([hidden])")
    best = table.sort_values("rank_after")["id"].iloc[0]
    assert rows(person)[0].startswith(f"{best}: rank 1")
    # Answers that come later are pointed out.
    person.go("teach")
    person.answer_rightly(2)
    person.go("decide")
    person.until("document.getElementById('decide-words').textContent.includes('2 answers came in since')")
    person.by_hand()
    person.go("decide")
    page.check("input[value=look]")
    page.click("#run")
    person.until("document.getElementById('command').textContent.includes('--method tupi')")
    assert "--set n_iter=8" in person.text("#command")


def order(values: Any) -> np.ndarray:
    values = np.asarray(values)
    return np.sign(values[:, None] - values)[np.triu_indices(len(values), 1)]


def test_a_killed_server_is_noticed_and_its_restart_continues(browser: Any, served: Served) -> None:
    person = Person(browser, served.address)
    page = person.page
    person.go("teach")
    for key in ("ArrowLeft", "ArrowRight", "ArrowLeft"):
        person.answer(key)
    assert person.saved() == 3
    served.kill()
    page.wait_for_selector("#gone:not([hidden])")
    assert "does not answer" in person.text("#gone")
    page.keyboard.press("ArrowLeft")  # cannot be saved, and the page must not say that it is
    person.until("document.getElementById('saved').textContent.startsWith('Not saved')")
    served.start(served.port)
    person.until("document.getElementById('gone').textContent.includes('started again')")
    person.open(served.address)
    person.go("teach")
    # The answer that was not saved was kept by the browser and is sent now.
    person.until("/Saved: 4 answers/.test(document.getElementById('saved').textContent)")
    person.answer("ArrowDown")
    assert person.saved() == 5
    person.context.close()


def test_without_pictures_or_labels_or_ids_everything_still_works(browser: Any, tmp_path: Path) -> None:
    origin = write_files(tmp_path, labels=False, pictures=False)
    scores = pd.read_csv(origin.scores)["score"].to_numpy()
    np.save(tmp_path / "scores.npy", scores)
    words = ["scores.npy" if word == origin.scores else word for word in serve_words(origin)]
    served = Served(tmp_path, *words)
    person = Person(browser, served.address)
    person.settle()
    assert not person.page.is_visible("#layout-choice")
    assert re.match(r"\d+: rank 1", rows(person)[0])
    person.by_hand()
    person.page.wait_for_selector("#plot-weights .main-svg")
    assert person.page.is_visible("#no-labels")
    assert not person.page.is_visible("#heat")
    person.go("teach")
    for _ in range(3):
        person.answer("ArrowLeft")
    person.go("explore")
    person.page.wait_for_selector("#heat button")
    person.context.close()
    served.stop()


def test_the_demo_from_start_to_end(browser: Any, tmp_path: Path) -> None:
    served = Served(tmp_path, "--demo")
    person = Person(browser, served.address)
    person.settle()
    assert "1,797 items, 5 views" in person.text("#about")
    page = person.page
    person.until(
        "[...document.querySelectorAll('#overview-list img')].some((one) => one.complete && one.naturalWidth === 64)"
    )
    person.go("explore")
    person.settle()
    person.go("teach")
    for _ in range(3):
        person.answer("ArrowLeft")
    person.go("decide")
    page.click("#run")
    page.wait_for_selector("#decision:not([hidden])")
    assert "Judged on the pairs of 50 labelled items and on 2 answers" in person.text("#decision-summary")
    page.select_option("#use", "file")
    page.click("#run")
    person.until("document.getElementById('decision-summary').textContent.includes('pairwise accuracy went from')")
    assert person.problems == []
    person.context.close()
    served.stop()


def test_osr_thumbnails(browser: Any, tmp_path: Path) -> None:
    thumbnails = in_data_folder("osr_thumbs.zip")
    if thumbnails is None:
        pytest.skip("TUPI_DATA has no osr_thumbs.zip")
    with zipfile.ZipFile(thumbnails) as archive:
        names = [name for name in archive.namelist() if name.lower().endswith((".jpg", ".png"))]
        archive.extractall(tmp_path / "thumbs")
    data = np.load(thumbnails.parent / "osr.npz", allow_pickle=False)
    table = pd.DataFrame({"path": names, "score": data["feat"][: len(names), 0]})
    table.to_csv(tmp_path / "scores.csv", index=False)
    np.save(tmp_path / "gist.npy", data["feat"][: len(names), 1:])
    served = Served(
        tmp_path, "scores.csv", "--features", "gist=gist.npy", "--image-column", "path", "--images", "thumbs"
    )
    person = Person(browser, served.address)
    person.settle()
    page = person.page
    loaded = "[...document.querySelectorAll('#overview-list img')].filter((one) => one.naturalWidth > 50).length > 10"
    person.until(loaded)
    page.focus("#overview-list .virtual")
    page.keyboard.press("End")
    person.until(loaded)
    person.go("teach")
    person.pair()
    person.until("document.querySelector('#choose-left img').naturalWidth > 50")
    person.answer("ArrowRight")
    assert person.saved() == 1
    person.context.close()
    served.stop()
