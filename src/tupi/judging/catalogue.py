"""Which metrics there are, what the argument ``metric`` means, and which are told beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from tupi.inputs.labels import Labels, Values
from tupi.inputs.problem import Problem
from tupi.judging.metrics import METRICS, PLAIN, Array, Metric, Words, metric_of
from tupi.judging.of_classes import AreaUnderCurve, BalancedAccuracy, Brier, CalibrationError, LogLoss
from tupi.judging.of_values import AbsoluteError, SquaredError
from tupi.judging.whole import AveragePrecision, Ndcg, Own
from tupi.runtime.errors import InputError, nearest

MetricLike: TypeAlias = str | Callable[[Array, Array], float] | None
CHOSEN_K = 10  # places that count where nobody says how many
MOST_GRADE = 50  # a greater one is no grade: 2^grade then says that nothing else counts

# Of equal keys the first that fits is meant.
ALL_METRICS: tuple[Metric[Any], ...] = (
    *METRICS,
    SquaredError(),
    AbsoluteError(),
    LogLoss(),
    Brier(),
    CalibrationError(),
    BalancedAccuracy(),
    AreaUnderCurve(),
    AveragePrecision(),
    Ndcg(CHOSEN_K),
)
USUAL = {
    "ranking": ("pairwise",),
    "regression": ("r2", "rmse", "mae"),
    "classification": ("accuracy", "log_loss", "calibration_error", "auc"),
}


def words_of(name: str) -> Words:
    """Return how values of a metric are said, by the name that results are saved with."""
    return next((metric.words for metric in ALL_METRICS if metric.name == name), PLAIN)


def axis_of(name: str) -> str:
    """Return what is written beside differences of a metric that were multiplied by its words' factor."""
    unit = words_of(name).unit
    return f"{name}, {unit}" if unit else name


def metric_for(metric: MetricLike, problem: Problem) -> Metric[Any] | None:
    """Return what the argument ``metric`` means for a problem.

    Parameters
    ----------
    metric : str, callable or None
        Its key, such as ``"log_loss"`` or ``"ndcg@10"``, or a function of true labels and predictions; None takes the
        first of the task.
    problem : Problem
        What is judged. Without labels nothing is, but a metric that cannot fit is refused.

    Returns
    -------
    Metric or None
        None if there are no labels.
    """
    if metric is None:
        return None if problem.labels is None else metric_of(problem.task, problem.labels)
    if callable(metric):
        if problem.labels is not None and not isinstance(problem.labels, Values):
            raise InputError("metric: found a function, and labels that are comparisons; accepted: 'pairwise'.")
        return None if problem.labels is None else Own(metric, problem.as_given)
    if not isinstance(metric, str):
        raise InputError(f"metric: found {type(metric).__name__}; accepted: a name, a function or None.")
    key, at, places = metric.strip().lower().partition("@")
    wanted = "ndcg@k" if key == "ndcg" else key + at + places
    fitting = [one for one in ALL_METRICS if _fits(one, problem)]
    found = next((one for one in fitting if one.key == wanted), None)
    if found is None:
        keys = list(dict.fromkeys(one.key for one in fitting))
        known = " does not fit here" if wanted in {one.key for one in ALL_METRICS} else ""
        raise InputError(
            f"metric: found {metric!r}, which{known or ' is unknown'}; accepted for task {problem.task!r} with these "
            f"predictions and labels: {', '.join(keys)}, or a function.{nearest(wanted, keys)}"
        )
    if isinstance(found, Ndcg):
        found = _ndcg(places if at else str(CHOSEN_K), metric, problem.labels)
    return None if problem.labels is None else found


def usual_beside(measured: Metric[Any], problem: Problem) -> list[Metric[Any]]:
    """Return the usual metrics of a problem with labels, but for the one that is measured anyway."""
    usual = USUAL[problem.task]
    return [one for one in ALL_METRICS if one.key in usual and one.key != measured.key and _fits(one, problem)]


def _fits(metric: Metric[Any], problem: Problem) -> bool:
    """Return whether a metric can judge a problem, as far as its labels tell."""
    labels = problem.labels
    if problem.task not in metric.tasks or (metric.of_probabilities and not problem.are_probabilities):
        return False
    if problem.task == "classification" and metric.n_values is not None:
        return problem.initial.shape[1] == metric.n_values
    if labels is None:
        return True
    if not isinstance(labels, metric.kind):
        return False
    return metric.n_values is None or (isinstance(labels, Values) and len(np.unique(labels.values)) == metric.n_values)


def _ndcg(places: str, said: str, labels: Labels | None) -> Ndcg:
    if not places.isdecimal() or int(places) < 1:
        raise InputError(f"metric: found {said!r}; accepted: a number of places, such as 'ndcg@10'.")
    if isinstance(labels, Values) and not ((labels.values >= 0) & (labels.values <= MOST_GRADE)).all():
        raise InputError(
            f"metric: found {said!r}, and labels from {labels.values.min():g} to {labels.values.max():g}; accepted: "
            f"grades from 0 to {MOST_GRADE}, or another metric."
        )
    return Ndcg(int(places))
