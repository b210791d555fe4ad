"""How sure the process is of each item, and which labels would teach it most.

Graph kernels between any two items are not at hand. K = M M^T with M = (I + lam L)^-1, so a few random right-hand sides
O give M O, whose rows have inner products K on average. Random numbers are dealt in the content order of the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tupi.embedding.gaussian import squared_distances
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.methods.auto.kernels import GRAPH_STRENGTHS, Kernels, at_once, gaussian, kernels
from tupi.methods.auto.labelfree import TOL, LabelFree, thinned
from tupi.methods.auto.preferences import SCALE
from tupi.methods.auto.process import LOG_PRIOR_NOISE

PROBES = 48  # random right-hand sides: an inner product is known within a seventh of the diagonal
POOL, PAIR_POOL = 500, 300  # items among which suggestions are looked for
N_SUGGESTED = 100
FIRST = 5000  # items that first suggestions, before any label, are made from
SCALING = 16
BLOCK = 8192
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


def sketches(base: LabelFree, prepared: Prepared) -> list[NDArray[np.floating]]:
    """Return (I + lam L)^-1 O / sqrt(number of columns) for each graph kernel, computed once."""

    def compute() -> list[NDArray[np.floating]]:
        if base.near is None:
            return []
        prepared.progress("Measuring uncertainty")
        drawn = np.random.default_rng(prepared.random_state).standard_normal((len(base.f), PROBES)) / np.sqrt(PROBES)
        probes: Any = drawn.astype(np.float32)
        found = [probes, probes.copy()]
        for sketch, strength in zip(found, GRAPH_STRENGTHS, strict=True):
            for part in at_once(*probes.shape):
                sketch[:, part] = base.graph.smooth(sketch[:, part], strength, tol=10 * TOL)
        return found

    return prepared.once("sketches", compute)


@dataclass(frozen=True, eq=False)
class Belief:
    """The process after the labels, with kernels between any items.

    Attributes
    ----------
    base : LabelFree
        The problem.
    sketched : list of ndarray
        See `sketches`.
    kernels : Kernels
        Kernels to the labelled items.
    v : ndarray
        Variances of the kernels.
    middles : sequence of ndarray
        For each output the matrix A with which the posterior covariance is K - K A K.
    constant : float
        Prior variance of a shift that all items share.
    """

    base: LabelFree
    sketched: list[NDArray[np.floating]]
    kernels: Kernels
    v: Array
    middles: list[Array]
    constant: float

    def variances(self) -> Array:
        """Return the posterior variance of each item, averaged over outputs."""
        prior, n = self._prior_variances(), len(self.base.f)
        for start in range(0, n, BLOCK):
            rows = slice(start, min(start + BLOCK, n))
            seen = np.zeros(rows.stop - start)
            for output, middle in enumerate(self.middles):
                C = self.kernels.cross(self.v, output, rows) + self.constant
                seen += np.einsum("ij,ij->i", C @ middle, C) / len(self.middles)
            prior[rows] -= seen
        return np.maximum(prior, 1e-6)

    def _prior_variances(self) -> Array:
        columns = self.kernels.columns
        q = columns.shape[1]
        total = self.constant + np.einsum("k,okn->n", self.v[:q], columns**2) / len(columns)
        weights = list(zip(self.v[q:], self.kernels.scales, strict=True))
        for (weight, scale), sketch in zip(weights, self.sketched, strict=False):
            # Diagonals of a low pass hardly differ between neighbours, and their mean is much less noisy.
            assert self.base.near is not None
            own = np.einsum("ij,ij->i", sketch, sketch)
            total += weight / scale * (self.base.near.averages() @ own + own) / 2
        views = [blocks for blocks in (self.base.views.related, self.base.views.rest) if blocks]
        for k, blocks in enumerate(views):
            (linear, scale), (flat, _) = weights[len(self.sketched) + 2 * k :][:2]
            lengths = sum(np.einsum("ij,ij->i", block.columns, block.columns, dtype=float) for block in blocks)
            total += linear / scale * lengths / len(blocks) + flat
        return total

    def covariance(self, items: Positions) -> Array:
        """Return the posterior covariance of some items, averaged over outputs."""
        columns = self.kernels.columns[:, :, items]
        q = columns.shape[1]
        total = self.constant + np.einsum("k,oki,okj->ij", self.v[:q], columns, columns, optimize=True) / len(columns)
        weights = list(zip(self.v[q:], self.kernels.scales, strict=True))
        for (weight, scale), sketch in zip(weights, self.sketched, strict=False):
            total += weight / scale * (sketch[items] @ sketch[items].T)
        views = [blocks for blocks in (self.base.views.related, self.base.views.rest) if blocks]
        for k, blocks in enumerate(views):
            (linear, scale), (flat, width) = weights[len(self.sketched) + 2 * k :][:2]
            H = np.hstack([block.columns[items] for block in blocks]) / np.sqrt(len(blocks))
            total += linear / scale * (H @ H.T) + flat * gaussian(squared_distances(H, H), width)
        for output, middle in enumerate(self.middles):
            C = self.kernels.cross(self.v, output, items) + self.constant
            total -= C @ middle @ C.T / len(self.middles)
        # Sketched and exact kernels do not quite fit together; what is left must still be a covariance.
        values, vectors = np.linalg.eigh(total)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T


def first_belief(base: LabelFree, prepared: Prepared) -> Belief:
    """Return the process before any label: expected variances, and nothing seen."""
    some = evenly(len(base.f), SCALING)  # that kernels are scaled by, as they are by labelled items later
    found = kernels(base, some, prepared)
    unseen = np.zeros((len(some), len(some)))
    return Belief(base, sketches(base, prepared), found, np.exp(found.prior.mean), [unseen], 1.0)


def suggest_first(base: LabelFree, prepared: Prepared) -> Positions:
    """Return the items to label first, see `suggest_items`; of many items some are looked at."""
    kept = evenly(len(base.f), FIRST)
    if len(kept) < len(base.f):
        base, prepared = thinned(base, kept, prepared), Prepared(prepared.problem, prepared.random_state)
    return kept[suggest_items(first_belief(base, prepared), np.exp(LOG_PRIOR_NOISE), np.empty(0, np.int64))]


def suggest_items(belief: Belief, noise: float, labelled: Positions) -> Positions:
    """Return items in the order in which their labels would lower the sum of all variances most.

    A label of item i lowers the variances of all by ||cov_i||^2 / (cov_ii + noise); then the next one is looked for.
    """
    unlabelled = np.setdiff1d(np.arange(len(belief.base.f)), labelled)
    pool = unlabelled[evenly(len(unlabelled), POOL)]
    C = belief.covariance(pool)
    chosen: list[int] = []
    free = np.ones(len(pool), bool)
    for _ in range(min(N_SUGGESTED, len(pool))):
        spread = np.maximum(np.diag(C), 0.0) + noise
        value = np.where(free, np.einsum("ij,ij->i", C, C) / spread, -np.inf)
        best = int(value.argmax())
        chosen.append(best)
        free[best] = False
        C = C - np.outer(C[best], C[best]) / spread[best]
    return pool[chosen]


def suggest_pairs(belief: Belief, g: Array, asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs, shape (k, 2), in the order in which comparing them would lower the sum of all variances most.

    A comparison sees the difference of two items with precision s (1 - s) / SCALE^2, s its expected outcome.

    Parameters
    ----------
    belief : Belief
        The process.
    g : ndarray of shape (n,)
        Its mean.
    asked : ndarray of shape (k, 2)
        Pairs that were compared already.
    """
    pool = evenly(len(g), PAIR_POOL)
    C, mean = belief.covariance(pool), g[pool]
    s = expit((mean[:, None] - mean) / SCALE)
    precision = s * (1 - s) / SCALE**2
    free = np.triu(np.ones((len(pool), len(pool)), bool), 1)
    place = np.full(len(g), -1)
    place[pool] = np.arange(len(pool))
    known = place[asked]
    known = known[(known >= 0).all(axis=1)]
    free[known.min(axis=1, initial=len(pool)), known.max(axis=1, initial=-1)] = False
    chosen = []
    for _ in range(min(N_SUGGESTED, int(free.sum()))):
        diagonal, G = np.diag(C), C @ C
        spread = np.maximum(diagonal[:, None] + diagonal - 2 * C, 0.0)
        length = np.maximum(np.diag(G)[:, None] + np.diag(G) - 2 * G, 0.0)
        value = np.where(free, length * precision / (1 + precision * spread), -np.inf)
        i, j = np.unravel_index(value.argmax(), value.shape)
        chosen.append((pool[i], pool[j]))
        free[i, j] = False
        difference = C[i] - C[j]
        C = C - np.outer(difference, difference) * precision[i, j] / (1 + precision[i, j] * spread[i, j])
    return np.array(chosen, np.int64).reshape(-1, 2)
