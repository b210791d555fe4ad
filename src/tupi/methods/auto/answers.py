"""What the Gaussian process of `tupi.methods.auto.fuse` says, by kind of label: new columns and their gain.

New predictions, initial ones and the label-free answer are blended: as scores of equal deviation for ranking, as values
for regression, as logarithms of probabilities for classification.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.inputs.labels import Pairs
from tupi.judging.gain import Gain, mean_gain, pair_gain
from tupi.methods.auto.design import suggest_items, suggest_pairs
from tupi.methods.auto.experts import with_expert
from tupi.methods.auto.fitting import Fused, fit_pairs, fit_values, most_labels
from tupi.methods.auto.guard import (
    OF_ERRORS,
    Blend,
    blend_of,
    confirmation,
    probability_of_gain,
    weight_of,
    wrong_before,
)
from tupi.methods.auto.labelfree import LabelFree, unit
from tupi.methods.columns import from_shares, from_values
from tupi.methods.supervised import Known

SHARPNESS_GRID = tuple(2.0 ** (k / 2) for k in range(9))  # powers to which class shares may be raised
SHARPNESS_SD = 0.5  # expected size of the power's logarithm: a handful of labels must not make up certainty
LEAST_SHARE = 0.01  # of a class: regression of zeros and ones may say less than nothing
NEW = Blend(1.0, 0.0, 0.0)  # what the process says, as it is
LABEL_FREE = Blend(0.0, 0.0, 1.0)
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
    def columns(self, blend: Blend) -> Array:
        """Return new columns, as `tupi.methods.base.Fit` wants them."""

    @abstractmethod
    def gain(self, blend: Blend) -> Gain:
        """Return the score before and after, by labels that were left out."""

    @abstractmethod
    def agreement(self) -> tuple[float, float]:
        """Return the correlation of labels with predictions that saw none of them; how many values they count as."""

    def probability(self, blend: Blend = NEW) -> float:
        """Return the probability that the new predictions, or a blend, are better than the initial ones."""
        gain = self.gain(blend)
        return probability_of_gain(gain, self.base.promise, wrong=wrong_before(gain, self.n_used))

    def guarded(self) -> tuple[Blend, float, float]:
        """Return what may come back, the probability of a gain, and that of labels which belong to the items."""
        probability, confirmed = self.probability(), self.confirmation()
        label_free = weight_of(self.probability(LABEL_FREE), self.base.promise) if self.base.moves else 0.0
        return blend_of(weight_of(probability, self.base.promise), label_free, confirmed), probability, confirmed

    def confirmation(self) -> float:
        """Return the probability that the labels belong to the items."""
        return confirmation(*self.agreement(), 1 - _correlation(self.fused.g, self._label_free()))

    def uncertainty(self) -> Array:
        """Return the standard deviation of a label of each item; without values, in the units of the predictions."""
        return np.sqrt(self.fused.belief.variances() + self.fused.noise) * self._unit()

    def expected(self) -> Array | None:
        """Return the label that each item is expected to get, where the predictions are on another scale."""
        return None

    def left_out_errors(self, blend: Blend) -> Array | None:
        """Return absolute errors of values left out, in units of their uncertainty; None for other labels."""
        return None

    def suggest(self) -> Positions:
        """Return the items (or pairs) to label next."""
        return suggest_items(self.fused.belief, self.fused.noise, self.fused.rows)

    def _unit(self) -> float:
        """Return what one deviation of the labels is in the units of the uncertainty."""
        return float(self.prepared.scale[0] / self.fused.g.std())

    def _label_free(self) -> Array:
        """Return the label-free answer in the space of the process's predictions."""
        return self.base.answer


@dataclass(frozen=True, eq=False)
class ScoreAnswer(Answer):
    """Scores, whose order alone counts."""

    def columns(self, blend: Blend) -> Array:
        """Return scores."""
        return unit(blend.of(unit(self.fused.g), self.base.f, unit(self.base.careful)))

    def _pair_gain(self, blend: Blend, first: Positions, second: Positions, new: Array) -> Gain:
        """Return the gain in pairwise accuracy; ``new`` are differences that the process predicts within pairs."""
        f, label_free = (column[self.fused.rows, 0] for column in (self.base.f, unit(self.base.careful)))
        before = f[first] - f[second]
        after = blend.of(new / self.fused.g.std(), before, label_free[first] - label_free[second])
        return pair_gain(before, after, first, second, len(f))


@dataclass(frozen=True, eq=False)
class RankingAnswer(ScoreAnswer):
    """Scores from values; ``values`` are the labels."""

    values: Array

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in pairwise accuracy, of pairs both of whose labels were left out."""
        first, second = np.nonzero(self.values[:, None] > self.values)
        return self._pair_gain(blend, first, second, self.fused.differences[first, second])

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of values with predictions, each without its label."""
        return _correlation(self.fused.held_out[:, 0], self.values), len(self.values)

    def expected(self) -> Array:
        """Return what the process expects, in the units of the labels."""
        return self.fused.g[:, 0] * self.values.std() + self.values.mean()

    def left_out_errors(self, blend: Blend) -> Array:
        """Return the errors of the process; scores have no units in which those of a blend could be told."""
        z = (self.values - self.values.mean()) / self.values.std()
        return np.abs(self.fused.held_out[:, 0] - z) / self.fused.left_out_deviations()

    def _unit(self) -> float:
        return float(self.values.std())


@dataclass(frozen=True, eq=False)
class RegressionAnswer(Answer):
    """Values from values, in the labels' units."""

    values: Array

    def columns(self, blend: Blend) -> Array:
        """Return values."""
        g = self.fused.g[:, 0] * self.values.std() + self.values.mean()
        values = blend.of(g, self._in_units(self.base.f), self._in_units(self.base.careful))
        return from_values(self.prepared, values[:, None])

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in R², each label left out in turn."""
        f = self._in_units(self.base.f)[self.fused.rows]
        before, after = (1 - (one - self.values) ** 2 / self.values.var() for one in (f, self._held_out(blend)))
        return mean_gain(before, after)

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of values with predictions, each without its label."""
        return _correlation(self.fused.held_out[:, 0], self.values), len(self.values)

    def left_out_errors(self, blend: Blend) -> Array:
        """Return the errors of what comes back."""
        return np.abs(self._held_out(blend) - self.values) / (self.fused.left_out_deviations() * self._unit())

    def probability(self, blend: Blend = NEW) -> float:
        """Return the probability that the new values, or a blend, have a smaller squared error."""
        return probability_of_gain(self.gain(blend).of_error(), self.base.promise, OF_ERRORS)

    def _held_out(self, blend: Blend) -> Array:
        """Return values of the labelled items, each without its label."""
        g = self.fused.held_out[:, 0] * self.values.std() + self.values.mean()
        f, label_free = (self._in_units(column)[self.fused.rows] for column in (self.base.f, self.base.careful))
        return blend.of(g, f, label_free)

    def _in_units(self, columns: Array) -> Array:
        return columns[:, 0] * self.prepared.scale[0] + self.prepared.shift[0]

    def _unit(self) -> float:
        return float(self.values.std())


@dataclass(frozen=True, eq=False)
class ComparisonAnswer(ScoreAnswer):
    """Scores from comparisons, numbered within the compared items."""

    higher: Positions
    lower: Positions

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in pairwise accuracy, of pairs neither of whose items was seen in any comparison."""
        first, second = self.higher[self.fused.judged], self.lower[self.fused.judged]
        return self._pair_gain(blend, first, second, self.fused.differences)

    def agreement(self) -> tuple[float, float]:
        """Return Pearson's correlation for the share of right comparisons (Greiner), and as how many values they count.

        Comparisons of the same item are not independent, so that there are at most as many as items. The share of right
        ones among k has variance 1 / 4k by chance, and so arctanh of that correlation, sin(pi (share - 1/2)), has
        pi^2 / 4k: that of 4k / pi^2 + 3 values, see `tupi.methods.auto.guard.confirmation`.
        """
        right = np.mean(0.5 * (1 + np.sign(self.fused.differences)))
        k = min(len(self.fused.judged), len(self.fused.rows))
        return float(np.sin(np.pi * (right - 0.5))), 4 * k / np.pi**2 + 3

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
    prior : ndarray of shape (n, c)
        Label-free probabilities, in deviations of the labels.
    """

    classes: Positions
    frequency: Array
    prior: Array

    def columns(self, blend: Blend) -> Array:
        """Return class scores: centred logarithms of probabilities, or scores in the input's units."""
        return blend.of(self._columns(self.fused.g), self.base.f, self.base.careful)

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of indicators of the classes with predictions, each without its label."""
        indicators = np.eye(len(self.frequency))[self.classes] - self.frequency
        return _correlation(self._deviation() * self.fused.held_out, indicators), len(self.classes)

    def gain(self, blend: Blend) -> Gain:
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
            for one in (old, blend.of(new, old, self.base.careful[rows]))
        )
        return mean_gain(before, after)

    def _label_free(self) -> Array:
        return self.prior

    def _deviation(self) -> Array:
        return np.sqrt(self.frequency * (1 - self.frequency))

    def _log_shares(self, z: Array) -> Array:
        return np.log(np.maximum(self.frequency + self._deviation() * z, LEAST_SHARE))

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


def _correlation(first: Array, second: Array) -> float:
    """Return the correlation of all entries; 0 where one of them is constant."""
    first, second = (one.ravel() - one.mean() for one in (first, second))
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else 0.0


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
        prior = (chances - frequency) / unit_share
        fused = fit_values(base, prepared, rows, z, prior, CLASS_SHIFT)
        return ClassAnswer(prepared, base, fused, len(values), values.astype(np.int64), frequency, prior)
    z = ((values - values.mean()) / values.std())[:, None]
    kind = RegressionAnswer if prepared.problem.task == "regression" else RankingAnswer
    fused = with_expert(base, fit_values(base, prepared, rows, z), z)
    return kind(prepared, base, fused, len(values), values)


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
