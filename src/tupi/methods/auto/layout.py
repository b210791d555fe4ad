"""How an item is laid out: which views it is made of, and where it is among the others by those that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Array, Rows
from tupi.embedding.anchors import Anchors, Near, Points, place_anchors
from tupi.methods.auto.signal import FITTED, leading_directions


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

    def laid_out(self, rows: Rows, related: bool = True) -> list[Array]:
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
        return Points(together, np.column_stack([has for _, has in found]))


def of_one(points: Points, views: tuple[int, ...]) -> Array:
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
    anchors : Anchors
        In these directions.
    """

    layout: Layout
    directions: NDArray[np.floating] | None
    anchors: Anchors

    def near(self, points: Points) -> Near:
        """Return the nearest anchors of items, given their related views."""
        return self.near_and_reach(points)[0]

    def near_and_reach(self, points: Points) -> tuple[Near, NDArray[np.float64]]:
        """Return the same, and how far each item is from the last of its nearest anchors; 0 if it has none."""
        offsets = self.layout.offsets(self.layout.related)
        if len(self.anchors.offsets) == len(offsets) and self.directions is None:
            return self.anchors.near_and_reach(points)
        # No item lacked a view when the anchors were placed. One that came later may, and meets them column by column.
        whole = np.asarray(points.present.all(axis=1))
        columns = points.columns if self.directions is None else points.columns @ self.directions
        near, reach = self.anchors.near_and_reach(Points(columns, whole[:, None]))
        if whole.all():
            return near, reach
        some, anchors = np.flatnonzero(~whole), self.anchors.columns
        anchors = anchors if self.directions is None else anchors @ self.directions.T
        there = Anchors(anchors, np.ones((len(anchors), len(offsets) - 1), bool), offsets)
        rows, far = there.near_and_reach(Points(points.columns[some], points.present[some]))
        near.numbers[some], near.weights[some], reach[some] = rows.numbers, rows.weights, far
        return near, reach


def make_space(layout: Layout, points: Points, complete: bool, n: int) -> Space:
    """Return where items are: in leading directions if no item lacks a view."""
    offsets = layout.offsets(layout.related)
    if not complete:
        return Space(layout, None, place_anchors(points, offsets, n))
    directions = leading_directions(points.columns[:FITTED])
    columns = points.columns if directions is None else points.columns @ directions
    whole = Points(columns, points.present[:, :1])
    return Space(layout, directions, place_anchors(whole, np.array([0, columns.shape[1]]), n))
