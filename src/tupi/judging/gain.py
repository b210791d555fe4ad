"""A gain on labels that did not produce it, with the error of that difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.judging.metrics import ranked_right

GAIN, EXPLAINS = "gain", "explains"  # what a view is worth: by labels, or without any
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Gain:
    """A score before and after, on labels that the predictions did not see, and the standard error of the difference.

    The error is infinite where there are too few labels to tell.
    """

    before: float
    after: float
    error: float

    @property
    def points(self) -> float:
        """The gain in hundredths."""
        return 100 * (self.after - self.before)

    def of_error(self) -> Gain:
        """Return a gain in R² as a share of the initial squared error, which has no units and no bound below."""
        unit = max(1 - self.before, 1e-12)
        return Gain(0.0, (self.after - self.before) / unit, self.error / unit)


def pair_gain(
    before: Array,
    after: Array,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    m: int,
    groups: NDArray[np.int64] | None = None,
    weights: Array | None = None,
) -> Gain:
    """Return the gain in pairwise accuracy, its error by the jackknife over items, or over groups if that is larger.

    Parameters
    ----------
    before, after : ndarray of shape (n_pairs,)
        Differences of old and new predictions within pairs whose first item is truly higher.
    first, second : ndarray of int
        The items of each pair, numbered from 0.
    m : int
        How many items there are.
    groups : ndarray of shape (n_pairs,), optional
        The group of each pair, numbered from 0; items of a group vary together.
    weights : ndarray of shape (n_pairs,), optional
        What each pair counts; None: all alike.
    """
    old, new = ranked_right(before), ranked_right(after)
    weights = np.ones(len(old)) if weights is None else weights
    lost, total = weights * (new - old), weights.sum()
    gained = lost.sum()

    def jackknife(touching: NDArray[Any], lost: NDArray[Any]) -> float:
        usable = (touching > 0) & (touching < total)
        k = usable.sum()
        if k < 3:
            return np.inf
        without = (gained - lost[usable]) / (total - touching[usable])
        return float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))

    ends = np.concatenate([first, second])
    error = jackknife(np.bincount(ends, np.tile(weights, 2), m), np.bincount(ends, np.tile(lost, 2), m))
    if groups is not None and len(np.unique(groups)) >= 3:
        error = max(error, jackknife(np.bincount(groups, weights), np.bincount(groups, lost)))
    return Gain(float(weights @ old / total), float(weights @ new / total), error)


def mean_gain(before: Array, after: Array, weights: Array | None = None) -> Gain:
    """Return the gain of a mean over labels, one by one, which may have weights."""
    k, share = len(before), np.full(len(before), 1 / len(before)) if weights is None else weights / weights.sum()
    gains = after - before
    spread = np.sum((share * (gains - share @ gains)) ** 2) * k / max(k - 1, 1)
    return Gain(float(share @ before), float(share @ after), float(np.sqrt(spread)) if k >= 3 else np.inf)
