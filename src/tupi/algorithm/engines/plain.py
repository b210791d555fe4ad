"""Engines that compute energy and gradient of one run at a time, in numpy, by which faster ones are judged.

`LowRankEngine` is the paper's large-scale form (label ``e:HSICeval``), `ExactEngine` takes whole n x n kernel matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tupi.algorithm.energy import FactorObjective, Matrix, MatrixObjective, Objective, Vector, both, factor_alignment
from tupi.embedding.embedding import Embedding
from tupi.embedding.gaussian import PredictionKernel, kernel_matrix, normalized_factor, normalized_kernel


@dataclass(frozen=True, eq=False)
class PlainState:
    """Predictions with mean 0 and deviation 1, and their normalised HSIC with each view."""

    f: Vector
    dependence: Vector


class PlainDescent:
    """`tupi.algorithm.denoiser.Descent` from functions that give energy and gradient.

    Parameters
    ----------
    objectives : list of callable
        f -> (energy, gradient), one per run.
    starts : list of ndarray of shape (n,)
        Where each run begins.
    dependence : callable
        f -> normalised HSIC with each view.
    """

    def __init__(
        self, objectives: list[Objective], starts: list[Vector], dependence: Callable[[Vector], Vector]
    ) -> None:
        self._objectives, self._f, self._dependence = objectives, list(starts), dependence
        self._at = [objective(f) for objective, f in zip(objectives, starts, strict=True)]
        self._last = [(np.zeros_like(f), np.zeros_like(f)) for f in starts]
        self._trial = list(zip(self._f, self._at, strict=True))

    @property
    def energies(self) -> Vector:
        """The energy of each run where it stands."""
        return np.array([energy for energy, _ in self._at])

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient."""
        products = np.empty((len(self._f), 3))
        for m, (_, g) in enumerate(self._at):
            s, before = self._last[m]
            y = g - before
            products[m] = g @ g, s @ y, y @ y
            self._try(m, self._f[m] + momenta[m] * s - lengths[m] * g)
        return np.array([energy for _, (energy, _) in self._trial]), products

    def _try(self, m: int, f: Vector) -> float:
        self._trial[m] = (f, self._objectives[m](f))
        return self._trial[m][1][0]

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum."""
        tried = zip(runs, lengths, strict=True)
        return np.array([self._try(m, self._f[m] - length * self._at[m][1]) for m, length in tried])

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to."""
        for m in runs:
            f, at = self._trial[m]
            self._last[m] = (f - self._f[m], self._at[m][1])
            self._f[m], self._at[m] = f, at

    def finish(self) -> list[PlainState]:
        """Return the states that were reached."""
        # The energy hardly sees shift and scale; without this they drift, and the width of the kernel with them.
        standard = [(f - f.mean()) / f.std() for f in self._f]
        return [PlainState(f, self._dependence(f)) for f in standard]


class PlainEngine(ABC):
    """An engine that says how to compute dependence and the energy of one run; the rest follows."""

    @abstractmethod
    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""

    @abstractmethod
    def objective(self, f: Vector, weights: Vector, lam: float) -> Objective:
        """Return the energy of step t, whose f(t) is ``f``, as a function with its gradient."""

    def begin(self, f: Vector) -> PlainState:
        """Return the state at the initial predictions."""
        return PlainState(f, self.dependence(f))

    def descent(
        self, states: list[PlainState], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> PlainDescent:
        """Return the energies of the step that begins at these states, each plus ``extra``."""
        starts = [state.f for state in states]
        objectives = [self.objective(*each) for each in zip(starts, weights, lams, strict=True)]
        objectives = [both(objective, extra) for objective in objectives]
        return PlainDescent(objectives, starts, self.dependence)


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


class ExactEngine(PlainEngine):
    """Sums over pairs of items: O(m n^2) memory.

    Parameters
    ----------
    kernels : list of ndarray of shape (n, n)
        The views' kernels, centred and with unit norm.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    normalization : {"supplement", "main"}
        Which of the paper's norms kernels are divided by, see `tupi.embedding.gaussian.measured_part`.
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
