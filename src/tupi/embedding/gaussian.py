"""Gaussian kernels exp(-||x - y||^2 / sigma2) (label ``e:gaussiankernel``): matrices, Nystroem factors, and widths.

The paper sets sigma^2 "to twice the standard deviations of the pairwise distances". That can be read in three ways,
which are offered by name:

======================  ==========================================================================
``"std-squared"``       sigma2 = 2 std(d^2): distances squared, as the kernel uses them
``"std"``               sigma2 = 2 std(d)
``"std-as-sigma"``      sigma2 = (2 std(d))^2: the rule sets sigma, not its square
``"median"``            sigma2 = median(d^2), the usual heuristic elsewhere
======================  ==========================================================================

`tupi.hsic` and method ``"tupi"`` take the third by default.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from tupi.runtime.errors import InputError, nearest

RCOND = 1e-10  # eigenvalues of K_BB below this share of the largest are noise: dropped, never inverted
Matrix = NDArray[np.float64]
Precision = TypeVar("Precision", bound=np.floating)
RULES = ("std-squared", "std", "std-as-sigma", "median")
WIDTHS = (1e-3, 1e6)  # what sigma2 may be, in units of standardised columns: beyond, no items are alike, or all
DISTANCES = 1000  # rows whose distances are looked at where a rule needs the distances themselves
MARGIN = 1.0  # how far, in units of sigma_f, the grid reaches past the predictions: they move while they are denoised
MAX_POINTS = 1000


def squared_distances(X: NDArray[Precision], Y: NDArray[Precision]) -> NDArray[Precision]:
    """Return ||x - y||^2 for all rows x of ``X`` and y of ``Y``, in their precision."""
    squared = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Y, Y)
    squared -= 2 * (X @ Y.T)
    return np.maximum(squared, 0.0, out=squared)


def kernel_matrix(X: Matrix, Y: Matrix, sigma2: float) -> Matrix:
    """Return exp(-||x - y||^2 / sigma2) for all rows x of ``X`` and y of ``Y``."""
    squared = squared_distances(X, Y)
    squared *= -1.0 / sigma2
    return np.exp(squared, out=squared)


def inverse_root(B: Matrix, sigma2: float) -> Matrix:
    """Return W with W W^T the pseudo-inverse of K_BB, from its truncated eigendecomposition."""
    values, vectors = np.linalg.eigh(kernel_matrix(B, B, sigma2))
    keep = values > RCOND * values[-1]
    return vectors[:, keep] / np.sqrt(values[keep])


def nystrom_features(X: Matrix, B: Matrix, sigma2: float) -> Matrix:
    """Return phi = K_XB K_BB^(-1/2), so that phi phi^T approximates the kernel matrix of the rows of ``X``."""
    return kernel_matrix(X, B, sigma2) @ inverse_root(B, sigma2)


def alignment(products: Matrix, offsets: NDArray[np.int64], gram: Matrix) -> Matrix:
    """Return the normalised HSIC with each view from U^T phi, where each view's rows begin in it, and phi^T phi."""
    per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), offsets[:-1])
    return per_view / np.linalg.norm(gram)


def check_bandwidth(bandwidth: Any, name: str = "bandwidth") -> str | float:
    """Return a bandwidth rule or a width; complain about anything else, naming the argument."""
    low, high = WIDTHS
    is_number = isinstance(bandwidth, (int, float, np.integer, np.floating)) and not isinstance(bandwidth, bool)
    if is_number and low <= bandwidth <= high:
        return float(bandwidth)
    if isinstance(bandwidth, str) and bandwidth in RULES:
        return bandwidth
    hint = nearest(bandwidth, RULES) if isinstance(bandwidth, str) else ""
    accepted = f"{', '.join(RULES)} or a number from {low:g} to {high:g}"
    raise InputError(f"{name}: found {bandwidth!r}; accepted: {accepted}.{hint}")


def squared_bandwidth(X: NDArray[np.float64], bandwidth: str | float = "std-squared") -> float:
    """Return sigma2 of the Gaussian kernel of the rows of ``X``.

    All pairs count, an item with itself too, so that a copy of the data changes nothing. Rules that need the
    distances themselves take `DISTANCES` rows, evenly spread in the order that `tupi.embedding.basis` defines.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred rows.
    bandwidth : str or float
        A rule by name, or sigma2 itself.
    """
    bandwidth = check_bandwidth(bandwidth)
    if not isinstance(bandwidth, str):
        return bandwidth
    if bandwidth == "std-squared":
        return 2.0 * float(np.sqrt(_variance_of_squared_distances(X)))
    if len(X) > DISTANCES:
        X = X[np.linspace(0, len(X) - 1, DISTANCES).astype(int)]
    distances = pdist(X)
    n = len(X)
    if bandwidth == "median":
        sigma2 = float(np.median(distances)) ** 2
    else:
        mean = 2 * distances.sum() / n**2
        variance = 2 * (distances**2).sum() / n**2 - mean**2
        sigma2 = 2.0 * float(np.sqrt(variance)) if bandwidth == "std" else 4.0 * float(variance)
    if sigma2 <= 0:  # more than half of the distances are zero: fall back on the rule that always has a value
        return squared_bandwidth(X, "std-squared")
    return sigma2


def _variance_of_squared_distances(X: NDArray[np.float64]) -> float:
    """Return the variance of ||x_i - x_j||^2 over all n^2 pairs, in O(n d^2).

    With centred rows and a_i = ||x_i||^2: E d^2 = 2 E a and E d^4 = 2 E a^2 + 2 (E a)^2 + 4 ||E x x^T||_F^2.
    """
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    n, d = X.shape
    gram = X.T @ X if d <= n else X @ X.T  # either has the same Frobenius norm
    fourth = 2 * np.mean(squares**2) + 2 * squares.mean() ** 2 + 4 * np.sum((gram / n) ** 2)
    return float(fourth - (2 * squares.mean()) ** 2)


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
