"""What the Gaussian process says of classes.

Of several: shares of them, sharpened by labels that were left out. Of two: one column of log odds, of which the other
class is the mirror image. There labels are zeros and ones, and the process predicts them like values. Its scores become
log odds by a line, log odds = a + b g, whose a and b make the labels that were left out most likely. Before any label,
a line is expected that says near the middle what the process says of probabilities: with a share p of ones, a =
logit(p) and b = (p (1 - p))^-1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from tupi.blocks.home import Kept, Rows
from tupi.inputs.problem import SMALLEST_PROBABILITY
from tupi.judging.conformal import class_scores
from tupi.judging.evidence import Gain, mean_gain, pair_gain
from tupi.methods.auto.answers import NEW, Answer, agreement_of_two, correlation
from tupi.methods.auto.guard import OF_CLASSES, Blend, Doubt, probability_of_gain, share_of_new, wrong_before
from tupi.methods.auto.items import Scale, units_of
from tupi.methods.auto.kernels import Chances
from tupi.methods.auto.labelfree import LabelFree, with_one
from tupi.methods.auto.surer import spread_of

SHARPNESS_GRID = tuple(2.0 ** (k / 2) for k in range(9))  # powers to which class shares may be raised
POWERS = tuple(2.0 ** (k / 4) for k in range(-12, 13))  # the same for those that came in
SHARPNESS_SD = 0.5  # expected size of the power's logarithm: a handful of labels must not make up certainty
LEAST_SHARE = 0.01  # of a class: regression of zeros and ones may say less than nothing
CLASS_SHIFT = 0.02  # prior variance of a class's shift: how frequent classes are is known from the predictions
HEIGHT_SD, LOG_SLOPE_SD = 1.0, 0.5  # how far a and log b may lie from what is expected
SLOPE_BOUND = 3.0  # deviations of log b that are searched
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassColumns:
    """From what the process says of classes to columns: shares, raised to a power, as logarithms or as scores.

    Attributes
    ----------
    frequency, unit : ndarray of shape (c,)
        Expected shares of the classes, and deviations of indicators of them.
    sharpness : float
        The power.
    scale : Scale
        What predictions are.
    stretch : tuple of float
        For class scores that are no probabilities: what shares are multiplied by, and what is added then.
    """

    frequency: Array
    unit: Array
    sharpness: float
    scale: Scale
    stretch: tuple[float, float]

    def log_shares(self, z: Array) -> Array:
        """Return logarithms of the shares that the process says, before they are raised."""
        return np.log(np.maximum(self.frequency + self.unit * z, LEAST_SHARE))

    def shares(self, z: Array) -> Array:
        """Return shares of the classes, rows of which sum to one."""
        return softmax(self.sharpness * self.log_shares(z), axis=1)

    def __call__(self, z: Array) -> Array:
        """Return columns, standardised."""
        shares = self.shares(z)
        if self.scale.probabilities:
            logs = np.log(np.maximum(shares, SMALLEST_PROBABILITY))
            values = logs - logs.mean(axis=1, keepdims=True)
        else:  # all classes are moved and stretched alike: the largest share stays the largest score
            values = shares * self.stretch[0] + self.stretch[1]
        return (values - self.scale.shift) / self.scale.scale


def class_columns(
    rows: Rows, base: Array, answers: Array, *, made: ClassColumns, blend: Blend, careful: Array
) -> Array:
    """Return blended columns of classes."""
    c = base.shape[1]
    return blend.of(made(answers[:, :c]), base[:, :, 0], np.einsum("ck,nck->nc", careful, with_one(base)))


def share_sums(rows: Rows, answers: Array, *, made: ClassColumns) -> Array:
    """Return the sums of all shares and of their squares."""
    shares = made.shares(answers[:, : len(made.frequency)])
    return np.array([shares.sum(), (shares**2).sum()])


@dataclass(frozen=True, eq=False)
class ClassAnswer(Answer):
    """Class scores from classes: one-vs-rest regression of indicators, around the label-free probabilities.

    Shares below `LEAST_SHARE` are raised to it, and all to the power under which the labels left out are most likely.

    Attributes
    ----------
    classes : ndarray of int
        The labels.
    chances : Chances
        Label-free probabilities.
    """

    doubt: ClassVar[Doubt] = OF_CLASSES
    classes: Positions
    chances: Chances

    def columns(self, blend: Blend) -> Kept:
        """Return class scores: centred logarithms of probabilities, or scores in the input's units."""
        problem = self.problem
        common = {"made": self._made, "blend": blend, "careful": problem.careful}
        return problem.home.each(class_columns, problem.base, self.answers, **common)

    def agreement(self) -> tuple[float, float]:
        """Return the correlation of indicators of the classes with predictions, each without its label, and its size.

        Labels of many classes say more than values do. If labels were shuffled, the sum of products of two centred
        tables A and B would have the variance tr(AᵀA BᵀB) / (m - 1). So their correlation varies as that of so many
        values does: (m - 1) tr(AᵀA) tr(BᵀB) / tr(AᵀA BᵀB), which is up to c - 1 times as many as there are labels.
        """
        indicators = np.eye(len(self.chances.unit))[self.classes] - self.chances.frequency
        said = self.chances.unit * self.fused.left_out.held_out
        first, second = (np.cov(one, rowvar=False) for one in (said, indicators))
        together = float(np.sum(first * second))
        size = np.trace(first) * np.trace(second) / together if together > 0 else 1.0
        return correlation(said, indicators), 1 + (self.n_used - 1) * float(size)

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in accuracy, each label left out in turn."""
        old = self.at_labels(self.problem.only(0)) * self.scale.scale + self.scale.shift
        before, after = ((one.argmax(axis=1) == self.classes).astype(np.float64) for one in (old, self.left_out(blend)))
        return mean_gain(before, after)

    def left_out(self, blend: Blend) -> Array:
        """Return probabilities of classes, or scores."""
        old, careful = (self.at_labels(one) for one in (self.problem.only(0), self.problem.careful))
        columns = blend.of(self._made(self.fused.left_out.held_out), old, careful)
        values = columns * self.scale.scale + self.scale.shift
        return np.asarray(softmax(values, axis=1)) if self.scale.probabilities else values

    def share(self, blend: Blend, probability: float) -> float:
        """Return how much of a blend makes labels that were left out most likely; of mere scores, see `Answer.share`.

        As for two classes, initial probabilities are compared after they became as sure as the labels say, as the new
        ones are: that they were too sure is no reason to take anything new. Classes may become likelier and yet be
        right less often, so that the probability of a gain in accuracy has a say, too.
        """
        if not self.scale.probabilities:
            return super().share(blend, probability)
        before, careful = (self._mended(one) for one in (self.problem.only(0), self.problem.careful))
        new = np.log(np.maximum(self.left_out(NEW), SMALLEST_PROBABILITY))
        after = blend.of(new, before, careful)
        return probability * share_of_new(before, after, self.problem.promise, probability, self.classes)

    def _mended(self, coefficients: Array) -> Array:
        """Return logarithms of probabilities at labelled items, raised to the power that suits the labels."""
        logs = self.at_labels(coefficients) * self.scale.scale + self.scale.shift
        return np.asarray(log_softmax(best_power(logs, self.classes, POWERS) * logs, axis=1))

    def left_out_errors(self, blend: Blend) -> Array:
        """Return one minus the probability of each true class, or how far its score is below the highest."""
        scores = class_scores(self.left_out(blend), self.scale.probabilities)
        return scores[np.arange(len(self.classes)), self.classes]

    @cached_property
    def _made(self) -> ClassColumns:
        made = ClassColumns(self.chances.frequency, self.chances.unit, 1.0, self.scale, (1.0, 0.0))
        sharpness = best_power(made.log_shares(self.fused.left_out.held_out), self.classes, SHARPNESS_GRID)
        made = ClassColumns(made.frequency, made.unit, sharpness, self.scale, (1.0, 0.0))
        if self.scale.probabilities:
            return made
        home, c = self.problem.home, len(made.unit)
        mean, square = home.summed(share_sums, self.answers, made=made) / (home.n * c)
        deviation = np.sqrt(max(square - mean**2, 0.0))
        initial, spread = spread_of(self.problem.only(0), self.problem, self.scale)
        stretch = spread / deviation if deviation > 0 else 1.0
        return ClassColumns(made.frequency, made.unit, made.sharpness, self.scale, (stretch, initial - mean * stretch))

    def _unit(self) -> float:
        return float(np.sqrt(np.mean(self.chances.unit**2)))


def best_power(logs: Array, classes: Positions, powers: tuple[float, ...]) -> float:
    """Return to which power probabilities are raised so that labels are most likely; few do not make up certainty."""
    each = np.arange(len(classes))
    likely = [
        log_softmax(power * logs, axis=1)[each, classes].sum() - 0.5 * (np.log(power) / SHARPNESS_SD) ** 2
        for power in powers
    ]
    return powers[int(np.argmax(likely))]


def label_free_chances(base: LabelFree, scale: Scale) -> Chances:
    """Return class probabilities of the label-free answer; other scores are taken as logarithms of deviation 1."""
    by, add = scale.scale, scale.shift
    if not scale.probabilities:
        mean, deviation = spread_of(base.answer, base, scale)
        by, add = by / max(deviation, 1e-12), (add - mean) / max(deviation, 1e-12)
    total = base.home.summed(_chances, base.base, answer=base.answer, by=by, add=add)
    frequency = np.clip(total / base.home.n, LEAST_SHARE, 1 - LEAST_SHARE)
    return Chances(base.answer, by, add, frequency, np.sqrt(frequency * (1 - frequency)))


def _chances(rows: Rows, base: Array, *, answer: Array, by: Array, add: Array) -> Array:
    """Return sums of label-free class probabilities."""
    return np.asarray(softmax(np.einsum("ck,nck->nc", answer, with_one(base)) * by + add, axis=1).sum(axis=0))


@dataclass(frozen=True, eq=False)
class BinaryAnswer(Answer):
    """Log odds from zeros and ones; pairs of a one and a zero judge them, which is the area under the ROC curve."""

    values: Array

    def coefficients(self, blend: Blend) -> Array:
        """Return how half the log odds of the second class are made of [1, base columns, g, mean function]."""
        a, b = self._line
        g = self.of_g() * (0.5 * b / self.scale.scale)[:, None]
        g[:, 0] = (0.5 * a - self.scale.shift) / self.scale.scale
        return blend.of(g, self.wide(self.problem.only(0)), self.wide(self.problem.careful))

    def left_out(self, blend: Blend) -> Array:
        """Return probabilities of both classes."""
        a, b = self._line
        g = (0.5 * (a + b * self.fused.left_out.held_out) - self.scale.shift) / self.scale.scale
        f, careful = (self.at_labels(one) for one in (self.problem.only(0), self.problem.careful))
        return self.scale.predictions(blend.of(g, f, careful))

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in accuracy, each label left out in turn."""
        before = self.scale.predictions(self.at_labels(self.problem.only(0)))
        return mean_gain(*((one.argmax(axis=1) == self.values).astype(float) for one in (before, self.left_out(blend))))

    def left_out_errors(self, blend: Blend) -> Array:
        """Return one minus the probability of each true class."""
        return class_scores(self.left_out(blend), True)[np.arange(self.n_used), self.values.astype(np.int64)]

    def probability(self, blend: Blend = NEW) -> float:
        """Return the probability that the new log odds, or a blend, order ones and zeros better.

        Accuracy sees only who crosses the middle, and so needs many more labels than pairs do.
        """
        gain = self.gain_in_area(blend)
        return probability_of_gain(gain, self.problem.promise, wrong=wrong_before(gain, self.n_used))

    def gain_in_area(self, blend: Blend) -> Gain:
        """Return the gain in pairs of a one and a zero whose labels were both left out."""
        first, second = np.nonzero(self.values[:, None] > self.values)
        new = self._line[1] * self.fused.left_out.differences[first, second]
        f, careful = (
            2 * self.scale.scale[0] * self.at_labels(one)[:, 0] for one in (self.problem.only(0), self.problem.careful)
        )
        before = f[first] - f[second]
        return pair_gain(before, blend.of(new, before, careful[first] - careful[second]), first, second, len(f))

    def share(self, blend: Blend, probability: float) -> float:
        """Return how much of a blend makes labels that were left out most likely.

        What counts is whether the new log odds tell more, and not that the initial ones were all too high or low: these
        are compared after a line has mended that, as it has the new ones.
        """
        a, b = self._line
        before, careful = (self._mended(one) for one in (self.problem.only(0), self.problem.careful))
        after = blend.of(a + b * self.fused.left_out.held_out[:, 0], before, careful)
        old, new = (np.column_stack([np.zeros(len(one)), one]) for one in (before, after))
        return share_of_new(old, new, self.problem.promise, probability, self.values.astype(np.int64))

    def agreement(self) -> tuple[float, float]:
        """Return the correlation that the area under the ROC curve speaks for; as how many values labels count."""
        return agreement_of_two(self.values, self.fused.left_out.differences, self.n_sure)

    def _unit(self) -> float:
        return units_of(self.values, self.fused.weights)[1]

    def _mended(self, coefficients: Array) -> Array:
        """Return log odds that are made of [1, base columns] at labelled items, on the line that suits the labels."""
        odds = 2 * (self.at_labels(coefficients) * self.scale.scale + self.scale.shift)[:, 0]
        a, b = fitted_line(odds, self.values, 0.0, 1.0)
        return a + b * odds

    @cached_property
    def _line(self) -> tuple[float, float]:
        """A and b."""
        share, deviation = units_of(self.values, self.fused.weights)
        return fitted_line(self.fused.left_out.held_out[:, 0], self.values, logit(share), 1 / deviation)


def fitted_line(g: Array, ones: Array, height: float, slope: float) -> tuple[float, float]:
    """Return the a and b of log odds a + b g that are most likely given zeros and ones.

    Parameters
    ----------
    g, ones : ndarray of shape (m,)
        Scores, and the zeros and ones that they did not see.
    height, slope : float
        What is expected of a and b, see the module.
    """

    def loss(theta: Array) -> tuple[float, Array]:
        b = slope * np.exp(LOG_SLOPE_SD * theta[1])
        odds = height + HEIGHT_SD * theta[0] + b * g
        value = np.logaddexp(0.0, odds).sum() - ones @ odds + 0.5 * theta @ theta
        wrong = expit(odds) - ones
        return value, np.array([HEIGHT_SD * wrong.sum(), LOG_SLOPE_SD * b * (wrong @ g)]) + theta

    bounds = [(None, None), (-SLOPE_BOUND, SLOPE_BOUND)]
    theta = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(height + HEIGHT_SD * theta[0]), float(slope * np.exp(LOG_SLOPE_SD * theta[1]))


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """Columns of classes after labels; `class_columns` says what the fields are."""

    made: ClassColumns
    blend: Blend
    careful: Array

    def __call__(self, base: Array, answers: Array | None, familiar: Array) -> Array:
        """Return columns, by as much as items are familiar, and their own predictions otherwise."""
        assert answers is not None
        new = class_columns(None, base, answers, made=self.made, blend=self.blend, careful=self.careful)  # type: ignore[arg-type]
        return familiar[:, None] * new + (1 - familiar[:, None]) * base[:, :, 0]
