"""Bounds of labels and sets of classes, for results that know how far labels were off that were left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.judging.conformal import class_scores, reach, reach_of_errors
from tupi.runtime.errors import InputError

Array = NDArray[np.float64]


def check_level(level: Any) -> float:
    """Return a probability; complain about anything else."""
    if not isinstance(level, (int, float, np.number)) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError(f"level: found {level!r}; accepted: a number between 0 and 1.")
    return float(level)


def interval(
    level: float, center: Array | None, uncertainty: Array | None, errors: Array | None, method: str, task: str
) -> tuple[Array, Array]:
    """Return bounds of labels, or complain that a result does not know how sure it is.

    Parameters
    ----------
    level : float
        The probability of the labels to be between them.
    center, uncertainty : ndarray of shape (n,) or None
        What labels are expected, and their standard deviations.
    errors : ndarray or None
        Absolute errors of labels that were left out, in units of their uncertainty.
    method, task : str
        The method that it is a result of, and the task.
    """
    level = check_level(level)
    if task == "classification":
        raise InputError("interval: found a result of task 'classification'; accepted: class_sets(level) for classes.")
    if errors is None or uncertainty is None or center is None:
        raise InputError(
            f"interval: found a result of method {method!r} without errors of left-out labels; accepted: one "
            "of 'auto' or 'fuse' for ranking or regression, whose labels are values."
        )
    half = reach_of_errors(errors, level) * uncertainty
    return center - half, center + half


def class_sets(
    level: float,
    predictions: Array,
    errors: Array | None,
    classes: tuple[Any, ...] | None,
    index: pd.Index | None,
    empty: bool,
    method: str,
    task: str,
) -> pd.DataFrame:
    """Return which classes each item may well have, see `tupi.Denoised.class_sets`.

    Parameters
    ----------
    level : float
        The probability of the true class to be among them.
    predictions : ndarray of shape (n, c), or (n,)
        Of the classes; or the probability of the second of two.
    errors : ndarray or None
        Scores of labels that were left out, see `class_scores`.
    classes : tuple or None
        Names of the classes.
    index : pandas.Index or None
        Ids of the items.
    empty : bool
        Whether a set may be empty.
    method, task : str
        The method that it is a result of, and the task.
    """
    level = check_level(level)
    if task != "classification":
        raise InputError(f"class_sets: found a result of task {task!r}; accepted: interval(level) for values.")
    if errors is None:
        raise InputError(
            f"class_sets: found a result of method {method!r} without probabilities of left-out labels; accepted: one "
            "of 'auto' or 'fuse' with labels."
        )
    shares = np.column_stack([1 - predictions, predictions]) if predictions.ndim == 1 else predictions
    probabilities = bool((shares >= 0).all() and np.allclose(shares.sum(axis=1), 1.0, atol=1e-6))
    scores = class_scores(shares, probabilities)
    found = scores <= reach(errors, level) + 1e-12
    if not empty:
        found[np.arange(len(found)), scores.argmin(axis=1)] = True
    return pd.DataFrame(found, index=index, columns=list(classes or range(shares.shape[1])))
