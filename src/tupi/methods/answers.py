"""What the Gaussian process of `tupi.methods.fuse` says, by kind of label: new columns and their gain.

New predictions g and old ones f are blended with weight w: as scores of equal deviation for ranking, as values for
regression, as logarithms of probabilities for classification.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from tupi.fusion.design import suggest_items, suggest_pairs
from tupi.fusion.fitting import Fused, fit_pairs, fit_values, most_labels
from tupi.fusion.guard import OF_ERRORS, Gain, mean_gain, pair_gain, probability_of_gain
from tupi.fusion.labelfree import LabelFree, unit
from tupi.fusion.relevance import evenly
from tupi.labels import Pairs
from tupi.methods.columns import from_shares, from_values
from tupi.methods.supervised import Known
from tupi.prepared import Prepared

SHARPNESS_GRID = tuple(2.0 ** (k / 2) for k in range(9))  # powers to which class shares may be raised
SHARPNESS_SD = 0.5  # expected size of the power's logarithm: a handful of labels must not make up certainty
LEAST_SHARE = 0.01  # of a class: regression of zeros and ones may say less than nothing
CLASS_SHIFT = 0.1  # prior variance of a class's shift: how frequent classes are is known from the predictions
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """The process and where it came from.

    Attributes
    ----------
    prepared : Prepared
        The problem.
    base : LabelFree
        Its label-free answer, whose order of items is used throughout.
    fused : Fused
        The process.
    n_used : int
        How many labels it was fitted to.
    """

    prepared: Prepared
    base: LabelFree
    fused: Fused
    n_used: int

    @abstractmethod
    def columns(self, w: float) -> Array:
        """Return new columns, as `tupi.methods.base.Fit` wants them."""

    @abstractmethod
    def gain(self, w: float) -> Gain:
        """Return the score before and after, by labels that were left out."""

    def probability(self) -> float:
        """Return the probability that the new predictions are better."""
        return probability_of_gain(self.gain(1.0), bool(self.base.views.related))

    def uncertainty(self) -> Array:
        """Return the standard deviation of a label of each item, in the units of the predictions."""
        return np.sqrt(self.fused.belief.variances() + self.fused.noise) * self._unit()

    def left_out_errors(self, w: float) -> Array | None:
        """Return absolute errors of values left out, in units of their uncertainty; None for other labels."""
        return None

    def suggest(self) -> Positions:
        """Return the items (or pairs) to label next."""
        return suggest_items(self.fused.belief, self.fused.noise, self.fused.rows)

    def _unit(self) -> float:
        """Return what one deviation of the labels is in the units of the predictions."""
        return float(self.prepared.scale[0] / self.fused.g.std())


@dataclass(frozen=True, eq=False)
class RankingAnswer(Answer):
    """Scores from values; ``values`` are the labels."""

    values: Array

    def columns(self, w: float) -> Array:
        """Return scores."""
        return unit((1 - w) * self.base.f + w * unit(self.fused.g))

    def gain(self, w: float) -> Gain:
        """Return the gain in pairwise accuracy, of pairs both of whose labels were left out."""
        first, second = np.nonzero(self.values[:, None] > self.values)
        f = self.base.f[self.fused.rows, 0]
        before = f[first] - f[second]
        after = (1 - w) * before + w * self.fused.differences[first, second] / self.fused.g.std()
        return pair_gain(before, after, first, second, len(f))

    def left_out_errors(self, w: float) -> Array:
        """Return the errors of the process; scores have no units in which those of a blend could be told."""
        z = (self.values - self.values.mean()) / self.values.std()
        return np.abs(self.fused.held_out[:, 0] - z) / self.fused.left_out_deviations()


@dataclass(frozen=True, eq=False)
class RegressionAnswer(Answer):
    """Values from values, in the labels' units."""

    values: Array

    def columns(self, w: float) -> Array:
        """Return values."""
        g = self.fused.g[:, 0] * self.values.std() + self.values.mean()
        return from_values(self.prepared, ((1 - w) * self._initial() + w * g)[:, None])

    def gain(self, w: float) -> Gain:
        """Return the gain in R², each label left out in turn."""
        f = self._initial()[self.fused.rows]
        before, after = (1 - (one - self.values) ** 2 / self.values.var() for one in (f, self._held_out(w)))
        return mean_gain(before, after)

    def left_out_errors(self, w: float) -> Array:
        """Return the errors of what comes back."""
        return np.abs(self._held_out(w) - self.values) / (self.fused.left_out_deviations() * self._unit())

    def probability(self) -> float:
        """Return the probability that the new values have a smaller squared error."""
        return probability_of_gain(self.gain(1.0).of_error(), bool(self.base.views.related), OF_ERRORS)

    def _held_out(self, w: float) -> Array:
        """Return values of the labelled items, each without its label."""
        g = self.fused.held_out[:, 0] * self.values.std() + self.values.mean()
        return (1 - w) * self._initial()[self.fused.rows] + w * g

    def _initial(self) -> Array:
        return self.base.f[:, 0] * self.prepared.scale[0] + self.prepared.shift[0]

    def _unit(self) -> float:
        return float(self.values.std())


@dataclass(frozen=True, eq=False)
class ComparisonAnswer(Answer):
    """Scores from comparisons, numbered within the compared items."""

    higher: Positions
    lower: Positions

    def columns(self, w: float) -> Array:
        """Return scores."""
        return unit((1 - w) * self.base.f + w * unit(self.fused.g))

    def gain(self, w: float) -> Gain:
        """Return the gain in pairwise accuracy, of pairs neither of whose items was seen in any comparison."""
        first, second = self.higher[self.fused.judged], self.lower[self.fused.judged]
        f = self.base.f[self.fused.rows, 0]
        before = f[first] - f[second]
        after = (1 - w) * before + w * self.fused.differences / self.fused.g.std()
        return pair_gain(before, after, first, second, len(f))

    def suggest(self) -> Positions:
        """Return pairs to compare next."""
        asked = self.fused.rows[np.column_stack([self.higher, self.lower])]
        return suggest_pairs(self.fused.belief, self.fused.g[:, 0], asked)


@dataclass(frozen=True, eq=False)
class ClassAnswer(Answer):
    """Class scores from classes: one-vs-rest regression of indicators, around the label-free probabilities.

    Shares below `LEAST_SHARE` are raised to it, and all to the power under which the labels left out are most likely.

    Attributes
    ----------
    classes : ndarray of int
        The labels.
    frequency : ndarray of shape (c,)
        Expected shares of the classes.
    """

    classes: Positions
    frequency: Array

    def columns(self, w: float) -> Array:
        """Return class scores: centred logarithms of probabilities, or scores in the input's units."""
        initial = self.base.f
        return (1 - w) * initial + w * self._columns(self.fused.g)

    def gain(self, w: float) -> Gain:
        """Return the gain in accuracy, each label left out in turn."""
        rows = self.fused.rows
        scale, shift = self.prepared.scale, self.prepared.shift
        # Stretching to the input's units looks at all items, so labelled ones are replaced among them.
        scores = self.fused.g.copy()
        scores[rows] = self.fused.held_out
        new = self._columns(scores)[rows]
        old = self.base.f[rows]
        before, after = (
            ((one * scale + shift).argmax(axis=1) == self.classes).astype(np.float64)
            for one in (old, (1 - w) * old + w * new)
        )
        return mean_gain(before, after)

    def _log_shares(self, z: Array) -> Array:
        return np.log(np.maximum(self.frequency + np.sqrt(self.frequency * (1 - self.frequency)) * z, LEAST_SHARE))

    def _columns(self, z: Array) -> Array:
        return from_shares(self.prepared, softmax(self._sharpness() * self._log_shares(z), axis=1))

    def _sharpness(self) -> float:
        """Return the most likely power by the labels left out, expected to be about one."""
        logs, each = self._log_shares(self.fused.held_out), np.arange(len(self.classes))
        likely = [
            log_softmax(s * logs, axis=1)[each, self.classes].sum() - 0.5 * (np.log(s) / SHARPNESS_SD) ** 2
            for s in SHARPNESS_GRID
        ]
        return SHARPNESS_GRID[int(np.argmax(likely))]

    def _unit(self) -> float:
        return float(np.sqrt(np.mean(self.frequency * (1 - self.frequency))))


def answer_of(known: Known, base: LabelFree, prepared: Prepared) -> Answer:
    """Fit the process to labels of any kind.

    Parameters
    ----------
    known : Known
        Labelled items that have features.
    base : LabelFree
        The label-free answer.
    prepared : Prepared
        The problem.
    """
    place = np.empty(len(base.order), np.int64)
    place[base.order] = np.arange(len(base.order))
    rows, most = place[known.rows], most_labels(len(base.f))
    if isinstance(known.labels, Pairs):
        return _from_pairs(known.labels, rows, most, base, prepared)
    values = known.values
    # Thinned out evenly over their values; equal values in the order of the items' content.
    by_value = np.lexsort([rows, values])
    used = by_value[evenly(len(values), most)]
    used = used[np.argsort(rows[used])]
    rows, values = rows[used], values[used]
    if prepared.problem.task == "classification":
        chances = _label_free_chances(base, prepared)
        frequency = np.clip(chances.mean(axis=0), LEAST_SHARE, 1 - LEAST_SHARE)
        unit_share = np.sqrt(frequency * (1 - frequency))
        z = (np.eye(chances.shape[1])[values] - frequency) / unit_share
        fused = fit_values(base, prepared, rows, z, (chances - frequency) / unit_share, CLASS_SHIFT)
        return ClassAnswer(prepared, base, fused, len(values), values.astype(np.int64), frequency)
    z = ((values - values.mean()) / values.std())[:, None]
    kind = RegressionAnswer if prepared.problem.task == "regression" else RankingAnswer
    return kind(prepared, base, fit_values(base, prepared, rows, z), len(values), values)


def _label_free_chances(base: LabelFree, prepared: Prepared) -> Array:
    """Return class probabilities of the label-free answer; other scores are taken as logarithms of deviation 1."""
    columns = base.answer * prepared.scale + prepared.shift
    if not prepared.problem.are_probabilities:
        columns = (columns - columns.mean()) / max(float(columns.std()), 1e-12)
    return softmax(columns, axis=1)


def _from_pairs(labels: Pairs, rows: Positions, most: int, base: LabelFree, prepared: Prepared) -> ComparisonAnswer:
    higher, lower = rows[labels.higher], rows[labels.lower]
    order = np.lexsort([lower, higher])
    if len(rows) > most:
        order = order[evenly(len(order), most // 2)]
    higher, lower = higher[order], lower[order]
    compared = np.unique(np.concatenate([higher, lower]))
    higher, lower = np.searchsorted(compared, higher), np.searchsorted(compared, lower)
    fused = fit_pairs(base, prepared, compared, higher, lower)
    return ComparisonAnswer(prepared, base, fused, len(higher), higher, lower)
