"""Arrays, tables and labels as nobody should give them, drawn from a seed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

Rng = np.random.Generator
SCALES = (1e-310, 1e-200, 1e-30, 1e-8, 1.0, 1.0, 1.0, 1e8, 1e30, 1e150, 1e300, 1.7e308)


def pick(rng: Rng, *choices: Any) -> Any:
    """Return one of some choices."""
    return choices[rng.integers(len(choices))]


def damage(rng: Rng, contents: dict[str, bytes]) -> None:
    """Change a few bytes of one of some files."""
    name = pick(rng, *contents)
    damaged = bytearray(contents[name])
    for place in rng.integers(max(len(damaged), 1), size=3) if damaged else ():
        damaged[place] = rng.integers(256)
    contents[name] = bytes(damaged)


def size(rng: Rng) -> int:
    """Return a number of items, small ones more often."""
    return int(pick(rng, *range(10), *(10, 11, 12, 15, 20, 25, 30, 40) * 6))


def column(rng: Rng, n: int) -> np.ndarray:
    """Return numbers that may be constant, tied, huge, tiny, missing or infinite."""
    values = rng.normal(size=n)
    kind = rng.integers(30)
    if kind == 0:
        values = np.full(n, pick(rng, 0.0, 0.1, -3.0, 1e300))
    elif kind == 1:
        values = np.round(values)
    elif kind == 2:
        values = 1.0 + values * 10.0 ** -float(rng.integers(1, 17))
    elif kind == 3 and n:
        values[rng.integers(n)] = pick(rng, np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 5e-324, -0.0)
    elif kind == 4 and n:
        values[1:] = values[0]
        values[0] += 1.0
    elif kind == 5:
        with np.errstate(over="ignore"):
            values = values * pick(rng, *SCALES)
    elif kind == 6:
        values = np.exp(20 * values)
    return values


def predictions(rng: Rng, n: int, classes: int) -> np.ndarray:
    """Return one column of scores, or several, some of which may be probabilities."""
    if not classes:
        return column(rng, n)
    if rng.random() < 0.5:
        shares = rng.dirichlet(np.full(classes, pick(rng, 0.05, 1.0)), n)
        if rng.random() < 0.3:
            shares[:, 0] = 0.0
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        return shares
    return np.column_stack([column(rng, n) for _ in range(classes)])


def view(rng: Rng, n: int) -> np.ndarray:
    """Return features, of which rows or single values may be missing."""
    d = int(pick(rng, 1, 1, 2, 3, 5))
    values = np.column_stack([column(rng, n) for _ in range(d)])
    if n and rng.random() < 0.2:
        values[rng.random(n) < rng.random()] = np.nan
    if n and rng.random() < 0.05:
        values[rng.integers(n), rng.integers(d)] = np.nan
    if n and rng.random() < 0.1:
        values = values[rng.integers(n, size=n)]
    return values


def dressed(rng: Rng, values: np.ndarray) -> Any:
    """Return an array in another form or of another type; most often as it is."""
    kind = rng.integers(60)
    if kind == 0:
        return values.tolist()
    if kind == 1:
        return np.ma.masked_array(values, rng.random(values.shape) < 0.1)
    if kind == 2:
        return (pd.Series if values.ndim == 1 else pd.DataFrame)(values)
    if kind == 3:
        with np.errstate(over="ignore"):
            return values.astype(pick(rng, np.float32, np.float16))
    if kind == 4:
        return np.nan_to_num(values, posinf=1, neginf=0).clip(-1e6, 1e6).astype(pick(rng, np.int64, np.int8, bool))
    if kind == 5:
        return values.astype(object)
    if kind == 6:
        return values.astype(str)
    if kind == 7:
        return values.astype(complex)
    if kind == 8:
        return values[..., None]
    if kind == 9 and values.ndim == 1:
        return pd.Series(values, pd.Index([f"i{k}" for k in range(len(values))]))
    if kind == 10 and values.ndim == 1:
        return [Decimal(str(value)) if np.isfinite(value) else None for value in values]
    if kind == 11:
        return values[: rng.integers(len(values) + 1)]
    if kind == 12:
        return pick(rng, None, 3, "text", [], {}, np.array(5.0), [[1], [1, 2]])
    return values


def features(rng: Rng, n: int) -> Any:
    """Return views in one of the forms that are accepted, or nearly."""
    views = [dressed(rng, view(rng, n)) for _ in range(int(pick(rng, 1, 1, 2, 3)))]
    kind = rng.integers(8)
    if kind == 0:
        return views
    if kind == 1:
        return views[0]
    names = ["a", "b", pick(rng, "c", "", "[/c]", "a\x1b", 7, None, ("x", 1))]
    return dict(zip(names, views, strict=False))


def labels(rng: Rng, n: int, classes: int) -> Any:
    """Return labels of some items: an array, values or comparisons."""
    import tupi

    kind = rng.integers(6)
    if kind == 0 or not n:
        return None
    if kind == 1 and not classes:
        k = int(pick(rng, 1, 2, 5, 8, 10, rng.integers(1, 30)))
        return tupi.Pairs(rng.integers(n, size=k), rng.integers(-1 if rng.random() < 0.1 else 0, n, size=k))
    values = rng.integers(classes, size=n).astype(float) if classes else column(rng, n)
    if kind == 2:
        some = rng.permutation(n)[: rng.integers(1, n + 1)]
        return tupi.Values(some, dressed(rng, values[some]))
    return dressed(rng, np.where(rng.random(n) < rng.random(), values, np.nan))
