"""How much memory may be used."""

from __future__ import annotations

import re
from typing import Any

from tupi.runtime.errors import InputError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LEAST = 50 * 10**6  # below this nothing of use fits


def as_bytes(limit: Any, name: str = "memory_limit") -> int | None:
    """Return a limit such as ``"1GB"``, or a number of bytes, as a number of bytes; None stays None."""
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
        raise InputError(f"{name}: found {limit!r}; accepted: at least 50MB, as '500MB', '4GB' or a number of bytes.")
    return int(size)
