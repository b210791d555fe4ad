"""The graph kernel (D - alpha W)^-1 between labelled items, from which folds over labels need no further solving."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.errors import InputError
from tupi.graphs import graph
from tupi.methods.base import check_positive
from tupi.prepared import Prepared

BLOCK_ENTRIES = 1 << 22  # entries of right-hand sides that are solved side by side
TOL = 1e-9
Array = NDArray[np.float64]


def labelled_kernel(prepared: Prepared, n_neighbors: int, alpha: float, items: NDArray[np.int64]) -> Array:
    """Return (D - alpha W)^-1 between the given items: one sparse solve per item, done once per problem."""

    def solve() -> Array:
        edges = graph(prepared, n_neighbors)
        n, block = len(prepared.items), max(1, BLOCK_ENTRIES // len(prepared.items))
        K = np.empty((len(items), len(items)))
        for begin in range(0, len(items), block):
            some = items[begin : begin + block]
            B = np.zeros((n, len(some)))
            B[some, np.arange(len(some))] = 1.0
            K[:, begin : begin + block] = edges.spread(B, alpha, TOL)[items]
        return 0.5 * (K + K.T)

    return prepared.once(("graph kernel", n_neighbors, alpha, items.tobytes()), solve)


def check_alpha(name: str, value: Any) -> None:
    """Complain unless the value is None or a number between 0 and 1."""
    check_positive(name, value)
    if value is not None and value >= 1:
        raise InputError(f"{name}: found {value!r}; accepted: a number above 0 and below 1.")
