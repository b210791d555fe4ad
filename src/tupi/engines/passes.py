"""Compiled passes over the items. Each reads the embedding once.

The predictions are one-dimensional, so anything that depends on f_k alone can be tabulated on a grid of f and looked up
by linear interpolation. A sum over items of U_k phi(f_k)^T then needs only the grid sums S_g = sum_k hat_g(f_k) U_k,
and a gradient only the table H_g = A phi'(g): two multiplications per entry of U instead of one per entry and feature.

Items are split into parts whose number depends on n alone, and parts are added in a fixed order: the result does not
depend on how many threads there are. Neighbouring items should have similar predictions: then a part touches few grid
points, and the table's rows stay in the fastest cache.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ITEMS_PER_PART = 4096
MAX_PARTS = 16
Array = NDArray[Any]


@numba.njit(cache=True)
def _bounds(n: int) -> Array:
    """Return where each part of n items begins, and n."""
    parts = min(MAX_PARTS, 1 + n // ITEMS_PER_PART)
    bounds = np.empty(parts + 1, np.int64)
    for part in range(parts + 1):
        bounds[part] = part * n // parts
    return bounds


@numba.njit(cache=True, inline="always")
def _cell(x: float, cells: int) -> tuple[int, float]:
    """Return the grid cell of a position in grid units, and how far into it; ends are clamped."""
    if x <= 0.0:
        return 0, 0.0
    if x >= cells:
        return cells - 1, 1.0
    b = int(x)
    return b, x - b


@numba.njit(cache=True)
def hat_counts(x: Array, points: int) -> tuple[Array, Array]:
    """Return sums over items of hat functions on the grid.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Predictions in grid units.
    points : int
        Number of grid points G.

    Returns
    -------
    counts : ndarray of shape (G,)
        sum_k hat_g(x_k).
    bands : ndarray of shape (2, G)
        sum_k hat_g(x_k)^2, and sum_k hat_g(x_k) hat_{g+1}(x_k).
    """
    counts, bands = np.zeros(points), np.zeros((2, points))
    for k in range(len(x)):
        b, right = _cell(x[k], points - 1)
        left = 1.0 - right
        counts[b] += left
        counts[b + 1] += right
        bands[0, b] += left * left
        bands[0, b + 1] += right * right
        bands[1, b] += left * right
    return counts, bands


@numba.njit(cache=True, inline="always")
def _add_row(partial: Array, touched: Array, row: Array, x: float, cells: int) -> None:
    """Add hat_g(x) times a row to the two grid points around x; rows are cleared when first touched."""
    b, right = _cell(x, cells)
    if touched[0] > touched[1]:
        touched[0], touched[1] = b, b - 1
    while touched[1] < b + 1:
        touched[1] += 1
        partial[touched[1], :] = 0.0
    while touched[0] > b:
        touched[0] -= 1
        partial[touched[0], :] = 0.0
    below, above = partial[b], partial[b + 1]
    left32, right32 = np.float32(1.0 - right), np.float32(right)
    for j in range(len(row)):  # two loops: one with two targets is not vectorised
        below[j] += left32 * row[j]
    for j in range(len(row)):
        above[j] += right32 * row[j]


@numba.njit(cache=True, parallel=True, fastmath=True)
def _add_parts(partial: Array, touched: Array) -> Array:
    """Return the sum over parts in float64."""
    parts, points, R = partial.shape
    S = np.zeros((points, R))
    for g in numba.prange(points):
        for part in range(parts):
            if touched[part, 0] <= g <= touched[part, 1]:
                for j in range(R):
                    S[g, j] += partial[part, g, j]
    return S


@numba.njit(cache=True, parallel=True, fastmath=True)
def grid_sums(U: Array, x: Array, points: int) -> Array:
    """Return S_g = sum_k hat_g(x_k) U_k, shape (G, R).

    Rows are summed in float32 within a part, where a grid point sees a few hundred items, and in float64 over parts.

    Parameters
    ----------
    U : ndarray of shape (n, R), float32
        The embedding.
    x : ndarray of shape (n,)
        Predictions in grid units.
    points : int
        Number of grid points G.
    """
    bounds = _bounds(len(U))
    parts = len(bounds) - 1
    partial = np.empty((parts, points, U.shape[1]), np.float32)
    touched = np.empty((parts, 2), np.int64)
    for part in numba.prange(parts):
        touched[part, 0], touched[part, 1] = 1, 0
        for k in range(bounds[part], bounds[part + 1]):
            _add_row(partial[part], touched[part], U[k], x[k], points - 1)
    return _add_parts(partial, touched)


@numba.njit(cache=True, inline="always")
def _slope(row: Array, x: float, H: Array, h: Array) -> float:
    """Return U_k . H(x) + h(x); zero beyond the grid."""
    cells = len(h) - 1
    if x <= 0.0 or x >= cells:
        return 0.0
    b = int(x)
    right = x - b
    below, above = H[b], H[b + 1]
    total = np.float32(0.0)
    left32, right32 = np.float32(1.0 - right), np.float32(right)
    for j in range(len(row)):
        total += row[j] * (left32 * below[j] + right32 * above[j])
    return total + (1.0 - right) * h[b] + right * h[b + 1]


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
    out = np.empty(len(U))
    bounds = _bounds(len(U))
    for part in numba.prange(len(bounds) - 1):
        for k in range(bounds[part], bounds[part + 1]):
            out[k] = _slope(U[k], x[k], H, h)
    return out


@numba.njit(cache=True, parallel=True, fastmath=True)
def descend(U: Array, x: Array, H: Array, h: Array, step: float) -> tuple[Array, Array, Array]:
    """Take one gradient step: `gradient` at x, x moved by -step times it, `grid_sums` at the new x, in one read of U.

    Returns
    -------
    g, new_x : ndarray of shape (n,)
        The gradient at x, and the moved predictions in grid units.
    S : ndarray of shape (G, R)
        Grid sums at ``new_x``.
    """
    n, points = len(U), len(h)
    g, new_x = np.empty(n), np.empty(n)
    bounds = _bounds(n)
    parts = len(bounds) - 1
    partial = np.empty((parts, points, U.shape[1]), np.float32)
    touched = np.empty((parts, 2), np.int64)
    for part in numba.prange(parts):
        touched[part, 0], touched[part, 1] = 1, 0
        for k in range(bounds[part], bounds[part + 1]):
            g[k] = _slope(U[k], x[k], H, h)
            new_x[k] = x[k] - step * g[k]
            _add_row(partial[part], touched[part], U[k], new_x[k], points - 1)
    return g, new_x, _add_parts(partial, touched)


@numba.njit(cache=True, parallel=True, fastmath=True)
def write_features(U: Array, start: int, x: Array, phi: Array) -> None:
    """Write interpolated features of the predictions into the columns of ``U`` from ``start`` on.

    Parameters
    ----------
    U : ndarray of shape (n, R), float32
        What to write into; columns after the features become zero.
    start : int
        The first column.
    x : ndarray of shape (n,)
        Predictions in grid units.
    phi : ndarray of shape (G, r)
        The features on the grid, centred and scaled.
    """
    n, R = U.shape
    points, r = phi.shape
    bounds = _bounds(n)
    for part in numba.prange(len(bounds) - 1):
        for k in range(bounds[part], bounds[part + 1]):
            b, right = _cell(x[k], points - 1)
            for j in range(r):
                U[k, start + j] = (1.0 - right) * phi[b, j] + right * phi[b + 1, j]
            for j in range(start + r, R):
                U[k, j] = 0.0
