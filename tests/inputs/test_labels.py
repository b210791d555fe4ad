import numpy as np
import pandas as pd
import pytest

import tupi
from tupi.inputs.checked_labels import as_labels
from tupi.inputs.labels import Pairs, Values, entries, labelled_items, n_labels, relabel, subset
from tupi.inputs.problem import make_problem


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (Values([0, 10], [1, 2]), "position 10; accepted: 0 to 9"),
        (Values([-1, 1], [1, 2]), "position -1"),
        (Values([0, 1], [1, 1]), "1 distinct value"),
        (Values([0, 1], [1, np.inf]), "item 1 is not finite"),
        (Values([0, 1, 2], [1, 2]), "3 positions and 2 values"),
        (Values([0.5, 1.5], [1, 2]), "list of item positions"),
        (Pairs([0, 1], [1, 0], weights=[1, 0]), "labels.weights: found 0; accepted: finite numbers above 0"),
        (Pairs([0, 1], [1, 0], tied=[True]), "labels.tied: found shape (1,) for 2 labels"),
        (Pairs([0, 1], [1, 2], tied=[True, True]), "all 2 pairs are tied"),
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
    with pytest.warns(UserWarning, match=r"1 id\(s\) are not among those of the predictions \(first: z\)"):
        labels = as_labels(pd.Series({"z": 1.0, "a": 2.0, "b": 3.0}), 10, index)
    assert labels.index.tolist() == [0, 1]
    with pytest.raises(tupi.InputError, match=r"none of its ids .*'A' and 'a' differ only by upper and lower case"):
        as_labels(pd.Series({"A": 1.0, "B": 2.0}), 10, index)


def test_values_and_pairs_may_name_ids():
    index = pd.Index(list("abcdefghij"))
    with pytest.warns(UserWarning, match="first: z"):
        values = as_labels(Values(["c", "z", "a"], [1.0, 5.0, 2.0]), 10, index)
    assert (values.index.tolist(), values.values.tolist()) == ([2, 0], [1.0, 2.0])
    with pytest.warns(UserWarning, match="first: z"):
        pairs = as_labels(Pairs(["c", "z"], ["a", "b"]), 10, index)
    assert (pairs.higher.tolist(), pairs.lower.tolist()) == ([2], [0])
    assert as_labels(Values([1, 2], [1.0, 2.0]), 10, pd.Index(range(1, 11))).index.tolist() == [1, 2]  # positions
    with pytest.raises(tupi.InputError, match=r"labels\.index: found ids such as 'a', and the predictions have none"):
        as_labels(Values(["a", "b"], [1.0, 2.0]), 10)
    with (
        pytest.warns(UserWarning, match="first: z"),
        pytest.raises(tupi.InputError, match=r"each pair has an id .*\(first: z\)"),
    ):
        as_labels(Pairs(["c"], ["z"]), 10, index)


def test_nullable_labels_work():
    labels = as_labels(pd.Series([1, None, 3], dtype="Int64"), 3)
    assert labels.index.tolist() == [0, 2]


def test_subset_and_relabel():
    values = Values(np.array([3, 7, 9]), np.array([1.0, 2.0, 2.0]))
    assert subset(values, [7, 9]) is None  # equal values rank nothing
    kept = subset(values, [3, 9])
    assert kept.index.tolist() == [3, 9]
    assert relabel(kept, np.array([1, 3, 9])).index.tolist() == [1, 2]
    pairs = Pairs(np.array([1, 2]), np.array([3, 4]))
    assert subset(pairs, [1, 2, 4]).higher.tolist() == [2]
    assert labelled_items(pairs).tolist() == [1, 2, 3, 4]


def test_entries_of_labels():
    values = entries(Values(np.array([3, 7, 9]), np.array([1.0, 2.0, 4.0])), np.array([2, 0]))
    assert (values.index.tolist(), values.values.tolist()) == ([9, 3], [4.0, 1.0])
    pairs = entries(Pairs(np.array([1, 2, 5]), np.array([3, 4, 6])), slice(1, None))
    assert (pairs.higher.tolist(), pairs.lower.tolist()) == ([2, 5], [4, 6])
    assert (n_labels(values), n_labels(pairs)) == (2, 2)


def test_of_several_values_of_an_item_the_mean_counts():
    with pytest.warns(UserWarning, match=r"1 item\(s\) have several values, of which the mean counts"):
        labels = as_labels(Values([3, 0, 3], [1.0, 5.0, 2.0]), 10)
    assert dict(zip(labels.index.tolist(), labels.values.tolist(), strict=True)) == {0: 5.0, 3: 1.5}


def test_of_several_classes_of_an_item_the_one_that_most_say_counts():
    scores = np.eye(3)[np.arange(12) % 3]

    def found(index, values):
        return make_problem(scores, np.arange(12.0), Values(index, values), "classification").labels

    with pytest.warns(UserWarning, match="the class that most say counts"):
        labels = found([3, 0, 3, 3, 5], [1, 0, 2, 2, 1])
    assert (labels.index.tolist(), labels.values.tolist()) == ([0, 3, 5], [0, 2, 1])
    np.testing.assert_allclose(labels.weights, [1, 1, 1])  # two votes less one
    with pytest.warns(UserWarning, match=r"as many say one class as another \(first: 3\); these are left out"):
        assert found([3, 0, 3, 5], [1, 0, 2, 1]).index.tolist() == [0, 5]
    with pytest.warns(UserWarning, match="several values"):
        labels = found([3, 0, 3], [1, 0, 1])
    assert (labels.values.tolist(), labels.weights.tolist()) == ([0, 1], [1.0, 2.0])


def test_answers_may_contradict_one_another():
    labels = as_labels(Pairs([0, 1, 0], [1, 0, 2]), 10)
    assert labels.higher.tolist() == [0, 1, 0]
    assert labels.weights is None


def test_a_tie_is_half_an_answer_in_either_order():
    labels = as_labels(Pairs([0, 1], [1, 2], weights=[3.0, 1.0], tied=[True, False]), 10)
    found = sorted(zip(labels.higher.tolist(), labels.lower.tolist(), labels.weights.tolist(), strict=True))
    assert found == [(0, 1, 1.5), (1, 0, 1.5), (1, 2, 1.0)]
    assert labels.tied is None


def test_weights_and_ties_go_with_their_pairs_when_ids_are_unknown():
    index = pd.Index(list("abcdefghij"))
    with pytest.warns(UserWarning, match="left out"):
        labels = as_labels(Pairs(["a", "z", "b"], ["b", "a", "c"], weights=[2, 9, 3], tied=[0, 0, 0]), 10, index)
    assert labels.weights.tolist() == [2.0, 3.0]
    assert entries(labels, np.array([1])).weights.tolist() == [3.0]
