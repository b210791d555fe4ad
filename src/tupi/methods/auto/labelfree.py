"""The answer without labels, as a function of an item: averages over alike items, shrunk towards f.

Each item has a few base columns: f, its average over alike items, and f under low passes of the anchor graph
(`tupi.embedding.anchors`). For rankings f are normal scores, and the scores as they came are one more column, which
only labels make use of. Whatever is made of them is linear, so that means and deviations over all items follow from
one small table of moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Home, Kept, Rows
from tupi.embedding.anchor_loops import find_nearest
from tupi.embedding.anchors import FAINT, AnchorGraph, GraphKernel, Near, compile_all
from tupi.embedding.relevance import Relations, evenly
from tupi.methods.auto.items import Layout, Space, laid_out, make_space, places, view_relations
from tupi.methods.auto.signal import SignalShare, neighbors_alone, signal_share
from tupi.runtime.computing import in_order, must_compile

NEIGHBORS = 15  # by which views explain predictions
STRENGTHS = (1.0, 10.0, 100.0)  # of the low passes
KERNEL_STRENGTHS = (10.0, 100.0)  # of the graph's kernels
LABEL_FREE = "label-free"  # under which name `Prepared` keeps the answer, see `tupi.methods.auto.auto.label_free_of`
TYPICAL = 2000  # items that say how far apart items are
SINGLE = 20_000  # items from which on columns are kept in single precision
FARTHEST = 4.0  # deviations from the mean, beyond which scores as they came say no more than that
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


# Passes: functions of one block of items.


def gathered(rows: Rows, near: Near, columns: Array, *, a: int) -> Array:
    """Return Z^T [1, columns]."""
    return near.scatter(np.column_stack([~near.alone, columns]), a)


def shared(rows: Rows, near: Near, *, a: int) -> Array:
    """Return the lower triangle of Z^T Z."""
    return near.shared(a)


def averaged(rows: Rows, near: Near, columns: Array, initial: Array, *, sizes: Array, sums: Array) -> Array:
    """Return averages of columns over alike items without oneself; who has none keeps the initial ones."""
    own = near.own(sizes)[:, None]
    among = near.gather(sums / np.maximum(sizes, FAINT)[:, None]) - own * columns
    return np.where((near.alone | (own[:, 0] > 1 - FAINT))[:, None], initial, among / np.maximum(1 - own, FAINT))


def based(rows: Rows, near: Near, f: Array, average: Array, *, passes: list[Array]) -> Array:
    """Return base columns, shape (items, c, 5): f, its average, and f under the low passes."""
    found = [f, average]
    for c, table in zip(STRENGTHS, passes, strict=True):
        found.append(np.where(near.alone[:, None], f, f / (1 + c) + near.gather(table)))
    return np.stack(found, axis=2)


def beside(rows: Rows, base: Array, scores: Array) -> Array:
    """Return base columns and scores as they came, those far from all others a little nearer."""
    return np.concatenate([base, np.clip(scores, -FARTHEST, FARTHEST)[:, :, None]], axis=2)


def moments(rows: Rows, base: Array) -> Array:
    """Return sums of products of [1, base columns], shape (c, 6, 6)."""
    full = with_one(base)
    return np.einsum("ijk,ijl->jkl", full, full, optimize=True)


def with_one(base: Array) -> Array:
    """Return base columns with a column of ones before them."""
    return np.concatenate([np.ones((*base.shape[:2], 1)), base], axis=2)


def based_on(rows: Rows, base: Array, *, coefficients: Array) -> Array:
    """Return columns that are made of [1, base columns]."""
    return np.einsum("ck,nck->nc", coefficients, with_one(base))


@dataclass(frozen=True, eq=False)
class LabelFree:
    """The label-free answer.

    Attributes
    ----------
    home : Home
        The items.
    order : ndarray of int
        The items in an order that depends on their content only: whatever is drawn is the same after a shuffle.
    relations : Relations
        What a sample says about each view.
    layout : Layout
        Which views are used for what.
    space : Space or None
        Where items are; None if no view is related.
    near : kept Near, or None
        The nearest anchors of the items.
    graph : AnchorGraph or None
        Sums over the items that were there when the anchors were placed.
    base : kept arrays of shape (items, c, k)
        Base columns, see `based`; f alone if no view is related. For rankings scores as they came are the last.
    moments : ndarray of shape (c, k + 1, k + 1)
        Means of products of [1, base columns] over all items.
    share : SignalShare
        How much of f - average is signal.
    by_view : list of tuple
        For each related view its number, and the neighbours of some items of the sample.
    sample : ndarray of int
        The items of the sample.
    averages : ndarray of shape (a, c) or None
        Means by anchor of the first averages, from which the second one of an item that comes later is made.
    passes : list of ndarray of shape (a, c)
        What the low passes add to f, by anchor.
    n_placed : int
        How many items there were when the anchors were placed.
    sizes : ndarray of shape (a,) or None
        Z^T 1 over all items, those included that came later.
    views : kept lists of ndarray, or None
        The views as the process sees them, for labels that are still to come: to read them again takes long. None where
        that takes more memory than is to spare.
    scored : bool
        Whether scores as they came are the last base column.
    """

    home: Home
    order: Positions
    relations: Relations
    layout: Layout
    space: Space | None
    near: Kept | None
    graph: AnchorGraph | None
    base: Kept
    moments: Array
    share: SignalShare
    by_view: list[tuple[int, Positions, Positions]]
    sample: Positions
    averages: Array | None = None
    passes: list[Array] = field(default_factory=list)
    n_placed: int = 0
    sizes: Array | None = None
    views: Kept | None = None
    scored: bool = False

    @property
    def moves(self) -> bool:
        """Whether the answer may come back without any label that confirms it."""
        return self.share.credible and self.share.c < 1.0

    @property
    def promise(self) -> float:
        """How much of the usual gain the views promise before any label: all of it, half, or none if all are junk."""
        return 1.0 if self.moves else 0.5 if self.layout.related else 0.0

    @cached_property
    def place(self) -> Positions:
        """Where each item is in `order`."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(found))
        return found

    def evenly(self, size: int) -> Positions:
        """Return some items, evenly spread over their content."""
        return self.order[evenly(len(self.order), size)]

    # What follows are coefficients of [1, base columns], shape (c, k + 1), which say how a column is made of them.

    def only(self, column: int) -> Array:
        """Return the coefficients of one base column."""
        return np.tile(np.eye(self.moments.shape[1])[column + 1], (len(self.moments), 1))

    @cached_property
    def smoothed(self) -> Array:
        """The average over alike items, times the slope by which it predicts f.

        The slope undoes the pull of averages towards their mean.
        """
        if self.space is None:
            return self.only(0)
        return smoothed(self.moments)

    @cached_property
    def answer(self) -> Array:
        """The estimate of what f would be without its error, in f's units."""
        return self.smoothed + self.share.c * (self.only(0) - self.smoothed)

    @property
    def careful(self) -> Array:
        """What comes back without labels: the estimate where the views give good reason to move f, otherwise f."""
        if not self.moves:
            return self.only(0)
        return self.smoothed + self.share.kept * (self.only(0) - self.smoothed)

    def unit(self, coefficients: Array) -> Array:
        """Return the coefficients of the same column with mean 0 and deviation 1; zero for constant ones."""
        return unit(coefficients, self.moments)

    @cached_property
    def columns(self) -> Array:
        """What f is through the views, label-free answer first, and the others without their part along it.

        Otherwise their variances would add up along the answer, and a few contrary labels could turn it over. Shape
        (c, q, k + 1).
        """
        found = [self.answer, self.only(0)]
        if self.space is not None:
            found += [self.smoothed, *(self.only(2 + k) for k in range(len(STRENGTHS)))]
        first, *others = (self.unit(one) for one in found)
        along = [np.einsum("ck,ckl,cl->c", first, self.moments, one) for one in others]
        return np.stack([first, *(one - first * a[:, None] for one, a in zip(others, along, strict=True))], axis=1)

    @cached_property
    def tables(self) -> list[GraphKernel]:
        """The graph's kernels between anchors."""
        return [] if self.graph is None else [self.graph.kernel(c) for c in KERNEL_STRENGTHS]

    @property
    def typical(self) -> list[NDArray[np.floating]]:
        """Views of some items as the process sees them, by which widths of kernels are chosen."""
        return self._pick_typical() if self.views is None else self._kept_typical

    @cached_property
    def _kept_typical(self) -> list[NDArray[np.floating]]:
        """The same, kept beside the views of all items."""
        return self._pick_typical()

    def _pick_typical(self) -> list[NDArray[np.floating]]:
        return self.home.picked(self.evenly(TYPICAL), laid_out, layout=self.layout)


def smoothed(moments: Array) -> Array:
    """Return the coefficients of the centred average times its slope for f, given the moments."""
    mean, square, cross = moments[:, 0, 2], moments[:, 2, 2], moments[:, 1, 2]
    variance = square - mean**2
    slope = (cross - mean * moments[:, 0, 1]) / np.where(variance > 0, variance, 1.0)
    found = np.zeros(moments.shape[:2])
    found[:, 0], found[:, 2] = -mean * slope, slope
    return found


def unit(coefficients: Array, moments: Array) -> Array:
    """Return the coefficients of the same column with mean 0 and deviation 1; zero for constant ones."""
    mean = np.einsum("ck,ck->c", coefficients, moments[:, 0])
    square = np.einsum("ck,ckl,cl->c", coefficients, moments, coefficients)
    deviation, one = np.sqrt(np.maximum(square - mean**2, 0.0)), np.eye(coefficients.shape[1])[0]
    return (coefficients - np.outer(mean, one)) / np.where(deviation > 1e-9, deviation, np.inf)[:, None]


def label_free(
    home: Home, given: Array, f: Array, ranked: bool, progress: Callable[[str], None], spare: int = 0
) -> LabelFree:
    """Return the label-free answer.

    Parameters
    ----------
    home : Home
        The items.
    given, f : ndarray of shape (n, c)
        Their predictions, as they were given and standardised.
    ranked : bool
        Whether only the order of the predictions counts: they are then replaced by normal scores.
    progress : callable
        Called with a sentence whenever something long begins.
    spare : int
        Bytes that views may take which are kept as the process sees them.
    """
    progress("Testing which views depend on the predictions")
    scores = home.dealt(f) if ranked else None
    f, order, sample, found, columns, present = view_relations(home, given, f, ranked)
    initial = home.dealt(f)
    related = tuple(found.related)
    rest = tuple(k for k in range(home.n_views) if k not in found.copies and k not in related)
    layout = Layout(related, rest, found.kept, len(f) >= SINGLE)
    keep = layout.size * len(f) <= spare
    if not related:
        base = home.dealt(f[:, :, None])
        base = base if scores is None else home.each(beside, base, scores)
        sums = home.summed(moments, base) / len(f)
        views = home.each(laid_out, layout=layout) if keep else None
        nothing = SignalShare(1.0, 0.0)
        return LabelFree(
            home, order, found, layout, None, None, None, base, sums, nothing, [], sample, views=views, scored=ranked
        )
    if must_compile(find_nearest, progress):
        compile_all(layout.single)
    progress("Placing anchors")
    drawn = [(columns[k], present[k]) for k in related]
    space, points = make_space(layout, drawn, home.complete(related), len(f))
    near, views = places(home, space, keep)
    progress("Averaging over alike items")
    alike = averages_of(home, initial, near, len(space.anchors.columns), scores)
    progress("Leaving out views in turn")
    # In the order of f: what is picked among them is spread evenly over f, and tells more of it than random ones do.
    spread = np.argsort(np.argsort(order)[sample])
    by_themselves = np.split(points.columns[spread], points.offsets[1:-1], axis=1)
    table = alike.moments
    p = smoothed(table)
    away = p - np.eye(table.shape[1])[1]
    residual = float(np.mean(np.einsum("ck,ckl,cl->c", away, table, away)))
    share = signal_share(f[sample[spread]], by_themselves, NEIGHBORS, residual)
    alone = zip(related, neighbors_alone(by_themselves, NEIGHBORS), strict=True)
    by_view = [(view, spread[items], spread[others]) for view, (items, others) in alone]
    return LabelFree(
        home=home,
        order=order,
        relations=found,
        layout=layout,
        space=space,
        near=near,
        share=share,
        by_view=by_view,
        sample=sample,
        views=views,
        scored=ranked,
        **alike._asdict(),
    )


class Averages(NamedTuple):
    """What items that are alike share; the fields are those of `LabelFree`."""

    graph: AnchorGraph
    n_placed: int
    sizes: Array
    base: Kept
    moments: Array
    averages: Array
    passes: list[Array]


def averages_of(
    home: Home, initial: Kept, near: Kept, a: int, scores: Kept | None, before: tuple[AnchorGraph, int] | None = None
) -> Averages:
    """Return averages over alike items, and all that is made of them, given Z for a anchors, and scores as they came.

    Low passes and kernels may take the graph of most of the items, and their number, for that of all: another one takes
    long.
    """
    sums = home.summed(gathered, near, initial, a=a)
    sizes = sums[:, 0]
    once = home.each(averaged, near, initial, initial, sizes=sizes, sums=sums[:, 1:])
    again = home.summed(gathered, near, once, a=a)[:, 1:]
    average = home.each(averaged, near, once, initial, sizes=sizes, sums=again)
    graph, m = before or (AnchorGraph.of(sizes, home.summed(shared, near, a=a)), home.n)
    passes = list(in_order(partial(graph.low_pass, sums[:, 1:] * (m / home.n)), STRENGTHS))
    base = home.each(based, near, initial, average, passes=passes)
    base = base if scores is None else home.each(beside, base, scores)
    table = home.summed(moments, base) / home.n
    return Averages(graph, m, sizes, base, table, again / np.maximum(sizes, FAINT)[:, None], passes)
