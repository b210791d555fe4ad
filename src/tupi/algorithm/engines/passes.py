"""One compiled pass over the items: it reads the embedding once and advances any number of runs of Algorithm 1.

The predictions are one-dimensional, so anything that depends on f_k alone can be tabulated on a grid of f and looked up
by linear interpolation. A sum over items of U_k phi(f_k)^T then needs only the grid sums S_g = sum_k hat_g(f_k) U_k,
and a gradient only the table H_g = A phi'(g): two multiplications per entry of U instead of one per entry and feature.

A row of the embedding is followed by the item's own features at f(t), the anchor of the step. They are functions of
f(t)_k, so they are looked up too, instead of being stored for each run.

The runs take turns on a block of rows that stays in the second cache, while the next block is being fetched. Within a
block, rows are taken in the order of their grid cells (`tupi.algorithm.engines.rows`).

Items are split into parts (`tupi.algorithm.engines.moves.descend`), which are added in a fixed order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.rows import add, as_float, count, look_up_anchors, multiply
from tupi.runtime.computing import compiled

ONE = np.uint32(1)  # no index is negative, which compiled code need not check if it can tell by the type
BLOCK = 320  # rows that are worked on while they are in cache
Array = NDArray[Any]


@compiled(no_cpython_wrapper=True, fastmath=True)
def _locate(x: Array, cells: int, cell: Array, share: Array) -> tuple[Any, Any]:
    """Write the grid cells of positions in grid units, and how far into them; return the lowest and highest.

    Positions beyond the grid are taken to its ends.
    """
    last, lowest, highest = np.int32(cells - 1), np.int32(cells - 1), np.int32(0)
    for i in range(len(x)):
        at = min(max(x[i], 0.0), float(cells))
        b = max(min(np.int32(at), last), np.int32(0))
        cell[i] = b
        share[i] = at - b
        lowest, highest = min(lowest, b), max(highest, b)
    return lowest, highest


@compiled(no_cpython_wrapper=True)
def _sort(
    cell: Array, share: Array, lowest: int, highest: int, starts: Array, order: Array, cells: Array, shares: Array
) -> None:
    """Write rows, their cells and shares in the order of cells; equal ones stay as they are."""
    for c in range(lowest, highest + 2):
        starts[c] = 0
    for i in range(len(cell)):
        starts[cell[i] + ONE] += ONE
    for c in range(lowest + 1, highest + 1):
        starts[c] += starts[c - 1]
    for i in range(len(cell)):
        b = cell[i]
        at = starts[b]
        order[at], cells[at], shares[at] = i, b, share[i]
        starts[b] = at + ONE


@compiled(no_cpython_wrapper=True, fastmath=True)
def _move(
    x: Array,
    velocity: Array,
    before: Array,
    push: Array,
    slope: Array,
    length: float,
    momentum: float,
    end: float,
    gradient: Array,
    new_x: Array,
    new_velocity: Array,
    products: Array,
) -> None:
    """Write gradient and new positions of some items; add up what tells the curvature. See `moves.descend`."""
    gg, vy, yy = 0.0, 0.0, 0.0
    for i in range(len(x)):
        v = velocity[i]
        g: Any = slope[i] if 0.0 < x[i] < end else np.float32(0.0)
        if len(push) > 0:
            g += push[i]
        y = g - before[i]
        gg += g * g
        vy += v * y
        yy += y * y
        step = momentum * v - length * g
        gradient[i] = g
        new_velocity[i] = step
        new_x[i] = x[i] + step
    products[0] += gg
    products[1] += vy
    products[2] += yy


@compiled(no_cpython_wrapper=True)
def _clear(sums: Array, touched: Array, lowest: int, highest: int) -> None:
    """Set the rows from grid point ``lowest`` to the one after ``highest`` to zero when they are first touched."""
    if touched[0] > touched[1]:
        touched[0], touched[1] = lowest, lowest - 1
    while touched[1] < highest + 1:
        touched[1] += 1
        for j in range(sums.shape[1]):
            sums[touched[1], j] = 0.0
    while touched[0] > lowest:
        touched[0] -= 1
        for j in range(sums.shape[1]):
            sums[touched[0], j] = 0.0


@compiled()
def add_parts(partial: Array, touched: Array, S: Array, begin: int, end: int) -> None:
    """Write the sums of all parts to rows of S, in float64.

    Rows are those of all runs one after the other, from ``begin`` to ``end``.
    """
    parts, points = len(touched), partial.shape[2]
    for g in range(begin, end):
        m, point = g // points, g % points
        row = S[m, point]
        row[:] = 0.0
        for part in range(parts):
            if touched[part, m, 0] <= point <= touched[part, m, 1]:
                source = partial[part, m, point]
                for j in range(len(row)):
                    row[j] += source[j]


@compiled()
def descend_parts(
    begin: int,
    end: int,
    U: Array,
    bounds: Array,
    x: Array,
    velocity: Array,
    before: Array,
    anchor_x: Array,
    anchor: Array,
    H: Array,
    h: Array,
    push: Array,
    lengths: Array,
    momenta: Array,
    gradient: Array,
    new_x: Array,
    new_velocity: Array,
    sums: Array,
    touched: Array,
    tallies: Array,
    products: Array,
    room: Array,
    own: Array,
    starts: Array,
    whole: Array,
    real: Array,
) -> None:
    """Do what `moves.descend` says for parts from ``begin`` to ``end``, which begin at the rows in ``bounds``.

    ``touched`` tells which grid points have sums. The last five are memory to work in. It comes from outside because it
    takes a second to compile how to get it.
    """
    runs, cells = len(anchor), anchor.shape[1] - 1
    for part in range(begin, end):
        last = bounds[part + 1]
        for start in range(bounds[part], last, BLOCK):
            size = min(BLOCK, last - start)
            cell, order, in_order = whole[0, :size], whole[1, :size], whole[2, :size]
            share, share_in_order, slope = real[0, :size], real[1, :size], real[2, :size]
            W, at = as_float(U, start, size, room)
            items = slice(start, start + size)
            for m in range(runs):
                _locate(anchor_x[m, items], cells, cell, share)
                ahead = last if m == 0 else 0  # one fetch of the next block for all runs
                look_up_anchors(anchor[m], cell, share, own, U, start + BLOCK, ahead)
                lowest, highest = _locate(x[m, items], cells, cell, share)
                _sort(cell, share, lowest, highest, starts, order, in_order, share_in_order)
                multiply(W, at, own, order, in_order, share_in_order, H[m], h[m], slope)
                _move(
                    x[m, items], velocity[m, items], before[m, items], push[m, items], slope, lengths[m], momenta[m],
                    float(cells), gradient[m, items], new_x[m, items], new_velocity[m, items], products[part, m],
                )  # fmt: skip
                lowest, highest = _locate(new_x[m, items], cells, cell, share)
                _clear(sums[part, m], touched[part, m], lowest, highest)
                _sort(cell, share, lowest, highest, starts, order, in_order, share_in_order)
                add(W, at, own, order, in_order, share_in_order, sums[part, m])
                count(in_order, share_in_order, tallies[part, m])
