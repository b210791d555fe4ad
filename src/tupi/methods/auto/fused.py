"""What the labels made of the problem: a function of an item, and the passes over items that it takes part in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Rows, reads_views
from tupi.embedding.anchors import Near
from tupi.methods.auto.clouds import Clouds
from tupi.methods.auto.hypotheses import Hypotheses
from tupi.methods.auto.items import Layout
from tupi.methods.auto.kernels import Chances, Features, Kernels, Linear, features_of, line_of
from tupi.methods.auto.labelfree import with_one
from tupi.methods.auto.preferences import Answers
from tupi.methods.auto.process import LeftOut
from tupi.methods.auto.subsets import Subsets
from tupi.methods.auto.trees import Forest

ENTRIES = 1 << 20  # of kernels that are computed at once
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Process:
    """A Gaussian process after the labels: an explicit function of an item.

    Attributes
    ----------
    mean : Linear or Chances
        The mean function.
    columns : ndarray of shape (c, q, k + 1)
        The columns of rank-one kernels.
    first : int
        The first of the shared kernels that it has; it has all that follow.
    at_labels : ndarray of shape (c, q, m)
        The columns at the labelled items.
    v : ndarray of shape (q + p,)
        Variances of columns and shared kernels.
    duals : ndarray of shape (m, c)
        K^-1 times the residuals.
    constant : float
        Prior variance of a shift that all items share.
    """

    mean: Linear | Chances
    columns: Array
    first: int
    at_labels: Array
    v: Array
    duals: Array
    constant: float

    def covariances(self, items: Features, shared: list[NDArray[np.floating]], output: int) -> Array:
        """Return the prior covariance of items with the labelled ones, given the shared kernels between them."""
        q = self.columns.shape[1]
        columns = np.einsum("qk,nk->nq", self.columns[output], items.base[:, output])
        total = (columns * self.v[:q]) @ self.at_labels[output] + self.constant
        for weight, K in zip(self.v[q:], shared[self.first :], strict=True):
            total += weight * K
        return total

    def apart(self, items: Features) -> Array:
        """Return what the process says of items but for the shared kernels' part, shape (n, c)."""
        q = self.columns.shape[1]
        slopes = self.v[:q, None] * np.einsum("cqm,mc->qc", self.at_labels, self.duals)
        moved = np.einsum("cqk,qc,nck->nc", self.columns, slopes, items.base, optimize=True)
        return self.mean(items.base) + moved + self.constant * self.duals.sum(axis=0)

    def weights(self) -> list[Array]:
        """Return by what each of the shared kernels is multiplied, see `tupi.methods.auto.kernels.Kernels.applied`."""
        none = [np.zeros_like(self.duals)] * self.first
        return none + [v * self.duals for v in self.v[self.columns.shape[1] :]]


@dataclass(frozen=True, eq=False)
class Average:
    """What values made of all hypotheses together: an explicit function of an item.

    Given the labels, what each hypothesis says is linear in the base columns and in the kernels, and so is the mean.

    Attributes
    ----------
    line : ndarray of shape (c, k + 1)
        Its part in one and the base columns.
    weights : list of ndarray of shape (m, c)
        By what each of the shared kernels is multiplied, see `tupi.methods.auto.kernels.Kernels.applied`.
    hypotheses : Hypotheses
        What it is the mean of.
    led : list of ndarray of shape (d, c)
        By what the columns of each of the items' views are multiplied beside, because some of them lead.
    subsets : Subsets or None
        Which columns may lead.
    """

    line: Array
    weights: list[Array]
    hypotheses: Hypotheses
    led: list[Array] = field(default_factory=list)
    subsets: Subsets | None = None

    def mean(self, process: Process) -> Linear:
        """Return what is expected before any label, by the hypotheses as they count after."""
        h = self.hypotheses
        return line_of(h.shares @ h.slopes, process.columns, process.at_labels, float(h.shares @ h.heights))

    def means(self, process: Process) -> Iterator[tuple[float, Linear, Array, float, float, int]]:
        """Yield the share, mean function, variances, noise and shift's variance of each hypothesis, and its number."""
        h = self.hypotheses
        each = zip(h.shares, h.slopes, h.heights, h.variances, h.noise, h.shifts, strict=True)
        for number, (share, slopes, height, v, noise, shift) in enumerate(each):
            mean = line_of(slopes, process.columns, process.at_labels, height)
            yield float(share), mean, v, float(noise), shift, number

    def leading(self, number: int, items: Features) -> Array:
        """Return the columns that lead in a hypothesis, scaled so that X X^T is what they add to the covariance."""
        subset = self.hypotheses.subset[number]
        if self.subsets is None or subset < 0:
            return np.zeros((len(items.base), 0))
        return np.sqrt(self.hypotheses.of_subset[number]) * self.subsets.of(items, int(subset))


@dataclass(frozen=True, eq=False)
class Limits:
    """Values beyond which nothing is said, since a line that labels support among themselves may lead anywhere beyond.

    Attributes
    ----------
    lowest, highest : float
        Labels, and a little beyond.
    own : ndarray of shape (c, k + 1)
        How the initial prediction of an item, which may be beyond them, is made of one and the base columns.
    """

    lowest: float
    highest: float
    own: Array

    def __call__(self, said: Array, base: Array) -> Array:
        """Return what is said of items, within the limits or as far as their own predictions."""
        own = np.einsum("ck,nck->nc", self.own, base)
        return np.clip(said, np.minimum(own, self.lowest), np.maximum(own, self.highest))


@dataclass(frozen=True, eq=False)
class Fused:
    """What the labels made of the problem.

    Attributes
    ----------
    kernels, process : Kernels and Process
        Kernels between any items and the labelled ones; the process, whose numbers are in deviations of the labels.
    middles : list of ndarray of shape (m, m)
        For each output the matrix A with which the posterior covariance is K - K A K.
    noise : float
        Variance of the noise of a value; 0 for comparisons, which are of the items themselves.
    left_out : LeftOut
        For values: predictions of labelled items without their labels.
    differences : ndarray of shape (k,)
        For comparisons: predicted differences within pairs that were left out.
    judged : ndarray of int
        For comparisons: those that ``differences`` belong to.
    average : Average or None
        For values: the mean over all hypotheses, which is what is said. ``process`` is then one process with the mean
        of their variances, which says how sure that is.
    plain : Process or None
        In results that earlier versions saved: a second process, that of the views' own columns.
    plain_share : float
        The share of the views' own columns in all predictions, before clouds.
    forest : Forest or None
        Trees, which look at the columns that `seen_by_trees` returns.
    forest_share : float
        Its share, before clouds.
    clouds : Clouds or None
        Clouds of items around labels that repeat, which look at the same columns but for the label-free answer.
    clouds_share : float
        Their share in what is said of items that are in one; in what is said of others it is less.
    groups : ndarray of shape (m,), optional
        The group of each labelled item, numbered from 0, if rankings are within groups.
    answers : Answers, optional
        For comparisons: these, with what was found of their raters.
    weights : ndarray of shape (m,), optional
        For values: as how many answers each counts.
    limits : Limits, optional
        For values in the units of the predictions: how far from these and from the labels anything is said to be.
    for_views : float, optional
        For more than two values: the log odds by which labels speak for hypotheses whose views explain something
        beyond the predictions, against the same hypotheses whose views explain nothing.
    """

    kernels: Kernels
    process: Process
    middles: list[Array]
    noise: float
    left_out: LeftOut
    differences: Array = field(default_factory=lambda: np.empty(0))
    judged: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    plain: Process | None = None
    plain_share: float = 0.0
    groups: Positions | None = None
    forest: Forest | None = None
    forest_share: float = 0.0
    answers: Answers | None = None
    weights: Array | None = None
    average: Average | None = None
    limits: Limits | None = None
    for_views: float | None = None
    clouds: Clouds | None = None
    clouds_share: float = 0.0

    @property
    def labelled(self) -> Features:
        """The labelled items."""
        return self.kernels.labelled

    def left_out_deviations(self) -> Array:
        """Return for one output the standard deviation of each value given all others: (K^-1)_ii^-1/2."""
        return np.diag(self.middles[0]) ** -0.5

    def __call__(self, items: Features, variances: bool = True) -> tuple[Array, Array]:
        """Return what is said of items, shape (n, c), and the posterior variance of each, averaged over outputs.

        Variances take most of the time; without them, NaN stands for each.
        """
        g, process = self.said(items), self.process
        if not variances:
            return g, np.full(len(g), np.nan)
        shared = self.kernels.shared(items)
        variance = self.prior_variances(items)
        for output, middle in enumerate(self.middles):
            C = process.covariances(items, shared, output)
            variance -= np.einsum("ij,ij->i", C @ middle, C) / len(self.middles)
        return g, np.maximum(variance, 1e-6)

    def said(self, items: Features) -> Array:
        """Return what is said of items, shape (n, c)."""
        if self.average is not None:
            return self._averaged(items, self.average)
        experts = [(1.0, self.process)]
        if self.plain is not None:
            experts = [(1 - self.plain_share - self.forest_share, self.process), (self.plain_share, self.plain)]
        shares = [share for share, _ in experts]
        together = zip(*(expert.weights() for _, expert in experts), strict=True)
        weights = [sum(s * w for s, w in zip(shares, some, strict=True)) for some in together]
        said: Array = sum(share * expert.apart(items) for share, expert in experts)  # type: ignore[assignment]
        if weights:
            said = said + self.kernels.applied(items, weights)
        if self.plain is not None and self.forest is not None:
            said[:, 0] += self.forest_share * self.forest(*self._parts(items))
            return said
        return self._with_trees(said, items)

    def _averaged(self, items: Features, average: Average) -> Array:
        """Return what all hypotheses together say, and trees."""
        said: Array = np.einsum("ck,nck->nc", average.line, items.base)
        if average.weights:
            said = said + self.kernels.applied(items, average.weights)
        for X, slopes in zip(items.views, average.led, strict=False):
            said += X @ slopes.astype(X.dtype)
        said = self._with_trees(said, items)
        return said if self.limits is None else self.limits(said, items.base)

    def _with_trees(self, said: Array, items: Features) -> Array:
        """Return what is said of items together with what trees and clouds say."""
        if self.forest is not None:
            trees = self.forest(*self._parts(items)).reshape(said.shape)
            said += self.forest_share * self.outputs_of_trees * (trees - said)
        if self.clouds is not None:
            in_clouds, far = self.clouds(self.seen_by_trees(items, with_answer=False))
            said += self.clouds_share * (in_clouds - far[:, None] * said)
        return said

    @property
    def shares(self) -> dict[str, float]:
        """The shares of the views' own columns, of trees and of clouds in what is said of an item in a cloud."""
        others = 1 - self.clouds_share
        plain, trees = others * self.plain_share, others * self.forest_share
        return {"plain_share": plain, "trees_share": trees, "clouds_share": self.clouds_share}

    @property
    def outputs_of_trees(self) -> NDArray[np.bool_]:
        """Which outputs trees have a part in: not classes without any label, of which they could say nothing else."""
        return np.asarray(self.process.duals.any(axis=0))

    def seen_by_trees(self, items: Features, with_answer: bool | None = None) -> NDArray[np.float32]:
        """Return what trees look at, side by side, see `_parts`."""
        return np.hstack(self._parts(items, with_answer)).astype(np.float32)

    def _parts(self, items: Features, with_answer: bool | None = None) -> list[NDArray[np.floating]]:
        """Return the columns that trees look at: those of the views, and f; of classes, f of all of them.

        If asked for, of values also the label-free answer and what averages have beyond it. If there is a forest
        already, it knows.
        """
        if self.average is None and self.plain is None:
            return [*items.views, items.base[:, :, 1]]
        if with_answer is None and self.forest is not None:
            with_answer = len(self.forest.signs) > 1 + sum(X.shape[1] for X in items.views)
        columns = self.process.columns[0, [-1, 0, 2] if with_answer else [-1]]
        columns = columns if self.plain is None else self.plain.columns[0, :1]
        return [*items.views, np.einsum("qk,nk->nq", columns, items.base[:, 0])]

    def prior_variances(self, items: Features) -> Array:
        """Return the variance of each item before any label, averaged over outputs."""
        process, columns = self.process, self.kernels.of_columns(items)
        q = columns.shape[1]
        total = process.constant + np.einsum("k,okn->n", process.v[:q], columns**2) / len(columns)
        return total + self.kernels.own(items, process.v[q:], self._graph)

    def hidden_variances(self, near: Near) -> Array:
        """Return by how much the graph's variances of items that came later fall short of those of labelled ones.

        Anchors are made of the items that were there, whose variances are the larger for it. What new items have of
        their own no anchor knows, and it is added to their variances, so that these are comparable.
        """
        if self._graph is None:
            return np.zeros(len(near.numbers))
        q, p = self.process.columns.shape[1], len(self.kernels.tables)
        return np.maximum(self.process.v[q : q + p].sum() - near.diagonal(self._graph), 0.0)

    @cached_property
    def _graph(self) -> NDArray[np.float32] | None:
        """The sum of the graph's kernels between anchors."""
        tables = [kernel.table for kernel in self.kernels.tables]
        v = self.process.v[self.process.columns.shape[1] :].astype(np.float32)
        return (
            sum((a * table for a, table in zip(v[1:], tables[1:], strict=False)), v[0] * tables[0]) if tables else None
        )

    def covariance(self, items: Features) -> Array:
        """Return the posterior covariance of some items, averaged over outputs."""
        process, columns = self.process, self.kernels.of_columns(items)
        q = columns.shape[1]
        total = process.constant + np.einsum("k,oki,okj->ij", process.v[:q], columns, columns, optimize=True) / len(
            columns
        )
        for weight, K in zip(process.v[q:], self.kernels.shared(items, items), strict=True):
            total += weight * K
        shared = self.kernels.shared(items)
        for output, middle in enumerate(self.middles):
            C = process.covariances(items, shared, output)
            total -= C @ middle @ C.T / len(self.middles)
        return 0.5 * (total + total.T)


@reads_views
def answered(rows: Rows, base: Array, *near: Near, fused: Fused, layout: Layout, variances: bool = True) -> Array:
    """Return g, the mean function and the posterior variance of each item, shape (items, 2c + 1)."""
    return _answered(features_of(rows, base, near[0] if near else None, layout), fused, variances)


def answered_again(rows: Rows, base: Array, views: list[Any], *near: Near, fused: Fused, variances: bool) -> Array:
    """Return the same, given the views as the process sees them."""
    return _answered(Features(with_one(base), near[0] if near else None, views), fused, variances)


def _answered(items: Features, fused: Fused, variances: bool) -> Array:
    size = max(256, ENTRIES // len(fused.labelled.base))
    found = []
    for start in range(0, len(items.base), size):
        some = items[slice(start, start + size)]
        g, variance = fused(some, variances)
        found.append(np.column_stack([g, fused.process.mean(some.base), variance]))
    return np.concatenate(found)


def told(rows: Rows, base: Array, answers: Array) -> Array:
    """Return sums of products of [1, base columns, g, mean function], shape (c, k + 3, k + 3)."""
    full = _told(base, answers)
    return np.einsum("ijk,ijl->jkl", full, full, optimize=True)


def _told(base: Array, answers: Array) -> Array:
    c = base.shape[1]
    return np.concatenate([with_one(base), answers[:, :c, None], answers[:, c:-1, None]], axis=2)


def mixed(rows: Rows, base: Array, answers: Array, *, coefficients: Array) -> Array:
    """Return columns that are made of [1, base columns, g, mean function]."""
    return np.einsum("ck,nck->nc", coefficients, _told(base, answers))


def deviations(rows: Rows, answers: Array, *, noise: float, unit: float) -> Array:
    """Return the standard deviation of a label of each item."""
    return np.sqrt(answers[:, -1] + noise) * unit


def in_units(rows: Rows, answers: Array, *, scale: float, shift: float) -> Array:
    """Return what the process expects, in the units of the labels."""
    return answers[:, 0] * scale + shift
