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

    def view(self, number: int, scaling: str = "columns") -> tuple[Array, NDArray[np.bool_]]:
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


def uses_threads(function: Pass) -> Pass:
    """Mark a pass that spreads its work over threads by itself: blocks then take turns."""
    vars(function)["uses_threads"] = True
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

    @abstractmethod
    def having(self, number: int) -> NDArray[np.int64]:
        """Return how many items of each block have a view."""

    @abstractmethod
    def on_disk(self, number: int) -> bool:
        """Return whether a view is so large that one more read of it counts."""

    def column(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Return what a pass gives, one number for each item, as people see it."""
        return self.joined(self.each(function, *kept, **common))

    def rooms(self) -> Kept:
        """Return memory for each block that passes may use again and again; None where they must leave no traces."""
        return [None] * (len(self.bounds) - 1)

    def balance(self, kept: list[Any]) -> None:  # noqa: B027 - where nobody comes or goes there is nothing to do
        """See to it that whoever computes has a fair share of what passes are about to read again and again."""

    def complete(self, views: Sequence[int]) -> bool:
        """Return whether no item lacks any of some views."""
        return all(self.having(view).sum() == self.n for view in views)

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
        chosen = by_block(items[order], self.bounds)
        parts = self.fetched(self.each(_pick, self.sent(chosen), *kept, wanted=function, common=common))
        back = np.argsort(order, kind="stable")
        return [np.concatenate(one)[back] for one in zip(*filter(None, parts), strict=True)]

    def drawn(self, ranks: Sequence[NDArray[np.int64]], scaling: str) -> list[Array]:
        """Return rows of each view, by their ascending numbers among the items that have it."""
        firsts = [np.append(0, np.cumsum(self.having(k))) for k in range(self.n_views)]
        asked = zip(*(by_block(one, first) for one, first in zip(ranks, firsts, strict=True)), strict=True)
        parts = self.fetched(self.each(_draw, self.sent(list(asked)), scaling=scaling))
        return [np.concatenate(one) for one in zip(*parts, strict=True)]

    def sent(self, things: Sequence[Any]) -> Kept:
        """Give each block a thing of its own."""
        return list(things)


def by_block(numbers: NDArray[np.int64], bounds: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return those of ascending numbers that lie between each bound and the next, counted from the former."""
    ends = np.searchsorted(numbers, bounds)
    return [numbers[a:b] - start for a, b, start in zip(ends, ends[1:], bounds, strict=False)]


@reads_views
def _draw(rows: Rows, ranks: Sequence[NDArray[np.int64]], *, scaling: str) -> list[Array]:
    return [rows.some(np.flatnonzero(rows.has(k))[one]).view(k, scaling)[0] for k, one in enumerate(ranks)]


@reads_views
def _pick(rows: Rows, chosen: NDArray[np.int64], *kept: Array, wanted: Callable[..., Any], common: Any) -> Any:
    if not len(chosen):
        return None
    return wanted(rows.some(chosen), *(one[chosen] for one in kept), **common)
