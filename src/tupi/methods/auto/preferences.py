"""A Gaussian process on comparisons: Laplace's approximation, marginal likelihood.

P(i above j) is a sigmoid of u = (g_i - g_j) / SCALE, but for answers that are turned around, see
`tupi.methods.auto.flips`, to the power of the answer's weight. Around the mode the likelihood is a Gaussian with
precision Lam = D^T diag(information) D, whose eigenvectors Q give independent pseudo-observations of Q^T (g - mean);
with these fixed, variances are found as for values, then the shares of wrong answers, and the mode again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tupi.embedding.relevance import evenly
from tupi.methods.auto.flips import SHARES, Answers, log_prior, mean_of
from tupi.methods.auto.process import JITTER, LogPrior, Model

SCALE = 0.5  # noise of a comparison, in deviations of the labels: that of two values with noise e^-1 each
ROUNDS = 4
HOPELESS = 8.0  # log odds by which a share of wrong answers, and so all larger ones, are ruled out
CHOOSING_ANSWERS = 200  # that tell how many are wrong; more would hardly change it
MAX_NEWTON = 50
TOL = 1e-9
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


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
    found: Array = (D.T @ sparse.diags_array(weights) @ D).toarray()
    return found


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
    def items(self) -> Model:
        """The process itself."""
        return Model(self.columns[None], self.shared, JITTER * np.eye(len(self.mean)), self.prior)

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
            projected = Model(
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
    S = D @ covariance @ D.T
    u = D @ found.mode
    information = np.maximum(found.answers.information(u), 1e-12)
    noise, excess = 1 / information, found.answers.score(u) / information  # t - u
    predicted = np.empty(len(judged))
    for k, pair in enumerate(judged):
        ends = (higher[pair], lower[pair])
        B = np.flatnonzero(np.isin(higher, ends) | np.isin(lower, ends))
        inner = np.linalg.solve(np.diag(noise[B]) - S[np.ix_(B, B)], excess[B])
        predicted[k] = u[pair] - S[pair, B] @ inner
    return predicted * SCALE
