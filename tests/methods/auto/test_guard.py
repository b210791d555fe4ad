import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tupi.judging.gain import Gain, mean_gain, pair_gain
from tupi.methods.auto import guard
from tupi.methods.auto.guard import probability_of_gain, weight_of


def test_the_gain_over_pairs_and_its_jackknife_equal_their_definition():
    rng = np.random.default_rng(0)
    m = 9
    truth, old, new = rng.integers(0, 4, m), rng.integers(0, 5, m), rng.normal(size=m)

    def accuracies(items):
        pairs = [(i, j) for i in items for j in items if truth[i] > truth[j]]
        return [np.mean([(s[i] > s[j]) + 0.5 * (s[i] == s[j]) for i, j in pairs]) for s in (old, new)]

    first, second = np.nonzero(truth[:, None] > truth)
    found = pair_gain((old[first] - old[second]).astype(float), new[first] - new[second], first, second, m)
    before, after = accuracies(range(m))
    assert (found.before, found.after) == pytest.approx((before, after))
    without = [np.subtract(*accuracies([k for k in range(m) if k != i])[::-1]) for i in range(m)]
    assert found.error == pytest.approx(np.sqrt((m - 1) * np.var(without)))


def test_two_labels_cannot_tell():
    found = pair_gain(np.array([1.0]), np.array([-1.0]), np.array([0]), np.array([1]), 2)
    assert (found.before, found.after, found.error) == (1.0, 0.0, np.inf)


def test_the_gain_of_a_mean():
    before, after = np.array([0.0, 1, 1, 0]), np.array([1.0, 1, 1, 0])
    found = mean_gain(before, after)
    assert found.points == pytest.approx(25)
    assert found.error == pytest.approx(0.25)


@pytest.mark.parametrize("related", [True, False])
@pytest.mark.parametrize(("gain", "error"), [(0.03, 0.02), (-0.05, 0.03), (0.01, 0.001)])
def test_the_probability_is_that_of_bayes_rule(gain, error, related):
    prior = guard.OF_SHARES
    expected_gain, sd = (prior.mean, prior.sd) if related else (0.0, guard.WIDER * prior.sd)
    error_points = max(100 * error, prior.least_error)

    def density(x):
        return norm.pdf(x, expected_gain, sd) * norm.pdf(100 * gain, x, error_points)

    expected = quad(density, 0, 40)[0] / quad(density, -40, 40)[0]
    found = probability_of_gain(Gain(0.5, 0.5 + gain, error), related)
    assert found == pytest.approx(expected, abs=1e-6)


def test_no_credible_gain_has_no_weight():
    def weight(gain, error, related):
        return weight_of(probability_of_gain(Gain(0.8, 0.8 + gain, error), related), related)

    assert weight(-0.1, 0.02, True) == 0.0
    assert weight(0.02, 0.01, True) > 0.5
    assert weight(0.02, 0.02, False) == 0.0
    assert weight(0.15, 0.02, False) > 0.95
    assert 0.5 < weight(-0.1, np.inf, True) < 1


def test_a_gain_in_squared_error_has_no_units():
    """Predictions in wrong units have a hugely negative R²; half of the error gone is half in any units."""
    for before in (-1000.0, 0.2):
        found = Gain(before, before + 0.5 * (1 - before), 0.1 * (1 - before)).of_error()
        assert (found.after - found.before, found.error) == pytest.approx((0.5, 0.1))
