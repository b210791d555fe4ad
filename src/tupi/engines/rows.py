"""Rows of the embedding while they are in cache: fetched ahead, multiplied with a table, added to grid points.

A row of an item consists of its row of the embedding and of its own features at f(t), called anchors, which are kept
apart. Rows of the same grid cell are taken four at a time, so that table rows are loaded and stored once for four.
Loops over both are written out: as a function that is called for each they were a little slower.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

from tupi.kernels.storage import CACHE_LINE

Array = NDArray[Any]


@intrinsic
def fetch(typingctx: Any, array: Any, row: Any) -> Any:
    """Ask the processor to bring a row into its cache, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        stride = cgutils.unpack_tuple(builder, struct.strides)[0]
        begin = builder.add(builder.ptrtoint(struct.data, stride.type), builder.mul(args[1], stride))
        flag, pointer = ir.IntType(32), ir.IntType(8).as_pointer()
        signature_of_it = ir.FunctionType(ir.VoidType(), [pointer, flag, flag, flag])
        prefetch = cgutils.get_or_insert_function(builder.module, signature_of_it, "llvm.prefetch.p0")
        zero, line = ir.Constant(stride.type, 0), ir.Constant(stride.type, CACHE_LINE)
        with cgutils.for_range_slice(builder, zero, stride, line) as (offset, _):
            address = builder.inttoptr(builder.add(begin, offset), pointer)
            builder.call(prefetch, [address, flag(0), flag(3), flag(1)])  # to read, soon again, data
        return context.get_dummy_value()

    return types.void(array, row), generate


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


@numba.njit(cache=True, fastmath=True)
def look_up_anchors(table: Array, cell: Array, share: Array, anchors: Array, U: Array, ahead: int, end: int) -> None:
    """Write rows of a table at positions given by cell and share; meanwhile fetch rows of U from ``ahead`` to ``end``.

    Rows are fetched here, one for each that is written, because a processor keeps only so many requests in mind.
    """
    for i in range(len(cell)):
        if ahead + i < end:
            fetch(U, ahead + i)  # type: ignore[call-arg]  # compiled code does not pass the first
        row, low, high, t = anchors[i], table[cell[i]], table[cell[i] + 1], share[i]
        for j in range(len(row)):
            row[j] = low[j] + t * (high[j] - low[j])


@numba.njit(cache=True, fastmath=True)
def _multiply_four(
    W: Array, at: int, anchors: Array, a: int, b: int, c: int, d: int, share: Array, low: Array, high: Array, out: Array
) -> None:
    """Write the products of four rows of one cell with a table's row at their positions."""
    t, u, v, w = share[a], share[b], share[c], share[d]
    p, q, r, s = W[at + a], W[at + b], W[at + c], W[at + d]
    R = len(p)
    first = second = third = fourth = np.float32(0.0)
    for j in range(R):
        below = low[j]
        rise = high[j] - below
        first += p[j] * (below + t * rise)
        second += q[j] * (below + u * rise)
        third += r[j] * (below + v * rise)
        fourth += s[j] * (below + w * rise)
    p, q, r, s, low, high = anchors[a], anchors[b], anchors[c], anchors[d], low[R:], high[R:]
    for j in range(len(low)):
        below = low[j]
        rise = high[j] - below
        first += p[j] * (below + t * rise)
        second += q[j] * (below + u * rise)
        third += r[j] * (below + v * rise)
        fourth += s[j] * (below + w * rise)
    out[a], out[b], out[c], out[d] = first, second, third, fourth


@numba.njit(cache=True, fastmath=True)
def _multiply_one(W: Array, at: int, anchors: Array, a: int, share: Array, low: Array, high: Array, out: Array) -> None:
    p, t = W[at + a], share[a]
    R = len(p)
    first = np.float32(0.0)
    for j in range(R):
        first += p[j] * (low[j] + t * (high[j] - low[j]))
    p, low, high = anchors[a], low[R:], high[R:]
    for j in range(len(low)):
        first += p[j] * (low[j] + t * (high[j] - low[j]))
    out[a] = first


@numba.njit(cache=True)
def multiply(
    W: Array, at: int, anchors: Array, cell: Array, share: Array, order: Array, H: Array, h: Array, out: Array
) -> None:
    """Write row . H(x) + h(x) for rows in the order of their cells, with tables interpolated linearly."""
    i, count = 0, len(cell)
    while i < count:
        b = cell[order[i]]
        number = 4 if i + 3 < count and cell[order[i + 3]] == b else 1
        if number == 4:
            _multiply_four(
                W, at, anchors, order[i], order[i + 1], order[i + 2], order[i + 3], share, H[b], H[b + 1], out
            )
        else:
            _multiply_one(W, at, anchors, order[i], share, H[b], H[b + 1], out)
        for k in range(i, i + number):
            out[order[k]] += h[b] + share[order[k]] * (h[b + 1] - h[b])
        i += number


@numba.njit(cache=True, fastmath=True)
def _add_four(
    low: Array, high: Array, W: Array, at: int, anchors: Array, a: int, b: int, c: int, d: int, share: Array
) -> None:
    """Add four rows of one cell to the grid points at its ends."""
    t, u, v, w = share[a], share[b], share[c], share[d]
    p, q, r, s = W[at + a], W[at + b], W[at + c], W[at + d]
    R = len(p)
    for j in range(R):
        upper = t * p[j] + u * q[j] + v * r[j] + w * s[j]
        low[j] += p[j] + q[j] + r[j] + s[j] - upper
        high[j] += upper
    p, q, r, s, low, high = anchors[a], anchors[b], anchors[c], anchors[d], low[R:], high[R:]
    for j in range(len(low)):
        upper = t * p[j] + u * q[j] + v * r[j] + w * s[j]
        low[j] += p[j] + q[j] + r[j] + s[j] - upper
        high[j] += upper


@numba.njit(cache=True, fastmath=True)
def _add_one(low: Array, high: Array, W: Array, at: int, anchors: Array, a: int, share: Array) -> None:
    p, t = W[at + a], share[a]
    R = len(p)
    for j in range(R):
        upper = t * p[j]
        low[j] += p[j] - upper
        high[j] += upper
    p, low, high = anchors[a], low[R:], high[R:]
    for j in range(len(low)):
        upper = t * p[j]
        low[j] += p[j] - upper
        high[j] += upper


@numba.njit(cache=True)
def add(W: Array, at: int, anchors: Array, cell: Array, share: Array, order: Array, sums: Array, tally: Array) -> None:
    """Add hat_g(x) times each row to grid points, in the order of cells; and to the tally what depends on x alone."""
    i, count = 0, len(cell)
    while i < count:
        a = order[i]
        b = cell[a]
        number = 4 if i + 3 < count and cell[order[i + 3]] == b else 1
        if number == 4:
            _add_four(sums[b], sums[b + 1], W, at, anchors, a, order[i + 1], order[i + 2], order[i + 3], share)
        else:
            _add_one(sums[b], sums[b + 1], W, at, anchors, a, share)
        right = square = 0.0
        for k in range(i, i + number):
            t = share[order[k]]
            right += t
            square += t * t
        tally[0, b] += number - right
        tally[0, b + 1] += right
        tally[1, b] += number - 2.0 * right + square
        tally[1, b + 1] += square
        tally[2, b] += right - square
        i += number
