"""Compiled passes over the items. Each reads the embedding once.

The predictions are one-dimensional, so anything that depends on f_k alone can be tabulated on a grid of f and looked up
by linear interpolation. A sum over items of U_k phi(f_k)^T then needs only the grid sums S_g = sum_k hat_g(f_k) U_k,
and a gradient only the table H_g = A phi'(g): two multiplications per entry of U instead of one per entry and feature.

Items are split into parts whose number depends on n alone, and parts are added in a fixed order: the result does not
depend on how many threads there are.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ITEMS_PER_PART = 4096
MAX_PARTS = 8
Array = NDArray[Any]


@numba.njit(cache=True)
def _parts(n: int) -> int:
    return min(MAX_PARTS, 1 + n // ITEMS_PER_PART)


@numba.njit(cache=True, inline="always")
def _cell(x: float, cells: int) -> tuple[int, float]:
    """Return the grid cell of a position in grid units, and how far into it; ends are clamped."""
    if x <= 0.0:
        return 0, 0.0
    if x >= cells:
        return cells - 1, 1.0
    b = int(x)
    return b, x - b


@numba.njit(cache=True, parallel=True, fastmath=True)
def grid_sums(U: Array, x: Array, points: int) -> tuple[Array, Array, Array]:
    """Return sums over items of hat functions on the grid, with and without the rows of the embedding.

    Parameters
    ----------
    U : ndarray of shape (n, R), float32
        The embedding.
    x : ndarray of shape (n,)
        Predictions in grid units.
    points : int
        Number of grid points G.

    Returns
    -------
    S : ndarray of shape (G, R)
        sum_k hat_g(x_k) U_k.
    counts : ndarray of shape (G,)
        sum_k hat_g(x_k).
    bands : ndarray of shape (2, G)
        sum_k hat_g(x_k)^2, and sum_k hat_g(x_k) hat_{g+1}(x_k).
    """
    n, R = U.shape
    parts = _parts(n)
    S = np.zeros((parts, points, R))
    counts = np.zeros((parts, points))
    bands = np.zeros((parts, 2, points))
    for part in numba.prange(parts):
        for k in range(part * n // parts, (part + 1) * n // parts):
            b, right = _cell(x[k], points - 1)
            left = 1.0 - right
            counts[part, b] += left
            counts[part, b + 1] += right
            bands[part, 0, b] += left * left
            bands[part, 0, b + 1] += right * right
            bands[part, 1, b] += left * right
            for j in range(R):
                u = U[k, j]
                S[part, b, j] += left * u
                S[part, b + 1, j] += right * u
    return S.sum(axis=0), counts.sum(axis=0), bands.sum(axis=0)


@numba.njit(cache=True, parallel=True, fastmath=True)
def gradient(U: Array, x: Array, H: Array, h: Array) -> Array:
    """Return g_k = U_k . H(x_k) + h(x_k), with H and h interpolated linearly on the grid.

    Parameters
    ----------
    U : ndarray of shape (n, R), float32
        The embedding.
    x : ndarray of shape (n,)
        Predictions in grid units; an item beyond the grid gets no gradient.
    H : ndarray of shape (G, R), float32
        The table that multiplies rows of the embedding.
    h : ndarray of shape (G,)
        What depends on the prediction alone.
    """
    n, R = U.shape
    points = len(h)
    out = np.zeros(n)
    parts = _parts(n)
    for part in numba.prange(parts):
        for k in range(part * n // parts, (part + 1) * n // parts):
            if x[k] <= 0.0 or x[k] >= points - 1:
                continue
            b, right = _cell(x[k], points - 1)
            left = np.float32(1.0 - right)
            right32 = np.float32(right)
            total = np.float32(0.0)
            for j in range(R):
                total += U[k, j] * (left * H[b, j] + right32 * H[b + 1, j])
            out[k] = total + (1.0 - right) * h[b] + right * h[b + 1]
    return out
