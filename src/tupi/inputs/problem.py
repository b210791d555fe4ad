"""A problem: predictions, views and labels, checked once and immutable afterwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.checked_labels import as_labels
from tupi.inputs.classes import (
    TwoClasses,
    check_names,
    check_probabilities,
    class_numbers,
    collapse,
    expand,
    name_of,
)
from tupi.inputs.features import as_views, varying
from tupi.inputs.groups import Groups, as_groups, levels_mean_something
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.numbers import PANDAS, as_numbers, as_pandas, check_magnitude, library_of
from tupi.inputs.tables import Encoding
from tupi.inputs.views import View
from tupi.runtime.errors import InputError, nearest

TASKS = ("ranking", "regression", "classification")
SMALLEST_PROBABILITY = 1e-6  # a zero stands for "hardly ever": its logarithm must stay finite
MIN_ITEMS = 10
LARGEST_PREDICTION = 1e305  # differences of larger numbers are not finite


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a method may look at.

    Attributes
    ----------
    initial : ndarray of shape (n,) or (n, c)
        The predictions f^I as they came in, float64; two columns if one probability per item came in.
    views : tuple of View
        The features; constant views are gone.
    labels : Values, Pairs or None
        Checked labels; class labels are column numbers.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    index : pandas.Index or None
        The items' ids, if the predictions had them.
    classes : tuple of str or None
        Names of the class columns, if the predictions had them; of a binary problem, the two values of the labels.
    encodings : dict of {str: Encoding}
        How columns became numbers, by view, for views that were not all numbers.
    library : str
        The dataframe library that the predictions, or else the views, were of.
    binary : bool
        Whether one probability per item came in, and is to come back: that of the second class.
    constant : tuple of str
        Names of the views that are gone.
    groups : Groups or None
        Which items are compared with one another, if not all are; the views are relative to their group, unless the
        levels of groups mean something.
    called : object
        The name of the one column of probabilities, by which labels that come later know the positive class.
    """

    initial: NDArray[np.float64]
    views: tuple[View, ...]
    labels: Labels | None = None
    task: str = "ranking"
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    encodings: Mapping[str, Encoding] = field(default_factory=dict)
    library: str = PANDAS
    binary: bool = False
    constant: tuple[str, ...] = ()
    groups: Groups | None = None
    called: Any = None

    @property
    def n(self) -> int:
        """Number of items."""
        return len(self.initial)

    @property
    def names(self) -> list[str]:
        """Names of the views."""
        return [view.name for view in self.views]

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Which items have at least one view; the others keep their prediction."""
        return np.logical_or.reduce([view.present for view in self.views])

    @property
    def relative(self) -> bool:
        """Whether items count relative to their group."""
        return self.groups is not None and not self.groups.levels

    @property
    def are_probabilities(self) -> bool:
        """Whether the predictions are class probabilities: not negative, and rows sum to one."""
        return self.task == "classification" and sum_to_one(self.initial)

    @property
    def columns(self) -> NDArray[np.float64]:
        """The predictions as (n, c), in the space where they are denoised.

        Probabilities become logarithms minus their row's mean: classes then compare on one scale, and a softmax
        brings them back. Scores are relative to their group, if there are groups whose levels mean nothing. Everything
        else stays as it is.
        """
        if self.groups is not None:
            columns: NDArray[np.float64] = self.groups.relative(self.initial)[:, None]
            return columns
        if not self.are_probabilities:
            return self.initial.reshape(self.n, -1)
        logs = np.log(np.maximum(self.initial, SMALLEST_PROBABILITY))
        return logs - logs.mean(axis=1, keepdims=True)

    @property
    def group_means(self) -> NDArray[np.float64]:
        """What `columns` lack of scores that are relative to their group, shape (n, 1)."""
        return self.initial[:, None] - self.columns

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know about how the input was understood, a sentence each."""
        said: list[str] = []
        if self.binary and self.classes is not None:
            negative, positive = self.classes
            said.append(
                f"The predictions are taken for probabilities of class {positive!r}; the other class is {negative!r}."
            )
        if isinstance(self.labels, Pairs) and self.labels.implied is not None:
            implied = self.labels.implied
            said.append(
                f"Values and comparisons were given together: the values count as {implied.sum():,} comparisons, "
                f"beside {np.sum(~implied):,} others."
            )
        return tuple(said)

    def as_given(self, predictions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return predictions that are like `initial` in the shape in which they came in."""
        return collapse(predictions) if self.binary else predictions


def make_problem(
    predictions: Any,
    features: Any,
    labels: Any = None,
    task: str = "ranking",
    impute: str | None = None,
    groups: Any = None,
) -> Problem:
    """Check all input of `tupi.denoise` and return it as a `Problem`."""
    check_task(task)
    if groups is not None and task != "ranking":
        raise InputError(f"groups: found with task {task!r}; accepted: with task 'ranking', which is within groups.")
    tables = (
        features.values() if isinstance(features, Mapping) else features if isinstance(features, (list, tuple)) else ()
    )
    library = library_of(predictions, features, *tables)
    said = without_views(predictions, labels, task, groups)
    initial, index, grouped = said.initial, said.index, said.groups
    given, encodings = as_views(features, len(initial), index, impute)
    if grouped is not None:
        grouped = replace(grouped, levels=levels_mean_something(initial, given, grouped, said.labels))
        if not grouped.levels:
            given = tuple(View(v.name, grouped.relative(v.source), impute, headings=v.headings) for v in given)
    views = varying(given)
    constant = tuple(view.name for view in given if view not in views)
    problem = replace(said, views=views, encodings=encodings, library=library, constant=constant, groups=grouped)
    taking_part = problem.columns[problem.covered]
    check_taking_part(len(taking_part), bool((taking_part != taking_part[:1]).any()))
    return problem


def sum_to_one(rows: NDArray[np.float64]) -> bool:
    """Return whether rows are probabilities: not negative, with sum one."""
    return bool((rows >= 0).all() and np.allclose(rows.sum(axis=1), 1.0, atol=1e-6))


def check_task(task: Any) -> None:
    """Complain about a task that does not exist."""
    if task not in TASKS:
        raise InputError(f"task: found {task!r}; accepted: {', '.join(TASKS)}.{nearest(str(task), TASKS)}")


def without_views(predictions: Any, labels: Any, task: str, groups: Any = None) -> Problem:
    """Check predictions and labels, and return a problem that lacks its views."""
    index = predictions.index if isinstance(predictions, (pd.Series, pd.DataFrame)) else None
    if index is not None and not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise InputError(f"predictions: the index holds {twice!r} more than once; accepted: unique ids.")
    predictions = as_pandas("predictions", predictions)
    classes = tuple(predictions.columns) if isinstance(predictions, pd.DataFrame) else None
    initial = _as_predictions(predictions, task)
    grouped: Groups | None = None
    binary = task == "classification" and initial.ndim == 1
    called = name_of(predictions) if binary else None
    if binary:
        two = TwoClasses(called)
        initial = _frozen(expand(initial))
        checked = _class_labels(labels, len(initial), index, two)
        classes = two.names
    elif task == "classification":
        if classes is not None:
            check_names(classes)
        n_classes = initial.shape[1]
        checked = _class_labels(labels, len(initial), index, lambda values: class_numbers(values, n_classes, classes))
    else:
        grouped = None if groups is None else as_groups(groups, len(initial), index)
        checked = as_labels(labels, len(initial), index, groups=None if grouped is None else grouped.numbers)
        _check_kinds(checked, task)
    if grouped is not None and checked is not None:
        checked = grouped.of(checked)
    found = Problem(initial, (), checked, task, index, classes, binary=binary, groups=grouped, called=called)
    return _of_usable_size(found)


def _of_usable_size(problem: Problem) -> Problem:
    """Return a problem; complain about labels, or predictions in their units, that are too large or too small."""
    if isinstance(problem.labels, Values):
        check_magnitude("labels", problem.labels.values)
        if problem.task == "regression":
            check_magnitude("predictions", problem.initial, " for regression with labels, which have their units")
    if problem.task == "classification":
        check_magnitude("predictions", problem.initial, " for class scores, which are compared with one another")
    return problem


def with_more_labels(problem: Problem, labels: Any) -> Problem:
    """Return a problem with more labels of its items; a new value takes the place of an old one."""
    if problem.task == "classification":
        n, n_classes = problem.initial.shape
        if problem.binary and problem.classes is None:
            two = TwoClasses(problem.called)
            found = _class_labels(labels, n, problem.index, two)
            return replace(problem, labels=found, classes=two.names)
        convert = partial(class_numbers, n_classes=n_classes, names=problem.classes)
        found = _class_labels(labels, n, problem.index, convert, problem.labels)
    else:
        groups = None if problem.groups is None else problem.groups.numbers
        found = as_labels(labels, problem.n, problem.index, before=problem.labels, groups=groups)
        _check_kinds(found, problem.task)
    if problem.groups is not None and found is not None:
        found = problem.groups.of(found)
    return _of_usable_size(replace(problem, labels=found))


def _as_predictions(predictions: Any, task: str) -> NDArray[np.float64]:
    array = prediction_array(predictions, task)
    check_predictions(len(array), *_broken(array), bool((array != array[:1]).any()), _largest(array))
    if task == "classification" and array.ndim == 1:
        check_probabilities(array)
    return _frozen(array)


def _frozen(array: NDArray[np.float64]) -> NDArray[np.float64]:
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def prediction_array(predictions: Any, task: str) -> NDArray[np.float64]:
    """Return predictions as numbers of the shape that the task has."""
    array: NDArray[np.float64] = np.array(as_numbers("predictions", predictions), np.float64)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    check_prediction_shape(array.shape, task)
    return np.ascontiguousarray(array)


def check_new_predictions(array: NDArray[np.float64]) -> None:
    """Complain about predictions of items that come later: these may be few, and alike."""
    if not len(array):
        raise InputError("predictions: found no items; accepted: at least one.")
    check_prediction_values(*_broken(array), _largest(array))


def _broken(array: NDArray[np.float64]) -> tuple[int, int]:
    """Return how many values are NaN or infinite, and the item of the first."""
    broken = np.argwhere(~np.isfinite(array))
    return len(broken), int(broken[0][0]) if len(broken) else -1


def _largest(array: NDArray[np.float64]) -> float:
    return float(np.abs(array).max(initial=0.0))


def _check_kinds(labels: Labels | None, task: str) -> None:
    """Complain about values and comparisons together, of which only an order comes out, where units are wanted."""
    if task == "regression" and isinstance(labels, Pairs) and labels.implied is not None:
        raise InputError(
            "labels: found values and pairs together for task 'regression'; accepted: values, which have units, or "
            "task 'ranking'."
        )


def _class_labels(
    labels: Any,
    n: int,
    index: pd.Index | None,
    convert: Callable[[NDArray[Any]], NDArray[np.int64]],
    before: Labels | None = None,
) -> Labels | None:
    parts = labels if isinstance(labels, (list, tuple)) else [labels]
    if any(isinstance(one, Pairs) for one in parts):
        raise InputError("labels: found pairs for task 'classification'; accepted: tupi.Values or an array of classes.")
    return as_labels(labels, n, index, convert, before)


def check_prediction_shape(shape: tuple[int, ...], task: str) -> None:
    """Complain about predictions that have too many dimensions for the task, or too few."""
    if task == "classification":
        fits = len(shape) == 1 or (len(shape) == 2 and shape[1] >= 2)
        accepted = "(n,) of probabilities, or (n, c) with c at least 2"
    else:
        fits, accepted = len(shape) == 1, "(n,)"
    if not fits:
        raise InputError(f"predictions: found shape {shape} for task {task!r}; accepted: shape {accepted}.")


def check_predictions(n: int, broken: int, first_broken: int, differ: bool, largest: float) -> None:
    """Complain about predictions that cannot be used.

    Parameters
    ----------
    n : int
        How many items there are.
    broken, first_broken : int
        How many values are NaN or infinite, and the item of the first; any number if there are none.
    differ : bool
        Whether the predictions differ between items.
    largest : float
        The largest magnitude among them.
    """
    if n < MIN_ITEMS:
        raise InputError(f"predictions: found {n} item(s); accepted: at least {MIN_ITEMS}.")
    check_prediction_values(broken, first_broken, largest)
    if not differ:
        raise InputError("predictions: all are equal; accepted: predictions that differ between items.")


def check_prediction_values(broken: int, first_broken: int, largest: float) -> None:
    """Complain about single predictions that cannot be used; the parameters are those of `check_predictions`."""
    if broken:
        raise InputError(
            f"predictions: {broken} value(s) are NaN or infinite (first at item {first_broken}); "
            "accepted: finite numbers, none of them missing or masked."
        )
    if largest > LARGEST_PREDICTION:
        raise InputError(
            f"predictions: found a number of magnitude {largest:.3g}; accepted: at most {LARGEST_PREDICTION:g}."
        )


def check_taking_part(n: int, differ: bool) -> None:
    """Complain if too few items have features to learn from, or if the predictions of those do not differ."""
    if n < MIN_ITEMS:
        raise InputError(f"features: {n} item(s) have any; accepted: features of at least {MIN_ITEMS} items.")
    if not differ:
        raise InputError(
            "predictions: those of the items that have features are all equal; accepted: predictions that differ "
            "between items."
        )
