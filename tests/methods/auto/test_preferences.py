from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from tupi.methods.auto.preferences import (
    SCALE,
    TRIED,
    Answers,
    PreferencePosterior,
    Preferences,
    differences,
    fit_preferences,
    left_out_comparisons,
    log_prior,
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


def right(higher, lower, weights=None):
    """Return answers none of which is turned around."""
    return Answers.of(higher, lower, weights).all_wrong(0.0)


def minus_log_posterior(g, K, mean, higher, lower, e=0.0):
    """Return the formula: a Gaussian prior, and for each comparison a sigmoid or, if it is turned around, its rest."""
    s = [expit((g[i] - g[j]) / SCALE) for i, j in zip(higher, lower, strict=True)]
    likelihood = sum(np.log((1 - e) * one + e * (1 - one)) for one in s)
    return 0.5 * (g - mean) @ np.linalg.solve(K, g - mean) - likelihood


def test_the_mode_is_the_minimum_that_scipy_finds():
    K, mean, higher, lower = make_comparisons()
    D = differences(higher, lower, len(K))
    found, gradient, Lam = mode(K, mean, right(higher, lower), D, mean)
    expected = minimize(minus_log_posterior, mean, args=(K, mean, higher, lower), tol=1e-12).x
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(K @ gradient, found - mean, atol=1e-6)  # where the gradient of both parts vanishes
    s = expit(D @ found)
    np.testing.assert_allclose(Lam, D.T @ np.diag(s * (1 - s)) @ D, atol=1e-9)


@pytest.mark.parametrize("e", [0.05, 0.3, 0.45])
def test_the_mode_of_answers_that_may_be_wrong(e):
    K, mean, higher, lower = make_comparisons(seed=4)
    higher[:3], lower[:3] = lower[:3].copy(), higher[:3].copy()
    answers = right(higher, lower).all_wrong(e)
    found, gradient, Lam = mode(K, mean, answers, differences(higher, lower, len(K)), mean)
    expected = minimize(minus_log_posterior, mean, args=(K, mean, higher, lower, e), tol=1e-12).x
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(K @ gradient, found - mean, atol=1e-6)
    assert np.linalg.eigvalsh(Lam)[0] > -1e-9


def test_derivatives_of_the_likelihood_of_answers():
    u, h = np.linspace(-6, 6, 25), 1e-5
    answers = replace(right(np.zeros(25, int), np.ones(25, int), np.linspace(0.5, 2, 25)), flips=np.array([0.2]))
    alone = [replace(answers, weights=np.where(np.arange(25) == k, answers.weights, 0.0)) for k in range(25)]
    slopes = [(one.log_likelihood(u + h) - one.log_likelihood(u - h)) / (2 * h) for one in alone]
    np.testing.assert_allclose(answers.score(u), slopes, atol=1e-6)
    np.testing.assert_allclose(
        answers.curvature(u), np.maximum(-(answers.score(u + h) - answers.score(u - h)) / (2 * h), 0.0), atol=1e-6
    )
    # Fisher's information: the mean of the squared score over both answers that could have been given.
    s = expit(u)
    p = 0.2 + 0.6 * s
    both = [answers.score(u) / answers.weights, answers.score(-u) / answers.weights]
    np.testing.assert_allclose(answers.information(u) / answers.weights, p * both[0] ** 2 + (1 - p) * both[1] ** 2)


def test_what_others_say_of_an_answer_is_the_process_without_it():
    K, mean, higher, lower = make_comparisons(seed=5)
    answers = right(higher, lower).all_wrong(0.1)
    found = fitted(K, mean, answers)
    D = differences(higher, lower, len(K)).toarray()
    u, variances = D @ found.mode, np.diag(D @ (K - K @ found.middle @ K) @ D.T)
    w, t = answers.information(u), u + answers.score(u) / answers.information(u)
    said = answers.expected_right(u, variances)
    for k in (0, 7):
        rest = np.arange(len(u)) != k
        covariance = np.linalg.inv(np.linalg.inv(K) + D[rest].T @ np.diag(w[rest]) @ D[rest])
        g = covariance @ (np.linalg.solve(K, mean) + D[rest].T @ (w[rest] * t[rest]))
        variance = D[k] @ covariance @ D[k]
        assert said[k] == pytest.approx(expit(D[k] @ g / np.sqrt(1 + np.pi * variance / 8)), abs=1e-4)


def test_the_share_of_wrong_answers_is_found_and_raters_are_told_apart():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    K = np.exp(-np.sum((points[:, None] - points) ** 2, axis=2) / 2)
    first, second = rng.integers(0, 40, (2, 400))
    first, second = first[first != second], second[first != second]
    up = points[first, 0] > points[second, 0]
    raters = np.arange(len(up)) % 4
    turned = np.where(raters == 3, rng.random(len(up)) < 0.5, False)  # the last one guesses
    higher, lower = np.where(up ^ turned, first, second), np.where(up ^ turned, second, first)
    process = Preferences(np.zeros((1, 40)), K[None], LogPrior(np.zeros(2), np.ones(2)), 0.3 * points[:, 0])
    honest = np.where(up, first, second), np.where(up, second, first)
    assert process.share_of_wrong(Answers.of(*honest)) < 0.04
    assert 0.06 < process.share_of_wrong(Answers.of(higher, lower)) < 0.25
    flips = fit_preferences(*vars(process).values(), Answers.of(higher, lower, raters=raters)).answers.flips
    assert flips[:3].max() < 0.1
    assert flips[3] > 0.3


def test_a_rater_of_no_answers_is_like_the_others():
    answers = replace(Answers.of(np.array([0]), np.array([1]), raters=np.array([1])), flips=np.array([0.2, 0.2]))
    found = answers.judged(np.zeros(1), np.full(1, 1e-9)).flips  # an answer that could as well be right as wrong
    likely = np.exp(log_prior(TRIED, 0.2, 10.0))
    np.testing.assert_allclose(found, TRIED @ likely / likely.sum())


def fitted(K, mean, answers):
    """Return Laplace's approximation for a given covariance."""
    D = differences(answers.higher, answers.lower, len(K))
    g, gradient, Lam = mode(K, mean, answers, D, mean)
    covariance = np.linalg.inv(np.linalg.inv(K) + Lam)
    middle = np.linalg.inv(K) - np.linalg.inv(K) @ covariance @ np.linalg.inv(K)
    return PreferencePosterior(np.ones(1), gradient, middle, g, answers)


def test_leaving_out_comparisons_equals_removing_their_gaussian_sites():
    K, mean, higher, lower = make_comparisons(seed=1)
    found = fitted(K, mean, right(higher, lower))
    D = differences(higher, lower, len(K)).toarray()
    u = D @ found.mode
    s = expit(u)
    w, t = s * (1 - s), u + 1 / s
    judged = np.array([0, 5, 11])
    predicted = left_out_comparisons(found, K, judged)
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
    prior = LogPrior(np.array([-2.0, -1.0]), np.ones(2))
    found = fit_preferences(columns, K[None], prior, mean, Answers.of(higher, lower))
    whole = found.v[0] * np.outer(columns[0], columns[0]) + found.v[1] * K + 1e-6 * np.eye(len(K))
    e = found.answers.flips[0]
    expected = minimize(minus_log_posterior, mean, args=(whole, mean, higher, lower, e), tol=1e-12).x
    np.testing.assert_allclose(found.mode, expected, atol=1e-3)
    np.testing.assert_allclose(mean + whole @ found.dual, found.mode, atol=1e-5)
    D = differences(higher, lower, len(K))
    information = np.diag(found.answers.information(D @ found.mode))
    covariance = np.linalg.inv(np.linalg.inv(whole) + D.T @ information @ D)
    np.testing.assert_allclose(whole - whole @ found.middle @ whole, covariance, atol=1e-6)


def test_the_mode_of_weighted_answers():
    K, mean, higher, lower = make_comparisons()
    weights = np.linspace(0.5, 2.0, len(higher))
    D = differences(higher, lower, len(K))

    def minus(g):
        s = expit(D @ g)
        return 0.5 * (g - mean) @ np.linalg.solve(K, g - mean) - weights @ np.log(s)

    found, gradient, _ = mode(K, mean, right(higher, lower, weights), D, mean)
    np.testing.assert_allclose(found, minimize(minus, mean, tol=1e-12).x, atol=1e-4)
    np.testing.assert_allclose(gradient, np.linalg.solve(K, found - mean), atol=1e-5)


def test_a_repeated_answer_counts_as_its_weight():
    K, mean, higher, lower = make_comparisons()
    D = differences(higher, lower, len(K))
    both = right(*(np.tile(side, 2) for side in (higher, lower)))
    once, _, _ = mode(K, mean, right(higher, lower, np.full(len(higher), 2.0)), D, mean)
    twice, _, _ = mode(K, mean, both, differences(both.higher, both.lower, len(K)), mean)
    np.testing.assert_allclose(once, twice, atol=1e-8)
