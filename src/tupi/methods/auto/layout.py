"""How an item is laid out: which views it is made of, and where it is among the others by those that count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Array, Rows
from tupi.embedding.anchors import Anchors, Near, Points, place_anchors
from tupi.methods.auto.signal import leading_directions


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

    def side_by_side(self, found: Sequence[tuple[Array, NDArray[np.bool_]]], views: tuple[int, ...]) -> Points:
        """Return the same, given the columns of each of the views and which items have it."""
        kind = np.float32 if self.single else np.float64
        columns = [
            (columns if (kept := self.kept[view]).all() else columns[:, kept]) / np.sqrt(kept.sum())
            for view, (columns, _) in zip(views, found, strict=True)
        ]
        return Points(np.hstack(columns).astype(kind), np.column_stack([has for _, has in found]))


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
        if self.directions is None:
            return self.anchors.near(points)
        return self.anchors.near(Points(points.columns @ self.directions, points.present[:, :1]))


def make_space(layout: Layout, points: Points, complete: bool, n: int) -> Space:
    """Return where items are: in leading directions if no item lacks a view."""
    offsets = layout.offsets(layout.related)
    if not complete:
        return Space(layout, None, place_anchors(points, offsets, n))
    directions = leading_directions(points.columns)
    columns = points.columns if directions is None else points.columns @ directions
    whole = Points(columns, points.present[:, :1])
    return Space(layout, directions, place_anchors(whole, np.array([0, columns.shape[1]]), n))
