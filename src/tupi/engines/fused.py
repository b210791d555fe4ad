"""The fused engine: grid tables and compiled passes; float32 storage, float64 sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.energy import Objective, Vector
from tupi.engines.passes import gradient, grid_sums
from tupi.kernels.embedding import Embedding
from tupi.kernels.predictions import PredictionKernel

CELLS_PER_SIGMA = 48  # linear interpolation of a Gaussian kernel errs by at most (1/48)^2 / 4 = 1.1e-4 of its height
RANK_TOL = 1e-8  # share of the largest eigenvalue below which features of the predictions are left out


class _Table:
    """Features of the predictions tabulated on a grid that covers f with a margin."""

    def __init__(self, f: Vector, sigma2: float, rank: int) -> None:
        kernel = PredictionKernel(f, sigma2, rank, rcond=RANK_TOL)
        low, high = kernel.grid[0], kernel.grid[-1]
        points = int(np.ceil((high - low) / np.sqrt(sigma2) * CELLS_PER_SIGMA)) + 1
        grid = np.linspace(low, high, points)
        self.low, self.per_unit, self.points = low, (points - 1) / (high - low), points
        self.phi, self.slopes = kernel.features_and_slopes(grid)

    def position(self, f: Vector) -> Vector:
        """Return predictions in grid units."""
        return (f - self.low) * self.per_unit

    def features(self, x: Vector) -> NDArray[np.float64]:
        """Return interpolated features of predictions in grid units."""
        cell = np.clip(x.astype(np.int64), 0, self.points - 2)
        right = np.clip(x - cell, 0.0, 1.0)[:, None]
        return (1.0 - right) * self.phi[cell] + right * self.phi[cell + 1]

    def gram(self, counts: Vector, bands: NDArray[np.float64]) -> tuple[NDArray[np.float64], Vector]:
        """Return Z^T Z and the mean of phi from the grid sums."""
        mean = counts @ self.phi / counts.sum()
        product = self.phi.T @ (bands[0][:, None] * self.phi)
        neighbours = self.phi[:-1].T @ (bands[1][:-1, None] * self.phi[1:])
        return product + neighbours + neighbours.T - counts.sum() * np.outer(mean, mean), mean


class FusedEngine:
    """Sums over items through grid tables: O(n R) per gradient, whatever the rank of the predictions' kernel.

    Parameters
    ----------
    embedding : Embedding
        The views' factors.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    rank : int
        Grid points of the predictions' kernel, K.
    """

    def __init__(self, embedding: Embedding, sigma2: float, rank: int = 50) -> None:
        self.sigma2, self.rank, self.offsets = sigma2, rank, embedding.offsets
        self.factors = np.ascontiguousarray(embedding.factors, dtype=np.float32)

    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""
        table = _Table(f, self.sigma2, self.rank)
        S, counts, bands = grid_sums(self.factors, table.position(f), table.points)
        gram, _ = table.gram(counts, bands)
        products = S.T @ table.phi
        per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), self.offsets[:-1])
        return per_view / np.linalg.norm(gram)

    def objective(self, f: Vector, weights: Vector, lam: float) -> Objective:
        """Return the energy of step t, whose f(t) is ``f``, as a function with its gradient."""
        table = _Table(f, self.sigma2, self.rank)
        anchor = table.features(table.position(f))
        anchor -= anchor.mean(axis=0)
        anchor /= np.sqrt(np.linalg.norm(anchor.T @ anchor))
        # The anchor is one more block of columns, so that one pass serves it together with the views.
        U = np.hstack([self.factors, anchor.astype(np.float32)])
        per_column = np.concatenate([np.repeat(lam * weights, np.diff(self.offsets)), np.ones(anchor.shape[1])])[
            :, None
        ]

        def objective(f: Vector) -> tuple[float, Vector]:
            x = table.position(f)
            S, counts, bands = grid_sums(U, x, table.points)
            gram, mean = table.gram(counts, bands)
            N = np.linalg.norm(gram)
            products = S.T @ table.phi
            J = np.sum(per_column * products**2) / N
            H = table.slopes @ (per_column * products).T * (-2.0 / N)
            h = np.einsum("gi,gi->g", (table.phi - mean) @ (gram * (2.0 * J / N**2)), table.slopes)
            return float(1.0 + lam - J), gradient(U, x, H.astype(np.float32), h)

        return objective
