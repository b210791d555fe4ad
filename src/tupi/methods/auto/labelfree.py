"""The answer without labels, and what the Gaussian process is built on: neighbours' averages, shrunk towards f."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from tupi.embedding.graphs import Graph, Neighbors, product_width_graph
from tupi.embedding.neighbors import Points, nearest_points
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import Block, Relations, Relevance, content_order, relations, sort_views
from tupi.methods.auto.signal import SignalShare, explained_by, leading_directions, sampled_neighbors, signal_share

N_NEIGHBORS = 15  # averaged, twice: an error that neighbours do not share shrinks to a fifteenth, and again
GRAPH_NEIGHBORS = 10
WIDTH_NEIGHBOR = 7  # whose distance is an item's own unit of length in the graph
FAINT = 1e-6  # added to all similarities, so that no item is cut off by rounding
STRENGTHS = (1.0, 10.0, 100.0)  # of the smoothed columns
TOL = 1e-4  # of what is solved on the graph: errors of labels are a thousand times larger
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelFree:
    """The label-free answer; all rows are in an order that depends on the items' content only.

    Attributes
    ----------
    order : ndarray of int
        Position of each row among the items that take part.
    f : ndarray of shape (n, c)
        Initial predictions, standardised; for ranking their normal scores, so that only their order counts.
    views : Relevance
        The views.
    share : SignalShare
        How much of f - smoothed is signal.
    smoothed : ndarray of shape (n, c)
        Neighbours' averages, twice, times their regression slope for f.
    near : Neighbors or None
        Nearest items by the related views; None if there are no such views.
    """

    order: NDArray[np.int64]
    f: Array
    views: Relevance
    share: SignalShare
    smoothed: Array
    near: Neighbors | None

    @property
    def answer(self) -> Array:
        """The estimate of what f would be without its error, in f's units."""
        return self.smoothed + self.share.c * (self.f - self.smoothed)

    @property
    def moves(self) -> bool:
        """Whether the estimate may come back without any label that confirms it."""
        return self.share.credible and self.share.c < 1.0

    @property
    def promise(self) -> float:
        """How much of the usual gain the views promise before any label: all of it, half, or none if all are junk."""
        return 1.0 if self.moves else 0.5 if self.views.related else 0.0

    @property
    def careful(self) -> Array:
        """What comes back without labels: the estimate where the views give good reason to move f, otherwise f."""
        return self.answer if self.moves else self.f

    @cached_property
    def graph(self) -> Graph:
        """The neighbour graph; its mean degree is one, so that strengths mean the same everywhere.

        Single precision makes all that is solved on it three times as fast, and is far finer than `TOL`.
        """
        assert self.near is not None
        return self_tuning_graph(self.near.first(GRAPH_NEIGHBORS))

    @cached_property
    def columns(self) -> list[Array]:
        """What f is through the views at several strengths, label-free answer first: standardised (n, c) columns."""
        found = [self.answer, self.f]
        if self.near is not None:
            found.append(self.smoothed)
            f: Any = self.f.astype(np.float32)
            found.extend(self.graph.smooth(f, strength, tol=TOL).astype(np.float64) for strength in STRENGTHS)
        return [unit(columns) for columns in found]

    def side_by_side(self, blocks: list[Block]) -> NDArray[np.floating]:
        """Return views side by side, scaled to total variance one."""
        return np.hstack([block.columns for block in blocks]) / np.sqrt(len(blocks))

    @cached_property
    def _neighbors_by_view(self) -> list[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        return [(block.view, *sampled_neighbors(block.columns, N_NEIGHBORS)) for block in self.views.related]

    def view_shares(self, columns: Array, n_views: int) -> Array:
        """Return each view's share of what the views, one by one, explain in some columns; junk and copies get none."""
        shares = np.zeros(n_views)
        for view, items, near in self._neighbors_by_view:
            shares[view] = explained_by(columns, items, near).mean()
        total = shares.sum()
        return shares / total if total > 0 else shares

    def in_order(self, rows: Array) -> Array:
        """Return rows in the order of the items that take part."""
        result = np.empty_like(rows)
        result[self.order] = rows
        return result


def label_free(prepared: Prepared, n_neighbors: int = N_NEIGHBORS) -> LabelFree:
    """Return the label-free answer of a problem, computed once."""
    return prepared.once(("label-free", n_neighbors), lambda: _compute(prepared, n_neighbors))


def in_content_order(prepared: Prepared) -> tuple[NDArray[np.int64], Array]:
    """Return an order of the items by their content, and the predictions in that order as methods here see them."""

    def compute() -> tuple[NDArray[np.int64], Array]:
        order = content_order(prepared)
        f = prepared.f[order]
        # For ranking the order of the scores is all that counts, whatever their scale.
        return order, normal_scores(f) if prepared.problem.task == "ranking" else f

    return prepared.once("content order", compute)


def view_relations(prepared: Prepared) -> Relations:
    """Return which views depend on the predictions, tested once: what is used and what is shown is the same."""
    return prepared.once("relations", lambda: relations(prepared, *in_content_order(prepared)))


def _compute(prepared: Prepared, n_neighbors: int) -> LabelFree:
    prepared.progress("Testing which views depend on the predictions")
    order, f = in_content_order(prepared)
    views = sort_views(prepared, order, view_relations(prepared))
    if not views.related:
        return LabelFree(order, f, views, SignalShare(1.0, 0.0), f, None)
    prepared.progress("Finding neighbours")
    near = nearest(views.related, max(n_neighbors, GRAPH_NEIGHBORS), prepared)
    prepared.progress("Leaving out views in turn")
    smoothed = smooth(f, near.first(n_neighbors))
    return LabelFree(order, f, views, signal_share(f, views.related, n_neighbors, smoothed), smoothed, near)


def thinned(base: LabelFree, kept: NDArray[np.int64], prepared: Prepared) -> LabelFree:
    """Return the label-free answer of some rows, with neighbours among them."""
    related, rest = (
        [Block(block.view, block.columns[kept], block.present[kept]) for block in blocks]
        for blocks in (base.views.related, base.views.rest)
    )
    near = nearest(related, GRAPH_NEIGHBORS, prepared) if related else None
    views = Relevance(related, rest, base.views.copies)
    return LabelFree(base.order[kept], base.f[kept], views, base.share, base.smoothed[kept], near)


def nearest(blocks: list[Block], k: int, prepared: Prepared) -> Neighbors:
    """Return nearest other items by some views together; distances are taken over the views that both items have."""
    columns = np.hstack([block.columns for block in blocks])
    present = np.column_stack([block.present for block in blocks])
    offsets = np.cumsum([0, *(block.columns.shape[1] for block in blocks)])
    points = Points(columns, present, offsets)
    if present.all():
        columns = leading_directions(columns)
        points = Points(columns, present[:, :1], np.array([0, columns.shape[1]]))
    return Neighbors(*nearest_points(points, min(k, len(points.columns) - 1), prepared.progress))


def smooth(f: Array, near: Neighbors) -> Array:
    """Return neighbours' averages of neighbours' averages, times the slope by which they predict f.

    The slope undoes the pull of averages towards their mean. An item without neighbours keeps its prediction.
    """
    averages = near.averages()
    alone = (np.diff(averages.indptr) == 0)[:, None]
    p = f
    for _ in range(2):
        p = np.where(alone, f, averages @ p)
    p = p - p.mean(axis=0)
    variance = np.mean(p**2, axis=0)
    slope = np.mean(p * f, axis=0) / np.where(variance > 0, variance, 1.0)
    return p * slope


def self_tuning_graph(near: Neighbors) -> Graph:
    """Return the graph with weights exp(-d_ij^2 / (s_i s_j)), s_i the distance to the seventh neighbour."""
    graph = product_width_graph(near, WIDTH_NEIGHBOR, FAINT)
    mean = graph.degrees.mean() if graph.degrees.any() else 1.0
    single: list[Any] = [(one / mean).astype(np.float32) for one in (graph.weights, graph.degrees)]
    return Graph(*single)


def normal_scores(columns: Array) -> Array:
    """Return each column with its values replaced by normal quantiles of their ranks, deviation 1."""
    return unit(norm.ppf((rankdata(columns, axis=0) - 0.5) / len(columns)))


def unit(columns: Array) -> Array:
    """Return columns with mean 0 and deviation 1; constant ones become zero."""
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    return columns / np.where(spread > 1e-12, spread, np.inf)
