"""The kernel of the one-dimensional predictions, as a feature map with a derivative."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.gaussian import inverse_root, kernel_matrix

MARGIN = 1.0  # how far, in units of sigma_f, the grid reaches past the predictions: they move while they are denoised
MAX_POINTS = 1000


def basis_size(sigmas: float, rank: int) -> int:
    """Return how many grid points a range of so many sigma_f has: at least ``rank``, never coarser than sigma_f / 3."""
    return int(np.clip(np.ceil(3 * sigmas), rank, MAX_POINTS))


class PredictionKernel:
    """phi(f) = k_f(f, B) K_BB^(-1/2) for a grid B (label ``e:kapprox``), and its derivative.

    The grid is the paper's (equally spaced over the range of f) with a margin, at least ``rank`` points and never
    coarser than sigma_f / 3. Its kernel matrix is nearly singular, so the map keeps only the eigenvectors that
    matter: 13 to 20 of 50.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Predictions that the grid must cover.
    sigma2 : float
        sigma_f^2, the width of the kernel.
    rank : int
        The least number of grid points, K.
    """

    def __init__(self, f: NDArray[np.float64], sigma2: float, rank: int = 50) -> None:
        self.sigma2 = sigma2
        sigma = np.sqrt(sigma2)
        low, high = f.min() - MARGIN * sigma, f.max() + MARGIN * sigma
        self.grid = np.linspace(low, high, basis_size((high - low) / sigma, rank))
        self.root = inverse_root(self.grid[:, None], sigma2)

    def features(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return phi(f), one row per prediction."""
        return kernel_matrix(f[:, None], self.grid[:, None], self.sigma2) @ self.root

    def features_and_slopes(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return phi(f) and d phi / d f."""
        difference = f[:, None] - self.grid[None, :]
        kernel = np.exp(difference**2 / -self.sigma2)
        slopes = kernel * difference * (-2.0 / self.sigma2)
        return kernel @ self.root, slopes @ self.root
