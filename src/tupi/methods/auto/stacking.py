"""How much of two sets of predictions to take, by labels that neither of them saw.

The share s of the second set has a Beta distribution before any label. Errors of (1 - s) first + s second are normal
with unknown variance, so that labels left out give s the likelihood (SSE(s) + slack)^-(m + PRIOR_LABELS) / 2. What is
used is the mean of s. Two predictions that err alike leave the prior as it is; one that errs clearly more gets nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

TRIED = 200  # shares, each as likely as any other before labels
PRIOR_LABELS, PRIOR_VARIANCE = 2.0, 0.3  # the errors' variance is expected to be this, in that of the labels
Array = NDArray[np.float64]


def mean_share(first: Array, second: Array, expected: float) -> Array:
    """Return the mean share of the second predictions.

    Parameters
    ----------
    first, second : ndarray of shape (m, ...)
        Errors of labels left out, in deviations of the labels; NaN for those that must not count. What follows the
        first axis are separate questions.
    expected : float
        The share before any label, between 0 and 1, with the weight of one label.
    """
    counts = np.isfinite(first).sum(axis=0)
    step = second - first
    start, cross, curve = (np.nansum(one, axis=0) for one in (first**2, first * step, step**2))
    tried = beta.ppf((np.arange(TRIED) + 0.5) / TRIED, expected, 1 - expected)
    s = tried.reshape(-1, *[1] * counts.ndim)
    sse = np.maximum(start + 2 * s * cross + s**2 * curve, 0.0)
    logs = -0.5 * (counts + PRIOR_LABELS) * np.log(sse + PRIOR_LABELS * PRIOR_VARIANCE)
    likely = np.exp(logs - logs.max(axis=0))
    found: Array = (s * likely).sum(axis=0) / likely.sum(axis=0)
    return found
