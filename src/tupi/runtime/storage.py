"""Memory: how much of it may be used, arrays that begin on a cache line, and what is set aside in a file."""

from __future__ import annotations

import re
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.errors import InputError

CACHE_LINE = 64
Array = NDArray[Any]
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LEAST = 50 * 10**6  # below this nothing of use fits


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


class Workspace:
    """Memory that one step leaves to the next: fresh memory costs as much as working in it.

    Arrays have names. Whoever has one has it alone, until the next one with that name is asked for.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
        """Return an array with anything in it: the last one with this name, if it fits."""
        known = self._arrays.get(name)
        if known is None or known.shape != shape or known.dtype != dtype:
            known = self._arrays[name] = aligned(shape, dtype, clear=False)
        return known


def set_aside(values: Array) -> Array:
    """Return the same values, read-only, from a temporary file without a name: they take no memory until looked at."""
    with tempfile.TemporaryFile(prefix="tupi-") as file:
        file.write(np.ascontiguousarray(values).tobytes())
        file.flush()
        return np.memmap(file, values.dtype, "r", shape=values.shape)


def as_bytes(limit: Any) -> int | None:
    """Return a memory limit such as ``"1GB"``, or a number of bytes, as a number of bytes; None stays None."""
    if limit is None:
        return None
    size: float | None = None
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        size = float(limit)
    elif isinstance(limit, str) and (match := re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", limit)):
        unit = UNITS.get(match[2].upper())
        try:
            size = None if unit is None else float(match[1]) * unit
        except ValueError:
            size = None
    if size is None or not LEAST <= size < float("inf"):
        accepted = "at least 50MB, as '500MB', '4GB' or a number of bytes"
        raise InputError(f"memory_limit: found {limit!r}; accepted: {accepted}.")
    return int(size)
