"""How much an item that came later is like those that a model was made of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

USUAL = 0.99  # share of the items of the fit that are within the usual distance
Array = NDArray[np.float64]


def usual_distance(distances: Array) -> float:
    """Return the distance within which nearly all items of the fit are."""
    return float(np.quantile(distances, USUAL))


def familiarity(distances: Sequence[Array], usual: Sequence[float]) -> Array:
    """Return 1 for items within all usual distances, exp(-1) for those twice as far, exp(-4) for four times.

    Parameters
    ----------
    distances : sequence of ndarray of shape (n,)
        From the items of the fit, measured in one or more ways.
    usual : sequence of float
        What `usual_distance` said of each of them; 0 if it says nothing.
    """
    times = np.ones(len(distances[0]))
    for distance, one in zip(distances, usual, strict=True):
        times = np.maximum(times, distance / one if one > 0 else 1.0)
    found: Array = np.exp(-(np.log2(times) ** 2))
    return found
