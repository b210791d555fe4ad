"""Bounds and sets of classes against their definition, and against crepes."""

import numpy as np
import pytest
from crepes import ConformalClassifier, ConformalRegressor
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from tupi.judging.conformal import class_scores, reach, reach_of_errors

RNG = np.random.default_rng(0)
LEVELS = (0.31, 0.5, 0.777, 0.95)


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=60, unique=True), st.floats(0.01, 0.99))
def test_of_exchangeable_scores_at_least_the_level_is_within_reach_of_the_others(scores, level):
    """Whichever of the m + 1 is the new one: that is the whole of the finite-sample rule, and less would not do."""
    scores = np.array(scores, float)
    others = [np.delete(scores, k) for k in range(len(scores))]
    held = np.mean([one <= reach(rest, level) for one, rest in zip(scores, others, strict=True)])
    assert held >= level - 1e-9
    assert held <= level + 1 / len(scores) + 1e-9


@pytest.mark.parametrize("level", LEVELS)
def test_bounds_are_those_of_crepes(level):
    y, predicted, sigma = RNG.normal(size=50), RNG.normal(size=50), RNG.uniform(0.5, 2, size=50)
    new, spread = RNG.normal(size=20), RNG.uniform(0.5, 2, size=20)
    oracle = ConformalRegressor().fit(y - predicted, sigmas=sigma)
    half = reach_of_errors(np.abs(y - predicted) / sigma, level) * spread
    expected = oracle.predict_int(new, sigmas=spread, confidence=level)
    np.testing.assert_allclose(np.column_stack([new - half, new + half]), expected)


@pytest.mark.parametrize("level", LEVELS)
def test_sets_of_classes_are_those_of_crepes(level):
    shares, classes = RNG.dirichlet(np.ones(4), size=60), RNG.integers(0, 4, size=60)
    new = class_scores(RNG.dirichlet(np.ones(4), size=30), True)
    own = class_scores(shares, True)[np.arange(60), classes]
    oracle = ConformalClassifier().fit(own)
    expected = oracle.predict_set(new, confidence=level, smoothing=False).astype(bool)
    np.testing.assert_array_equal(new <= reach(own, level), expected)


def test_scores_that_are_no_probabilities_are_compared_with_the_highest():
    given = np.array([[3.0, 1.0, -2.0], [0.0, 4.0, 4.0]])
    np.testing.assert_array_equal(class_scores(given, False), [[0.0, 2.0, 5.0], [4.0, 0.0, 0.0]])
    np.testing.assert_array_equal(class_scores(np.array([[0.75, 0.25]]), True), [[0.25, 0.75]])


def test_few_labels_reach_as_far_as_normal_errors_or_the_largest():
    """Nine labels cannot tell a level of 95 per cent, and 19 can."""
    errors = np.abs(RNG.normal(size=9))
    assert reach(errors, 0.95) == np.inf
    expected = t.ppf(0.975, 8) * np.sqrt(np.mean(errors**2) * (1 + 1 / 9))
    assert reach_of_errors(errors, 0.95) == pytest.approx(max(expected, errors.max()))
    far = np.append(np.zeros(8), 5.0)
    assert reach_of_errors(far, 0.91) == 5.0
    assert reach(np.arange(19.0), 0.95) == 18.0
    assert reach_of_errors(np.ones(1), 0.5) == 1.0
    assert reach_of_errors(np.ones(1), 0.9) == np.inf
    assert reach_of_errors(np.ones(2), 0.9) == pytest.approx(t.ppf(0.95, 1) * np.sqrt(1.5))


def test_the_rank_is_whole_whatever_rounding_says():
    """0.8 times 50 is 40, and 0.7 times 10 is 7."""
    assert reach(np.arange(49.0), 0.8) == 39.0
    assert reach(np.arange(9.0), 0.7) == 6.0
    assert reach(np.arange(9.0), 0.9) == 8.0
    assert reach(np.arange(9.0), 0.91) == np.inf
    assert reach(np.arange(9.0)[::-1], 0.1) == 0.0
    assert 0.7 * 10 - 7 <= 0 < 0.55 * 100 - 55  # the second is not
    assert reach(np.arange(99.0), 0.55) == 54.0
