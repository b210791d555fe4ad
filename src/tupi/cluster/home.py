"""Items on the workers of a cluster, as algorithms see them: see `tupi.blocks.home`."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Home, Kept, Rows, everywhere
from tupi.cluster.cluster import broadcast
from tupi.cluster.problem import Distributed, Opened, evenly_spread
from tupi.cluster.result import given_shape, lazy_vector
from tupi.inputs.views import present_rows, standardized, standardized_rows
from tupi.runtime.computing import at_most, one_blas_thread

FAN_IN = 8  # sums that one task adds
PASSES = threading.Lock()  # one pass at a time in a process, if it uses all of the worker's threads
Array = NDArray[Any]
Standard = tuple[Array, Array, Array]


@dataclass(frozen=True, eq=False)
class WorkerRows:
    """Items of a block whose rows a worker has in memory.

    Attributes
    ----------
    views : sequence of ndarray
        Rows of each view as they came in.
    standards : sequence of tuple
        What each is standardised by.
    items : ndarray of int or None
        The rows that are items here; None for all of them as they come.
    whole : sequence of bool
        Which views no row of the block lacks, so that nobody needs to look.
    """

    views: Sequence[Array]
    standards: Sequence[Standard]
    items: NDArray[np.int64] | None
    whole: Sequence[bool]

    def _given(self, number: int) -> Array:
        return self.views[number] if self.items is None else self.views[number][self.items]

    def has(self, number: int) -> NDArray[np.bool_]:
        """Return which items have a view."""
        if self.whole[number]:
            return np.ones(len(self.views[number]) if self.items is None else len(self.items), bool)
        return present_rows(self._given(number))

    def view(self, number: int, scaling: str = "columns") -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for items that lack it, and which items have it."""
        given, has, standard = self._given(number), self.has(number), self.standards[number]
        return everywhere(standardized_rows(given if self.whole[number] else given[has], standard, scaling), has), has

    def some(self, chosen: NDArray[np.int64]) -> WorkerRows:
        """Return some of the items."""
        return WorkerRows(self.views, self.standards, chosen if self.items is None else self.items[chosen], self.whole)


def items_of(block: Opened, by_prediction: bool) -> Array:
    """Return the rows of a block that take part: as they come, or in the order of their predictions."""
    values, items = block
    return items[np.argsort(values[items, 0], kind="stable")] if by_prediction else items


def predictions_of(block: Opened, items: Array) -> Array:
    """Return the predictions of some rows of a block, which has one column of them."""
    return block[0][items, 0]


def restored(block: Opened, items: Array, columns: Array, back: Callable[[Array], Array]) -> Array:
    """Return predictions of all rows of a block in the input's scale; who has no view keeps the initial one."""
    initial = block[0]
    found = initial.copy()
    found[items] = back(columns)[:, -initial.shape[1] :]  # of one probability, that of the second class
    return given_shape(found)


def everyone(block: Opened, items: Array, values: Array) -> Array:
    """Return values of the items of a block that take part as those of all its rows, NaN for who has no view."""
    found = np.full(len(block[0]), np.nan)
    found[items] = values
    return found


@contextmanager
def _as_marked(function: Callable[..., Any]) -> Iterator[None]:
    """Run a pass as it asks for: alone in its process with all of the worker's threads, or on one."""
    from distributed import get_worker  # an extra, and this module is imported without it

    if not getattr(function, "uses_threads", False):
        with one_blas_thread():
            yield
        return
    with PASSES, one_blas_thread(), at_most(get_worker().state.nthreads):
        yield


def _over_views(
    scores: Array,
    *views: Array,
    standards: Sequence[Standard],
    items: Array,
    whole: Sequence[bool],
    wanted: Any,
    kept: Any,
    common: Any,
) -> Any:
    as_they_come = len(items) == len(scores) and bool((np.diff(items) > 0).all())
    rows: Rows = WorkerRows(views, standards, None if as_they_come else items, whole)
    with _as_marked(wanted):
        return wanted(rows, *kept, **common)


def _over_kept(*kept: Any, wanted: Any, common: Any) -> Any:
    with _as_marked(wanted):
        return wanted(None, *kept, **common)


def _sum(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], parts[0])


class OnCluster(Home):
    """The items of a distributed problem that have at least one view.

    Parameters
    ----------
    problem : Distributed
        The problem.
    by_prediction : bool
        Whether the items of each block are in the order of their predictions, and not as they came: some passes are
        faster if neighbours have similar ones.

    Attributes
    ----------
    items : list of Future
        Of each block, the rows that are items here.
    """

    def __init__(self, problem: Distributed, by_prediction: bool = False) -> None:
        self.problem, self.client = problem, problem.client
        self.bounds = np.concatenate([[0], np.cumsum(problem.contents.covered)])
        self.n_views = len(problem.views)
        self.items = self.client.map(items_of, problem.opened, by_prediction=by_prediction, pure=False)
        self._standards = [each.standard for each in problem.contents.views]
        self._workers = self._present_workers()

    def predictions(self) -> Kept:
        """Return the predictions of the items as they came, with the blocks."""
        return self.client.map(predictions_of, self.problem.opened, self.items, pure=False)

    def each(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Kept:
        """Make a pass; results stay on the workers."""
        sent = self._quietly(self.client.submit, broadcast, common) if common else {}
        kept = tuple(map(self._known, kept))
        if not getattr(function, "reads_views", False):
            return self.client.map(_over_kept, *kept, wanted=function, common=sent, pure=False)
        sizes, present = np.diff(self.problem.bounds).tolist(), self.problem.contents.present
        own = [
            {
                "kept": [one[b] for one in kept],
                "items": self.items[b],
                "whole": [count == size for count in present[b]],
            }
            for b, size in enumerate(sizes)
        ]
        settled = {"standards": self._standards, "wanted": function, "common": sent}
        return self.problem.on_blocks(_over_views, own, **settled)

    def _known(self, kept: Kept) -> Kept:
        """Return arrays of this process that are kept with blocks as tasks, which all but none at all need to be."""
        large = any(isinstance(one, np.ndarray) and one.size for one in kept)
        return self.sent(kept) if large else kept

    def _quietly(self, call: Callable[..., Any], *arguments: Any) -> Any:
        with warnings.catch_warnings():
            # What all blocks share, such as tables between anchors, may well take 50 MB, which Dask warns of.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return call(*arguments, pure=False)

    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and add up on the workers, a few at a time, always the same ones in the same order."""
        parts = list(self.each(function, *kept, **common))
        while len(parts) > FAN_IN:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = self.client.map(_sum, groups, pure=False)
        return _sum(self.client.gather(parts))

    def fetched(self, kept: Kept) -> list[Any]:
        """Return what was left with the blocks."""
        return self.client.gather(list(kept))

    def dealt(self, columns: Any) -> Kept:
        """Send each block its rows of an array; those of a column are there already."""
        if isinstance(columns, LazyColumn):
            return columns.parts()
        return self.sent([columns[a:b] for a, b in zip(self.bounds, self.bounds[1:], strict=False)])

    def sent(self, things: Sequence[Any]) -> Kept:
        """Send each block a thing of its own."""
        return self._quietly(self.client.map, broadcast, list(things))  # tasks, which survive the loss of a worker

    def having(self, number: int) -> NDArray[np.int64]:
        """Return how many items of each block have a view."""
        return np.array([block[number] for block in self.problem.contents.present])

    def on_disk(self, number: int) -> bool:
        """Return whether a view is so large that one more read of it counts."""
        return list(self.problem.views.values())[number].on_disk

    def drawn(self, ranks: Sequence[NDArray[np.int64]], scaling: str) -> list[Array]:
        """Return rows of each view; those that are evenly spread over all items came with the first read."""
        n = self.problem.n
        if all(self.having(k).sum() == n and np.array_equal(one, evenly_spread(n)) for k, one in enumerate(ranks)):
            known = zip(self.problem.samples, self._standards, strict=True)
            return [standardized(rows.copy(), *standard, scaling) for rows, standard in known]
        return super().drawn(ranks, scaling)

    def column(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> LazyColumn:
        """Return what a pass gives, one number for each item, which nobody computes until it is asked for."""
        return LazyColumn(self, function, kept, common)

    def _present_workers(self) -> frozenset[str]:
        return frozenset(self.client.scheduler_info(n_workers=-1)["workers"])

    def balance(self, kept: list[Any]) -> None:
        """Give workers that have come since the last look a share of what is kept with the blocks.

        Things move from who has most to who has fewest, until all have as many. Dask's own rebalancing looks at memory,
        and would leave a new worker idle as long as the others are not full.
        """
        workers, known = self._present_workers(), self._workers
        self._workers = workers
        if not workers - known:
            return
        held: dict[str, list[int]] = {worker: [] for worker in sorted(workers)}
        for b, owners in enumerate(self.client.who_has(kept).values()):
            if owners and owners[0] in held:
                held[owners[0]].append(b)
        while True:
            few, many = (choose(held, key=lambda worker: len(held[worker])) for choose in (min, max))
            if len(held[many]) - len(held[few]) < 2:
                return
            b = held[many].pop()
            held[few].append(b)
            kept[b] = self.client.submit(broadcast, kept[b], workers=[few], allow_other_workers=True, pure=False)


@dataclass(frozen=True, eq=False)
class LazyColumn:
    """One number for each item that takes part: nothing is computed or sent until it is asked for.

    While it is held, so is what it is computed from on the workers.
    """

    home: OnCluster
    function: Callable[..., Any]
    kept: tuple[Kept, ...]
    common: dict[str, Any]

    def __len__(self) -> int:
        """Return how many items take part."""
        return self.home.n

    def parts(self) -> Kept:
        """Return the numbers with the blocks, in the order of the home's items."""
        return self.home.each(self.function, *self.kept, **self.common)

    def to_dask(self) -> Any:
        """Return a Dask array, in the order of the items."""
        both = list(zip(self.parts(), self.home.items, strict=True))
        return lazy_vector(_as_they_came, both, np.diff(self.home.bounds).tolist())

    def compute(self) -> Array:
        """Return all of it in memory."""
        return self.to_dask().compute(scheduler=self.home.client)


def _as_they_came(part: tuple[Array, Array]) -> Array:
    values, items = part
    return values[np.argsort(items)]
