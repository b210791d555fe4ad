"""The paper's energy (label ``e:denoisingalgorithm``) and its gradient.

With weights that sum to one, the energy of f at step t is

    O(f) = 1 + lam - <K~_f, G_t>,    G_t = K~_f(t) + lam sum_i w_i(t) K~_i,

so it is minimal where the normalised kernel of f aligns best with one fixed target. Both forms here compute that: on
whole kernel matrices, and on factors with Z = C phi(f), N = ||Z^T Z||_F and J = sum_c a_c ||U_c^T Z||_F^2 / N, for
which dJ/dZ = (2/N) (sum_c a_c U_c U_c^T Z - (J/N) Z Z^T Z) and item k's gradient is that row dotted with phi'(f_k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.embedding import Embedding
from tupi.embedding.gaussian import PredictionKernel, alignment, centered, measured_part

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


Objective: TypeAlias = Callable[[Vector], tuple[float, Vector]]  # f -> (energy, gradient)


def both(one: Objective, other: Objective | None) -> Objective:
    """Return the sum of two energies, or the first if there is no second."""
    if other is None:
        return one

    def total(f: Vector) -> tuple[float, Vector]:
        (energy, gradient), (more, further) = one(f), other(f)
        return energy + more, gradient + further

    return total


def factor_alignment(Z: Matrix, embedding: Embedding) -> Vector:
    """Return <K~_f, K~_i> for each view: the normalised HSIC, from factors."""
    return alignment(embedding.factors.T @ Z, embedding.offsets, Z.T @ Z)


class FactorObjective:
    """The energy on factors.

    Parameters
    ----------
    kernel : PredictionKernel
        The feature map of f.
    anchor : ndarray of shape (n, r)
        Normalised factor of K~_f(t).
    embedding : Embedding
        Factors of the views.
    weights : ndarray of shape (m,)
        w_i(t), which sum to one.
    lam : float
        lambda.
    """

    def __init__(
        self, kernel: PredictionKernel, anchor: Matrix, embedding: Embedding, weights: Vector, lam: float
    ) -> None:
        self.kernel, self.anchor, self.U, self.lam = kernel, anchor, embedding.factors, lam
        self.per_column = np.repeat(lam * weights, np.diff(embedding.offsets))[:, None]

    def __call__(self, f: Vector) -> tuple[float, Vector]:
        """Return the energy at f and its gradient."""
        phi, slopes = self.kernel.features_and_slopes(f)
        Z = phi - phi.mean(axis=0)
        gram = Z.T @ Z
        N = np.linalg.norm(gram)
        at_anchor, at_views = self.anchor.T @ Z, self.U.T @ Z
        J = (np.sum(at_anchor**2) + np.sum(self.per_column * at_views**2)) / N
        dJ = (self.anchor @ at_anchor + self.U @ (self.per_column * at_views) - Z @ (gram * (J / N))) * (2.0 / N)
        return float(1.0 + self.lam - J), -np.einsum("ij,ij->i", dJ, slopes)


class MatrixObjective:
    """The energy on whole kernel matrices, for the centred target G_t, by either of the paper's norms."""

    def __init__(self, sigma2: float, target: Matrix, lam: float, normalization: str = "supplement") -> None:
        self.sigma2, self.target, self.lam, self.normalization = sigma2, target, lam, normalization

    def __call__(self, f: Vector) -> tuple[float, Vector]:
        """Return the energy at f and its gradient."""
        difference = f[:, None] - f[None, :]
        K = np.exp(difference**2 / -self.sigma2)
        measured = measured_part(K, self.normalization)
        N = np.linalg.norm(measured)
        J = np.sum(centered(K) * self.target) / N
        dJ_dK = (self.target - (measured + measured.T) * (0.5 * J / N)) / N  # K is symmetric, K C is not
        # K_kl depends on f_k and f_l alike, hence the factor 2; dK/df_k = K (-2 / sigma2) (f_k - f_l)
        gradient = np.sum(dJ_dK * K * difference, axis=1) * (-4.0 / self.sigma2)
        return float(1.0 + self.lam - J), -gradient
