"""Items in blocks, and passes over them.

Whatever touches all items is a pass: a function of one block, whose small results are added up, or whose columns stay
with the block until somebody asks for them. An algorithm is written once in these words, and does not know whether its
blocks are in memory, in files (`tupi.blocks.memory`) or on the workers of a cluster (`tupi.cluster.home`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kept = Sequence[Any]  # what a pass left with the blocks, one thing for each of them


class Rows(Protocol):
    """The views of the items in one block, standardised."""

    def view(self, number: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for items that lack it, and which items have it."""

    def has(self, number: int) -> NDArray[np.bool_]:
        """Return which items have a view."""

    def some(self, chosen: NDArray[np.int64]) -> Rows:
        """Return some of the items."""


def everywhere(found: Array, has: NDArray[np.bool_]) -> Array:
    """Return rows of items that have a view as rows of all items, zero for those that lack it."""
    if has.all():
        return found
    columns = np.zeros((len(has), found.shape[1]))
    columns[has] = found
    return columns


Pass = TypeVar("Pass", bound=Callable[..., Any])


def reads_views(function: Pass) -> Pass:
    """Mark a pass that looks at views, so that these are read for it; others get None in place of rows."""
    vars(function)["reads_views"] = True
    return function


class Home(ABC):
    """Items in blocks.

    Attributes
    ----------
    bounds : ndarray of int
        Where each block begins, and after the last one the number of items.
    n_views : int
        How many views the items have.
    """

    bounds: NDArray[np.int64]
    n_views: int

    @property
    def n(self) -> int:
        """The number of items."""
        return int(self.bounds[-1])

    @abstractmethod
    def each(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Kept:
        """Make a pass: call ``function(rows, *kept of the block, **common)`` for every block.

        Parameters
        ----------
        function : callable
            A module's function; its first argument is the block's `Rows`, if it `reads_views`.
        *kept : sequence
            Results of earlier passes.
        **common : Any
            What all blocks get alike.

        Returns
        -------
        sequence
            What the function returned, still with the blocks.
        """

    @abstractmethod
    def fetched(self, kept: Kept) -> list[Any]:
        """Return what was left with the blocks."""

    @abstractmethod
    def dealt(self, columns: Array) -> Kept:
        """Give each block its rows of an array with one row for each item."""

    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and return the sum of what the function returned, always added in the same order."""
        first, *others = self.fetched(self.each(function, *kept, **common))
        return sum(others, first)

    def joined(self, kept: Kept) -> Array:
        """Return columns of all items."""
        return np.concatenate(self.fetched(kept))

    def picked(self, items: NDArray[np.int64], function: Callable[..., Any], *kept: Kept, **common: Any) -> list[Array]:
        """Return the arrays of ``function(rows, *kept, **common)`` for some items only, in the order of these."""
        order = np.argsort(items, kind="stable")
        ends = np.searchsorted(items[order], self.bounds)
        chosen = [items[order[a:b]] - start for a, b, start in zip(ends, ends[1:], self.bounds, strict=False)]
        parts = self.fetched(self.each(_pick, self.sent(chosen), *kept, wanted=function, common=common))
        back = np.argsort(order, kind="stable")
        return [np.concatenate(one)[back] for one in zip(*filter(None, parts), strict=True)]

    def sent(self, things: Sequence[Any]) -> Kept:
        """Give each block a thing of its own."""
        return list(things)


@reads_views
def _pick(rows: Rows, chosen: NDArray[np.int64], *kept: Array, wanted: Callable[..., Any], common: Any) -> Any:
    if not len(chosen):
        return None
    return wanted(rows.some(chosen), *(one[chosen] for one in kept), **common)
