"""Labels spread on the neighbour graph of the views (Zhou et al., "Learning with local and global consistency")."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.graphs import Graph, conjugate_gradients
from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.methods.spreading import best_setting, check_alpha, labelled_kernel
from tupi.methods.supervised import finished, in_columns, known_items

ALPHA_GRID = (0.9, 0.97, 0.99, 0.5)
K_GRID = (10, 20, 5)
PRIOR = 1e-10  # weight of the labels' mean: only items that no label reaches feel it
NOISE = 0.1  # how much a comparison may be missed, against smoothness on a graph of mean degree one
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GraphSSL(Method):
    """Settings of label spreading. The initial predictions are not used, and labels are needed.

    With S = D^(-1/2) W D^(-1/2) labels Y spread as F = (1 - alpha) (I - alpha S)^(-1) Y. Zhou et al. spread class
    indicators. Here the indicator of being labelled spreads too, and what is returned is the ratio: a mean of the
    labels, weighted by how well each reaches the item, whose magnitude does not fade with distance.

    Comparisons are learned as the smooth function F that minimises
    sum over pairs (1 - (F_higher - F_lower))^2 + (0.1 / mean degree) F^T (D - alpha W) F.

    Parameters
    ----------
    alpha : float, optional
        How far labels spread, between 0 and 1. None: chosen from 0.5, 0.9, 0.97 and 0.99.
    n_neighbors : int, optional
        Neighbours of each item. None: chosen from 5, 10 and 20. Both are chosen by repeated five-fold
        cross-validation, over 200 labelled items at most.
    """

    name: ClassVar[str] = "graph-ssl"

    alpha: float | None = None
    n_neighbors: int | None = None

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Spread the labels, under the setting that predicts held-out ones best."""
        known = known_items(self, prepared, labels)
        assert labels is not None
        alphas = ALPHA_GRID if self.alpha is None else (self.alpha,)
        ks = K_GRID if self.n_neighbors is None else (self.n_neighbors,)
        settings = list(itertools.product(ks, alphas))
        best, notes = 0, []
        if len(settings) > 1:
            best = best_setting(settings, lambda one, rows: _predictor(prepared, *one, rows), labels, prepared)
            k, alpha = settings[best]
            notes.append(f"alpha={alpha:g}, n_neighbors={k} scored best of {len(settings)} in cross-validation.")
        k, alpha = settings[best]
        edges, n = graph(prepared, k), len(prepared.items)
        if isinstance(known.labels, Pairs):
            pairs = Pairs(known.rows[known.labels.higher], known.rows[known.labels.lower])
            scores = smooth_comparisons(edges, pairs, alpha)
        else:
            Y = _targets(known.labels, prepared)
            root = np.sqrt(edges.reach())[:, None]
            everywhere = np.zeros((n, Y.shape[1]))
            everywhere[known.rows[known.labels.index]] = Y
            scores = _ratio((1.0 - alpha) * root * edges.spread(root * everywhere, alpha), Y)
        if prepared.problem.task != "classification":
            scores = scores[:, 0]
        return finished(
            prepared,
            scores,
            {"alpha": alpha, "n_neighbors": k},
            weights=np.ones(len(prepared.problem.views)),
            notes=tuple(notes),
            watch=watch,
            calibrated=isinstance(known.labels, Values),
        )


def _predictor(prepared: Prepared, k: int, alpha: float, rows: NDArray[np.int64]) -> Callable[[Labels], Array]:
    """Return a function that spreads labels of the rows among the rows."""
    edges, K = graph(prepared, k), labelled_kernel(prepared, k, alpha, rows)
    root = np.sqrt(edges.reach()[rows])
    G = (1.0 - alpha) * root[:, None] * K * root

    def predict(train: Labels) -> Array:
        if isinstance(train, Pairs):
            gram, asked = _comparisons(train, len(rows))
            return np.linalg.solve(_noise(edges) * np.eye(len(rows)) + K @ gram.toarray(), K @ asked)[:, 0]
        train = relative_labels(train, prepared.problem.groups)
        assert isinstance(train, Values)
        Y = _targets(train, prepared)
        F = _ratio(G[:, train.index] @ Y, Y)
        return F if prepared.problem.task == "classification" else F[:, 0]

    return predict


def _targets(labels: Values, prepared: Prepared) -> Array:
    """Return what spreads: values or class indicators, and in the last column the indicator of being labelled."""
    return np.hstack([in_columns(labels.values, prepared), np.ones((len(labels.values), 1))])


def _ratio(F: Array, Y: Array) -> Array:
    """Return spread targets per spread indicator; where neither arrives, the labels' mean."""
    return (F[:, :-1] + PRIOR * Y[:, :-1].mean(axis=0)) / (F[:, -1:] + PRIOR)


def smooth_comparisons(edges: Graph, labels: Pairs, alpha: float) -> Array:
    """Return the smooth function that comparisons ask for, of shape (n, 1)."""
    gram, asked = _comparisons(labels, len(edges.degrees))
    mu, degrees = _noise(edges), edges.reach()
    return conjugate_gradients(
        lambda F: mu * (degrees[:, None] * F - alpha * (edges.weights @ F)) + gram @ F,
        mu * degrees + gram.diagonal(),
        asked,
    )


def _comparisons(labels: Pairs, n: int) -> tuple[sp.csr_array, Array]:
    """Return B^T B and B^T 1 for the matrix B that takes scores to differences, one row per pair."""
    p = len(labels.higher)
    ends = np.column_stack([labels.higher, labels.lower]).ravel()
    B = sp.csr_array((np.tile([1.0, -1.0], p), ends, np.arange(0, 2 * p + 1, 2)), shape=(p, n))
    return sp.csr_array(B.T @ B), B.T @ np.ones((p, 1))


def _noise(edges: Graph) -> float:
    return NOISE / float(edges.degrees.mean())
