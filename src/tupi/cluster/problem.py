"""A problem whose items are in blocks on a cluster: what these contain is counted there, added up, and checked."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.cluster.reading import BlockedRows, common_bounds
from tupi.embedding.gaussian import SAMPLE
from tupi.inputs.features import check_row_count, varying_views
from tupi.inputs.problem import check_prediction_shape, check_predictions, check_taking_part
from tupi.inputs.views import Gaps, Statistics, called_view, check_finite, check_whole_rows, examine

Array = NDArray[Any]
# Of a block: the predictions of all its rows, shape (rows, c), and which rows have at least one view.
Opened = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Contents:
    """What some blocks contain; that of two blocks, the earlier one first, adds up to that of both.

    Attributes
    ----------
    views : list of Statistics
        Of each view's rows that are there.
    gaps : list of Gaps
        Of each view.
    scores : Statistics
        Of the predictions of items with at least one view.
    low, high : float
        The smallest and largest prediction of items with at least one view.
    broken, first_broken : int
        How many predictions are NaN or infinite, and the first.
    n : int
        Rows.
    covered : list of int
        For each block, how many items have at least one view.
    present : list of list of int
        For each block and view, how many rows are there.
    """

    views: list[Statistics]
    gaps: list[Gaps]
    scores: Statistics
    low: float
    high: float
    broken: int
    first_broken: int
    n: int
    covered: list[int]
    present: list[list[int]]

    def __add__(self, other: Contents) -> Contents:
        return Contents(
            [a + b for a, b in zip(self.views, other.views, strict=True)],
            [a + b for a, b in zip(self.gaps, other.gaps, strict=True)],
            self.scores + other.scores,
            min(self.low, other.low),
            max(self.high, other.high),
            self.broken + other.broken,
            self.first_broken if self.broken else other.first_broken,
            self.n + other.n,
            self.covered + other.covered,
            self.present + other.present,
        )

    def check(self, names: Sequence[str]) -> None:
        """Complain about predictions and views that cannot be used, given the names of the views."""
        largest = max(abs(self.low), abs(self.high)) if self.scores.count else 0.0
        check_predictions(self.n, self.broken, self.first_broken, True, largest)
        for name, gaps in zip(names, self.gaps, strict=True):
            check_finite(called_view(name), gaps)
            check_whole_rows(called_view(name), gaps, "or rows missing as a whole")
        check_taking_part(self.scores.count, self.high > self.low)


def contents_of(
    scores: Array, *views: Array, first: int, picks: Sequence[Array]
) -> tuple[tuple[Contents, list[Array]], Opened]:
    """Return what one block contains with the rows of each view that were asked for, and what stays with it.

    Parameters
    ----------
    scores : ndarray of shape (rows, c)
        Predictions.
    *views : ndarray of shape (rows, d)
        Each view.
    first : int
        The number of the block's first row.
    picks : sequence of ndarray of int
        For each view, which rows of this block to return.
    """
    present, gaps, statistics = zip(*(examine(X, first) for X in views), strict=True)
    covered = np.logical_or.reduce(present)
    values = np.asarray(scores, np.float64).reshape(len(scores), -1)
    whole = np.isfinite(values).all(axis=1)
    broken, used = np.flatnonzero(~whole), values[covered & whole]
    contents = Contents(
        list(statistics),
        list(gaps),
        Statistics.of(used),
        float(used.min(initial=np.inf)),
        float(used.max(initial=-np.inf)),
        len(broken),
        first + int(broken[0]) if len(broken) else -1,
        len(values),
        [int(covered.sum())],
        [[int(here.sum()) for here in present]],
    )
    rows = [np.asarray(X[some], np.float64) for X, some in zip(views, picks, strict=True)]
    return (contents, rows), (values, np.flatnonzero(covered).astype(np.int32))


@dataclass(eq=False)
class Distributed:
    """A problem whose items are on a cluster, checked.

    Attributes
    ----------
    client : distributed.Client
        The cluster.
    scores : list of Delayed
        Blocks of predictions.
    views : dict of str to BlockedRows
        The features; constant views are gone.
    bounds : ndarray of int
        Where blocks begin, and the number of items.
    contents : Contents
        What the blocks contain, of the views that are left.
    samples : list of ndarray
        Of each view, the rows that were drawn by position as if none were missing.
    opened : list of Future
        Of each block, see `Opened`.
    """

    client: Any
    scores: list[Any]
    views: dict[str, BlockedRows]
    bounds: Array
    contents: Contents
    samples: list[Array]
    opened: list[Any]

    @property
    def n(self) -> int:
        """Number of items."""
        return int(self.bounds[-1])

    @property
    def standard(self) -> tuple[float, float, float]:
        """Unit, mean and deviation of the predictions of items that take part."""
        unit, mean, deviation = self.contents.scores.standard
        return float(unit[0]), float(mean[0]), float(deviation[0] or 1.0)

    def standardized(self, values: Array) -> Array:
        """Return standardised predictions."""
        unit, mean, deviation = self.standard
        return (values / unit - mean) / deviation

    @property
    def scale(self) -> tuple[float, float]:
        """What brings standardised predictions back to the input's scale: a factor, and what is then added."""
        unit, mean, deviation = self.standard
        return deviation * unit, mean * unit

    @property
    def ends(self) -> Array:
        """The smallest and the largest standardised prediction."""
        return self.standardized(np.array([self.contents.low, self.contents.high]))

    def on_blocks(
        self, function: Callable[..., Any], own: Sequence[dict[str, Any]] | None = None, **common: Any
    ) -> list[Any]:
        """Return futures of what workers say of each block, given the rows of its predictions and of its views.

        Parameters
        ----------
        function : callable
            What they say.
        own : sequence of dict, optional
            Arguments that each block has for itself.
        **common : Any
            Arguments that all have alike.
        """
        return _on_blocks(self.client, self.scores, self.views, self.bounds, function, own, **common)


def _on_blocks(
    client: Any,
    scores: list[Any],
    views: dict[str, BlockedRows],
    bounds: Array,
    function: Callable[..., Any],
    own: Sequence[dict[str, Any]] | None = None,
    **common: Any,
) -> list[Any]:
    from dask import delayed

    columns = [scores, *(view.blocks(bounds) for view in views.values())]
    own = [{}] * len(scores) if own is None else own
    tasks = [delayed(function)(*parts, **more, **common) for *parts, more in zip(*columns, own, strict=True)]
    with warnings.catch_warnings():
        # Arrays that are in this process's memory travel with the tasks, which Dask warns of.
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.compute(tasks)


def read(client: Any, scores: BlockedRows, views: dict[str, BlockedRows], task: str = "ranking") -> Distributed:
    """Read everything once; complain about what cannot be used; drop constant views."""
    n = scores.shape[0]
    check_prediction_shape((n,) if scores.shape[1] == 1 else scores.shape, task)
    for name, view in views.items():
        check_row_count(name, view.shape[0], n)
    bounds = common_bounds(list(views.values()))
    spread = evenly_spread(n)
    blocks = scores.blocks(bounds)
    own = [
        {"first": int(first), "picks": [spread[(spread >= first) & (spread < stop)] - first] * len(views)}
        for first, stop in itertools.pairwise(bounds)
    ]
    found = _on_blocks(client, blocks, views, bounds, contents_of, own)
    opened = client.map(_second, found, pure=False)
    told = client.gather(client.map(_first, found, pure=False))
    contents = reduce(Contents.__add__, (contents for contents, _ in told))  # always in the same order
    contents.check(list(views))
    varying = varying_views({name: each.constant for name, each in zip(views, contents.views, strict=True)})
    if len(varying) < len(views):  # items that have no other view take no part
        return read(client, scores, {name: views[name] for name in varying}, task)
    samples = [np.concatenate(rows) for rows in zip(*(rows for _, rows in told), strict=True)]
    return Distributed(client, blocks, views, bounds, contents, samples, opened)


def evenly_spread(n: int) -> Array:
    """Return the numbers of the items that a sample by position has."""
    return np.linspace(0, n - 1, SAMPLE).astype(int) if n > SAMPLE else np.arange(n)


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]
