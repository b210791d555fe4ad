"""A Gaussian process on comparisons: Laplace's approximation, marginal likelihood.

P(i above j) is a sigmoid of u = (g_i - g_j) / SCALE, but for answers that are turned around, see below,
to the power of the answer's weight. Around the mode the likelihood is a Gaussian with
precision Lam = D^T diag(information) D, whose eigenvectors Q give independent pseudo-observations of Q^T (g - mean);
with these fixed, variances are found as for values, then the shares of wrong answers, and the mode again, a few times.

Whoever compares two items turns some of the answers around. With e the share of answers that a rater turns around,
P(answer) = (1 - e) s + e (1 - s), where s = sigmoid(u). An answer that nobody would expect is then likely a slip, and
pulls little. The likelihood is not log concave, so Fisher's information, which is never negative, stands for its
curvature. A rater's e is judged by answers that were left out one by one: the more of them contradict what everything
else says (other raters, the views, the predictions), the larger it is. Raters of few answers are taken to be like the
others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from tupi.embedding.relevance import evenly
from tupi.methods.auto.process import JITTER, LogPrior, PriorProcess
from tupi.runtime.computing import in_order, thread_count

EXPECTED, ANSWERS = 0.1, 4.0  # share of wrong answers before any is seen, and as how many answers that counts
ANSWERS_OF_OTHERS = 10.0  # as how many answers of a rater's own the share of all raters counts
SHARES = np.array([0.02, 0.1, 0.2, 0.3, 0.4])  # of wrong answers of all raters together, that are tried
TRIED = np.linspace(0.0025, 0.4975, 100)  # of one rater's
LEAST = 1e-12
SCALE = 0.5  # noise of a comparison, in deviations of the labels: that of two values with noise e^-1 each
ROUNDS = 4
HOPELESS = 8.0  # log odds by which a share of wrong answers, and so all larger ones, are ruled out
CHOOSING_ANSWERS = 200  # that tell how many are wrong; more would hardly change it
MAX_NEWTON = 50
TOL = 1e-9
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


@dataclass(frozen=True, eq=False)
class PreferencePosterior:
    """What comparisons make of the model.

    Attributes
    ----------
    v : ndarray
        Variances.
    dual : ndarray of shape (m,)
        Coefficients of the kernels' columns: g = mean + K dual at the mode.
    middle : ndarray of shape (m, m)
        (K + Lam^-1)^-1, with which the posterior covariance is K - K middle K.
    mode : ndarray of shape (m,)
        g at the compared items.
    answers : Answers
        The comparisons, with what was found of their raters.
    """

    v: Array
    dual: Array
    middle: Array
    mode: Array
    answers: Answers


def differences(higher: Positions, lower: Positions, m: int) -> sparse.csr_array:
    """Return D, with which D g are the differences of all pairs in units of SCALE."""
    k = len(higher)
    signs = np.repeat([1 / SCALE, -1 / SCALE], k)
    return sparse.csr_array((signs, (np.tile(np.arange(k), 2), np.concatenate([higher, lower]))), shape=(k, m))


def mode(K: Array, mean: Array, answers: Answers, D: sparse.csr_array, start: Array) -> tuple[Array, Array, Array]:
    """Return the mode of the posterior, the gradient of the log likelihood there and its information Lam.

    Newton's method. Where the likelihood is not concave its curvature counts as 0, so that every step leads downhill,
    and halving those that are too long is all the care it needs. Of several modes, it finds one near the start.
    """
    inverse = np.linalg.inv(K)

    def objective(g: Array) -> float:
        return float(0.5 * (g - mean) @ inverse @ (g - mean)) - answers.log_likelihood(D @ g)

    g, value = start, objective(start)
    for _ in range(MAX_NEWTON):
        u = D @ g
        hessian = inverse + quadratic(D, answers.curvature(u))
        step = np.linalg.solve(hessian, D.T @ answers.score(u) - inverse @ (g - mean))
        size = 1.0
        while size > 1e-6 and objective(g + size * step) > value + 1e-12:
            size /= 2
        g = g + size * step
        value = objective(g)
        if np.abs(size * step).max() < TOL:
            break
    u = D @ g
    return g, D.T @ answers.score(u), quadratic(D, answers.information(u))


def quadratic(D: sparse.csr_array, weights: Array) -> Array:
    """Return D^T diag(weights) D."""
    k, m = D.shape
    ends, signs = D.indices.reshape(k, 2).astype(np.int64), D.data.reshape(k, 2)  # a row has two entries
    cells = m * ends[:, :, None] + ends[:, None, :]
    parts = signs[:, :, None] * signs[:, None, :] * weights[:, None, None]
    return np.asarray(np.bincount(cells.ravel(), parts.ravel(), m * m).reshape(m, m), float)


def fit_preferences(
    columns: Array, shared: Array, prior: LogPrior, mean: Array, answers: Answers
) -> PreferencePosterior:
    """Return the posterior of comparisons among m items.

    Parameters
    ----------
    columns : ndarray of shape (q, m)
        Rank-one kernels.
    shared : ndarray of shape (p, m, m)
        The other kernels.
    prior : LogPrior
        Of the q + p variances.
    mean : ndarray of shape (m,)
        Prior mean.
    answers : Answers
        The comparisons; what is known of their raters is a beginning.
    """
    process = Preferences(columns, shared, prior, mean)
    found = process.fitted(answers.all_wrong(process.share_of_wrong(answers)))
    for _ in range(ROUNDS if len(answers.flips) > 1 else 0):
        found = process.fitted(process.judged(found), found)
    return found


@dataclass(frozen=True, eq=False)
class Preferences:
    """The process at the compared items before any answer; see `fit_preferences`."""

    columns: Array
    shared: Array
    prior: LogPrior
    mean: Array

    @cached_property
    def items(self) -> PriorProcess:
        """The process itself."""
        return PriorProcess(self.columns[None], self.shared, JITTER * np.eye(len(self.mean)), self.prior)

    def fitted(self, answers: Answers, start: PreferencePosterior | None = None) -> PreferencePosterior:
        """Return what answers make of it: variances by marginal likelihood, the mode, and so on, a few times."""
        D = differences(answers.higher, answers.lower, len(self.mean))
        v, g = (np.exp(self.prior.mean), self.mean) if start is None else (start.v, start.mode)
        for _ in range(ROUNDS):
            g, gradient, Lam = mode(self.items.covariance(v, 0), self.mean, answers, D, g)
            precision, Q = np.linalg.eigh(Lam)
            seen = precision > 1e-6 * precision[-1]
            precision, Q = precision[seen], Q[:, seen]
            observed = Q.T @ (g - self.mean) + Q.T @ gradient / precision
            projected = PriorProcess(
                (self.columns @ Q)[None],
                np.einsum("ia,kij,jb->kab", Q, self.shared, Q, optimize=True),
                np.diag(1 / precision + JITTER),
                self.prior,
            )
            v = projected.most_likely(observed[:, None])
        K = self.items.covariance(v, 0)
        g, gradient, Lam = mode(K, self.mean, answers, D, g)
        return PreferencePosterior(v, gradient, _middle(K, Lam), g, answers)

    def share_of_wrong(self, answers: Answers) -> float:
        """Return the share of wrong answers of all raters together, by Laplace's marginal likelihood."""
        some = evenly(len(answers.higher), CHOOSING_ANSWERS)
        ends = np.unique([answers.higher[some], answers.lower[some]])
        few = replace(
            self, columns=self.columns[:, ends], shared=self.shared[:, ends][:, :, ends], mean=self.mean[ends]
        )
        asked = answers.among(some, ends)
        logs, found = np.empty(0), None
        for share, before in zip(SHARES, log_prior(SHARES), strict=True):
            found = few.fitted(asked.all_wrong(share), found)
            logs = np.append(logs, few.log_evidence(found) + before)
            if logs[-1] < logs.max() - HOPELESS:
                break
        return mean_of(SHARES[: len(logs)], logs)

    def log_evidence(self, found: PreferencePosterior) -> float:
        """Return the logarithm of the probability of the answers and variances, the items integrated out."""
        D = differences(found.answers.higher, found.answers.lower, len(self.mean))
        K, Lam = self.items.covariance(found.v, 0), quadratic(D, found.answers.information(D @ found.mode))
        deviation = (np.log(found.v) - self.prior.mean) / self.prior.sd
        likely = found.answers.log_likelihood(D @ found.mode) - 0.5 * (found.mode - self.mean) @ found.dual
        return float(likely - 0.5 * np.linalg.slogdet(np.eye(len(K)) + K @ Lam)[1] - 0.5 * deviation @ deviation)

    def judged(self, found: PreferencePosterior) -> Answers:
        """Return the answers, with the share of wrong ones of each rater."""
        answers, K = found.answers, self.items.covariance(found.v, 0)
        D = differences(answers.higher, answers.lower, len(K))
        covariance = K - K @ found.middle @ K
        return answers.judged(D @ found.mode, np.asarray(D.multiply(D @ covariance).sum(axis=1)))


def _middle(K: Array, Lam: Array) -> Array:
    """Return (K + Lam^-1)^-1 without the inverse of Lam, which is singular: comparisons do not see a shift."""
    found: Array = Lam - Lam @ np.linalg.solve(np.linalg.inv(K) + Lam, Lam)
    return found


def left_out_comparisons(found: PreferencePosterior, K: Array, judged: Positions) -> Array:
    """Return predicted differences of some pairs, each without any comparison that either of its items takes part in.

    The likelihood of all pairs is replaced by its Gaussian approximation at the mode; leaving some of them out is then
    exact for given variances: with S the posterior covariance of the pairs' differences u, w and t their precisions
    and pseudo-observations, the cavity of a set B has mean u_B - S_BB (1/w_B - S_BB)^-1 (t_B - u_B).
    """
    higher, lower = found.answers.higher, found.answers.lower
    D = differences(higher, lower, len(K))
    covariance = K - K @ found.middle @ K
    u = D @ found.mode
    information = np.maximum(found.answers.information(u), 1e-12)
    noise, excess = 1 / information, found.answers.score(u) / information  # t - u

    def without(pair: int) -> float:
        a, b = higher[pair], lower[pair]
        B = np.flatnonzero((higher == a) | (lower == a) | (higher == b) | (lower == b))
        first, second = higher[B], lower[B]
        rows = (covariance[first] - covariance[second]) / SCALE**2
        S = rows.take(first, axis=1) - rows.take(second, axis=1)  # S_BB
        inner = np.linalg.solve(np.diag(noise[B]) - S, excess[B])
        return float(u[pair] - S[np.searchsorted(B, pair)] @ inner)

    parts = np.array_split(judged, max(1, min(len(judged), thread_count())))
    predicted = in_order(lambda some: np.array([without(pair) for pair in some]), parts)
    return SCALE * np.concatenate([*predicted])
