"""The fused engine: grid tables and compiled passes; float32 storage, float64 sums over parts of the items."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.energy import Vector
from tupi.engines.passes import descend, gradient, grid_sums, hat_counts, write_features
from tupi.kernels.embedding import Embedding
from tupi.kernels.predictions import PredictionKernel

CELLS_PER_SIGMA = 48  # linear interpolation of a Gaussian kernel errs by at most (1/48)^2 / 4 = 1.1e-4 of its height
RANK_TOL = 1e-6  # share of the largest eigenvalue below which features of the predictions are left out
MAX_FEATURES = 40  # how many there may be; 12 to 20 are used unless predictions have far outliers
SPARED = 1e-4  # share of a view's squared kernel that may be left out for fewer columns
Matrix = NDArray[np.float64]


class _Table:
    """Features of the predictions tabulated on a grid that covers f with a margin."""

    def __init__(self, f: Vector, sigma2: float, rank: int, most: int = MAX_FEATURES) -> None:
        kernel = PredictionKernel(f, sigma2, rank, rcond=RANK_TOL, most=most)
        low, high = kernel.grid[0], kernel.grid[-1]
        self.points = int(np.ceil((high - low) / np.sqrt(sigma2) * CELLS_PER_SIGMA)) + 1
        self.low, self.per_unit = low, (self.points - 1) / (high - low)
        self.phi, self.slopes = kernel.features_and_slopes(np.linspace(low, high, self.points))

    def position(self, f: Vector) -> Vector:
        """Return predictions in grid units."""
        return (f - self.low) * self.per_unit

    def prediction(self, x: Vector) -> Vector:
        """Return predictions from grid units."""
        return x / self.per_unit + self.low

    def gram(self, x: Vector) -> tuple[Matrix, Vector]:
        """Return Z^T Z and the mean of phi."""
        counts, bands = hat_counts(x, self.points)
        mean = counts @ self.phi / len(x)
        product = self.phi.T @ (bands[0][:, None] * self.phi)
        neighbours = self.phi[:-1].T @ (bands[1][:-1, None] * self.phi[1:])
        return product + neighbours + neighbours.T - len(x) * np.outer(mean, mean), mean


class FusedObjective:
    """The energy of one step, with its slopes tabulated where it was last evaluated.

    Parameters
    ----------
    table : _Table
        Features of the predictions.
    U : ndarray of shape (n, R), float32
        Factors of the views and, as the last block of columns, of f(t); rows in the engine's order, contiguous.
    order : ndarray of int
        The engine's order of the items.
    per_column : ndarray of shape (R,)
        What the energy multiplies each column's square by.
    lam : float
        lambda.
    """

    def __init__(self, table: _Table, U: NDArray[np.float32], order: NDArray[np.int64], per_column: Vector, lam: float):
        self.table, self.U, self.order, self.per_column, self.lam = table, U, order, per_column, lam
        self._last: tuple[Vector, Vector, float, NDArray[np.float32], Vector] | None = None

    def _tabulate(self, f: Vector, x: Vector, S: Matrix) -> float:
        """Remember energy and slope tables at f, whose grid sums are ``S``; return the energy."""
        gram, mean = self.table.gram(x)
        N = np.linalg.norm(gram)
        table = self.table
        products = S.T @ table.phi
        weighted = self.per_column[:, None] * products
        J = np.sum(weighted * products) / N
        H = (table.slopes @ weighted.T * (-2.0 / N)).astype(np.float32)
        h = np.einsum("gi,gi->g", (table.phi - mean) @ (gram * (2.0 * J / N**2)), table.slopes)
        energy = float(1.0 + self.lam - J)
        self._last = (f, x, energy, H, h)
        return energy

    def _at(self, f: Vector) -> tuple[Vector, Vector, float, NDArray[np.float32], Vector]:
        if self._last is None or self._last[0] is not f:
            x = self.table.position(f[self.order])
            self._tabulate(f, x, grid_sums(self.U, x, self.table.points))
        assert self._last is not None
        return self._last

    def _in_items_order(self, values: Vector) -> Vector:
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def __call__(self, f: Vector) -> tuple[float, Vector]:
        """Return the energy at f and its gradient."""
        _, x, energy, H, h = self._at(f)
        return energy, self._in_items_order(gradient(self.U, x, H, h))

    def energy(self, f: Vector) -> float:
        """Return the energy at f."""
        return self._at(f)[2]

    def move(self, f: Vector, step: float) -> tuple[Vector, Vector, float]:
        """Return the gradient g at f, the point f - step g, and the energy there: one read of the embedding."""
        _, x, _, H, h = self._at(f)
        g, new_x, S = descend(self.U, x, H, h, step * self.table.per_unit)
        new_f = self._in_items_order(self.table.prediction(new_x))
        return self._in_items_order(g), new_f, self._tabulate(new_f, new_x, S)


class FusedEngine:
    """Sums over items through grid tables: O(n R) per gradient, whatever the rank of the predictions' kernel.

    Rows are kept in the order of the initial predictions, since passes are fastest if neighbours are alike.

    Parameters
    ----------
    embedding : Embedding
        The views' factors.
    f : ndarray of shape (n,)
        The initial predictions.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    rank : int
        Grid points of the predictions' kernel, K.
    """

    def __init__(self, embedding: Embedding, f: Vector, sigma2: float, rank: int = 50) -> None:
        self.sigma2, self.rank = sigma2, rank
        self.order = np.argsort(f, kind="stable")
        rotations = [_leading(embedding.view(i)) for i in range(len(embedding.names))]
        self.offsets = np.cumsum([0, *(rotation.shape[1] for rotation in rotations)])
        n, self.n_columns = len(f), int(self.offsets[-1])
        # The predictions f(t) themselves are one more block of columns, rewritten at every step. Passes need contiguous
        # rows, so its width is settled now, with some room.
        self.n_features = min(_Table(f, sigma2, rank).phi.shape[1] + 2, MAX_FEATURES)
        self.U = np.zeros((n, self.n_columns + self.n_features), np.float32)
        for i, rotation in enumerate(rotations):
            self.U[:, self.offsets[i] : self.offsets[i + 1]] = (embedding.view(i) @ rotation)[self.order]

    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""
        table = _Table(f, self.sigma2, self.rank, self.n_features)
        x = table.position(f[self.order])
        products = (grid_sums(self.U, x, table.points).T @ table.phi)[: self.n_columns]
        per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), self.offsets[:-1])
        return per_view / np.linalg.norm(table.gram(x)[0])

    def objective(self, f: Vector, weights: Vector, lam: float) -> FusedObjective:
        """Return the energy of step t, whose f(t) is ``f``.

        There is one such function at a time: the next call rewrites the columns of f(t).
        """
        table = _Table(f, self.sigma2, self.rank, self.n_features)
        x = table.position(f[self.order])
        gram, mean = table.gram(x)
        write_features(self.U, self.n_columns, x, table.phi - mean)
        views = np.repeat(lam * weights, np.diff(self.offsets))
        per_column = np.concatenate([views, np.full(self.n_features, 1.0 / np.linalg.norm(gram))])
        return FusedObjective(table, self.U, self.order, per_column, lam)


def _leading(phi: Matrix) -> Matrix:
    """Return the rotation to the fewest columns that keep all of ||phi^T phi||_F^2 but `SPARED`."""
    values, vectors = np.linalg.eigh(phi.T @ phi)
    spared = np.cumsum(values**2) <= SPARED * np.sum(values**2)
    return vectors[:, ~spared]
