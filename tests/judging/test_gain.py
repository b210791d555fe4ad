"""Gains of labels that have weights: as if each label were there as often as it counts."""

import numpy as np
import pytest

from tupi.judging.gain import mean_gain, pair_gain


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
