"""The anchor graph: who is like whom, as a function of one item.

Some items, or means of items, are anchors. Z (n x a) holds the weights of each item's nearest anchors, with rows that
sum to one, and Lam = diag(Z^T 1). Then W = Z Lam^-1 Z^T says how alike any two items are: it is symmetric, and its rows
sum to one. With U = Z Lam^-1/2 and A = U^T U (a x a), everything that a graph of n items is asked for is a sum over
items and a small matrix:

- the average of f over items that are alike: W f = U (U^T f), less what an item adds to its own average, W_ii f_i;
- a low pass of f: (I + c (I - W))^-1 f = (f + c U B U^T f) / (1 + c), with B = ((1 + c) I - c A)^-1;
- the kernel of such functions, the low pass twice: U M U^T with M = c (B + (1 + c) B^2) / (1 + c)^2, beside a multiple
  of the identity that says nothing about other items and is left out.

A new item has its own row of Z, and nothing else changes. Here are anchors and Z; `tupi.embedding.anchor_graph` has the
small matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.compiling import compiled
from tupi.runtime.threads import in_order

MOST = 2000  # anchors: of up to so many items, each is one
NEAREST = 30  # anchors of an item
WIDTH = 0.2  # of the Gaussian weights, in squared distances to the last of these
ROUNDS = 5  # of k-means
IN_CACHE = 1 << 18  # distances that are computed at once
LANES, HALVINGS = 128, 8  # by which a bound of the least entries of a row is found
FAINT = 1e-3  # a share of other items in an average below this is rounding
Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Points:
    """Items as points whose columns come from several views.

    Attributes
    ----------
    columns : ndarray of shape (n, d)
        The views side by side; zero where an item lacks a view.
    present : ndarray of shape (n, m)
        Which item has which view.
    """

    columns: Array
    present: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Near:
    """Rows of Z: the nearest anchors of some items.

    Attributes
    ----------
    numbers : ndarray of shape (n, s), int32
        Which anchors.
    weights : ndarray of shape (n, s), float32
        Their weights: rows sum to one, or to zero for an item that shares no view with any anchor.
    """

    numbers: NDArray[np.int32]
    weights: NDArray[np.float32]

    def __getitem__(self, chosen: NDArray[np.int64] | slice) -> Near:
        """Return some of the items."""
        return Near(self.numbers[chosen], self.weights[chosen])

    @property
    def alone(self) -> NDArray[np.bool_]:
        """Which items have no anchor."""
        return np.asarray(~self.weights.any(axis=1))

    def own(self, sizes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return W_ii, what each item adds to its own average."""
        return (self.weights.astype(np.float64) ** 2 / np.maximum(sizes, FAINT)[self.numbers]).sum(axis=1)

    def gather(self, table: Array) -> NDArray[np.float64]:
        """Return Z table."""
        found = np.zeros((len(self.numbers), table.shape[1]))
        _gather(self.numbers, self.weights, np.ascontiguousarray(table, np.float64), found)
        return found

    def scatter(self, columns: Array, a: int) -> NDArray[np.float64]:
        """Return Z^T columns, for a anchors."""
        found = np.zeros((a, columns.shape[1]))
        _scatter(self.numbers, self.weights, np.ascontiguousarray(columns, np.float64), found)
        return found

    def shared(self, a: int) -> NDArray[np.float64]:
        """Return the lower triangle of Z^T Z; those of several items add up before `mirrored` fills in the upper."""
        found, s = np.zeros((a, a)), self.numbers.shape[1]
        _shared(self.numbers, self.weights, np.empty(s, np.uint32), np.empty(s), found)
        return found

    def diagonal(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the diagonal of Z table Z^T, for a symmetric table."""
        found = np.zeros(len(self.numbers))
        _quadratic(self.numbers, self.weights, table, found)
        return found


@dataclass(frozen=True, eq=False)
class Anchors:
    """The anchors as points.

    Attributes
    ----------
    columns, present : ndarray
        As in `Points`.
    offsets : ndarray of shape (m + 1,)
        Where the columns of each view begin.
    """

    columns: Array
    present: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    def distances(self, points: Points) -> Array:
        """Return squared distances over the views that both have, times m over their number; infinite if none."""
        if points.present.all() and self.present.all():
            # |x|^2 - 2 x c + |c|^2 as one product of matrices: further passes over so many entries would take longer.
            X = points.columns
            left = np.column_stack([X, np.einsum("ij,ij->i", X, X), np.ones(len(X), X.dtype)])
            return left @ self._right.T  # rounding may leave it a little below zero
        product = points.columns @ self.columns.T
        product *= -2
        starts, kind = self.offsets[:-1], product.dtype
        here, there = points.present.astype(kind), self.present.astype(kind)
        product += np.add.reduceat(points.columns**2, starts, axis=1) @ there.T
        product += here @ np.add.reduceat(self.columns**2, starts, axis=1).T
        shared = here @ there.T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(shared > 0, np.maximum(product, 0) * (len(starts) / shared), np.inf).astype(kind)

    @cached_property
    def _right(self) -> Array:
        """What every point's row is multiplied by."""
        C = self.columns
        return np.column_stack([-2 * C, np.ones(len(C), C.dtype), np.einsum("ij,ij->i", C, C)])

    @property
    def at_once(self) -> int:
        """How many points' distances stay in the cache until they are read again."""
        return max(1, IN_CACHE // max(1, len(self.columns)))

    def nearest_one(self, points: Points) -> NDArray[np.int64]:
        """Return the nearest anchor of each point."""

        def of(start: int) -> NDArray[np.int64]:
            some = slice(start, start + self.at_once)
            return self.distances(Points(points.columns[some], points.present[some])).argmin(axis=1)

        return np.concatenate(list(in_order(of, range(0, len(points.columns), self.at_once))))

    def near(self, points: Points) -> Near:
        """Return the rows of Z: the nearest anchors of each point."""
        return self.near_and_reach(points)[0]

    def near_and_reach(self, points: Points) -> tuple[Near, NDArray[np.float64]]:
        """Return the same, and how far each point is from the last of its nearest anchors; 0 if it has none."""
        n, s = len(points.columns), min(NEAREST, len(self.columns))
        numbers, weights = np.empty((n, s), np.int32), np.empty((n, s), np.float32)
        reach = np.empty(n)
        for start in range(0, n, self.at_once):
            some = slice(start, start + self.at_once)
            found = self.distances(Points(points.columns[some], points.present[some]))
            numbers[some], distances = nearest(found, s, equal_below(found))
            weights[some], reach[some] = _weighted(distances)
        return Near(numbers, weights), reach


def _weighted(distances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of anchors at ascending squared distances, and how far the last of them is."""
    distances = np.maximum(distances, 0.0)
    finite = np.isfinite(distances)
    reach = np.where(finite, distances, 0.0).max(axis=1, keepdims=True)
    # Of anchors that coincide with the point, all count alike; a point that shares no view with any has none.
    scaled = np.divide(distances, WIDTH * reach, out=np.zeros_like(distances), where=finite & (reach > 0))
    weights = np.where(finite, np.exp(-scaled), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    return weights / np.where(total > 0, total, 1.0), np.sqrt(reach[:, 0])


def place_anchors(sample: Points, offsets: NDArray[np.int64], n: int) -> Anchors:
    """Return anchors: all points of the sample if they are all there are and few, otherwise their means by k-means.

    Parameters
    ----------
    sample : Points
        Some items, drawn as if at random: the first of them are where k-means begins.
    offsets : ndarray of shape (m + 1,)
        Where the columns of each view begin.
    n : int
        How many items there are in all.
    """
    if n <= MOST:
        return Anchors(sample.columns, sample.present, offsets)
    found = Anchors(sample.columns[:MOST], sample.present[:MOST], offsets)
    a = len(found.columns)
    counts = np.add.reduceat(np.ones(offsets[-1]), offsets[:-1]).astype(np.int64)
    for _ in range(ROUNDS):
        home = found.nearest_one(sample)
        members = _sums(home, sample.present.astype(np.float64), a)
        means = _sums(home, sample.columns.astype(np.float64), a)
        means /= np.repeat(np.maximum(members, 1), counts, axis=1)
        moved = np.repeat(members > 0, counts, axis=1)
        columns = np.where(moved, means, found.columns).astype(sample.columns.dtype)
        found = Anchors(columns, (members > 0) | found.present, offsets)
    return found


def _sums(home: NDArray[np.int64], rows: NDArray[np.float64], a: int) -> NDArray[np.float64]:
    """Return the sum of the rows that belong to each anchor."""
    order = np.argsort(home, kind="stable")
    owners, starts = np.unique(home[order], return_index=True)
    found = np.zeros((a, rows.shape[1]))
    found[owners] = np.add.reduceat(rows[order], starts, axis=0)
    return found


def equal_below(distances: Array) -> float:
    """Return the difference of squared distances, of items with variance about one, that rounding may well make."""
    return 2.0**-33 if distances.dtype == np.float64 else 2.0**-16


def nearest(distances: Array, count: int, step: float) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the positions of the smallest entries in each row, ascending, and these; of equal ones the first.

    They are rounded to multiples of a step: what differs by less is equal, and rounding errors decide nothing.
    """
    n, a = distances.shape
    near, found = np.zeros((n, count), np.int32), np.full((n, count), np.inf)
    find_nearest(distances, step, np.empty(LANES, distances.dtype), np.empty(a + 1, np.int32), near, found)
    return near, found


# Arrays are made by whoever calls, and read by single entries: slices and new arrays take seconds to compile.
@compiled()
def find_nearest(distances, step, least, within, near, found):  # type: ignore[no-untyped-def]
    """Fill in ``near`` and ``found``, see `nearest`; ``least`` and ``within`` are room to work in."""
    n, a = distances.shape
    count = near.shape[1]
    for i in range(n):
        bound = distances.dtype.type(_bound(distances, i, count, least) + 2 * step)
        m = 0
        for j in range(a):  # without a branch, which nobody could foretell
            within[m] = j
            m += distances[i, j] <= bound
        for candidate in range(m):
            j = within[candidate]
            d = np.floor(distances[i, j] / step + 0.5) * step
            if d < found[i, count - 1]:
                k = count - 1
                while k > 0 and found[i, k - 1] > d:
                    found[i, k] = found[i, k - 1]
                    near[i, k] = near[i, k - 1]
                    k -= 1
                found[i, k] = d
                near[i, k] = j


@compiled(no_cpython_wrapper=True)
def _bound(distances, i, count, least):  # type: ignore[no-untyped-def]
    """Return a number that at least ``count`` entries of row i do not exceed, and few more; infinite if they are few.

    Each of `LANES` lanes has every so many-th entry. A number that the least entries of ``count`` lanes do not exceed
    is found by halving.
    """
    a = distances.shape[1]
    if count >= LANES or a < 2 * LANES:
        return np.inf
    for j in range(LANES):
        least[j] = distances[i, j]
    for start in range(LANES, a - LANES + 1, LANES):
        for j in range(LANES):
            least[j] = min(least[j], distances[i, start + j])
    low = least[0]
    for j in range(LANES):
        low = min(low, least[j])
    high, finite = low, 0
    for j in range(LANES):
        if least[j] < np.inf:
            high, finite = max(high, least[j]), finite + 1
    if finite < count:
        return np.inf
    half = distances.dtype.type(0.5)  # everything stays in the precision of the row, which is faster
    for _ in range(HALVINGS):
        middle, below = (low + high) * half, 0
        for j in range(LANES):
            below += least[j] <= middle
        if below >= count:
            high = middle
        else:
            low = middle
    return high


@compiled()
def _gather(near, weights, table, found):  # type: ignore[no-untyped-def]
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            for j in range(table.shape[1]):
                found[i, j] += weights[i, k] * table[near[i, k], j]


@compiled()
def _scatter(near, weights, columns, found):  # type: ignore[no-untyped-def]
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            for j in range(columns.shape[1]):
                found[near[i, k], j] += weights[i, k] * columns[i, j]


@compiled()
def _shared(near, weights, numbers, ordered, found):  # type: ignore[no-untyped-def]
    n, s = near.shape
    for i in range(n):
        for k in range(s):  # by number, so that all that follows is below the diagonal, and runs along its rows
            j = k
            while j > 0 and numbers[j - 1] > near[i, k]:
                numbers[j] = numbers[j - 1]
                ordered[j] = ordered[j - 1]
                j -= 1
            numbers[j] = near[i, k]
            ordered[j] = weights[i, k]
        for k in range(s):
            row = found[numbers[k]]
            for j in range(k + 1):
                row[numbers[j]] += ordered[k] * ordered[j]


@compiled()
def _quadratic(near, weights, table, found):  # type: ignore[no-untyped-def]
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            total = weights[i, k] * table[near[i, k], near[i, k]]
            for j in range(k):
                total += 2 * weights[i, j] * table[near[i, k], near[i, j]]
            found[i] += weights[i, k] * total


def compile_all(single: bool) -> None:
    """Compile everything here by calling it once, so that nobody has to wait for it in the middle of something else.

    Distances are in single or in double precision; what a call does not need is not compiled for it.
    """
    near = Near(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    nearest(np.zeros((1, 1), np.float32 if single else np.float64), 1, 1.0)
    near.gather(np.zeros((1, 1)))
    near.scatter(np.zeros((1, 1)), 1)
    near.shared(1)
    near.diagonal(np.zeros((1, 1), np.float32))
