"""The paper's t-tests, and how far the number of significant ones depends on single seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import stdtr

LEVEL = 0.05  # the paper's alpha = 0.95
LEAST_SEEDS = 3  # for a claim that something is not significant, and for leaving one out


def sign_of_difference(differences: ArrayLike) -> int:
    """Return 1 or -1 if a mean difference is significantly positive or negative in a two-sided t-test, and 0 otherwise.

    Differences of runs with the same seed are paired. Differences that are all the same are as sure as can be; a
    single one says nothing.
    """
    array = np.asarray(differences, np.float64)
    array = array[np.isfinite(array)]
    if len(array) < 2 or not array.any():
        return 0
    if np.ptp(array) == 0:
        return int(np.sign(array[0]))
    t = array.mean() / (array.std(ddof=1) / np.sqrt(len(array)))
    return int(np.sign(t)) if 2 * stdtr(len(array) - 1, -abs(t)) < LEVEL else 0


def signs_of(found: pd.DataFrame, first: str, second: str) -> list[int]:
    """Return the signs of a difference on the targets that the paper has t-tests for and both methods apply to."""
    if not {first, second} <= set(found.columns):
        return []
    tested = found[found["dataset"] != "mfeat"]
    runs = (one[first] - one[second] for _, one in tested.groupby(["dataset", "target"], sort=False))
    return [sign_of_difference(one) for one in runs if one.notna().any()]


def signs_by_target(runs: pd.DataFrame) -> list[int]:
    """Return the sign of the column ``gain`` on each target of each dataset."""
    return [sign_of_difference(one["gain"]) for _, one in runs.groupby(["dataset", "target"], sort=False)]


class Count(NamedTuple):
    """On how many targets something is so, and how far that depends on single seeds.

    Attributes
    ----------
    number, of : int
        On how many targets, and of how many.
    least, largest : int or None
        The least and the largest number if one seed after the other is left out; None where too few seeds are left.
    """

    number: int
    of: int
    least: int | None = None
    largest: int | None = None

    @property
    def spread(self) -> str:
        """Between which numbers it lies if one seed after the other is left out."""
        return "" if self.least is None else f"{self.least} to {self.largest}"

    @property
    def plain(self) -> str:
        """The number, with its spread in brackets."""
        return f"{self.number} ({self.spread})" if self.spread else str(self.number)

    @property
    def among(self) -> str:
        """The number and of how many, with the spread of the number in brackets."""
        return f"{self.number} of {self.of}" + (f" ({self.spread})" if self.spread else "")

    @property
    def share(self) -> str:
        """The share in per cent, with its spread in brackets."""
        if self.least is None or self.largest is None:
            return f"{self.number / self.of:.0%}"
        return f"{self.number / self.of:.0%} ({self.least / self.of:.0%} to {self.largest / self.of:.0%})"


def counted(found: pd.DataFrame, what: Callable[[pd.DataFrame], Sequence[Any]], wanted: Any) -> Count:
    """Return on how many targets ``what`` finds this, in all runs and with one seed after the other left out.

    Parameters
    ----------
    found : DataFrame
        Runs, with a column ``seed``.
    what : callable
        Given runs, returns one finding per target.
    wanted : object
        The finding that is counted.
    """
    everywhere = list(what(found))
    seeds = sorted(set(found["seed"]))
    if len(seeds) < LEAST_SEEDS:
        return Count(everywhere.count(wanted), len(everywhere))
    without = [list(what(found[found["seed"] != seed])).count(wanted) for seed in seeds]
    return Count(everywhere.count(wanted), len(everywhere), min(without), max(without))


def count_of(found: pd.DataFrame, first: str, second: str, sign: int) -> Count:
    """Return on how many of the targets that the paper has t-tests for a difference has this significant sign."""
    return counted(found, lambda runs: signs_of(runs, first, second), sign)


def directions(gains: pd.DataFrame) -> list[int]:
    """Return for each target whether its mean ``gain`` over seeds is positive (1), negative (-1) or neither (0)."""
    return [int(np.sign(one)) for one in gains.groupby(["dataset", "target"], sort=False)["gain"].mean()]
