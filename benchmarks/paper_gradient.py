"""The gradient of the energy as the paper writes it (labels ``e:HSICeval`` and ``e:denoisingalgorithm``), in numpy.

Everything is float64, the basis of f is K points on a line over its range, and S_fi is computed view by view. What does
not change within a step (the views' K_iB, inverses of K_BB, the kernel of f(t)) is computed beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

RCOND = 1e-10  # of the largest eigenvalue: K_BB of points on a line is singular to rounding
Array = NDArray[Any]


class PaperGradient:
    """Energy of one step and its gradient with respect to f.

    Parameters
    ----------
    f : ndarray of shape (n,)
        f(t), with mean 0 and deviation 1.
    views : list of (ndarray of shape (n, K), ndarray of shape (K, K))
        K_iB and K^i_BB of each view.
    weights : ndarray of shape (m,)
        w_i(t), which sum to one.
    lam, sigma2 : float
        lambda and sigma_f^2.
    rank : int
        K.
    """

    def __init__(
        self, f: Array, views: list[tuple[Array, Array]], weights: Array, lam: float, sigma2: float, rank: int = 50
    ) -> None:
        self.basis = np.linspace(f.min(), f.max(), rank)
        self.sigma2, self.lam = sigma2, lam
        K_BB = self._kernel(self.basis)
        self.inverse = np.linalg.pinv(K_BB, rcond=RCOND, hermitian=True)
        terms = [(self._kernel(f), K_BB, 1.0), *((*view, lam * w) for view, w in zip(views, weights, strict=True))]
        # Of each term <K~_f, K~_i>: C K_iB, [K^i_BB]^-1 and its factor over the norm of C K_i C.
        self.terms = [_normalized(*term) for term in terms]

    def _kernel(self, f: Array) -> Array:
        return np.exp((f[:, None] - self.basis) ** 2 / -self.sigma2)

    def __call__(self, f: Array) -> tuple[float, Array]:
        """Return the energy at f and its gradient."""
        difference = f[:, None] - self.basis
        K_fB = np.exp(difference**2 / -self.sigma2)
        dK_fB = difference * K_fB * (-2.0 / self.sigma2)
        centred = K_fB - K_fB.mean(axis=0)
        # tr[K_f C K_f C] is the squared norm N^2; its derivative is twice that of one of its two arguments.
        own, S = self._trace(centred, centred, self.inverse)
        N = np.sqrt(own)
        to_itself = 2.0 * np.einsum("kb,kb->k", dK_fB, S)
        J, gradient = 0.0, np.zeros(len(f))
        for K_iB, inverse, share in self.terms:
            trace, S = self._trace(centred, K_iB, inverse)
            J += share * trace / N
            gradient += (share / N) * 2.0 * np.einsum("kb,kb->k", dK_fB, S)
        gradient -= (J / N**2) * to_itself
        return float(1.0 + self.lam - J), -gradient

    def _trace(self, K_fB: Array, K_iB: Array, inverse: Array) -> tuple[float, Array]:
        """Return tr[K_fB S_fi] and the transpose of S_fi = K_BB^-1 K_fB^T C K_iB [K^i_BB]^-1 K_iB^T C."""
        product = K_fB.T @ K_iB
        inner = self.inverse @ product @ inverse
        return float(np.sum(inner * product)), K_iB @ inner.T


def _normalized(K_iB: Array, K_BB: Array, share: float) -> tuple[Array, Array, float]:
    centred = K_iB - K_iB.mean(axis=0)
    inverse = np.linalg.pinv(K_BB, rcond=RCOND, hermitian=True)
    product = centred.T @ centred @ inverse
    return centred, inverse, share / float(np.sqrt(np.sum(product * product.T)))
