"""Labels spread on the neighbour graph of the views (Zhou et al., "Learning with local and global consistency")."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.errors import InputError
from tupi.graphs import Graph, graph
from tupi.labels import Labels, Pairs, Values
from tupi.methods.base import Fit, Method, check_positive
from tupi.methods.columns import from_scores, from_shares, from_values
from tupi.methods.folds import among, cross_validate, taking_part, tuning_items
from tupi.methods.spreading import check_alpha, labelled_kernel
from tupi.methods.sweeps import first_and_last
from tupi.paths import Watch
from tupi.prepared import Prepared
from tupi.sparse_solve import conjugate_gradients

ALPHA_GRID = (0.9, 0.97, 0.99, 0.5)
K_GRID = (10, 20, 5)
PRIOR = 1e-10  # weight of the labels' mean: only items that no label reaches feel it
NOISE = 0.1  # how much a comparison may be missed, against smoothness on a graph of degree one
TUNING_LABELS = 200
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GraphSSL(Method):
    """Settings of label spreading. The initial predictions are not used, and labels are needed.

    With S = D^(-1/2) W D^(-1/2) the labels spread as F(Y) = (1 - alpha) (I - alpha S)^(-1) Y. Zhou et al. spread class
    indicators. Values spread together with the indicator of being labelled, and the result is their ratio: a mean of
    the labels weighted by how well each reaches the item, whose magnitude does not fade with distance.

    Comparisons are learned as the smooth function that minimises
    sum over pairs (1 - (F_higher - F_lower))^2 + (0.1 / mean degree) F^T (D - alpha W) F.

    Parameters
    ----------
    alpha : float, optional
        How far labels spread, between 0 and 1. None: chosen from 0.5, 0.9, 0.97 and 0.99 by cross-validation.
    n_neighbors : int, optional
        Neighbours of each item. None: chosen from 5, 10 and 20 by cross-validation.
    """

    name: ClassVar[str] = "graph-ssl"

    alpha: float | None = None
    n_neighbors: int | None = None

    def __post_init__(self) -> None:
        check_alpha("alpha", self.alpha)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Spread the labels, with the setting that predicts held-out ones best."""
        if labels is None:
            raise InputError("labels: found None; method 'graph-ssl' spreads labels and accepts values or pairs.")
        usable = taking_part(prepared, labels)
        if usable is None:
            note = "The labels say nothing about items with features, so there was nothing to spread."
            return Fit(prepared.f, self.params(), first_and_last(prepared, prepared.f, watch), [], (note,))
        alphas = ALPHA_GRID if self.alpha is None else (self.alpha,)
        ks = K_GRID if self.n_neighbors is None else (self.n_neighbors,)
        settings = list(itertools.product(ks, alphas))
        (k, alpha), notes = settings[0], ()
        if len(settings) > 1:
            scores = [_validate(prepared, usable, *setting) for setting in settings]
            if not np.isnan(scores).all():
                k, alpha = settings[int(np.nanargmax(scores))]
                notes = (
                    f"alpha={alpha:g} and n_neighbors={k} scored best of {len(settings)} settings "
                    f"in cross-validation ({np.nanmax(scores):.3f}).",
                )
        columns = _spread(prepared, usable, k, alpha)
        params = {"alpha": alpha, "n_neighbors": k}
        return Fit(columns, params, first_and_last(prepared, columns, watch), [], notes)


def _validate(prepared: Prepared, labels: Labels, k: int, alpha: float) -> float:
    """Return the score of held-out labels, from the graph kernel between labelled items alone."""
    items = tuning_items(prepared, TUNING_LABELS)
    local = among(labels, items)
    if local is None:
        return float("nan")
    edges, K = graph(prepared, k), labelled_kernel(prepared, k, alpha, items)
    root = np.sqrt(edges.reach()[items])
    G = (1.0 - alpha) * root[:, None] * K * root
    task, c = prepared.problem.task, prepared.f.shape[1]

    def predict(train: Labels) -> Array:
        if isinstance(train, Pairs):
            gram, asked = _comparisons(train, len(items))
            return np.linalg.solve(_noise(edges) * np.eye(len(K)) + K @ gram.toarray(), K @ asked)[:, 0]
        Y = _targets(train, task, c)
        F = _ratio(G[:, train.index] @ Y, Y)
        return F if task == "classification" else F[:, 0]

    return cross_validate(local, predict, task, prepared.random_state)


def _spread(prepared: Prepared, labels: Labels, k: int, alpha: float) -> Array:
    """Return columns from all labels."""
    edges, n, task = graph(prepared, k), len(prepared.items), prepared.problem.task
    if isinstance(labels, Pairs):
        return from_scores(_from_pairs(edges, labels, alpha, n))
    Y = _targets(labels, task, prepared.f.shape[1])
    root = np.sqrt(edges.reach())[:, None]
    everywhere = np.zeros((n, Y.shape[1]))
    everywhere[labels.index] = Y
    F = _ratio((1.0 - alpha) * root * edges.spread(root * everywhere, alpha), Y)
    if task == "classification":
        return from_shares(prepared, F)
    return from_values(prepared, F) if task == "regression" else from_scores(F)


def _targets(labels: Values, task: str, c: int) -> Array:
    """Return what spreads: values or class indicators, and in the last column the indicator of being labelled."""
    ones = np.ones((len(labels.values), 1))
    if task == "classification":
        return np.hstack([np.eye(c)[labels.values], ones])
    return np.hstack([labels.values[:, None], ones])


def _ratio(F: Array, Y: Array) -> Array:
    """Return spread targets per spread indicator; where neither arrives, the labels' mean."""
    return (F[:, :-1] + PRIOR * Y[:, :-1].mean(axis=0)) / (F[:, -1:] + PRIOR)


def _comparisons(labels: Pairs, n: int) -> tuple[sp.csr_array, Array]:
    """Return B^T B and B^T 1 for the matrix B that takes scores to differences, one row per pair."""
    p = len(labels.higher)
    ends = np.column_stack([labels.higher, labels.lower]).ravel()
    B = sp.csr_array((np.tile([1.0, -1.0], p), ends, np.arange(0, 2 * p + 1, 2)), shape=(p, n))
    return sp.csr_array(B.T @ B), B.T @ np.ones((p, 1))


def _noise(edges: Graph) -> float:
    return NOISE / float(edges.degrees.mean())


def _from_pairs(edges: Graph, labels: Pairs, alpha: float, n: int) -> Array:
    """Return the smooth function that comparisons ask for, of shape (n, 1)."""
    gram, asked = _comparisons(labels, n)
    mu, degrees = _noise(edges), edges.reach()
    return conjugate_gradients(
        lambda F: mu * (degrees[:, None] * F - alpha * (edges.weights @ F)) + gram @ F,
        mu * degrees + gram.diagonal(),
        asked,
    )
