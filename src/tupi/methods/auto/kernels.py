"""What is expected of items before any label: mean functions, and the kernels of the Gaussian process.

Kernels are between any items and the labelled ones, each with mean diagonal one on these:

- rank one: the label-free answer, and what f and f smoothed at several strengths have beyond it;
- graph: (I + c (I - W))^-2, a low pass of the anchor graph. The square matters: one alone is mostly local;
- views: a linear and a Gaussian kernel of all related views side by side, and another two of the rest.

How far smoothed columns are trusted before any label is seen is what the label-free sign says: their prior variance is
multiplied by the share of error in the residual.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tupi.blocks.home import Rows, reads_views
from tupi.embedding.anchors import GraphKernel, Near
from tupi.embedding.gaussian import squared_distances
from tupi.methods.auto.items import slope
from tupi.methods.auto.labelfree import LabelFree, Layout, with_one
from tupi.methods.auto.process import PRIOR_SD, LogPrior

LOG_PRIOR = -2.0  # log variance of a column or graph kernel: expected to explain 14 per cent of the labels' variance
LOG_PRIOR_VIEW = -4.0  # of a kernel of the views themselves, 2 per cent: these extrapolate, and harm with few labels
LOG_PRIOR_REST, SD_REST = -6.0, 2.0  # of unrelated views: most are junk, but one that is not may explain anything
LEAST_TRUST = 0.05  # share of their prior variance that smoothed columns keep where the sign says that nothing is error
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Linear:
    """The mean function for scores and values: predictions with the slope that is expected.

    Attributes
    ----------
    coefficients : ndarray of shape (c, k + 1)
        How it is made of one and the base columns.
    """

    coefficients: Array

    def __call__(self, base: Array) -> Array:
        """Return the mean function."""
        return np.einsum("ck,nck->nc", self.coefficients, base)


def expected(columns: Array, at_labels: Array) -> Linear:
    """Return the mean function that predicts with the slope that is expected.

    Parameters
    ----------
    columns : ndarray of shape (c, k + 1)
        How the predictions are made of one and the base columns.
    at_labels : ndarray of shape (m, c)
        Their values at the labelled items.
    """
    slopes = np.array([slope(one) for one in at_labels.T])
    coefficients = columns * slopes[:, None]
    coefficients[:, 0] -= slopes * at_labels.mean(axis=0)
    return Linear(coefficients)


def line_of(slopes: Array, columns: Array, at_labels: Array, height: float = 0.0) -> Linear:
    """Return the mean function with given slopes of columns, and its height on average over the labelled items."""
    coefficients = np.einsum("q,cqk->ck", slopes, columns)
    coefficients[:, 0] += height
    coefficients[:, 0] -= np.einsum("q,cq->c", slopes, at_labels.mean(axis=2))
    return Linear(coefficients)


@dataclass(frozen=True, eq=False)
class Chances:
    """The mean function for classes: label-free probabilities, in deviations of the labels.

    Attributes
    ----------
    answer : ndarray of shape (c, k + 1)
        How the label-free answer is made of one and the base columns.
    scale, shift : ndarray of shape (c,)
        How that becomes logarithms of probabilities, up to a constant.
    frequency, unit : ndarray of shape (c,)
        Expected shares of the classes, and the deviations of indicators of them.
    """

    answer: Array
    scale: Array
    shift: Array
    frequency: Array
    unit: Array

    def shares(self, base: Array) -> Array:
        """Return label-free probabilities of items."""
        return softmax(np.einsum("ck,nck->nc", self.answer, base) * self.scale + self.shift, axis=1)

    def __call__(self, base: Array) -> Array:
        """Return the mean function."""
        return (self.shares(base) - self.frequency) / self.unit


@dataclass(frozen=True, eq=False)
class Features:
    """All that the process sees of some items.

    Attributes
    ----------
    base : ndarray of shape (n, c, k + 1)
        One and the base columns, see `tupi.methods.auto.labelfree`.
    near : Near or None
        Their anchors, if any view is related.
    views : list of ndarray of shape (n, d)
        The related views side by side, and the rest, as far as there are any; each with total variance one.
    """

    base: Array
    near: Near | None
    views: list[NDArray[np.floating]]

    def __getitem__(self, chosen: Positions | slice) -> Features:
        """Return some of the items."""
        near = None if self.near is None else self.near[chosen]
        return Features(self.base[chosen], near, [columns[chosen] for columns in self.views])


def features_of(rows: Rows, base: Array, near: Near | None, layout: Layout) -> Features:
    """Return the features of the items in a block."""
    return Features(with_one(base), near, layout.laid_out(rows))


@reads_views
def _as_arrays(rows: Rows, base: Array, *near: Near, layout: Layout) -> list[NDArray[np.generic]]:
    found = features_of(rows, base, near[0] if near else None, layout)
    return [found.base, *([near[0].numbers, near[0].weights] if near else []), *found.views]


def pick_features(problem: LabelFree, items: Positions) -> Features:
    """Return the features of some items."""
    kept = [problem.base] if problem.near is None else [problem.base, problem.near]
    base, *others = problem.home.picked(items, _as_arrays, *kept, layout=problem.layout)
    near = None if problem.near is None else Near(*others[:2])
    return Features(base, near, others[0 if near is None else 2 :])


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernels between any items and the labelled ones.

    Attributes
    ----------
    labelled : Features
        The labelled items.
    columns : ndarray of shape (c, q, k + 1)
        How the columns of rank-one kernels are made of one and the base columns, for each output.
    tables : list of GraphKernel
        Graph kernels between anchors.
    scales, widths : list of float
        For each of ``labelled.views``, what its linear kernel is divided by, and the squared width of the Gaussian one.
    prior : LogPrior
        Of the variances of all columns and shared kernels.
    """

    labelled: Features
    columns: Array
    tables: list[GraphKernel]
    scales: list[float]
    widths: list[float]
    prior: LogPrior

    def of_columns(self, items: Features) -> Array:
        """Return the columns of rank-one kernels, shape (c, q, n)."""
        return np.einsum("cqk,nck->cqn", self.columns, items.base, optimize=True)

    def shared(self, items: Features, others: Features | None = None) -> list[NDArray[np.floating]]:
        """Return the kernels that all outputs share, each of shape (n, m), between items and the labelled ones."""
        there = self._there if others is None else self._graph_to(others)
        others = self.labelled if others is None else others
        found: list[NDArray[np.floating]] = [] if items.near is None else [items.near.gather(one) for one in there]
        for X, Y, scale, width in zip(items.views, others.views, self.scales, self.widths, strict=True):
            product = X @ Y.T
            squares = np.einsum("ij,ij->i", X, X)[:, None] + np.einsum("ij,ij->i", Y, Y) - 2 * product
            found += [product / scale, np.exp(np.maximum(squares, 0.0, out=squares) / (-2 * width))]
        return found

    def applied(self, items: Features, weights: list[Array]) -> Array:
        """Return the sum of the products of all shared kernels with weights of the labelled items, shape (n, c).

        It is what `shared` would give, times the weights; but the graph's kernels and the linear ones meet the weights
        before the items, which is many times as fast.

        Parameters
        ----------
        items : Features
            The items.
        weights : list of ndarray of shape (m, c)
            For each of the kernels, in the order of `shared`.
        """
        total = np.zeros((len(items.base), weights[0].shape[1]))
        if items.near is not None:
            graph = [there @ w for there, w in zip(self._there, weights, strict=False)]
            total += items.near.gather(np.sum(graph, axis=0))
        of_views = iter(weights[len(self.tables) :])
        for X, Y, scale, width in zip(items.views, self.labelled.views, self.scales, self.widths, strict=True):
            total += X @ (Y.T @ (next(of_views) / scale)).astype(X.dtype)
            total += np.exp(squared_distances(X, Y) / X.dtype.type(-2 * width)) @ next(of_views)
        return total

    @cached_property
    def _there(self) -> list[Array]:
        return self._graph_to(self.labelled)

    def _graph_to(self, others: Features) -> list[Array]:
        """Return the graph kernels between anchors and some items, each of shape (a, m)."""
        if others.near is None:
            return []
        Zt = _columns_of(others.near, self.tables)
        return [np.asarray(table.times(Zt), np.float64) for table in self.tables]

    def own(self, items: Features, v: Array, graph: NDArray[np.float32] | None) -> Array:
        """Return the diagonal of the shared kernels' sum, given their variances and that of the graph's tables."""
        total = np.zeros(len(items.base))
        if items.near is not None and graph is not None:
            total += items.near.diagonal(graph)
        of_views = iter(v[len(self.tables) :])
        for X, scale in zip(items.views, self.scales, strict=True):
            total += next(of_views) / scale * np.einsum("ij,ij->i", X, X, dtype=np.float64) + next(of_views)
        return total

    def within(self) -> Array:
        """Return the shared kernels among the labelled items, symmetric."""
        m = len(self.labelled.base)
        blocks = [K.astype(np.float64) for K in self.shared(self.labelled)]
        return np.array([0.5 * (K + K.T) for K in blocks]).reshape(-1, m, m)


def with_tables(kernels: Kernels, tables: list[GraphKernel]) -> Kernels:
    """Return kernels together with those of the graph, each with mean diagonal one on the labelled items."""
    if kernels.labelled.near is None:
        return kernels
    Zt = _columns_of(kernels.labelled.near, tables)
    there = [table.to(kernels.labelled.near) for table in tables]
    factors = [1 / max(float(np.einsum("ij,ij->j", Zt, one).mean()), 1e-12) for one in there]
    found = replace(kernels, tables=[table.scaled(by) for table, by in zip(tables, factors, strict=True)])
    vars(found)["_there"] = [one.astype(np.float64) * by for one, by in zip(there, factors, strict=True)]  # at hand
    return found


def _columns_of(near: Near, tables: list[GraphKernel]) -> NDArray[np.float32]:
    """Return Z^T of some items."""
    return near.scatter(np.eye(len(near.numbers)), len(tables[0].roots)).astype(np.float32)


def kernels(problem: LabelFree, labelled: Features, with_f: bool = False) -> Kernels:
    """Return the kernels to the given items; if asked for, with last columns that are f itself, of no known prior.

    For rankings, scores as they came are the last but one, and normal scores the last.
    """
    trust = np.log(1 - problem.share.c + LEAST_TRUST)
    log_prior = [LOG_PRIOR + (trust if k > 1 else 0.0) for k in range(problem.columns.shape[1])]
    log_prior.extend([LOG_PRIOR] * len(problem.tables))
    scales, widths = [], []
    for X, Y in zip(labelled.views, problem.typical, strict=True):
        scales.append(max(float(np.mean(np.einsum("ij,ij->i", X, X))), 1e-12))
        widths.append(max(float(np.median(squared_distances(Y, X))), 1e-12))
    for views, expected in ((problem.layout.related, LOG_PRIOR_VIEW), (problem.layout.rest, LOG_PRIOR_REST)):
        log_prior.extend([expected] * 2 if views else [])
    sd = np.full(len(log_prior), PRIOR_SD)
    if problem.layout.rest:
        sd[-2:] = SD_REST
    of_f = [problem.only(len(problem.moments[0]) - 2), problem.only(0)] if problem.scored else [problem.only(0)]
    columns = [problem.columns, *(problem.unit(one)[:, None] for one in of_f)] if with_f else [problem.columns]
    found = Kernels(labelled, np.concatenate(columns, axis=1), [], scales, widths, LogPrior(np.array(log_prior), sd))
    return with_tables(found, problem.tables)
