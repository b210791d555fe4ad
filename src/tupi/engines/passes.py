"""One compiled pass over the items: it reads the embedding once and advances any number of runs of Algorithm 1.

The predictions are one-dimensional, so anything that depends on f_k alone can be tabulated on a grid of f and looked up
by linear interpolation. A sum over items of U_k phi(f_k)^T then needs only the grid sums S_g = sum_k hat_g(f_k) U_k,
and a gradient only the table H_g = A phi'(g): two multiplications per entry of U instead of one per entry and feature.

A row of the embedding is followed by the item's own features at f(t), the anchor of the step. They are functions of
f(t)_k, so they are looked up too, instead of being stored for each run.

Blocks of rows are copied to where they stay in the second cache while the runs take turns on them. Within a block, rows
of the same grid cell are taken four at a time, so that table rows are loaded and stored once for four.

Items are split into parts whose number depends on n alone, and parts are added in a fixed order: the result does not
depend on how many threads there are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

ITEMS_PER_PART = 16_384
MAX_PARTS = 16
BLOCK = 256  # rows that are worked on while they are in cache
Array = NDArray[Any]


def is_compiled() -> bool:
    """Whether compiled code is there from an earlier run; otherwise the first call takes some seconds."""
    return bool(descend.signatures) or any(Path(descend.stats.cache_path or ".").glob("passes.descend-*.nbi"))


@numba.njit(cache=True)
def part_bounds(n: int) -> Array:
    """Return where each part of n items begins, and n."""
    parts = min(MAX_PARTS, 1 + n // ITEMS_PER_PART)
    bounds = np.empty(parts + 1, np.int64)
    for part in range(parts + 1):
        bounds[part] = part * n // parts
    return bounds


@numba.njit(cache=True, inline="always")
def _cell(x: float, cells: int) -> tuple[int, float]:
    """Return the grid cell of a position in grid units, and how far into it; ends are clamped."""
    if x <= 0.0:
        return 0, 0.0
    if x >= cells:
        return cells - 1, 1.0
    b = int(x)
    return b, x - b


@numba.njit(cache=True, inline="always")
def _sort(cell: Array, count: int, starts: Array, order: Array) -> None:
    """Write the order of the first ``count`` rows by cell; equal ones stay as they are."""
    starts[:] = 0
    for i in range(count):
        starts[cell[i] + 1] += 1
    for c in range(1, len(starts)):
        starts[c] += starts[c - 1]
    for i in range(count):
        order[starts[cell[i]]] = i
        starts[cell[i]] += 1


@numba.njit(cache=True, fastmath=True)
def _dot_four(W: Array, a: int, b: int, c: int, d: int, below: Array, above: Array, out: Array) -> None:
    """Write the products of four rows with the table's rows at both ends of their cell."""
    p, q, r, s = W[a], W[b], W[c], W[d]
    p0 = p1 = q0 = q1 = r0 = r1 = s0 = s1 = np.float32(0.0)
    for j in range(len(below)):
        p0 += p[j] * below[j]
        p1 += p[j] * above[j]
        q0 += q[j] * below[j]
        q1 += q[j] * above[j]
        r0 += r[j] * below[j]
        r1 += r[j] * above[j]
        s0 += s[j] * below[j]
        s1 += s[j] * above[j]
    out[a, 0], out[a, 1], out[b, 0], out[b, 1] = p0, p1, q0, q1
    out[c, 0], out[c, 1], out[d, 0], out[d, 1] = r0, r1, s0, s1


@numba.njit(cache=True, fastmath=True)
def _dot_one(W: Array, a: int, below: Array, above: Array, out: Array) -> None:
    p = W[a]
    p0 = p1 = np.float32(0.0)
    for j in range(len(below)):
        p0 += p[j] * below[j]
        p1 += p[j] * above[j]
    out[a, 0], out[a, 1] = p0, p1


@numba.njit(cache=True)
def _dots(W: Array, count: int, cell: Array, order: Array, H: Array, out: Array) -> None:
    """Write for each row its products with H at both ends of its cell."""
    i = 0
    while i < count:
        b = cell[order[i]]
        if i + 3 < count and cell[order[i + 3]] == b:
            _dot_four(W, order[i], order[i + 1], order[i + 2], order[i + 3], H[b], H[b + 1], out)
            i += 4
        else:
            _dot_one(W, order[i], H[b], H[b + 1], out)
            i += 1


@numba.njit(cache=True, fastmath=True)
def _add_four(
    below: Array, above: Array, W: Array, a: int, b: int, c: int, d: int, u: float, v: float, w: float, z: float
) -> None:
    """Add four rows of one cell to the grid points at its ends; u to z are the shares of the upper one."""
    p, q, r, s = W[a], W[b], W[c], W[d]
    one = np.float32(1.0)
    u0, v0, w0, z0 = one - u, one - v, one - w, one - z
    for j in range(len(below)):
        pj, qj, rj, sj = p[j], q[j], r[j], s[j]
        below[j] += u0 * pj + v0 * qj + w0 * rj + z0 * sj
        above[j] += u * pj + v * qj + w * rj + z * sj


@numba.njit(cache=True, fastmath=True)
def _add_one(below: Array, above: Array, W: Array, a: int, u: float) -> None:
    p = W[a]
    u0 = np.float32(1.0) - u
    for j in range(len(below)):
        pj = p[j]
        below[j] += u0 * pj
        above[j] += u * pj


@numba.njit(cache=True)
def _add_rows(W: Array, count: int, cell: Array, rights: Array, order: Array, sums: Array) -> None:
    """Add hat_g(x) times each row to the grid points at both ends of its cell."""
    i = 0
    while i < count:
        a = order[i]
        g = cell[a]
        if i + 3 < count and cell[order[i + 3]] == g:
            b, c, d = order[i + 1], order[i + 2], order[i + 3]
            _add_four(sums[g], sums[g + 1], W, a, b, c, d, rights[a], rights[b], rights[c], rights[d])
            i += 4
        else:
            _add_one(sums[g], sums[g + 1], W, a, rights[a])
            i += 1


@numba.njit(cache=True, inline="always")
def _clear(sums: Array, touched: Array, b: int) -> None:
    """Set the rows up to grid points b and b + 1 to zero when they are first touched."""
    if touched[0] > touched[1]:
        touched[0], touched[1] = b, b - 1
    while touched[1] < b + 1:
        touched[1] += 1
        sums[touched[1], :] = 0.0
    while touched[0] > b:
        touched[0] -= 1
        sums[touched[0], :] = 0.0


@numba.njit(cache=True, parallel=True, fastmath=True)
def _add_parts(partial: Array, touched: Array, S: Array) -> None:
    """Add the sums of all parts to S, in float64; the last block of several may have fewer than there is room for."""
    parts = len(touched)
    _, runs, points, width = partial.shape
    for g in numba.prange(runs * points):
        m, point = g // points, g % points
        for part in range(parts):
            if touched[part, m, 0] <= point <= touched[part, m, 1]:
                for j in range(width):
                    S[m, point, j] += partial[part, m, point, j]


@numba.njit(cache=True, parallel=True, fastmath=True)
def descend(
    U: Array,
    first: int,
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
    S: Array,
    tallies: Array,
    products: Array,
    partial: Array,
    work: Array,
) -> None:
    """Take one step of each run: the gradient at x, x moved, and the grid sums at the new x, in one read of U.

    The gradient is g_k = [U_k, anchor(x'_k)] . H(x_k) + h(x_k) + push_k, with H and h interpolated linearly on the
    grid; an item beyond the grid has only the last term. The new velocity is momentum * velocity - length * g, and the
    new x is x plus that. With zero lengths and momenta this gives gradient and sums at x itself.

    Rows are summed in float32 within a part, where a grid point sees a few hundred items, and in float64 over parts.

    Parameters
    ----------
    U : ndarray of shape (rows, R), float32
        The embedding of items ``first``, ``first + 1``, ...
    first : int
        The first row's item.
    x : ndarray of shape (runs, n)
        Predictions in grid units.
    velocity, before : ndarray of shape (runs, n), float32
        How x was moved last, and the gradient before that.
    anchor_x : ndarray of shape (runs, n)
        Where each item's anchor is looked up: x at f(t).
    anchor : ndarray of shape (runs, G, r), float32
        Features of the predictions on the grid, centred.
    H : ndarray of shape (runs, G, R + r), float32
        The table that multiplies rows.
    h : ndarray of shape (runs, G)
        What depends on the prediction alone.
    push : ndarray of shape (runs, n) or (runs, 0), float32
        A gradient that was computed elsewhere.
    lengths, momenta : ndarray of shape (runs,)
        Of the step.
    gradient, new_velocity : ndarray of shape (runs, n), float32
        Where to write.
    new_x : ndarray of shape (runs, n)
        Where to write.
    S : ndarray of shape (runs, G, R + r)
        To which sum_k hat_g(x_k) [U_k, anchor(x'_k)] is added, at the new x.
    tallies : ndarray of shape (runs, 3, G)
        To which sums of hat_g, hat_g^2 and hat_g hat_{g+1} are added, at the new x.
    products : ndarray of shape (runs, 3)
        To which g.g, velocity.(g - before) and (g - before).(g - before) are added.
    partial : ndarray of shape (parts, runs, G, R + r), float32
        Room to work in: sums of each part.
    work : ndarray of shape (parts, BLOCK, R + r), float32
        Room to work in: a block of rows.
    """
    rows, R = U.shape
    runs, points, r = anchor.shape
    cells = points - 1
    bounds = part_bounds(rows)
    parts = len(bounds) - 1
    touched = np.empty((parts, runs, 2), np.int64)
    part_products = np.zeros((parts, runs, 3))
    part_tallies = np.zeros((parts, runs, 3, points))
    for part in numba.prange(parts):
        W = work[part]
        cell, order = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
        rights, dots = np.empty(BLOCK, np.float32), np.empty((BLOCK, 2), np.float32)
        starts = np.empty(points + 1, np.int64)
        touched[part, :, 0], touched[part, :, 1] = 1, 0
        for start in range(bounds[part], bounds[part + 1], BLOCK):
            count = min(BLOCK, bounds[part + 1] - start)
            for i in range(count):
                w, row = W[i], U[start + i]
                for j in range(R):
                    w[j] = row[j]
            for m in range(runs):
                sums, seen, own, tally = partial[part, m], touched[part, m], anchor[m], part_tallies[part, m]
                for i in range(count):
                    b, right = _cell(anchor_x[m, first + start + i], cells)
                    left32, right32 = np.float32(1.0 - right), np.float32(right)
                    w, below, above = W[i, R:], own[b], own[b + 1]
                    for j in range(r):
                        w[j] = left32 * below[j] + right32 * above[j]
                    cell[i], right = _cell(x[m, first + start + i], cells)
                _sort(cell, count, starts, order)
                _dots(W, count, cell, order, H[m], dots)
                gg, vy, yy = 0.0, 0.0, 0.0
                lowest, highest = cells, 0
                for i in range(count):
                    k = first + start + i
                    at = x[m, k]
                    g = 0.0
                    if 0.0 < at < cells:
                        b = cell[i]
                        right = at - b
                        g = (1.0 - right) * (dots[i, 0] + h[m, b]) + right * (dots[i, 1] + h[m, b + 1])
                    if push.shape[1] > 0:
                        g += push[m, k]
                    v = velocity[m, k]
                    y = g - before[m, k]
                    gg += g * g
                    vy += v * y
                    yy += y * y
                    v = momenta[m] * v - lengths[m] * g
                    at += v
                    gradient[m, k] = g
                    new_velocity[m, k] = v
                    new_x[m, k] = at
                    b, right = _cell(at, cells)
                    left = 1.0 - right
                    tally[0, b] += left
                    tally[0, b + 1] += right
                    tally[1, b] += left * left
                    tally[1, b + 1] += right * right
                    tally[2, b] += left * right
                    cell[i] = b
                    rights[i] = right
                    lowest = min(lowest, b)
                    highest = max(highest, b)
                _clear(sums, seen, lowest)
                _clear(sums, seen, highest)
                _sort(cell, count, starts, order)
                _add_rows(W, count, cell, rights, order, sums)
                part_products[part, m, 0] += gg
                part_products[part, m, 1] += vy
                part_products[part, m, 2] += yy
    for part in range(parts):
        products += part_products[part]
        tallies += part_tallies[part]
    _add_parts(partial, touched, S)
