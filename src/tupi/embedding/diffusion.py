"""Diffusion kernels: heat on the neighbour graph of a view, K = exp(-time L) with L the normalised Laplacian."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

from tupi.embedding.graphs import nearest_rows, product_width_graph

TIME = 5.0
N_NEIGHBORS = 10


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
    sums = np.asarray(members.T @ vectors)
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
