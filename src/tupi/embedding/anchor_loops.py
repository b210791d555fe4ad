"""Compiled loops over items and their nearest anchors, see `tupi.embedding.anchors`."""

from __future__ import annotations

import numpy as np

from tupi.runtime.computing import compiled

LANES, HALVINGS = 128, 8  # by which a bound of the least entries of a row is found


# Arrays are made by whoever calls, and read by single entries: slices and new arrays take seconds to compile.
@compiled()
def find_nearest(distances, step, least, within, near, found):  # type: ignore[no-untyped-def]
    """Fill in ``near`` and ``found``, see `anchors.nearest`; ``least`` and ``within`` are room to work in."""
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
def gather(near, weights, table, found):  # type: ignore[no-untyped-def]
    """Add to ``found`` Z times a table with a row for each anchor."""
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            for j in range(table.shape[1]):
                found[i, j] += weights[i, k] * table[near[i, k], j]


@compiled()
def scatter(near, weights, columns, found):  # type: ignore[no-untyped-def]
    """Add to ``found`` Z^T times columns with a row for each item."""
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            for j in range(columns.shape[1]):
                found[near[i, k], j] += weights[i, k] * columns[i, j]


@compiled()
def overlaps(near, weights, numbers, ordered, found):  # type: ignore[no-untyped-def]
    """Add to ``found`` the lower triangle of Z^T Z; ``numbers`` and ``ordered`` are room for one item's anchors."""
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
def quadratic(near, weights, table, found):  # type: ignore[no-untyped-def]
    """Add to ``found`` the diagonal of Z T Z^T for a symmetric table T."""
    n, s = near.shape
    for i in range(n):
        for k in range(s):
            total = weights[i, k] * table[near[i, k], near[i, k]]
            for j in range(k):
                total += 2 * weights[i, j] * table[near[i, k], near[i, j]]
            found[i] += weights[i, k] * total
