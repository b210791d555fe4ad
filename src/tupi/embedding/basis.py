"""Basis points of the Nystroem approximation (label ``e:kapprox``): k-means centres, or a grid in one dimension."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tupi.blocks.home import Home, Rows, reads_views
from tupi.blocks.memory import Memory
from tupi.embedding.gaussian import squared_distances
from tupi.inputs.views import View

SAMPLE = 5000  # rows that k-means sees: centres settle long before
CONTENT_LIMIT = 200_000  # items beyond which a sample is drawn by position instead of content
LEADING = 8  # columns that decide between rows of equal norm
N_LLOYD = 10  # rounds of Lloyd's algorithm: the kernel factor no longer changes visibly after that


def canonical_order(norms: NDArray[np.float64], leading: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of rows that depends on their content only.

    Rows are sorted by their squared norm, then by their leading values. Whatever is drawn in this order is the same
    after a shuffle of the items, a copy of the data, or a rotation of the view.
    """
    order = np.argsort(norms, kind="stable")
    if (np.diff(norms[order]) == 0).any():
        order = np.lexsort([*leading.T[::-1], norms])
    return order


def in_canonical_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows in an order that depends on their content only."""
    return X[canonical_order(np.einsum("ij,ij->i", X, X), X[:, :LEADING])]


def sample_views(home: Home, size: int = SAMPLE, scaling: str = "columns") -> list[NDArray[np.float64]]:
    """Return at most ``size`` rows of each view, evenly spread over the canonical order of the items that have it.

    Past `CONTENT_LIMIT` items, and for views that are read from files, rows are evenly spread over the items instead:
    the canonical order would take one more pass over the data.

    Parameters
    ----------
    home : Home
        The items, in an order of which rows can be drawn evenly.
    size : int
        How many rows.
    scaling : {"columns", "view"}
        See `tupi.inputs.views.View.rows`.
    """
    counts = [int(home.having(k).sum()) for k in range(home.n_views)]
    by_content = [size < n <= CONTENT_LIMIT and not home.on_disk(k) for k, n in enumerate(counts)]
    spread = [np.linspace(0, n - 1, size).astype(int) if n > size else np.arange(n) for n in counts]
    if any(by_content):
        keys = zip(*home.fetched(home.each(_content_keys, wanted=by_content, scaling=scaling)), strict=True)
        for k, found in enumerate(keys):
            if by_content[k]:
                content = np.concatenate(found)
                spread[k] = canonical_order(content[:, 0], content[:, 1:])[spread[k]]
    orders = [np.argsort(ranks) for ranks in spread]
    drawn = home.drawn([ranks[order] for ranks, order in zip(spread, orders, strict=True)], scaling)
    return [
        rows[np.argsort(order)] if content else in_canonical_order(rows)
        for rows, order, content in zip(drawn, orders, by_content, strict=True)
    ]


@reads_views
def _content_keys(rows: Rows, *, wanted: list[bool], scaling: str) -> list[NDArray[np.float64] | None]:
    """Return squared norm and leading values of the items that have each wanted view, by which a sample is drawn."""
    found: list[NDArray[np.float64] | None] = []
    for k, one in enumerate(wanted):
        X, has = rows.view(k, scaling) if one else (np.empty((0, 0)), np.zeros(0, bool))
        X = X if has.all() else X[has]
        found.append(np.column_stack([np.einsum("ij,ij->i", X, X), X[:, :LEADING]]) if one else None)
    return found


def sample_view(view: View, size: int = SAMPLE, scaling: str = "columns") -> NDArray[np.float64]:
    """Return at most ``size`` rows of a view of all items, as `sample_views` draws them."""
    return sample_views(Memory((view,), np.arange(view.n)), size, scaling)[0]


def basis_points(X: NDArray[np.float64], rank: int, random_state: int = 0) -> NDArray[np.float64]:
    """Return at most ``rank`` basis points for the rows of ``X``: the paper's choices.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows, or a sample of them in canonical order.
    rank : int
        K, the number of basis points.
    random_state : int
        Seed of k-means++.
    """
    if X.shape[1] == 1:
        return np.linspace(X.min(), X.max(), rank)[:, None]
    distinct = np.unique(X, axis=0) if len(X) <= rank else X
    if len(distinct) <= rank:
        return distinct
    return _lloyd(X, X[first_centers(X, rank, random_state)])


def first_centers(X: NDArray[np.float64], rank: int, random_state: int) -> NDArray[np.int64]:
    """Return the rows from which k-means starts, by greedy k-means++ (Arthur and Vassilvitskii, 2007).

    Each next one is drawn with a probability that grows with its squared distance to those chosen so far; of a few that
    are drawn the one is taken after which the sum of these distances is least. The draws are those of scikit-learn,
    whose import would take longer than all that the default method does with a few thousand items.
    """
    rng = np.random.RandomState(random_state)
    chosen = [int(rng.choice(len(X), p=np.full(len(X), 1 / len(X))))]
    closest = squared_distances(X[chosen], X)[0]
    for _ in range(1, rank):
        drawn = rng.uniform(size=2 + int(np.log(rank))) * closest.sum()
        candidates = np.minimum(np.searchsorted(np.cumsum(closest), drawn), len(X) - 1)
        then = np.minimum(closest, squared_distances(X[candidates], X))
        best = int(then.sum(axis=1).argmin())
        chosen.append(int(candidates[best]))
        closest = then[best]
    return np.array(chosen)


def _lloyd(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve centres by Lloyd's algorithm; a centre that loses all its rows stays where it is."""
    for _ in range(N_LLOYD):
        scores = X @ centers.T - 0.5 * np.einsum("ij,ij->i", centers, centers)
        nearest = scores.argmax(axis=1)
        counts = np.bincount(nearest, minlength=len(centers))
        members = sp.csr_array((np.ones(len(X)), nearest, np.arange(len(X) + 1)), shape=(len(X), len(centers)))
        sums = members.T @ X
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.allclose(moved, centers, rtol=0, atol=1e-9):
            return moved
        centers = moved
    return centers
