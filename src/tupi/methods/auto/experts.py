"""Experts beside the process: what wins on ordinary tables, where items form no clusters.

The *plain* one is a Gaussian process again, with the views' own kernels only and much expected of them: y = b0 f +
constant + a linear and a smooth function of the views + noise. Its linear part is ridge regression on [f, H] with a
penalty by marginal likelihood, started from f. Neither graph nor label-free answer has a part in it. The third expert
are trees (`tupi.methods.auto.trees`), which take part with labels enough to grow them.

Left-out labels say how much of each to take (`tupi.methods.auto.shares`); before any label, less of both the fewer of
f's deviations from its neighbours are signal, since there the process with its graph is at home.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.relevance import evenly
from tupi.methods.auto import trees
from tupi.methods.auto.fitting import Fused, Process
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.means import expected
from tupi.methods.auto.process import (
    CHOOSING_LABELS,
    FOLDS,
    PRIOR_SD,
    LeftOut,
    LogPrior,
    judged_apart,
    labelled_model,
    posterior,
)
from tupi.methods.auto.shares import mean_shares

LEAST_LABELS = 8  # fewer tell nothing of which expert errs less
LOG_PRIOR_F = -2.0  # log variance of f's slope around the expected one
LOG_PRIOR_LINEAR, LOG_PRIOR_SMOOTH = -1.0, -2.0  # of related views: expected to explain 37 and 14 per cent
UNRELATED = -1.0  # added to both for unrelated ones
MOST_SHARE, LEAST_SHARE = 0.5, 0.05  # expected share of the expert if all of f's deviations are signal, and if none is
LEAST_FOR_TREES = 40  # labels: fewer grow trees that say little
LEAST_OF_TREES = 0.03  # share below which trees are left out
Array = NDArray[np.float64]


def with_experts(problem: LabelFree, fused: Fused, z: Array) -> Fused:
    """Return the process's predictions, all and left-out ones, combined with those of the other experts.

    Parameters
    ----------
    problem : LabelFree
        The problem without labels.
    fused : Fused
        The process fitted to values, one output.
    z : ndarray of shape (m, 1)
        The labels.
    """
    if len(z) < LEAST_LABELS or not fused.labelled.views:
        return fused
    plain, left_out = fit_plain(problem, fused, z)
    judged = [fused.left_out, left_out]
    fused = replace(fused, plain=plain)
    if len(z) >= LEAST_FOR_TREES and fused.weights is None:
        columns = fused.seen_by_trees(fused.labelled)
        # As for the process, a group is judged as one without any label would be.
        dealt = np.arange(len(z)) if fused.groups is None or fused.groups.max() < 2 else fused.groups
        judged.append(of_trees(trees.left_out(columns, z[:, 0], dealt % FOLDS)))
    hoped = LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * problem.share.c
    sure = np.ones(len(z)) if fused.weights is None else np.sqrt(fused.weights)  # by so much an error counts more
    shares = mean_shares(np.array([sure * (z[:, 0] - one.held_out[:, 0]) for one in judged]), hoped)
    if len(judged) > 2 and shares[2] < LEAST_OF_TREES:  # all items would have to meet all trees for next to nothing
        judged.pop()
        shares = mean_shares(np.array([sure * (z[:, 0] - one.held_out[:, 0]) for one in judged]), hoped)
    forest = trees.grow(columns, z[:, 0]) if len(judged) > 2 else None
    return replace(
        fused,
        left_out=combined_left_out(judged, z, hoped, sure),
        plain_share=float(shares[1]),
        forest=forest,
        forest_share=float(shares[2]) if forest else 0.0,
    )


def of_trees(held_out: Array) -> LeftOut:
    """Return predictions of labels by trees that did not see them.

    Trees that say something of one label saw others, and pull what they say towards these: a difference between two
    left-out labels comes out too small, which is on the safe side.
    """
    each = np.repeat(held_out[:, None], len(held_out), axis=1)
    return LeftOut(held_out[:, None], each - each.T, each)


def fit_plain(problem: LabelFree, fused: Fused, z: Array) -> tuple[Process, LeftOut]:
    """Return the plain process, and what it says of labelled items without their labels."""
    labelled, first = fused.labelled, len(fused.kernels.tables)
    prior = [LOG_PRIOR_F]
    for views, less in ((problem.layout.related, 0.0), (problem.layout.rest, UNRELATED)):
        prior.extend([LOG_PRIOR_LINEAR + less, LOG_PRIOR_SMOOTH + less] if views else [])
    columns = problem.unit(problem.only(0))[:, None]
    at_labels = np.einsum("cqk,nck->cqn", columns, labelled.base)
    shared = fused.kernels.within()[first:]
    expected_of = LogPrior(np.array(prior), np.full(len(prior), PRIOR_SD))
    constant = fused.process.constant  # none: each group has its own
    model = labelled_model(
        at_labels, shared, expected_of, groups=None if constant else fused.groups, weights=fused.weights
    )
    mean = expected(columns[:, 0], at_labels[:, 0].T)
    residuals = z - mean(labelled.base)
    some = evenly(len(z), CHOOSING_LABELS)
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    plain = Process(mean, columns, first, at_labels, v[:-1], after.duals, constant)
    return plain, judged_apart(model, after, z, z - residuals, fused.groups)


def combined_left_out(judged: Sequence[LeftOut], z: Array, expected: float, sure: Array | None = None) -> LeftOut:
    """Return left-out predictions of the combination, each by shares that its own label had no part in.

    These are chosen by the other labels, of which no prediction saw this one either; a pair meets the mean of two.
    """
    errors = np.array([(z - one.twice) * (1.0 if sure is None else sure[:, None]) for one in judged])
    for one in errors:
        np.fill_diagonal(one, np.nan)
    shares = mean_shares(errors, expected)
    pairs = 0.5 * (shares[:, :, None] + shares[:, None])
    return LeftOut(
        np.einsum("am,amc->mc", shares, np.array([one.held_out for one in judged])),
        np.einsum("aij,aij->ij", pairs, np.array([one.differences for one in judged])),
        np.einsum("aj,aij->ij", shares, np.array([one.twice for one in judged])),
    )
