"""Pages about classes, values and queries, and what is told of one item."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tupi
from tests.page.conftest import N, decode, truth, write_files
from tests.page.test_session import look_at, wait
from tupi.page.answers import AnswerFile, Told
from tupi.page.knowledge import Knowledge
from tupi.page.looks import Look, ranks
from tupi.page.pairs import AllPairs, random_pair
from tupi.page.session import Session
from tupi.page.source import PageSource, read_source
from tupi.runtime.errors import InputError

RNG = np.random.default_rng(0)
KIND = RNG.integers(3, size=150)
CHANCES = pd.DataFrame(RNG.dirichlet(np.ones(3), size=150), columns=["cat", "dog", "emu"])
CLASS_VIEW = np.eye(3)[KIND] + 0.2 * RNG.normal(size=(150, 3))
VALUE = RNG.normal(50, 10, size=150)
PREDICTED = VALUE + RNG.normal(0, 8, size=150)
VALUE_VIEW = np.column_stack([VALUE, VALUE**2]) * (1 + 0.02 * RNG.normal(size=(150, 2)))
QUERY = pd.Series([f"q{k // 10}" for k in range(150)])


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """Return what begins a session in a folder of its own."""
    begun: list[Session] = []

    def make(*parts: object, **words: object) -> Session:
        begun.append(Session(PageSource(*parts, **words), tmp_path / f"answers-{len(begun)}.jsonl"))  # type: ignore[arg-type]
        return begun[-1]

    yield make
    for session in begun:
        session.close()


def answer(session: Session, true: Callable[[int], object], count: int, rater: str = "ann") -> list[int]:
    """Answer questions about single items; return the items."""
    asked = []
    for k in range(count):
        item = session.question(rater)["question"]["item"]["item"]
        session.answer(rater, f"{rater}-{k}", {"item": item, "value": true(item)})
        asked.append(item)
    return asked


# Classes


def test_a_class_is_asked_for_and_becomes_a_label(begin: Callable[..., Session]) -> None:
    session = begin(CHANCES, {"view": CLASS_VIEW}, task="classification")
    facts = session.facts()
    assert (facts["asks"], facts["answers"]) == ("classes", ["cat", "dog", "emu"])
    items = answer(session, lambda item: CHANCES.columns[KIND[item]], 30)
    assert len(set(items)) == 30, "nobody is asked twice"
    labels = session.teacher.labels()
    assert isinstance(labels, tupi.Values)
    assert dict(zip(labels.index.tolist(), labels.values.tolist(), strict=True)) == {k: int(KIND[k]) for k in items}
    wait(session, lambda: (session.teacher.gain() or {}).get("current"))
    result = tupi.denoise(
        CHANCES, {"view": CLASS_VIEW}, tupi.Values(items, CHANCES.columns[KIND[items]]), task="classification"
    )
    gain = session.teacher.gain() or {}
    assert result.evidence is not None
    assert gain["metric"] == "accuracy"
    assert gain["after"] == pytest.approx(result.evidence.after)
    for wrong in ("bat", 3, ["cat"]):
        with pytest.raises(InputError, match=r"^value: .*accepted: cat, dog, emu"):
            session.answer("ann", "wrong", {"item": 0, "value": wrong})


def test_the_majority_says_the_class_and_a_draw_says_nothing(begin: Callable[..., Session]) -> None:
    session = begin(CHANCES, {"view": CLASS_VIEW}, task="classification")
    for rater, said in (("ann", "cat"), ("bob", "cat"), ("eve", "dog")):
        session.answer(rater, f"1{rater}", {"item": 1, "value": said})
        session.answer(rater, f"3{rater}", {"item": 3, "value": "emu"})
    for rater, said in (("ann", "cat"), ("bob", "dog")):
        session.answer(rater, f"2{rater}", {"item": 2, "value": said})
    labels = session.teacher.labels()
    assert isinstance(labels, tupi.Values)
    assert dict(zip(labels.index.tolist(), labels.values.tolist(), strict=True)) == {1: 0, 3: 2}


def test_two_classes_without_labels_are_called_0_and_1(begin: Callable[..., Session], tmp_path: Path) -> None:
    session = begin(CHANCES["cat"].to_numpy(), {"view": CLASS_VIEW}, task="classification")
    assert session.facts()["answers"] == ["0", "1"]
    assert session.facts()["positive"] == "1"
    items = answer(session, lambda item: str(int(KIND[item] == 0)), 20)
    known = (KIND[items] == 0).astype(int)
    session.decide("auto", "answers", Look())
    wait(session, lambda: not session.decider.running)
    expected = tupi.denoise(
        CHANCES["cat"].to_numpy(), {"view": CLASS_VIEW}, tupi.Values(items, known), task="classification"
    )
    assert session.decider.decision is not None
    np.testing.assert_allclose(session.decider.decision.result.predictions, expected.predictions, atol=1e-12)


# Values


def test_a_value_is_asked_for_and_the_mean_counts(begin: Callable[..., Session]) -> None:
    known = tupi.Values([5, 6], [VALUE[5], VALUE[6]])
    session = begin(PREDICTED, {"view": VALUE_VIEW}, labels=known, task="regression")
    assert session.facts()["asks"] == "values"
    items = answer(session, lambda item: float(VALUE[item]), 20)
    assert not {5, 6} & set(items), "what is known is not asked for"
    session.answer("bob", "b", {"item": items[0], "value": float(VALUE[items[0]] + 4)})
    labels = session.teacher.labels()
    assert isinstance(labels, tupi.Values)
    found = dict(zip(labels.index.tolist(), labels.values.tolist(), strict=True))
    assert found == pytest.approx({k: VALUE[k] + (2 if k == items[0] else 0) for k in [5, 6, *items]})
    assert session.teacher.known().words == "2 labels and 20 answers"
    wait(session, lambda: (session.teacher.gain() or {}).get("current"))
    assert (session.teacher.gain() or {})["metric"] == "R²"
    for wrong in (float("nan"), float("inf"), "12", True, 1e200):
        with pytest.raises(InputError, match=r"^value: "):
            session.answer("ann", "wrong", {"item": 0, "value": wrong})


def test_the_metric_that_was_asked_for_judges(begin: Callable[..., Session], tmp_path: Path) -> None:
    known = tupi.Values(np.arange(40), VALUE[:40])
    session = begin(PREDICTED, {"view": VALUE_VIEW}, labels=known, task="regression", metric="mae")
    expected = tupi.denoise(PREDICTED, {"view": VALUE_VIEW}, known, task="regression", metric="mae").evidence
    assert expected is not None
    look_at(session, Look(method="auto", t=1))
    found = session.found("auto")
    assert found is not None
    assert found["evidence"]["metric"] == "MAE"
    assert found["evidence"]["after"] == pytest.approx(expected.after)
    assert (found["evidence"]["unit"], found["evidence"]["factor"]) == ("", 1)
    session.decide("auto", "file", Look())
    wait(session, lambda: not session.decider.running)
    facts = session.decider.facts() or {}
    assert facts["evidence"]["metric"] == "MAE"
    assert "--metric mae" in facts["command"]
    assert "metric='mae'" in facts["python"]
    with pytest.raises(InputError, match=r"^metric: found 'auc', which does not fit here"):
        begin(PREDICTED, {"view": VALUE_VIEW}, labels=known, task="regression", metric="auc")


def test_answers_about_pairs_judge_by_pairs(begin: Callable[..., Session]) -> None:
    session = begin(PREDICTED, {"view": VALUE_VIEW}, metric="ndcg@10")
    for k in range(20):
        asked = session.question("ann")["question"]
        left, right = asked["left"]["item"], asked["right"]["item"]
        session.teacher.answer("ann", left, right, "left" if VALUE[left] > VALUE[right] else "right", str(k))
    session.decide("auto", "answers", Look())
    wait(session, lambda: not session.decider.running)
    facts = session.decider.facts() or {}
    assert facts["evidence"] is not None
    assert "--metric" not in facts["command"]


def test_skipping_and_undoing_one_item(begin: Callable[..., Session]) -> None:
    session = begin(PREDICTED, {"view": VALUE_VIEW}, task="regression")
    skipped = session.question("ann")["question"]["item"]["item"]
    session.answer("ann", "1", {"item": skipped, "value": None})
    following = session.question("ann")["question"]["item"]["item"]
    assert following != skipped
    assert session.teacher.known().labels is None
    session.answer("ann", "2", {"item": following, "value": 0.0})
    session.teacher.undo("ann", "3")
    assert session.question("ann")["question"]["item"]["item"] == following
    assert session.question("ann")["progress"]["mine_by"] == {"value": 0, "skip": 1}


def test_answers_about_items_survive_and_are_not_taken_for_pairs(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    file = AnswerFile(path, 4, ["a", "b", "c", "d"], "values")
    file.append(Told("k", "ann", 2, 1.5))
    file.append(Told("l", "ann", 3, None))
    file.close()
    assert [json.loads(line).get("item") for line in path.read_text().splitlines()] == [None, "c", "d"]
    file = AnswerFile(path, 4, ["a", "b", "c", "d"], "values")
    assert [(one.item, one.value) for one in file.answers if isinstance(one, Told)] == [(2, 1.5), (3, None)]
    file.close()
    with pytest.raises(InputError, match="holds answers about values, and this page asks about pairs"):
        AnswerFile(path, 4, ["a", "b", "c", "d"])


def test_decisions_about_classes_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CHANCES.assign(id=[f"i{k}" for k in range(150)]).to_csv("scores.csv", index=False)
    np.save("view.npy", CLASS_VIEW)
    words = tupi.inputs.files.InputFiles("scores.csv", {"view": "view.npy"}, score=("cat", "dog", "emu"))
    session = Session(read_source(words, "classification"), tmp_path / "a.jsonl")
    try:
        answer(session, lambda item: CHANCES.columns[KIND[item]], 25)
        session.decide("auto", "answers", Look())
        wait(session, lambda: not session.decider.running)
        facts = session.decider.facts() or {}
        Path("labels.csv").write_bytes(session.decider.download("labels.csv"))
        better = session.decider.download("better.csv")
    finally:
        session.close()
    command = [sys.executable, "-c", "from tupi.cli import main; main()", *shlex.split(facts["command"])[1:]]
    subprocess.run(command, check=True, capture_output=True)
    assert Path("better.csv").read_bytes() == better


# Queries


def test_queries_are_ranked_and_asked_about_by_themselves(begin: Callable[..., Session]) -> None:
    session = begin(PREDICTED, {"view": VALUE_VIEW}, groups=QUERY, group_name="query")
    assert session.facts()["group"] == "query"
    _, arrays = decode(session.groups())
    assert arrays["number"].tolist() == [k // 10 for k in range(150)]
    _, arrays = decode(session.initial())
    expected = pd.Series(PREDICTED).groupby(QUERY).rank(ascending=False)
    np.testing.assert_array_equal(arrays["rank"], expected)
    for k in range(20):
        asked = session.question("ann")["question"]
        left, right = asked["left"]["item"], asked["right"]["item"]
        assert left // 10 == right // 10, "both are results of one query"
        assert asked["left"]["group"] == f"q{left // 10}"
        session.answer(
            "ann",
            str(k),
            {"left": left, "right": right, "answer": "left" if VALUE[left] > VALUE[right] else "right"},
        )
    wait(session, lambda: (session.teacher.gain() or {}).get("current"))
    gain = session.teacher.gain() or {}
    assert gain["n_labels"] == 10
    look_at(session, Look(method="auto", t=1))
    told = session.about_item(33, "auto")
    assert told["compared"]  # what is known of labels are counts of comparisons, and is called so
    assert told["reasons"]["compared"]
    assert session.panel.alike(33)
    assert {one // 10 for one in session.panel.alike(33)} == {3}


def test_known_grades_and_answers_of_queries_go_together(begin: Callable[..., Session]) -> None:
    known = tupi.Values(range(20), VALUE[:20])
    session = begin(PREDICTED, {"view": VALUE_VIEW}, labels=known, groups=QUERY)
    asked = session.question("ann")["question"]
    left, right = asked["left"]["item"], asked["right"]["item"]
    session.answer("ann", "1", {"left": left, "right": right, "answer": "left"})
    labels = session.teacher.labels()
    assert isinstance(labels, tupi.Pairs)
    assert len(labels.higher) in (90, 91)
    assert (labels.higher // 10 == labels.lower // 10).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=30), st.integers(0, 2**32 - 1))
def test_random_pairs_of_groups_are_of_one_group_and_come_to_an_end(groups: list[int], seed: int) -> None:
    numbers = np.unique(groups, return_inverse=True)[1]
    pairs, rng = AllPairs(len(numbers), numbers), np.random.default_rng(seed)
    taken: set[tuple[int, int]] = set()
    while (pair := random_pair(pairs, taken, rng)) is not None:
        assert numbers[pair[0]] == numbers[pair[1]]
        assert (min(pair), max(pair)) not in taken
        taken.add((min(pair), max(pair)))
    assert len(taken) == sum(a == b for k, a in enumerate(groups) for b in groups[:k])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=30))
def test_places_within_groups_are_counted_one_by_one(rows: list[tuple[int, int]]) -> None:
    numbers, values = (np.array(column) for column in zip(*rows, strict=True))
    groups = tupi.inputs.groups.Groups(np.unique(numbers, return_inverse=True)[1], numbers)
    slow = [1 + sum(v > values[k] and g == numbers[k] for g, v in rows) for k in range(len(rows))]
    assert ranks(values.astype(float), groups).tolist() == slow


# One item


def test_an_item_is_told_with_its_reasons_its_label_and_its_neighbours(source: PageSource, tmp_path: Path) -> None:
    titles = [f"The {k}th" for k in range(N)]
    session = Session(replace(source, titles=titles), tmp_path / "answers.jsonl")
    try:
        look_at(session, Look(method="auto", t=1))
        found = session.explorer.found("auto")
        assert found is not None
        result = found[1].result
        told = session.about_item(7, "auto")
        reasons = result.reasons("item-007")
        assert told["title"] == "The 7th"
        assert told["reasons"]["sentence"] == reasons.sentence
        assert not told["compared"]
        assert not told["reasons"]["compared"]
        total = sum(part["amount"] for part in told["reasons"]["parts"])
        assert total == pytest.approx(told["reasons"]["after"] - told["reasons"]["before"])
        assert [one["name"] for one in told["reasons"]["pulls"]] == reasons.neighbours["item"].tolist()[:5]
        labels = session.teacher.labels()
        assert isinstance(labels, tupi.Values)
        labelled = int(labels.index[0])
        assert session.about_item(labelled, "auto")["label"] == f"{truth()[labelled]:.4g}"
        other = next(k for k in range(N) if k not in labels.index)
        assert session.about_item(other, "auto")["label"] is None
        # The most alike items, one by one.
        views = [view.rows(slice(None)) for view in session.problem.views]
        H = np.hstack([(view - view.mean(0)) / view.std(0) / np.sqrt(view.shape[1]) for view in views])
        slow = np.argsort(((H - H[7]) ** 2).sum(axis=1))[1:7]
        assert [one["item"] for one in told["alike"]] == slow.tolist()
        # A method that does not tell why has no reasons, and the rest is there.
        assert session.about_item(7, "tupi")["reasons"] is None
        with pytest.raises(InputError, match=r"^item"):
            session.about_item(N, "auto")
    finally:
        session.close()


def test_views_are_told_with_what_they_are_worth(session: Session) -> None:
    look_at(session, Look(method="auto", t=1))
    found = session.explorer.found("auto")
    assert found is not None
    gains = found[1].result.view_gains
    assert gains is not None
    told = {row["view"]: row for row in session.views("auto") or []}
    for view, row in gains.iterrows():
        assert told[str(view)]["gain"] == pytest.approx(row["gain"])
        assert told[str(view)]["kind"] == "gain"


def test_only_random_answers_say_what_a_view_is_worth(unlabelled: PageSource, tmp_path: Path) -> None:
    session = Session(unlabelled, tmp_path / "answers.jsonl")
    try:
        for k in range(24):
            asked = session.question("ann")["question"]
            left, right = asked["left"]["item"], asked["right"]["item"]
            higher = "left" if truth()[left] > truth()[right] else "right"
            session.answer("ann", str(k), {"left": left, "right": right, "answer": higher})
        look_at(session, Look(method="auto", t=1))
        known = session.teacher.known()
        # A frame may still be that of fewer answers.
        wait(session, lambda: (found := session.explorer.found("auto")) and found[1].known.n_answers == 24)
        told = {row["view"]: row["gain"] for row in session.views("auto", worth=True) or []}
        expected = tupi.denoise(unlabelled.predictions, unlabelled.features, known.judges).view_gains
        assert known.judges is not None
        assert len(known.judges.higher) == 12
        assert told == pytest.approx(expected["gain"].to_dict())
    finally:
        session.close()


def test_a_fit_that_began_before_an_answer_does_not_stay(
    unlabelled: PageSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(unlabelled, tmp_path / "answers.jsonl", method="tupi")  # nothing is fitted ahead of the test
    begun, go_on = threading.Event(), threading.Event()
    fit = session.explorer.fits.result

    def slowly(name: str, known: Knowledge) -> tupi.Denoised:
        begun.set()
        assert go_on.wait(60)
        return fit(name, known)

    monkeypatch.setattr(session.explorer.fits, "result", slowly)
    try:
        session.explorer.look("me", Look(method="auto", t=1))
        assert begun.wait(60)
        asked = session.question("ann")["question"]
        session.answer("ann", "0", {"left": asked["left"]["item"], "right": asked["right"]["item"], "answer": "left"})
        session.explorer.look("me", Look(method="auto", t=1))  # the fit to no answers has not ended yet
        go_on.set()
        wait(session, lambda: (found := session.explorer.found("auto")) and found[1].known.n_answers == 1)
    finally:
        go_on.set()
        session.close()


def test_titles_come_from_a_column_that_is_called_so(tmp_path: Path) -> None:
    origin = write_files(tmp_path, labels=False, pictures=False)
    table = pd.read_csv(origin.scores)
    table["Title"], table["colour"] = [f"Number {k}" for k in range(N)], "red"
    table.to_csv(origin.scores, index=False)
    source = read_source(origin)
    assert source.titles == [f"Number {k}" for k in range(N)]
    assert source.facts is not None
    assert list(source.facts.columns) == ["colour"]
    assert read_source(origin, title_column="colour").titles == ["red"] * N
    with pytest.raises(InputError, match="--title-column"):
        read_source(origin, title_column="nope")
