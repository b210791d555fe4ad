"""The anchor graph: who is like whom, as a function of one item.

Some items, or means of items, are anchors. Z (n x a) holds the weights of each item's nearest anchors, with rows that
sum to one, and Lam = diag(Z^T 1). Then W = Z Lam^-1 Z^T says how alike any two items are: it is symmetric, and its rows
sum to one. With U = Z Lam^-1/2 and A = U^T U (a x a), everything that a graph of n items is asked for is a sum over
items and a small matrix:

- the average of f over items that are alike: W f = U (U^T f), less what an item adds to its own average, W_ii f_i;
- a low pass of f: (I + c (I - W))^-1 f = (f + c U B U^T f) / (1 + c), with B = ((1 + c) I - c A)^-1;
- the kernel of such functions, the low pass twice: U M U^T with M = c (B + (1 + c) B^2) / (1 + c)^2, beside a multiple
  of the identity that says nothing about other items and is left out.

A new item has its own row of Z, and nothing else changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_factor, cho_solve, lapack

from tupi.embedding.anchor_loops import LANES, find_nearest, gather, overlaps, quadratic, scatter
from tupi.runtime.computing import in_order

MOST = 2000  # anchors: of up to so many items, each is one
NEAREST = 30  # anchors of an item
WIDTH = 0.2  # of the Gaussian weights, in squared distances to the last of these
ROUNDS = 5  # of k-means
IN_CACHE = 1 << 18  # distances that are computed at once
FAINT = 1e-3  # a share of other items in an average below this is rounding
TILE = 256  # rows and columns of a table that are mirrored at once
REMEMBERED = 500  # items to which a kernel of the graph is known, at least as long as no more are asked for
Precision = TypeVar("Precision", bound=np.floating)
Array = NDArray[np.floating]


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
        gather(self.numbers, self.weights, np.ascontiguousarray(table, np.float64), found)
        return found

    def scatter(self, columns: Array, a: int) -> NDArray[np.float64]:
        """Return Z^T columns, for a anchors."""
        found = np.zeros((a, columns.shape[1]))
        scatter(self.numbers, self.weights, np.ascontiguousarray(columns, np.float64), found)
        return found

    def shared(self, a: int) -> NDArray[np.float64]:
        """Return the lower triangle of Z^T Z; those of several items add up before `mirrored` fills in the upper."""
        found, s = np.zeros((a, a)), self.numbers.shape[1]
        overlaps(self.numbers, self.weights, np.empty(s, np.uint32), np.empty(s), found)
        return found

    def diagonal(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the diagonal of Z table Z^T, for a symmetric table."""
        found = np.zeros(len(self.numbers))
        quadratic(self.numbers, self.weights, table, found)
        return found


@dataclass(frozen=True, eq=False)
class Points:
    """Items, or the anchors among them, as points whose columns come from several views.

    Attributes
    ----------
    columns : ndarray of shape (n, d)
        The views side by side; zero where an item lacks a view.
    present : ndarray of shape (n, m)
        Which item has which view.
    offsets : ndarray of shape (m + 1,)
        Where the columns of each view begin.
    """

    columns: Array
    present: NDArray[np.bool_]
    offsets: NDArray[np.int64]

    def __getitem__(self, chosen: NDArray[np.int64] | slice) -> Points:
        """Return some of the points."""
        return Points(self.columns[chosen], self.present[chosen], self.offsets)

    def distances(self, points: Points, room: Array | None = None) -> Array:
        """Return squared distances over the views that both have, times m over their number; infinite if none.

        They may be written to a room that is large enough, of the precision of the points, and be returned there.
        """
        if points.present.all() and self.present.all():
            # |x|^2 - 2 x c + |c|^2 as one product of matrices: further passes over so many entries would take longer.
            X = points.columns
            left = np.column_stack([X, np.einsum("ij,ij->i", X, X), np.ones(len(X), X.dtype)])
            return np.matmul(
                left, self._right.T, out=None if room is None else room[: len(X)]
            )  # may be just below zero
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
        """What the row of every other point is multiplied by."""
        C = self.columns
        return np.column_stack([-2 * C, np.ones(len(C), C.dtype), np.einsum("ij,ij->i", C, C)])

    @property
    def at_once(self) -> int:
        """How many other points' distances stay in the cache until they are read again."""
        return max(1, IN_CACHE // max(1, len(self.columns)))

    def nearest_one(self, points: Points) -> NDArray[np.int64]:
        """Return which of these is the nearest to each of other points."""

        def of(start: int) -> NDArray[np.int64]:
            return self.distances(points[start : start + self.at_once]).argmin(axis=1)

        return np.concatenate(list(in_order(of, range(0, len(points.columns), self.at_once))))

    def near_and_reach(self, points: Points) -> tuple[Near, NDArray[np.float64]]:
        """Return the rows of Z, and how far each point is from the last of its nearest anchors; 0 if it has none."""
        n, s = len(points.columns), min(NEAREST, len(self.columns))
        numbers, weights = np.empty((n, s), np.int32), np.empty((n, s), np.float32)
        reach = np.empty(n)
        # One room for all: workers of Dask give memory back to the system at once, and to get it again takes as long
        # as to compute what is in it.
        room = np.empty((min(n, self.at_once), len(self.columns)), np.result_type(points.columns, self.columns))
        for start in range(0, n, self.at_once):
            some = slice(start, start + self.at_once)
            found = self.distances(points[some], room)
            numbers[some], distances = nearest(found, s, equal_below(found))
            weights[some], reach[some] = _weighted(distances)
        return Near(numbers, weights), reach


def one_view(X: Array) -> Points:
    """Return rows of one view, which no item lacks, as points."""
    return Points(X, np.ones((len(X), 1), bool), np.array([0, X.shape[1]]))


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


def nearest(distances: NDArray[np.floating], count: int, step: float) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the positions of the smallest entries in each row, ascending, and these; of equal ones the first.

    They are rounded to multiples of a step: what differs by less is equal, and rounding errors decide nothing.
    """
    n, a = distances.shape
    near, found = np.zeros((n, count), np.int32), np.full((n, count), np.inf)
    find_nearest(distances, step, np.empty(LANES, distances.dtype), np.empty(a + 1, np.int32), near, found)
    return near, found


def nearest_others(X: Array, some: NDArray[np.int64], k: int) -> NDArray[np.int32]:
    """Return which k other rows are nearest to each of some rows of X, the nearest first."""
    points = one_view(X)
    distances = points.distances(points[some])
    distances[np.arange(len(some)), some] = np.inf
    return nearest(distances, min(k, len(X) - 1), equal_below(distances))[0]


def place_anchors(sample: Points, n: int) -> Points:
    """Return anchors: all points of the sample if they are all there are and few, otherwise their means by k-means.

    Parameters
    ----------
    sample : Points
        Some items, drawn as if at random: the first of them are where k-means begins.
    n : int
        How many items there are in all.
    """
    offsets = sample.offsets
    if n <= MOST:
        return sample
    found = sample[:MOST]
    a = len(found.columns)
    counts = np.add.reduceat(np.ones(offsets[-1]), offsets[:-1]).astype(np.int64)
    for _ in range(ROUNDS):
        home = found.nearest_one(sample)
        members = _sums(home, sample.present.astype(np.float64), a)
        means = _sums(home, sample.columns.astype(np.float64), a)
        means /= np.repeat(np.maximum(members, 1), counts, axis=1)
        moved = np.repeat(members > 0, counts, axis=1)
        columns = np.where(moved, means, found.columns).astype(sample.columns.dtype)
        found = Points(columns, (members > 0) | found.present, offsets)
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


def compile_all(single: bool) -> None:
    """Compile everything here by calling it once, so that nobody has to wait for it in the middle of something else.

    Distances among a sample are in single precision, and those to anchors in single or in double precision; what a call
    does not need is not compiled for it.
    """
    near = Near(np.zeros((1, 1), np.int32), np.ones((1, 1), np.float32))
    for precision in (np.float32,) if single else (np.float32, np.float64):
        nearest(np.zeros((1, 1), precision), 1, 1.0)
    near.gather(np.zeros((1, 1)))
    near.scatter(np.zeros((1, 1)), 1)
    near.shared(1)
    near.diagonal(np.zeros((1, 1), np.float32))


@dataclass(frozen=True, eq=False)
class AnchorGraph:
    """What passes over items have summed up of the graph.

    Attributes
    ----------
    sizes : ndarray of shape (a,)
        Z^T 1, the diagonal of Lam.
    shared : ndarray of shape (a, a)
        Z^T Z.
    """

    sizes: NDArray[np.float64]
    shared: NDArray[np.float64]

    @classmethod
    def of(cls, sizes: NDArray[np.float64], lower: NDArray[np.float64]) -> AnchorGraph:
        """Return the graph, given Z^T 1 and the lower triangle of Z^T Z."""
        return cls(sizes, mirrored(lower))

    @property
    def roots(self) -> NDArray[np.float64]:
        """Lam^-1/2; zero for an anchor that is nobody's."""
        return np.divide(1.0, np.sqrt(self.sizes), out=np.zeros_like(self.sizes), where=self.sizes > 0)

    @cached_property
    def _factors(self) -> dict[float, NDArray[np.float32]]:
        """What `_factor` has returned."""
        return {}

    def _factor(self, c: float) -> NDArray[np.float32]:
        """Return Cholesky's factor of (1 + c) I - c A; its condition is 1 + c, so that single precision will do."""
        if c not in self._factors:
            roots = self.roots.astype(np.float32)
            A = self.shared.astype(np.float32)
            A *= roots
            A *= (-np.float32(c) * roots)[:, None]
            A[np.diag_indices_from(A)] += np.float32(1 + c)
            # It is symmetric: its transpose is the same, in the order that LAPACK wants.
            self._factors[c] = cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)[0]
        return self._factors[c]

    def low_pass(self, sums: NDArray[np.float64], c: float) -> NDArray[np.float64]:
        """Return b with which (I + c (I - W))^-1 f = f / (1 + c) + Z b, given Z^T f."""
        roots = self.roots[:, None]
        solved = cho_solve((self._factor(c), True), (roots * sums).astype(np.float32), check_finite=False)
        return np.asarray(c / (1 + c) * roots * solved, float)

    def kernel(self, c: float) -> GraphKernel:
        """Return Lam^-1/2 M Lam^-1/2, between whose rows and columns Z gives the kernel of two items."""
        return GraphKernel(self._factor(c), (self.roots * np.sqrt(c) / (1 + c)).astype(np.float32), c)


@dataclass(frozen=True, eq=False)
class GraphKernel:
    """A kernel of the graph between anchors: D (B + (1 + c) B^2) D, with B = (L L^T)^-1 and a diagonal D.

    Attributes
    ----------
    factor : ndarray of shape (a, a)
        L, the lower triangle.
    roots : ndarray of shape (a,)
        The diagonal of D.
    c : float
        The strength of the low pass.
    """

    factor: NDArray[np.float32]
    roots: NDArray[np.float32]
    c: float

    def times(self, columns: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the kernel times columns, without the kernel: for few columns that is many times as fast.

        On some processors a column comes out differently in its last bits if others are asked for at the same time. So
        this is done in double precision, and rounded: labels that come one by one give what they give at once.
        """
        factor, roots = (self.factor.astype(np.float64), True), self.roots.astype(np.float64)[:, None]
        once = cho_solve(factor, roots * columns, check_finite=False)
        return (roots * (once + (1 + self.c) * cho_solve(factor, once, check_finite=False))).astype(np.float32)

    def to(self, near: Near) -> NDArray[np.float32]:
        """Return the kernel between anchors and items, shape (a, n), given the nearest anchors of these.

        Items that were asked for before are not computed again: of labels that come one by one, most are known.
        """
        keys = [
            numbers.tobytes() + weights.tobytes() for numbers, weights in zip(near.numbers, near.weights, strict=True)
        ]
        known = self._known
        new = np.array([i for i, key in enumerate(keys) if key not in known], np.int64)
        if len(new):
            some = near[new].scatter(np.eye(len(new)), len(self.roots)).astype(np.float32)
            found = dict(zip([keys[i] for i in new], self.times(some).T, strict=True))
            if len(known) + len(found) > REMEMBERED:
                known = {key: known[key] for key in keys if key in known}
            known = known | found
            vars(self)["_known"] = known  # in one step, since other threads may be asking too
        return np.array([known[key] for key in keys], np.float32).reshape(len(keys), len(self.roots)).T

    @cached_property
    def _known(self) -> dict[bytes, NDArray[np.float32]]:
        """Columns that `to` has returned, by the nearest anchors of their items."""
        return {}

    def scaled(self, factor: float) -> GraphKernel:
        """Return the kernel times a positive factor."""
        return replace(self, roots=self.roots * np.float32(np.sqrt(factor)))

    @cached_property
    def table(self) -> NDArray[np.float32]:
        """The whole kernel, shape (a, a)."""
        B = mirrored(lapack.spotri(self.factor, lower=True)[0])
        M = mirrored(blas.ssyrk(np.float32(1 + self.c), B, beta=1.0, c=B.copy(order="F"), lower=True, overwrite_c=True))
        M *= self.roots
        M *= self.roots[:, None]
        return M


def mirrored(lower: NDArray[Precision]) -> NDArray[Precision]:
    """Return a symmetric table, given its lower triangle; what is above is not looked at."""
    found = lower.copy()
    for start in range(0, len(lower), TILE):  # by tiles, of which the cache holds two
        for end in range(start, len(lower), TILE):
            tile = np.s_[end : end + TILE, start : start + TILE]
            part = lower[tile] if end > start else np.tril(lower[tile]) + np.tril(lower[tile], -1).T
            found[tile[::-1]] = part.T
    return found
