"""A gain on labels that did not produce it, with the error of that difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.judging.metrics import ranked_right

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
    """
    old, new = ranked_right(before), ranked_right(after)
    total, gained = len(old), (new - old).sum()

    def jackknife(touching: NDArray[Any], lost: NDArray[Any]) -> float:
        usable = (touching > 0) & (touching < total)
        k = usable.sum()
        if k < 3:
            return np.inf
        without = (gained - lost[usable]) / (total - touching[usable])
        return float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))

    ends = np.concatenate([first, second])
    error = jackknife(np.bincount(ends, minlength=m), np.bincount(ends, np.tile(new - old, 2), minlength=m))
    if groups is not None and len(np.unique(groups)) >= 3:
        error = max(error, jackknife(np.bincount(groups), np.bincount(groups, new - old)))
    return Gain(float(old.mean()), float(new.mean()), error)


def mean_gain(before: Array, after: Array) -> Gain:
    """Return the gain of a mean over labels, one by one."""
    k = len(before)
    error = float(np.std(after - before, ddof=1) / np.sqrt(k)) if k >= 3 else np.inf
    return Gain(float(before.mean()), float(after.mean()), error)
