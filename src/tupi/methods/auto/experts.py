"""A second expert beside the process: what wins on ordinary tables, where items form no clusters.

It is a Gaussian process again, with the views' own kernels only and much expected of them: y = b0 f + constant + a
linear and a smooth function of the views + noise. Its linear part is ridge regression on [f, H] with a penalty by
marginal likelihood, started from f. Neither graph nor label-free answer has a part in it. Left-out labels say how much
of it to take; before any label, the less the fewer of f's deviations from its neighbours are signal, since there the
process with its graph is at home.

The share s of the expert has a Beta distribution before any label. Errors of (1 - s) first + s second are normal with
unknown variance, so that labels left out give s the likelihood (SSE(s) + slack)^-(m + PRIOR_LABELS) / 2. What is used
is the mean of s. Two predictions that err alike leave the prior as it is; one that errs clearly more gets nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tupi.embedding.relevance import evenly
from tupi.methods.auto.fitting import Fused, Process, expected
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.process import (
    CHOOSING_LABELS,
    PRIOR_SD,
    LeftOut,
    LogPrior,
    judged_apart,
    labelled_model,
    posterior,
)

LEAST_LABELS = 8  # fewer tell nothing of which expert errs less
LOG_PRIOR_F = -2.0  # log variance of f's slope around the expected one
LOG_PRIOR_LINEAR, LOG_PRIOR_SMOOTH = -1.0, -2.0  # of related views: expected to explain 37 and 14 per cent
UNRELATED = -1.0  # added to both for unrelated ones
MOST_SHARE, LEAST_SHARE = 0.5, 0.05  # expected share of the expert if all of f's deviations are signal, and if none is
TRIED = 200  # shares, each as likely as any other before labels
PRIOR_LABELS, PRIOR_VARIANCE = 2.0, 0.3  # the errors' variance is expected to be this, in that of the labels
Array = NDArray[np.float64]


def with_expert(problem: LabelFree, fused: Fused, z: Array) -> Fused:
    """Return the process's predictions, all and left-out ones, combined with those of the plain process.

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
    hoped = LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * problem.share.c
    first, second = (z[:, 0] - one.held_out[:, 0] for one in (fused.left_out, left_out))
    share = float(mean_share(first, second, hoped))
    both = combined_left_out(fused.left_out, left_out, z, hoped)
    return replace(fused, left_out=both, plain=plain, plain_share=share)


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
    model = labelled_model(at_labels, shared, expected_of, groups=None if constant else fused.groups)
    mean = expected(columns[:, 0], at_labels[:, 0].T)
    residuals = z - mean(labelled.base)
    some = evenly(len(z), CHOOSING_LABELS)
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    plain = Process(mean, columns, first, at_labels, v[:-1], after.duals, constant)
    return plain, judged_apart(model, after, z, z - residuals, fused.groups)


def combined_left_out(process: LeftOut, plain: LeftOut, z: Array, expected: float) -> LeftOut:
    """Return left-out predictions of the combination, each by a share that its own label had no part in.

    That share is chosen by the other labels, of which no prediction saw this one either; a pair meets the mean of two.
    """
    errors = [z - one.twice for one in (process, plain)]
    for one in errors:
        np.fill_diagonal(one, np.nan)
    share = mean_share(errors[0], errors[1], expected)
    mean = 0.5 * (share[:, None] + share)
    return LeftOut(
        (1 - share[:, None]) * process.held_out + share[:, None] * plain.held_out,
        (1 - mean) * process.differences + mean * plain.differences,
        (1 - share) * process.twice + share * plain.twice,
    )


def mean_share(first: Array, second: Array, expected: float) -> Array:
    """Return the mean share of the second predictions.

    Parameters
    ----------
    first, second : ndarray of shape (m, ...)
        Errors of labels left out, in deviations of the labels; NaN for those that must not count. What follows the
        first axis are separate questions.
    expected : float
        The share before any label, between 0 and 1, with the weight of one label.
    """
    counts = np.isfinite(first).sum(axis=0)
    step = second - first
    start, cross, curve = (np.nansum(one, axis=0) for one in (first**2, first * step, step**2))
    tried = beta.ppf((np.arange(TRIED) + 0.5) / TRIED, expected, 1 - expected)
    s = tried.reshape(-1, *[1] * counts.ndim)
    sse = np.maximum(start + 2 * s * cross + s**2 * curve, 0.0)
    logs = -0.5 * (counts + PRIOR_LABELS) * np.log(sse + PRIOR_LABELS * PRIOR_VARIANCE)
    likely = np.exp(logs - logs.max(axis=0))
    found: Array = (s * likely).sum(axis=0) / likely.sum(axis=0)
    return found
