"""Why an item moved: parts that add up to its change.

The answer is a function of an item that also answers for one that lacks views. So a view's part is how much the answer
for the item changes once the view is known, on average over all orders in which its views may become known: Shapley's
value. These parts add up to the change from the answer for the item without any view; what that differs by from the
initial prediction is the part of the prediction itself, which labels may have found to be too high throughout.

Labels act through all of these parts. What they do in each is told beside it, and so is the pull of each labelled item:
the process is linear in the labels, so that pulls add up, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from tupi.embedding.anchors import FAINT, Near
from tupi.embedding.prepared import Prepared
from tupi.methods.auto.answers import Answer, RankingAnswer, RegressionAnswer
from tupi.methods.auto.class_answers import BinaryAnswer, ClassAnswer, ClassMixture
from tupi.methods.auto.comparisons import ComparisonAnswer
from tupi.methods.auto.fused import answered
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.items import Scale, near_and_reach, standardised, view_rows
from tupi.methods.auto.kernels import Features, pick_features
from tupi.methods.auto.labelfree import LabelFree, based, beside, with_one
from tupi.methods.auto.model import Mixture
from tupi.methods.auto.process import JITTER
from tupi.methods.base import Moved
from tupi.runtime.computing import one_blas_thread

EXACT = 8  # views up to which all sets of them are tried: 256 answers
ORDERS = 32  # in which more views become known, and as many in reverse
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Variants:
    """One item again and again, each time with some of its views; `tupi.blocks.home.Rows` says what the methods do.

    Attributes
    ----------
    columns : list of ndarray of shape (1, d)
        Its rows of all views.
    present : ndarray of shape (s, v)
        Which views each variant has.
    """

    columns: list[Array]
    present: NDArray[np.bool_]

    def view(self, number: int, scaling: str = "columns") -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for variants that lack it, and which variants have it."""
        has = self.has(number)
        return np.where(has[:, None], self.columns[number], 0.0), has

    def has(self, number: int) -> NDArray[np.bool_]:
        """Return which variants have a view."""
        return self.present[:, number]

    def some(self, chosen: Positions) -> Variants:
        """Return some of the variants."""
        return Variants(self.columns, self.present[chosen])


@dataclass(frozen=True, eq=False)
class Explanation:
    """All that tells why items moved.

    Attributes
    ----------
    prepared : Prepared
        The problem.
    base : LabelFree
        Its label-free answer.
    scale : Scale
        What predictions are.
    columns : ndarray of shape (n_items, c)
        What came back, standardised.
    how : callable
        Returns how it comes about, a Mixture or ClassMixture; None if predictions stay as they are.
    answer, blend : Answer and Blend, or None
        What labels made of the problem, and how much of that came back.
    """

    prepared: Prepared
    base: LabelFree
    scale: Scale
    columns: Array
    how: Callable[[], Mixture | ClassMixture | None]
    answer: Answer | None
    blend: Blend | None

    @cached_property
    def mixture(self) -> Mixture | ClassMixture | None:
        """How it comes about."""
        return self.how()

    def moved(self, item: int) -> Moved:
        """Return what moved an item, numbered as in the problem."""
        prepared = self.prepared
        initial = prepared.problem.columns[[item]]
        place = int(np.searchsorted(prepared.items, item))
        takes_part = self.mixture is not None and place < len(prepared.items) and prepared.items[place] == item
        final = self.columns[[place]] * prepared.scale + prepared.shift if takes_part else initial
        target = None
        if self.scale.task == "classification":
            target = 1 if self.scale.two else int(final[0].argmax())
        before, after = (float(self._in_units(one, target)[0]) for one in (initial, final))
        if not takes_part:
            nothing = np.zeros(1 + self.base.home.n_views)
            return Moved(before, after, 0.0, nothing[1:], nothing, target)
        with one_blas_thread():
            parts, labels = self._parts(place, target, after).T
            labelled, *others = self._neighbours(place, target)
        return Moved(before, after, parts[0] - before, parts[1:], labels, target, prepared.items[labelled], *others)

    def _in_units(self, values: Array, target: int | None) -> Array:
        """Return predictions as they are explained: log odds of a class if they are probabilities, else as they are."""
        if target is None:
            return values[:, 0]
        own = values[:, target]
        return own - logsumexp(np.delete(values, target, axis=1), axis=1) if self.scale.probabilities else own

    def _parts(self, item: int, target: int | None, after: float) -> Array:
        """Return what is said without any view and what each view adds, shape (1 + views, 2); the second of labels."""
        n_views = self.base.home.n_views
        drawn = self.base.home.picked(np.array([item]), view_rows, n_views=n_views)
        used = {*self.base.layout.related, *self.base.layout.rest}
        players = [k for k in range(n_views) if k in used and drawn[n_views + k][0]]
        sets, orders = _sets_of(len(players))
        present = np.zeros((len(sets), n_views), bool)
        present[:, players] = (sets[:, None] >> np.arange(len(players))) & 1
        values = self._said(item, Variants(drawn[:n_views], present), target)
        # What came back was computed among all items; other sizes of blocks round differently.
        values[-1, 0] = after
        parts = np.zeros((1 + n_views, 2))
        parts[0] = values[0]
        parts[1:][players] = _shapley(sets, values, orders, len(players))
        return parts

    def _said(self, item: int, rows: Variants, target: int | None) -> Array:
        """Return what is said of variants, shape (s, 2), the last of which is whole; the second is what labels add."""
        base, layout, mixture = self.base, self.base.layout, self.mixture
        assert mixture is not None
        whole = pick_features(base, np.array([item]))
        initial = np.repeat(whole.base[:, :, 1], len(rows.present), axis=0)
        columns, kept = initial[:, :, None], []
        if base.space is not None:
            assert whole.near is not None
            near, _ = near_and_reach(base.space, layout.points(rows, layout.related))
            near.numbers[-1], near.weights[-1] = whole.near.numbers[0], whole.near.weights[0]
            average = self._averages(whole, near, initial)
            columns, kept = based(rows, near, initial, average, passes=base.passes), [near]
        if base.scored:
            columns = beside(rows, columns, np.repeat(whole.base[:, :, -1], len(rows.present), axis=0))
        familiar = np.ones(len(columns))
        if self.answer is None:
            said = [mixture(columns, None, familiar)] * 2
        else:
            answers = answered(rows, columns, *kept, fused=self.answer.fused, layout=layout, variances=False)
            c = columns.shape[1]
            unlabelled = answers.copy()
            unlabelled[:, :c] = self._mean(with_one(columns))  # before any label a process is its mean function
            said = [mixture(columns, some, familiar) for some in (answers, unlabelled)]
        new, old = (self._in_units(self.scale.both(one * self.scale.scale + self.scale.shift), target) for one in said)
        return np.column_stack([new, new - old])

    def _averages(self, whole: Features, near: Near, initial: Array) -> Array:
        """Return averages over the items alike to each variant, of which the item itself is none.

        With W the weights among items, the item's own share in the average of a variant is W between both. What the
        item adds there is the average of the first pass, which follows from that of the second.
        """
        base = self.base
        assert whole.near is not None
        assert base.averages is not None
        assert base.sizes is not None
        sizes, own, average = base.sizes, whole.near.own(base.sizes)[0], whole.base[:, :, 2]
        first = initial[:1]
        if FAINT < own <= 1 - FAINT:
            first = (whole.near.gather(base.averages) - (1 - own) * average) / own
        there = np.zeros((len(sizes), 1))
        np.add.at(there[:, 0], whole.near.numbers[0], whole.near.weights[0].astype(np.float64))
        shared = near.gather(there / np.maximum(sizes, FAINT)[:, None])
        among = (near.gather(base.averages) - shared * first) / np.maximum(1 - shared, FAINT)
        found = np.where(near.alone[:, None] | (shared > 1 - FAINT), initial, among)
        found[-1] = average[0]
        return found

    def _neighbours(self, item: int, target: int | None) -> tuple[Positions, Array, Array]:
        """Return the labelled items, nearest first, how alike each is from 0 to 1, and its pull."""
        answer, blend = self.answer, self.blend
        if answer is None or blend is None or blend.new == 0:
            return np.empty(0, np.int64), np.empty(0), np.empty(0)
        fused, output = answer.fused, 0 if target is None or len(self.scale.scale) == 1 else target
        whole = pick_features(self.base, np.array([item]))
        shared = fused.kernels.shared(whole)
        v = fused.process.v[fused.process.columns.shape[1] :]
        covariance = sum((a * K[0] for a, K in zip(v, shared, strict=True)), np.zeros(len(answer.rows)))
        here, there = (fused.kernels.own(one, v, fused._graph) for one in (whole, fused.labelled))
        alike = np.clip(covariance / np.sqrt(np.maximum(here * there, 1e-300)), 0.0, 1.0)
        pull = np.zeros(len(alike))
        for share, row, inverse, residuals in self._experts(whole, shared, output):
            pull += share * (row * residuals if inverse is None else (row @ inverse) * residuals)
        if fused.forest is not None:
            pull += fused.forest_share * fused.outputs_of_trees[output] * self._pull_of_trees(whole, output)
        if fused.clouds is not None:
            far, of_clouds = self._pull_of_clouds(whole, output)
            pull = (1 - fused.clouds_share * far) * pull + fused.clouds_share * of_clouds
        order = np.argsort(-alike, kind="stable")
        return answer.rows[order], alike[order], (pull * self._unit(answer, blend, output))[order]

    def _mean(self, base: Array) -> Array:
        """Return the mean function: of values, that of all hypotheses together."""
        assert self.answer is not None
        fused = self.answer.fused
        return fused.process.mean(base) if fused.average is None else fused.average.mean(fused.process)(base)

    def _experts(
        self, whole: Features, shared: list[NDArray[np.floating]], output: int
    ) -> Iterator[tuple[float, Array, Array | None, Array]]:
        """Yield the share of each process, its row k of an item, K^-1, and what labels are beyond its mean function.

        A label's pull is its weight in the prediction, k^T K^-1, times that. Comparisons have no values; K^-1 is then
        None, and what takes the place of these are the duals. Values have a process for each hypothesis.
        """
        answer = self.answer
        assert answer is not None
        fused = answer.fused
        process, at = fused.process, fused.labelled.base
        if isinstance(answer, ComparisonAnswer):
            yield 1.0, process.covariances(whole, shared, output)[0], None, process.duals[:, output]
        elif isinstance(answer, ClassAnswer):
            share = 1 - fused.forest_share * fused.outputs_of_trees[output]
            residuals = self._labels(output) - process.mean(at)[:, output]
            yield share, process.covariances(whole, shared, output)[0], fused.middles[output], residuals
        else:
            assert fused.average is not None
            sure = np.ones(len(at)) if fused.weights is None else fused.weights
            apart = np.zeros((len(at), len(at)))
            if not process.constant and fused.groups is not None:  # each group has a constant of its own
                apart = np.equal.outer(fused.groups, fused.groups).astype(float)
            within = list(fused.kernels.within())
            for share, mean, v, noise, shift, number in fused.average.means(process):
                one = replace(process, mean=mean, v=v, constant=shift * process.constant)
                K = one.covariances(fused.labelled, within, 0) + apart + np.diag(noise / sure + JITTER)
                X, Y = (fused.average.leading(number, items) for items in (fused.labelled, whole))
                residuals = self._labels(output) - mean(at)[:, 0]
                yield (
                    (1 - fused.forest_share) * share,
                    one.covariances(whole, shared, 0)[0] + X @ Y[0],
                    np.asarray(np.linalg.inv(K + X @ X.T)),
                    residuals,
                )

    def _labels(self, output: int) -> Array:
        """Return labels in their deviations: values, or whether they are of a class."""
        if isinstance(self.answer, ClassAnswer):
            chances = self.answer.chances
            return ((self.answer.classes == output) - chances.frequency[output]) / chances.unit[output]
        assert isinstance(self.answer, (RankingAnswer, RegressionAnswer, BinaryAnswer))
        if isinstance(self.answer, RankingAnswer):
            return self.answer.learned
        return standardised(self.answer.values, self.answer.fused.weights)

    def _pull_of_trees(self, whole: Features, output: int) -> Array:
        """Return each label's weight in what trees say of an item, times what it is beyond the mean function."""
        assert self.answer is not None
        fused = self.answer.fused
        assert fused.forest is not None
        weights = fused.forest.weights(fused.seen_by_trees(whole), fused.seen_by_trees(fused.labelled))[0]
        return weights * (self._labels(output) - self._mean(whole.base)[0, output])

    def _pull_of_clouds(self, whole: Features, output: int) -> tuple[float, Array]:
        """Return how far an item is in clouds, and each label's weight in these times what it is beyond the mean."""
        assert self.answer is not None
        fused, labels = self.answer.fused, self._labels(output)
        assert fused.clouds is not None
        values = self.answer.classes if isinstance(self.answer, ClassAnswer) else labels
        which = np.unique(values, return_inverse=True)[1]
        weights = fused.clouds.weights(fused.seen_by_trees(whole, with_answer=False), which)[0]
        return float(weights.sum()), weights * (labels - self._mean(whole.base)[0, output])

    def _unit(self, answer: Answer, blend: Blend, output: int) -> float:
        """Return what one deviation of the labels is in the units of an explanation; of several classes, a share."""
        if isinstance(answer, ClassAnswer):
            return float(answer.chances.unit[output] * blend.new)
        both = 2.0 if self.scale.two else 1.0  # the column of two classes is half their log odds
        return float(both * answer.coefficients(blend)[output, -2] * self.scale.scale[output])


def _sets_of(k: int) -> tuple[Positions, Positions | None]:
    """Return sets of k views as binary numbers, ascending, and the orders in which views join; None for all orders."""
    if k <= EXACT:
        return np.arange(1 << k), None
    rng = np.random.default_rng(0)
    some = np.array([rng.permutation(k) for _ in range(ORDERS)])
    orders = np.concatenate([some, some[:, ::-1]])
    sets = np.cumsum(1 << orders.astype(object), axis=1)
    return np.unique(np.append(sets.ravel(), 0)), orders


def _shapley(sets: Positions, values: Array, orders: Positions | None, k: int) -> Array:
    """Return what each of k views adds on average, shape (k, ...), given what is said of sets of them."""
    found = np.zeros((k, values.shape[1]))
    if orders is None:
        sizes = np.array([int(one).bit_count() for one in sets])
        shares = np.array([1 / (k * comb(k - 1, size)) if size < k else 0.0 for size in sizes])
        for view in range(k):
            lacking = np.flatnonzero(~(sets >> view) & 1)
            found[view] = shares[lacking] @ (values[lacking | (1 << view)] - values[lacking])
        return found
    place = {one: where for where, one in enumerate(sets.tolist())}
    for order in orders.tolist():
        known = 0
        for view in order:
            joined = known | (1 << view)
            found[view] += (values[place[joined]] - values[place[known]]) / len(orders)
            known = joined
    return found
