"""Co-classification: CoConut's original energy (label ``e:orgcoconutsup``), by its convex relaxation.

The energy chooses one class per item: it rewards the class's score, and charges w_ij / k wherever neighbours i and j
differ. Write the choice as a row u_i of the unit matrix. Then the reward is <u_i, F_i>, and [f_i != f_j] is half of
||u_i - u_j||^2, so that on choices the energy is exactly

    E(U) = -<U, F> + strength tr(U^T L U),

with L the Laplacian of `tupi.embedding.graphs.own_width_graph` and strength = lam / k. The relaxation lets rows be
shares: not negative, with sum one. E is convex there. The other common relaxation replaces the squares by absolute
values (total variation, a linear programme); it is tighter, but its shares are mostly 0 or 1, which ranks nothing, and
it cannot be solved by products with L alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.graphs import Graph
from tupi.methods.columns import nearest_shares

Array = NDArray[np.float64]
MAX_ITER = 5_000


def coclassify(edges: Graph, scores: Array, strengths: Sequence[float], tol: float = 1e-7) -> Iterator[Array]:
    """Yield the minimising shares for each strength, each started from the one before.

    Parameters
    ----------
    edges : Graph
        The neighbour graph.
    scores : ndarray of shape (n, c)
        The initial class scores; they are divided by their deviation within rows, so that a strength means the same
        for logarithms, margins and votes.
    strengths : sequence of float
        lam / k, ascending.
    tol : float
        The mean energy per item is within this of the minimum.
    """
    F = scores - scores.mean(axis=1, keepdims=True)
    F = F / np.sqrt(np.mean(F**2))
    U = nearest_shares(F)
    for strength in strengths:
        U = _minimize(edges, F, U, strength, tol)
        yield U


def energy(edges: Graph, F: Array, U: Array, strength: float) -> float:
    """Return E(U)."""
    return float(-np.sum(U * F) + strength * np.sum(U * edges.laplacian_times(U)))


def _minimize(edges: Graph, F: Array, U: Array, strength: float, tol: float) -> Array:
    """Minimise by projected gradients with Nesterov's momentum, restarted whenever it points uphill.

    L is at most 2 D, so each row may take its own step 1 / (4 strength d_i); rows that hardly anything holds back take
    a long one. The stop is safe: for a convex energy the gap <G, U> - min over shares of <G, V> bounds the excess.
    """
    steps = 1.0 / (4.0 * strength * np.maximum(edges.degrees, 1e-3 * edges.degrees.mean()))[:, None]
    ahead, momentum = U, 1.0
    for iteration in range(MAX_ITER):
        G = 2.0 * strength * edges.laplacian_times(ahead) - F
        new = nearest_shares(ahead - steps * G)
        if iteration % 10 == 0:
            exact = 2.0 * strength * edges.laplacian_times(new) - F
            if np.mean(np.sum(exact * new, axis=1) - exact.min(axis=1)) <= tol:
                return new
        if np.sum((ahead - new) * (new - U) / steps) > 0:
            momentum = 1.0
        faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = new + ((momentum - 1.0) / faster) * (new - U)
        U, momentum = new, faster
    return U
