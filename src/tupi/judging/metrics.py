"""Metrics: how well predictions agree with labels, how sure that is, and how it is said in words.

Here is what every task has measured by default. To add a metric, write a class with its `Metric.shares` and list it in
`tupi.judging.catalogue`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.checked_labels import as_labels
from tupi.inputs.groups import as_groups, members
from tupi.inputs.labels import Labels, Pairs, Values, entries, n_labels
from tupi.inputs.numbers import as_numbers
from tupi.inputs.types import Column
from tupi.runtime.computing import compiled
from tupi.runtime.errors import InputError

Array: TypeAlias = NDArray[Any]
Positions: TypeAlias = NDArray[np.int64]
AnyLabels = TypeVar("AnyLabels", Values, Pairs)
ALL = slice(None)
FEW = 300  # values all of whose pairs are looked at


@dataclass(frozen=True)
class Words:
    """How the values of a metric, and differences between them, are said.

    Attributes
    ----------
    factor : float
        What a value is multiplied by.
    decimals : int
        How many decimals are said.
    sign : str
        What follows a value.
    unit : str
        What a difference is counted in.
    ticks : str
        How plotly writes unmultiplied values along an axis.
    """

    factor: float
    decimals: int
    sign: str
    unit: str
    ticks: str

    def number(self, value: float) -> str:
        """Return a value without what follows it, as in a column of a table."""
        return f"{self.factor * value:.{self.decimals}f}"

    def level(self, value: float) -> str:
        """Return a value."""
        return f"{self.number(value)}{self.sign}"

    def difference(self, value: float) -> str:
        """Return a difference without its unit; one that is not zero never reads as zero."""
        value, least = self.factor * value, 0.5 * 10.0**-self.decimals
        return f"{value:+.1g}" if 0 < abs(value) < least else f"{value:+.{self.decimals}f}"

    def change(self, before: float, after: float, gain: float, low: float, high: float) -> str:
        """Return two values with the gain between them and its 95 per cent interval."""
        gained = f"gain {self.difference(gain)} {self.unit}".rstrip()
        interval = f"95% interval {self.difference(low)} to {self.difference(high)}"
        return f"{self.level(before)} to {self.level(after)} ({gained}, {interval})"


PER_CENT = Words(100.0, 1, "%", "points", ".1~%")
PLAIN = Words(1.0, 3, "", "", "~g")


class Metric(ABC, Generic[AnyLabels]):
    """A way to score predictions by labels of one kind.

    A score is an average of shares, one share for each label: a value, or a comparison.

    Attributes
    ----------
    name : str
        What people call it; results are saved with it.
    key : str
        What the argument ``metric`` calls it.
    tasks : tuple of str
        Which tasks it is for.
    kind : type
        Which labels it needs: `Values` or `Pairs`.
    higher_is_better : bool
        Whether the better of two scores is the higher one.
    bounds : tuple of float
        The lowest and the highest score that are possible.
    words : Words
        How its values are said.
    pooled : bool
        Whether all labels judge together, and not those of each fold by themselves.
    of_probabilities : bool
        Whether predictions must be class probabilities.
    n_values : int or None
        How many different labels there must be, if that matters.
    unseen : float
        Deviation that the gains of labels have beside what they show, by which intervals of a gain are wider. It was
        chosen so that these hold the true gain as often as they say (`experiments/coverage_of_gains.py`).
    uncertain_unit : float
        Relative error of the unit in which it measures, for one label: R² measures in the variance of the labels.
    """

    name: str
    key: ClassVar[str]
    tasks: ClassVar[tuple[str, ...]]
    kind: ClassVar[type[Labels]]
    higher_is_better: bool = True
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    words: ClassVar[Words] = PER_CENT
    pooled: ClassVar[bool] = False
    of_probabilities: ClassVar[bool] = False
    n_values: ClassVar[int | None] = None
    unseen: ClassVar[float] = 0.0
    uncertain_unit: ClassVar[float] = 0.0

    @abstractmethod
    def shares(self, predictions: Array, labels: AnyLabels, held: Positions | slice = ALL) -> Array:
        """Return what each label adds to the score.

        Parameters
        ----------
        predictions : ndarray of shape (n,) or (n, c)
            Predictions of all items that the labels count.
        labels : Values or Pairs
            All labels.
        held : ndarray of int, optional
            Which of the labels judge; the others must not be looked at, except for the scale of all labels.
        """

    def weights(self, labels: AnyLabels, held: Positions | slice = ALL) -> Array:
        """Return how much there is to add for each label that judges."""
        return np.ones(n_labels(entries(labels, held)))

    def average(self, shares: Array, weights: Array) -> float:
        """Return the score from sums of shares and of weights over one or more rounds, in which labels count alike."""
        return float(np.mean(shares / weights))

    def parts(self, shares: Array, weights: Array) -> Array:
        """Return what each label adds to the score, such that their mean changes as the score does."""
        return shares / weights

    def score(self, predictions: Array, labels: AnyLabels) -> float:
        """Return how well predictions agree with labels."""
        return self.average(self.shares(predictions, labels), self.weights(labels))

    def gain(self, before: Any, after: Any) -> Any:
        """Return how much better a score, or each of several shares, is than before."""
        return after - before if self.higher_is_better else before - after

    def error(self, gains: Array, labels: AnyLabels) -> float:
        """Return the standard error of an average gain, from the gain of each label that judged."""
        return float(gains.std() / np.sqrt(len(gains)))


class PairwiseAccuracyOfValues(Metric[Values]):
    """The fraction of pairs of items with different values that are ranked right; a tie is half right.

    An item's share is the number of its pairs that are right.
    """

    name = "pairwise accuracy"
    key = "pairwise"
    unseen = 0.1
    tasks = ("ranking", "regression")
    kind = Values

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return how many of each item's pairs are ranked right."""
        scores, values = predictions[labels.index[held]], labels.values[held]
        return _in_groups(lambda own: _right_pairs(scores[own], values[own]), labels, held)

    def weights(self, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return with how many others each item forms a pair."""
        values = labels.values[held]

        def partners(own: Positions | slice) -> Array:
            _, level, counts = np.unique(values[own], return_inverse=True, return_counts=True)
            return (len(level) - counts[level]).astype(np.float64)

        return _in_groups(partners, labels, held)

    def average(self, shares: Array, weights: Array) -> float:
        """Return the fraction of right pairs, whichever round they were in."""
        return float(shares.sum() / weights.sum())

    def error(self, gains: Array, labels: Values) -> float:
        """Return the standard error of a U-statistic: twice that of the mean of each item's own pairs (Hoeffding)."""
        return max(2 * super().error(gains, labels), error_of_groups(gains, self.weights(labels), labels.groups))


class PairwiseAccuracyOfComparisons(Metric[Pairs]):
    """The fraction of comparisons that are ranked right; a tie is half right."""

    name, key, unseen = PairwiseAccuracyOfValues.name, PairwiseAccuracyOfValues.key, PairwiseAccuracyOfValues.unseen
    tasks = PairwiseAccuracyOfValues.tasks
    kind = Pairs

    def shares(self, predictions: Array, labels: Pairs, held: Positions | slice = ALL) -> Array:
        """Return whether each comparison is ranked right."""
        return ranked_right(predictions[labels.higher[held]] - predictions[labels.lower[held]])

    def error(self, gains: Array, labels: Pairs) -> float:
        """Return the standard error of a mean over comparisons, of which those that share an item vary together.

        The variance of the mean is a sum over pairs of comparisons that share an item: each item's squared sum, in
        which each comparison's own square is counted twice, once at either end.
        """
        centred = gains - gains.mean()
        items, position = np.unique(np.concatenate([labels.higher, labels.lower]), return_inverse=True)
        sums = np.bincount(position, np.concatenate([centred, centred]), len(items))
        error = float(np.sqrt(max(np.sum(sums**2) - np.sum(centred**2), 0.0))) / len(gains)
        return max(error, error_of_groups(gains, np.ones(len(gains)), labels.groups))


class AccuracyOfClasses(Metric[Values]):
    """The fraction of items whose class has the highest score."""

    name = "accuracy"
    key = "accuracy"
    unseen = 0.1
    tasks = ("classification",)
    kind = Values

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return whether each item's class is right."""
        found: Array = (predictions[labels.index[held]].argmax(axis=1) == labels.values[held]).astype(np.float64)
        return found


class RSquared(Metric[Values]):
    """The coefficient of determination: one minus the mean squared error in units of the variance of all labels."""

    name = "R²"
    key = "r2"
    unseen = 0.35
    uncertain_unit = 2.0
    tasks = ("regression",)
    kind = Values
    bounds = (-np.inf, 1.0)
    words = PLAIN

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return one minus each squared error."""
        found: Array = 1 - (predictions[labels.index[held]] - labels.values[held]) ** 2 / np.var(labels.values)
        return found


COMPARISONS = PairwiseAccuracyOfComparisons()

# The first that a task and labels can have is what is measured.
METRICS: tuple[Metric[Any], ...] = (RSquared(), AccuracyOfClasses(), PairwiseAccuracyOfValues(), COMPARISONS)


def usual_metrics(task: str) -> Mapping[type[Labels], Metric[Any]]:
    """Return what is measured for a task, by the kind of labels."""
    found: dict[type[Labels], Metric[Any]] = {}
    for metric in METRICS:
        if task in metric.tasks:
            found.setdefault(metric.kind, metric)
    return found


def metric_of(task: str, labels: Labels) -> Metric[Any]:
    """Return what is measured for a task with such labels."""
    return usual_metrics(task)[type(labels)]


def pairwise_accuracy(scores: Column, truth: Labels | Column, groups: Column | None = None) -> float:
    """Return the fraction of ordered pairs that the scores rank right; ties in the scores count half.

    This is the accuracy of the paper's experiments. Pairs with equal truth do not count. O(n log n).

    Parameters
    ----------
    scores : array_like of shape (n,)
        The scores to judge.
    truth : array_like of shape (n,), Values or Pairs
        The true values (NaN where unknown), those of some items, or comparisons.
    groups : array_like of shape (n,), optional
        The group of each item, such as its query: only pairs within a group count.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is what constant or random scores get.

    Examples
    --------
    >>> pairwise_accuracy([1.0, 2.0, 3.0, 3.0], [0, 1, 2, 3])
    0.9166666666666666
    >>> pairwise_accuracy([1.0, 2.0, 3.0, 3.0], [0, 1, 2, 3], groups=["a", "a", "b", "b"])
    0.75
    """
    scores = as_scores(scores)
    labels = as_labels(truth, len(scores))
    if labels is None:
        raise InputError("truth: found None; accepted: an array, tupi.Values or tupi.Pairs.")
    grouped = as_groups(groups, len(scores), None)
    if grouped is not None:
        labels = grouped.of(labels)
    return metric_of("ranking", labels).score(scores, labels)


def as_scores(scores: Column) -> NDArray[np.float64]:
    """Return scores to judge as numbers, or complain."""
    found = as_numbers("scores", scores).astype(np.float64)
    if found.ndim != 1 or not np.isfinite(found).all():
        raise InputError("scores: accepted: a one-dimensional array of finite numbers.")
    return found


def ranked_right(differences: Array) -> Array:
    """Return 1 for pairs ranked right, 0 for wrong ones and a half for ties, from scores of higher minus lower ones."""
    return 0.5 * (1 + np.sign(differences))


def _in_groups(count: Callable[[Positions | slice], Array], labels: Values, held: Positions | slice) -> Array:
    """Return what is counted in each group by itself, for the labels that judge; in all of them without groups."""
    if labels.groups is None:
        return count(ALL)
    groups = labels.groups[held]
    found = np.zeros(len(groups))
    for own in members(groups):
        found[own] = count(own)
    return found


def error_of_groups(gains: Array, weights: Array, groups: Positions | None) -> float:
    """Return the standard error of a weighted mean whose parts vary together within groups; 0 for fewer than two."""
    if groups is None or len(np.unique(groups)) < 2:
        return 0.0
    _, numbers = np.unique(groups, return_inverse=True)
    mean = np.average(gains, weights=weights)
    sums = np.bincount(numbers, weights * (gains - mean))
    return float(np.sqrt(len(sums) / (len(sums) - 1) * np.sum(sums**2)) / weights.sum())


def _right_pairs(scores: Array, values: Array) -> Array:
    """Return for each item how many of its pairs with items of other values are ranked right; ties count half."""
    if len(values) <= FEW:  # compiling takes longer than looking at all pairs
        above, said = (np.greater.outer(column, column) * 1.0 for column in (values, scores))
        known, said = above - above.T, said - said.T
        found: Array = np.sum(0.5 * (np.abs(known) + known * said), axis=1)
        return found
    ranks, groups = (np.unique(column, return_inverse=True)[1] for column in (scores, values))
    order = np.argsort(groups, kind="stable")
    ranks, groups = ranks[order], groups[order]
    right, below, above = np.zeros((3, len(order)))
    # Pairs with items of lower values, and then, with everything upside down, those with items of higher ones.
    _add_right_below(ranks, groups, np.zeros(len(order) + 2, np.int64), below)
    _add_right_below(-ranks[::-1] + len(ranks), -groups[::-1], np.zeros(len(order) + 2, np.int64), above)
    right[order] = below + above[::-1]
    return right


@compiled()
def _add_right_below(ranks: Array, groups: Array, tree: Array, right: Array) -> None:
    """Add how many items of earlier groups have a lower rank, equal ones counted half; items sorted by group.

    The tree is a Fenwick tree, empty at first: how many items seen have each rank.
    """
    n = len(ranks)
    start = 0
    while start < n:
        stop = start
        while stop < n and groups[stop] == groups[start]:
            for end in (ranks[stop], ranks[stop] + 1):  # items below this rank, and those up to it
                k = end
                while k > 0:
                    right[stop] += 0.5 * tree[k]
                    k -= k & -k
            stop += 1
        for i in range(start, stop):
            k = ranks[i] + 1
            while k < len(tree):
                tree[k] += 1
                k += k & -k
        start = stop
