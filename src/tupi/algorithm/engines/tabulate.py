"""From sums over the grid to energies and the tables of their gradients, compiled, for several runs side by side."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.vectors import double_zeros, everywhere, load, part_of_a_loop, plus_product, store, zeros
from tupi.embedding.embedding import LANES

COLUMNS = 3 * LANES  # of the sums that are worked on at a time
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


@part_of_a_loop
def _multiply(A: Array, B: Array, first: int, columns: int, out: Array, target: int, none: Any) -> None:
    """Write A times columns of B from ``first`` on, four rows of A at a time; ``none`` tells the kind of vectors."""
    last = len(A) - 1
    for column in range(0, columns, LANES):
        for i in range(0, len(A), 4):
            j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)
            p = q = r = s = none
            for g in range(len(B)):
                row = load(B, g, first + column, none)
                p = plus_product(p, everywhere(A[i, g], none), row)
                q = plus_product(q, everywhere(A[j, g], none), row)
                r = plus_product(r, everywhere(A[k, g], none), row)
                s = plus_product(s, everywhere(A[m, g], none), row)
            store(out, i, target + column, p)
            store(out, j, target + column, q)
            store(out, k, target + column, r)
            store(out, m, target + column, s)


@numba.njit(cache=True)
def _tabulate_columns(
    S: Array, low: int, high: int, phi: Array, slopes: Array, weights: Array, factor: float, H: Array
) -> float:
    """Write H = factor phi' (S^T phi)^T weights for some columns; return the weighted squares of S^T phi."""
    r, columns = len(phi), high - low
    products, scaled = np.empty((r, columns)), np.empty((r, columns), np.float32)
    _multiply(phi, S, low, columns, products, 0, double_zeros())
    total = 0.0
    for q in range(r):
        for j in range(columns):
            weighted = weights[low + j] * products[q, j]
            scaled[q, j] = factor * weighted
            total += weighted * products[q, j]
    _multiply(slopes, scaled, 0, columns, H, low, zeros())
    return total


@numba.njit(cache=True, fastmath=True)
def _quadratic_slope(phi: Array, slopes: Array, mean: Array, gram: Array, factor: float, h: Array) -> None:
    """Write factor (phi - mean)^T gram phi', for linear interpolation (see `tupi.algorithm.engines.table.smoothed`)."""
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
        parts[i, k % chunks] = _tabulate_columns(S[m], low, high, phi[m], slopes[m], weights[m], factors[i], H[m])


@numba.njit(cache=True)
def tabulate(
    runs: Array,
    S: Array,
    tally: Array,
    transposed: Array,
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
        Sums over the grid, see `tupi.algorithm.engines.passes.descend`. The width is a whole number of vectors.
    transposed, phi, slopes : ndarray of shape (all runs, r, G), (all runs, G, r) and (all runs, G, r), float32
        Features on the grid and their slopes, for linear interpolation.
    exact_phi, exact_slopes : ndarray of shape (all runs, G, r)
        The same as they are.
    weights : ndarray of shape (all runs, width)
        Of the columns of S.
    H, h : ndarray of shape (all runs, G, width), float32, and (all runs, G)
        Where to write.
    """
    count, r = len(runs), phi.shape[2]
    if S.shape[2] % LANES != 0:
        raise ValueError("S needs a whole number of vectors of columns")
    grams, means, norms, factors = np.empty((count, r, r)), np.empty((count, r)), np.empty(count), np.zeros(count)
    parts = np.empty((count, -(-S.shape[2] // COLUMNS)))
    for i in range(count):
        norms[i] = _gram(phi[runs[i]], tally[runs[i]], grams[i], means[i])
        if norms[i] > FLAT * tally[runs[i], 0].sum():
            factors[i] = -2.0 / norms[i]
    _all_columns(runs, S, transposed, slopes, weights, factors, H, parts)
    J = np.full(count, -np.inf)
    for i in range(count):
        m = runs[i]
        h[m] = 0.0
        if factors[i] != 0.0:
            J[i] = parts[i].sum() / norms[i]
            _quadratic_slope(exact_phi[m], exact_slopes[m], means[i], grams[i], 2.0 * J[i] / norms[i] ** 2, h[m])
    return J
