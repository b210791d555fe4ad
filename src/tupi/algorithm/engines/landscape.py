"""The energies of several runs as functions of sums over a grid, wherever the items are that were summed.

A `GridTable` has the features of the predictions on a grid that moves with them. `tabulate`, which is compiled, goes
from sums over the grid to energies and the tables of their gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.energy import Vector
from tupi.algorithm.engines.vectors import double_zeros, everywhere, load, part_of_a_loop, plus_product, store, zeros
from tupi.embedding.embedding import LANES
from tupi.embedding.gaussian import MARGIN, basis_size
from tupi.runtime.computing import compiled, on_threads

CELLS_PER_SIGMA = 32  # linear interpolation then errs by at most (1/32)^2 / 6 = 1.6e-4 of the kernel's height
CELLS_OF_MANY = 24  # the same for MANY items and more, over which errors average out
MANY = 20_000
LEAST_MARGIN = 0.3  # in units of sigma: when predictions come closer to the grid's ends, a new grid is laid
RANK_TOL = 1e-4  # share of the largest eigenvalue below which features of the predictions are left out
LONELY_TOL = 5e-4  # the same for features that would be alone in a vector
MAX_FEATURES = 48  # how many there may be; 10 to 16 are used unless predictions have far outliers
MAX_POINTS = 4096
Matrix = NDArray[np.float64]
COLUMNS = 3 * LANES  # of the sums that are worked on at a time
FLAT = 1e-9  # share of n below which |Z^T Z| is rounding: a move has taken all predictions to one place
Array = NDArray[Any]


def grid_points(f: Vector, sigma2: float, n: int) -> int:
    """Return how many grid points n predictions with the range of f need, with some room for a wider range."""
    sigmas = np.ptp(f) / np.sqrt(sigma2) + 2 * MARGIN
    cells = CELLS_PER_SIGMA if n < MANY else CELLS_OF_MANY
    return min(int(np.ceil(1.1 * sigmas * cells)) + 1, MAX_POINTS)


def smoothed(values: Matrix) -> Matrix:
    """Return values whose linear interpolation errs by nothing on average over a cell.

    Between grid points a chord misses a curve by t (1 - t) / 2 second differences, 1/12 of one on average: grid points
    give way by as much, which brings the root mean square of the error from .091 to .037 of a second difference.
    """
    result = values.copy()
    result[1:-1] -= (values[2:] - 2 * values[1:-1] + values[:-2]) / 12
    return result


def spread(values: Matrix, tally: Matrix) -> Matrix:
    """Return sum_k hat_g(x_k) v(x_k) for values of shape (G, r) on the grid, interpolated at the items.

    The tally, of shape (3, G), has the sums of hat functions, of their squares and of products of neighbours.
    """
    result = tally[1, :, None] * values
    result[:-1] += tally[2, :-1, None] * values[1:]
    result[1:] += tally[2, :-1, None] * values[:-1]
    return result


def features_on_grids(per_units: Vector, points: int, sigma2: float, rank: int) -> list[tuple[Matrix, Matrix]]:
    """Return phi and its derivative on grids of so many points per unit of f, as `PredictionKernel` has them.

    Where a grid begins makes no difference to kernels. Many grids at once take half the time of one after the other.
    """
    widths = per_units * np.sqrt(sigma2)  # sigma_f in cells
    sizes = np.array([basis_size((points - 1) / width, rank) for width in widths])
    result: list[tuple[Matrix, Matrix]] = [(np.empty(0), np.empty(0))] * len(widths)
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        scale = -1.0 / widths[which, None, None] ** 2
        basis = np.linspace(0.0, points - 1, size)
        values, vectors = np.linalg.eigh(np.exp(scale * np.subtract.outer(basis, basis) ** 2))
        difference = np.subtract.outer(np.arange(float(points)), basis)
        kernels = np.exp(scale * difference**2)
        slopes = kernels * difference * (2.0 * scale * per_units[which, None, None])
        for i, m in enumerate(which):
            kept = features_kept(values[i] / values[i, -1])
            root = vectors[i, :, size - kept :] / np.sqrt(values[i, size - kept :])
            result[m] = kernels[i] @ root, slopes[i] @ root
    return result


def features_kept(shares: Vector) -> int:
    """Return how many features to keep, from ascending eigenvalues as shares of the largest.

    Features come in whole vectors: a few that would need another vector for themselves, and are small, are left out.
    """
    kept = min(int(np.count_nonzero(shares > RANK_TOL)), MAX_FEATURES)
    whole = kept - kept % LANES
    lonely = 0 < whole < kept and bool(shares[-whole - 1] <= LONELY_TOL)
    return whole if lonely else kept


class GridTable:
    """phi(f) and its slope on a grid of ``points`` points from ``low`` on, ``per_unit`` of them per unit of f.

    Attributes
    ----------
    phi, slopes : ndarray of shape (G, r)
        The features and their derivatives, for linear interpolation.
    exact : tuple of ndarray of shape (G, r)
        Both as they are at the grid points.
    """

    def __init__(
        self,
        low: float,
        per_unit: float,
        points: int,
        sigma2: float,
        rank: int,
        exact: tuple[Matrix, Matrix] | None = None,
    ) -> None:
        self.low, self.per_unit, self.points, self.sigma2, self.rank = low, per_unit, points, sigma2, rank
        self.exact = exact or features_on_grids(np.array([per_unit]), points, sigma2, rank)[0]
        self.phi, self.slopes = (smoothed(values) for values in self.exact)

    @classmethod
    def covering(cls, f: Vector, points: int, sigma2: float, rank: int) -> GridTable:
        """Return the table on a grid that covers predictions with a margin."""
        margin = MARGIN * np.sqrt(sigma2)
        low, high = f.min() - margin, f.max() + margin
        return cls(low, (points - 1) / (high - low), points, sigma2, rank)

    def covers(self, x: Vector) -> bool:
        """Whether the grid still reaches past the predictions, and a new one would not be much finer."""
        per_sigma = self.per_unit * np.sqrt(self.sigma2)
        low, high = x.min() / per_sigma, x.max() / per_sigma
        cells = (self.points - 1) / per_sigma
        return bool(min(low, cells - high) >= LEAST_MARGIN and cells <= 1.25 * (high - low + 2 * MARGIN))

    def prediction(self, x: Vector) -> Vector:
        """Return predictions from grid units."""
        return x / self.per_unit + self.low

    def gram(self, tally: Matrix) -> tuple[Matrix, Vector]:
        """Return Z^T Z and the mean of phi, with the tally as in `spread`."""
        n = tally[0].sum()
        mean = tally[0] @ self.phi / n
        return self.phi.T @ spread(self.phi, tally) - n * np.outer(mean, mean), mean


def standardized(tables: Sequence[GridTable], centers: Vector, scales: Vector) -> list[GridTable]:
    """Return tables for the same grid units after predictions were brought to mean 0 and deviation 1.

    Positions stay what they are, so sums over the grid do too; only where they lie in units of f changes. ``centers``
    and ``scales`` are the mean and deviation of positions. All tables have as many points, and one width and rank.
    """
    common = tables[0].points, tables[0].sigma2, tables[0].rank
    features = features_on_grids(scales, *common)
    each = zip(centers, scales, features, strict=True)
    return [GridTable(-center / scale, scale, *common, exact) for center, scale, exact in each]


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


@compiled(fastmath=True)
def _centre(
    runs: Array, phi: Array, tally: Array, grams: Array, means: Array, norms: Array, factors: Array, spread: Array
) -> None:
    """Write what `GridTable.gram` returns, the norm of the former, and -2 over it; that is 0 if all are in one place.

    The last argument is memory to work in. In numpy this takes longer than the rest of `tabulate`.
    """
    points, r = phi.shape[1:]
    for i in range(len(runs)):
        features, counts, gram, mean = phi[runs[i]], tally[runs[i]], grams[i], means[i]
        n = squares = 0.0
        mean[:], gram[:] = 0.0, 0.0
        for g in range(points):
            n += counts[0, g]
            for q in range(r):
                spread[q] = counts[1, g] * features[g, q]
                if g > 0:
                    spread[q] += counts[2, g - 1] * features[g - 1, q]
                if g + 1 < points:
                    spread[q] += counts[2, g] * features[g + 1, q]
                mean[q] += counts[0, g] * features[g, q]
            for p in range(r):
                for q in range(r):
                    gram[p, q] += features[g, p] * spread[q]
        for q in range(r):
            mean[q] /= n
        for p in range(r):
            for q in range(r):
                gram[p, q] -= n * mean[p] * mean[q]
                squares += gram[p, q] ** 2
        norms[i] = np.sqrt(squares)
        factors[i] = -2.0 / norms[i] if norms[i] > FLAT * n else 0.0


@compiled(fastmath=True)
def _slope_of_norm(
    runs: Array, phi: Array, slopes: Array, means: Array, grams: Array, factors: Array, h: Array, exact: Array
) -> None:
    """Write factor (phi - mean)^T gram phi' as `smoothed` has it; the last argument is memory to work in."""
    points, r = phi.shape[1:]
    for i in range(len(runs)):
        m = runs[i]
        for g in range(points):
            total = 0.0
            for p in range(r):
                part = 0.0
                for q in range(r):
                    part += grams[i, p, q] * slopes[m, g, q]
                total += (phi[m, g, p] - means[i, p]) * part
            exact[g] = factors[i] * total
        h[m, 0], h[m, points - 1] = exact[0], exact[points - 1]
        for g in range(1, points - 1):
            h[m, g] = exact[g] - (exact[g + 1] - 2.0 * exact[g] + exact[g - 1]) / 12.0


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
        Sums over the grid, see `tupi.algorithm.engines.moves.descend`. The width is a whole number of vectors.
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
    points = phi.shape[1]
    grams, means, norms, factors = np.empty((count, r, r)), np.empty((count, r)), np.empty(count), np.empty(count)
    _centre(runs, phi, tally, grams, means, norms, factors, np.empty(r))
    apart = factors != 0.0
    parts = np.empty((-(-S.shape[2] // COLUMNS), count))

    def tabulate_columns(begin: int, end: int) -> None:
        products, scaled = np.empty((r, COLUMNS)), np.empty((r, COLUMNS), np.float32)
        _tabulate_columns(begin, end, runs, S, transposed, slopes, weights, factors, H, parts, products, scaled)

    on_threads(tabulate_columns, parts.size, 2 * r * count * H[0].size)
    J = np.divide(parts.sum(axis=0), norms, out=np.full(count, -np.inf), where=apart)
    # J times half the factor squared is 2 J / norm^2, and 0 where all are in one place.
    on_norm = np.where(apart, J, 0.0) / 2.0 * factors**2
    _slope_of_norm(runs, exact_phi, exact_slopes, means, grams, on_norm, h, np.empty(points))
    return J
