"""Means and deviations of columns as sums over blocks of rows, wherever the blocks are: in memory, files or workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


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
