"""Which labels would teach the process most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tupi.embedding.relevance import evenly
from tupi.inputs.groups import Groups
from tupi.methods.auto.answers import Answer
from tupi.methods.auto.comparisons import ComparisonAnswer
from tupi.methods.auto.fused import Fused, Process
from tupi.methods.auto.kernels import Linear, kernels, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.preferences import SCALE
from tupi.methods.auto.process import LOG_PRIOR_NOISE, LeftOut
from tupi.runtime.computing import one_blas_thread

POOL, PAIR_POOL = 500, 300  # items among which suggestions are looked for
N_SUGGESTED = 100
SCALING = 16  # items that kernels are scaled by before any label
Positions = NDArray[np.int64]


def suggest_first(problem: LabelFree) -> Positions:
    """Return the items to label first, when nothing is seen and variances are those expected."""
    labelled = pick_features(problem, problem.evenly(SCALING))
    found = kernels(problem, labelled)
    m, c = labelled.base.shape[:2]
    nothing = np.zeros((m, c))
    variances = np.exp(found.prior.mean)
    process = Process(
        Linear(problem.columns[:, 0]), found.columns, 0, found.of_columns(labelled), variances, nothing, 1.0
    )
    unseen = Fused(found, process, [np.zeros((m, m))], 0.0, LeftOut.nothing(), np.empty(0), np.empty(0, np.int64))
    return suggest_items(problem, unseen, float(np.exp(LOG_PRIOR_NOISE)), np.empty(0, np.int64))


def suggest_next(answer: Answer) -> Positions:
    """Return the items, or the pairs of items, to ask for next, given what the labels made of the problem."""
    with one_blas_thread():
        if isinstance(answer, ComparisonAnswer):
            asked = answer.rows[np.column_stack([answer.higher, answer.lower])]
            return suggest_pairs(answer.problem, answer.fused, asked, answer.scale.groups)
        return suggest_items(answer.problem, answer.fused, answer.fused.noise, answer.rows)


def suggest_items(problem: LabelFree, fused: Fused, noise: float, labelled: Positions) -> Positions:
    """Return items in the order in which their labels would lower the sum of all variances most.

    A label of item i lowers the variances of all by ||cov_i||^2 / (cov_ii + noise); then the next one is looked for.
    """
    unlabelled = problem.order[~np.isin(problem.order, labelled)]
    pool = unlabelled[evenly(len(unlabelled), POOL)]
    if not len(pool):
        return pool
    C = fused.covariance(pick_features(problem, pool))
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


def suggest_pairs(
    problem: LabelFree, fused: Fused, asked: NDArray[np.int64], grouped: Groups | None = None
) -> NDArray[np.int64]:
    """Return pairs, shape (k, 2), in the order in which comparing them would lower the sum of all variances most.

    A comparison sees the difference of two items with precision s (1 - s) / SCALE^2, s its expected outcome.

    Parameters
    ----------
    problem : LabelFree
        The problem.
    fused : Fused
        The process.
    asked : ndarray of shape (k, 2)
        Pairs that were compared already.
    grouped : Groups, optional
        The group of each item, if pairs must be within groups.
    """
    pool = problem.evenly(PAIR_POOL)
    groups = None if grouped is None else grouped.numbers
    if groups is not None:  # all items of some groups
        size, first = np.bincount(groups), np.unique(groups[problem.order], return_index=True)[1]
        named = np.argsort(first)[evenly(len(first), max(1, int(PAIR_POOL / size.mean())))]
        pool = problem.order[np.isin(groups[problem.order], named)][:PAIR_POOL]
    items = pick_features(problem, pool)
    C, mean = fused.covariance(items), fused(items)[0][:, 0]
    s = expit((mean[:, None] - mean) / SCALE)
    precision = s * (1 - s) / SCALE**2
    free = np.triu(np.ones((len(pool), len(pool)), bool), 1)
    if groups is not None:
        free &= np.equal.outer(groups[pool], groups[pool])
    place = np.full(len(problem.order), -1)
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
