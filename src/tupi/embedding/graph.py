"""Neighbour graphs of a view."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.embedding.neighbors import Points, nearest_points


def nearest_neighbors(X: NDArray[np.float64], n_neighbors: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return positions and distances of each row's nearest other rows, shapes (n, k).

    ``k`` is ``n_neighbors``, or n - 1 if there are fewer rows. The search is `tupi.embedding.neighbors.nearest_points`.
    """
    n, d = X.shape
    points = Points(X, np.ones((n, 1), bool), np.array([0, d]))
    neighbors, distances = nearest_points(points, min(n_neighbors, n - 1))
    return neighbors.astype(np.int64), distances


def similarity_graph(neighbors: NDArray[np.int64], distances: NDArray[np.float64]) -> sp.csr_array:
    """Return a symmetric sparse matrix of similarities between neighbours.

    The weight is exp(-d^2 / (s_i s_j)), with s_i the distance of item i to its farthest neighbour (a self-tuning
    width, so that dense and sparse regions both stay connected); an edge exists if either item lists the other.
    """
    n, k = neighbors.shape
    reach = np.maximum(distances[:, -1], np.finfo(float).tiny)
    rows = np.repeat(np.arange(n), k)
    columns = neighbors.ravel()
    weights = np.exp(-(distances.ravel() ** 2) / (reach[rows] * reach[columns]))
    graph = sp.csr_array((weights, (rows, columns)), shape=(n, n))
    return graph.maximum(graph.T)
