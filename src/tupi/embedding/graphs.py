"""Neighbour graphs of items: four ways to weigh the edges, the Laplacian, and what is solved on it.

Diffusion kernels are heat on the neighbour graph of a view, K = exp(-time L) with L the normalised Laplacian.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from tupi.embedding.anchors import one_view
from tupi.embedding.neighbors import nearest_points

SMALLEST_WIDTH = 1e-12  # of an item whose neighbours all coincide with it
TIME = 5.0
N_NEIGHBORS = 10
MAX_ITER = 10_000
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

    def smooth(self, B: Array, strength: float, start: Array | None = None) -> Array:
        """Return the minimiser of ||V - B||^2 + strength V^T L V: the solution of (I + strength L) V = B."""
        diagonal = 1.0 + strength * self.degrees
        return conjugate_gradients(lambda V: V + strength * self.laplacian_times(V), diagonal, B, start, 1e-10)

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


def product_width_graph(near: Neighbors) -> Graph:
    """Return the self-tuning graph, with weights exp(-d_ij^2 / (s_i s_j)), in which dense and sparse regions connect.

    Items are connected if either is among the other's neighbours; s_i is the distance of item i to its last one.
    """
    exists, distances = _known_distances(near)
    widths = np.maximum(distances[:, -1], SMALLEST_WIDTH)
    similarities = np.exp(-(distances**2) / (widths[:, None] * widths[near.indices]))
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


def normalized_adjacency(X: NDArray[np.float64], n_neighbors: int = N_NEIGHBORS) -> sp.csr_array:
    """Return D^(-1/2) W D^(-1/2) of the neighbour graph; the normalised Laplacian is I minus this."""
    graph = product_width_graph(nearest_rows(X, n_neighbors))
    root = sp.diags_array(1.0 / np.sqrt(np.maximum(graph.degrees, np.finfo(float).tiny)))
    return sp.csr_array(root @ graph.weights @ root)


def shared_by_equals(X: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors with the mean over equal rows of ``X`` in each of these rows.

    Of two equal items, a third one may have only one among its neighbours, so that the graph tells them apart.
    """
    _, which, counts = np.unique(X, axis=0, return_inverse=True, return_counts=True)
    if len(counts) == len(X):
        return vectors
    members = sp.csr_array((np.ones(len(X)), which.ravel(), np.arange(len(X) + 1)), shape=(len(X), len(counts)))
    sums: NDArray[np.float64] = np.asarray(members.T @ vectors)
    return (sums / counts[:, None])[which.ravel()]


def diffusion_features(
    X: NDArray[np.float64], rank: int, n_neighbors: int = N_NEIGHBORS, time: float = TIME
) -> NDArray[np.float64]:
    """Return phi with phi phi^T the best rank-``rank`` part of the diffusion kernel.

    phi_j = exp(-time mu_j / 2) v_j for the ``rank`` smallest eigenvalues mu_j of the normalised Laplacian.
    """
    adjacency = normalized_adjacency(X, n_neighbors)
    n = len(X)
    if rank >= n - 1:
        values, vectors = np.linalg.eigh(adjacency.toarray())
    else:
        # The start vector is the same for every item order, so the result is, up to the solver's tolerance.
        start = np.asarray(adjacency @ np.ones(n)) + X[:, 0]
        values, vectors = eigsh(adjacency, k=rank, which="LA", v0=start, tol=1e-10)
    return shared_by_equals(X, vectors[:, -rank:]) * np.exp(-0.5 * time * (1.0 - values[-rank:]))


def diffusion_matrix(X: NDArray[np.float64], n_neighbors: int = N_NEIGHBORS, time: float = TIME) -> NDArray[np.float64]:
    """Return the whole diffusion kernel matrix, O(n^2) memory and O(n^3) time."""
    values, vectors = np.linalg.eigh(normalized_adjacency(X, n_neighbors).toarray())
    vectors = shared_by_equals(X, vectors)
    return (vectors * np.exp(-time * (1.0 - values))) @ vectors.T


def conjugate_gradients(
    times: Callable[[Array], Array],
    diagonal: Array,
    B: Array,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> Array:
    """Solve A X = B for a positive definite A, preconditioned by its diagonal (Jacobi).

    Only products with A are needed, so memory grows with the number of items. Columns of B are solved side by side:
    one pass over A serves all of them.

    Parameters
    ----------
    times : callable
        V -> A V for V of the shape of B.
    diagonal : ndarray of shape (n,)
        The diagonal of A.
    B : ndarray of shape (n,) or (n, c)
        The right-hand side, or several.
    start : ndarray of the shape of B, optional
        Where to begin; zero by default. What no right-hand side reaches then stays exactly zero.
    tol : float
        Stop when every column's residual is below this share of its right-hand side, both in the norm of the
        inverse diagonal.
    max_iter : int, optional
        Iterations after which an inexact solution is good enough. None: many, and falling short is warned of.
    """
    inverse = (1.0 / diagonal).reshape(-1, *(1,) * (B.ndim - 1))
    X = np.zeros_like(B) if start is None else start.astype(np.float64)
    R = B.copy() if start is None else B - times(X)
    Z = inverse * R
    target = tol**2 * np.einsum("i...,i...->...", B, inverse * B)
    energy = np.einsum("i...,i...->...", R, Z)
    P = Z
    for _ in range(MAX_ITER if max_iter is None else max_iter):
        if np.all(energy <= target):
            return X
        product = times(P)
        curvature = np.einsum("i...,i...->...", P, product)
        # A column that is solved exactly has no direction left; it must not divide zero by zero.
        size = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
        X += size * P
        R -= size * product
        Z = inverse * R
        previous, energy = energy, np.einsum("i...,i...->...", R, Z)
        P = Z + np.divide(energy, previous, out=np.zeros_like(energy), where=previous > 0) * P
    if max_iter is None:
        message = f"Conjugate gradients stopped after {MAX_ITER} iterations short of tol={tol:g}."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return X
