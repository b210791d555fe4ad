"""Hypotheses in which one view, or one column, explains most of what views explain.

Ordinary tables have a few columns that matter and many that do not, and so do views. A kernel of all columns side by
side takes them for equally good, and labels go into finding out which are. So some of the hypotheses say that one
*subset* of the columns leads, which is either a view or a single column: of what views explain, it explains the share
`LED`, linearly, and all columns together the rest. There is one such hypothesis for each subset and each of those about
all columns. Their mean is a regression that trusts columns by as much as labels speak for each.

There may be thousands, most of which labels rule out at once. For all columns together this takes one system of
equations: with K = L L^T the covariance without x x^T, the one with c x x^T has t = 1 + c |L^-1 x|^2 times its
determinant, and r^T K^-1 r is less by c (x^T K^-1 r)^2 / t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf

from tupi.embedding.relevance import evenly
from tupi.methods.auto.hypotheses import FEW, MOST_TRIED, AtLabels, Hypotheses
from tupi.methods.auto.items import Layout
from tupi.methods.auto.kernels import Features

OF_SUBSETS = 0.5  # how likely it is that one of them leads
LED = 0.7  # share that it then explains, of what views explain
OF_COLUMNS = 0.5  # how likely it is a column rather than a view
MOST_COLUMNS = 100  # more are hardly columns of a table: pixels, or an embedding, of which none says much by itself
MOST_STANDING, HOPELESS = 300, 10.0  # how many remain at most, and the log odds below which none does
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subsets:
    """Columns that may lead: those of one view each, and single ones.

    Attributes
    ----------
    where : ndarray of shape (s, 3)
        Which of ``Features.views``, the first of its columns, and the one after the last.
    scales : ndarray of shape (s,)
        Mean squared length of the labelled items' rows of these columns.
    """

    where: Positions
    scales: Array

    def of(self, items: Features, number: int) -> Array:
        """Return the columns of a subset, with which its kernel is X X^T, of mean diagonal one on labelled items."""
        block, first, end = self.where[number]
        return np.asarray(items.views[block][:, first:end], np.float64) / np.sqrt(self.scales[number])

    def slopes(self, labelled: Features, said: Hypotheses, duals: Array) -> list[Array]:
        """Return what all hypotheses together multiply each column by, shape (d, 1), for each of ``Features.views``.

        ``duals`` are K^-1 times the residuals, for each hypothesis.
        """
        found = [np.zeros((X.shape[1], 1)) for X in labelled.views]
        for number in np.unique(said.subset[said.subset >= 0]):
            of = said.subset == number
            weights = (said.shares[of] * said.of_subset[of]) @ duals[of]
            block, first, end = self.where[number]
            found[block][first:end, 0] += weights @ self.of(labelled, number) / np.sqrt(self.scales[number])
        return found

    def variances(self, said: Hypotheses, blocks: int) -> Array:
        """Return by how much subsets of each of ``Features.views`` are expected to vary, by all hypotheses."""
        led = said.subset >= 0
        weights = said.shares[led] * said.of_subset[led]
        return np.bincount(self.where[said.subset[led], 0], weights, blocks).astype(np.float64)


def subsets_of(layout: Layout, labelled: Features) -> Subsets | None:
    """Return all subsets of the views' columns that tell anything of labelled items; None if there are not two."""
    where: list[tuple[int, int, int]] = []
    blocks = [layout.offsets(views) for views in (layout.related, layout.rest) if views]
    views = [(k, int(a), int(b)) for k, ends in enumerate(blocks) for a, b in pairwise(ends) if b > a]
    columns = [(k, a, a + 1) for k, ends in enumerate(blocks) for a in range(ends[-1])]
    where += views if len(views) > 1 else []
    where += [one for one in columns if one not in where] if 1 < len(columns) <= MOST_COLUMNS else []
    if len(labelled.base) < FEW or not where:
        return None
    lengths = [np.mean(np.sum(np.square(labelled.views[k][:, a:b], dtype=np.float64), axis=1)) for k, a, b in where]
    telling = [k for k, length in enumerate(lengths) if length > 1e-12]
    return Subsets(np.array(where)[telling], np.array(lengths)[telling]) if telling else None


def with_leading(
    known: AtLabels, tried: Hypotheses, layout: Layout, labelled: Features
) -> tuple[AtLabels, Hypotheses, Subsets | None]:
    """Return labels and hypotheses about the views' own columns, both with those subsets that may lead, and these.

    Parameters
    ----------
    known : AtLabels
        The labels.
    tried : Hypotheses
        Those about all columns, before any label.
    layout, labelled : Layout and Features
        Which views there are, and the labelled items.
    """
    subsets = subsets_of(layout, labelled)
    if subsets is None or not len(tried.logs):
        return known, tried, None
    known = known._replace(subsets=[subsets.of(labelled, number) for number in range(len(subsets.where))])
    return known, with_subsets(known, tried, subsets), subsets


def with_subsets(known: AtLabels, tried: Hypotheses, subsets: Subsets) -> Hypotheses:
    """Return hypotheses about the views' own columns together with those of subsets that labels do not rule out.

    Parameters
    ----------
    known : AtLabels
        The labels, with the subsets' columns.
    tried : Hypotheses
        Those about all columns, before any label: linear ones, and as many partly smooth ones after them.
    subsets : Subsets
        The subsets.
    """
    q, base = len(known.columns), tried[np.arange(len(tried.logs) // 2, len(tried.logs))]
    explained = base.variances[:, q:].sum(axis=1)
    variances = base.variances.copy()
    variances[:, q:] *= 1 - LED
    base = replace(base, variances=variances, of_subset=LED * explained, logs=base.logs + np.log(2 * OF_SUBSETS))
    single = subsets.where[:, 2] - subsets.where[:, 1] == 1
    chances = np.where(single, OF_COLUMNS / max(single.sum(), 1), (1 - OF_COLUMNS) / max((~single).sum(), 1))
    some = known if len(known.z) <= MOST_TRIED else known.among(evenly(len(known.z), MOST_TRIED))
    logs = _logs(some, base, single) + np.log(chances / chances.sum())
    order = np.argsort(-logs, axis=None, kind="stable")[:MOST_STANDING]
    standing = np.sort(order[logs.ravel()[order] > logs.max() - HOPELESS])
    which, number = np.unravel_index(standing, logs.shape)
    led = base[which]
    led = replace(led, subset=number, logs=led.logs + np.log(chances / chances.sum())[number])
    return tried.less_likely(1 - OF_SUBSETS).beside(led)


def _logs(known: AtLabels, base: Hypotheses, single: NDArray[np.bool_]) -> Array:
    """Return how much each hypothesis about each subset counts after the labels, but for a constant, shape (h, s)."""
    columns = np.array([X[:, 0] for X, alone in zip(known.subsets, single, strict=True) if alone]).reshape(
        -1, len(known.z)
    )
    found = np.empty((len(base.logs), len(single)))
    for h in range(len(base.logs)):
        K = known.covariance(base.variances[h], base.noise[h], base.shifts[h])
        residuals, c = known.z - known.mean(base.slopes[h], base.heights[h]), base.of_subset[h]
        L = dpotrf(K, lower=True, clean=True)[0]
        both = solve_triangular(L, np.vstack([residuals, columns]).T, lower=True, check_finite=False)
        r, X = both[:, 0], both[:, 1:]
        t = 1 + c * np.einsum("mk,mk->k", X, X)
        found[h, single] = -np.log(np.diag(L)).sum() - 0.5 * np.log(t) - 0.5 * (r @ r - c * (r @ X) ** 2 / t)
        for number, columns_of_view in enumerate(known.subsets):
            if single[number]:
                continue
            L = dpotrf(K + c * columns_of_view @ columns_of_view.T, lower=True, clean=True)[0]
            r = solve_triangular(L, residuals, lower=True, check_finite=False)
            found[h, number] = -np.log(np.diag(L)).sum() - 0.5 * r @ r
    return found + base.logs[:, None]
