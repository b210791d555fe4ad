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

from tupi.blocks.home import Kept
from tupi.judging.gain import Gain, pair_gain
from tupi.methods.auto.answers import RankingAnswer
from tupi.methods.auto.guard import Blend

HEIGHT_SD, LOG_SLOPE_SD = 1.0, 0.5  # how far a and log b may lie from what is expected
SLOPE_BOUND = 3.0  # deviations of log b that are searched
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinaryAnswer(RankingAnswer):
    """Log odds from zeros and ones; pairs of a one and a zero judge them, which is the area under the ROC curve."""

    def columns(self, blend: Blend) -> Kept:
        """Return half the log odds of the second class, standardised."""
        a, b = self._line
        g = self.of_g() * (0.5 * b / self.scale.scale)[:, None]
        g[:, 0] = (0.5 * a - self.scale.shift) / self.scale.scale
        return self.mixed(blend.of(g, self.wide(self.problem.only(0)), self.wide(self.problem.careful)))

    def gain(self, blend: Blend) -> Gain:
        """Return the gain in pairs of a one and a zero whose labels were both left out."""
        first, second = np.nonzero(self.values[:, None] > self.values)
        new = self._line[1] * self.fused.left_out.differences[first, second]
        f, careful = (
            2 * self.scale.scale[0] * self.at_labels(one)[:, 0] for one in (self.problem.only(0), self.problem.careful)
        )
        before = f[first] - f[second]
        return pair_gain(before, blend.of(new, before, careful[first] - careful[second]), first, second, len(f))

    def expected(self) -> None:
        """Return nothing: what comes back is a probability already."""

    def left_out_errors(self, blend: Blend) -> None:
        """Return nothing: a label of zero or one has no interval."""

    @cached_property
    def _line(self) -> tuple[float, float]:
        """a and b."""
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
