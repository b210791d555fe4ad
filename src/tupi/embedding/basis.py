"""Basis points of the Nystroem approximation (label ``e:kapprox``): k-means centres, or a grid in one dimension."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from tupi.inputs.views import BLOCK, View
from tupi.runtime.threads import in_order

SAMPLE = 5000  # rows that k-means sees: centres settle long before
CONTENT_LIMIT = 200_000  # items beyond which a sample is drawn by position instead of content
LEADING = 8  # columns that decide between rows of equal norm
N_LLOYD = 10  # rounds of Lloyd's algorithm: the kernel factor no longer changes visibly after that


def canonical_order(norms: NDArray[np.float64], leading: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of rows that depends on their content only.

    Rows are sorted by their squared norm, then by their leading values. Whatever is drawn in this order is the same
    after a shuffle of the items, a copy of the data, or a rotation of the view.
    """
    order = np.argsort(norms, kind="stable")
    if (np.diff(norms[order]) == 0).any():
        order = np.lexsort([*leading.T[::-1], norms])
    return order


def in_canonical_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows in an order that depends on their content only."""
    return X[canonical_order(np.einsum("ij,ij->i", X, X), X[:, :LEADING])]


def sample_view(
    view: View, items: NDArray[np.int64] | None = None, size: int = SAMPLE, scaling: str = "columns"
) -> NDArray[np.float64]:
    """Return at most ``size`` rows of a view, evenly spread over the canonical order of those that are there.

    Past `CONTENT_LIMIT` items, and for views that are read from files, rows are evenly spread over the items instead:
    the canonical order would take one more pass over the data.
    """
    items = np.arange(view.n) if items is None else items
    present = items[view.present[items]]
    if len(present) <= size:
        return in_canonical_order(view.rows(present, scaling))
    spread = np.linspace(0, len(present) - 1, size).astype(int)
    if len(present) > CONTENT_LIMIT or view.on_disk:
        return in_canonical_order(view.rows(np.sort(present)[spread], scaling))

    def keys(start: int) -> NDArray[np.float64]:
        X = view.rows(present[start : start + BLOCK], scaling)
        return np.column_stack([np.einsum("ij,ij->i", X, X), X[:, :LEADING]])

    content = np.concatenate(list(in_order(keys, range(0, len(present), BLOCK))))
    return view.rows(present[canonical_order(content[:, 0], content[:, 1:])[spread]], scaling)


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
