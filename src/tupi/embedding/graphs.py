"""The neighbour graph of all views together, its Laplacian, and what is solved on it.

Views are standardised, divided by the square root of their number of columns, and put side by side, so that each
contributes the same mean squared distance whatever its dimension. Where an item lacks a view, the distance is taken
over the views that both items have, and scaled up to all of them; items that share no view are no neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.embedding.neighbors import EXACT_LIMIT, Points, nearest_points
from tupi.embedding.prepared import Prepared
from tupi.embedding.sparse_solve import conjugate_gradients

LISTED = 32  # neighbours found at once, so that graphs with fewer of them share one search
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """Each item's nearest other items, nearest first.

    Attributes
    ----------
    indices : ndarray of shape (n, k)
        Positions among the items that take part.
    distances : ndarray of shape (n, k)
        Their distances; infinite where there is no such neighbour.
    """

    indices: NDArray[np.int32]
    distances: Array

    def first(self, k: int) -> Neighbors:
        """Return the k nearest only."""
        return Neighbors(self.indices[:, :k], self.distances[:, :k])

    def averages(self) -> sp.csr_array:
        """Return the matrix that averages over neighbours; the row of an item without any is zero."""
        exists = np.isfinite(self.distances)
        shares = exists / np.maximum(exists.sum(axis=1, keepdims=True), 1)
        return _sparse(self.indices, shares)


@dataclass(frozen=True, eq=False)
class Graph:
    """A weighted undirected graph of the items.

    Attributes
    ----------
    weights : sparse array of shape (n, n)
        W, symmetric, with an empty diagonal.
    degrees : ndarray of shape (n,)
        Row sums of W, the diagonal of D.
    """

    weights: sp.csr_array
    degrees: Array

    def laplacian_times(self, V: Array) -> Array:
        """Return L V with L = D - W."""
        return self.degrees[:, None] * V - self.weights @ V

    def smooth(self, B: Array, strength: float, start: Array | None = None, tol: float = 1e-10) -> Array:
        """Return the minimiser of ||V - B||^2 + strength V^T L V: the solution of (I + strength L) V = B."""
        return conjugate_gradients(
            lambda V: V + strength * self.laplacian_times(V), 1.0 + strength * self.degrees, B, start, tol
        )

    def spread(self, B: Array, alpha: float, tol: float = 1e-12) -> Array:
        """Return (D - alpha W)^-1 B for 0 <= alpha < 1; an item without edges counts as one of degree 1."""
        degrees = self.reach()
        return conjugate_gradients(lambda V: degrees[:, None] * V - alpha * (self.weights @ V), degrees, B, tol=tol)

    def reach(self) -> Array:
        """Return the degrees, with 1 for items without edges."""
        return np.where(self.degrees > 0, self.degrees, 1.0)


def neighbors(prepared: Prepared, n_neighbors: int) -> Neighbors:
    """Return each item's nearest other items by all views together; at most n - 1."""
    n = len(prepared.items)
    listed = min(max(n_neighbors, LISTED), n - 1)

    def search() -> Neighbors:
        prepared.progress("Finding neighbours")
        return Neighbors(*nearest_points(joint_points(prepared), listed, prepared.progress))

    return prepared.once(("neighbors", listed), search).first(min(n_neighbors, n - 1))


def graph(prepared: Prepared, n_neighbors: int) -> Graph:
    """Return the graph of the n_neighbors nearest items by all views together."""
    return prepared.once(("graph", n_neighbors), lambda: similarity_graph(neighbors(prepared, n_neighbors)))


def similarity_graph(near: Neighbors) -> Graph:
    """Return the graph whose quadratic form is CoConut's regulariser.

    Item i weighs its neighbour j by w_ij = exp(-d_ij^2 / s_i^2) (label ``e:weight``), with s_i twice the mean distance
    within its neighbourhood, and the energy charges sum_ij w_ij times half the squared difference. That is v^T L v for
    the Laplacian L of (W + W^T) / 2, which is what this graph holds. The Laplacian of W itself, row sums minus W, has
    the symmetric part diag(row sums) - (W + W^T) / 2: where more items list i than i lists, it is not even positive,
    and it charges for a constant v.
    """
    exists = np.isfinite(near.distances)
    distances = np.where(exists, near.distances, 0.0)
    widths = 2.0 * distances.sum(axis=1) / np.maximum(exists.sum(axis=1), 1)
    # Neighbours that all coincide with the item have width 0 and similarity 1.
    ratios = distances / np.where(widths > 0, widths, 1.0)[:, None]
    directed = _sparse(near.indices, np.where(exists, np.exp(-(ratios**2)), 0.0))
    weights = sp.csr_array((directed + directed.T) * 0.5)
    weights.sort_indices()
    return Graph(weights, weights @ np.ones(len(widths)))


def joint_points(prepared: Prepared) -> Points:
    """Return all views side by side, each scaled to contribute equally; in single precision for many items."""
    n = len(prepared.items)
    blocks, present = [], []
    for view in prepared.problem.views:
        has = view.present[prepared.items]
        rows = view.rows(prepared.items[has])
        block = np.zeros((n, rows.shape[1]), np.float64 if n < EXACT_LIMIT else np.float32)
        block[has] = rows / np.sqrt(rows.shape[1])
        blocks.append(block)
        present.append(has)
    offsets = np.cumsum([0, *(block.shape[1] for block in blocks)])
    return Points(np.hstack(blocks), np.column_stack(present), offsets)


def _sparse(indices: NDArray[np.int32], values: Array) -> sp.csr_array:
    """Return the matrix with these values in these columns, row by row; zeros are left out."""
    n, k = indices.shape
    matrix = sp.csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix
