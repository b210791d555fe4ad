"""How good classes and their probabilities are."""

from __future__ import annotations

import numpy as np

from tupi.inputs.labels import Values
from tupi.inputs.problem import SMALLEST_PROBABILITY
from tupi.judging.metrics import ALL, PLAIN, Array, Metric, PairwiseAccuracyOfValues, Positions
from tupi.judging.whole import Whole

MOST_BINS, LEAST_IN_BIN = 10, 10  # of the calibration error: how many, and how many labels in each


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


class BalancedAccuracy(Metric[Values]):
    """The mean over classes of the fraction of their items that are found: rare classes count like frequent ones."""

    name = "balanced accuracy"
    key = "balanced_accuracy"
    unseen = 0.1
    tasks = ("classification",)
    kind = Values

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return whether each item's class is right, over how many labels its class has."""
        right = predictions[labels.index[held]].argmax(axis=1) == labels.values[held]
        return right * self.weights(labels, held)

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


class LogLoss(Metric[Values]):
    """Minus the mean logarithm of the probability that the right class had; one below a millionth counts as that."""

    name = "log loss"
    key = "log_loss"
    tasks = ("classification",)
    kind = Values
    higher_is_better = False
    bounds = (0.0, float(-np.log(SMALLEST_PROBABILITY)))
    words = PLAIN
    of_probabilities = True

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return minus the logarithm of each right class's probability."""
        right = predictions[labels.index[held], labels.values[held].astype(np.int64)]
        return -np.log(np.clip(right, SMALLEST_PROBABILITY, 1.0))


class Brier(Metric[Values]):
    """The mean squared difference of probabilities from what was: of one class of two, else summed over all classes."""

    name = "Brier score"
    key = "brier"
    tasks = ("classification",)
    kind = Values
    higher_is_better = False
    bounds = (0.0, 2.0)
    words = PLAIN
    of_probabilities = True

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
