import numpy as np
import pytest

from tupi.methods.auto.items import RHO, slope
from tupi.methods.auto.process import (
    JITTER,
    LOG_PRIOR_NOISE,
    LogPrior,
    labelled_model,
    left_out,
    posterior,
)


def make_model(m=12, c=1, seed=0):
    """Return a model with two rank-one kernels and two others, its observations, and all kernels as whole matrices."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(c, 2, m))
    points = rng.normal(size=(m, 3))
    shared = np.array([points @ points.T, np.exp(-np.sum((points[:, None] - points) ** 2, axis=2))])
    model = labelled_model(
        columns, shared, LogPrior(np.array([-2.0, -1.0, -4.0, -2.0]), np.array([1.0, 1.0, 2.0, 1.0]))
    )
    return model, rng.normal(size=(m, c))


def dense_covariance(model, v, output):
    """Return the covariance as the sum of whole matrices."""
    m = model.fixed.shape[0]
    K = np.ones((m, m)) + JITTER * np.eye(m)
    for weight, column in zip(v[:2], model.columns[output], strict=True):
        K += weight * np.outer(column, column)
    for weight, one in zip(v[2:], model.shared, strict=True):
        K += weight * one
    return K


def predict_from(model, v, values, kept, asked):
    """Return the mean at some places given values at others, by the textbook formula; the noise is not predicted."""
    K = dense_covariance(model, v, 0)
    latent = K - v[-1] * np.eye(len(K))
    return latent[np.ix_(asked, kept)] @ np.linalg.solve(K[np.ix_(kept, kept)], values[kept])


@pytest.mark.parametrize("c", [1, 3])
def test_the_likelihood_is_that_of_a_gaussian(c):
    model, y = make_model(c=c)
    theta = model.prior.mean + np.linspace(-1, 1, 5)
    expected = 0.5 * np.sum(((theta - model.prior.mean) / [1, 1, 2, 1, 1]) ** 2)
    for output in range(c):
        K = dense_covariance(model, np.exp(theta), output)
        expected += 0.5 * (y[:, output] @ np.linalg.inv(K) @ y[:, output] + np.linalg.slogdet(K)[1])
    assert model.minus_log_posterior(theta, y)[0] == pytest.approx(expected, rel=1e-9)
    assert model.prior.mean[-1] == LOG_PRIOR_NOISE


@pytest.mark.parametrize("c", [1, 3])
def test_the_gradient_is_that_of_finite_differences(c):
    model, y = make_model(c=c, seed=1)
    theta = model.prior.mean + np.linspace(1, -1, 5)
    gradient = model.minus_log_posterior(theta, y)[1]
    for k in range(5):
        step = 1e-5 * np.eye(5)[k]
        above, below = (model.minus_log_posterior(theta + sign * step, y)[0] for sign in (1, -1))
        assert gradient[k] == pytest.approx((above - below) / 2e-5, rel=1e-5, abs=1e-7)


def test_the_most_likely_variances_are_a_minimum():
    model, y = make_model(seed=2)
    best = np.log(model.most_likely(y))
    value = model.minus_log_posterior(best, y)[0]
    rng = np.random.default_rng(0)
    assert all(model.minus_log_posterior(best + 0.3 * rng.normal(size=5), y)[0] > value for _ in range(20))


def test_leaving_out_one_equals_fitting_without_it():
    model, y = make_model(seed=3)
    v = np.exp(model.prior.mean)
    after = posterior(model, v, y)
    found = left_out(y[:, 0], after.duals[:, 0], after.inverses[0])
    for i in range(len(y)):
        kept = np.delete(np.arange(len(y)), i)
        assert found[i] == pytest.approx(predict_from(model, v, y[:, 0], kept, [i])[0], abs=1e-5)


def test_the_slope_is_that_of_the_expected_correlation():
    """Labels with deviation one that correlate by RHO with x = label + error have this slope on x."""
    rng = np.random.default_rng(0)
    labels = rng.normal(size=200_000)
    answers = labels + np.sqrt(1 / RHO**2 - 1) * rng.normal(size=200_000)
    assert np.corrcoef(labels, answers)[0, 1] == pytest.approx(RHO, abs=0.01)
    wide = slope(10 * answers)
    assert wide * 10 * answers.std() == pytest.approx(1.0, abs=0.01)  # at most the labels' own deviation
    assert 0 < slope(0 * answers) < np.inf
