"""Scores of all labels together, of which no label has a share by itself: of lists, of bins, of anybody's own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from sklearn.metrics import average_precision_score, ndcg_score

from tupi.inputs.labels import Values
from tupi.judging.metrics import ALL, PLAIN, Array, Metric, Positions
from tupi.runtime.errors import InputError

MOST_PARTS = 200  # of the labels, each of which is left out once to see how sure a score is


class Whole(Metric[Values]):
    """A score of all labels together.

    How sure it is follows from leaving out labels (the jackknife), one by one or, of many, in parts.
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
        score, m = self.of(truth, said), len(truth)
        parts = np.arange(m) % MOST_PARTS
        without = np.array([self._without(truth, said, parts != part) for part in range(min(m, MOST_PARTS))])
        return score + np.sqrt(m * (len(without) - 1)) * (without[parts].mean() - without[parts])

    def _without(self, truth: Array, said: Array, kept: Array) -> float:
        """Return the score of some labels; NaN where they are too few or too alike for one."""
        try:
            return self.of(truth[kept], said[kept])
        except Exception:  # functions of people's own raise whatever they like
            return float("nan")


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
        return float(ndcg_score(2.0 ** truth[None] - 1, predictions[None], k=self.k))


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
        """Return shares as of any score; complain if the function has no number for all labels."""
        truth, said = labels.values[held], predictions[labels.index[held]]
        try:
            found = str(score := self.of(truth, said))
        except Exception as why:  # functions of people's own raise whatever they like
            found, score = f"{type(why).__name__}: {why}", float("nan")
        if not np.isfinite(score):
            raise InputError(
                f"metric: {self.name} gave {found} for {len(truth)} labels; accepted: a function of true labels and "
                "predictions that returns a finite number."
            )
        return super().shares(predictions, labels, held)
