from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tupi.inputs.checked_labels import as_labels
from tupi.inputs.labels import Pairs, Values
from tupi.page.answers import PairAnswer
from tupi.page.knowledge import Tally, known_from, value_pairs


def said(*answers: tuple[str, int, int, str]) -> list[PairAnswer]:
    return [PairAnswer(str(k), rater, left, right, verdict) for k, (rater, left, right, verdict) in enumerate(answers)]


def pairs_of(labels: Pairs | None) -> set[tuple[int, int]]:
    return set() if labels is None else {(int(i), int(j)) for i, j in zip(labels.higher, labels.lower, strict=True)}


def test_the_majority_decides_and_a_draw_says_nothing() -> None:
    tally = Tally(
        said(
            ("a", 1, 2, "left"),
            ("b", 2, 1, "left"),
            ("c", 1, 2, "left"),  # two of three
            ("a", 3, 4, "right"),
            ("b", 3, 4, "left"),  # a draw
            ("a", 5, 6, "equal"),
            ("b", 7, 8, "skip"),
        )
    )
    assert pairs_of(known_from(None, tally).labels) == {(1, 2)}


def test_a_rater_who_answers_again_changes_the_vote() -> None:
    answers = said(("a", 1, 2, "left"), ("a", 2, 1, "left"))
    assert pairs_of(known_from(None, answers).labels) == {(2, 1)}


def test_nothing_but_equal_and_skip_is_no_label() -> None:
    assert known_from(None, said(("a", 1, 2, "equal"), ("a", 3, 4, "skip"))).labels is None


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"), st.integers(0, 5), st.integers(6, 9), st.sampled_from(["left", "right", "equal"])
        ),
        min_size=1,
        max_size=40,
    )
)
def test_votes_always_make_labels_without_contradiction(answers: list[tuple[str, int, int, str]]) -> None:
    pairs = known_from(None, said(*answers)).labels
    if pairs is not None:
        checked = as_labels(pairs, 10)  # contradictions would be an error
        found = pairs_of(checked)
        assert found
        assert not found & {(lower, higher) for higher, lower in found}


def test_values_become_the_comparisons_they_imply() -> None:
    known = Values(np.array([4, 7, 9]), np.array([1.0, 3.0, 1.0]))
    assert pairs_of(value_pairs(known)) == {(7, 4), (7, 9)}


def test_many_values_are_bounded_and_drawn_alike_each_time() -> None:
    rng = np.random.default_rng(0)
    known = Values(np.arange(3000), rng.normal(size=3000))
    first, second = value_pairs(known, 5), value_pairs(known, 5)
    assert len(first.higher) == 2000
    np.testing.assert_array_equal(first.higher, second.higher)
    assert (known.values[first.higher] > known.values[first.lower]).all()


def test_file_and_answers_together() -> None:
    known = Pairs(np.array([1, 3]), np.array([2, 4]))
    answers = said(("a", 2, 1, "left"), ("b", 2, 1, "left"), ("a", 4, 3, "left"), ("a", 5, 6, "left"))
    # Two raters outvote the file about 1 and 2; one rater and the file draw about 3 and 4.
    assert pairs_of(known_from(known, answers).labels) == {(2, 1), (5, 6)}


def test_what_is_known_is_counted_as_what_it_is() -> None:
    answers = said(("a", 2, 1, "left"), ("b", 2, 1, "left"), ("a", 3, 4, "equal"), ("a", 5, 6, "right"))
    values = Values(np.arange(4, 8), np.array([1.0, 2.0, 3.0, 4.0]))
    assert known_from(None, []).words == "no labels"
    assert known_from(None, answers).words == "2 answers"
    assert known_from(values, answers).words == "4 labels and 2 answers"
    assert known_from(Pairs(np.arange(3), np.arange(3, 6)), []).words == "3 comparisons"


def test_pairs_that_were_chosen_do_not_judge() -> None:
    answers = [
        PairAnswer("1", "a", 0, 1, "left", drawn="random"),
        PairAnswer("2", "a", 2, 3, "left"),
        PairAnswer("3", "a", 4, 5, "left", drawn="random"),
        PairAnswer("4", "b", 5, 4, "right", drawn="chosen"),
        PairAnswer("5", "a", 6, 7, "equal", drawn="random"),
        PairAnswer("6", "a", 8, 9, "right", drawn="random"),
        PairAnswer("7", "b", 8, 9, "skip"),
    ]
    assert pairs_of(known_from(None, answers).judges) == {(0, 1), (9, 8)}


@pytest.mark.parametrize("known", [None, Pairs(np.array([1]), np.array([2]))])
def test_without_answers_the_file_stays_as_it_is(known: Pairs | None) -> None:
    assert known_from(known, []).labels is known


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(0, 3),
            st.integers(4, 6),
            st.sampled_from(["left", "right", "equal", "skip"]),
            st.sampled_from(["random", "chosen"]),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_counting_as_answers_come_and_go(
    steps: list[tuple[str, int, int, str, str, bool]],
) -> None:
    answers: list[PairAnswer] = []
    tally = Tally()
    for key, (rater, left, right, verdict, drawn, undoes) in enumerate(steps):
        answers.append(PairAnswer(str(key), rater, left, right, verdict, drawn=drawn))
        if undoes:
            del answers[left % len(answers)]
        tally = tally.follow(answers)
    whole = Tally(answers)
    assert list(tally.votes.items()) == list(whole.votes.items())
    for name in ("chosen", "skipped", "verdicts", "n_votes", "n_random", "n_decided", "n"):
        assert getattr(tally, name) == getattr(whole, name)
    assert tally.n_decided == known_from(None, answers).n_answers
    last: dict[tuple[int, int], dict[str, int]] = {}
    for answer in answers:
        if answer.verdict != "skip":
            sign = {"left": 1, "right": -1, "equal": 0}[answer.verdict]
            last.setdefault((answer.left, answer.right), {})[answer.rater] = sign
    assert tally.votes == {pair: sum(said.values()) for pair, said in last.items()}
