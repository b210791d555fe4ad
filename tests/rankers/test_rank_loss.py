"""The pair loss against a loop over pairs, and its derivatives against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tupi.rankers.rank_loss import PairLoss, ValueLoss


def ordered_pairs(y):
    return [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]


def oracle(f, pairs):
    """Label e:rankloss, averaged: value, gradient and Hessian, one pair after the other."""
    value, gradient, hessian = 0.0, np.zeros(len(f)), np.zeros((len(f), len(f)))
    for i, j in pairs:
        margin = 1 - (f[i] - f[j])
        if margin > 0:
            direction = np.zeros(len(f))
            direction[i], direction[j] = -1, 1
            value += margin**2
            gradient += 2 * margin * direction
            hessian += 2 * np.outer(direction, direction)
    return value / len(pairs), gradient / len(pairs), hessian / len(pairs)


def problem(seed, n=40, levels=None, spread=1.0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n) if levels is None else rng.integers(levels, size=n).astype(float)
    return spread * rng.normal(size=n), y, rng.normal(size=n)


@pytest.mark.parametrize("levels", [None, 2, 3, 10])
@pytest.mark.parametrize("spread", [0.0, 0.3, 1.0, 30.0])
def test_both_losses_equal_the_loop_over_pairs(levels, spread):
    f, y, v = problem(0, levels=levels, spread=spread)
    pairs = ordered_pairs(y)
    value, gradient, hessian = oracle(f, pairs)
    for loss in (ValueLoss(y), PairLoss(*np.array(pairs).T.copy())):
        at = loss.at(f)
        assert loss.n_pairs == len(pairs)
        assert at.value == pytest.approx(value, rel=1e-11)
        np.testing.assert_allclose(at.gradient, gradient, rtol=0, atol=1e-12 * (1 + spread))
        np.testing.assert_allclose(at.hessian_times(v), hessian @ v, rtol=0, atol=1e-12)


@pytest.mark.parametrize("levels", [None, 4])
def test_derivatives_pass_finite_differences(levels):
    f, y, v = problem(1, levels=levels)
    for loss in (ValueLoss(y), PairLoss(*np.array(ordered_pairs(y)).T.copy())):
        at, step = loss.at(f), 1e-6
        ahead, behind = loss.at(f + step * v), loss.at(f - step * v)
        assert (ahead.value - behind.value) / (2 * step) == pytest.approx(at.gradient @ v, rel=1e-7)
        difference = (ahead.gradient - behind.gradient) / (2 * step)
        np.testing.assert_allclose(difference, at.hessian_times(v), rtol=0, atol=1e-8)


def test_pairs_exactly_at_the_margin_and_tied_scores():
    f = np.array([0.0, 1.0, 2.0, 2.0, 1.0, 0.0])  # many pairs lie exactly at f_i - f_j = 1
    y = np.array([0.0, 1.0, 2.0, 1.0, 2.0, 1.0])
    v = np.arange(6.0)
    value, gradient, hessian = oracle(f, ordered_pairs(y))
    at = ValueLoss(y).at(f)
    assert at.value == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(at.gradient, gradient, atol=1e-14)
    np.testing.assert_allclose(at.hessian_times(v), hessian @ v, atol=1e-14)


@given(
    st.lists(st.tuples(st.integers(-8, 8), st.integers(0, 4), st.integers(-3, 3)), min_size=2, max_size=25).filter(
        lambda rows: len({row[1] for row in rows}) > 1
    ),
    st.integers(-1000, 1000),
)
def test_small_integer_problems_equal_the_loop_and_ignore_a_shift(rows, shift):
    quarters, y, v = np.array(rows, dtype=float).T
    f = quarters / 4  # a grid on which scores tie and margins vanish often
    value, gradient, hessian = oracle(f, ordered_pairs(y))
    # Centring rounds f, so pairs exactly at the margin may count as active: they add to the Hessian alone.
    at = ValueLoss(y).at(f + shift)
    assert at.value == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(at.gradient, gradient, atol=1e-10)
    edge = any(f[i] - f[j] == 1 for i, j in ordered_pairs(y))
    if not edge:
        np.testing.assert_allclose(at.hessian_times(v), hessian @ v, atol=1e-10)


@given(st.integers(0, 2**32 - 1))
def test_order_of_items_does_not_matter(seed):
    f, y, v = problem(seed, n=15, levels=5)
    if np.ptp(y) == 0:
        y[0] += 1
    shuffled = np.random.default_rng(seed).permutation(len(f))
    at, at_shuffled = ValueLoss(y).at(f), ValueLoss(y[shuffled]).at(f[shuffled])
    assert at_shuffled.value == pytest.approx(at.value, rel=1e-12)
    np.testing.assert_allclose(at_shuffled.gradient, at.gradient[shuffled], atol=1e-12)
    np.testing.assert_allclose(at_shuffled.hessian_times(v[shuffled]), at.hessian_times(v)[shuffled], atol=1e-12)


def test_only_the_order_of_values_matters():
    f, y, _ = problem(3)
    np.testing.assert_array_equal(ValueLoss(y).at(f).gradient, ValueLoss(np.exp(y)).at(f).gradient)


def test_a_hundred_thousand_items_need_no_list_of_pairs():
    rng = np.random.default_rng(0)
    f, y = rng.normal(size=100_000), rng.normal(size=100_000)
    at = ValueLoss(y).at(f)  # five billion pairs
    i, j = rng.integers(100_000, size=(2, 2_000_000))
    signed = np.sign(y[i] - y[j]) * (f[i] - f[j])
    sampled = np.maximum(0, 1 - signed[i != j]) ** 2
    assert at.value == pytest.approx(sampled.mean(), abs=5 * sampled.std() / np.sqrt(len(sampled)))
    assert at.gradient.sum() == pytest.approx(0, abs=1e-12)
