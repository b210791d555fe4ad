"""Labels as values or as pairs: checking, splitting, drawing."""

import numpy as np
import pytest

from tupi.rankers.targets import PairTargets, ValueTargets, check_targets
from tupi.runtime.errors import InputError


@pytest.mark.parametrize(
    ("y", "pairs", "words"),
    [
        (None, None, "requires y"),
        ([1, 2, 3], ([0], [1]), "both"),
        ([1, 2], None, r"shape \(3,\)"),
        ([[1], [2], [3]], None, r"found \(3, 1\)"),
        ([1, 2, np.nan], None, "NaN"),
        ([1, 2, np.inf], None, "infinity"),
        (["a", "b", "c"], None, "numbers"),
        ([2, 2, 2], None, "one value only, 2"),
        (None, 5, "two arrays"),
        (None, ([0],), "two arrays"),
        (None, ([0, 1], [2]), "one length"),
        (None, (np.zeros(0, int), np.zeros(0, int)), "at least 1"),
        (None, ([0.0], [1.0]), "integers"),
        (None, ([0], [3]), "from 0 to 2: found 3"),
        (None, ([-1], [1]), "from 0 to 2: found -1"),
        (None, ([0, 2], [1, 2]), "row 2 with itself"),
    ],
)
def test_bad_labels_get_a_sentence(y, pairs, words):
    with pytest.raises(InputError, match=words):
        check_targets(3, y, pairs)


def test_messages_name_the_validation_arguments():
    with pytest.raises(InputError, match="y_val must have shape"):
        check_targets(3, [1, 2], None, "_val")
    with pytest.raises(InputError, match="pairs_val must hold row numbers"):
        check_targets(3, None, ([0], [9]), "_val")


def test_splitting_values_keeps_rows_and_values_together():
    targets = ValueTargets(np.array([5.0, 6.0, 7.0, 8.0]))
    rows, train, judged_rows, judge = targets.split(np.array([False, True, False, True]))
    assert rows.tolist() == [0, 2]
    assert train.y.tolist() == [5, 7]
    assert judged_rows.tolist() == [1, 3]
    assert judge.y.tolist() == [6, 8]


def test_splitting_pairs_keeps_those_with_both_ends_on_one_side():
    rng = np.random.default_rng(0)
    ends = rng.integers(30, size=(2, 200))
    higher, lower = ends[:, ends[0] != ends[1]]
    held_out = np.arange(30) % 3 == 0
    rows, train, judged_rows, judge = PairTargets(higher, lower).split(held_out)
    back = [*zip(rows[train.higher], rows[train.lower], strict=True)]
    judged = [*zip(judged_rows[judge.higher], judged_rows[judge.lower], strict=True)]
    assert back == [(h, k) for h, k in zip(higher, lower, strict=True) if h % 3 and k % 3]
    assert judged == [(h, k) for h, k in zip(higher, lower, strict=True) if h % 3 == 0 == k % 3]


def test_folds_keep_separate_pairs_whole():
    targets = PairTargets(np.arange(0, 40, 2), np.arange(1, 40, 2))  # no item is in two pairs
    for n_folds in (2, 5):
        kept = 0
        for fold in targets.folds(np.random.default_rng(0), n_folds):
            _, train, _, judge = targets.split(np.isin(np.arange(40), fold))
            assert train.n_pairs + judge.n_pairs == 20
            kept += judge.n_pairs
        assert kept == 20


@pytest.mark.parametrize(
    "targets",
    [
        ValueTargets(np.random.default_rng(0).integers(4, size=23).astype(float)),
        PairTargets(np.arange(22) + 1, np.zeros(22, int)),
    ],
)
def test_folds_part_the_labelled_rows_evenly(targets):
    folds = targets.folds(np.random.default_rng(0), 5)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), targets.labelled)
    assert {len(fold) for fold in folds} == {4, 5}


def test_folds_cover_the_range_of_values():
    targets = ValueTargets(np.repeat([0.0, 1.0, 2.0], 10))
    for fold in targets.folds(np.random.default_rng(0), 5):
        assert sorted(targets.y[fold]) == [0, 0, 1, 1, 2, 2]


def test_drawn_pairs_are_uniform_over_the_ordered_pairs():
    y = np.array([2.0, 0.0, 1.0, 1.0, 2.0, 2.0])
    higher, lower = ValueTargets(y).draw(np.random.default_rng(0), 110_000)
    assert (y[higher] > y[lower]).all()
    _, counts = np.unique(higher * len(y) + lower, return_counts=True)
    assert len(counts) == 11 == ValueTargets(y).n_pairs
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000)


def test_held_out_values_cover_the_range():
    y = np.repeat([0.0, 1.0, 2.0], 10)
    for seed in range(20):
        rows = ValueTargets(y).hold_out(np.random.default_rng(seed), 6)
        assert len(set(rows)) == 6
        assert sorted(y[rows]) == [0, 0, 1, 1, 2, 2]
