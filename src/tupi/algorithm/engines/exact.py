"""The exact engine: whole n x n kernel matrices, straight from the paper. For small n, and to judge the others."""

from __future__ import annotations

import numpy as np

from tupi.algorithm.energy import Matrix, MatrixObjective, Objective, Vector
from tupi.algorithm.engines.plain import PlainEngine
from tupi.embedding.embedding import normalized_kernel
from tupi.embedding.gaussian import kernel_matrix


class ExactEngine(PlainEngine):
    """Sums over pairs of items: O(m n^2) memory.

    Parameters
    ----------
    kernels : list of ndarray of shape (n, n)
        The views' kernels, centred and with unit norm.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    normalization : {"supplement", "main"}
        Which of the paper's norms kernels are divided by, see `tupi.embedding.embedding.measured_part`.
    """

    def __init__(self, kernels: list[Matrix], sigma2: float, normalization: str = "supplement") -> None:
        self.kernels, self.sigma2, self.normalization = kernels, sigma2, normalization

    def _kernel(self, f: Vector) -> Matrix:
        return normalized_kernel(kernel_matrix(f[:, None], f[:, None], self.sigma2), self.normalization)

    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""
        K = self._kernel(f)
        return np.array([np.sum(K * K_i) for K_i in self.kernels])

    def objective(self, f: Vector, weights: Vector, lam: float) -> Objective:
        """Return the energy of step t, whose f(t) is ``f``, as a function with its gradient."""
        target = self._kernel(f)
        for weight, K_i in zip(weights, self.kernels, strict=True):
            target += lam * weight * K_i
        return MatrixObjective(self.sigma2, target, lam, self.normalization)
