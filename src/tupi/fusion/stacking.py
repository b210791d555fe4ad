"""How much of two sets of predictions to take, by labels that neither of them saw.

The share s of the second set has a Beta distribution before any label. Errors of (1 - s) first + s second are normal
with unknown variance, so that labels left out give s the likelihood (SSE(s) + slack)^-(m + PRIOR_LABELS) / 2. What is
used is the mean of s. Two predictions that err alike leave the prior as it is; one that errs clearly more gets nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GRID = (np.arange(100) + 0.5) / 100  # shares that are tried
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
    squares = (np.nansum(first * other, axis=0) for other in (first, step))
    start, cross = squares
    curve = np.nansum(step**2, axis=0)
    s = GRID.reshape(-1, *[1] * counts.ndim)
    sse = np.maximum(start + 2 * s * cross + s**2 * curve, 0.0)
    logs = -0.5 * (counts + PRIOR_LABELS) * np.log(sse + PRIOR_LABELS * PRIOR_VARIANCE)
    logs = logs + (expected - 1) * np.log(s) - expected * np.log(1 - s)  # Beta(expected, 1 - expected)
    chances = np.exp(logs - logs.max(axis=0))
    found: Array = (s * chances).sum(axis=0) / chances.sum(axis=0)
    return found
