"""How much of each of several predictions to take, by labels that were left out.

Shares have a Beta distribution before any label. Errors of the combination are normal with an unknown variance, so that
m labels give shares the likelihood (SSE + slack)^-(m + PRIOR_LABELS) / 2, with SSE the sum of squared errors. What is
used are means of the shares under both together: predictions that err alike leave the prior as it is, and one that errs
clearly more gets next to nothing. For two classes the likelihood is that of the log odds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

TRIED, FEWER_TRIED = 200, 50  # shares, each as likely as any other before labels; fewer of each where there are two
PRIOR_LABELS, PRIOR_VARIANCE = 2.0, 0.3  # the errors' variance is expected to be this, in that of the labels
Array = NDArray[np.float64]


def mean_shares(errors: Array, expected: float, weight: float = 1.0) -> Array:
    """Return the mean share of each prediction, shape (2 or 3, ...).

    Parameters
    ----------
    errors : ndarray of shape (2 or 3, m, ...)
        Errors of labels left out, in deviations of the labels; NaN for those that must not count. What follows the
        second axis are separate questions.
    expected : float
        The share of all but the first before any label, between 0 and 1. Between a second and a third prediction
        little is known: the share of the third in both is expected to be a third, Beta(1/2, 1).
    weight : float
        As how many labels that expectation counts.
    """
    counts = np.isfinite(errors[0]).sum(axis=0)
    known = np.nan_to_num(errors)
    products = np.einsum("ai...,bi...->ab...", known, known)
    k = TRIED if len(errors) == 2 else FEWER_TRIED
    s = _quantiles(weight * expected, weight * (1 - expected), k)
    tried = np.stack([1 - s, s])
    if len(errors) > 2:
        s, t = np.meshgrid(s, _quantiles(0.5, 1.0, k))
        tried = np.stack([1 - s, s * (1 - t), s * t]).reshape(3, -1)
    sse = np.maximum(np.einsum("at,ab...,bt->t...", tried, products, tried, optimize=True), 0.0)
    logs = -0.5 * (counts + PRIOR_LABELS) * np.log(sse + PRIOR_LABELS * PRIOR_VARIANCE)
    likely = np.exp(logs - logs.max(axis=0))
    found: Array = np.einsum("at,t...->a...", tried, likely) / likely.sum(axis=0)
    return found


def mean_share_of_odds(before: Array, after: Array, ones: Array, expected: float, weight: float) -> float:
    """Return the mean share of the second of two predictions of two classes, by the likelihood of their log odds.

    Parameters
    ----------
    before, after : ndarray of shape (m,)
        Log odds of a one for labels left out.
    ones : ndarray of shape (m,)
        The labels, zeros and ones.
    expected, weight : float
        See `mean_shares`.
    """
    tried = _quantiles(weight * expected, weight * (1 - expected), TRIED)
    odds = before + tried[:, None] * (after - before)
    logs = odds @ ones - np.logaddexp(0.0, odds).sum(axis=1)
    likely = np.exp(logs - logs.max())
    return float(tried @ likely / likely.sum())


def _quantiles(a: float, b: float, k: int) -> Array:
    """Return k values, each as likely as any other under a Beta distribution."""
    return np.asarray(betaincinv(a, b, (np.arange(k) + 0.5) / k))
