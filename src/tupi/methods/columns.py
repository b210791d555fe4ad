"""From values and class shares to the standardised columns that a `Fit` holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.prepared import Prepared, standardize
from tupi.inputs.problem import SMALLEST_PROBABILITY
from tupi.runtime.errors import InputError

Array = NDArray[np.float64]


def initial_values(prepared: Prepared) -> Array:
    """Return the predictions of the items that take part, in the units of ``problem.columns``."""
    return prepared.f * prepared.scale + prepared.shift


def from_values(prepared: Prepared, values: Array) -> Array:
    """Return columns from predictions in the units of ``problem.columns``: the inverse of `restore`."""
    with np.errstate(over="ignore"):
        columns: Array = (values - prepared.shift) / prepared.scale
    if not np.isfinite(columns).all():
        raise InputError(
            f"predictions: found a deviation of {prepared.scale.min():.3g} where new values are up to "
            f"{np.abs(values).max():.3g}, which no number can relate; accepted: predictions, and columns of classes, "
            "on one scale."
        )
    return columns


def from_scores(scores: Array) -> Array:
    """Return columns from scores whose units mean nothing: mean 0 and deviation 1."""
    return standardize(scores)[0]


def from_shares(prepared: Prepared, shares: Array) -> Array:
    """Return columns from class shares, rows of which sum to one.

    Probabilities come back as these very shares. Other class scores are moved and stretched by the same amount for all
    classes, to the mean and deviation that the initial scores had: the largest share stays the largest score.
    """
    if prepared.problem.are_probabilities:
        logs = np.log(np.maximum(shares, SMALLEST_PROBABILITY))
        return from_values(prepared, logs - logs.mean(axis=1, keepdims=True))
    initial = initial_values(prepared)
    spread = shares.std()
    unit = initial.std() / spread if spread > 0 else 1.0
    return from_values(prepared, (shares - shares.mean()) * unit + initial.mean())


def nearest_shares(scores: Array) -> Array:
    """Return the nearest shares to each row: not negative, with sum one; the highest score stays the highest."""
    descending = -np.sort(-scores, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, scores.shape[1] + 1)
    last = (descending > excess).sum(axis=1) - 1
    return np.maximum(scores - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
