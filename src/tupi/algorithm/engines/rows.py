"""Rows of the embedding while they are in cache: multiplied with a table, and added to grid points.

A row of an item consists of its row of the embedding and of its own features at f(t), called anchors, which are kept
apart. Both have whole numbers of vectors (`tupi.algorithm.engines.vectors`). Rows are taken in the order of their grid
cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload
from numpy.typing import NDArray

from tupi.algorithm.engines.vectors import (
    WIDE,
    everywhere,
    fetch,
    load,
    minus,
    part_of_a_loop,
    plus,
    plus_product,
    store,
    total,
    wide_zeros,
    zeros,
)
from tupi.embedding.embedding import LANES
from tupi.runtime.computing import compiled

Array = NDArray[Any]


def as_float(U: Array, start: int, count: int, room: Array) -> tuple[Array, int]:
    """Return an array that has rows from ``start`` on in float32, and where in it they begin."""
    raise TypeError("only for compiled code")


@overload(as_float)
def _as_float(U: Any, start: Any, count: Any, room: Any) -> Any:
    def as_they_are(U: Any, start: Any, count: Any, room: Any) -> Any:
        return U, start

    def converted(U: Any, start: Any, count: Any, room: Any) -> Any:
        for i in range(count):
            row, source = room[i], U[start + i]
            for j in range(len(source)):
                row[j] = source[j]
        return room, 0

    return as_they_are if U.dtype == types.float32 else converted


@part_of_a_loop
def _rise(table: Array, b: int, j: int, like: Any) -> Any:
    """Return a table's entries at grid point b and how much more they are at the next."""
    low = load(table, b, j, like)
    return low, minus(load(table, b + 1, j, like), low)


@compiled(no_cpython_wrapper=True)
def look_up_anchors(table: Array, cell: Array, share: Array, anchors: Array, U: Array, ahead: int, end: int) -> None:
    """Write rows of a table at positions given by cell and share; meanwhile fetch rows of U from ``ahead`` to ``end``.

    Rows are fetched here, one for each that is written, because a processor keeps only so many requests in mind.
    """
    like = zeros()
    for i in range(len(cell)):
        if ahead + i < end:
            fetch(U, ahead + i)
        b, t = cell[i], everywhere(share[i], like)
        for j in range(0, anchors.shape[1], LANES):
            low, rise = _rise(table, b, j, like)
            store(anchors, i, j, plus_product(low, t, rise))


@part_of_a_loop
def _multiply_same(W: Array, at: int, rows: Any, shares: Any, b: int, H: Array, first: int, sums: Any) -> Any:
    """Add to four sums the products of columns of four rows in cell b with a table's columns from ``first`` on."""
    i, j, k, m = rows
    s, t, u, v = shares
    p, q, r, o = sums
    for column in range(0, W.shape[1], LANES):
        low, rise = _rise(H, b, first + column, s)
        p = plus_product(p, load(W, at + i, column, s), plus_product(low, s, rise))
        q = plus_product(q, load(W, at + j, column, s), plus_product(low, t, rise))
        r = plus_product(r, load(W, at + k, column, s), plus_product(low, u, rise))
        o = plus_product(o, load(W, at + m, column, s), plus_product(low, v, rise))
    return p, q, r, o


@part_of_a_loop
def _multiply_any(W: Array, at: int, rows: Any, shares: Any, cells: Any, H: Array, first: int, sums: Any) -> Any:
    """Do the same for four rows in cells of their own.

    It is written out beside `_multiply_same`, which reads the table once for all four rows: that is where it is fast.
    """
    i, j, k, m = rows
    s, t, u, v = shares
    a, b, c, d = cells
    p, q, r, o = sums
    for column in range(0, W.shape[1], LANES):
        low, rise = _rise(H, a, first + column, s)
        p = plus_product(p, load(W, at + i, column, s), plus_product(low, s, rise))
        low, rise = _rise(H, b, first + column, s)
        q = plus_product(q, load(W, at + j, column, s), plus_product(low, t, rise))
        low, rise = _rise(H, c, first + column, s)
        r = plus_product(r, load(W, at + k, column, s), plus_product(low, u, rise))
        low, rise = _rise(H, d, first + column, s)
        o = plus_product(o, load(W, at + m, column, s), plus_product(low, v, rise))
    return p, q, r, o


@compiled(no_cpython_wrapper=True)
def multiply(
    W: Array, at: int, anchors: Array, order: Array, cell: Array, share: Array, H: Array, h: Array, out: Array
) -> None:
    """Write row . H(x) + h(x), with tables interpolated linearly, for rows in the order of their cells."""
    last, R, none = len(order) - 1, W.shape[1], zeros()
    for i in range(0, last + 1, 4):
        j, k, m = min(i + 1, last), min(i + 2, last), min(i + 3, last)  # the last four may have the last row again
        rows, cells = (order[i], order[j], order[k], order[m]), (cell[i], cell[j], cell[k], cell[m])
        shares = (
            everywhere(share[i], none), everywhere(share[j], none), everywhere(share[k], none),
            everywhere(share[m], none),
        )  # fmt: skip
        sums = (none, none, none, none)
        if cells[0] == cells[3]:
            sums = _multiply_same(W, at, rows, shares, cells[0], H, 0, sums)
            sums = _multiply_same(anchors, 0, rows, shares, cells[0], H, R, sums)
        else:
            sums = _multiply_any(W, at, rows, shares, cells, H, 0, sums)
            sums = _multiply_any(anchors, 0, rows, shares, cells, H, R, sums)
        out[rows[0]] = total(sums[0]) + h[cells[0]] + share[i] * (h[cells[0] + 1] - h[cells[0]])
        out[rows[1]] = total(sums[1]) + h[cells[1]] + share[j] * (h[cells[1] + 1] - h[cells[1]])
        out[rows[2]] = total(sums[2]) + h[cells[2]] + share[k] * (h[cells[2] + 1] - h[cells[2]])
        out[rows[3]] = total(sums[3]) + h[cells[3]] + share[m] * (h[cells[3] + 1] - h[cells[3]])


@part_of_a_loop
def _add_columns(
    W: Array, at: int, column: int, order: Array, cell: Array, share: Array, sums: Array, target: int, none: Any
) -> None:
    """Add as many columns as ``none`` has of all rows: sums over the rows of one cell stay in registers."""
    count, k = np.uint64(len(order)), np.uint64(0)
    while k < count:
        b = cell[k]
        whole = upper = none
        while k < count and cell[k] == b:
            row = load(W, at + order[k], column, none)
            whole = plus(whole, row)
            upper = plus_product(upper, row, everywhere(share[k], none))
            k += np.uint64(1)
        store(sums, b, target, plus(load(sums, b, target, none), minus(whole, upper)))
        store(sums, b + 1, target, plus(load(sums, b + 1, target, none), upper))


@compiled(no_cpython_wrapper=True)
def add(W: Array, at: int, anchors: Array, order: Array, cell: Array, share: Array, sums: Array) -> None:
    """Add hat_g(x) times each row to grid points, for rows in the order of their cells."""
    R = W.shape[1]
    wide = R - R % WIDE
    for column in range(0, wide, WIDE):
        _add_columns(W, at, column, order, cell, share, sums, column, wide_zeros())
    for column in range(wide, R, LANES):
        _add_columns(W, at, column, order, cell, share, sums, column, zeros())
    for column in range(0, anchors.shape[1], LANES):
        _add_columns(anchors, 0, column, order, cell, share, sums, R + column, zeros())


@compiled(no_cpython_wrapper=True, fastmath=True)
def count(cell: Array, share: Array, tally: Array) -> None:
    """Add sums of hat_g(x), hat_g(x)^2 and hat_g(x) hat_{g+1}(x), for items in the order of their cells."""
    items, k = len(cell), 0
    while k < items:
        b, first = cell[k], k
        while k < items and cell[k] == b:
            k += 1
        right = square = 0.0
        for i in range(first, k):
            t = np.float64(share[i])
            right += t
            square += t * t
        tally[0, b] += k - first - right
        tally[0, b + 1] += right
        tally[1, b] += k - first - 2.0 * right + square
        tally[1, b + 1] += square
        tally[2, b] += right - square
