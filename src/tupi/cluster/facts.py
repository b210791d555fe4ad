"""What a block says about its views and predictions, and what all blocks say together."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.problem import MIN_ITEMS
from tupi.inputs.views import BLOCK
from tupi.runtime.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and deviation of columns, safe from 1e-300 to 1e300.

    Attributes
    ----------
    count : int
        How many rows there are.
    unit : ndarray of shape (d,)
        Each column's largest magnitude, 0 if there is nothing else.
    mean, squares : ndarray of shape (d,)
        In that unit, the mean and the sum of squared deviations from it.
    """

    count: int
    unit: Array
    mean: Array
    squares: Array

    @classmethod
    def of(cls, X: Array) -> Statistics:
        """Return those of some complete rows, in two sweeps that stay in cache."""
        d = X.shape[1]
        unit, total, squares = np.zeros(d), np.zeros(d), np.zeros(d)
        for start in range(0, len(X), BLOCK):
            piece = X[start : start + BLOCK]
            unit = np.maximum(unit, np.maximum(piece.max(axis=0), -piece.min(axis=0)))
        safe = np.where(unit > 0, unit, 1.0)
        pivot = np.asarray(X[0], np.float64) / safe if len(X) else np.zeros(d)
        for start in range(0, len(X), BLOCK):
            deviation = np.array(X[start : start + BLOCK], np.float64) / safe
            deviation -= pivot
            total += deviation.sum(axis=0)
            squares += np.einsum("ij,ij->j", deviation, deviation)
        offset = total / max(len(X), 1)
        return cls(len(X), unit, pivot + offset, np.maximum(squares - len(X) * offset**2, 0.0))

    def __add__(self, other: Statistics) -> Statistics:
        if not (self.count and other.count):
            return self if self.count else other
        unit = np.maximum(self.unit, other.unit)
        safe = np.where(unit > 0, unit, 1.0)
        a, b, count = self.unit / safe, other.unit / safe, self.count + other.count
        difference = other.mean * b - self.mean * a
        mean = self.mean * a + difference * (other.count / count)
        squares = self.squares * a**2 + other.squares * b**2
        return Statistics(count, unit, mean, squares + difference**2 * (self.count * other.count / count))

    @property
    def standard(self) -> tuple[Array, Array, Array]:
        """Unit, mean and deviation, as `tupi.inputs.views.standardized` takes them."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        scale = np.sqrt(self.squares / max(self.count, 1))
        scale[scale <= 1e-14 * np.maximum(np.abs(self.mean), 1e-2)] = 0.0  # only rounding separates the values
        return unit, self.mean, scale


@dataclass(frozen=True)
class Gaps:
    """Values of a view that cannot be used.

    Attributes
    ----------
    infinite : tuple of int, optional
        Row and column of the first infinite value.
    values, rows : int
        How many values are missing in rows that are there, and in how many rows.
    first : tuple of int
        The first few of those rows.
    """

    infinite: tuple[int, int] | None = None
    values: int = 0
    rows: int = 0
    first: tuple[int, ...] = ()

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(
            self.infinite or other.infinite,
            self.values + other.values,
            self.rows + other.rows,
            (self.first + other.first)[:3],
        )


@dataclass(frozen=True, eq=False)
class Facts:
    """What some blocks say.

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

    def __add__(self, other: Facts) -> Facts:
        return Facts(
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


def present_rows(X: Array) -> Array:
    """Return which rows are there: not missing as a whole."""
    if X.dtype.kind != "f" or not np.isnan(X[:, 0]).any():  # a missing row lacks its first value
        return np.ones(len(X), bool)
    return np.logical_not(np.isnan(X).all(axis=1))


def examine(scores: Array, *views: Array, first: int, picks: Sequence[Array]) -> tuple[Facts, list[Array]]:
    """Return what one block says, and the rows of each view that were asked for.

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
    present = [present_rows(X) for X in views]
    gaps, statistics = [], []
    for X, here in zip(views, present, strict=True):
        complete = X if here.all() else X[here]
        gaps.append(_gaps(X, here, first))
        statistics.append(Statistics.of(complete) if gaps[-1] == Gaps() else Statistics.of(complete[:0]))
    covered = np.logical_or.reduce(present)
    values = np.asarray(scores, np.float64).reshape(len(scores))
    broken = np.flatnonzero(~np.isfinite(values))
    used = values[covered & np.isfinite(values)]
    facts = Facts(
        statistics,
        gaps,
        Statistics.of(used[:, None]),
        float(used.min(initial=np.inf)),
        float(used.max(initial=-np.inf)),
        len(broken),
        first + int(broken[0]) if len(broken) else -1,
        len(values),
        [int(covered.sum())],
        [[int(here.sum()) for here in present]],
    )
    return facts, [np.asarray(X[rows], np.float64) for X, rows in zip(views, picks, strict=True)]


def _gaps(X: Array, here: Array, first: int) -> Gaps:
    if X.dtype.kind != "f":
        return Gaps()
    ends = (X.max(axis=0), X.min(axis=0)) if len(X) else (np.zeros(1), np.zeros(1))
    if np.isfinite(ends[0]).all() and np.isfinite(ends[1]).all():
        return Gaps()
    infinite = np.argwhere(np.isinf(X))
    nan = np.isnan(X)
    partly = np.flatnonzero(nan.any(axis=1) & here)
    return Gaps(
        (first + int(infinite[0][0]), int(infinite[0][1])) if len(infinite) else None,
        int(nan[partly].sum()),
        len(partly),
        tuple((first + partly[:3]).tolist()),
    )


def total(facts: Sequence[Facts]) -> Facts:
    """Return what all blocks say, always added up in the same order."""
    return functools.reduce(Facts.__add__, facts)


def check(facts: Facts, names: Sequence[str]) -> None:
    """Complain about what cannot be used, as `tupi.inputs.problem` and `tupi.inputs.views` do."""
    if facts.n < MIN_ITEMS:
        raise InputError(f"predictions: found {facts.n} item(s); accepted: at least {MIN_ITEMS}.")
    if facts.broken:
        raise InputError(
            f"predictions: {facts.broken} value(s) are NaN or infinite (first at item {facts.first_broken}); "
            "accepted: finite numbers, none of them missing or masked."
        )
    for name, gaps in zip(names, facts.gaps, strict=True):
        if gaps.infinite is not None:
            raise InputError(
                f"features: view {name!r} is infinite at row {gaps.infinite[0]}, column {gaps.infinite[1]}; "
                "accepted: finite numbers, or NaN for a whole row that is missing."
            )
        if gaps.rows:
            where = ", ".join(map(str, gaps.first)) + (", ..." if gaps.rows > 3 else "")
            raise InputError(
                f"features: view {name!r} lacks {gaps.values} single value(s), in {gaps.rows} row(s) ({where}); "
                "accepted: complete rows, or rows missing as a whole."
            )
    if not facts.high > facts.low:
        raise InputError("predictions: all are equal; accepted: predictions that differ between items.")
