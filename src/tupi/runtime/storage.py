"""Where the factors of the views are kept: in memory, or in a temporary file that is read block by block."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.system import read_at, write_at

CACHE_LINE = 64
Array = NDArray[Any]


def aligned(shape: tuple[int, ...], dtype: Any = np.float32, clear: bool = True) -> Array:
    """Return an array that begins on a cache line: vector loads that straddle two lines take twice as long."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = (np.zeros if clear else np.empty)(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def aligned_copy(array: Array) -> Array:
    """Return a copy that begins on a cache line."""
    copy = aligned(array.shape, array.dtype, clear=False)
    copy[...] = array
    return copy


class Storage(Protocol):
    """An (n, width) matrix that is written once, row by row, and read many times, block by block."""

    n: int
    width: int
    rows_per_block: int

    def write(self, start: int, rows: Array) -> None:
        """Write rows from ``start`` on."""

    def finish(self, center: Array, scale: Array) -> None:
        """Replace every row by (row - center) * scale; NaN becomes zero."""

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield the first row's number and the rows of each block; valid until the next one."""


class Memory:
    """Storage in memory: one block."""

    def __init__(self, n: int, width: int, dtype: Any = np.float32) -> None:
        self.n, self.width, self.rows_per_block = n, width, n
        self.array = aligned((n, width), dtype)

    def write(self, start: int, rows: Array) -> None:
        """Write rows from ``start`` on."""
        self.array[start : start + len(rows)] = rows

    def finish(self, center: Array, scale: Array, block: int = 4096) -> None:
        """Replace every row by (row - center) * scale; NaN becomes zero."""
        for start in range(0, self.n, block):
            _finish(self.array[start : start + block], center, scale)

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield everything."""
        yield 0, self.array


class Scratch:
    """Storage in a temporary file without a name, which disappears with this object or with the process.

    It is read with plain reads, not mapped, so that what has been read does not count as this process's memory.

    Parameters
    ----------
    n, width : int
        Shape of the matrix.
    rows_per_block : int
        How many rows are in memory at a time.
    """

    def __init__(self, n: int, width: int, rows_per_block: int) -> None:
        self.n, self.width, self.rows_per_block = n, width, min(n, rows_per_block)
        self._file = tempfile.TemporaryFile(prefix="tupi-")  # noqa: SIM115 - lives as long as this object
        self._center = np.zeros(width, np.float32)
        self._scale = np.ones(width, np.float32)

    def write(self, start: int, rows: Array) -> None:
        """Write rows from ``start`` on."""
        data = np.ascontiguousarray(rows, np.float32)
        write_at(self._file.fileno(), data.data.cast("B"), start * self.width * 4)

    def finish(self, center: Array, scale: Array) -> None:
        """Remember by what rows are centred and scaled when they are read."""
        self._center, self._scale = center.astype(np.float32), scale.astype(np.float32)

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """Yield blocks of rows, each in the same memory as the one before."""
        buffer = aligned((self.rows_per_block, self.width))
        for start in range(0, self.n, self.rows_per_block):
            rows = buffer[: min(self.rows_per_block, self.n - start)]
            if read_at(self._file.fileno(), rows.data.cast("B"), start * self.width * 4) < rows.nbytes:
                raise OSError("The temporary file of the embedding is shorter than expected.")
            _finish(rows, self._center, self._scale)
            yield start, rows


def set_aside(values: Array) -> Array:
    """Return the same values, read-only, from a temporary file without a name: they take no memory until looked at."""
    with tempfile.TemporaryFile(prefix="tupi-") as file:
        file.write(np.ascontiguousarray(values).tobytes())
        file.flush()
        return np.memmap(file, values.dtype, "r", shape=values.shape)


def _finish(rows: Array, center: Array, scale: Array) -> None:
    """Centre and scale in place; rows of items that lack a view are NaN there, and become zero."""
    np.subtract(rows, center, out=rows, casting="same_kind")
    np.multiply(rows, scale, out=rows, casting="same_kind")
    np.copyto(rows, 0.0, where=np.isnan(rows))
