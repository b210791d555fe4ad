"""Rows of an embedding in 16 bits per number, as workers keep them.

Sixteen bits hold a column of a block to 1/65,534 of its range, which moves the result by about 1e-5 of its deviation
(`tests/cluster` and `benchmarks/scale.py` measure it), and halve memory, network and spilled files. The compiled pass
takes the integers as they are: what they have to be multiplied by goes into the tables, which are small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.views import BLOCK
from tupi.runtime.computing import aligned

MOST = 32767  # the largest 16-bit number that is used
MISSING = -32768  # stands for a row that lacks the view until centres are known
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Coded:
    """Rows of a block: ``rows * slope + offset``, see `tupi.blocks.home`.

    Attributes
    ----------
    rows : ndarray of shape (items, R), int16
        The codes.
    slope, offset : ndarray of shape (R,)
        What a code counts for, and what 0 stands for.
    """

    rows: Array
    slope: Array
    offset: Array

    def __sizeof__(self) -> int:
        """Return the bytes that it takes, by which Dask decides what to spill."""
        return int(self.rows.nbytes)

    def centered(self, center: Array, scale: Array) -> Coded:
        """Return the rows (features - center) * scale, and 0 for items that lack the view."""
        rows = self.rows
        if len(rows) and (rows == MISSING).any():
            zero = np.clip(np.rint((center - self.offset) / self.slope), -MOST, MOST).astype(np.int16)
            rows = np.where(rows == MISSING, zero, rows)
        return replace(self, rows=rows, slope=self.slope * scale, offset=(self.offset - center) * scale)


def coded(phi: Array) -> Coded:
    """Return rows of numbers in 16 bits each; NaN where an item lacks the view."""
    low, high = np.full(phi.shape[1], np.inf), np.full(phi.shape[1], -np.inf)
    for start in range(0, len(phi), BLOCK):
        piece = phi[start : start + BLOCK]
        np.fmin(low, np.fmin.reduce(piece, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(piece, axis=0), out=high)
    some = np.isfinite(low)  # otherwise nobody in this block has the view
    middle = np.where(some, 0.5 * (low + high), 0.0).astype(np.float32)
    reach = np.maximum(np.abs(high - middle), np.abs(middle - low))
    step = np.where(some & (reach > 0), reach / MOST, 1.0)
    rows = aligned(phi.shape, np.int16)
    per_unit = (1.0 / step).astype(np.float32)
    for start in range(0, len(phi), BLOCK):
        scaled = phi[start : start + BLOCK] - middle
        scaled *= per_unit
        np.rint(scaled, out=scaled)
        np.nan_to_num(scaled, copy=False, nan=MISSING)
        rows[start : start + BLOCK] = scaled
    return Coded(rows, step, middle.astype(np.float64))
