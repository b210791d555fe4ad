"""From labels to a function of an item: the Gaussian process, and what it says of labels that are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tupi.embedding.anchors import Near
from tupi.embedding.relevance import evenly
from tupi.methods.auto.flips import Answers
from tupi.methods.auto.kernels import Features, Kernels, kernels
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.means import Chances, Linear, expected
from tupi.methods.auto.preferences import fit_preferences, left_out_comparisons
from tupi.methods.auto.process import (
    CHOOSING_LABELS,
    FEW,
    JITTER,
    LeftOut,
    Model,
    judged_apart,
    labelled_model,
    posterior,
    slope,
)
from tupi.methods.auto.trees import Forest

MAX_LABELS = 2000  # more are thinned out: systems of so many equations still take seconds
MAX_ENTRIES = 1 << 27  # of a kernel between all items and the labelled ones: half a gigabyte
MAX_JUDGED = 500  # comparisons that judge the gain
REVERSAL = 7.0  # log odds by which the labels must say so: whoever reverses a ranking had better be sure
LEAST_SLOPE = 0.25  # of the expected one: what labels that say so with less certainty are allowed
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
class Fused:
    """What the labels made of the problem.

    Attributes
    ----------
    kernels : Kernels
        Between any items and the labelled ones.
    process : Process
        The process; its numbers are in deviations of the labels.
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
    plain : Process or None
        A second expert, see `tupi.methods.auto.experts`.
    plain_share : float
        Its share in all predictions.
    forest : Forest or None
        A third expert, which looks at the columns that `seen_by_trees` returns.
    forest_share : float
        Its share.
    groups : ndarray of shape (m,), optional
        The group of each labelled item, numbered from 0, if rankings are within groups.
    answers : Answers, optional
        For comparisons: these, with what was found of their raters.
    weights : ndarray of shape (m,), optional
        For values: as how many answers each counts.
    """

    kernels: Kernels
    process: Process
    middles: list[Array]
    noise: float
    left_out: LeftOut
    differences: Array
    judged: Positions
    plain: Process | None = None
    plain_share: float = 0.0
    groups: Positions | None = None
    forest: Forest | None = None
    forest_share: float = 0.0
    answers: Answers | None = None
    weights: Array | None = None

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
        experts = [(1 - self.plain_share - self.forest_share, self.process)]
        if self.plain is not None:
            experts.append((self.plain_share, self.plain))
        shares = [share for share, _ in experts]
        together = zip(*(expert.weights() for _, expert in experts), strict=True)
        weights = [sum(s * w for s, w in zip(shares, some, strict=True)) for some in together]
        said: Array = sum(share * expert.apart(items) for share, expert in experts)  # type: ignore[assignment]
        if weights:
            said = said + self.kernels.applied(items, weights)
        if self.forest is not None:
            said[:, 0] += self.forest_share * self.forest(*self._parts(items))
        return said

    def seen_by_trees(self, items: Features) -> NDArray[np.float32]:
        """Return the columns of the views and f, side by side."""
        return np.hstack(self._parts(items)).astype(np.float32)

    def _parts(self, items: Features) -> list[NDArray[np.floating]]:
        """Return the columns that trees look at: those of the views, and f."""
        assert self.plain is not None
        return [*items.views, np.einsum("k,nk->n", self.plain.columns[0, 0], items.base[:, 0])[:, None]]

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


def most_labels(n: int) -> int:
    """Return how many labelled items are used at most."""
    return min(MAX_LABELS, max(200, MAX_ENTRIES // n))


def fit_values(
    problem: LabelFree,
    labelled: Features,
    z: Array,
    mean: Chances | None = None,
    constant: float = 1.0,
    groups: Positions | None = None,
    levels: bool = True,
    weights: Array | None = None,
) -> Fused:
    """Fit the process to values.

    Parameters
    ----------
    problem : LabelFree
        The problem without labels.
    labelled : Features
        Labelled items.
    z : ndarray of shape (m, c)
        Their labels, mean 0 and deviation 1.
    mean : Chances, optional
        The mean function; by default the label-free answer with the slope that is expected.
    constant : float
        Prior variance of a shift.
    groups : ndarray of shape (m,), optional
        The group of each labelled item, by which labels are left out.
    levels : bool
        Whether the labels of all groups share one shift; otherwise each group has its own.
    weights : ndarray of shape (m,), optional
        As how many answers each label counts.
    """
    found = kernels(problem, labelled)
    columns, shared = found.of_columns(labelled), found.within()
    answers = columns[:, 0].T
    some = evenly(len(z), int(CHOOSING_LABELS / z.shape[1] ** (1 / 3)))  # outputs agree on variances

    def fitted(columns: Array, residuals: Array) -> tuple[Model, Array, Any]:
        model = labelled_model(columns, shared, found.prior, constant, None if levels else groups, weights)
        v = model.among(some).most_likely(residuals[some])
        return model, v, posterior(model, v, residuals)

    function = expected(problem.columns[:, 0], answers) if mean is None else mean
    residuals = z - function(labelled.base)
    model, v, after = fitted(columns, residuals)
    if isinstance(function, Linear) and (against := _against(answers, v[0], after.duals)).any():
        held, held_columns = _held(found, columns, against)
        held_mean = Linear(np.where(against[:, None], LEAST_SLOPE, 1.0) * function.coefficients)
        rest = z - held_mean(labelled.base)
        held_model, v_held, held_after = fitted(held_columns, rest)
        odds = held_model.among(some).minus_log_posterior(np.log(v_held), rest[some])[0]
        odds -= model.among(some).minus_log_posterior(np.log(v), residuals[some])[0]
        if len(z) < FEW or odds < REVERSAL:
            found, columns, function, residuals = held, held_columns, held_mean, rest
            model, v, after = held_model, v_held, held_after
    process = Process(function, found.columns, 0, columns, v[:-1], after.duals, constant if levels else 0.0)
    left_out = judged_apart(model, after, z, z - residuals, groups)
    nothing = np.empty(0, np.int64)
    inverses, noise = list(after.inverses), float(v[-1])
    return Fused(found, process, inverses, noise, left_out, np.empty(0), nothing, groups=groups, weights=weights)


def fit_pairs(problem: LabelFree, labelled: Features, answers: Answers, groups: Positions | None = None) -> Fused:
    """Fit the process to comparisons among the labelled items, within which they are numbered."""
    found = kernels(problem, labelled)
    columns, shared = found.of_columns(labelled), found.within()
    label_free = columns[:, 0].T
    function = expected(problem.columns[:, 0], label_free)
    mean = function(labelled.base)[:, 0]
    after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    against = _against(label_free, after.v[0], after.dual[:, None])
    if against.any() and (len(mean) < FEW or _odds_of_reversal(mean, answers.higher, answers.lower) < REVERSAL):
        found, columns = _held(found, columns, against)
        function, mean = Linear(LEAST_SLOPE * function.coefficients), LEAST_SLOPE * mean
        after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    K = Model(columns, shared, JITTER * np.eye(len(mean)), found.prior).covariance(after.v, 0)
    judged = evenly(len(answers.higher), MAX_JUDGED)
    process = Process(function, found.columns, 0, columns, after.v, after.dual[:, None], 0.0)
    differences = left_out_comparisons(after, K, judged)
    return Fused(
        found,
        process,
        [after.middle],
        0.0,
        LeftOut.nothing(),
        differences,
        judged,
        groups=groups,
        answers=after.answers,
    )


def _against(answers: Array, variance: float, duals: Array) -> NDArray[np.bool_]:
    """Return for which outputs the slope of the label-free answer came out too low, or negative."""
    hoped = np.array([slope(one) for one in answers.T])
    return hoped + variance * np.einsum("ij,ij->j", answers, duals) < LEAST_SLOPE * hoped


def _odds_of_reversal(answer: Array, higher: Positions, lower: Positions) -> float:
    """Return the log odds of comparisons that contradict the label-free answer against a coin.

    Comparisons of the same item are not independent, so that they count as at most as many as there are items.
    """
    wrong = np.mean(answer[higher] < answer[lower])
    if wrong <= 0.5:
        return 0.0
    return float(min(len(higher), len(answer)) * (np.log(2) - entr(wrong) - entr(1 - wrong)))


def _held(found: Kernels, columns: Array, outputs: NDArray[np.bool_]) -> tuple[Kernels, Array]:
    """Return the kernels without that of the label-free answer, for some outputs: its slope is then fixed."""
    made, at_labels = found.columns.copy(), columns.copy()
    made[outputs, 0] = at_labels[outputs, 0] = 0.0
    return replace(found, columns=made), at_labels
