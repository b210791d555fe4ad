"""The small matrices of the anchor graph, in the notation of `tupi.embedding.anchors`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack

TILE = 256  # rows and columns of a table that are mirrored at once
Precision = TypeVar("Precision", bound=np.floating)


@dataclass(frozen=True, eq=False)
class AnchorGraph:
    """What passes over items have summed up of the graph.

    Attributes
    ----------
    sizes : ndarray of shape (a,)
        Z^T 1, the diagonal of Lam.
    shared : ndarray of shape (a, a)
        Z^T Z.
    """

    sizes: NDArray[np.float64]
    shared: NDArray[np.float64]

    @property
    def roots(self) -> NDArray[np.float64]:
        """Lam^-1/2; zero for an anchor that is nobody's."""
        return np.divide(1.0, np.sqrt(self.sizes), out=np.zeros_like(self.sizes), where=self.sizes > 0)

    @cached_property
    def _factors(self) -> dict[float, NDArray[np.float32]]:
        """What `_factor` has returned."""
        return {}

    def _factor(self, c: float) -> NDArray[np.float32]:
        """Return Cholesky's factor of (1 + c) I - c A; its condition is 1 + c, so that single precision will do."""
        if c not in self._factors:
            roots = self.roots.astype(np.float32)
            A = self.shared.astype(np.float32)
            A *= roots
            A *= (-np.float32(c) * roots)[:, None]
            A[np.diag_indices_from(A)] += np.float32(1 + c)
            # It is symmetric: its transpose is the same, in the order that LAPACK wants.
            self._factors[c] = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)[0]
        return self._factors[c]

    def low_pass(self, sums: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """Return b with which (I + c (I - W))^-1 f = f / (1 + c) + Z b, given Z^T f."""
        roots = self.roots[:, None]
        solved = cho_solve((self._factor(c), True), (roots * sums).astype(np.float32), check_finite=False)
        return np.asarray(c / (1 + c) * roots * solved, float)

    def kernel(self, c: float) -> GraphKernel:
        """Return Lam^-1/2 M Lam^-1/2, between whose rows and columns Z gives the kernel of two items."""
        return GraphKernel(self._factor(c), (self.roots * np.sqrt(c) / (1 + c)).astype(np.float32), c)


@dataclass(frozen=True, eq=False)
class GraphKernel:
    """A kernel of the graph between anchors: D (B + (1 + c) B^2) D, with B = (L L^T)^-1 and a diagonal D.

    Attributes
    ----------
    factor : ndarray of shape (a, a)
        L, the lower triangle.
    roots : ndarray of shape (a,)
        The diagonal of D.
    c : float
        The strength of the low pass.
    """

    factor: NDArray[np.float32]
    roots: NDArray[np.float32]
    c: float

    def times(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the kernel times columns, without the kernel: for few columns that is many times as fast."""
        once = cho_solve((self.factor, True), self.roots[:, None] * columns, check_finite=False)
        twice = cho_solve((self.factor, True), once, check_finite=False)
        return np.asarray(self.roots[:, None] * (once + np.float32(1 + self.c) * twice))

    def scaled(self, factor: float) -> GraphKernel:
        """Return the kernel times a positive factor."""
        return replace(self, roots=self.roots * np.float32(np.sqrt(factor)))

    @cached_property
    def table(self) -> NDArray[np.float32]:
        """The whole kernel, shape (a, a)."""
        B = mirrored(lapack.spotri(self.factor, lower=True)[0])
        M = mirrored(blas.ssyrk(np.float32(1 + self.c), B, beta=1.0, c=B.copy(order="F"), lower=True, overwrite_c=True))
        M *= self.roots
        M *= self.roots[:, None]
        return M


def mirrored(lower: NDArray[Precision]) -> NDArray[Precision]:
    """Return a symmetric table, given its lower triangle; what is above is not looked at."""
    found = lower.copy()
    for start in range(0, len(lower), TILE):  # by tiles, of which the cache holds two
        for end in range(start, len(lower), TILE):
            tile = np.s_[end : end + TILE, start : start + TILE]
            part = lower[tile] if end > start else np.tril(lower[tile]) + np.tril(lower[tile], -1).T
            found[tile[::-1]] = part.T
    return found
