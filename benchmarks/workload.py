"""Made-up data: views of a few hidden numbers, and noisy scores of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HIDDEN = 8
BLOCK = 50_000  # rows made at a time, so that making them takes no memory to speak of
N_VIEWS = 5
Array = NDArray[Any]


def blocks(n: int, columns: int, seed: int = 0) -> Iterator[tuple[slice, Array, list[Array]]]:
    """Yield rows, their scores and their views in float32."""
    maps = [np.random.default_rng((seed, k)).normal(size=(HIDDEN, columns)) / 3 for k in range(N_VIEWS)]
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        rng = np.random.default_rng((seed, N_VIEWS, start))
        hidden = rng.normal(size=(rows.stop - start, HIDDEN))
        scores = hidden[:, 0] + rng.normal(size=len(hidden))
        views = [np.tanh(hidden @ each) + 0.3 * rng.normal(size=(len(hidden), columns)) for each in maps]
        yield rows, scores, [view.astype(np.float32) for view in views]


def truth(n: int, seed: int = 0) -> Array:
    """Return what the scores of the first items are noisy versions of, for at most as many as are made at a time."""
    return np.random.default_rng((seed, N_VIEWS, 0)).normal(size=(n, HIDDEN))[:, 0]


def make(n: int, columns: int, dtype: str = "float64", seed: int = 0) -> tuple[Array, dict[str, Array]]:
    """Return scores and five views of ``columns`` columns."""
    scores, views = np.empty(n), {f"view{k}": np.empty((n, columns), dtype) for k in range(N_VIEWS)}
    for rows, some, parts in blocks(n, columns, seed):
        scores[rows] = some
        for view, part in zip(views.values(), parts, strict=True):
            view[rows] = part
    return scores, views


def write(folder: Path, n: int, columns: int, seed: int = 0) -> None:
    """Write the same as NPY files: scores.npy, view0.npy, ..."""
    shape = (n, columns)
    files = [
        np.lib.format.open_memmap(folder / f"view{k}.npy", "w+", dtype=np.float32, shape=shape) for k in range(N_VIEWS)
    ]
    scores = np.empty(n)
    for rows, some, parts in blocks(n, columns, seed):
        scores[rows] = some
        for file, part in zip(files, parts, strict=True):
            file[rows] = part
    for file in files:
        file.flush()
    np.save(folder / "scores.npy", scores)
