"""Neighbour graphs of items: four ways to weigh the edges, the Laplacian, and what is solved on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.embedding.neighbors import nearest_points, one_view
from tupi.embedding.sparse_solve import conjugate_gradients

SMALLEST_WIDTH = 1e-12  # of an item whose neighbours all coincide with it
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


def nearest_rows(X: Array, n_neighbors: int) -> Neighbors:
    """Return the nearest other rows of each row of ``X``; at most n - 1."""
    return Neighbors(*nearest_points(one_view(X), min(n_neighbors, len(X) - 1)))


def own_width_graph(near: Neighbors) -> Graph:
    """Return the graph whose quadratic form is CoConut's regulariser.

    Item i weighs its neighbour j by w_ij = exp(-d_ij^2 / s_i^2) (label ``e:weight``), with s_i twice the mean distance
    within its neighbourhood, and the energy charges sum_ij w_ij times half the squared difference. That is v^T L v for
    the Laplacian L of (W + W^T) / 2, which is what this graph holds. The Laplacian of W itself, row sums minus W, has
    the symmetric part diag(row sums) - (W + W^T) / 2: where more items list i than i lists, it is not even positive,
    and it charges for a constant v.
    """
    exists, distances = _known_distances(near)
    directed = _sparse(
        near.indices, np.where(exists, _gaussian(distances, _mean_widths(exists, distances)[:, None]), 0)
    )
    weights = sp.csr_array((directed + directed.T) * 0.5)
    weights.sort_indices()
    return _with_degrees(weights)


def larger_width_graph(near: Neighbors) -> Graph:
    """Return the graph with weights exp(-d_ij^2 / max(s_i, s_j)^2), s_i twice the mean distance to the neighbours of i.

    Items are connected if either is among the other's neighbours.
    """
    exists, distances = _known_distances(near)
    widths = _mean_widths(exists, distances)
    similarities = _gaussian(distances, np.maximum(widths[:, None], widths[near.indices]))
    return _either_way(near.indices, np.where(exists, similarities, 0.0))


def fixed_width_graph(near: Neighbors, sigma2: float) -> Graph:
    """Return the graph with weights exp(-d_ij^2 / sigma2) (label ``e:gaussiankernel``) between neighbours."""
    exists, distances = _known_distances(near)
    return _either_way(near.indices, np.where(exists, np.exp(distances**2 / -sigma2), 0.0))


def product_width_graph(near: Neighbors, width_neighbor: int | None = None, least: float = 0.0) -> Graph:
    """Return the self-tuning graph, with weights exp(-d_ij^2 / (s_i s_j)), in which dense and sparse regions connect.

    Items are connected if either is among the other's neighbours.

    Parameters
    ----------
    near : Neighbors
        The neighbours.
    width_neighbor : int, optional
        s_i is the distance of item i to this neighbour, where 1 is the nearest one. None: to its last one.
    least : float
        Added to all weights, so that rounding cuts no item off.
    """
    exists, distances = _known_distances(near)
    k = distances.shape[1]
    widths = np.maximum(distances[:, min(width_neighbor or k, k) - 1], SMALLEST_WIDTH)
    similarities = np.exp(-(distances**2) / (widths[:, None] * widths[near.indices])) + least
    return _either_way(near.indices, np.where(exists, similarities, 0.0))


def _known_distances(near: Neighbors) -> tuple[NDArray[np.bool_], Array]:
    """Return which neighbours exist, and the distances with zero for the others."""
    exists = np.isfinite(near.distances)
    return exists, np.where(exists, near.distances, 0.0)


def _mean_widths(exists: NDArray[np.bool_], distances: Array) -> Array:
    """Return twice the mean distance of each item to its neighbours."""
    return 2.0 * distances.sum(axis=1) / np.maximum(exists.sum(axis=1), 1)


def _gaussian(distances: Array, widths: Array) -> Array:
    """Return exp(-d^2 / s^2); neighbours that all coincide with the item have width 0 and similarity 1."""
    return np.exp(-((distances / np.where(widths > 0, widths, 1.0)) ** 2))


def _either_way(indices: NDArray[np.int32], weights: Array) -> Graph:
    """Return the graph whose edges are there, and as heavy, as the heavier of their two directions."""
    directed = _sparse(indices, weights)
    return _with_degrees(sp.csr_array(directed.maximum(directed.T)))


def _with_degrees(weights: sp.csr_array) -> Graph:
    return Graph(weights, weights @ np.ones(weights.shape[0]))


def _sparse(indices: NDArray[np.int32], values: Array) -> sp.csr_array:
    """Return the matrix with these values in these columns, row by row; zeros are left out."""
    n, k = indices.shape
    matrix = sp.csr_array((values.ravel(), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    matrix.eliminate_zeros()
    return matrix
