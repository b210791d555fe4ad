"""What the process says of two classes: one column of log odds, of which the other class is the mirror image.

Labels are zeros and ones, and the process predicts them like values. Its scores become log odds by a line, log odds =
a + b g, whose a and b make the labels that were left out most likely. Before any label, a line is expected that says
near the middle what the process says of probabilities: with a share p of ones, a = logit(p) and b = (p (1 - p))^-1/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from tupi.judging.conformal import class_scores
from tupi.judging.gain import Gain, mean_gain, pair_gain
from tupi.methods.auto.answers import NEW, ScoreAnswer
from tupi.methods.auto.guard import Blend, probability_of_gain, share_of_new, wrong_before

HEIGHT_SD, LOG_SLOPE_SD = 1.0, 0.5  # how far a and log b may lie from what is expected
SLOPE_BOUND = 3.0  # deviations of log b that are searched
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinaryAnswer(ScoreAnswer):
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
        return float(self.values.std())

    def _mended(self, coefficients: Array) -> Array:
        """Return log odds that are made of [1, base columns] at labelled items, on the line that suits the labels."""
        odds = 2 * (self.at_labels(coefficients) * self.scale.scale + self.scale.shift)[:, 0]
        a, b = fitted_line(odds, self.values, 0.0, 1.0)
        return a + b * odds

    @cached_property
    def _line(self) -> tuple[float, float]:
        """A and b."""
        share = self.values.mean()
        return fitted_line(self.fused.left_out.held_out[:, 0], self.values, logit(share), 1 / self.values.std())


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
