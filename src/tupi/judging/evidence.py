"""What labels say about a method's gain, judged on labels that did not choose or fit anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.labels import Labels, Values, entries, n_labels
from tupi.inputs.problem import Problem
from tupi.judging.folds import Fold, label_folds
from tupi.judging.gain import Gain
from tupi.judging.metrics import Metric, metric_named, metric_of

N_REPEATS = 4
MIN_LABELS = 8  # fewer leave folds without a pair to judge
UNCHANGED = " The initial predictions were returned unchanged."
Array = NDArray[np.float64]
Predict = Callable[[Labels], Array]  # from labels that may be used to predictions of all items, in the input's scale


@dataclass(frozen=True)
class Evidence:
    """What the labels say about the change, judged on labels that did not choose it.

    Attributes
    ----------
    metric : str
        What is measured.
    before, after : float
        Its value for the initial predictions and for predictions chosen without the labels that judge them. Where
        nothing was accepted, ``after`` is of the candidate that was turned down.
    low, high : float
        95 per cent interval of the gain.
    accepted : bool
        Whether the predictions that came back differ from the initial ones.
    n_labels : int
        How many items were labelled, or how many pairs were compared.
    sentence : str
        All that in words.
    noun : {"label", "comparison"}
        What ``n_labels`` counts.
    """

    metric: str
    before: float
    after: float
    low: float
    high: float
    accepted: bool
    n_labels: int
    sentence: str
    noun: str = "label"

    @property
    def gain(self) -> float:
        """How much better the new predictions are, or would have been."""
        return float(metric_named(self.metric).gain(self.before, self.after))


def amount(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def judge(
    predict: Predict,
    problem: Problem,
    labels: Labels,
    accepted: bool,
    random_state: int = 0,
    n_repeats: int = N_REPEATS,
) -> Evidence:
    """Estimate a method's gain by repeated cross-validation over the labels.

    Each fold's labels judge predictions that were chosen (or fitted) with the other folds' labels only. The interval
    is that of a mean over labelled items (or pairs), not over folds, since folds share their training labels. Folds
    depend on the labels and the seed only, so that methods can be compared.

    Parameters
    ----------
    predict : callable
        Makes predictions with some of the labels.
    problem : Problem
        Whose initial predictions are compared with.
    labels : Values or Pairs
        All labels.
    accepted : bool
        Whether the predictions that come back differ from the initial ones.
    random_state : int
        Seed of the folds.
    n_repeats : int
        How often all labels are dealt to folds anew.
    """
    task = problem.task
    if n_labels(labels) < MIN_LABELS:
        return _unjudged(labels, task, accepted, _too_few(labels))
    folds = (fold for repeat in range(n_repeats) for fold in label_folds(labels, random_state=(random_state, repeat)))
    found = held_out(metric_of(task, labels), predict, folds, problem.initial, labels)
    if not len(found.weights):
        sentence = (
            f"The gain could not be judged: no fold of the {counted(labels)} leaves {noun_of(labels)}s on both sides."
        )
        return _unjudged(labels, task, accepted, sentence)
    return stated(found.gain(), labels, task, accepted)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The shares of labels in a score, under predictions that did not see them.

    Attributes
    ----------
    metric : Metric
        What is measured.
    labels : Values or Pairs
        The labels that judged.
    before, after : ndarray of shape (n_labels,)
        Sums of their shares over the rounds in which they judged: of the initial predictions, and of the new ones.
    weights : ndarray of shape (n_labels,)
        Sums of their weights.
    """

    metric: Metric[Any]
    labels: Labels
    before: Array
    after: Array
    weights: Array

    def gain(self) -> Gain:
        """Return the score before and after, and the standard error of the gain."""
        before, after = (self.metric.average(shares, self.weights) for shares in (self.before, self.after))
        gains = self.metric.gain(self.before, self.after) / self.weights
        return Gain(before, after, self.metric.error(gains, self.labels))


def held_out(metric: Metric[Any], predict: Predict, folds: Iterable[Fold], initial: Array, labels: Labels) -> HeldOut:
    """Let the labels of each fold judge predictions that were made without them.

    Parameters
    ----------
    metric : Metric
        What is measured.
    predict : callable
        Makes predictions with some labels.
    folds : iterable of Fold
        The labels to predict with, and which of ``labels`` judge; any label may do so more than once.
    initial : ndarray
        The initial predictions.
    labels : Values or Pairs
        The labels that judge.
    """
    before, after, weights = (np.zeros(n_labels(labels)) for _ in range(3))
    for fold in folds:
        before[fold.held] += metric.shares(initial, labels, fold.held)
        after[fold.held] += metric.shares(predict(fold.train), labels, fold.held)
        weights[fold.held] += metric.weights(labels, fold.held)
    judged = np.flatnonzero(weights)
    return HeldOut(metric, entries(labels, judged), before[judged], after[judged], weights[judged])


def stated(gain: Gain, labels: Labels, task: str, accepted: bool) -> Evidence:
    """Return a gain that was measured on held-out labels as evidence, with a 95 per cent interval and in words."""
    metric = metric_of(task, labels)
    if n_labels(labels) < MIN_LABELS or not np.isfinite(gain.error):
        return _unjudged(labels, task, accepted, _too_few(labels))
    difference = metric.gain(gain.before, gain.after)
    low, high = difference - 1.96 * gain.error, difference + 1.96 * gain.error
    went, end = ("went", "") if accepted else ("would have gone", UNCHANGED)
    change = metric.words.change(gain.before, gain.after, difference, low, high)
    within = "" if labels.groups is None else " within groups"
    sentence = (
        f"On {counted(labels)}, each judging a choice made without it, {metric.name}{within} {went} from {change}.{end}"
    )
    return Evidence(
        metric.name, gain.before, gain.after, low, high, accepted, n_labels(labels), sentence, noun_of(labels)
    )


def _too_few(labels: Labels) -> str:
    return f"{counted(labels)} are too few to judge the gain by; at least {MIN_LABELS} are needed."


def _unjudged(labels: Labels, task: str, accepted: bool, sentence: str) -> Evidence:
    """Return evidence without figures."""
    nan = float("nan")
    sentence += "" if accepted else UNCHANGED
    metric = metric_of(task, labels).name
    return Evidence(metric, nan, nan, nan, nan, accepted, n_labels(labels), sentence, noun_of(labels))


def noun_of(labels: Labels) -> str:
    """Return what `n_labels` counts."""
    return "label" if isinstance(labels, Values) else "comparison"


def counted(labels: Labels) -> str:
    """Return how many labels there are, called what they are."""
    return amount(n_labels(labels), noun_of(labels))
