"""A second expert beside the process: what wins on ordinary tables, where items form no clusters.

It is a Gaussian process again, with the views' own kernels only and much expected of them: y = b0 f + constant + a
linear and a smooth function of the views + noise. Its linear part is ridge regression on [f, H] with a penalty by
marginal likelihood, started from f. Neither graph nor label-free answer has a part in it. Left-out labels say how much
of it to take; before any label, the less the fewer of f's deviations from its neighbours are signal, since there the
process with its graph is at home.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.relevance import evenly
from tupi.methods.auto.fitting import Fused, expected_by
from tupi.methods.auto.kernels import Kernels
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.leftout import CHOOSING_LABELS, LeftOut, judged_apart
from tupi.methods.auto.process import PRIOR_SD, LogPrior, labelled_model, posterior
from tupi.methods.auto.stacking import mean_share

LEAST_LABELS = 20  # with ten labels, one target in thirty lost half a point to a point
LOG_PRIOR_F = -2.0  # log variance of f's slope around the expected one
LOG_PRIOR_LINEAR, LOG_PRIOR_SMOOTH = -1.0, -2.0  # of related views: expected to explain 37 and 14 per cent
UNRELATED = -1.0  # added to both for unrelated ones
MOST_SHARE, LEAST_SHARE = 0.5, 0.05  # expected share of the expert if all of f's deviations are signal, and if none is
Array = NDArray[np.float64]


def with_expert(base: LabelFree, fused: Fused, z: Array) -> Fused:
    """Return the process's predictions, all and left-out ones, combined with those of the plain process.

    Parameters
    ----------
    base : LabelFree
        The problem without labels.
    fused : Fused
        The process fitted to values, one output.
    z : ndarray of shape (m, 1)
        The labels.
    """
    found = plain_kernels(base, fused.belief.kernels)
    if len(z) < LEAST_LABELS or not found.shared:
        return fused
    g, plain = fit_plain(base, found, z)
    expected = LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * base.share.c
    share = float(mean_share(z[:, 0] - fused.held_out[:, 0], z[:, 0] - plain.held_out[:, 0], expected))
    assert fused.twice is not None
    both = combined_left_out(LeftOut(fused.held_out, fused.differences, fused.twice), plain, z, expected)
    return replace(
        fused,
        g=(1 - share) * fused.g + share * g,
        held_out=both.held_out,
        differences=both.differences,
        twice=both.twice,
        plain_share=share,
    )


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


def plain_kernels(base: LabelFree, found: Kernels) -> Kernels:
    """Return the kernels of f and of the views' own columns, with what is expected of them here."""
    n_blocks = sum(1 for blocks in (base.views.related, base.views.rest) if blocks)
    first = len(found.shared) - 2 * n_blocks
    expected = [LOG_PRIOR_F]
    for blocks, less in ((base.views.related, 0.0), (base.views.rest, UNRELATED)):
        if blocks:
            expected.extend([LOG_PRIOR_LINEAR + less, LOG_PRIOR_SMOOTH + less])
    columns = np.ascontiguousarray(base.columns[1].T[:, None])
    prior = LogPrior(np.array(expected), np.full(len(expected), PRIOR_SD))
    return Kernels(found.rows, columns, found.shared[first:], found.scales[first:], prior)


def fit_plain(base: LabelFree, found: Kernels, z: Array) -> tuple[Array, LeftOut]:
    """Return what the plain process says of all items, shape (n, 1), and of labelled ones without their labels."""
    rows = found.rows
    mean = expected_by(base.columns[1], rows)
    residuals = z - mean[rows]
    model = labelled_model(found.columns[:, :, rows], found.within(), found.prior)
    some = evenly(len(rows), CHOOSING_LABELS)
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    g = mean[:, 0] + found.times(v[:-1], after.duals[:, 0], 0) + after.duals.sum()
    return g[:, None], judged_apart(model, after, z, mean[rows])
