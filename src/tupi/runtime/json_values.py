"""Values as JSON can hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def finite(value: float | None) -> float | None:
    """Return a number as JSON can hold it: what is not finite becomes None."""
    return float(value) if value is not None and np.isfinite(value) else None


def numbers(values: ArrayLike) -> list[float | None]:
    """Return numbers as JSON can hold them: those that are not finite become None."""
    return [finite(value) for value in np.asarray(values, dtype=np.float64).tolist()]


def plain(value: Any, strict: bool = True) -> Any:
    """Return a value, with all that is inside, as JSON can hold it; what it has no kind for becomes text.

    Parameters
    ----------
    value : Any
        The value: a dict, a sequence, a number, text or anything else.
    strict : bool
        Whether numbers that are not finite become None. Strict JSON has none; Python's own reader takes them.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {str(name): plain(inner, strict) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, strict) for inner in value]
    if isinstance(value, float) and strict:
        return finite(value)
    return value if value is None or isinstance(value, (str, int, float)) else repr(value)
