"""Which items are looked at where not all can be: by their content, whatever the order in which they came.

A sample that is spread evenly over all items changes as a whole when one item is added, and with it anchors and all
that follows. So samples are drawn by a number that each item has from its own predictions alone, as if at random: the
first so many in the order of these numbers. One more item takes the place of at most one other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Home, Rows, reads_views

Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@reads_views
def squares(rows: Rows, *, n_views: int) -> tuple[Array]:
    """Return a figure of each item's features that no order of columns or views changes."""
    found = np.zeros(len(rows.has(0)))
    for number in range(n_views):
        columns, has = rows.view(number)
        found += np.where(has, np.mean(columns**2, axis=1), 0.0)
    return (found,)


def content_order(home: Home, f: Array) -> Positions:
    """Return an order of the items that depends on their predictions and features only."""
    order = np.lexsort(f.T[::-1])
    same = (f[order[1:]] == f[order[:-1]]).all(axis=1)
    tied = np.sort(order[np.append(same, False) | np.append(False, same)])  # only these need a look at the features
    if not len(tied):
        return order
    figures = np.zeros(len(f))
    figures[tied] = home.picked(tied, squares, n_views=home.n_views)[0]
    return np.lexsort([figures, *f.T[::-1]])


def drawing_order(order: Positions, given: Array) -> Positions:
    """Return the items in the order in which they are drawn.

    Parameters
    ----------
    order : ndarray of int
        The items by content.
    given : ndarray of shape (n, c)
        Their predictions as they were given: what is made of these depends on the other items.
    """
    given = given[order] + 0.0  # zero has no sign
    number = np.zeros(len(given), np.uint64)
    for column in given.T:
        number = _scrambled(number ^ np.ascontiguousarray(column).view(np.uint64))
    # Of equal predictions each has a number of its own, by its place among them.
    starts = np.append(True, (given[1:] != given[:-1]).any(axis=1))
    place = np.arange(len(given)) - np.flatnonzero(starts)[np.cumsum(starts) - 1]
    return order[np.argsort(_scrambled(number + place.astype(np.uint64)), kind="stable")]


def _scrambled(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, different ones for different numbers (SplitMix64, Steele and others 2014)."""
    number = number + np.uint64(0x9E3779B97F4A7C15)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
