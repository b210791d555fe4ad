"""CoConut (Khamis and Lampert), adapted to scores: smoothness on the neighbour graph of the views.

For classes, co-classification: CoConut's original energy (label ``e:orgcoconutsup``), by its convex relaxation. The
energy chooses one class per item: it rewards the class's score, and charges w_ij / k wherever neighbours i and j
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
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.graphs import Graph
from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, from_shares, initial_values, nearest_shares
from tupi.methods.sweeps import Swept, fit_swept

LAM_GRID = tuple(float(lam) for lam in 10.0 ** np.arange(-1.0, 3.25, 0.5))
CLASS_LAM_GRID = LAM_GRID[:7]  # beyond 100 everything joins the largest class
K_GRID = (10, 5, 20)
DEFAULT_LAM, DEFAULT_K = 1.0, 10
MAX_ITER = 5_000
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Coconut(Swept):
    """Settings of CoConut.

    Scores minimise ||v - f||^2 + (lam / k) v^T L v (label ``e:adaptcoconut``) with L the Laplacian of
    `tupi.embedding.graphs.own_width_graph`. Class scores minimise the convex relaxation of the original
    co-classification energy (label ``e:orgcoconutsup``), see `tupi.methods.coconut`.

    Parameters
    ----------
    lam : float, optional
        lambda^C: how smooth the result shall be. None: with labels chosen from 0.1 to 1000 (to 100 for
        classification), without them 1.
    n_neighbors : int, optional
        k^C: neighbours of each item. None: with labels chosen from 5, 10 and 20, without them 10.
    """

    name: ClassVar[str] = "coconut"

    lam: float | None = None
    n_neighbors: int | None = None

    def __post_init__(self) -> None:
        check_positive("lam", self.lam)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1)

    def solutions(self, prepared: Prepared, lams: Sequence[float]) -> Iterator[Array]:
        """Yield the minimiser for each lam, each started from the one before; n_neighbors must be set."""
        assert self.n_neighbors is not None
        edges = graph(prepared, self.n_neighbors)
        if prepared.problem.task == "classification":
            for shares in coclassify(edges, initial_values(prepared), [lam / self.n_neighbors for lam in lams]):
                yield from_shares(prepared, shares)
            return
        columns = prepared.f
        for lam in lams:
            columns = edges.smooth(prepared.f, lam / self.n_neighbors, start=columns)
            yield columns

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Minimise the energy; with labels, for all settings that are left open."""
        grid = CLASS_LAM_GRID if prepared.problem.task == "classification" else LAM_GRID
        ks, lams = ((DEFAULT_K,), (DEFAULT_LAM,)) if labels is None else (K_GRID, grid)
        return fit_swept(self, ks, "lam", lams, prepared, labels, watch)


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
