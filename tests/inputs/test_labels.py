import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tupi
from tupi.inputs.labels import Pairs, Values, as_labels, labelled_items, relabel, score, subset


def brute_force(scores, truth):
    right, pairs = 0.0, 0
    for i in range(len(scores)):
        for j in range(len(scores)):
            if truth[i] > truth[j]:
                pairs += 1
                right += 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
    return right / pairs


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=40))
def test_pairwise_accuracy_is_exact(rows):
    scores, truth = map(np.array, zip(*rows, strict=True))
    if len(set(truth.tolist())) < 2:
        with pytest.raises(tupi.InputError, match="at least two distinct"):
            tupi.pairwise_accuracy(scores, truth)
    else:
        assert tupi.pairwise_accuracy(scores, truth) == pytest.approx(brute_force(scores, truth), abs=1e-15)


def test_pairwise_accuracy_of_many_items_needs_no_quadratic_memory():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200_000)
    assert tupi.pairwise_accuracy(truth, truth) == 1.0
    assert tupi.pairwise_accuracy(-truth, truth) == 0.0
    assert tupi.pairwise_accuracy(np.zeros_like(truth), truth) == 0.5


def test_pairwise_accuracy_takes_values_pairs_and_nan():
    scores = np.array([3.0, 1.0, 2.0, 5.0])
    assert tupi.pairwise_accuracy(scores, [1, np.nan, 0, np.nan]) == 1.0
    assert tupi.pairwise_accuracy(scores, Values([0, 2], [0, 1])) == 0.0
    assert tupi.pairwise_accuracy(scores, Pairs([3, 1], [0, 2])) == 0.5


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Values([0, 10], [1, 2]), "position 10; accepted: 0 to 9"),
        (Values([-1, 1], [1, 2]), "position -1"),
        (Values([0, 1], [1, 1]), "1 distinct value"),
        (Values([0, 0], [1, 2]), "item 0 occurs more than once"),
        (Values([0, 1], [1, np.inf]), "item 1 is not finite"),
        (Values([0, 1, 2], [1, 2]), "3 positions and 2 values"),
        (Values([0.5, 1.5], [1, 2]), "list of item positions"),
        (Pairs([0, 1], [1, 0]), "items 0 and 1 are each said to be the higher"),
        (Pairs([0], [0]), "item 0 is compared with itself"),
        (Pairs([0, 1], [2]), "2 higher and 1 lower"),
        (Pairs([], []), "no pairs"),
        (Pairs([11], [0]), "position 11"),
        (np.arange(7), "7 entries for 10 items"),
        (np.full(10, np.nan), "0 distinct"),
        (np.zeros((10, 2)), "shape"),
    ],
)
def test_bad_labels_get_a_sentence(labels, words):
    with pytest.raises(tupi.InputError, match="labels") as caught:
        as_labels(labels, 10)
    assert words in str(caught.value)


def test_series_is_matched_by_index():
    index = pd.Index(list("abcdefghij"))
    labels = as_labels(pd.Series({"c": 1.0, "a": 2.0}), 10, index)
    assert labels.index.tolist() == [0, 2]
    assert labels.values.tolist() == [2.0, 1.0]
    with pytest.raises(tupi.InputError, match="not among the predictions"):
        as_labels(pd.Series({"z": 1.0, "a": 2.0}), 10, index)


def test_nullable_labels_work():
    labels = as_labels(pd.Series([1, None, 3], dtype="Int64"), 3)
    assert labels.index.tolist() == [0, 2]


def test_score_by_task():
    truth = Values(np.array([0, 1, 2]), np.array([1.0, 2.0, 4.0]))
    f = np.array([1.0, 2.0, 3.0])
    assert score(f, truth, "ranking") == 1.0
    assert score(f, truth, "regression") == pytest.approx(1 - 1 / np.sum((truth.values - truth.values.mean()) ** 2))
    classes = Values(np.array([0, 2]), np.array([1, 0]))
    assert score(np.array([[0.1, 0.9], [1, 0], [0.2, 0.8]]), classes, "classification") == 0.5


def test_subset_and_relabel():
    values = Values(np.array([3, 7, 9]), np.array([1.0, 2.0, 2.0]))
    assert subset(values, [7, 9]) is None  # equal values rank nothing
    kept = subset(values, [3, 9])
    assert kept.index.tolist() == [3, 9]
    assert relabel(kept, np.array([1, 3, 9])).index.tolist() == [1, 2]
    pairs = Pairs(np.array([1, 2]), np.array([3, 4]))
    assert subset(pairs, [1, 2, 4]).higher.tolist() == [2]
    assert labelled_items(pairs).tolist() == [1, 2, 3, 4]
