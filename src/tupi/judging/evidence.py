"""A gain on labels that did not produce it, the error of that difference, and what it says about a method."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tupi.inputs.labels import Labels, Values, amount, counted, entries, labelled_items, n_labels, noun_of, relabel
from tupi.inputs.problem import Problem
from tupi.judging.catalogue import usual_beside, words_of
from tupi.judging.metrics import Metric, metric_of, ranked_right

GAIN, EXPLAINS = "gain", "explains"  # what a view is worth: by labels, or without any
MIN_LABELS = 8  # fewer leave folds without a pair to judge
LEAST_CONFIRMED = 0.05  # below this probability that labels belong to the items they are left aside
UNCHANGED = " The initial predictions were returned unchanged."
Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Unseen = tuple[Positions, Array]  # labels that judge, and predictions that did not see them
LOSSES = ("log loss", "calibration error")  # what tells whether probabilities may be taken at their word


@dataclass(frozen=True)
class Gain:
    """A score before and after, on labels that the predictions did not see, and the standard error of the difference.

    The error is infinite where there are too few labels to tell.
    """

    before: float
    after: float
    error: float

    @property
    def points(self) -> float:
        """The gain in hundredths."""
        return 100 * (self.after - self.before)

    def of_error(self) -> Gain:
        """Return a gain in R² as a share of the initial squared error, which has no units and no bound below."""
        unit = max(1 - self.before, 1e-12)
        return Gain(0.0, (self.after - self.before) / unit, self.error / unit)


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
    higher_is_better : bool
        Whether the better of two values is the higher one.
    beside : dict of {str: (float, float)}
        Values of the usual metrics of the task before and after, on the same labels.
    n_judging : int or None
        How many of the labels judged; None if all did. Of very many labels only some are used.
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
    higher_is_better: bool = True
    beside: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    n_judging: int | None = None

    @property
    def judges(self) -> str:
        """How many labels judged, in words."""
        some = "" if self.n_judging is None else f"{self.n_judging:,} of "
        return f"{some}{amount(self.n_labels, self.noun)}"

    @property
    def gain(self) -> float:
        """How much better the new predictions are, or would have been."""
        return self.after - self.before if self.higher_is_better else self.before - self.after

    @property
    def worse_losses(self) -> dict[str, tuple[float, float]]:
        """What says that probabilities did not become better as such: log loss, calibration error, before and after."""
        return worse_losses({**self.beside, self.metric: (self.before, self.after)})

    @property
    def others(self) -> str:
        """The usual metrics in a sentence; empty if there are none."""
        told = [
            f"{name} {words_of(name).level(before)} to {words_of(name).level(after)}"
            for name, (before, after) in self.beside.items()
        ]
        return f"On the same labels: {', '.join(told)}." if told else ""


def worse_losses(found: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return those of some metrics' values, before and after, that say that probabilities became worse."""
    return {name: found[name] for name in LOSSES if name in found and found[name][1] > found[name][0]}


def pair_gain(
    before: Array,
    after: Array,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    m: int,
    groups: NDArray[np.int64] | None = None,
    weights: Array | None = None,
) -> Gain:
    """Return the gain in pairwise accuracy, its error by the jackknife over items, or over groups if that is larger.

    Parameters
    ----------
    before, after : ndarray of shape (n_pairs,)
        Differences of old and new predictions within pairs whose first item is truly higher.
    first, second : ndarray of int
        The items of each pair, numbered from 0.
    m : int
        How many items there are.
    groups : ndarray of shape (n_pairs,), optional
        The group of each pair, numbered from 0; items of a group vary together.
    weights : ndarray of shape (n_pairs,), optional
        What each pair counts; None: all alike.
    """
    old, new = ranked_right(before), ranked_right(after)
    weights = np.ones(len(old)) if weights is None else weights
    lost, total = weights * (new - old), weights.sum()
    gained = lost.sum()

    def jackknife(touching: NDArray[Any], lost: NDArray[Any]) -> float:
        usable = (touching > 0) & (touching < total)
        k = usable.sum()
        if k < 3:
            return np.inf
        without = (gained - lost[usable]) / (total - touching[usable])
        return float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))

    ends = np.concatenate([first, second])
    error = jackknife(np.bincount(ends, np.tile(weights, 2), m), np.bincount(ends, np.tile(lost, 2), m))
    if groups is not None and len(np.unique(groups)) >= 3:
        error = max(error, jackknife(np.bincount(groups, weights), np.bincount(groups, lost)))
    return Gain(float(weights @ old / total), float(weights @ new / total), error)


def mean_gain(before: Array, after: Array, weights: Array | None = None) -> Gain:
    """Return the gain of a mean over labels, one by one, which may have weights."""
    k, share = len(before), np.full(len(before), 1 / len(before)) if weights is None else weights / weights.sum()
    gains = after - before
    spread = np.sum((share * (gains - share @ gains)) ** 2) * k / max(k - 1, 1)
    return Gain(float(share @ before), float(share @ after), float(np.sqrt(spread)) if k >= 3 else np.inf)


def judged(
    gain: Gain,
    left_out: tuple[Positions, Array] | None,
    problem: Problem,
    labels: Labels,
    accepted: bool,
    metric: Metric[Any],
    pairs: Callable[[], tuple[Positions, Positions, Array] | None] | None = None,
) -> Evidence:
    """Return what labels say about a method that judges itself.

    Parameters
    ----------
    gain, left_out, pairs
        The gain that it knows, its predictions of labelled items without their labels, and of compared pairs without
        what is known of them, see `tupi.methods.base.Fit`.
    problem, labels, accepted, metric
        See `tupi.judging.folds.judge`.
    """
    if left_out is None or not isinstance(labels, Values):
        found = None if pairs is None or isinstance(labels, Values) else pairs()
        judging = None if found is None or len(found[0]) > n_labels(labels) else len(found[0])
        return stated(gain, labels, problem.task, accepted, judging=judging)
    known = gain if metric is metric_of(problem.task, labels) else None
    return judge_answers([[unseen_by(problem, labels, *left_out)]], problem, labels, accepted, metric, known)


def judge_answers(
    rounds: Sequence[Sequence[Unseen]],
    problem: Problem,
    labels: Labels,
    accepted: bool,
    metric: Metric[Any],
    gain: Gain | None = None,
) -> Evidence:
    """Return what labels say about predictions that did not see them.

    Parameters
    ----------
    rounds : sequence of sequences of (ndarray of int, ndarray)
        In each round every label judges once at most: which labels judge, and predictions of the labelled items, in
        the order of the items, that were made without them.
    problem, labels, accepted, metric
        See `tupi.judging.folds.judge`.
    gain : Gain, optional
        The gain in ``metric``, if a method knows it better than the rounds tell.
    """
    if n_labels(labels) < MIN_LABELS:
        return _unjudged(labels, metric, accepted)
    items = labelled_items(labels)
    before, local = problem.initial[items], relabel(labels, items)
    gain = gain or gain_of(metric, rounds, before, local)
    if gain is None:
        why = f"no fold of the {counted(labels)} leaves {noun_of(labels)}s on both sides"
        return _unjudged(labels, metric, accepted, f"The gain could not be judged: {why}.")
    beside = {
        other.name: (one.before, one.after)
        for other in usual_beside(metric, problem)
        if (one := gain_of(other, rounds, before, local)) is not None
    }
    same = all(np.allclose(new, before, rtol=1e-9, atol=0) for answers in rounds for _, new in answers)
    judging = len(np.unique(np.concatenate([held for answers in rounds for held, _ in answers])))
    return stated(gain, labels, problem.task, accepted, metric, beside, same, judging)


def gain_of(
    metric: Metric[Any],
    rounds: Sequence[Sequence[Unseen]],
    initial: Array,
    labels: Labels,
    old: Sequence[Sequence[Unseen]] | None = None,
) -> Gain | None:
    """Return the gain of predictions that did not see the labels; None if no label judges.

    Parameters
    ----------
    metric, rounds, initial, labels
        See `shares_of`.
    old : sequence of sequences of (ndarray of int, ndarray), optional
        Rounds in which the same labels judge the predictions that are compared with; None: the initial ones.
    """
    used, before, after, weights = shares_of(metric, rounds, initial, labels)
    if not len(weights):
        return None
    if old is not None:
        before = shares_of(metric, old, initial, labels)[2]
    gains = metric.gain(*(metric.parts(shares, weights) for shares in (before, after)))
    return Gain(metric.average(before, weights), metric.average(after, weights), metric.error(gains, used))


def shares_of(
    metric: Metric[Any], rounds: Iterable[Sequence[Unseen]], initial: Array, labels: Labels
) -> tuple[Labels, Array, Array, Array]:
    """Return the labels that judged, and sums over rounds of their shares in a score, before and after, and weights.

    Rounds are as in `judge_answers`, and labels count all predictions.
    """
    before, after, weights = (np.zeros(n_labels(labels)) for _ in range(3))
    for answers in rounds:
        for held, predictions in [_pooled(answers, initial, labels)] if metric.pooled and answers else answers:
            before[held] += metric.shares(initial, labels, held)
            after[held] += metric.shares(predictions, labels, held)
            weights[held] += metric.weights(labels, held)
    judged = np.flatnonzero(weights)
    return entries(labels, judged), before[judged], after[judged], weights[judged]


def _pooled(answers: Sequence[Unseen], initial: Array, labels: Labels) -> Unseen:
    """Return the predictions of one round as one answer: each item's are those that its own label judges."""
    assert isinstance(labels, Values)
    together = initial.copy()
    for held, predictions in answers:
        together[labels.index[held]] = predictions[labels.index[held]]
    return np.concatenate([held for held, _ in answers]), together


def unseen_by(problem: Problem, labels: Values, used: Positions, predictions: Array) -> Unseen:
    """Return the labels that judge a method, and predictions of all labelled items, in their order, made without them.

    Items that the method did not predict without their labels keep their initial predictions, and do not judge.

    Parameters
    ----------
    problem, labels
        The problem, and all labels.
    used : ndarray of int
        The labelled items that a method predicted without their labels.
    predictions : ndarray
        What it predicted.
    """
    items = labelled_items(labels)
    found = problem.initial[items]
    found[np.searchsorted(items, used)] = predictions.reshape(len(used), *found.shape[1:])
    return np.flatnonzero(np.isin(labels.index, used)), found


def speaks_against(
    metric: Metric[Any], problem: Problem, labels: Labels, items: Positions, predictions: Array
) -> str | None:
    """Return why new predictions may not come back; None if the metric that was asked for does not rule out a gain.

    A guard asks this beside its own question. Comparisons ask nothing but what the guard asks. What is given are
    predictions of labelled items, each made without its label.
    """
    if not isinstance(labels, Values):
        return None
    found = judge_answers([[unseen_by(problem, labels, items, predictions)]], problem, labels, True, metric)
    if not found.high < 0:
        return None
    level = metric.words.level
    return (
        f"But {found.metric}, which was asked for, went from {level(found.before)} to {level(found.after)} there, and "
        "the 95% interval of that contains no gain, so the initial predictions stay as they are."
    )


def half_width(metric: Metric[Any], gain: Gain, count: int) -> float:
    """Return half the width of the 95 per cent interval of a gain over the initial predictions, by so many labels.

    The error of the mean is that of what these labels happen to show; few of them seldom show the largest gains.
    """
    beyond = np.hypot(metric.unseen, metric.uncertain_unit * metric.gain(gain.before, gain.after)) / np.sqrt(count)
    return float(stdtrit(count - 1, 0.975) * np.hypot(gain.error, beyond))


def stated(
    gain: Gain,
    labels: Labels,
    task: str,
    accepted: bool,
    metric: Metric[Any] | None = None,
    beside: Mapping[str, tuple[float, float]] | None = None,
    same: bool = False,
    judging: int | None = None,
) -> Evidence:
    """Return a gain that was measured on held-out labels as evidence, with a 95 per cent interval and in words.

    Parameters
    ----------
    gain : Gain
        The gain.
    labels, task, accepted, metric
        See `tupi.judging.folds.judge`.
    beside : mapping of str to tuple of float, optional
        Other metrics' scores before and after.
    same : bool
        Whether the new predictions are the initial ones, of which no label has to tell that nothing is gained.
    judging : int, optional
        How many of the labels the gain was measured on; None: all.
    """
    metric = metric or metric_of(task, labels)
    judging = None if judging == n_labels(labels) else judging
    count = n_labels(labels) if judging is None else judging
    if count < MIN_LABELS or not np.isfinite(gain.error):
        return _unjudged(labels, metric, accepted)
    difference = metric.gain(gain.before, gain.after)
    half = 0.0 if same else half_width(metric, gain, count)
    low, high = difference - half, difference + half
    went, end = ("went", "") if accepted else ("would have gone", UNCHANGED)
    change = metric.words.change(gain.before, gain.after, difference, low, high)
    within = "" if labels.groups is None else " within groups"
    some = "" if judging is None else f"{judging:,} of "
    sentence = f"On {some}{counted(labels)}, each held out in turn, {metric.name}{within} {went} from {change}.{end}"
    beside = beside or {}
    told = [
        f"{name} went from {words_of(name).level(before)} to {words_of(name).level(after)}"
        for name, (before, after) in worse_losses({**beside, metric.name: (gain.before, gain.after)}).items()
    ]
    if accepted and told:  # whatever else became better
        sentence += f" As probabilities they are no better on these labels: {' and '.join(told)}."
    figures, kind = (gain.before, gain.after, low, high), (noun_of(labels), metric.higher_is_better)
    return Evidence(metric.name, *figures, accepted, n_labels(labels), sentence, *kind, beside, judging)


def _unjudged(labels: Labels, metric: Metric[Any], accepted: bool, why: str | None = None) -> Evidence:
    """Return evidence without figures, and a sentence on why there are none; None: there are too few labels."""
    sentence = why or f"{counted(labels)} are too few to judge the gain by; at least {MIN_LABELS} are needed."
    nan, kind = float("nan"), (noun_of(labels), metric.higher_is_better)
    sentence += "" if accepted else UNCHANGED
    return Evidence(metric.name, nan, nan, nan, nan, accepted, n_labels(labels), sentence, *kind)
