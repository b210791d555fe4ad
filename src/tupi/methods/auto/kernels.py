"""The kernels of the Gaussian process: between all items and the labelled ones, each with mean diagonal one.

- rank one: the label-free answer, and what f and f smoothed at several strengths have beyond it;
- graph: (I + lam L)^-2, a low pass. The square matters: the resolvent itself is mostly local and adds little;
- views: a linear and a Gaussian kernel of all related views side by side, and another two of the rest.

How far smoothed columns are trusted before any label is seen is what the label-free sign says: their prior variance is
multiplied by the share of error in the residual.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.gaussian import squared_distances
from tupi.embedding.graphs import Graph
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.methods.auto.labelfree import TOL, LabelFree
from tupi.methods.auto.process import PRIOR_SD, LogPrior

LOG_PRIOR = -2.0  # log variance of a column or graph kernel: expected to explain 14 per cent of the labels' variance
LOG_PRIOR_VIEW = -4.0  # of a kernel of the views themselves, 2 per cent: these extrapolate, and harm with few labels
LOG_PRIOR_REST, SD_REST = -6.0, 2.0  # of unrelated views: most are junk, but one that is not may explain anything
LEAST_TRUST = 0.05  # share of their prior variance that smoothed columns keep where the sign says that nothing is error
GRAPH_STRENGTHS = (10.0, 100.0)
MAX_AT_ONCE, SOLVED_ENTRIES = 64, 1 << 20  # right-hand sides and their entries that are solved for at once
SOLVED_IN_ALL, LEAST_LANDMARKS = 1 << 24, 200  # entries of all right-hand sides; beyond, only landmarks are solved for
RELATIVE_RANK = 1e-6  # of the landmarks' kernel: smaller eigenvalues are errors of the solver
BANDWIDTH_ITEMS = 2000
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels between all items and some chosen ones.

    Attributes
    ----------
    rows : ndarray of int
        The chosen items.
    columns : ndarray of shape (c, q, n)
        Rank-one kernels k k^T of each output.
    shared : list of ndarray of shape (n, m)
        Kernels that all outputs share.
    scales : list of float
        What each shared kernel was divided by; for Gaussian ones their width.
    prior : LogPrior
        Of the variances of all columns and shared kernels.
    """

    rows: Positions
    columns: Array
    shared: list[NDArray[np.floating]]
    scales: list[float]
    prior: LogPrior

    def within(self) -> Array:
        """Return the shared kernels among the chosen items, symmetric."""
        m = len(self.rows)
        blocks = [K[self.rows].astype(np.float64) for K in self.shared]
        return np.array([0.5 * (K + K.T) for K in blocks]).reshape(-1, m, m)

    def times(self, v: Array, dual: Array, output: int) -> Array:
        """Return sum_k v_k K_k(all, chosen) dual for one output."""
        columns = self.columns[output]
        q = len(columns)
        result = (v[:q] * (columns[:, self.rows] @ dual)) @ columns
        for weight, K in zip(v[q:], self.shared, strict=True):
            result += weight * (K @ dual)
        return result

    def cross(self, v: Array, output: int, items: slice | Positions) -> Array:
        """Return the whole kernel between some items and the chosen ones, for one output."""
        columns = self.columns[output]
        q = len(columns)
        total = (columns[:, items].T * v[:q]) @ columns[:, self.rows]
        for weight, K in zip(v[q:], self.shared, strict=True):
            total += weight * K[items]
        return total

    def chosen(self, among: Positions) -> Kernels:
        """Return the kernels of some of the chosen items, by their positions among them."""
        shared = [K[:, among] for K in self.shared]
        return Kernels(self.rows[among], self.columns, shared, self.scales, self.prior)


def kernels(base: LabelFree, rows: Positions, prepared: Prepared) -> Kernels:
    """Return the kernels between all items and the given ones."""
    answer = base.columns[0]
    # What all columns have in common is the answer's part alone. Otherwise their variances would add up along it, and
    # a few contrary labels could turn the whole ranking over.
    columns = [answer, *(column - answer * np.mean(answer * column, axis=0) for column in base.columns[1:])]
    trust = np.log(1 - base.share.c + LEAST_TRUST)
    log_prior = [LOG_PRIOR + (trust if k > 1 else 0.0) for k in range(len(columns))]
    shared: list[NDArray[np.floating]] = []
    scales: list[float] = []
    if base.near is not None:
        for strength in GRAPH_STRENGTHS:
            prepared.progress(f"Solving for {len(rows)} labelled items on the graph (strength {strength:g})")
            K, scale = graph_kernel(base.graph, strength, rows)
            shared.append(K)
            scales.append(scale)
            log_prior.append(LOG_PRIOR)
    for blocks, expected in ((base.views.related, LOG_PRIOR_VIEW), (base.views.rest, LOG_PRIOR_REST)):
        if blocks:
            linear, scale, gaussian, width = view_kernels(base.side_by_side(blocks), rows)
            shared.extend([linear, gaussian])
            scales.extend([scale, width])
            log_prior.extend([expected] * 2)
    by_output = np.array(columns).transpose(2, 0, 1)
    sd = np.full(len(log_prior), PRIOR_SD)
    if base.views.rest:
        sd[-2:] = SD_REST
    prior = LogPrior(np.array(log_prior), sd)
    return Kernels(rows, np.ascontiguousarray(by_output), shared, scales, prior)


def graph_kernel(graph: Graph, strength: float, rows: Positions) -> tuple[NDArray[np.floating], float]:
    """Return columns of (I + strength L)^-2, scaled to mean diagonal one on the rows, and that scale.

    Of many rows some are landmarks, from whose columns those of the others follow by Nystrom's approximation.
    """
    n = len(graph.degrees)
    landmarks = rows[evenly(len(rows), max(LEAST_LANDMARKS, SOLVED_IN_ALL // n))]
    K = np.empty((n, len(landmarks)), np.float32)
    for part in at_once(n, len(landmarks)):
        B: Any = np.zeros((n, len(landmarks[part])), np.float32)
        B[landmarks[part], np.arange(B.shape[1])] = 1.0
        K[:, part] = graph.smooth(graph.smooth(B, strength, tol=TOL), strength, tol=TOL)
    scale = float(np.mean(K[landmarks, np.arange(len(landmarks))]))
    K /= scale
    if len(landmarks) < len(rows):
        values, vectors = np.linalg.eigh(K[landmarks].astype(np.float64))
        kept = values > RELATIVE_RANK * values[-1]
        features = K @ (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)
        K = features @ features[rows].T
    return K, scale


def at_once(n: int, m: int) -> list[slice]:
    """Return which of m right-hand sides of n entries are solved for together."""
    size = min(MAX_AT_ONCE, max(4, SOLVED_ENTRIES // n))
    return [slice(start, start + size) for start in range(0, m, size)]


def view_kernels(
    H: NDArray[np.floating], rows: Positions
) -> tuple[NDArray[np.floating], float, NDArray[np.floating], float]:
    """Return the linear kernel (mean diagonal one on the rows) and its scale, the Gaussian one and its median width."""
    chosen = H[rows]
    linear = H @ chosen.T
    scale = max(float(np.mean(np.einsum("ij,ij->i", chosen, chosen))), 1e-12)
    distances = squared_distances(H, chosen)
    width = max(float(np.median(distances[evenly(len(H), BANDWIDTH_ITEMS)])), 1e-12)
    return linear / scale, scale, gaussian(distances, width), width


def gaussian(distances: NDArray[np.floating], width: float) -> NDArray[np.floating]:
    """Return the Gaussian kernel of squared distances; at the width it is e^-1/2."""
    return np.exp(distances / (-2 * width))
