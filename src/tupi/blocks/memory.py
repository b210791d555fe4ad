"""Items whose views are arrays in memory or files on this machine: blocks are slices, read when a pass comes by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Array, Home, Kept, everywhere
from tupi.inputs.views import BLOCK, View
from tupi.runtime.threads import in_order

BLOCKS = 32  # blocks that many items are dealt into, as far as these do not get too large
LARGEST = 1 << 15


@dataclass(frozen=True, eq=False)
class Slice:
    """Some items of some views, read when they are asked for."""

    views: Sequence[View]
    items: NDArray[np.int64]

    def view(self, number: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for items that lack it, and which items have it."""
        view, has = self.views[number], self.has(number)
        if has.all():
            together = len(self.items) and (np.diff(self.items) == 1).all()  # slices of arrays need no copy
            return view.rows(slice(self.items[0], self.items[-1] + 1) if together else self.items), has
        return everywhere(view.rows(self.items[has]), has), has

    def has(self, number: int) -> NDArray[np.bool_]:
        """Return which items have a view."""
        return self.views[number].present[self.items]

    def some(self, chosen: NDArray[np.int64]) -> Slice:
        """Return some of the items."""
        return Slice(self.views, self.items[chosen])


class Memory(Home):
    """Items of this process.

    Parameters
    ----------
    views : sequence of View
        Their views.
    items : ndarray of int
        The rows of the views that are items here, ascending.
    """

    def __init__(self, views: Sequence[View], items: NDArray[np.int64]) -> None:
        self._views, self._items, self.n_views = views, items, len(views)
        size = max(BLOCK, min(LARGEST, len(items) // BLOCKS))
        self.bounds = np.append(np.arange(0, len(items), size), len(items))

    def _pass(self, function: Callable[..., Any], kept: tuple[Kept, ...], common: dict[str, Any]) -> Iterator[Any]:
        def call(k: int) -> Any:
            rows = Slice(self._views, self._items[self.bounds[k] : self.bounds[k + 1]])
            return function(rows, *(one[k] for one in kept), **common)

        return in_order(call, range(len(self.bounds) - 1))

    def each(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Kept:
        """Make a pass on as many threads as there are cores."""
        return list(self._pass(function, kept, common))

    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and add up as results come, so that only a few exist at a time."""
        found = self._pass(function, kept, common)
        return sum(found, next(found))

    def fetched(self, kept: Kept) -> list[Any]:
        """Return what was left with the blocks, which is in this process."""
        return list(kept)

    def dealt(self, columns: Array) -> Kept:
        """Give each block its rows of an array."""
        return [columns[a:b] for a, b in zip(self.bounds, self.bounds[1:], strict=False)]
