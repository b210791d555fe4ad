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

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from tupi.blocks.home import Kept, Rows
from tupi.inputs.problem import SMALLEST_PROBABILITY
from tupi.judging.conformal import class_scores
from tupi.judging.gain import Gain, mean_gain, pair_gain
from tupi.methods.auto.answers import NEW, Answer, correlation
from tupi.methods.auto.fused import Chances
from tupi.methods.auto.guard import Blend, probability_of_gain, share_of_new, wrong_before
from tupi.methods.auto.items import Scale
from tupi.methods.auto.labelfree import LabelFree, with_one
from tupi.methods.auto.process import units_of

SHARPNESS_GRID = tuple(2.0 ** (k / 2) for k in range(9))  # powers to which class shares may be raised
SHARPNESS_SD = 0.5  # expected size of the power's logarithm: a handful of labels must not make up certainty
LEAST_SHARE = 0.01  # of a class: regression of zeros and ones may say less than nothing
SHIFTS, LONGEST_SHIFT = 25, 1.0  # Newton's steps to the means of classes, most often four, and the longest of them
SURER, MOST_APART = 1 / 3, 16.0  # power of how much further apart classes lie, of at most so much, see `_surer`
LEAST_OF_CLASS = 6  # items that tell how a class varies
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

    def left_out_errors(self, blend: Blend) -> Array:
        """Return one minus the probability of each true class, or how far its score is below the highest."""
        scores = class_scores(self.left_out(blend), self.scale.probabilities)
        return scores[np.arange(len(self.classes)), self.classes]

    @cached_property
    def _made(self) -> ClassColumns:
        made = ClassColumns(self.chances.frequency, self.chances.unit, 1.0, self.scale, (1.0, 0.0))
        logs, each = made.log_shares(self.fused.left_out.held_out), np.arange(len(self.classes))
        likely = [
            log_softmax(s * logs, axis=1)[each, self.classes].sum() - 0.5 * (np.log(s) / SHARPNESS_SD) ** 2
            for s in SHARPNESS_GRID
        ]
        made = ClassColumns(made.frequency, made.unit, SHARPNESS_GRID[int(np.argmax(likely))], self.scale, (1.0, 0.0))
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


def spread_of(coefficients: Array, problem: LabelFree, scale: Scale) -> tuple[float, float]:
    """Return the mean and the deviation of all entries of a column that is made of base columns, as predictions."""
    mean = np.einsum("ck,ck->c", coefficients, problem.moments[:, 0])
    square = np.einsum("ck,ckl,cl->c", coefficients, problem.moments, coefficients)
    means = mean * scale.scale + scale.shift
    squares = square * scale.scale**2 + 2 * mean * scale.scale * scale.shift + scale.shift**2
    return float(means.mean()), float(np.sqrt(max(squares.mean() - means.mean() ** 2, 0.0)))


def without_labels(base: LabelFree, scale: Scale) -> Array:
    """Return how what comes back without labels is made of [1, base columns]."""
    # Averages vary less than scores. For regression f's units stay, and so do those of class scores.
    if scale.task == "ranking":
        return base.unit(base.careful)
    return as_sure_as_before(base, scale) if scale.probabilities and base.moves else base.careful


def as_sure_as_before(base: LabelFree, scale: Scale) -> Array:
    """Return the coefficients of the label-free answer, with probabilities as sure, and classes as likely, as before.

    Logarithms of probabilities that were averaged over alike items vary less, although they are nearer to the truth,
    and a class may become rarer by averaging alone. Without labels the initial probabilities say how sure to be: the
    answer's logarithms get their deviation, and a shift for each class that restores its mean; and they become surer as
    far as classes lie further apart, see `_surer`, which leaves the means of two classes as they are, and those of
    several nearly so.
    """
    coefficients = base.careful
    spreads = [spread_of(one, base, scale) for one in (base.only(0), coefficients)]
    # A column and its mirror image together have mean 0.
    before, after = (np.hypot(mean, deviation) if scale.two else deviation for mean, deviation in spreads)
    stretch, surer = before / after if after > 1e-12 else 1.0, _surer(base, coefficients, scale)
    # Of several classes, shifts that restore means of surer probabilities would change which of them is most likely.
    early, late = (surer, 1.0) if scale.two else (1.0, surer)
    stretch *= early
    shift = np.zeros(2 if scale.two else len(scale.scale))
    for _ in range(SHIFTS):
        total = base.home.summed(
            _frequencies, base.base, answer=coefficients, scale=scale, stretch=stretch, shift=shift
        )
        wanted, found, slopes = total[0], total[1], total[2:]
        # Newton's step. Shifts sum to zero: what rounding says of the direction in which nothing changes is left out.
        step = np.linalg.pinv(slopes, rcond=1e-9, hermitian=True) @ (wanted - found)
        # Where nearly all probabilities are 0 or 1 the slopes are small, and whole steps would lead away for good.
        shift = shift + step / max(1.0, np.abs(step).max() / LONGEST_SHIFT)
        if np.abs(wanted - found).max() < 1e-10 * base.home.n:
            break
    stretched = coefficients * late * stretch
    stretched[:, 0] += (late * (stretch * scale.shift + shift[-len(scale.scale) :]) - scale.shift) / scale.scale
    return stretched


def _surer(base: LabelFree, coefficients: Array, scale: Scale) -> float:
    """Return by how much the answer's logarithms may exceed the initial ones, given how far they set classes apart.

    If logarithms of probabilities are normal within classes, they are as sure as they should be when the squared
    distance between classes equals the variance within them. So of two predictions whose classes lie r times as far
    apart, measured in that variance, one may be r times as sure for the other's reasons. Classes are those that the
    answer says itself, which makes r too large, so that only its cube root is taken.
    """
    sums = base.home.summed(_within, base.base, answer=coefficients, scale=scale)
    before, after = (_apart(one) for one in sums)
    ratio = after / before if before > 1e-12 and after > 1e-12 else 1.0
    return float(np.clip(ratio, 1.0, MOST_APART) ** SURER)


def _within(rows: Rows, base: Array, *, answer: Array, scale: Scale) -> Array:
    """Return for initial and new logarithms: by new class, how many, their sums, and the sum of their squares."""
    old, new = (
        scale.both(one * scale.scale + scale.shift)
        for one in (base[:, :, 0], np.einsum("ck,nck->nc", answer, with_one(base)))
    )
    member = np.eye(new.shape[1])[new.argmax(axis=1)]
    return np.array(
        [
            np.column_stack([member.sum(axis=0), member.T @ one, member.T @ (one**2).sum(axis=1)])
            for one in (logs - logs.mean(axis=1, keepdims=True) for logs in (old, new))
        ]
    )


def _apart(sums: Array) -> float:
    """Return how far classes lie apart, in their variance: the mean of what each says of itself, over the latter."""
    used = np.flatnonzero(sums[:, 0] >= LEAST_OF_CLASS)
    counts, means = sums[used, 0], sums[used, 1:-1] / sums[used, :1]
    within = np.sum(sums[used, -1] - counts * (means**2).sum(axis=1)) / max(counts.sum(), 1.0)
    itself = means[np.arange(len(used)), used].mean() if len(used) else 0.0
    return float(itself / within) if within > 1e-12 else 0.0


def _frequencies(rows: Rows, base: Array, *, answer: Array, scale: Scale, stretch: float, shift: Array) -> Array:
    """Return sums of initial and of new probabilities, and the derivatives of the latter by the shifts, row by row."""
    old = scale.predictions(base[:, :, 0])
    logs = np.einsum("ck,nck->nc", answer, with_one(base)) * scale.scale + scale.shift
    new = softmax(stretch * scale.both(logs) + shift, axis=1)
    return np.vstack([old.sum(axis=0), new.sum(axis=0), np.diag(new.sum(axis=0)) - new.T @ new])


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
        return share_of_new(before, after, self.problem.promise, probability, self.values)

    def agreement(self) -> tuple[float, float]:
        """Return Pearson's correlation for the area under the ROC curve (Greiner), and as how many values labels count.

        Both labels of a pair were left out. Single ones would not do: without a one there are fewer ones, so that ones
        meet lower predictions than zeros do where nothing else is known. By chance the area has the variance
        (m + 1) / 12 m0 m1 (Mann and Whitney), and arctanh of sin(pi (area - 1/2)) pi^2 times as much.
        """
        first, second = np.nonzero(self.values[:, None] > self.values)
        area = np.mean(0.5 * (1 + np.sign(self.fused.left_out.differences[first, second])))
        size = 12 * len(first) / (np.pi**2 * (len(self.values) + 1)) * self.n_sure / self.n_used
        return float(np.sin(np.pi * (area - 0.5))), size + 3

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
