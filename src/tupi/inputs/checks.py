"""What predictions and views must be, and the sentence for each fault; items in memory and on workers share them.

The functions take what was counted or seen in the rows rather than the rows, which may be in blocks on workers. So do
`Statistics`, the means and deviations of columns: those of blocks add up.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.errors import InputError

MIN_ITEMS = 10
LARGEST_PREDICTION = 1e305  # differences of larger numbers are not finite
MAGNITUDES = (1e-100, 1e100)  # of labels, whose squares are summed: beyond, sums are infinite or zero
LAST_SEED = 2**32 - 1  # the largest that scikit-learn takes
SHOWN = 3  # rows with missing values that a message names
Array = NDArray[Any]


@dataclass(frozen=True)
class Gaps:
    """Values of a view that cannot be used; those of two blocks, the earlier one first, add up to those of both.

    Attributes
    ----------
    infinite : tuple of int, optional
        Row and column of the first infinite value.
    values, rows : int
        How many values are missing in rows that are there otherwise, and in how many rows.
    columns : frozenset of int
        The columns that lack them.
    first : tuple of int
        The first few of those rows.
    """

    infinite: tuple[int, int] | None = None
    values: int = 0
    rows: int = 0
    columns: frozenset[int] = frozenset()
    first: tuple[int, ...] = ()

    @classmethod
    def of(cls, block: Array, present: Array, start: int) -> Gaps:
        """Return the gaps of a block of rows, given which rows are there and the number of the first one."""
        infinite = np.argwhere(np.isinf(block))
        nan = np.isnan(block)
        rows = np.flatnonzero(nan.any(axis=1) & present)
        return cls(
            (start + int(infinite[0][0]), int(infinite[0][1])) if len(infinite) else None,
            int(nan[rows].sum()),
            len(rows),
            frozenset(np.flatnonzero(nan[rows].any(axis=0)).tolist()),
            tuple((start + rows[:SHOWN]).tolist()),
        )

    def __add__(self, other: Gaps) -> Gaps:
        return Gaps(
            self.infinite or other.infinite,
            self.values + other.values,
            self.rows + other.rows,
            self.columns | other.columns,
            (self.first + other.first)[:SHOWN],
        )


def present_rows(block: Array) -> Array:
    """Return which rows are there: not missing as a whole."""
    if block.dtype.kind != "f" or not np.isnan(block[:, 0]).any():  # a missing row lacks its first value
        return np.ones(len(block), bool)
    return np.logical_not(np.isnan(block).all(axis=1))


def check_finite(called: str, gaps: Gaps, complete: bool = False) -> None:
    """Complain about an infinite value of a view, of which all items must have rows if it is ``complete``."""
    if gaps.infinite is not None:
        row, column = gaps.infinite
        raise InputError(
            f"{called} is infinite at row {row}, column {column}; accepted: finite "
            f"numbers{'' if complete else ', or NaN for a whole row that is missing'}."
        )


def check_whole_rows(called: str, gaps: Gaps, otherwise: str) -> None:
    """Complain about rows of a view that lack single values, saying what is accepted beside complete rows."""
    if gaps.rows:
        where = ", ".join(map(str, gaps.first)) + (", ..." if gaps.rows > SHOWN else "")
        raise InputError(
            f"{called} lacks {gaps.values} single value(s), in {gaps.rows} row(s) ({where}) and {len(gaps.columns)} "
            f"column(s); accepted: complete rows, {otherwise}."
        )


def check_row_count(name: str, rows: int, n: int) -> None:
    """Complain unless a view has as many rows as there are predictions."""
    if rows != n:
        raise InputError(f"features: view {name!r} has {rows} rows for {n} predictions; accepted: one row per item.")


def varying_views(constant: Mapping[str, bool]) -> list[str]:
    """Return the names of the views that vary over the items; warn of the others, and complain if none is left.

    The warning points at the caller of `tupi.denoise`, which is four calls away in memory and on a cluster.
    """
    varying = [name for name, is_constant in constant.items() if not is_constant]
    if not varying:
        raise InputError("features: every view is constant; accepted: at least one view that varies over the items.")
    for name, is_constant in constant.items():
        if is_constant:
            warnings.warn(f"View {name!r} is constant over the items and was dropped.", UserWarning, stacklevel=5)
    return varying


def check_prediction_shape(shape: tuple[int, ...], task: str) -> None:
    """Complain about predictions that have too many dimensions for the task, or too few."""
    if task == "classification":
        fits = len(shape) == 1 or (len(shape) == 2 and shape[1] >= 2)
        accepted = "(n,) of probabilities, or (n, c) with c at least 2"
    else:
        fits, accepted = len(shape) == 1, "(n,)"
    if not fits:
        raise InputError(f"predictions: found shape {shape} for task {task!r}; accepted: shape {accepted}.")


def check_predictions(n: int, broken: int, first_broken: int, differ: bool, largest: float) -> None:
    """Complain about predictions that cannot be used.

    Parameters
    ----------
    n : int
        How many items there are.
    broken, first_broken : int
        How many values are NaN or infinite, and the item of the first; any number if there are none.
    differ : bool
        Whether the predictions differ between items.
    largest : float
        The largest magnitude among them.
    """
    if n < MIN_ITEMS:
        raise InputError(f"predictions: found {n} item(s); accepted: at least {MIN_ITEMS}.")
    check_prediction_values(broken, first_broken, largest)
    if not differ:
        raise InputError("predictions: all are equal; accepted: predictions that differ between items.")


def check_prediction_values(broken: int, first_broken: int, largest: float) -> None:
    """Complain about single predictions that cannot be used; the parameters are those of `check_predictions`."""
    if broken:
        raise InputError(
            f"predictions: {broken} value(s) are NaN or infinite (first at item {first_broken}); "
            "accepted: finite numbers, none of them missing or masked."
        )
    if largest > LARGEST_PREDICTION:
        raise InputError(
            f"predictions: found a number of magnitude {largest:.3g}; accepted: at most {LARGEST_PREDICTION:g}."
        )


def check_taking_part(n: int, differ: bool) -> None:
    """Complain if too few items have features to learn from, or if the predictions of those do not differ."""
    if n < MIN_ITEMS:
        raise InputError(f"features: {n} item(s) have any; accepted: features of at least {MIN_ITEMS} items.")
    if not differ:
        raise InputError(
            "predictions: those of the items that have features are all equal; accepted: predictions that differ "
            "between items."
        )


def check_magnitude(called: str, values: Array, why: str = "") -> None:
    """Complain about numbers of which squares cannot be summed, saying why it matters if that is not plain."""
    least, most = MAGNITUDES
    largest = float(np.abs(values).max(initial=0.0))
    if not least <= largest <= most:
        raise InputError(
            f"{called}: the largest magnitude is {largest:.3g}; accepted{why}: from {least:g} to {most:g}, in other "
            "units if need be."
        )


def check_seed(random_state: Any) -> int:
    """Return a seed as a whole number; complain about anything else."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state <= LAST_SEED:
        raise InputError(f"random_state: found {random_state!r}; accepted: a whole number from 0 to {LAST_SEED}.")
    return int(random_state)


@dataclass(frozen=True, eq=False)
class Statistics:
    """Means and deviations of the columns of some rows, safe from 1e-300 to 1e300.

    Those of two blocks of rows add up to those of all their rows.

    Attributes
    ----------
    count : int
        How many rows there are.
    unit : ndarray of shape (d,)
        The largest magnitude in each column; 0 if the column holds nothing but zeros.
    mean, squares : ndarray of shape (d,)
        The mean of each column and the sum of squared deviations from it, in that unit.
    """

    count: int
    unit: Array
    mean: Array
    squares: Array

    @classmethod
    def nothing(cls, d: int) -> Statistics:
        """Return the statistics of no rows, to which others can be added."""
        return cls(0, np.zeros(d), np.zeros(d), np.zeros(d))

    @classmethod
    def of(cls, block: Array, unit: Array | None = None) -> Statistics:
        """Return the statistics of a block of finite rows, float64; their unit may be known."""
        if len(block) == 0:
            return cls.nothing(block.shape[1])
        if unit is None:
            unit = np.maximum(block.max(axis=0), -block.min(axis=0))
        # Sums are taken about some row: it is as far from the mean as any, so nothing cancels.
        deviation = block / np.where(unit > 0, unit, 1.0)
        pivot = deviation[0].copy()
        deviation -= pivot
        offset = deviation.sum(axis=0) / len(block)
        squares = np.einsum("ij,ij->j", deviation, deviation) - len(block) * offset**2
        return cls(len(block), unit, pivot + offset, np.maximum(squares, 0.0))

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
        """The unit of each column, and in that unit its mean and deviation, as `standardized` takes them."""
        unit = np.where(self.unit > 0, self.unit, 1.0)
        scale = np.sqrt(self.squares / max(self.count, 1))
        scale[scale <= 1e-14 * np.maximum(np.abs(self.mean), 1e-2)] = 0.0  # only rounding separates the values
        return unit, self.mean, scale

    @property
    def constant(self) -> bool:
        """Whether no column varies."""
        return not (self.standard[2] > 0).any()


def standardized(block: Array, unit: Array, center: Array, scale: Array, scaling: str = "columns") -> Array:
    """Return rows with columns centred and scaled, without the constant ones; the block may be overwritten.

    Parameters
    ----------
    block : ndarray of shape (rows, d)
        Rows as they came in.
    unit, center, scale : ndarray of shape (d,)
        Each column's largest magnitude, and in units of that its mean and deviation.
    scaling : {"columns", "view"}
        See `tupi.inputs.views.View.rows`.
    """
    varying = scale > 0
    if not varying.all():
        block = block[:, varying]
    unit, center, scale = unit[varying], center[varying], scale[varying]
    if scaling == "columns":
        factor = 1.0 / scale
    else:  # back to common units, divided by the root mean square deviation of the view
        ratio = unit / unit.max()
        factor = ratio / np.sqrt(np.mean((scale * ratio) ** 2))
    with np.errstate(over="ignore"):
        at_once = factor / unit
    if np.isfinite(at_once).all():
        block *= at_once
        block -= center * factor
    else:  # numbers near the smallest there are
        block /= unit
        block -= center
        block *= factor
    return block
