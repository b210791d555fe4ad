"""Folds for searches of scikit-learn, by small cases."""

import numpy as np
import pytest

import tupi
from tupi.judging.labelled_folds import LabelledKFold

NAN = np.nan


def folds(y, groups=None, n_splits=2, **options):
    found = LabelledKFold(n_splits, **options).split(None, np.array(y, float), groups)
    return [(train.tolist(), test.tolist()) for train, test in found]


def test_items_without_a_label_are_in_every_fit():
    assert folds([1, NAN, 2, NAN]) == [([0, 1, 3], [2]), ([1, 2, 3], [0])]


def test_five_folds_by_the_seed_zero():
    assert (LabelledKFold().n_splits, LabelledKFold().random_state, LabelledKFold(7).get_n_splits()) == (5, 0, 7)
    y = np.arange(20.0)
    found = folds(y, n_splits=5)
    assert found == folds(y, n_splits=5, random_state=0) != folds(y, n_splits=5, random_state=1)
    assert sorted(item for _, test in found for item in test) == list(range(20))
    assert found[0][1] != [0, 1, 2, 3]  # dealt at random


def test_groups_are_left_out_whole_and_dealt_by_their_names():
    """With two folds the second group by name comes first; item 3, without a label, leaves with its group."""
    expected = [([2, 3], [0, 1]), ([0, 1], [2, 3])]
    assert folds([1, 2, 3, NAN], ["b", "b", "a", "a"]) == expected
    assert folds([1, 2, 3, NAN], ["a", "a", "b", "b"]) == expected[::-1]


def test_a_group_without_labels_is_in_every_fit_and_a_missing_name_is_a_group():
    found = folds([1, 2, NAN], np.array(["a", None, "c"], object))
    assert found == [([0, 2], [1]), ([1, 2], [0])]  # whose name comes last, and so it is dealt first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2, 3], None, 1), "n_splits: found 1"),
        (([1, 2, 3], None, 2.5), "n_splits: found 2.5"),
        (([1, 2, 3], None, None), "n_splits: found None"),
        (([[1, 2], [3, 4]],), r"y: found shape \(2, 2\)"),
        (([1, NAN, NAN],), r"y: found 1 label\(s\); accepted: one or more for each of 2 folds"),
        (([1, 2, 3], ["a", "b"]), r"groups: found shape \(2,\) for 3 items"),
        (([1, 2, 3], ["a", "a", "a"]), r"y: found 1 group\(s\) with labels"),
    ],
)
def test_what_cannot_be_dealt_gets_a_sentence(arguments, words):
    with pytest.raises(tupi.InputError, match=words):
        folds(*arguments)


def test_labels_are_asked_for():
    with pytest.raises(tupi.InputError, match="y: found None"):
        next(LabelledKFold(2).split(np.zeros((3, 1))))


def test_scikit_learn_passes_groups_on_without_being_asked():
    assert LabelledKFold().get_metadata_routing().split.requests == {"groups": True}
