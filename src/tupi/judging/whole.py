"""Scores of all labels together, of which no label has a share by itself: of lists, of bins, of anybody's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from tupi.inputs.groups import members
from tupi.inputs.labels import Values
from tupi.judging.metrics import ALL, PLAIN, Array, Metric, Positions, error_of_groups
from tupi.judging.ndcg import ndcg_of_groups
from tupi.runtime.errors import InputError

MOST_PARTS = 200  # of the labels, each of which is left out once to see how sure a score is


class Whole(Metric[Values]):
    """A score of all labels together.

    If there are groups it is the mean over those whose labels differ, and how sure it is follows from how these differ.
    Otherwise that follows from leaving out labels (the jackknife), one by one or, of many, in parts.
    """

    kind = Values
    words = PLAIN
    pooled = True

    @abstractmethod
    def of(self, truth: Array, predictions: Array) -> float:
        """Return the score of predictions for items whose labels are known."""

    def truth(self, labels: Values) -> Array:
        """Return what the score compares predictions with."""
        return labels.values

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return shares whose mean is the score, and the error of whose mean is the jackknife's."""
        truth, said = self.truth(labels)[held], predictions[labels.index[held]]
        if labels.groups is not None:
            shares = np.zeros(len(truth))
            for own in _ranking(labels, held):
                shares[own] = self.of(truth[own], said[own]) / len(own)
            return shares
        score, m = self.of(truth, said), len(truth)
        parts = np.arange(m) % MOST_PARTS
        without = np.array([self._without(truth, said, parts != part) for part in range(min(m, MOST_PARTS))])
        return score + np.sqrt(m * (len(without) - 1)) * (without[parts].mean() - without[parts])

    def weights(self, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return ones; with groups one over how many labels a group has, and 0 where these are all equal."""
        if labels.groups is None:
            return super().weights(labels, held)
        weights = np.zeros(len(labels.groups[held]))
        for own in _ranking(labels, held):
            weights[own] = 1 / len(own)
        return weights

    def average(self, shares: Array, weights: Array) -> float:
        """Return the weighted mean, in which each group counts as one."""
        return float(shares.sum() / weights.sum())

    def error(self, gains: Array, labels: Values) -> float:
        """Return the standard error; with groups that of a mean over them, and infinity for fewer than two."""
        if labels.groups is None:
            return super().error(gains, labels)
        enough = len(np.unique(labels.groups)) > 1
        return error_of_groups(gains, self.weights(labels), labels.groups) if enough else float("inf")

    def _without(self, truth: Array, said: Array, kept: Array) -> float:
        """Return the score of some labels; NaN where they are too few or too alike for one."""
        try:
            return self.of(truth[kept], said[kept])
        except Exception:  # functions of people's own raise whatever they like
            return float("nan")


def _ranking(labels: Values, held: Positions | slice) -> list[Positions]:
    """Return which of the labels that judge each group has, for groups in which they differ."""
    assert labels.groups is not None
    values = labels.values[held]
    return [own for own in members(labels.groups[held]) if (values[own] != values[own[0]]).any()]


class Ndcg(Whole):
    """Normalised discounted cumulative gain of the first k: an item of grade r at place p adds (2^r - 1) / log2(p + 1).

    Parameters
    ----------
    k : int
        How many places count.
    """

    key = "ndcg@k"
    tasks = ("ranking",)

    def __init__(self, k: int) -> None:
        self.k, self.name = k, f"NDCG@{k}"

    def of(self, truth: Array, predictions: Array) -> float:
        """Return what the ranking is worth, of what the best one is."""
        return float(ndcg_of_groups(predictions, truth, np.zeros(len(truth), np.int64), self.k)[0])


class AveragePrecision(Whole):
    """Mean over relevant items of the share of relevant ones among all that rank as high; labels have two values."""

    name = "MAP"
    key = "map"
    tasks = ("ranking",)
    n_values = 2

    def truth(self, labels: Values) -> Array:
        """Return which items are relevant: those with the greater label."""
        return labels.values == labels.values.max()

    def of(self, truth: Array, predictions: Array) -> float:
        """Return the average precision."""
        from sklearn.metrics import average_precision_score  # takes long to import, and few ask for it

        return float(average_precision_score(truth, predictions)) if truth.any() else float("nan")


class Own(Whole):
    """A function of one's own, from true labels and predictions to a number.

    Parameters
    ----------
    function : callable
        Called with true labels (numbers of classes for classification) and predictions of the same items. Greater is
        better, unless it has an attribute ``greater_is_better`` that is False.
    as_given : callable
        Brings predictions into the shape in which they came in.
    """

    key = "a function"
    tasks = ("ranking", "regression", "classification")
    bounds = (-np.inf, np.inf)

    def __init__(self, function: Callable[[Array, Array], float], as_given: Callable[[Array], Array]) -> None:
        called = str(getattr(function, "__name__", "metric"))
        self.function, self.as_given = function, as_given
        self.name = "metric" if called == "<lambda>" else called
        self.higher_is_better = bool(getattr(function, "greater_is_better", True))

    def of(self, truth: Array, predictions: Array) -> float:
        """Return what the function says."""
        return float(self.function(truth, self.as_given(predictions)))

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return shares as of any score; complain if the function has no number for all labels, or those of a group."""
        for own in [ALL] if labels.groups is None else _ranking(labels, held):
            self._check(labels.values[held][own], predictions[labels.index[held]][own])
        return super().shares(predictions, labels, held)

    def _check(self, truth: Array, predictions: Array) -> None:
        """Complain if the function has no number for some labels."""
        try:
            found = str(score := self.of(truth, predictions))
        except Exception as why:  # functions of people's own raise whatever they like
            found, score = f"{type(why).__name__}: {why}", float("nan")
        if not np.isfinite(score):
            raise InputError(
                f"metric: {self.name} gave {found} for {len(truth)} labels; accepted: a function of true labels and "
                "predictions that returns a finite number."
            )
