"""What an item is to the default method.

Predictions become standardised columns (`Scale`), views columns side by side (`Layout`), and those that count say where
an item is among the others (`Space`): which anchors are the nearest to it. Labels are standardised too (`units_of`).

Where not all items can be looked at, some are drawn by their content, whatever the order in which they came. A sample
that is spread evenly over all items changes as a whole when one item is added, and with it anchors and all that
follows. So samples are drawn by a number that each item has from its own predictions alone, as if at random: the first
so many in the order of these numbers. One more item takes the place of at most one other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Home, Kept, Rows, reads_views
from tupi.embedding.anchors import Near, Points, one_view, place_anchors
from tupi.embedding.prepared import Prepared, in_scale
from tupi.embedding.relevance import TESTED, Relations, normal_quantiles, relations
from tupi.inputs.groups import Groups
from tupi.inputs.problem import Problem
from tupi.methods.auto.signal import FITTED, leading_directions

RHO = 0.8  # expected correlation of label-free answer and labels. It makes the slope positive whatever few labels say
SAMPLE = 10_000  # items that views are judged by and anchors are placed by
MOST_LOG_ODDS = np.log(999)  # of two classes: whoever says 1e-15 does not know it, and would outweigh everyone else
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Scale:
    """What predictions are, and how standardised columns become predictions.

    Attributes
    ----------
    task : str
        What they are for.
    scale, shift : ndarray of shape (c,)
        ``columns * scale + shift`` are predictions, or centred logarithms of probabilities. Of two classes only the
        second has a column, half its log odds: that of the first is the mirror image.
    probabilities : bool
        Whether they are class probabilities.
    groups : Groups, optional
        The group of each item, if rankings are within groups.
    """

    task: str
    scale: Array
    shift: Array
    probabilities: bool
    groups: Groups | None = None

    @classmethod
    def of(cls, problem: Problem, scale: Array, shift: Array, groups: Groups | None = None) -> Scale:
        """Return that of a problem, given how all its standardised columns become predictions."""
        given = problem.are_probabilities
        one = slice(1, None) if given and len(scale) == 2 else slice(None)
        return cls(problem.task, scale[one], shift[one], given, groups)

    @property
    def two(self) -> bool:
        """Whether they are probabilities of two classes."""
        return self.probabilities and len(self.scale) == 1

    def worked_on(self, columns: Array) -> Array:
        """Return which of all standardised columns are worked on; log odds only as far as anybody can know them."""
        if not self.two:
            return columns
        ends = (np.array([-0.5, 0.5]) * MOST_LOG_ODDS - self.shift) / self.scale
        return np.clip(columns[:, 1:], *ends)

    def standardized(self, columns: Array) -> Array:
        """Return the columns that are worked on, of `tupi.inputs.problem.Problem.columns`."""
        return self.worked_on((columns - self._all(self.shift, -1)) / self._all(self.scale, 1))

    def both(self, columns: Array) -> Array:
        """Return all columns, given those that are worked on."""
        return np.hstack([-columns, columns]) if self.two else columns

    def predictions(self, columns: Array) -> Array:
        """Return what columns that are worked on stand for, in the input's scale."""
        return in_scale(self.both(columns), self._all(self.scale, 1), self._all(self.shift, -1), self.probabilities)

    def _all(self, values: Array, sign: int) -> Array:
        """Return a figure of each column, given those of the columns that are worked on."""
        return np.append(sign * values, values) if self.two else values


def scale_of(prepared: Prepared) -> Scale:
    """Return what the predictions are; of two classes' probabilities, what those of the second are."""
    groups = None if prepared.problem.groups is None else prepared.problem.groups.among(prepared.items)
    return Scale.of(prepared.problem, prepared.scale, prepared.shift, groups)


@dataclass(frozen=True, eq=False)
class Layout:
    """Which views an item is made of, and which of their columns.

    Attributes
    ----------
    related : tuple of int
        Views that depend on the predictions, or on a view that does.
    rest : tuple of int
        Views that do not: junk, or something that the predictor knows nothing of. Only labels can tell.
    kept : list of ndarray of bool
        The columns of each view that do not repeat the predictions.
    single : bool
        Whether columns are kept in single precision.
    """

    related: tuple[int, ...]
    rest: tuple[int, ...]
    kept: list[NDArray[np.bool_]]
    single: bool

    def offsets(self, views: tuple[int, ...]) -> NDArray[np.int64]:
        """Return where the columns of each of some views begin, side by side."""
        return np.cumsum([0, *(int(self.kept[view].sum()) for view in views)])

    def points(self, rows: Rows, views: tuple[int, ...]) -> Points:
        """Return some views of items side by side, each scaled to total variance one."""
        return self.side_by_side([rows.view(view) for view in views], views)

    @property
    def size(self) -> int:
        """How many bytes the columns of an item take."""
        return int(self.offsets((*self.related, *self.rest))[-1]) * (4 if self.single else 8)

    def laid_out(self, rows: Rows, related: bool = True) -> list[NDArray[np.floating]]:
        """Return items as the process sees them: related views, unless these are known, and the rest."""
        used = (self.related, self.rest) if related else (self.rest,)
        return [of_one(self.points(rows, some), some) for some in used if some]

    def side_by_side(self, found: Sequence[tuple[Array, NDArray[np.bool_]]], views: tuple[int, ...]) -> Points:
        """Return the same, given the columns of each of the views and which items have it."""
        offsets = self.offsets(views)
        together = np.empty((len(found[0][1]), offsets[-1]), np.float32 if self.single else np.float64)
        for view, (columns, _), start, end in zip(views, found, offsets, offsets[1:], strict=False):
            kept = self.kept[view]
            some = columns if kept.all() else columns[:, kept]
            np.divide(some, np.sqrt(kept.sum()), out=together[:, start:end], casting="same_kind")
        return Points(together, np.column_stack([has for _, has in found]), offsets)


def of_one(points: Points, views: tuple[int, ...]) -> NDArray[np.floating]:
    """Return some views side by side with total variance one, given them with one each, which are overwritten."""
    return np.divide(points.columns, np.sqrt(len(views)), out=points.columns, casting="same_kind")


@dataclass(frozen=True, eq=False)
class Space:
    """Where an item is among the others by its related views.

    Attributes
    ----------
    layout : Layout
        Of its views.
    directions : ndarray of shape (d, k) or None
        Leading principal directions of the views side by side, if no item lacks a view and there are many columns.
    anchors : Points
        In these directions.
    """

    layout: Layout
    directions: NDArray[np.floating] | None
    anchors: Points


def near_and_reach(space: Space, points: Points) -> tuple[Near, NDArray[np.float64]]:
    """Return the nearest anchors of items, given their related views, and how far the last of them is (0 if none)."""
    directions = space.directions
    if len(space.anchors.offsets) == len(points.offsets) and directions is None:
        return space.anchors.near_and_reach(points)
    # No item lacked a view when the anchors were placed. One that came later may, and meets them column by column.
    whole = np.asarray(points.present.all(axis=1))
    columns = points.columns if directions is None else points.columns @ directions
    near, reach = space.anchors.near_and_reach(Points(columns, whole[:, None], space.anchors.offsets))
    if whole.all():
        return near, reach
    some, anchors = np.flatnonzero(~whole), space.anchors.columns
    anchors = anchors if directions is None else anchors @ directions.T
    everywhere = np.ones((len(anchors), points.present.shape[1]), bool)
    rows, far = Points(anchors, everywhere, points.offsets).near_and_reach(points[some])
    near.numbers[some], near.weights[some], reach[some] = rows.numbers, rows.weights, far
    return near, reach


def make_space(
    layout: Layout, sample: Sequence[tuple[Array, NDArray[np.bool_]]], complete: bool, n: int
) -> tuple[Space, Points]:
    """Return where items are, in leading directions if no item lacks a view, and the sample by which that was found.

    Parameters
    ----------
    layout : Layout
        Of the views.
    sample : sequence of tuple
        Columns of each related view for some of the items, and which of these have it.
    complete : bool
        Whether no item lacks a related view.
    n : int
        How many items there are.
    """
    points = layout.side_by_side(sample, layout.related)
    if not complete:
        return Space(layout, None, place_anchors(points, n)), points
    directions = leading_directions(points.columns[:FITTED])
    columns = points.columns if directions is None else points.columns @ directions
    return Space(layout, directions, place_anchors(one_view(columns), n)), points


def places(home: Home, space: Space, keep: bool) -> tuple[Kept, Kept | None]:
    """Return the nearest anchors of all items and, if they are to be kept, the views as the process sees them."""
    if not keep:
        return home.each(placed, space=space), None
    both = home.each(placed_and_laid_out, space=space)
    return [near for near, _ in both], [views for _, views in both]


@reads_views
def placed(rows: Rows, *, space: Space) -> Near:
    """Return the nearest anchors of each item."""
    return near_and_reach(space, space.layout.points(rows, space.layout.related))[0]


@reads_views
def placed_and_laid_out(rows: Rows, *, space: Space) -> tuple[Near, list[NDArray[np.floating]]]:
    """Return the same and, as long as they are at hand, the views as the process sees them."""
    layout = space.layout
    points = layout.points(rows, layout.related)
    near, _ = near_and_reach(space, points)
    return near, [of_one(points, layout.related), *layout.laid_out(rows, related=False)]


@reads_views
def laid_out(rows: Rows, *, layout: Layout) -> list[NDArray[np.floating]]:
    """Return the views as the process sees them."""
    return layout.laid_out(rows)


@reads_views
def view_rows(rows: Rows, *, n_views: int) -> list[NDArray[Any]]:
    """Return the columns of all views, and which items have them."""
    found = [rows.view(number) for number in range(n_views)]
    return [columns for columns, _ in found] + [has for _, has in found]


def view_relations(
    home: Home, given: Array, f: Array, ranked: bool
) -> tuple[Array, Positions, Positions, Relations, list[Array], list[NDArray[np.bool_]]]:
    """Return predictions as they are used here, items by content, a sample of them, and what it says about each view.

    After these come the sample's rows of each view, and which of its items have them.
    """
    order = content_order(home, f)
    f = normal_scores(f) if ranked else f
    sample = drawing_order(order, given)[:SAMPLE]
    drawn = home.picked(sample, view_rows, n_views=home.n_views)
    columns, present = drawn[: home.n_views], drawn[home.n_views :]
    rows, has = ([one[:TESTED] for one in some] for some in (columns, present))
    return f, order, sample, relations(rows, has, f[sample[:TESTED]]), columns, present


def normal_scores(columns: Array) -> Array:
    """Return each column with its values replaced by normal quantiles of their ranks, deviation 1."""
    scores = normal_quantiles(columns)
    scores -= scores.mean(axis=0)
    return scores / scores.std(axis=0)


@reads_views
def squares(rows: Rows, *, n_views: int) -> tuple[Array]:
    """Return a figure of each item's features that no order of columns or views changes."""
    found = np.zeros(len(rows.has(0)))
    for number in range(n_views):
        columns, has = rows.view(number)
        found += np.where(has, np.mean(columns**2, axis=1), 0.0)
    return (found,)


def content_order(home: Home, f: Array) -> Positions:
    """Return an order of the items that depends on their predictions and features only, and on no order of classes."""
    f = np.sort(f, axis=1)
    order = np.lexsort(f.T[::-1])
    same = (f[order[1:]] == f[order[:-1]]).all(axis=1)
    tied = np.sort(order[np.append(same, False) | np.append(False, same)])  # only these need a look at the features
    if not len(tied):
        return order
    figures = np.zeros(len(f))
    figures[tied] = home.picked(tied, squares, n_views=home.n_views)[0]
    return np.lexsort([figures, *f.T[::-1]])


def drawing_order(order: Positions, given: Array) -> Positions:
    """Return the items in the order in which they are drawn.

    Parameters
    ----------
    order : ndarray of int
        The items by content.
    given : ndarray of shape (n, c)
        Their predictions as they were given: what is made of these depends on the other items.
    """
    given = np.sort(given[order], axis=1) + 0.0  # classes have no order, and zero has no sign
    number = np.zeros(len(given), np.uint64)
    for column in given.T:
        number = _scrambled(number ^ np.ascontiguousarray(column).view(np.uint64))
    # Of equal predictions each has a number of its own, by its place among them.
    starts = np.append(True, (given[1:] != given[:-1]).any(axis=1))
    place = np.arange(len(given)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return order[np.argsort(_scrambled(number + place.astype(np.uint64)), kind="stable")]


def _scrambled(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, different ones for different numbers (SplitMix64, Steele and others 2014)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


def units_of(values: Array, weights: Array | None) -> tuple[float, float]:
    """Return the mean and the deviation of labels, to which each adds as much as it counts.

    The deviation is at least a billionth of that of labels which count alike: one that hardly counts may then be far
    from the others, and yet not so far that its square is no number.
    """
    level, deviation = float(np.average(values, weights=weights)), float(values.std())
    if weights is not None:
        deviation = max(float(np.sqrt(np.average((values - level) ** 2, weights=weights))), 1e-9 * deviation)
    return level, deviation


def standardised(values: Array, weights: Array | None) -> Array:
    """Return labels less their mean, over their deviation; see `units_of`."""
    level, deviation = units_of(values, weights)
    return (values - level) / deviation


def slope(answers: Array, rho: float = RHO) -> float:
    """Return b0: the slope of labels with deviation one on predictions of them, if they correlate by so much."""
    return float(1 / np.sqrt(answers.var() + (1 - rho**2) / rho**2))
