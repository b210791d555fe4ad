"""What labels say about a method's gain, judged on labels that did not choose or fit anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import METRIC_NAMES, Labels, Pairs, Values
from tupi.judging.folds import label_folds
from tupi.judging.gain import Gain

N_REPEATS = 4
MIN_LABELS = 8  # fewer leave folds without a pair to judge
UNCHANGED = " The initial predictions were returned unchanged."
ROWS_AT_ONCE = 500  # of a matrix of pairs
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
        95 per cent interval of the gain ``after - before``.
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
        return self.after - self.before


def amount(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def judge(predict: Predict, prepared: Prepared, labels: Labels, accepted: bool, n_repeats: int = N_REPEATS) -> Evidence:
    """Estimate a method's gain by repeated cross-validation over the labels.

    Each fold's labels judge predictions that were chosen (or fitted) with the other folds' labels only. The interval
    is that of a mean over labelled items (or pairs), not over folds, since folds share their training labels. Folds
    depend on the labels and the seed only, so that methods can be compared.

    Parameters
    ----------
    predict : callable
        Makes predictions with some of the labels.
    prepared : Prepared
        The problem.
    labels : Values or Pairs
        All labels.
    accepted : bool
        Whether the predictions that come back differ from the initial ones.
    n_repeats : int
        How often all labels are dealt to folds anew.
    """
    task = prepared.problem.task
    if n_labels(labels) < MIN_LABELS:
        return _unjudged(labels, task, accepted, _too_few(labels))
    if isinstance(labels, Values) and task == "ranking":
        found = _judge_ranking(predict, prepared, labels, n_repeats)
    else:
        found = _judge_each(predict, prepared, labels, n_repeats)
    if found is None:
        size, noun = amount(n_labels(labels), noun_of(labels)), noun_of(labels)
        sentence = f"The gain could not be judged: no fold of the {size} leaves {noun}s on both sides."
        return _unjudged(labels, task, accepted, sentence)
    return stated(Gain(*found), labels, task, accepted)


def stated(gain: Gain, labels: Labels, task: str, accepted: bool) -> Evidence:
    """Return a gain that was measured on held-out labels as evidence, with a 95 per cent interval and in words."""
    metric, noun = metric_of(labels, task), noun_of(labels)
    if n_labels(labels) < MIN_LABELS or not np.isfinite(gain.error):
        return _unjudged(labels, task, accepted, _too_few(labels))
    before, after = gain.before, gain.after
    low, high = after - before - 1.96 * gain.error, after - before + 1.96 * gain.error
    sentence = _sentence(metric, before, after, low, high, amount(n_labels(labels), noun), accepted)
    return Evidence(metric, before, after, low, high, accepted, n_labels(labels), sentence, noun)


def _too_few(labels: Labels) -> str:
    size = amount(n_labels(labels), noun_of(labels))
    return f"{size} are too few to judge the gain by; at least {MIN_LABELS} are needed."


def _unjudged(labels: Labels, task: str, accepted: bool, sentence: str) -> Evidence:
    """Return evidence without figures."""
    nan = float("nan")
    sentence += "" if accepted else UNCHANGED
    metric = metric_of(labels, task)
    return Evidence(metric, nan, nan, nan, nan, accepted, n_labels(labels), sentence, noun_of(labels))


def metric_of(labels: Labels, task: str) -> str:
    """Return the name of what is measured."""
    return "pairwise accuracy" if isinstance(labels, Pairs) else METRIC_NAMES[task]


def n_labels(labels: Labels) -> int:
    """Return the number of labels: values, or pairs."""
    return len(labels.values) if isinstance(labels, Values) else len(labels.higher)


def noun_of(labels: Labels) -> str:
    """Return what `n_labels` counts."""
    return "label" if isinstance(labels, Values) else "comparison"


def _out_of_fold(
    predict: Predict, prepared: Prepared, labels: Labels, n_repeats: int
) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """Yield held-out entries of the labels with predictions that did not see them."""
    for repeat in range(n_repeats):
        for fold in label_folds(labels, random_state=(prepared.random_state, repeat)):
            yield fold.held, predict(fold.train)


def _judge_ranking(
    predict: Predict, prepared: Prepared, labels: Values, n_repeats: int
) -> tuple[float, float, float] | None:
    """Return accuracy before and after over held-out pairs, and the standard error of the gain."""
    before, after, pairs = (np.zeros(len(labels.values)) for _ in range(3))
    for held, predictions in _out_of_fold(predict, prepared, labels, n_repeats):
        index, values = labels.index[held], labels.values[held]
        pairs[held] += _n_ordered(values)
        before[held] += _n_right(prepared.problem.initial[index], values)
        after[held] += _n_right(predictions[index], values)
    judged = pairs > 0
    if not judged.any():
        return None
    # The gain is a U-statistic: its variance is that of twice the mean of each item's own pairs (Hoeffding).
    per_item = (after[judged] - before[judged]) / pairs[judged]
    error = 2 * per_item.std() / np.sqrt(judged.sum())
    return float(before.sum() / pairs.sum()), float(after.sum() / pairs.sum()), float(error)


def _n_ordered(values: Array) -> Array:
    """Return with how many others each item forms a pair of different values."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (len(values) - counts[group]).astype(np.float64)


def _n_right(scores: Array, values: Array) -> Array:
    """Return how many pairs of each item are ranked right; ties in the scores count half."""
    right = np.zeros(len(values))
    for start in range(0, len(values), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        order = np.sign(values[rows, None] - values)
        agreement = np.sign(scores[rows, None] - scores) * order
        right[rows] = 0.5 * np.sum((order != 0) * (1 + agreement), axis=1)
    return right


def _judge_each(
    predict: Predict, prepared: Prepared, labels: Labels, n_repeats: int
) -> tuple[float, float, float] | None:
    """Return the score before and after over held-out labels taken one by one, and the standard error of the gain."""
    before = _merits(prepared.problem.initial, labels, prepared.problem.task)
    sums, counts = np.zeros(len(before)), np.zeros(len(before))
    for held, predictions in _out_of_fold(predict, prepared, labels, n_repeats):
        sums[held] += _merits(predictions, labels, prepared.problem.task)[held]
        counts[held] += 1
    judged = counts > 0
    if not judged.any():
        return None
    after = sums[judged] / counts[judged]
    gain = after - before[judged]
    if isinstance(labels, Pairs):
        error = error_of_pairs(gain, labels.higher[judged], labels.lower[judged])
    else:
        error = gain.std() / np.sqrt(len(gain))
    return float(before[judged].mean()), float(after.mean()), float(error)


def error_of_pairs(gain: Array, higher: NDArray[np.int64], lower: NDArray[np.int64]) -> float:
    """Return the standard error of a mean over pairs, of which those that share an item vary together.

    The variance of the mean is a sum over pairs of pairs that share an item: each item's squared sum, in which each
    pair's own square is counted twice, once at either end.
    """
    centred = gain - gain.mean()
    items, position = np.unique(np.concatenate([higher, lower]), return_inverse=True)
    sums = np.bincount(position, np.concatenate([centred, centred]), len(items))
    return float(np.sqrt(max(np.sum(sums**2) - np.sum(centred**2), 0.0))) / len(gain)


def _merits(predictions: Array, labels: Labels, task: str) -> Array:
    """Return each label's share of the score; their mean is `tupi.inputs.labels.score`."""
    if isinstance(labels, Pairs):
        difference = predictions[labels.higher] - predictions[labels.lower]
        return 0.5 * (1 + np.sign(difference))
    if task == "classification":
        return (predictions[labels.index].argmax(axis=1) == labels.values).astype(np.float64)
    return 1 - (predictions[labels.index] - labels.values) ** 2 / np.var(labels.values)


def _sentence(metric: str, before: float, after: float, low: float, high: float, size: str, accepted: bool) -> str:
    if metric == "R²":
        change = f"{before:.3f} to {after:.3f} (gain {after - before:+.3f}, 95% interval {low:+.3f} to {high:+.3f})"
    else:
        change = (
            f"{100 * before:.1f}% to {100 * after:.1f}% "
            f"(gain {100 * (after - before):+.1f} points, 95% interval {100 * low:+.1f} to {100 * high:+.1f})"
        )
    went, end = ("went", "") if accepted else ("would have gone", UNCHANGED)
    return f"On {size}, each judging a choice made without it, {metric} {went} from {change}.{end}"
