import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tupi.methods.auto.preferences import (
    SCALE,
    PreferencePosterior,
    differences,
    fit_preferences,
    left_out_comparisons,
    mode,
)
from tupi.methods.auto.process import LogPrior


def make_comparisons(m=8, n_pairs=20, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(m, 2))
    K = np.exp(-np.sum((points[:, None] - points) ** 2, axis=2) / 2) + 1e-3 * np.eye(m)
    first = rng.integers(0, m, n_pairs)
    second = (first + rng.integers(1, m, n_pairs)) % m
    up = points[first, 0] > points[second, 0]
    return K, points[:, 0] * 0.1, np.where(up, first, second), np.where(up, second, first)


def minus_log_posterior(g, K, mean, higher, lower):
    """Return the formula: a Gaussian prior, and a sigmoid for each comparison."""
    likelihood = sum(np.log(expit((g[i] - g[j]) / SCALE)) for i, j in zip(higher, lower, strict=True))
    return 0.5 * (g - mean) @ np.linalg.solve(K, g - mean) - likelihood


def test_the_mode_is_the_minimum_that_scipy_finds():
    K, mean, higher, lower = make_comparisons()
    D = differences(higher, lower, len(K))
    found, gradient, Lam = mode(K, mean, D, mean)
    expected = minimize(minus_log_posterior, mean, args=(K, mean, higher, lower), tol=1e-12).x
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(K @ gradient, found - mean, atol=1e-6)  # where the gradient of both parts vanishes
    s = expit(D @ found)
    np.testing.assert_allclose(Lam, D.T @ np.diag(s * (1 - s)) @ D, atol=1e-9)


def fitted(K, mean, higher, lower):
    """Return Laplace's approximation for a given covariance."""
    D = differences(higher, lower, len(K))
    g, gradient, Lam = mode(K, mean, D, mean)
    covariance = np.linalg.inv(np.linalg.inv(K) + Lam)
    middle = np.linalg.inv(K) - np.linalg.inv(K) @ covariance @ np.linalg.inv(K)
    return PreferencePosterior(np.ones(1), gradient, middle, g)


def test_leaving_out_comparisons_equals_removing_their_gaussian_sites():
    K, mean, higher, lower = make_comparisons(seed=1)
    found = fitted(K, mean, higher, lower)
    D = differences(higher, lower, len(K))
    u = D @ found.mode
    s = expit(u)
    w, t = s * (1 - s), u + 1 / s
    judged = np.array([0, 5, 11])
    predicted = left_out_comparisons(found, K, higher, lower, judged)
    for pair, value in zip(judged, predicted, strict=True):
        ends = {higher[pair], lower[pair]}
        rest = [k for k in range(len(u)) if not ends & {higher[k], lower[k]}]
        # A Gaussian process on the remaining pseudo-observations, from scratch.
        precision = np.linalg.inv(K) + D[rest].T @ np.diag(w[rest]) @ D[rest]
        g = np.linalg.solve(precision, np.linalg.solve(K, mean) + D[rest].T @ (w[rest] * t[rest]))
        assert value == pytest.approx(g[higher[pair]] - g[lower[pair]], abs=1e-4)


def test_fitting_finds_the_mode_of_its_own_variances_and_the_covariance():
    K, mean, higher, lower = make_comparisons(seed=2)
    columns = np.random.default_rng(0).normal(size=(1, len(K)))
    found = fit_preferences(columns, K[None], LogPrior(np.array([-2.0, -1.0]), np.ones(2)), mean, higher, lower)
    whole = found.v[0] * np.outer(columns[0], columns[0]) + found.v[1] * K + 1e-6 * np.eye(len(K))
    expected = minimize(minus_log_posterior, mean, args=(whole, mean, higher, lower), tol=1e-12).x
    np.testing.assert_allclose(found.mode, expected, atol=1e-3)
    np.testing.assert_allclose(mean + whole @ found.dual, found.mode, atol=1e-5)
    D = differences(higher, lower, len(K))
    s = expit(D @ found.mode)
    covariance = np.linalg.inv(np.linalg.inv(whole) + (D.T * (s * (1 - s))) @ D)
    np.testing.assert_allclose(whole - whole @ found.middle @ whole, covariance, atol=1e-6)


def test_the_mode_of_weighted_answers():
    K, mean, higher, lower = make_comparisons()
    weights = np.linspace(0.5, 2.0, len(higher))
    D = differences(higher, lower, len(K))

    def minus(g):
        s = expit(D @ g)
        return 0.5 * (g - mean) @ np.linalg.solve(K, g - mean) - weights @ np.log(s)

    found, gradient, _ = mode(K, mean, D, mean, weights)
    np.testing.assert_allclose(found, minimize(minus, mean, tol=1e-12).x, atol=1e-4)
    np.testing.assert_allclose(gradient, np.linalg.solve(K, found - mean), atol=1e-5)


def test_a_repeated_answer_counts_as_its_weight():
    K, mean, higher, lower = make_comparisons()
    D = differences(higher, lower, len(K))
    once, _, _ = mode(K, mean, D, mean, np.full(len(D), 2.0))
    twice, _, _ = mode(K, mean, np.vstack([D, D]), mean)
    np.testing.assert_allclose(once, twice, atol=1e-8)
