"""The low-rank engine: the paper's large-scale form (label ``e:HSICeval``) in numpy; the reference for faster ones."""

from __future__ import annotations

from tupi.algorithm.energy import FactorObjective, Objective, Vector, factor_alignment
from tupi.algorithm.engines.plain import PlainEngine
from tupi.embedding.embedding import Embedding, normalized_factor
from tupi.embedding.predictions import PredictionKernel


class LowRankEngine(PlainEngine):
    """Sums over items through factors: O(n R r) per gradient.

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
        self.embedding, self.sigma2, self.rank = embedding, sigma2, rank

    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""
        phi = PredictionKernel(f, self.sigma2, self.rank).features(f)
        return factor_alignment(phi - phi.mean(axis=0), self.embedding)

    def objective(self, f: Vector, weights: Vector, lam: float) -> Objective:
        """Return the energy of step t, whose f(t) is ``f``, as a function with its gradient."""
        kernel = PredictionKernel(f, self.sigma2, self.rank)
        anchor = normalized_factor(kernel.features(f))
        return FactorObjective(kernel, anchor, self.embedding, weights, lam)
