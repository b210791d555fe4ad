"""Views on the manifold of centred, normalised kernels (label ``e:normalization``), computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.errors import InputError, nearest
from tupi.kernels.bandwidth import check_bandwidth, squared_bandwidth
from tupi.kernels.basis import SAMPLE, basis_points, sample_rows
from tupi.kernels.diffusion import N_NEIGHBORS, TIME, diffusion_features, diffusion_matrix
from tupi.kernels.gaussian import kernel_matrix, nystrom_features
from tupi.views import View

KERNELS = ("gaussian", "diffusion")
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class EmbeddingOptions:
    """How views are embedded.

    Parameters
    ----------
    kernel : {"gaussian", "diffusion"}
        Gaussian kernels as in the paper, or heat on the neighbour graph of the view.
    rank : int
        K: basis points of a Gaussian kernel, eigenvectors of a diffusion kernel.
    bandwidth : str or float
        Width rule of Gaussian kernels, see `tupi.kernels.bandwidth`.
    scaling : {"columns", "view"}
        Whether each column of a view is scaled to unit deviation, or the view as a whole.
    n_neighbors, time : int, float
        The graph and the duration of diffusion kernels.
    random_state : int
        Seed of k-means.
    """

    kernel: str = "gaussian"
    rank: int = 50
    bandwidth: str | float = "std-as-sigma"
    scaling: str = "columns"
    n_neighbors: int = N_NEIGHBORS
    time: float = TIME
    random_state: int = 0

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            hint = nearest(str(self.kernel), KERNELS)
            raise InputError(f"kernel: found {self.kernel!r}; accepted: {', '.join(KERNELS)}.{hint}")
        if self.scaling not in ("columns", "view"):
            raise InputError(f"scaling: found {self.scaling!r}; accepted: columns, view.")
        check_bandwidth(self.bandwidth)
        for name in ("rank", "n_neighbors"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or value < 2:
                raise InputError(f"{name}: found {value!r}; accepted: a whole number of at least 2.")
        if not isinstance(self.time, (int, float, np.number)) or not 0 < self.time < np.inf:
            raise InputError(f"time: found {self.time!r}; accepted: a positive number.")


@dataclass(frozen=True, eq=False)
class Embedding:
    """Factors phi_i of the views' kernels, side by side.

    Attributes
    ----------
    names : tuple of str
        The views.
    factors : ndarray of shape (n, R)
        [phi_1, ..., phi_m]; columns are centred and ||phi_i^T phi_i||_F = 1, so phi_i phi_i^T has unit norm.
    offsets : ndarray of shape (m + 1,)
        Where each view's columns begin.
    """

    names: tuple[str, ...]
    factors: Matrix
    offsets: NDArray[np.int64]

    def view(self, i: int) -> Matrix:
        """Return phi_i."""
        return self.factors[:, self.offsets[i] : self.offsets[i + 1]]


def embed_view(view: View, options: EmbeddingOptions) -> Matrix:
    """Return phi_i of one view; rows of items that lack the view are zero."""
    items = np.flatnonzero(view.present)
    X = view.rows(items, options.scaling)
    if options.kernel == "diffusion":
        phi = diffusion_features(X, options.rank, options.n_neighbors, options.time)
    else:
        sample = X[sample_rows(X, SAMPLE)]
        sigma2 = squared_bandwidth(sample, options.bandwidth)
        phi = nystrom_features(X, basis_points(sample, options.rank, options.random_state), sigma2)
    phi = normalized_factor(phi)
    if len(items) == view.n:
        return phi
    everywhere = np.zeros((view.n, phi.shape[1]))
    everywhere[items] = phi
    return everywhere


def embed(
    views: Sequence[View],
    options: EmbeddingOptions,
    items: NDArray[np.int64] | slice = slice(None),
    progress: Callable[[str], None] | None = None,
) -> Embedding:
    """Embed views; ``items`` restricts the result to items that have at least one."""
    factors = []
    for view in views:
        if progress is not None:
            progress(view.name)
        factors.append(embed_view(view, options)[items])
    offsets = np.cumsum([0, *(phi.shape[1] for phi in factors)])
    return Embedding(tuple(view.name for view in views), np.hstack(factors), offsets)


def exact_kernel(view: View, options: EmbeddingOptions) -> Matrix:
    """Return the view's whole centred kernel matrix with unit norm: what `embed_view` approximates."""
    items = np.flatnonzero(view.present)
    X = view.rows(items, options.scaling)
    if options.kernel == "diffusion":
        K = diffusion_matrix(X, options.n_neighbors, options.time)
    else:
        sigma2 = squared_bandwidth(X[sample_rows(X, SAMPLE)], options.bandwidth)
        K = kernel_matrix(X, X, sigma2)
    everywhere = np.zeros((view.n, view.n))
    everywhere[np.ix_(items, items)] = normalized_kernel(K)
    return everywhere


def centered(K: Matrix) -> Matrix:
    """Return C K C with C = I - 11^T/n."""
    return K - K.mean(axis=0)[None, :] - K.mean(axis=1)[:, None] + K.mean()


def normalized_kernel(K: Matrix) -> Matrix:
    """Return C K C / ||C K C||_F (label ``e:normalization``)."""
    K = centered(K)
    return K / np.linalg.norm(K)


def normalized_factor(phi: Matrix) -> Matrix:
    """Return C phi scaled so that ||phi^T phi||_F = 1: the factor of `normalized_kernel`."""
    phi = phi - phi.mean(axis=0)
    return phi / np.sqrt(np.linalg.norm(phi.T @ phi))
