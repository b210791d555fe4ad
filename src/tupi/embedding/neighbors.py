"""Nearest neighbours among points made of several views, some of which an item may lack.

Exact below `EXACT_LIMIT` items, and at any number in few dimensions. Above, an inverted-file index of faiss proposes
candidates, which are then measured exactly; without faiss the search stays exact, and takes time that grows with the
square of the number of items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.anchors import Points
from tupi.runtime.computing import compiled, must_compile, on_threads

EXACT_LIMIT = 20_000
TREE_COLUMNS = 12  # a k-d tree is faster than products of whole matrices up to about so many dimensions
BLOCK_ENTRIES = 1 << 24  # distances held at once by the exact search
PROJECTED = 64  # dimensions in which candidates are looked for
PROBED = 12  # of 4 sqrt(n) cells of the inverted file, how many each query visits: recall is about 0.99
SAMPLE = 100_000  # points that place the cells
PATTERNS = 256  # sets of missing views, the most frequent first, that are filled by more than the mean
Array = NDArray[Any]


def nearest_points(
    points: Points, k: int, progress: Callable[[str], None] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return positions and distances of each point's k nearest others, nearest first.

    The squared distance is summed over the views that both have, times m over their number; it is infinite for two
    points that share none.

    Parameters
    ----------
    points : Points
        The points, at least k + 1 of them.
    k : int
        How many neighbours.
    progress : callable, optional
        Told when the search will be slow for lack of faiss, and when something has to be compiled first.
    """
    n, d = points.columns.shape
    complete = bool(points.present.all())
    if complete and d <= TREE_COLUMNS:
        found = _tree(points.columns, k)
    elif n >= EXACT_LIMIT and (faiss := _faiss()) is not None:
        found = _inverted_file(faiss, points.columns if complete else _filled(points), k)
    else:
        if n >= EXACT_LIMIT and progress is not None:
            progress(f"Comparing all {n} items with one another; with faiss-cpu installed this is much faster")
        found = _brute(points.columns, k) if complete else _brute_shared(points, k)
    if progress is not None:
        must_compile(shared_distances, progress)
    distances = np.empty(found.shape)

    def measure(begin: int, end: int) -> None:
        shared_distances(points.columns, points.present, points.offsets, found, begin, end, distances)

    on_threads(measure, n, found.size * d)
    distances[found == np.arange(n)[:, None]] = np.inf  # an approximate search may run out of others
    order = np.lexsort((found, distances), axis=1)[:, :k]
    return np.take_along_axis(found, order, 1).astype(np.int32), np.take_along_axis(distances, order, 1)


def _faiss() -> Any:
    """Return the module, or None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    return faiss


def _tree(X: Array, k: int) -> NDArray[np.int64]:
    return _others(X, k, "kd_tree")


def _brute(X: Array, k: int) -> NDArray[np.int64]:
    return _others(X, k, "brute")


def _others(X: Array, k: int, algorithm: str) -> NDArray[np.int64]:
    from sklearn.neighbors import NearestNeighbors  # takes long to import, and the default method needs none of it

    # Without an argument a point is not its own neighbour, even where others coincide with it.
    return NearestNeighbors(n_neighbors=k, algorithm=algorithm).fit(X).kneighbors(return_distance=False)


def _brute_shared(points: Points, k: int) -> NDArray[np.int64]:
    """Search by whole rows of distances over shared views."""
    n = len(points.columns)
    block = max(1, BLOCK_ENTRIES // n)
    found = np.empty((n, k), np.int64)
    for begin in range(0, n, block):
        rows = slice(begin, min(begin + block, n))
        squared = points.distances(points[rows])
        squared[np.arange(rows.stop - begin), np.arange(begin, rows.stop)] = np.inf
        # A point's own infinite distance may tie with those of points that share no view; it is sorted out later.
        found[rows] = np.argpartition(squared, k - 1, axis=1)[:, :k]
    return found


def _filled(points: Points) -> Array:
    """Return the points with missing views predicted linearly from the others: good enough to find candidates by."""
    X, P = points.columns.copy(), points.present
    widths = np.diff(points.offsets)
    together = np.maximum(P.T.astype(np.float64) @ P, 1.0)
    covariance = (X.T @ X) / np.repeat(np.repeat(together, widths, axis=0), widths, axis=1)
    covariance.flat[:: len(covariance) + 1] += 0.01 * np.trace(covariance) / len(covariance)
    patterns, which, counts = np.unique(P, axis=0, return_inverse=True, return_counts=True)
    for pattern in np.argsort(-counts)[:PATTERNS]:
        known = np.repeat(patterns[pattern], widths)
        if not known.all():
            rows = np.flatnonzero(which == pattern)
            predict = np.linalg.solve(covariance[np.ix_(known, known)], covariance[np.ix_(known, ~known)])
            X[np.ix_(rows, ~known)] = X[np.ix_(rows, known)] @ predict
    return X


def _inverted_file(faiss: Any, X: Array, k: int) -> NDArray[np.int64]:
    """Return about twice k candidates per point from an inverted file over the leading principal directions."""
    n, d = X.shape
    sample = X[:: max(1, n // SAMPLE)].astype(np.float32)
    if d > PROJECTED:
        _, directions = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
        X = X @ directions[:, -PROJECTED:].astype(X.dtype)
        sample = X[:: max(1, n // SAMPLE)]
    X = np.ascontiguousarray(X, dtype=np.float32)
    cells = int(4 * np.sqrt(n))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], cells)
    index.cp.min_points_per_centroid = 1  # a small sample is no reason to warn
    index.cp.niter = 8  # better placed cells find no more
    index.nprobe = PROBED
    index.train(np.ascontiguousarray(sample, dtype=np.float32))
    index.add(X)
    found = index.search(X, 2 * k + 1)[1]
    return np.where(found < 0, np.arange(n)[:, None], found)  # -1: the visited cells held fewer


@compiled()
def shared_distances(
    X: Array, present: Array, offsets: Array, candidates: Array, begin: int, end: int, distances: Array
) -> None:
    """Write the distances of some points to their candidates, over shared views."""
    m = len(offsets) - 1
    for i in range(begin, end):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            total, shared = 0.0, 0
            for v in range(m):
                if present[i, v] and present[j, v]:
                    shared += 1
                    for column in range(offsets[v], offsets[v + 1]):
                        total += (X[i, column] - X[j, column]) ** 2
            distances[i, c] = np.sqrt(total * m / shared) if shared else np.inf
