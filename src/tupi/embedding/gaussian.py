"""Gaussian kernels (label ``e:gaussiankernel``): exact matrices and Nystroem factors (label ``e:kapprox``)."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RCOND = 1e-10  # eigenvalues of K_BB below this share of the largest are noise: dropped, never inverted
Matrix = NDArray[np.float64]
Precision = TypeVar("Precision", bound=np.floating)


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
