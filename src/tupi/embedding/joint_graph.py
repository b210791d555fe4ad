"""Neighbours and the neighbour graph of all views together, searched once for each problem.

Views are standardised, divided by the square root of their number of columns, and put side by side, so that each
contributes the same mean squared distance whatever its dimension. Where an item lacks a view, the distance is taken
over the views that both items have, and scaled up to all of them; items that share no view are no neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.anchors import Points
from tupi.embedding.graphs import Graph, Neighbors, own_width_graph
from tupi.embedding.neighbors import EXACT_LIMIT, nearest_points
from tupi.embedding.prepared import Prepared
from tupi.inputs.views import View

LISTED = 32  # neighbours found at once, so that graphs with fewer of them share one search


def neighbors(prepared: Prepared, n_neighbors: int) -> Neighbors:
    """Return each item's nearest other items by all views together; at most n - 1."""
    n = len(prepared.items)
    listed = min(max(n_neighbors, LISTED), n - 1)

    def search() -> Neighbors:
        prepared.progress("Finding neighbours")
        return Neighbors(*nearest_points(joint_points(prepared), listed, prepared.progress))

    return prepared.once(("neighbors", listed), search).first(min(n_neighbors, n - 1))


def graph(prepared: Prepared, n_neighbors: int) -> Graph:
    """Return the graph of the n_neighbors nearest items by all views together."""
    return prepared.once(("graph", n_neighbors), lambda: own_width_graph(neighbors(prepared, n_neighbors)))


def joint_points(prepared: Prepared) -> Points:
    """Return the items that take part by all views side by side; in single precision if there are many."""
    many = len(prepared.items) >= EXACT_LIMIT
    return side_by_side(prepared.problem.views, prepared.items, np.float32 if many else np.float64)


def side_by_side(views: Sequence[View], items: NDArray[np.int64], dtype: type = np.float64) -> Points:
    """Return some items by all views, each scaled to contribute equally; zero where an item lacks a view."""
    blocks, present = [], []
    for view in views:
        has = view.present[items]
        rows = view.rows(items[has])
        block: NDArray[np.floating] = np.zeros((len(items), rows.shape[1]), dtype)
        block[has] = rows / np.sqrt(rows.shape[1])
        blocks.append(block)
        present.append(has)
    offsets = np.cumsum([0, *(block.shape[1] for block in blocks)])
    return Points(np.hstack(blocks), np.column_stack(present), offsets)


def joint_view(prepared: Prepared, news: NDArray[np.float64] | None = None) -> View:
    """Return the views side by side as one view of the items that take part.

    Each contributes the same mean squared distance whatever its dimension, as in `tupi.embedding.joint_graph`. Where an
    item lacks a view it is put at the view's mean.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    news : ndarray of shape (m,), optional
        What each view has beyond the predictions, from 0 to 1; its share in squared distances is multiplied by this.
    """
    points = joint_points(prepared)
    columns = np.array(points.columns, np.float64)
    if news is not None and news.any():
        for share, (start, stop) in zip(news, itertools.pairwise(points.offsets), strict=True):
            columns[:, start:stop] *= np.sqrt(share)
    return View("all views", columns)
