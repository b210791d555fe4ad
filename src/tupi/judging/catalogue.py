"""Which metrics there are beside the first of each task, what ``metric`` means, and which are told beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tupi.inputs.labels import Labels, Values
from tupi.inputs.problem import SMALLEST_PROBABILITY, Problem
from tupi.judging.metrics import (
    ALL,
    METRICS,
    PLAIN,
    AccuracyOfClasses,
    Array,
    Metric,
    PairwiseAccuracyOfValues,
    Positions,
    Words,
    metric_of,
)
from tupi.judging.whole import AveragePrecision, Ndcg, Own, Whole
from tupi.runtime.errors import InputError, nearest

MetricLike: TypeAlias = str | Callable[[Array, Array], float] | None
CHOSEN_K = 10  # places that count where nobody says how many
MOST_GRADE = 50  # a greater one is no grade: 2^grade then says that nothing else counts
MOST_BINS, LEAST_IN_BIN = 10, 10  # of the calibration error: how many, and how many labels in each


@dataclass(frozen=True)
class InUnits(Words):
    """Values in units that nobody knows here, told with four significant digits."""

    def number(self, value: float) -> str:
        """Return a value without what follows it, as in a column of a table."""
        return f"{value:.4g}"

    def difference(self, value: float) -> str:
        """Return a difference."""
        return f"{value:+.3g}"


UNITS = InUnits(1.0, 3, "", "", "~g")


class Loss(Metric[Values]):
    """What is to be low."""

    kind = Values
    higher_is_better = False


class AbsoluteError(Loss):
    """The mean absolute error."""

    name = "MAE"
    key = "mae"
    tasks = ("regression",)
    bounds = (0.0, np.inf)
    words = UNITS

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return each absolute error."""
        return np.abs(predictions[labels.index[held]] - labels.values[held])


class SquaredError(AbsoluteError):
    """The root of the mean squared error."""

    name = "RMSE"
    key = "rmse"

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return each squared error."""
        return super().shares(predictions, labels, held) ** 2

    def average(self, shares: Array, weights: Array) -> float:
        """Return the root of the mean."""
        return float(np.sqrt(np.mean(shares / weights)))

    def parts(self, shares: Array, weights: Array) -> Array:
        """Return each squared error over twice the root of their mean: the root changes as the mean of these does."""
        return shares / weights / max(2 * self.average(shares, weights), 1e-300)


class AreaUnderCurve(PairwiseAccuracyOfValues):
    """The area under the ROC curve: the fraction of pairs of both classes in which the positive item has more.

    That is pairwise accuracy of labels with two values.
    """

    name = "AUC"
    key = "auc"
    unseen = 0.1
    tasks = ("ranking", "classification")
    words = PLAIN
    n_values = 2

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return how many of each item's pairs are ranked right."""
        return super().shares(predictions if predictions.ndim == 1 else predictions[:, 1], labels, held)


class BalancedAccuracy(AccuracyOfClasses):
    """The mean over classes of the fraction of their items that are found: rare classes count like frequent ones."""

    name = "balanced accuracy"
    key = "balanced_accuracy"

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return whether each item's class is right, over how many labels its class has."""
        return super().shares(predictions, labels, held) * self.weights(labels, held)

    def weights(self, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return one over how many of all labels have the same class."""
        _, group, counts = np.unique(labels.values, return_inverse=True, return_counts=True)
        return 1 / counts[group][held]

    def average(self, shares: Array, weights: Array) -> float:
        """Return the weighted mean."""
        return float(shares.sum() / weights.sum())

    def parts(self, shares: Array, weights: Array) -> Array:
        """Return shares as large as their mean is to the mean weight."""
        return shares / weights.mean()


class LogLoss(Loss):
    """Minus the mean logarithm of the probability that the right class had; one below a millionth counts as that."""

    name = "log loss"
    key = "log_loss"
    tasks = ("classification",)
    bounds = (0.0, float(-np.log(SMALLEST_PROBABILITY)))
    words = PLAIN
    of_probabilities = True

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return minus the logarithm of each right class's probability."""
        right = predictions[labels.index[held], labels.values[held].astype(np.int64)]
        return -np.log(np.clip(right, SMALLEST_PROBABILITY, 1.0))


class Brier(LogLoss):
    """The mean squared difference of probabilities from what was: of one class of two, else summed over all classes."""

    name = "Brier score"
    key = "brier"
    bounds = (0.0, 2.0)

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return the squared differences of each item."""
        rows = predictions[labels.index[held]]
        squares = ((rows - np.eye(rows.shape[1])[labels.values[held].astype(np.int64)]) ** 2).sum(axis=1)
        return squares / 2 if rows.shape[1] == 2 else squares


class CalibrationError(Whole):
    """How far probabilities are from the share that comes true: of the positive class, or of the most likely one.

    Labels are sorted by probability and cut into bins of equally many, at most ten, and of at least ten labels if there
    are two. The error is the mean over bins, by their size, of the absolute difference of both means.
    """

    name = "calibration error"
    key = "calibration_error"
    tasks = ("classification",)
    kind = Values
    higher_is_better = False
    words = PLAIN
    of_probabilities = True

    def of(self, truth: Array, predictions: Array) -> float:
        """Return the error of all labels."""
        if predictions.shape[1] == 2:
            said, came = predictions[:, 1], truth == 1
        else:
            said, came = predictions.max(axis=1), predictions.argmax(axis=1) == truth
        order = np.argsort(said, kind="stable")
        bins = np.array_split(order, int(np.clip(len(order) // LEAST_IN_BIN, 1, MOST_BINS)))
        return float(sum(abs((said[one] - came[one]).sum()) for one in bins) / len(order))


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
