"""The neighbour graph in the plainest way: loops and whole matrices. And checks that all methods on it share."""

import numpy as np

from tests.methods.rows import SCORES, VIEWS, prepare
from tupi.inputs.labels import Pairs, Values


def standardized(view):
    """Return a view with columns of mean 0 and deviation 1 over the rows that are there."""
    return (view - np.nanmean(view, axis=0)) / np.nanstd(view, axis=0)


def distance_matrix(views):
    """Return distances over shared views; infinite where two items share none, and of an item to itself."""
    blocks = [standardized(np.asarray(view, float)) / np.sqrt(view.shape[1]) for view in views]
    n = len(blocks[0])
    distances = np.full((n, n), np.inf)
    for i in range(n):
        for j in range(n):
            shared = [b for b in blocks if np.isfinite(b[i]).all() and np.isfinite(b[j]).all()]
            if i != j and shared:
                total = sum(np.sum((b[i] - b[j]) ** 2) for b in shared)
                distances[i, j] = np.sqrt(total * len(blocks) / len(shared))
    return distances


def weight_matrix(views, k):
    """Return (W + W^T) / 2 with W_ij = exp(-d_ij^2 / s_i^2) for the k nearest, s_i twice their mean distance."""
    distances = distance_matrix(views)
    W = np.zeros_like(distances)
    for i, row in enumerate(distances):
        near = [j for j in np.argsort(row)[:k] if np.isfinite(row[j])]
        if near:
            s = 2 * np.mean(row[near])
            W[i, near] = np.exp(-(row[near] ** 2) / s**2)
    return (W + W.T) / 2


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def with_gaps(views, seed=0):
    """Return the views with rows missing here and there; every item keeps at least one view."""
    rng = np.random.default_rng(seed)
    gappy = {name: np.array(view, dtype=float) for name, view in views.items()}
    n = len(next(iter(gappy.values())))
    for name, rows in zip(gappy, np.array_split(rng.permutation(n)[: n // 2], len(gappy)), strict=True):
        gappy[name][rows] = np.nan
    return gappy


def reordered(labels, order):
    """Return the labels of items that were put in another order."""
    place = np.argsort(order)
    if labels is None:
        return None
    if isinstance(labels, Pairs):
        return Pairs(place[labels.higher], place[labels.lower])
    return Values(place[labels.index], labels.values)


def fitted(method, labels, scores=SCORES, views=VIEWS, task="ranking"):
    prepared = prepare(labels, scores, views, task)
    return method.fit(prepared, prepared.problem.labels).predictions(prepared)


def assert_order_free(method, labels, scores=SCORES, views=VIEWS, task="ranking"):
    """The order of items and of views changes nothing, nor does a second run."""
    before = fitted(method, labels, scores, views, task)
    np.testing.assert_array_equal(fitted(method, labels, scores, views, task), before)
    backwards = dict(reversed(list(views.items())))
    np.testing.assert_allclose(fitted(method, labels, scores, backwards, task), before, atol=1e-6)
    order = np.random.default_rng(1).permutation(len(scores))
    moved = {name: view[order] for name, view in views.items()}
    after = fitted(method, reordered(labels, order), scores[order], moved, task)
    np.testing.assert_allclose(after, before[order], atol=1e-6)
