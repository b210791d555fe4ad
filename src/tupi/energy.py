"""The paper's energy (label ``e:denoisingalgorithm``), its gradient, and the weights (label ``e:wupdate``).

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

from tupi.kernels.embedding import Embedding, centered
from tupi.kernels.predictions import PredictionKernel

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Objective: TypeAlias = Callable[[Vector], tuple[float, Vector]]


def view_weights(dependence: Vector, sigma_w2: float) -> Vector:
    """Return w_i(t) of each view from its normalised HSIC with f(t) (label ``e:wupdate``).

    The squared distance is d^2 = 1 - HSIC; differences are taken first, so that a tiny ``sigma_w2`` picks the single
    most dependent view instead of dividing zero by zero.
    """
    weights = np.exp((dependence - dependence.max()) / sigma_w2)
    return weights / weights.sum()


def factor_alignment(Z: Matrix, embedding: Embedding) -> Vector:
    """Return <K~_f, K~_i> for each view: the normalised HSIC, from factors."""
    products = embedding.factors.T @ Z
    per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), embedding.offsets[:-1])
    return per_view / np.linalg.norm(Z.T @ Z)


def factor_objective(
    kernel: PredictionKernel, anchor: Matrix, embedding: Embedding, weights: Vector, lam: float
) -> Objective:
    """Return f -> (O(f), its gradient) on factors.

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
    U = embedding.factors
    per_column = np.repeat(lam * weights, np.diff(embedding.offsets))[:, None]

    def objective(f: Vector) -> tuple[float, Vector]:
        phi, slopes = kernel.features_and_slopes(f)
        Z = phi - phi.mean(axis=0)
        gram = Z.T @ Z
        N = np.linalg.norm(gram)
        at_anchor, at_views = anchor.T @ Z, U.T @ Z
        J = (np.sum(at_anchor**2) + np.sum(per_column * at_views**2)) / N
        dJ = (anchor @ at_anchor + U @ (per_column * at_views) - Z @ (gram * (J / N))) * (2.0 / N)
        return float(1.0 + lam - J), -np.einsum("ij,ij->i", dJ, slopes)

    return objective


def matrix_objective(sigma2: float, target: Matrix, lam: float) -> Objective:
    """Return f -> (O(f), its gradient) on whole kernel matrices, for the centred target G_t."""

    def objective(f: Vector) -> tuple[float, Vector]:
        difference = f[:, None] - f[None, :]
        K = np.exp(difference**2 / -sigma2)
        Kc = centered(K)
        N = np.linalg.norm(Kc)
        J = np.sum(Kc * target) / N
        dJ_dK = (target - Kc * (J / N)) / N
        # K_kl depends on f_k and f_l alike, hence the factor 2; dK/df_k = K (-2 / sigma2) (f_k - f_l)
        gradient = np.sum(dJ_dK * K * difference, axis=1) * (-4.0 / sigma2)
        return float(1.0 + lam - J), -gradient

    return objective
