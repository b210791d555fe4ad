"""The answer as a function of an item that comes later.

Such an item has its own prediction, its own nearest anchors and its own rows of the views. Everything else is tables
that the fit has made, and the passes are those of the fit, over a home of the new items. Only one thing differs: an
average over alike items leaves out the item itself, and a new one is not among them.

Items that are far from all anchors have no alike items, whatever the kernels extrapolate. How far is said by the
distance to the last of the nearest anchors, and for views that do not decide who is alike by the size of their row,
both in units of what nearly all items of the fit have (`tupi.methods.base`). An item that is twice as far keeps
most of its own prediction, and one that is four times as far practically all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Memory, Rows, reads_views
from tupi.embedding.anchors import AnchorGraph, Near
from tupi.embedding.relevance import evenly
from tupi.inputs.new_items import Foreseen, Known, NewItems
from tupi.methods.auto.answers import Answer, RankingAnswer
from tupi.methods.auto.class_answers import ClassAnswer, ClassMixture
from tupi.methods.auto.fused import Fused, answered, answered_again, deviations, in_units, mixed
from tupi.methods.auto.guard import Blend
from tupi.methods.auto.items import Layout, Scale, Space, near_and_reach, normal_scores, of_one
from tupi.methods.auto.kernels import with_tables
from tupi.methods.auto.labelfree import KERNEL_STRENGTHS, LabelFree, based, based_on, beside
from tupi.methods.auto.process import LeftOut, labelled_model, posterior
from tupi.methods.auto.surer import without_labels
from tupi.methods.base import familiarity, usual_distance
from tupi.runtime.computing import one_blas_thread
from tupi.runtime.errors import InputError

COMPARED = 2000  # items of the fit whose distances say what is usual
FARTHEST = 1e100  # standard deviations: squares of what is farther away are no numbers
AT_HAND = 1 << 26  # bytes of views that are not read twice
KNOTS = 4096  # of the curve from scores to normal scores
Array = NDArray[np.float64]


# Passes: functions of one block of items.


@reads_views
def met(rows: Rows, *, layout: Layout, space: Space | None, keep: bool) -> tuple[Near | None, Array, Array, list[Any]]:
    """Return the nearest anchors of each item, how far the last of them is, and the size of its other views' rows.

    The views as the process sees them come last, if they are to be kept.
    """
    near, reach, views = None, np.zeros(len(rows.has(0))), []
    if space is not None:
        points = layout.points(rows, layout.related)
        near, reach = near_and_reach(space, points)
        views.append(of_one(points, layout.related))
    size = np.zeros(len(reach))
    if layout.rest:
        rest = layout.points(rows, layout.rest)
        size = np.sqrt(np.einsum("ij,ij->i", rest.columns, rest.columns, dtype=np.float64))
        views.append(of_one(rest, layout.rest))
    return near, reach, size, views if keep else []


@reads_views
def _distances(rows: Rows, *, layout: Layout, space: Space | None) -> list[Array]:
    return list(met(rows, layout=layout, space=space, keep=False)[1:3])


def recalled(rows: Rows, near: Near, initial: Array, *, averages: Array) -> Array:
    """Return the average over alike items of the fit; who has none keeps the initial columns."""
    return np.where(near.alone[:, None], initial, near.gather(averages))


@dataclass(frozen=True, eq=False)
class Curve:
    """From standardised scores to the normal scores that took their place; beyond the ends it goes on with slope one.

    Attributes
    ----------
    scores, normal : ndarray of shape (k,)
        Knots, ascending.
    """

    scores: Array
    normal: Array

    @classmethod
    def of(cls, scores: Array, normal: Array) -> Curve:
        """Return the curve through the scores of all items, thinned out."""
        values, first = np.unique(scores, return_index=True)
        some = evenly(len(values), KNOTS)
        return cls(values[some], normal[first[some]])

    def __call__(self, scores: Array) -> Array:
        """Return normal scores."""
        beyond = scores - np.clip(scores, self.scores[0], self.scores[-1])
        return np.interp(scores, self.scores, self.normal) + beyond


@dataclass(frozen=True, eq=False)
class Mixture:
    """Columns that are made of [1, base columns], or with labels of [1, base columns, g, mean function].

    Attributes
    ----------
    coefficients : ndarray of shape (c, k)
        How.
    own : ndarray of shape (c, k)
        How an item's own prediction is made of them, on the same scale.
    """

    coefficients: Array
    own: Array

    def __call__(self, base: Array, answers: Array | None, familiar: Array) -> Array:
        """Return columns, by as much as items are familiar, and their own predictions otherwise."""
        new, own = (
            based_on(None, base, coefficients=one)  # type: ignore[arg-type]
            if answers is None
            else mixed(None, base, answers, coefficients=one)  # type: ignore[arg-type]
            for one in (self.coefficients, self.own)
        )
        return familiar[:, None] * new + (1 - familiar[:, None]) * own


@dataclass(frozen=True, eq=False)
class Units:
    """What the process's numbers are in the units of the labels.

    Attributes
    ----------
    noise, deviation : float
        Variance of the noise of a label, and what the uncertainty is multiplied by.
    expected : tuple of float or None
        Scale and shift of expected labels, where the predictions have a scale of their own.
    """

    noise: float
    deviation: float
    expected: tuple[float, float] | None


@dataclass(frozen=True, eq=False)
class AutoModel:
    """What "auto" has made of a problem, for items that come later.

    Attributes
    ----------
    known, scale : Known and Scale
        What the problem knew of its views, and what predictions are.
    curve : Curve or None
        For ranking: from scores to normal scores.
    layout : Layout
        Which views are used for what.
    space : Space or None
        Where items are; None if no view is related.
    averages : ndarray of shape (a, c) or None
        Means by anchor.
    passes : list of ndarray of shape (a, c)
        What low passes add, by anchor.
    usual : tuple of float
        Distances within which nearly all items of the fit are, see `met`.
    mixture : Mixture, ClassMixture or None
        How columns come about; None if predictions stay as they are.
    graph : AnchorGraph or None
        With labels: sums from which the graph's kernels follow.
    stored : Fused or None
        What the labels made of the problem; after loading without what `fused` computes again.
    units : Units or None
        With labels: their units.
    scored : bool
        Whether scores as they came are the last base column; not in files of earlier versions.
    """

    known: Known
    scale: Scale
    curve: Curve | None
    layout: Layout
    space: Space | None
    averages: Array | None
    passes: list[Array]
    usual: tuple[float, float]
    mixture: Mixture | ClassMixture | None
    graph: AnchorGraph | None = None
    stored: Fused | None = None
    units: Units | None = None
    scored: bool = False

    def __post_init__(self) -> None:
        """Complain about parts that do not belong together, as in a file that somebody changed.

        Compiled code looks anchors up by their numbers, and does not ask whether they are there.
        """
        a = 0 if self.space is None else len(self.space.anchors.columns)
        tables: list[NDArray[np.floating]] = [*self.passes, *([] if self.averages is None else [self.averages])]
        if self.graph is not None:
            tables += [self.graph.sizes, self.graph.shared, self.graph.shared.T]
        if self.stored is not None:
            tables += [kernel.factor for kernel in self.stored.kernels.tables]
            near = self.stored.labelled.near
            if near is not None and (
                near.numbers.shape != near.weights.shape or near.numbers.min() < 0 or near.numbers.max() >= a
            ):
                raise ValueError("labelled items near other anchors")
        if any(len(table) != a for table in tables):
            raise ValueError("tables of other anchors")

    @cached_property
    def fused(self) -> Fused | None:
        """What the labels made of the problem, with all its tables."""
        fused = self.stored
        if fused is None:
            return None
        if self.graph is not None and not fused.kernels.tables:
            tables = [self.graph.kernel(c) for c in KERNEL_STRENGTHS]
            fused = replace(fused, kernels=with_tables(fused.kernels, tables))
        if not fused.middles:
            process, kernels = fused.process, fused.kernels
            given = process.at_labels, kernels.within(), kernels.prior
            # Without a constant that all items share, each group had its own.
            constant = process.constant or 1.0
            model = labelled_model(*given, constant, None if process.constant else fused.groups, fused.weights)
            nothing = np.zeros_like(process.duals)
            after = posterior(model, np.append(process.v, fused.noise), nothing)
            fused = replace(fused, middles=list(after.inverses))
        return fused

    def to_store(self) -> AutoModel:
        """Return the same without the large tables that `fused` computes again when they are missing."""
        if self.stored is None:
            return self
        fused = replace(self.stored, kernels=replace(self.stored.kernels, tables=[]))
        again = fused.noise > 0  # that of values; the middles of comparisons are no inverses
        middles = [] if again else [middle.astype(np.float32) for middle in fused.middles]
        return replace(self, stored=replace(fused, middles=middles))  # type: ignore[arg-type]

    def foresee(self, items: NewItems, sure: bool = True) -> Foreseen:
        """Return what is said of items that came later; those without any view keep their prediction.

        Parameters
        ----------
        items : NewItems
            The items.
        sure : bool
            Whether to say how sure it is, and how familiar items are even if predictions stay as they are. That takes
            time.
        """
        rows = np.flatnonzero(items.covered)
        predictions, familiar = np.array(items.initial), np.zeros(items.n)
        uncertainty = expected = None
        if self.units is not None and sure:
            uncertainty = np.full(items.n, np.nan)
            expected = None if self.units.expected is None else np.full(items.n, np.nan)
        if len(rows):
            with one_blas_thread():
                columns, familiar[rows], *labels = self._said(items, rows, sure)
            if columns is not None:
                back = self.scale.predictions(columns)
                if items.relative:
                    back += items.group_means[rows]
                predictions[rows] = back.reshape(len(rows), *items.initial.shape[1:])
            for everyone, some in zip((uncertainty, expected), labels, strict=True):
                if everyone is not None:
                    everyone[rows] = some
        return Foreseen(predictions, familiar, uncertainty, expected)

    def _said(
        self, items: NewItems, rows: NDArray[np.int64], sure: bool
    ) -> tuple[Array | None, Array, Array | None, Array | None]:
        """Return columns, how familiar items are, their uncertainty and their expected labels."""
        home = Memory(items.views, rows)
        f = self.scale.standardized(items.columns[rows])
        farthest = np.abs(f).max(axis=1)
        if farthest.max() > FARTHEST:
            which = rows[farthest.argmax()]
            raise InputError(
                f"predictions: found {items.as_given(items.initial)[which]} (item {which}), {farthest.max():.2g} "
                f"standard deviations from the earlier ones; accepted: at most {FARTHEST:g}."
            )
        if self.mixture is None and not sure:  # nobody asks where they are
            return None, np.zeros(len(rows)), None, None
        initial = home.dealt(f if self.curve is None else self.curve(f))
        keep = self.fused is not None and self.layout.size * len(rows) <= AT_HAND
        found = home.each(met, layout=self.layout, space=self.space, keep=keep)
        near, reach, size, views = zip(*found, strict=True)
        familiar = familiarity((np.concatenate(reach), np.concatenate(size)), self.usual)
        if self.averages is None:
            base, kept = [one[:, :, None] for one in initial], []
        else:
            average = home.each(recalled, near, initial, averages=self.averages)
            base = list(home.each(based, near, initial, average, passes=self.passes))
            kept = [near]
        if self.scored:
            base = list(home.each(beside, base, home.dealt(f)))
        answers = None
        if self.fused is not None:
            common = {"fused": self.fused, "variances": sure}
            known, other = ([views], {}) if keep else ([], {"layout": self.layout})
            answers = home.joined(
                home.each(answered_again if keep else answered, base, *known, *kept, **common, **other)
            )
        columns = None if self.mixture is None else self.mixture(np.concatenate(base), answers, familiar)
        if answers is None or self.units is None or not sure:
            return columns, familiar, None, None
        assert self.fused is not None
        if kept:
            answers[:, -1] += np.concatenate([self.fused.hidden_variances(one) for one in near])
        uncertainty = deviations(None, answers, noise=self.units.noise, unit=self.units.deviation)  # type: ignore[arg-type]
        expected = None
        if self.units.expected is not None:
            scale, shift = self.units.expected
            answers[:, 0] = familiar * answers[:, 0] + (1 - familiar) * answers[:, 1]  # towards the mean function
            expected = in_units(None, answers, scale=scale, shift=shift)  # type: ignore[arg-type]
        return columns, familiar, uncertainty, expected


def model_of(
    known: Known,
    f: Array,
    base: LabelFree,
    scale: Scale,
    mixture: Mixture | ClassMixture | None,
    answer: Answer | None,
) -> AutoModel:
    """Return the answer as a function of an item.

    Parameters
    ----------
    known : Known
        What the problem knew of its views.
    f : ndarray of shape (n, c)
        Its predictions, standardised.
    base : LabelFree
        Its label-free answer.
    scale : Scale
        What predictions are.
    mixture : Mixture, ClassMixture or None
        How columns come about; None if predictions stay as they are.
    answer : Answer or None
        What labels made of it.
    """
    distances = base.home.picked(base.evenly(COMPARED), _distances, layout=base.layout, space=base.space)
    reach, size = map(usual_distance, distances)
    curve = None
    if scale.task == "ranking":
        curve = Curve.of(f[:, 0], normal_scores(f)[:, 0])
    tables = base.layout, base.space, base.averages, base.passes
    model = AutoModel(known, replace(scale, groups=None), curve, *tables, (reach, size), mixture, scored=base.scored)
    if answer is None:
        return model
    fused = replace(
        answer.fused,
        left_out=LeftOut.nothing(),
        differences=np.empty(0),
        judged=np.empty(0, np.int64),
        answers=None,
    )
    expected = answer.units if isinstance(answer, RankingAnswer) and known.groups != "relative" else None
    units = Units(fused.noise, answer._unit(), expected)
    graph = base.graph
    if graph is not None:
        graph = replace(graph, shared=graph.shared.astype(np.float32))
    return replace(model, graph=graph, stored=fused, units=units)


def mixture_of(base: LabelFree, scale: Scale, answer: Answer | None, blend: Blend | None) -> Mixture | ClassMixture:
    """Return how new columns come about.

    Parameters
    ----------
    base, scale
        The label-free answer, and what predictions are.
    answer, blend : Answer and Blend, or None
        What labels made of it, and how much of that came back.
    """
    own = base.unit(base.only(0)) if scale.task == "ranking" else base.only(0)
    if answer is None or blend is None:
        return Mixture(without_labels(base, scale), own)
    if isinstance(answer, ClassAnswer):
        return ClassMixture(answer._made, blend, base.careful)
    return Mixture(answer.coefficients(blend), answer.wide(own))
