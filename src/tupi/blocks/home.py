"""Items in blocks, and passes over them.

Whatever touches all items is a pass: a function of one block, whose small results are added up, or whose columns stay
with the block until somebody asks for them. An algorithm is written once in these words, and does not know whether its
blocks are in memory, in files (`tupi.blocks.home`) or on the workers of a cluster (`tupi.cluster.home`).
"""

from __future__ import annotations

import operator
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.views import BLOCK, View
from tupi.runtime.computing import aligned, in_order
from tupi.runtime.system import read_at, write_at

Kept = Sequence[Any]  # what a pass left with the blocks, one thing for each of them
Pass = TypeVar("Pass", bound=Callable[..., Any])
BLOCKS = 32  # blocks that many items are dealt into, as far as these do not get too large
LARGEST = 1 << 15
AT_ONCE = 4096  # rows that are centred while they are in cache
Array = NDArray[Any]


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
    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and return the sum of what the function returned, always added in the same order."""

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

    def joined(self, kept: Kept) -> Array:
        """Return columns of all items."""
        return np.concatenate(self.fetched(kept))

    def picked(self, items: NDArray[np.int64], function: Callable[..., Any], *kept: Kept, **common: Any) -> list[Array]:
        """Return the arrays of ``function(rows, *kept, **common)`` for some items only, in the order of these."""
        ascending, back = np.unique(items, return_inverse=True)
        chosen = self.sent(by_block(ascending, self.bounds))
        parts = self.fetched(self.each(_pick, chosen, *kept, wanted=function, common=common))
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


@dataclass(frozen=True, eq=False)
class Slice:
    """Some items of some views, read when they are asked for."""

    views: Sequence[View]
    items: NDArray[np.int64]

    def view(self, number: int, scaling: str = "columns") -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for items that lack it, and which items have it."""
        view, has = self.views[number], self.has(number)
        if has.all():
            together = len(self.items) and (np.diff(self.items) == 1).all()  # slices of arrays need no copy
            return view.rows(slice(self.items[0], self.items[-1] + 1) if together else self.items, scaling), has
        return everywhere(view.rows(self.items[has], scaling), has), has

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
        The rows of the views that are items here.
    size : int, optional
        Items in a block.
    first : ndarray of int, optional
        Bounds of blocks that the first items are in already; these stay as they are, and the others follow.
    """

    def __init__(
        self,
        views: Sequence[View],
        items: NDArray[np.int64],
        size: int | None = None,
        first: NDArray[np.int64] | None = None,
    ) -> None:
        self._views, self._items, self.n_views = views, items, len(views)
        size = size or max(BLOCK, min(LARGEST, len(items) // BLOCKS))
        known = np.zeros(1, np.int64) if first is None else first
        self.bounds = np.concatenate([known[:-1], np.arange(known[-1], len(items), size), [len(items)]])

    def after(self, n: int) -> Memory:
        """Return the items that come after the first n, where a block begins."""
        return Memory(self._views, self._items[n:], first=self.bounds[self.bounds >= n] - n)

    def _pass(self, function: Callable[..., Any], kept: tuple[Kept, ...], common: dict[str, Any]) -> Iterator[Any]:
        def call(k: int) -> Any:
            rows = Slice(self._views, self._items[self.bounds[k] : self.bounds[k + 1]])
            return function(rows, *(one[k] for one in kept), **common)

        if getattr(function, "uses_threads", False):
            return map(call, range(len(self.bounds) - 1))
        return in_order(call, range(len(self.bounds) - 1))

    def each(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Kept:
        """Make a pass on as many threads as there are cores."""
        return list(self._pass(function, kept, common))

    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and add up as results come, so that only a few exist at a time."""
        return reduce(operator.iadd, self._pass(function, kept, common))  # in place: some tables take 32 MB each

    def fetched(self, kept: Kept) -> list[Any]:
        """Return what was left with the blocks, which is in this process."""
        return list(kept)

    def having(self, number: int) -> NDArray[np.int64]:
        """Return how many items of each block have a view."""
        return np.add.reduceat(self._views[number].present[self._items], self.bounds[:-1], dtype=np.int64)

    def on_disk(self, number: int) -> bool:
        """Return whether a view is read from a file."""
        return self._views[number].on_disk

    def rooms(self) -> Kept:
        """Return memory for each block that passes may use again and again."""
        return [{} for _ in self.bounds[1:]]

    def dealt(self, columns: Array) -> Kept:
        """Give each block its rows of an array."""
        return [columns[a:b] for a, b in zip(self.bounds, self.bounds[1:], strict=False)]


class Stored(Protocol):
    """Rows of a matrix as a block keeps them: ``rows``, or ``rows * slope + offset`` where these are codes."""

    @property
    def rows(self) -> Array:
        """The numbers, or codes that stand for them."""

    @property
    def slope(self) -> Array | None:
        """What a code of each column counts for; None if rows are the numbers themselves."""

    @property
    def offset(self) -> Array | None:
        """What the code 0 of each column stands for."""

    def centered(self, center: Array, scale: Array) -> Stored:
        """Return (rows - center) * scale, and 0 for what is NaN."""


class Held:
    """Rows in memory, which are changed in place."""

    slope = offset = None

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def centered(self, center: Array, scale: Array) -> Held:
        """Replace every row by (row - center) * scale; NaN becomes zero."""
        for start in range(0, len(self.rows), AT_ONCE):
            _center(self.rows[start : start + AT_ONCE], center, scale)
        return self


class Scratch:
    """A temporary file without a name, which disappears with this object or with the process.

    It is read with plain reads, not mapped, so that what has been read does not count as this process's memory.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="tupi-")  # noqa: SIM115 - lives as long as this object
        self._end = 0

    def __call__(self, rows: Array) -> Filed:
        """Write rows after those that are there, and return them as a block keeps them."""
        data, start = np.ascontiguousarray(rows, np.float32), self._end
        write_at(self._file.fileno(), data.data.cast("B"), start)
        self._end += data.nbytes
        return Filed(self, start, data.shape, np.zeros(1, np.float32), np.ones(1, np.float32))

    def read(self, start: int, rows: Array) -> None:
        """Fill rows from the place in the file where they begin."""
        if read_at(self._file.fileno(), rows.data.cast("B"), start) < rows.nbytes:
            raise OSError("The temporary file of the embedding is shorter than expected.")


@dataclass(frozen=True, eq=False)
class Filed:
    """Rows of a file, which are centred when they are read."""

    file: Scratch
    start: int
    shape: tuple[int, ...]
    center: Array
    scale: Array
    slope = offset = None

    @property
    def rows(self) -> Array:
        """The rows; each look reads them."""
        found = aligned(self.shape, clear=False)
        self.file.read(self.start, found)
        _center(found, self.center, self.scale)
        return found

    def centered(self, center: Array, scale: Array) -> Filed:
        """Remember by what rows are centred and scaled when they are read."""
        return Filed(self.file, self.start, self.shape, center.astype(np.float32), scale.astype(np.float32))


def _center(rows: Array, center: Array, scale: Array) -> None:
    """Centre and scale in place; rows of items that lack a view are NaN there, and become zero."""
    np.subtract(rows, center, out=rows, casting="same_kind")
    np.multiply(rows, scale, out=rows, casting="same_kind")
    np.copyto(rows, 0.0, where=np.isnan(rows))
