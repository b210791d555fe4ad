"""From sums over the grid to energies and the tables of their gradients, compiled, for several runs side by side."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

COLUMNS = 32  # of the sums that are worked on at a time
FLAT = 1e-9  # share of n below which |Z^T Z| is rounding: a move has taken all predictions to one place
Array = NDArray[Any]


@numba.njit(cache=True, fastmath=True)
def _gram(phi: Array, tally: Array, gram: Array, mean: Array) -> float:
    """Write Z^T Z of the centred features and their mean, as `Table.gram`; return the norm of the former."""
    points, r = phi.shape
    n = tally[0].sum()
    mean[:], gram[:] = 0.0, 0.0
    spread = np.empty(r)
    for g in range(points):
        for q in range(r):
            value = tally[1, g] * phi[g, q]
            if g > 0:
                value += tally[2, g - 1] * phi[g - 1, q]
            if g + 1 < points:
                value += tally[2, g] * phi[g + 1, q]
            spread[q] = value
            mean[q] += tally[0, g] * phi[g, q] / n
        for p in range(r):
            row, factor = gram[p], phi[g, p]
            for q in range(r):
                row[q] += factor * spread[q]
    squares = 0.0
    for p in range(r):
        for q in range(r):
            gram[p, q] -= n * mean[p] * mean[q]
            squares += gram[p, q] ** 2
    return float(np.sqrt(squares))


@numba.njit(cache=True, fastmath=True)
def _add_product(A: Array, B: Array, low: int, high: int, out: Array) -> None:
    """Add A times columns ``low`` to ``high`` of B to ``out``; four rows of B at a time stay in the first cache."""
    count = len(B)
    whole = count - count % 4
    for k in range(0, whole, 4):
        p, q, r, s = B[k, low:high], B[k + 1, low:high], B[k + 2, low:high], B[k + 3, low:high]
        for i in range(len(A)):
            target, t, u, v, w = out[i], A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
            for j in range(len(target)):
                target[j] += t * p[j] + u * q[j] + v * r[j] + w * s[j]
    for k in range(whole, count):
        p = B[k, low:high]
        for i in range(len(A)):
            target, t = out[i], A[i, k]
            for j in range(len(target)):
                target[j] += t * p[j]


@numba.njit(cache=True, fastmath=True)
def _tabulate_columns(
    S: Array, low: int, high: int, phi: Array, slopes: Array, weights: Array, factor: float, H: Array
) -> float:
    """Write H = factor phi' (S^T phi)^T weights for some columns; return the weighted squares of S^T phi."""
    points, r = slopes.shape
    products = np.zeros((r, high - low))
    _add_product(phi, S, low, high, products)
    total = 0.0
    for q in range(r):
        for j in range(high - low):
            value = products[q, j]
            products[q, j] = factor * weights[low + j] * value
            total += weights[low + j] * value * value
    table = np.zeros((points, high - low))
    _add_product(slopes, products, 0, high - low, table)
    for g in range(points):
        row, target = table[g], H[g, low:high]
        for j in range(high - low):
            target[j] = row[j]
    return total


@numba.njit(cache=True, fastmath=True)
def _quadratic_slope(phi: Array, slopes: Array, mean: Array, gram: Array, factor: float, h: Array) -> None:
    """Write factor (phi - mean)^T gram phi', for linear interpolation (see `tupi.engines.table.smoothed`)."""
    points, r = phi.shape
    exact = np.empty(points)
    for g in range(points):
        total = 0.0
        for p in range(r):
            part = 0.0
            for q in range(r):
                part += gram[p, q] * slopes[g, q]
            total += (phi[g, p] - mean[p]) * part
        exact[g] = factor * total
    h[0], h[points - 1] = exact[0], exact[points - 1]
    for g in range(1, points - 1):
        h[g] = exact[g] - (exact[g + 1] - 2.0 * exact[g] + exact[g - 1]) / 12.0


@numba.njit(cache=True, parallel=True)
def _all_columns(
    runs: Array, S: Array, phi: Array, slopes: Array, weights: Array, factors: Array, H: Array, parts: Array
) -> None:
    """Do `_tabulate_columns` everywhere; alone in a function, since compiling for several threads takes seconds."""
    chunks = parts.shape[1]
    for k in numba.prange(len(runs) * chunks):
        i, low = k // chunks, k % chunks * COLUMNS
        m, high = runs[i], min(low + COLUMNS, S.shape[2])
        parts[i, k % chunks] = _tabulate_columns(S[m], low, high, phi[i], slopes[m], weights[m], factors[i], H[m])


@numba.njit(cache=True)
def tabulate(
    runs: Array,
    S: Array,
    tally: Array,
    phi: Array,
    slopes: Array,
    exact_phi: Array,
    exact_slopes: Array,
    weights: Array,
    H: Array,
    h: Array,
) -> Array:
    """Write the tables of the gradient of J = sum_j weights_j |S_j^T phi|^2 / |Z^T Z| for some runs, and return J.

    Where all predictions are in one place J is -inf, so that nobody goes there, and the tables are 0.

    Parameters
    ----------
    runs : ndarray of int64
        Which.
    S, tally : ndarray of shape (all runs, G, width) and (all runs, 3, G)
        Sums over the grid, see `tupi.engines.passes.descend`.
    phi, slopes, exact_phi, exact_slopes : ndarray of shape (all runs, G, r)
        Features on the grid and their slopes: for linear interpolation, and as they are.
    weights : ndarray of shape (all runs, width)
        Of the columns of S.
    H, h : ndarray of shape (all runs, G, width), float32, and (all runs, G)
        Where to write.
    """
    count, points, r = len(runs), phi.shape[1], phi.shape[2]
    grams, means, norms, factors = np.empty((count, r, r)), np.empty((count, r)), np.empty(count), np.zeros(count)
    transposed, parts = np.empty((count, r, points)), np.empty((count, -(-S.shape[2] // COLUMNS)))
    for i in range(count):
        norms[i] = _gram(phi[runs[i]], tally[runs[i]], grams[i], means[i])
        if norms[i] > FLAT * tally[runs[i], 0].sum():
            factors[i] = -2.0 / norms[i]
        for q in range(r):
            for g in range(points):
                transposed[i, q, g] = phi[runs[i], g, q]
    _all_columns(runs, S, transposed, slopes, weights, factors, H, parts)
    J = np.full(count, -np.inf)
    for i in range(count):
        m = runs[i]
        h[m] = 0.0
        if factors[i] != 0.0:
            J[i] = parts[i].sum() / norms[i]
            _quadratic_slope(exact_phi[m], exact_slopes[m], means[i], grams[i], 2.0 * J[i] / norms[i] ** 2, h[m])
    return J
