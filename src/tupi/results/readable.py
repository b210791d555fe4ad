"""Numbers and names as people read them: no more digits than say something, and as many for all that stand together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

LEAST, MOST = 1e-4, 1e9  # numbers in between are written without an exponent


def significant(value: float) -> str:
    """Return a number with four significant digits."""
    return f"{value:.4g}"


def three_digits(value: float) -> str:
    """Return a number rounded to three significant digits, which is as much as a reader keeps in mind."""
    return f"{float(f'{value:.3g}'):,.9g}"


def three_decimals(value: float) -> str:
    """Return a share or weight with three decimals, in words where it is not known."""
    return "unknown" if pd.isna(value) else f"{value:.3f}"


def decimals_for(values: Iterable[float]) -> int | None:
    """Return the decimals that give the largest of some numbers three digits; None if that takes exponents."""
    largest = max((abs(float(value)) for value in values if np.isfinite(value)), default=0.0)
    return max(2 - int(np.floor(np.log10(largest))), 0) if LEAST <= largest < MOST else None


def fixed(value: float, decimals: int | None, sign: str = "") -> str:
    """Return a number with so many decimals, or with four significant digits (None); ``sign`` "+" is for changes."""
    if decimals is None:
        return f"{value:{sign}.4g}"
    return f"{round(float(value), decimals) + 0.0:{sign},.{decimals}f}"  # adding zero makes 0 of -0


def shortened(name: str, longest: int = 40) -> str:
    """Return a name without its middle if it is too long: names often differ only at one end."""
    head = longest // 2
    return name if len(name) <= longest else f"{name[:head]}…{name[len(name) - (longest - head - 1) :]}"
