"""Answers that are wrong: whoever compares two items turns some of the answers around.

With u the difference of two items in units of `tupi.methods.auto.preferences.SCALE` and e the share of answers that a
rater turns around, P(answer) = (1 - e) s + e (1 - s), where s = sigmoid(u). An answer that nobody would expect is then
likely a slip, and pulls little. The likelihood is not log concave, so Fisher's information, which is never negative,
stands for its curvature.

A rater's e is judged by answers that were left out one by one: the more of them contradict what everything else says
(other raters, the views, the predictions), the larger it is. Raters of few answers are taken to be like the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

EXPECTED, ANSWERS = 0.1, 4.0  # share of wrong answers before any is seen, and as how many answers that counts
ANSWERS_OF_OTHERS = 10.0  # as how many answers of a rater's own the share of all raters counts
SHARES = np.array([0.02, 0.1, 0.2, 0.3, 0.4])  # of wrong answers of all raters together, that are tried
TRIED = np.linspace(0.0025, 0.4975, 100)  # of one rater's
LEAST = 1e-12
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Answers:
    """Comparisons of m items, as the likelihood sees them.

    Attributes
    ----------
    higher, lower : ndarray of int
        The items of each pair, numbered from 0 to m - 1.
    weights : ndarray
        As how many answers each counts.
    raters : ndarray of int
        Who gave it, numbered from 0.
    flips : ndarray
        The share of wrong answers of each rater.
    """

    higher: Positions
    lower: Positions
    weights: Array
    raters: Positions
    flips: Array

    @classmethod
    def of(
        cls, higher: Positions, lower: Positions, weights: Array | None = None, raters: Positions | None = None
    ) -> Answers:
        """Return answers of raters of whom nothing is known yet; by default, answers of one rater that count once."""
        k = len(higher)
        raters = np.zeros(k, np.int64) if raters is None else raters
        flips = np.full(int(raters.max(initial=0)) + 1, EXPECTED)
        return cls(higher, lower, np.ones(k) if weights is None else weights, raters, flips)

    def among(self, some: Positions, items: Positions) -> Answers:
        """Return some of the answers, with items counted within the sorted ``items``."""
        higher, lower = (np.searchsorted(items, side[some]) for side in (self.higher, self.lower))
        return Answers(higher, lower, self.weights[some], self.raters[some], self.flips)

    def all_wrong(self, share: float) -> Answers:
        """Return the same with one share of wrong answers for all raters."""
        return replace(self, flips=np.full(len(self.flips), share))

    @property
    def wrong(self) -> Array:
        """How likely each answer was to be turned around, before anything is known of the two items."""
        found: Array = self.flips[self.raters]
        return found

    @property
    def value(self) -> Array:
        """(1 - 2 e)^2 of each answer: at equal items, its information as a share of that of a right one."""
        return (1 - 2 * self.wrong) ** 2

    def log_likelihood(self, u: Array) -> float:
        """Return the logarithm of the probability of all answers, given the differences."""
        return float(self.weights @ np.log(self._chance(expit(u))))

    def score(self, u: Array) -> Array:
        """Return its derivative by each of the differences."""
        s = expit(u)
        return self.weights * (1 - 2 * self.wrong) * s * (1 - s) / self._chance(s)

    def information(self, u: Array) -> Array:
        """Return Fisher's information of each answer about its difference."""
        s = expit(u)
        p = self._chance(s)
        return self.weights * self.value * (s * (1 - s)) ** 2 / np.maximum(p * (1 - p), LEAST)

    def curvature(self, u: Array) -> Array:
        """Return minus the second derivative of the log likelihood, or 0 where that is negative.

        It is that of answers known to be right or wrong, less what not knowing it costs: s (1 - s) - r (1 - r) with r
        the probability that the answer is right (Louis).
        """
        s = expit(u)
        right = (1 - self.wrong) * s / self._chance(s)
        return self.weights * np.maximum(s * (1 - s) - right * (1 - right), 0.0)

    def _chance(self, s: Array) -> Array:
        return np.maximum(self.wrong + (1 - 2 * self.wrong) * s, LEAST)

    def judged(self, u: Array, variances: Array) -> Answers:
        """Return the same with shares of wrong answers of each rater that follow from the answers.

        Parameters
        ----------
        u, variances : ndarray of shape (k,)
            Mean and variance of each difference after all answers, this one included.
        """
        right, everybody = self.expected_right(u, variances), float(np.average(self.wrong, weights=self.weights))
        own = [np.flatnonzero(self.raters == r) for r in range(len(self.flips))]
        shares = [_mean_share(right[one], self.weights[one], everybody) for one in own]
        return replace(self, flips=np.array(shares))

    def expected_right(self, u: Array, variances: Array) -> Array:
        """Return how likely each answer is to be the right one by all others: that answer's part of u is taken out."""
        information, score = self.information(u), self.score(u)
        rest = np.maximum(1 - variances * information, 1e-6)
        mean, variance = u - variances * score / rest, variances / rest
        return expit(mean / np.sqrt(1 + np.pi * variance / 8))  # MacKay's mean of a sigmoid


def log_prior(share: Array, expected: float = EXPECTED, answers: float = ANSWERS) -> Array:
    """Return the logarithm of how likely shares of wrong answers are before any answer, up to a constant."""
    found: Array = answers * (expected * np.log(share) + (1 - expected) * np.log1p(-share))
    return found


def mean_of(shares: Array, logs: Array) -> float:
    """Return the mean of shares, given the logarithm of how likely each of them is."""
    likely = np.exp(logs - logs.max())
    return float(shares @ likely / likely.sum())


def _mean_share(right: Array, weights: Array, everybody: float) -> float:
    """Return a rater's mean share of wrong answers, given how likely each answer is right by what others say."""
    logs = weights @ np.log(TRIED + (1 - 2 * TRIED) * right[:, None])
    return mean_of(TRIED, logs + log_prior(TRIED, everybody, ANSWERS_OF_OTHERS))
