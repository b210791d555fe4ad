"""What labels say about a method's gain, judged on labels that did not choose anything."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tupi.labels import METRIC_NAMES, Labels, Pairs, Values, subset
from tupi.methods.base import Method
from tupi.prepared import Prepared
from tupi.result import Evidence
from tupi.tasks import restore

N_FOLDS = 5
N_REPEATS = 4
MIN_LABELS = 8  # fewer leave folds without a pair to judge
Array = NDArray[np.float64]


def judge(method: Method, prepared: Prepared, labels: Labels, accepted: bool) -> Evidence:
    """Estimate a method's gain by repeated cross-validation over the labels.

    Each fold's labels judge predictions that were chosen (or fitted) with the other folds' labels only. The interval
    is that of a mean over labelled items (or pairs), not over folds, since folds share their training labels.

    Parameters
    ----------
    method : Method
        The method, as configured by the user.
    prepared : Prepared
        The problem.
    labels : Values or Pairs
        All labels.
    accepted : bool
        Whether the predictions that come back differ from the initial ones.
    """
    metric = "pairwise accuracy" if isinstance(labels, Pairs) else METRIC_NAMES[prepared.problem.task]
    size = len(labels.values) if isinstance(labels, Values) else len(labels.higher)
    if size < MIN_LABELS:
        nan = float("nan")
        sentence = f"{size} labels are too few to judge the gain by; at least {MIN_LABELS} are needed."
        return Evidence(metric, nan, nan, nan, nan, accepted, size, sentence)
    if isinstance(labels, Values) and prepared.problem.task == "ranking":
        before, after, error = _judge_ranking(method, prepared, labels, size)
    else:
        before, after, error = _judge_each(method, prepared, labels, size)
    low, high = after - before - 1.96 * error, after - before + 1.96 * error
    return Evidence(
        metric,
        before,
        after,
        low,
        high,
        accepted,
        size,
        _sentence(metric, before, after, low, high, size, accepted),
    )


def _folds(size: int, random_state: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield positions to choose by and positions to judge by."""
    rng = np.random.default_rng(random_state)
    for _ in range(N_REPEATS):
        order = rng.permutation(size)
        for held in np.array_split(order, N_FOLDS):
            yield np.setdiff1d(order, held), held


def _out_of_fold(
    method: Method, prepared: Prepared, labels: Labels, size: int
) -> Iterator[tuple[NDArray[np.int64], Array]]:
    """Yield held-out label positions with predictions that did not see them."""
    for train, held in _folds(size, prepared.random_state):
        if isinstance(labels, Values):
            some = subset(labels, labels.index[train])
        else:
            some = Pairs(labels.higher[train], labels.lower[train])
        if some is None:
            continue
        yield held, restore(prepared, method.fit(prepared, some).columns)


def _judge_ranking(method: Method, prepared: Prepared, labels: Values, size: int) -> tuple[float, float, float]:
    """Return accuracy before and after over held-out pairs, and the standard error of the gain."""
    order = np.sign(labels.values[:, None] - labels.values[None, :])
    initial = prepared.problem.initial
    right_before = _right(initial[labels.index], order)
    counts, sums = np.zeros((size, size)), np.zeros((size, size))
    for held, predictions in _out_of_fold(method, prepared, labels, size):
        grid = np.ix_(held, held)
        sums[grid] += _right(predictions[labels.index[held]], order[grid])
        counts[grid] += order[grid] != 0
    judged = counts > 0
    if not judged.any():
        return float("nan"), float("nan"), float("nan")
    right_after = np.divide(sums, counts, out=np.zeros_like(sums), where=judged)
    gain = np.where(judged, right_after - right_before, 0.0)
    # The gain is a U-statistic: its variance is that of twice the mean of each item's own pairs (Hoeffding).
    per_item = gain.sum(axis=1) / np.maximum(judged.sum(axis=1), 1)
    error = 2 * per_item[judged.any(axis=1)].std() / np.sqrt(judged.any(axis=1).sum())
    return float(right_before[judged].mean()), float(right_after[judged].mean()), float(error)


def _right(scores: Array, order: Array) -> Array:
    """Return 1, 1/2 or 0 for each pair: ranked right, tied or wrong; 0 where the truth is a tie."""
    agreement = np.sign(scores[:, None] - scores[None, :]) * order
    return np.where(order != 0, 0.5 * (1 + agreement), 0.0)


def _judge_each(method: Method, prepared: Prepared, labels: Labels, size: int) -> tuple[float, float, float]:
    """Return the score before and after over held-out labels taken one by one, and the standard error of the gain."""
    before = _merits(prepared.problem.initial, labels, prepared.problem.task)
    sums, counts = np.zeros(size), np.zeros(size)
    for held, predictions in _out_of_fold(method, prepared, labels, size):
        sums[held] += _merits(predictions, labels, prepared.problem.task)[held]
        counts[held] += 1
    judged = counts > 0
    after = sums[judged] / counts[judged]
    error = (after - before[judged]).std() / np.sqrt(judged.sum())
    return float(before[judged].mean()), float(after.mean()), float(error)


def _merits(predictions: Array, labels: Labels, task: str) -> Array:
    """Return each label's share of the score; their mean is `tupi.labels.score`."""
    if isinstance(labels, Pairs):
        difference = predictions[labels.higher] - predictions[labels.lower]
        return 0.5 * (1 + np.sign(difference))
    if task == "classification":
        return (predictions[labels.index].argmax(axis=1) == labels.values).astype(np.float64)
    return 1 - (predictions[labels.index] - labels.values) ** 2 / np.var(labels.values)


def _sentence(metric: str, before: float, after: float, low: float, high: float, size: int, accepted: bool) -> str:
    if metric == "R²":
        change = f"{before:.3f} to {after:.3f} (gain {after - before:+.3f}, 95% interval {low:+.3f} to {high:+.3f})"
    else:
        change = (
            f"{100 * before:.1f}% to {100 * after:.1f}% "
            f"(gain {100 * (after - before):+.1f} points, 95% interval {100 * low:+.1f} to {100 * high:+.1f})"
        )
    verdict = "" if accepted else " The initial predictions were returned unchanged."
    return f"On {size} labels, each judging a choice made without it, {metric} went from {change}.{verdict}"
