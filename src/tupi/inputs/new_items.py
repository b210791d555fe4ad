"""Items that come later: checked like those of a problem, and read by what that problem knew of its views."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.classes import check_called, check_probabilities, expand
from tupi.inputs.features import as_matrix, check_row_count, named_views, table_of_more
from tupi.inputs.groups import Groups, as_groups
from tupi.inputs.ids import in_order_of
from tupi.inputs.numbers import as_pandas
from tupi.inputs.problem import Problem, check_new_predictions, prediction_array, sum_to_one
from tupi.inputs.tables import Encoding
from tupi.inputs.tables.encoding import the_only
from tupi.inputs.views import Statistics, View, called_view, check_finite, check_whole_rows, examine_later
from tupi.runtime.errors import InputError, nearest

FARTHEST = 1e15  # deviations from the earlier items: the square is a number in single precision, too
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class KnownView:
    """What is known of a view.

    Attributes
    ----------
    name : str
        The view's name.
    statistics : Statistics
        By which its columns are standardised.
    fill : ndarray of shape (d,) or None
        What takes the place of single missing values; None if they are refused.
    headings : tuple of str or None
        Names of its columns, if it came as a table of numbers.
    encoding : Encoding or None
        How its columns became numbers, if they were none.
    """

    name: str
    statistics: Statistics
    fill: Array | None
    headings: tuple[str, ...] | None
    encoding: Encoding | None

    def matrix(self, values: Any) -> Any:
        """Return values of the same view for other items as numbers, in the same columns."""
        return matrix_as_before(self.name, values, len(self.statistics.mean), self.headings, self.encoding)


def matrix_as_before(
    name: str, values: Any, d: int, headings: tuple[str, ...] | None, encoding: Encoding | None
) -> Any:
    """Return a view of other items as numbers, in the d columns that it had; those of tables are found by heading."""
    called = called_view(name)
    if encoding is not None:
        table = values if isinstance(values, pd.DataFrame) else table_of_more(called, values)
        found = encoding.transform(table, called)
        return found if found.shape[1] else np.zeros((len(table), 1))
    if headings is not None and isinstance(values, pd.DataFrame):
        values = _by_heading(called, values, headings)
    found = as_matrix(called, values)
    if found.shape[1] != d:
        raise InputError(f"{called} has {found.shape[1]} columns; accepted: {d}, as it had before.")
    return found


@dataclass(frozen=True, eq=False)
class Known:
    """What a problem leaves behind for items that come later.

    Attributes
    ----------
    task : str
        What the predictions are for.
    shape : tuple of int
        That of one item's predictions.
    probabilities : bool
        Whether they are class probabilities.
    classes : tuple or None
        Names of the class columns.
    views : tuple of KnownView
        The views.
    constant : tuple of str
        Views that did not vary, and that are not looked at.
    binary : bool
        Whether one probability per item came in.
    groups : {"none", "relative", "levels"}
        Whether items had groups, and counted relative to these or as they are.
    """

    task: str
    shape: tuple[int, ...]
    probabilities: bool
    classes: tuple[Any, ...] | None
    views: tuple[KnownView, ...]
    constant: tuple[str, ...]
    binary: bool = False
    groups: str = "none"

    @classmethod
    def of(cls, problem: Problem) -> Known:
        """Return what a problem knows."""
        views = tuple(
            KnownView(view.name, view.statistics, view.fill, view.headings, problem.encodings.get(view.name))
            for view in problem.views
        )
        shape = problem.initial.shape[1:]
        given = problem.task, shape, problem.are_probabilities, problem.classes
        groups = "none" if problem.groups is None else "relative" if problem.relative else "levels"
        return cls(*given, views, problem.constant, problem.binary, groups)

    def items(self, predictions: Any, features: Any, groups: Any = None) -> NewItems:
        """Check predictions and features of other items.

        Parameters
        ----------
        predictions : array_like, Series or DataFrame
            As for the problem; a single item will do.
        features : mapping, list, array_like or DataFrame
            Their views by the same names, as far as they have them.
        groups : array_like of shape (n,) or Series, optional
            Their groups, if items counted relative to these: each group with all its items, since its mean is theirs.
        """
        index = predictions.index if isinstance(predictions, (pd.Series, pd.DataFrame)) else None
        predictions = as_pandas("predictions", predictions)
        if isinstance(predictions, pd.DataFrame) and self.classes is not None and not self.binary:
            predictions = by_class(predictions, self.classes)
        initial = prediction_array(predictions, self.task)
        if self.binary != (self.task == "classification" and initial.ndim == 1):
            came, before = ("one column", "one for each class")[:: -1 if self.binary else 1]
            raise InputError(f"predictions: found {came}; accepted: {before}, as they were before.")
        if self.binary:
            check_called(predictions, self.classes)
            check_new_predictions(initial)
            check_probabilities(initial)
            initial = expand(initial)
        if initial.shape[1:] != self.shape:
            raise InputError(
                f"predictions: found {initial.shape[1]} columns; accepted: {self.shape[0]}, one for each class."
            )
        check_new_predictions(initial)
        grouped = self._groups(groups, len(initial), index)
        views = self._views(features, len(initial), index, grouped)
        found = NewItems(
            initial, views, None, self.task, index, self.classes, binary=self.binary, groups=grouped, known=self
        )
        if self.probabilities and not sum_to_one(initial):
            raise InputError(
                "predictions: found numbers that are no probabilities; accepted: probabilities, as they were before."
            )
        return found

    def _groups(self, groups: Any, n: int, index: pd.Index | None) -> Groups | None:
        """Return the groups of items, or complain."""
        if self.groups == "none" and groups is not None:
            raise InputError("groups: found for items that come later, and earlier ones had none; accepted: None.")
        if self.groups == "relative" and groups is None:
            raise InputError(
                "groups: found None, and earlier items counted relative to the mean of their group; accepted: the "
                "group of each new item, such as its query, together with all other items of that group."
            )
        found = as_groups(groups, n, index)
        return None if found is None else replace(found, levels=self.groups == "levels")

    def _views(self, features: Any, n: int, index: pd.Index | None, groups: Groups | None) -> tuple[View, ...]:
        given = {} if isinstance(features, dict) and not features else named_views(features)
        names = [view.name for view in self.views]
        for name in given:
            if name not in names and name not in self.constant:
                raise InputError(
                    f"features: found a view {name!r}; accepted: views that were there before, "
                    f"{', '.join(map(repr, names[:6]))}.{nearest(name, names)}"
                )
        found: list[View] = []
        for view in self.views:
            values, matrix = given.get(view.name), None
            if values is not None:
                if index is not None and isinstance(values, (pd.DataFrame, pd.Series)):
                    values = in_order_of(index, called_view(view.name), values)
                matrix = view.matrix(as_pandas(called_view(view.name), values))
                check_row_count(view.name, len(matrix), n)
                matrix = matrix if groups is None else groups.relative(matrix)
            found.append(LaterView(view, matrix, n))
        return tuple(found)


class LaterView(View):
    """A view of items that come later, standardised like the view of those before.

    Parameters
    ----------
    known : KnownView
        What is known of the view.
    source : ndarray or source of shape (n, d), or None
        Its rows; None if no item has it.
    n : int
        How many items there are.
    """

    def __init__(self, known: KnownView, source: Any, n: int) -> None:
        self.name, self.headings, self.statistics, self._fill = (
            known.name,
            known.headings,
            known.statistics,
            known.fill,
        )
        self.n, self.d = n, len(known.statistics.mean)
        self.impute, self.constant = None, False
        if source is None:
            self.source, self.present = np.empty((0, self.d)), np.zeros(n, bool)
            return
        self.source = source
        self.present, gaps = examine_later(source)
        check_finite(called_view(self.name), gaps)
        if self._fill is None:
            check_whole_rows(called_view(self.name), gaps, 'rows missing as a whole, or impute="median" from the start')

    def rows(self, items: slice | Array, scaling: str = "columns") -> Array:
        """Return rows as `View.rows` does; what is farther away than `FARTHEST` counts as that far."""
        with np.errstate(over="ignore"):
            found = super().rows(items, scaling)
        return np.clip(found, -FARTHEST, FARTHEST, out=found)


class GrownView(View):
    """A view of earlier and later items together, standardised like that of the earlier ones.

    Parameters
    ----------
    first : View
        The view of the earlier items, in memory.
    later : LaterView
        The same view of the later ones.
    """

    def __init__(self, first: View, later: View) -> None:
        vars(self).update(vars(first))
        rows = later.source if len(later.source) == later.n else np.full((later.n, later.d), np.nan)
        self.source, self.n = np.concatenate([first.source, rows]), first.n + later.n
        self.present = np.concatenate([first.present, later.present])


def grown_problem(problem: Problem, items: NewItems, keep: bool) -> Problem:
    """Return a problem with more items, which come after its own; its labels stay what they are.

    Parameters
    ----------
    problem : Problem
        The problem.
    items : NewItems
        The items.
    keep : bool
        Whether views are standardised as before; otherwise by all items.
    """
    if (problem.index is None) != (items.index is None):
        raise InputError("predictions: some items have ids and others have none; accepted: ids of all, or of none.")
    index = None if problem.index is None or items.index is None else problem.index.append(items.index)
    if index is not None and not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise InputError(f"predictions: the id {twice!r} is that of an earlier item; accepted: ids of new items.")
    if any(view.on_disk for view in (*problem.views, *items.views)):
        raise InputError("features: found a view in a file; accepted for more items: views in memory.")
    views = [GrownView(first, later) for first, later in zip(problem.views, items.views, strict=True)]
    return replace(
        problem,
        initial=np.concatenate([problem.initial, items.initial]),
        views=tuple(views if keep else [View(v.name, v.source, v.impute, headings=v.headings) for v in views]),
        index=index,
    )


@dataclass(frozen=True, eq=False)
class NewItems(Problem):
    """A problem of items that come later; ``known`` is what the earlier one left behind."""

    known: Known | None = None

    @property
    def are_probabilities(self) -> bool:
        """Whether the predictions before were class probabilities."""
        assert self.known is not None
        return self.known.probabilities


def by_class(predictions: pd.DataFrame, classes: tuple[Any, ...]) -> pd.DataFrame:
    """Return class columns in the order that they had."""
    found, wanted = list(map(str, predictions.columns)), list(map(str, classes))
    if sorted(found) != sorted(wanted):
        raise InputError(
            f"predictions: found columns {', '.join(found[:6])}; accepted: those of before, {', '.join(wanted[:6])}."
        )
    return predictions.iloc[:, [found.index(name) for name in wanted]]


def _by_heading(called: str, table: pd.DataFrame, headings: tuple[str, ...]) -> pd.DataFrame:
    """Return the columns of a table in the order that they had."""
    found = tuple(map(str, table.columns))
    if found == headings:
        return table
    return table.iloc[:, [the_only(found, name, called) for name in headings]]


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What a model says of items that came later.

    Attributes
    ----------
    predictions : ndarray of shape (n,) or (n, c)
        Better predictions, in the input's scale.
    familiar : ndarray of shape (n,)
        How much each item is like those that the model was made of: 1 for one that is near them, towards 0 for one that
        is far from all, which keeps its own prediction to that degree.
    uncertainty, expected : ndarray of shape (n,), optional
        The standard deviation of the label of each item and, for ranking by values, the label that it is expected to
        get.
    """

    predictions: NDArray[np.float64]
    familiar: NDArray[np.float64]
    uncertainty: NDArray[np.float64] | None = None
    expected: NDArray[np.float64] | None = None
