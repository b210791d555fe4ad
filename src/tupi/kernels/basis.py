"""Basis points of the Nystroem approximation (label ``e:kapprox``): k-means centres, or a grid in one dimension."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

SAMPLE = 5000  # rows that k-means sees: centres settle long before
N_LLOYD = 10  # rounds of Lloyd's algorithm: the kernel factor no longer changes visibly after that


def canonical_order(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of the rows that depends on their content only.

    Rows are sorted by their norm, then by their values. Whatever is drawn in this order is the same after a shuffle
    of the items, a copy of the data, or a rotation of the view.
    """
    norms = np.einsum("ij,ij->i", X, X)
    order = np.argsort(norms, kind="stable")
    tied = np.flatnonzero(np.diff(norms[order]) == 0)
    if tied.size:
        keys = [X[:, j] for j in range(min(X.shape[1], 8))][::-1]
        order = np.lexsort([*keys, norms])
    return order


def sample_rows(X: NDArray[np.float64], size: int) -> NDArray[np.int64]:
    """Return positions of at most ``size`` rows, evenly spread over the canonical order."""
    order = canonical_order(X)
    if len(X) <= size:
        return order
    return order[np.linspace(0, len(X) - 1, size).astype(int)]


def basis_points(X: NDArray[np.float64], rank: int, random_state: int = 0) -> NDArray[np.float64]:
    """Return at most ``rank`` basis points for the rows of ``X``: the paper's choices.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows, or a sample of them in canonical order.
    rank : int
        K, the number of basis points.
    random_state : int
        Seed of k-means++.
    """
    if X.shape[1] == 1:
        return np.linspace(X.min(), X.max(), rank)[:, None]
    distinct = np.unique(X, axis=0) if len(X) <= rank else X
    if len(distinct) <= rank:
        return distinct
    return _lloyd(X, kmeans_plusplus(X, rank, random_state=random_state)[0])


def _lloyd(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve centres by Lloyd's algorithm; a centre that loses all its rows stays where it is."""
    for _ in range(N_LLOYD):
        scores = X @ centers.T - 0.5 * np.einsum("ij,ij->i", centers, centers)
        nearest = scores.argmax(axis=1)
        counts = np.bincount(nearest, minlength=len(centers))
        members = sp.csr_array((np.ones(len(X)), nearest, np.arange(len(X) + 1)), shape=(len(X), len(centers)))
        sums = members.T @ X
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.allclose(moved, centers, rtol=0, atol=1e-9):
            return moved
        centers = moved
    return centers
