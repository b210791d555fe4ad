"""What the Gaussian process says, by kind of label: new columns and their gain.

New predictions, initial ones and the label-free answer are blended: as scores of equal deviation for ranking, as values
for regression, as logarithms of probabilities for classification.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Kept
from tupi.inputs.groups import Relative
from tupi.judging.evidence import Gain, mean_gain, pair_gain
from tupi.methods.auto.fused import Fused, answered, answered_again, deviations, in_units, mixed, told
from tupi.methods.auto.guard import (
    ENOUGH_OF_FREE,
    LEAST_OF_FREE,
    OF_ERRORS,
    OF_ORDER,
    OF_VALUES,
    Blend,
    Doubt,
    blend_of,
    confirmation,
    odds_of_views,
    probability_of_gain,
    rising,
    share_of_new,
    weight_of,
    wrong_before,
)
from tupi.methods.auto.items import Scale, standardised, units_of
from tupi.methods.auto.labelfree import LabelFree, unit

NEW = Blend(1.0, 0.0, 0.0)  # what the process says, as it is
INITIAL, LABEL_FREE = Blend(0.0, 1.0, 0.0), Blend(0.0, 0.0, 1.0)
LABELS_OF_SPREAD = 5.0  # as how many labels it counts that the process knows how large its errors are
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answer(ABC):
    """The process, and all that is needed to judge what it says.

    Attributes
    ----------
    problem : LabelFree
        The problem without labels.
    scale : Scale
        What predictions are.
    fused : Fused
        The process.
    n_used : int
        How many labels it was fitted to.
    rows : ndarray of int
        The labelled items that it was fitted to, numbered as in the problem's home.
    """

    doubt: ClassVar[Doubt] = OF_ORDER
    problem: LabelFree
    scale: Scale
    fused: Fused
    n_used: int
    rows: Positions

    def columns(self, blend: Blend) -> Kept:
        """Return new columns, standardised, with the blocks."""
        made = {"coefficients": self.coefficients(blend)}
        return self.problem.home.each(mixed, self.problem.base, self.answers, **made)

    def coefficients(self, blend: Blend) -> Array:
        """Return how columns are made of [1, base columns, g, mean function]; those of several classes are not."""
        raise NotImplementedError

    @abstractmethod
    def gain(self, blend: Blend) -> Gain:
        """Return the score before and after, by labels that were left out."""

    @abstractmethod
    def agreement(self) -> tuple[float, float]:
        """Return the correlation of labels with predictions that saw none of them; how many values they count as."""

    @cached_property
    def answers(self) -> Kept:
        """What the process says of all items, see `answered`; variances, which take longer, are left out."""
        return self._answered(variances=False)

    def _answered(self, variances: bool) -> Kept:
        problem = self.problem
        near = [] if problem.near is None else [problem.near]
        common: dict[str, Any] = {"fused": self.fused, "variances": variances}
        if problem.views is not None:
            return problem.home.each(answered_again, problem.base, problem.views, *near, **common)
        return problem.home.each(answered, problem.base, *near, layout=problem.layout, **common)

    @cached_property
    def moments(self) -> Array:
        """Means of products of [1, base columns, g, mean function] over all items, for each output."""
        return self.problem.home.summed(told, self.problem.base, self.answers) / self.problem.home.n

    def of_g(self) -> Array:
        """Return the coefficients of g among [1, base columns, g, mean function]."""
        c, k, _ = self.moments.shape
        return np.tile(np.eye(k)[-2], (c, 1))

    def wide(self, coefficients: Array) -> Array:
        """Return coefficients of [1, base columns] as such of [1, base columns, g, mean function]."""
        return np.pad(coefficients, ((0, 0), (0, 2)))

    def at_labels(self, coefficients: Array) -> Array:
        """Return a column that is made of [1, base columns] at the labelled items, shape (m, c)."""
        return np.einsum("ck,nck->nc", coefficients, self.fused.labelled.base)

    def spread(self) -> float:
        """Return the deviation of g over all items and outputs."""
        mean, square = self.moments[:, 0, -2].mean(), self.moments[:, -2, -2].mean()
        return float(np.sqrt(max(square - mean**2, 1e-24)))

    def probability(self, blend: Blend = NEW) -> float:
        """Return the probability that the new predictions, or a blend, are better than the initial ones."""
        gain = self.gain(blend)
        return probability_of_gain(gain, self.problem.promise, wrong=wrong_before(gain, self.n_used))

    def guarded(self) -> tuple[Blend, float, float]:
        """Return what may come back, the probability of a gain, and that of labels which belong to the items."""
        probability, confirmed = self.probability(), self.confirmation()
        label_free = self.share(LABEL_FREE, self.probability(LABEL_FREE)) if self.problem.moves else 0.0
        return blend_of(self.share(NEW, probability), label_free, confirmed), probability, confirmed

    def share(self, blend: Blend, probability: float) -> float:
        """Return how much of a blend to take in place of the initial predictions, given the probability of a gain.

        That few labels teach little, and that strong predictors have more to lose, is no reason against the label-free
        answer, which was taught by none and takes little from strong predictors.
        """
        if blend is LABEL_FREE:
            return rising(probability, LEAST_OF_FREE, ENOUGH_OF_FREE)
        wrong, size = wrong_before(self.gain(blend), self.n_used), self.n_used
        return weight_of(probability, self.problem.promise, wrong, size, self.views)

    def confirmation(self) -> float:
        """Return the probability that the labels belong to the items."""
        among = self.moments.mean(axis=0)
        cross = among[-2, -1] - among[0, -2] * among[0, -1]
        size = np.sqrt(np.prod([max(among[k, k] - among[0, k] ** 2, 0.0) for k in (-2, -1)]))
        change = 1 - (cross / size if size > 1e-12 else 0.0)
        for_views = self.fused.for_views or 0.0
        return confirmation(*self.agreement(), change / self.honesty(), self.n_used, self.doubt, for_views)

    @property
    def views(self) -> float | None:
        """The log odds that views explain something beyond the predictions; None where nothing tells."""
        return odds_of_views(self.fused.for_views, self.problem.promise)

    @property
    def n_sure(self) -> float:
        """As how many labels of equal weight those of values count."""
        weights = self.fused.weights
        return float(self.n_used if weights is None else weights.sum() ** 2 / (weights**2).sum())

    def honesty(self) -> float:
        """Return how much of what labels ask for the process followed, as far as it took some of them for wrong."""
        return 1.0

    def _spread_of_errors(self, z: Array) -> float:
        """Return by how much errors of labels left out exceed what the process says, as far as so many labels tell."""
        errors = (self.fused.left_out.held_out[:, 0] - z) / self.fused.left_out_deviations()
        square = float(errors @ errors + LABELS_OF_SPREAD) / (len(z) + LABELS_OF_SPREAD)
        return max(square, 1.0) ** 0.5

    def uncertainty(self) -> Kept:
        """Return the standard deviation of a label of each item; without values, in the units of the predictions."""
        answers = self._answered(variances=True)
        return self.problem.home.each(deviations, answers, noise=self.fused.noise, unit=self._unit())

    def expected(self) -> Kept | None:
        """Return the label that each item is expected to get, where the predictions are on another scale."""
        return None

    def rater_errors(self) -> dict[str, float] | None:
        """Return the share of wrong answers of each rater; None for values, which `tupi.inputs.raters` weighs."""
        return None

    def left_out_errors(self, blend: Blend) -> Array | None:
        """Return absolute errors of values left out, in units of their uncertainty; None for other labels."""
        return None

    def left_out(self, blend: Blend) -> Array | None:
        """Return predictions of the labelled items, each without its label, shape (m, c); None for comparisons."""
        return None

    def left_out_pairs(self, blend: Blend) -> tuple[Positions, Positions, Array] | None:
        """Return pairs of labelled items and predicted differences, without the labels of both; None for classes."""
        return None

    def _unit(self) -> float:
        """Return what one deviation of the labels is in the units of the uncertainty."""
        return float(self.scale.scale[0] / self.spread())


@dataclass(frozen=True, eq=False)
class OrderAnswer(Answer):
    """Scores, whose order alone counts, and which pairs judge whose labels were left out."""

    def coefficients(self, blend: Blend) -> Array:
        """Return how scores are made of [1, base columns, g, mean function]."""
        g, f, careful = (
            unit(one, self.moments)
            for one in (self.of_g(), self.wide(self.problem.only(0)), self.wide(self.problem.careful))
        )
        return unit(blend.of(g, f, careful), self.moments)

    def _differences(self, blend: Blend, first: Positions, second: Positions, new: Array) -> tuple[Array, Array]:
        """Return differences within pairs, before and after; ``new`` are those that the process predicts."""
        problem = self.problem
        f, label_free = (self.at_labels(problem.unit(one))[:, 0] for one in (problem.only(0), problem.careful))
        before = f[first] - f[second]
        return before, blend.of(new / self.spread(), before, label_free[first] - label_free[second])

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in pairwise accuracy."""
        first, second, new = self._pairs()
        before, after = self._differences(blend, first, second, new)
        groups = None if self.fused.groups is None else self.fused.groups[first]
        return pair_gain(before, after, first, second, len(self.fused.labelled.base), groups, self._sure(first, second))

    def _sure(self, first: Positions, second: Positions) -> Array | None:
        """Return how much each pair tells; None if all tell alike. A difference is as sure as its two values."""
        sure = self.fused.weights
        return None if sure is None else sure[first] * sure[second] / (sure[first] + sure[second])

    def left_out_pairs(self, blend: Blend) -> tuple[Positions, Positions, Array]:
        """Return the pairs that judge."""
        first, second, new = self._pairs()
        return first, second, self._differences(blend, first, second, new)[1]

    @abstractmethod
    def _pairs(self) -> tuple[Positions, Positions, Array]:
        """Return pairs whose first item is higher, and the differences that the process predicts without both."""


@dataclass(frozen=True, eq=False)
class RankingAnswer(OrderAnswer):
    """Scores from values.

    Attributes
    ----------
    values, learned : ndarray of shape (m,)
        The labels, and what was learned of them, see `tupi.methods.auto.fitting.scales_of`.
    """

    values: Array
    learned: Array

    @cached_property
    def units(self) -> tuple[float, float]:
        """Slope and height of the line by which what is learned predicts values."""
        level, weights = units_of(self.values, self.fused.weights)[0], self.fused.weights
        return float(np.average(self.learned * (self.values - level), weights=weights)), level

    def _pairs(self) -> tuple[Positions, Positions, Array]:
        """Return all pairs of different labels."""
        above = self.values[:, None] > self.values
        if self.fused.groups is not None:
            above &= np.equal.outer(self.fused.groups, self.fused.groups)
        first, second = np.nonzero(above)
        return first, second, self.fused.left_out.differences[first, second]

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of values with predictions, each without its label; if there are groups, within."""
        held_out, groups = self.fused.left_out.held_out[:, 0], self.fused.groups
        if groups is None and len(np.unique(self.values)) == 2:
            return agreement_of_two(self.values, self.fused.left_out.differences, self.n_sure)
        if groups is None:
            return correlation(held_out, self.values, self.fused.weights), self.n_sure
        said, known = (Relative(one, groups)[:] for one in (held_out, self.values))
        return correlation(said, known, self.fused.weights), self.n_sure * (1 - groups.max() / len(groups))

    def expected(self) -> Kept | None:
        """Return what the process expects, in the units of the labels; nothing if these are relative to groups."""
        if self.scale.groups is not None and not self.scale.groups.levels:
            return None
        return self.problem.home.each(in_units, self.answers, scale=self.units[0], shift=self.units[1])

    def left_out_errors(self, blend: Blend) -> Array:
        """Return the errors of the process; scores have no units in which those of a blend could be told."""
        slope, height = self.units
        errors = np.abs(slope * self.fused.left_out.held_out[:, 0] + height - self.values)
        return errors / (self.fused.left_out_deviations() * self._unit())

    def left_out(self, blend: Blend) -> Array:
        """Return scores, in the input's scale as all others."""
        f, label_free = (self.at_labels(self.problem.unit(one)) for one in (self.problem.only(0), self.problem.careful))
        return (
            blend.of(self.fused.left_out.held_out / self.spread(), f, label_free) * self.scale.scale + self.scale.shift
        )

    def _unit(self) -> float:
        return self.units[0] * self._spread_of_errors(self.learned)


@dataclass(frozen=True, eq=False)
class RegressionAnswer(Answer):
    """Values from values, in the labels' units."""

    doubt: ClassVar[Doubt] = OF_VALUES
    values: Array

    def coefficients(self, blend: Blend) -> Array:
        """Return how values are made of [1, base columns, g, mean function]."""
        level, deviation = units_of(self.values, self.fused.weights)
        g = self.of_g() * (deviation / self.scale.scale)[:, None]
        g[:, 0] = (level - self.scale.shift) / self.scale.scale
        return blend.of(g, self.wide(self.problem.only(0)), self.wide(self.problem.careful))

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in R², each label left out in turn."""
        f = self._in_units(self.problem.only(0))
        before, after = (1 - ((one - self.values) / self._unit()) ** 2 for one in (f, self._held_out(blend)))
        return mean_gain(before, after, self.fused.weights)

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of values with predictions, each without its label."""
        return correlation(self.fused.left_out.held_out[:, 0], self.values, self.fused.weights), self.n_sure

    def left_out_errors(self, blend: Blend) -> Array:
        """Return the errors of what comes back."""
        return np.abs(self._held_out(blend) - self.values) / (self.fused.left_out_deviations() * self._unit())

    def left_out(self, blend: Blend) -> Array:
        """Return values."""
        return self._held_out(blend)[:, None]

    def probability(self, blend: Blend = NEW) -> float:
        """Return the probability that the new values, or a blend, have a smaller squared error."""
        return probability_of_gain(self.gain(blend).of_error(), self.problem.promise, OF_ERRORS)

    def share(self, blend: Blend, probability: float) -> float:
        """Return how much of a blend leaves the least squared error, as far as labels left out tell."""
        sure = 1.0 if self.fused.weights is None else np.sqrt(self.fused.weights)  # by so much an error counts more
        before, after = (
            sure * (self.values - one) / self._unit()
            for one in (self._in_units(self.problem.only(0)), self._held_out(blend))
        )
        return share_of_new(before, after, self.problem.promise, probability, views=self.views)

    def _held_out(self, blend: Blend) -> Array:
        """Return values of the labelled items, each without its label."""
        level, deviation = units_of(self.values, self.fused.weights)
        g = self.fused.left_out.held_out[:, 0] * deviation + level
        return blend.of(g, self._in_units(self.problem.only(0)), self._in_units(self.problem.careful))

    def _in_units(self, coefficients: Array) -> Array:
        return self.at_labels(coefficients)[:, 0] * self.scale.scale[0] + self.scale.shift[0]

    def _unit(self) -> float:
        z = standardised(self.values, self.fused.weights)
        return units_of(self.values, self.fused.weights)[1] * self._spread_of_errors(z)


def agreement_of_two(values: Array, differences: Array, sure: float) -> tuple[float, float]:
    """Return Pearson's correlation for the area under the ROC curve (Greiner), and as how many values labels count.

    Both labels of a pair were left out. Single ones would not do: without a high one there are fewer high ones, so that
    these meet lower predictions than others do where nothing else is known. By chance the area has the variance
    (m + 1) / 12 m0 m1 (Mann and Whitney), and arctanh of sin(pi (area - 1/2)) pi^2 times as much.

    Parameters
    ----------
    values : ndarray of shape (m,)
        Labels of two kinds.
    differences : ndarray of shape (m, m)
        Predicted differences, each without both labels.
    sure : float
        As how many labels of equal weight these count.
    """
    first, second = np.nonzero(values[:, None] > values)
    area = np.mean(0.5 * (1 + np.sign(differences[first, second])))
    size = 12 * len(first) / (np.pi**2 * (len(values) + 1)) * sure / len(values)
    return float(np.sin(np.pi * (area - 0.5))), size + 3


def correlation(first: Array, second: Array, weights: Array | None = None) -> float:
    """Return the correlation of all entries, which may have weights; 0 where one of them is constant."""
    sure = np.ones(first.size) if weights is None else weights
    first, second = (np.sqrt(sure) * (one.ravel() - np.average(one, weights=weights)) for one in (first, second))
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else 0.0
