"""Neighbours and the neighbour graph of all views together, searched once for each problem.

Views are standardised, divided by the square root of their number of columns, and put side by side, so that each
contributes the same mean squared distance whatever its dimension. Where an item lacks a view, the distance is taken
over the views that both items have, and scaled up to all of them; items that share no view are no neighbours.
"""

from __future__ import annotations

import numpy as np

from tupi.embedding.graphs import Graph, Neighbors, own_width_graph
from tupi.embedding.neighbors import EXACT_LIMIT, Points, nearest_points
from tupi.embedding.prepared import Prepared

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
    """Return all views side by side, each scaled to contribute equally; in single precision for many items."""
    n = len(prepared.items)
    blocks, present = [], []
    for view in prepared.problem.views:
        has = view.present[prepared.items]
        rows = view.rows(prepared.items[has])
        block = np.zeros((n, rows.shape[1]), np.float64 if n < EXACT_LIMIT else np.float32)
        block[has] = rows / np.sqrt(rows.shape[1])
        blocks.append(block)
        present.append(has)
    offsets = np.cumsum([0, *(block.shape[1] for block in blocks)])
    return Points(np.hstack(blocks), np.column_stack(present), offsets)
