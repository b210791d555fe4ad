"""How far to believe the new predictions: the gain on labels that did not produce it, with an error and a prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

LEAST = 0.5  # below this probability of a gain, predictions come back unchanged
LEAST_UNRELATED = 0.95  # the same where no view depends on the predictions: then only the labels speak for a gain
WIDER = 5.0  # than elsewhere is what is expected there: views that only labels can connect gain nothing, or a lot
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Expectation:
    """What is known of a gain before any label: views that depend on the predictions usually help.

    Attributes
    ----------
    mean, sd : float
        Of a normal distribution, in hundredths.
    least_error : float
        No few labels know the gain better than that.
    """

    mean: float
    sd: float
    least_error: float


OF_SHARES = Expectation(2.0, 2.0, 1.0)  # points of pairwise accuracy, or of right classes
OF_ERRORS = Expectation(10.0, 20.0, 5.0)  # per cent of the squared error


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


def pair_gain(before: Array, after: Array, first: NDArray[np.int64], second: NDArray[np.int64], m: int) -> Gain:
    """Return the gain in pairwise accuracy, its error by the jackknife over items.

    Parameters
    ----------
    before, after : ndarray of shape (n_pairs,)
        Differences of old and new predictions within pairs whose first item is truly higher.
    first, second : ndarray of int
        The items of each pair, numbered from 0.
    m : int
        How many items there are.
    """
    old, new = (0.5 * (1 + np.sign(d)) for d in (before, after))
    total, gained = len(old), (new - old).sum()
    ends = np.concatenate([first, second])
    touching = np.bincount(ends, minlength=m)
    lost = np.bincount(ends, np.tile(new - old, 2), minlength=m)
    usable = (touching > 0) & (touching < total)
    k = usable.sum()
    error = np.inf
    if k >= 3:
        without = (gained - lost[usable]) / (total - touching[usable])
        error = float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))
    return Gain(float(old.mean()), float(new.mean()), error)


def mean_gain(before: Array, after: Array) -> Gain:
    """Return the gain of a mean over labels, one by one."""
    k = len(before)
    error = float(np.std(after - before, ddof=1) / np.sqrt(k)) if k >= 3 else np.inf
    return Gain(float(before.mean()), float(after.mean()), error)


def probability_of_gain(gain: Gain, related: bool, prior: Expectation = OF_SHARES) -> float:
    """Return P(gain > 0 | labels): the prior of the gain times the likelihood of what was measured, both normal.

    Parameters
    ----------
    gain : Gain
        What was measured.
    related : bool
        Whether any view depends on the predictions; if none does, no gain is expected, and a large one not ruled out.
    prior : Expectation
        What is expected.
    """
    precision = 1 / (prior.sd if related else WIDER * prior.sd) ** 2
    total = precision * (prior.mean if related else 0.0)
    if np.isfinite(gain.error):
        weight = 1 / max(100 * gain.error, prior.least_error) ** 2
        precision, total = precision + weight, total + weight * gain.points
    return float(norm.cdf(total / np.sqrt(precision)))


def weight_of(probability: float, related: bool) -> float:
    """Return the share of the new predictions in what comes back: P(gain > 0), or 0 where that is too low."""
    return probability if probability >= (LEAST if related else LEAST_UNRELATED) else 0.0
