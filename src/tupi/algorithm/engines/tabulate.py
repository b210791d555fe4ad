"""From sums over the grid to energies and the tables of their gradients, compiled, for several runs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.table import centred_gram, smoothed
from tupi.algorithm.engines.vectors import double_zeros, everywhere, load, part_of_a_loop, plus_product, store, zeros
from tupi.embedding.embedding import LANES
from tupi.runtime.compiling import compiled
from tupi.runtime.threads import on_threads

COLUMNS = 3 * LANES  # of the sums that are worked on at a time
FLAT = 1e-9  # share of n below which |Z^T Z| is rounding: a move has taken all predictions to one place
Array = NDArray[Any]


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


@compiled()
def _tabulate_columns(
    begin: int,
    end: int,
    runs: Array,
    S: Array,
    phi: Array,
    slopes: Array,
    weights: Array,
    factors: Array,
    H: Array,
    parts: Array,
    products: Array,
    scaled: Array,
) -> None:
    """Write H = factor phi' (S^T phi)^T weights and the weighted squares of S^T phi, for some groups of columns.

    Groups are counted from those of the first run to those of the last. The last two arguments are memory to work in.
    """
    chunks = len(parts)
    for k in range(begin, end):
        i, low = k // chunks, k % chunks * COLUMNS
        m, columns = runs[i], min(COLUMNS, S.shape[2] - low)
        _multiply(phi[m], S[m], low, columns, products, 0, double_zeros())
        total = 0.0
        for q in range(phi.shape[1]):
            for j in range(columns):
                weighted = weights[m, low + j] * products[q, j]
                scaled[q, j] = factors[i] * weighted
                total += weighted * products[q, j]
        _multiply(slopes[m], scaled, 0, columns, H[m], low, zeros())
        parts[k % chunks, i] = total


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
    grams, means = centred_gram(phi[runs], tally[runs])
    norms = np.linalg.norm(grams, axis=(1, 2))
    apart = norms > FLAT * tally[runs, 0].sum(axis=1)
    factors = np.divide(-2.0, norms, out=np.zeros(count), where=apart)
    parts = np.empty((-(-S.shape[2] // COLUMNS), count))

    def tabulate_columns(begin: int, end: int) -> None:
        products, scaled = np.empty((r, COLUMNS)), np.empty((r, COLUMNS), np.float32)
        _tabulate_columns(begin, end, runs, S, transposed, slopes, weights, factors, H, parts, products, scaled)

    on_threads(tabulate_columns, parts.size)
    J = np.divide(parts.sum(axis=0), norms, out=np.full(count, -np.inf), where=apart)
    quadratic = (((exact_phi[runs] - means[:, None]) @ grams) * exact_slopes[runs]).sum(axis=2)
    # J times half the factor squared is 2 J / norm^2, and 0 where all are in one place.
    h[runs] = smoothed(np.where(apart, J, 0.0) / 2.0 * factors**2 * quadratic.T).T
    return J
