"""Two classes are one column of log odds and its mirror image."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import log_loss, roc_auc_score

import tupi
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.class_answers import HEIGHT_SD, LOG_SLOPE_SD, fitted_line
from tupi.methods.auto.fitting import fitted
from tupi.methods.auto.items import scale_of


def stale(seed, n=1500):
    """Return probabilities of a model that missed a cause which the views see, and the truth."""
    rng = np.random.default_rng(seed)
    known, missed = rng.normal(size=(2, n))
    truth = (known + 1.5 * missed + rng.logistic(size=n) / 2 > 0).astype(int)
    views = {f"look{k}": np.column_stack([missed + rng.normal(size=n), rng.normal(size=n)]) for k in range(3)}
    return expit(3 * known), truth, views


@pytest.mark.parametrize("seed", range(3))
def test_the_line_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    g, ones = rng.normal(size=(2, 30))
    ones = (ones + g > 0).astype(float)

    def posterior(theta):
        p = expit(0.3 + HEIGHT_SD * theta[0] + 2.0 * np.exp(LOG_SLOPE_SD * theta[1]) * g)
        return -np.sum(ones * np.log(p) + (1 - ones) * np.log(1 - p)) + 0.5 * theta @ theta

    theta = minimize(posterior, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}).x
    a, b = fitted_line(g, ones, 0.3, 2.0)
    assert a == pytest.approx(0.3 + HEIGHT_SD * theta[0], abs=1e-4)
    assert b == pytest.approx(2.0 * np.exp(LOG_SLOPE_SD * theta[1]), rel=1e-4)


def test_few_labels_do_not_make_up_certainty():
    """Four labels that are told apart perfectly would be certain by maximum likelihood."""
    g = np.array([-1.0, -0.5, 0.5, 1.0])
    assert fitted_line(g, (g > 0).astype(float), 0.0, 2.0)[1] < 4.0


def test_a_missed_cause_is_found_and_probabilities_stay_calibrated():
    p, truth, views = stale(0)
    known, rest = np.arange(100), np.arange(100, len(p))
    both = np.column_stack([1 - p, p])
    found = tupi.denoise(both, views, labels=Values(known, truth[known]), task="classification").predictions
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert roc_auc_score(truth[rest], found[rest, 1]) > roc_auc_score(truth[rest], p[rest]) + 0.05
    assert log_loss(truth[rest], found[rest, 1]) < log_loss(truth[rest], p[rest]) - 0.1


@pytest.mark.parametrize("labels", [0, 60])
def test_neither_class_is_special(labels):
    p, truth, views = stale(1)
    known = np.arange(labels)

    def denoised(p, truth):
        told = Values(known, truth[known]) if labels else None
        return tupi.denoise(np.column_stack([1 - p, p]), views, labels=told, task="classification").predictions

    np.testing.assert_allclose(denoised(p, truth)[:, 1], denoised(1 - p, 1 - truth)[:, 0], atol=1e-6)


def test_one_certain_item_does_not_outweigh_all_others():
    """Log odds of 1e-15 are -34, and were what the average of everyone alike was made of."""
    p, truth, views = stale(2)
    sure = p.copy()
    sure[np.argsort(np.abs(logit(p)))[-5:]] = [0.0, 1.0, 0.0, 1.0, 1.0]
    known, rest = np.arange(100), np.arange(100, len(p))
    told = Values(known, truth[known])
    areas = [
        roc_auc_score(
            truth[rest],
            tupi.denoise(np.column_stack([1 - q, q]), views, labels=told, task="classification").predictions[rest, 1],
        )
        for q in (p, sure)
    ]
    assert areas[1] > areas[0] - 0.01


def weak(seed, n=600):
    """Return probabilities of a model that knows little of what a view tells, and the truth."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n, 2))
    truth = (cause.sum(axis=1) + rng.logistic(size=n) > 1).astype(int)
    return (
        expit(0.15 * cause[:, 0] + 0.5 * rng.normal(size=n)),
        truth,
        {"cause": cause, "junk": rng.normal(size=(n, 2))},
    )


@pytest.mark.parametrize("task", ["classification", "ranking"])
def test_twenty_labels_are_taken_for_labels_of_these_items(task):
    """Zeros and ones correlate less than values do with predictions that did not see them."""
    gains = []
    for seed in range(4):
        p, truth, views = weak(seed)
        told = Values(np.arange(20), truth[:20])
        found = tupi.denoise(p, views, labels=told, task=task).predictions
        gains.append(roc_auc_score(truth[20:], found[20:]) - roc_auc_score(truth[20:], p[20:]))
    assert min(gains) >= 0
    assert np.mean(gains) > 0.09


@pytest.mark.parametrize("task", ["classification", "ranking"])
def test_labels_agree_as_far_as_pairs_that_were_left_out_are_right(task):
    p, truth, views = weak(0)
    prepared = Prepared(make_problem(p, views, Values(np.arange(24), truth[:24]), task))
    answer = fitted(label_free_of(prepared), Values(np.arange(24), truth[:24]), scale_of(prepared))
    ones, right = truth[answer.rows], answer.fused.left_out.differences > 0
    area = right[np.ix_(ones == 1, ones == 0)].mean()
    correlation, size = answer.agreement()
    assert correlation == pytest.approx(np.sin(np.pi * (area - 0.5)))
    areas = [
        np.mean(np.subtract.outer(*np.split(np.random.default_rng(k).permutation(24), [ones.sum()])) > 0)
        for k in range(4000)
    ]
    assert 1 / (size - 3) == pytest.approx(np.pi**2 * np.var(areas), rel=0.1)  # of labels in any order
