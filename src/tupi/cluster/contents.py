"""What blocks of predictions and views contain, counted on the workers and added up: it is checked and standardises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.checks import Gaps, check_finite, check_predictions, check_taking_part, check_whole_rows
from tupi.inputs.statistics import Statistics
from tupi.inputs.views import called_view, examine

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Contents:
    """What some blocks contain; that of two blocks, the earlier one first, adds up to that of both.

    Attributes
    ----------
    views : list of Statistics
        Of each view's rows that are there.
    gaps : list of Gaps
        Of each view.
    scores : Statistics
        Of the predictions of items with at least one view.
    low, high : float
        The smallest and largest prediction of items with at least one view.
    broken, first_broken : int
        How many predictions are NaN or infinite, and the first.
    n : int
        Rows.
    covered : list of int
        For each block, how many items have at least one view.
    present : list of list of int
        For each block and view, how many rows are there.
    """

    views: list[Statistics]
    gaps: list[Gaps]
    scores: Statistics
    low: float
    high: float
    broken: int
    first_broken: int
    n: int
    covered: list[int]
    present: list[list[int]]

    def __add__(self, other: Contents) -> Contents:
        return Contents(
            [a + b for a, b in zip(self.views, other.views, strict=True)],
            [a + b for a, b in zip(self.gaps, other.gaps, strict=True)],
            self.scores + other.scores,
            min(self.low, other.low),
            max(self.high, other.high),
            self.broken + other.broken,
            self.first_broken if self.broken else other.first_broken,
            self.n + other.n,
            self.covered + other.covered,
            self.present + other.present,
        )

    def check(self, names: Sequence[str]) -> None:
        """Complain about predictions and views that cannot be used, given the names of the views."""
        largest = max(abs(self.low), abs(self.high)) if self.scores.count else 0.0
        check_predictions(self.n, self.broken, self.first_broken, True, largest)
        for name, gaps in zip(names, self.gaps, strict=True):
            check_finite(called_view(name), gaps)
            check_whole_rows(called_view(name), gaps, "or rows missing as a whole")
        check_taking_part(self.scores.count, self.high > self.low)


def contents_of(scores: Array, *views: Array, first: int, picks: Sequence[Array]) -> tuple[Contents, list[Array]]:
    """Return what one block contains, and the rows of each view that were asked for.

    Parameters
    ----------
    scores : ndarray of shape (rows, 1)
        Predictions.
    *views : ndarray of shape (rows, d)
        Each view.
    first : int
        The number of the block's first row.
    picks : sequence of ndarray of int
        For each view, which rows of this block to return.
    """
    present, gaps, statistics = zip(*(examine(X, first) for X in views), strict=True)
    covered = np.logical_or.reduce(present)
    values = np.asarray(scores, np.float64).reshape(len(scores))
    broken = np.flatnonzero(~np.isfinite(values))
    used = values[covered & np.isfinite(values)]
    contents = Contents(
        list(statistics),
        list(gaps),
        Statistics.of(used[:, None]),
        float(used.min(initial=np.inf)),
        float(used.max(initial=-np.inf)),
        len(broken),
        first + int(broken[0]) if len(broken) else -1,
        len(values),
        [int(covered.sum())],
        [[int(here.sum()) for here in present]],
    )
    return contents, [np.asarray(X[rows], np.float64) for X, rows in zip(views, picks, strict=True)]
