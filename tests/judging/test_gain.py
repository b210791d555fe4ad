"""Gains of labels that have weights: as if each label were there as often as it counts."""

import numpy as np
import pytest

from tupi.judging.evidence import mean_gain, pair_gain


def test_a_mean_gain_with_weights_is_that_of_repeated_labels():
    rng = np.random.default_rng(0)
    before, after, weights = rng.normal(size=12), rng.normal(size=12), rng.integers(1, 4, 12).astype(float)
    found = mean_gain(before, after, weights)
    again = [np.repeat(one, weights.astype(int)) for one in (before, after)]
    assert (found.before, found.after) == pytest.approx([one.mean() for one in again])
    even = mean_gain(before, after, np.full(12, 3.0))
    assert even.error == pytest.approx(np.std(after - before, ddof=1) / np.sqrt(12))
    assert mean_gain(before, after).error == pytest.approx(even.error)
    assert found.error > even.error * 0.5
    assert np.isinf(mean_gain(before[:2], after[:2]).error)


def test_a_pair_gain_with_weights_is_that_of_repeated_pairs():
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 8, (2, 30))
    first, second = first[first != second], second[first != second]
    before, after = rng.normal(size=(2, len(first)))
    weights = rng.integers(1, 4, len(first))
    found = pair_gain(before, after, first, second, 8, weights=weights.astype(float))
    again = pair_gain(*(np.repeat(one, weights) for one in (before, after, first, second)), 8)
    assert (found.before, found.after, found.error) == pytest.approx((again.before, again.after, again.error))


def test_labels_of_a_group_vary_together():
    """Three groups of two pairs that share no item, of which both pairs of one group were gained."""
    first, second, groups = np.arange(0, 12, 2), np.arange(1, 12, 2), np.repeat([0, 1, 2], 2)
    before, after = np.array([-1.0, -1, 1, 1, 1, 1]), np.ones(6)
    # Without one of the four items of gained pairs, 1 of 5 pairs is gained, and without one of the other eight 2 of 5.
    by_items = np.sqrt(11 / 12 * (4 * (1 / 5 - 1 / 3) ** 2 + 8 * (2 / 5 - 1 / 3) ** 2))
    # Without the first group none of 4 pairs is gained, and without another 2 of 4.
    by_groups = np.sqrt(2 / 3 * ((1 / 3) ** 2 + 2 * (1 / 2 - 1 / 3) ** 2))
    assert by_groups > by_items
    assert pair_gain(before, after, first, second, 12).error == pytest.approx(by_items)
    assert pair_gain(before, after, first, second, 12, groups).error == pytest.approx(by_groups)
    doubled = pair_gain(before, after, first, second, 12, groups, np.full(6, 2.0))
    assert doubled.error == pytest.approx(by_groups)
    two = np.minimum(groups, 1)  # too few groups to tell
    assert pair_gain(before, after, first, second, 12, two).error == pytest.approx(by_items)


def test_a_weighted_mean_and_its_error_by_hand():
    found = mean_gain(np.zeros(3), np.array([1.0, 0, 0]), np.array([2.0, 1, 1]))
    assert (found.before, found.after) == (0.0, 0.5)
    # Shares 1/2, 1/4, 1/4 of gains that are 1/2, -1/2, -1/2 off their mean.
    assert found.error == pytest.approx(np.sqrt((1 / 16 + 1 / 64 + 1 / 64) * 3 / 2))
