"""A problem: predictions, views and labels, checked once and immutable afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.checks import check_magnitude, check_prediction_shape, check_predictions, check_taking_part
from tupi.inputs.classes import check_names, class_numbers
from tupi.inputs.frames import PANDAS, as_pandas, library_of
from tupi.inputs.groups import Groups, Levels, as_groups
from tupi.inputs.labels import Labels, Pairs, Values, as_labels
from tupi.inputs.numbers import as_numbers
from tupi.inputs.tables import Encoding
from tupi.inputs.views import View, as_views, named_views, varying
from tupi.runtime.errors import InputError, nearest

TASKS = ("ranking", "regression", "classification")
SMALLEST_PROBABILITY = 1e-6  # a zero stands for "hardly ever": its logarithm must stay finite


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything a method may look at.

    Attributes
    ----------
    initial : ndarray of shape (n,) or (n, c)
        The predictions f^I as they came in, float64.
    views : tuple of View
        The features; constant views are gone.
    labels : Values, Pairs or None
        Checked labels; class labels are column numbers.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    index : pandas.Index or None
        The items' ids, if the predictions had them.
    classes : tuple of str or None
        Names of the class columns, if the predictions had them.
    encodings : dict of {str: Encoding}
        How columns became numbers, by view, for views that were not all numbers.
    library : str
        The dataframe library that the predictions, or else the views, were of.
    groups : Groups or None
        Which items are compared with one another, if not all are; the views are relative to their group, unless the
        levels of groups mean something.
    """

    initial: NDArray[np.float64]
    views: tuple[View, ...]
    labels: Labels | None = None
    task: str = "ranking"
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    encodings: Mapping[str, Encoding] = field(default_factory=dict)
    library: str = PANDAS
    groups: Groups | None = None

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
    def are_probabilities(self) -> bool:
        """Whether the predictions are class probabilities: not negative, and rows sum to one."""
        if self.task != "classification":
            return False
        return bool((self.initial >= 0).all() and np.allclose(self.initial.sum(axis=1), 1.0, atol=1e-6))

    @property
    def columns(self) -> NDArray[np.float64]:
        """The predictions as (n, c), in the space where they are denoised.

        Probabilities become logarithms minus their row's mean: classes then compare on one scale, and a softmax
        brings them back. Scores are relative to their group, if there are groups whose levels mean nothing. Everything
        else stays as it is.
        """
        if self.groups is not None:
            return self.groups.relative(self.initial)[:, None]
        if not self.are_probabilities:
            return self.initial.reshape(self.n, -1)
        logs = np.log(np.maximum(self.initial, SMALLEST_PROBABILITY))
        return logs - logs.mean(axis=1, keepdims=True)


def standardize(
    columns: NDArray[np.float64], items: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return columns with mean 0 and deviation 1, and how to undo it: ``columns * scale + shift``.

    Only the rows ``items`` count and are returned; None takes all. A column that does not vary becomes zero exactly.
    Magnitudes from 1e-300 to 1e300 are safe.
    """
    rows = columns if items is None else columns[items]
    unit = np.abs(rows).max(axis=0)
    unit[unit == 0] = 1.0
    scaled = rows / unit
    deviation = scaled.std(axis=0)
    # The mean of equal numbers may differ from them in the last digit, which would then count as all there is.
    constant = (scaled == scaled[0]).all(axis=0) | (deviation == 0)
    center = np.where(constant, scaled[0], scaled.mean(axis=0))
    deviation[constant] = 1.0
    return np.where(constant, 0.0, (scaled - center) / deviation), deviation * unit, center * unit


def make_problem(
    predictions: Any,
    features: Any,
    labels: Any = None,
    task: str = "ranking",
    impute: str | None = None,
    groups: Any = None,
) -> Problem:
    """Check all input of `tupi.denoise` and return it as a `Problem`."""
    if groups is not None and task != "ranking" and task in TASKS:
        raise InputError(f"groups: found with task {task!r}; accepted: with task 'ranking', which is within groups.")
    if task not in TASKS:
        raise InputError(f"task: found {task!r}; accepted: {', '.join(TASKS)}.{nearest(str(task), TASKS)}")
    library = library_of(predictions, features, *named_views(features).values())
    index = predictions.index if isinstance(predictions, (pd.Series, pd.DataFrame)) else None
    if index is not None and not index.is_unique:
        twice = index[index.duplicated()].tolist()[0]
        raise InputError(f"predictions: the index holds {twice!r} more than once; accepted: unique ids.")
    predictions = as_pandas("predictions", predictions)
    classes = tuple(predictions.columns) if isinstance(predictions, pd.DataFrame) else None
    initial = _as_predictions(predictions, task)
    if task == "classification":
        checked = _class_labels(labels, initial.shape, index, classes)
    else:
        checked = as_labels(labels, len(initial), index)
    grouped = as_groups(groups, len(initial), index)
    if grouped is not None and checked is not None:
        checked = grouped.of(checked)
    views, encodings = as_views(features, len(initial), index, impute)
    if grouped is not None:
        grouped = replace(grouped, levels=Levels(initial, views, grouped).mean_something(checked))
        if not grouped.levels:
            views = varying([View(view.name, grouped.relative(view.source), impute) for view in views])
    problem = Problem(
        initial=initial,
        views=views,
        labels=checked,
        task=task,
        index=index,
        classes=classes,
        encodings=encodings,
        library=library,
        groups=grouped,
    )
    taking_part = problem.columns[problem.covered]
    check_taking_part(len(taking_part), bool((taking_part != taking_part[:1]).any()))
    if isinstance(checked, Values):
        check_magnitude("labels", checked.values)
    if isinstance(checked, Values) and task == "regression":
        check_magnitude("predictions", initial, " for regression with labels, which have their units")
    if task == "classification":
        check_magnitude("predictions", initial, " for class scores, which are compared with one another")
    return problem


def _as_predictions(predictions: Any, task: str) -> NDArray[np.float64]:
    array: NDArray[np.float64] = np.array(as_numbers("predictions", predictions), np.float64)
    if array.ndim == 2 and array.shape[1] == 1 and task != "classification":
        array = array[:, 0]
    check_prediction_shape(array.shape, task)
    broken = np.argwhere(~np.isfinite(array))
    first_broken = int(broken[0][0]) if len(broken) else -1
    largest = float(np.abs(array).max(initial=0.0))
    check_predictions(len(array), len(broken), first_broken, bool((array != array[:1]).any()), largest)
    array = np.ascontiguousarray(array)
    array.setflags(write=False)
    return array


def _class_labels(
    labels: Any, shape: tuple[int, ...], index: pd.Index | None, classes: tuple[Any, ...] | None
) -> Labels | None:
    if isinstance(labels, Pairs):
        raise InputError("labels: found pairs for task 'classification'; accepted: tupi.Values or an array of classes.")
    n, n_classes = shape
    if classes is not None:
        check_names(classes)
    return as_labels(labels, n, index, lambda values: class_numbers(values, n_classes, classes))
