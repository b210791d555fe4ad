"""What is kept of the items of a problem, to be compared with items that come later: some rows of each view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.features import check_row_count, named_views
from tupi.inputs.ids import in_order_of
from tupi.inputs.new_items import matrix_as_before
from tupi.inputs.numbers import as_pandas
from tupi.inputs.problem import Problem
from tupi.inputs.tables import Encoding
from tupi.inputs.views import View, called_view
from tupi.runtime.errors import InputError, nearest

MOST = 2000  # items that are kept
FEWEST = 100  # items that are kept however many columns there are
VALUES = 2_000_000  # single precision numbers that are kept unless that makes it fewer than `FEWEST` items
LARGEST = np.float32(1e30)  # what is larger counts as this: single precision ends soon after
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Seen:
    """Some items of a problem, evenly spread over them.

    Attributes
    ----------
    n : int
        How many items there were in all.
    predictions : ndarray of shape (k,) or (k, c)
        The initial predictions of the items that are kept.
    names, centers, rows : tuple
        For each view its name, the mean of each column, which is subtracted so that single precision suffices, and
        rows of shape (k, d), which are NaN where an item lacks it.
    encodings : tuple of Encoding or None
        How the columns of each view became numbers, if they were none.
    relative : bool
        Whether rows are relative to the mean of their group.
    headings : tuple of (tuple of str or None), or None
        Names of the columns of each view that came as a table of numbers; None in files that earlier versions wrote.
    constant : tuple of str
        Views that did not vary, and that are not looked at.
    """

    n: int
    predictions: NDArray[np.float64]
    names: tuple[str, ...]
    centers: tuple[Array, ...]
    rows: tuple[Array, ...]
    encodings: tuple[Encoding | None, ...]
    relative: bool = False
    headings: tuple[tuple[str, ...] | None, ...] | None = None
    constant: tuple[str, ...] = ()

    @classmethod
    def of(cls, problem: Problem, initial: NDArray[np.float64]) -> Seen:
        """Return some items of a problem, whose predictions came in as ``initial``."""
        size = int(np.clip(VALUES // sum(view.d for view in problem.views), FEWEST, MOST))
        items = np.unique(np.linspace(0, problem.n - 1, size).astype(np.int64))
        taken = [_taken(view, items) for view in problem.views]
        return cls(
            problem.n,
            initial[items],
            tuple(problem.names),
            tuple(center for center, _ in taken),
            tuple(rows for _, rows in taken),
            tuple(problem.encodings.get(name) for name in problem.names),
            problem.relative,
            tuple(view.headings for view in problem.views),
            problem.constant,
        )

    def later(self, features: Any, n: int, index: pd.Index | None) -> tuple[Array, ...]:
        """Return the rows of each view for n items that came later; NaN where an item lacks a view.

        Parameters
        ----------
        features : mapping, list, array_like or DataFrame
            Their views by the same names, as far as they have them.
        n : int
            How many items there are.
        index : pandas.Index or None
            Their ids; rows of pandas objects are found by them.
        """
        if self.relative:
            raise InputError(
                "drift: found a result whose items count relative to the mean of their group, so that single ones "
                "cannot be compared; accepted: results without groups, or whose groups have levels that mean something."
            )
        given = named_views(features)
        for name in given:
            if name not in self.names and name not in self.constant:
                accepted, hint = ", ".join(map(repr, self.names[:6])), nearest(name, self.names)
                raise InputError(f"features: found a view {name!r}; accepted: those of before, {accepted}.{hint}")
        return tuple(
            self._later(k, given[name], n, index)
            if name in given
            else np.full((n, len(self.centers[k])), np.nan, np.float32)
            for k, name in enumerate(self.names)
        )

    def _later(self, k: int, values: Any, n: int, index: pd.Index | None) -> Array:
        called, d = called_view(self.names[k]), len(self.centers[k])
        values = as_pandas(called, values)
        if index is not None and isinstance(values, (pd.DataFrame, pd.Series)):
            values = in_order_of(index, called, values)
        headings = None if self.headings is None else self.headings[k]
        matrix = matrix_as_before(self.names[k], values, d, headings, self.encodings[k])
        check_row_count(self.names[k], len(matrix), n)
        rows = np.asarray(matrix[:], np.float64)
        if np.isinf(rows).any():
            raise InputError(f"{called} holds infinite values; accepted: finite numbers, or NaN where there are none.")
        return _centered(rows, self.centers[k])


def _taken(view: View, items: NDArray[np.int64]) -> tuple[Array, Array]:
    """Return the mean of each column, and rows from which it was subtracted."""
    rows = np.array(view.source[items], np.float64)
    known = ~np.isnan(rows)
    center = np.where(known, rows, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return center, _centered(rows, center)


def _centered(rows: Array, center: Array) -> Array:
    """Return rows minus the centre in single precision; single gaps become the centre, whole rows stay NaN."""
    gaps = np.isnan(rows)
    with np.errstate(over="ignore"):
        found = np.where(gaps & ~gaps.all(axis=1, keepdims=True), 0.0, rows - center).astype(np.float32)
    return np.clip(found, -LARGEST, LARGEST, out=found)
