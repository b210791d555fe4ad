"""Compiled loops over items and their nearest anchors, see `tupi.embedding.anchors`."""

from __future__ import annotations

import numpy as np

from tupi.runtime.compiling import compiled

LANES, HALVINGS = 128, 8  # by which a bound of the least entries of a row is found


@compiled()
def nearest(distances, count, step):  # type: ignore[no-untyped-def]
    """Return the positions of the smallest entries in each row, ascending, and these; of equal ones the first.

    They are rounded to multiples of a step: what differs by less is equal, and rounding errors decide nothing.
    """
    n, a = distances.shape
    near = np.zeros((n, count), np.int32)
    found = np.full((n, count), np.inf)
    least = np.empty(LANES, distances.dtype)
    within = np.empty(a + 1, np.int32)
    for i in range(n):
        bound = distances.dtype.type(_bound(distances[i], count, least) + 2 * step)
        m = 0
        for j in range(a):  # without a branch, which nobody could foretell
            within[m] = j
            m += distances[i, j] <= bound
        for j in within[:m]:
            d = np.floor(distances[i, j] / step + 0.5) * step
            if d < found[i, count - 1]:
                k = count - 1
                while k > 0 and found[i, k - 1] > d:
                    found[i, k] = found[i, k - 1]
                    near[i, k] = near[i, k - 1]
                    k -= 1
                found[i, k] = d
                near[i, k] = j
    return near, found


@compiled(no_cpython_wrapper=True)
def _bound(row, count, least):  # type: ignore[no-untyped-def]
    """Return a number that at least ``count`` entries of a row do not exceed, and few more; infinite if they are few.

    Each of `LANES` lanes has every so many-th entry. A number that the least entries of ``count`` lanes do not exceed
    is found by halving.
    """
    a = len(row)
    if count >= LANES or a < 2 * LANES:
        return np.inf
    least[:] = row[:LANES]
    for start in range(LANES, a - LANES + 1, LANES):
        for j in range(LANES):
            least[j] = min(least[j], row[start + j])
    low = least.min()
    high, finite = low, 0
    for d in least:
        if d < np.inf:
            high, finite = max(high, d), finite + 1
    if finite < count:
        return np.inf
    half = row.dtype.type(0.5)  # everything stays in the precision of the row, which is faster
    for _ in range(HALVINGS):
        middle, below = (low + high) * half, 0
        for d in least:
            below += d <= middle
        if below >= count:
            high = middle
        else:
            low = middle
    return high


@compiled()
def gather(near, weights, table):  # type: ignore[no-untyped-def]
    """Return Z times a table with a row for each anchor."""
    n, s = near.shape
    found = np.zeros((n, table.shape[1]))
    for i in range(n):
        for k in range(s):
            for j in range(table.shape[1]):
                found[i, j] += weights[i, k] * table[near[i, k], j]
    return found


@compiled()
def scatter(near, weights, columns, a):  # type: ignore[no-untyped-def]
    """Return Z^T times columns with a row for each item."""
    n, s = near.shape
    found = np.zeros((a, columns.shape[1]))
    for i in range(n):
        for k in range(s):
            for j in range(columns.shape[1]):
                found[near[i, k], j] += weights[i, k] * columns[i, j]
    return found


@compiled()
def overlaps(near, weights, a):  # type: ignore[no-untyped-def]
    """Return the lower triangle of Z^T Z."""
    n, s = near.shape
    found = np.zeros((a, a))
    numbers, ordered = np.empty(s, np.uint32), np.empty(s)
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
    return found


@compiled()
def quadratic(near, weights, table):  # type: ignore[no-untyped-def]
    """Return the diagonal of Z T Z^T for a symmetric table T."""
    n, s = near.shape
    found = np.zeros(n)
    for i in range(n):
        for k in range(s):
            total = weights[i, k] * table[near[i, k], near[i, k]]
            for j in range(k):
                total += 2 * weights[i, j] * table[near[i, k], near[i, j]]
            found[i] += weights[i, k] * total
    return found
