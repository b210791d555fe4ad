"""Items on the workers of a cluster, as algorithms see them: see `tupi.blocks.home`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Home, Kept, Rows, everywhere
from tupi.cluster.moves import broadcast
from tupi.cluster.prepare import Distributed, on_blocks
from tupi.inputs.checks import present_rows
from tupi.inputs.statistics import standardized
from tupi.runtime.threads import one_blas_thread

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
    items : ndarray of int
        The rows that are items here.
    """

    views: Sequence[Array]
    standards: Sequence[Standard]
    items: NDArray[np.int64]

    def has(self, number: int) -> NDArray[np.bool_]:
        """Return which items have a view."""
        return present_rows(self.views[number][self.items])

    def view(self, number: int) -> tuple[Array, NDArray[np.bool_]]:
        """Return the columns of a view, zero for items that lack it, and which items have it."""
        rows = np.array(self.views[number][self.items], np.float64, order="C")
        has = present_rows(rows)
        return everywhere(standardized(rows[has], *self.standards[number]), has), has

    def some(self, chosen: NDArray[np.int64]) -> WorkerRows:
        """Return some of the items."""
        return WorkerRows(self.views, self.standards, self.items[chosen])


def opened(scores: Array, *views: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the predictions of a block, and which of its items have at least one view."""
    return np.asarray(scores, np.float64).reshape(len(scores)), _covered(views)


def _covered(views: Sequence[Array]) -> NDArray[np.bool_]:
    """Return which items of a block have at least one view."""
    return np.asarray(np.logical_or.reduce([present_rows(X) for X in views]))


def taking_part(block: tuple[Array, NDArray[np.bool_]]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the predictions of the items of a block that take part, and which do."""
    return block[0][block[1]], block[1]


def restored(block: tuple[Array, NDArray[np.bool_]], columns: Array, scale: float, shift: float) -> Array:
    """Return predictions of all items of a block in the input's scale; who has no view keeps the initial one."""
    found = block[0].copy()
    found[block[1]] = columns[:, 0] * scale + shift
    return found


def _over_views(
    scores: Array, *views: Array, standards: Sequence[Standard], wanted: Any, kept: Sequence[Any], common: Any
) -> Any:
    rows: Rows = WorkerRows(views, standards, np.flatnonzero(_covered(views)))
    with one_blas_thread():
        return wanted(rows, *kept, **common)


def _over_kept(*kept: Any, wanted: Any, common: Any) -> Any:
    with one_blas_thread():
        return wanted(None, *kept, **common)


def _sum(parts: Sequence[Any]) -> Any:
    return sum(parts[1:], parts[0])


class OnCluster(Home):
    """The items of a distributed problem that have at least one view.

    Parameters
    ----------
    problem : Distributed
        The problem.
    """

    def __init__(self, problem: Distributed) -> None:
        self._problem, self._client = problem, problem.client
        self.bounds = np.concatenate([[0], np.cumsum(problem.contents.covered)])
        self.n_views = len(problem.views)
        self._standards = [each.standard for each in problem.contents.views]

    def each(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Kept:
        """Make a pass; results stay on the workers."""
        with warnings.catch_warnings():
            # What all blocks share, such as tables between anchors, may well take 50 MB, which Dask warns of.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            sent = self._client.submit(broadcast, common, pure=False)
        if not getattr(function, "reads_views", False):
            return self._client.map(_over_kept, *kept, wanted=function, common=sent, pure=False)
        own = [{"kept": [one[b] for one in kept]} for b in range(len(self.bounds) - 1)]
        settled = {"standards": self._standards, "wanted": function, "common": sent}
        return on_blocks(self._problem, _over_views, own, **settled)

    def summed(self, function: Callable[..., Any], *kept: Kept, **common: Any) -> Any:
        """Make a pass and add up on the workers, a few at a time."""
        parts = list(self.each(function, *kept, **common))
        while len(parts) > 1:
            groups = [parts[k : k + 8] for k in range(0, len(parts), 8)]
            parts = self._client.map(_sum, groups, pure=False)
        return self._client.gather(parts[0])

    def fetched(self, kept: Kept) -> list[Any]:
        """Return what was left with the blocks."""
        return self._client.gather(list(kept))

    def dealt(self, columns: Array) -> Kept:
        """Send each block its rows of an array."""
        return self.sent([columns[a:b] for a, b in zip(self.bounds, self.bounds[1:], strict=False)])

    def sent(self, things: Sequence[Any]) -> Kept:
        """Send each block a thing of its own."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self._client.map(broadcast, list(things), pure=False)  # tasks, which survive the loss of a worker
