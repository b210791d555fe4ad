"""A Gaussian process on comparisons: logistic likelihood, Laplace's approximation, marginal likelihood.

P(i above j) = e + (1 - 2 e) s with s = sigmoid((g_i - g_j) / SCALE) and e the probability that an answer is turned
around: people press the wrong key, misread the question, or disagree. Around the mode the likelihood is a Gaussian with
precision Lam = D^T diag(h) D, where h is Fisher's information about each difference, s (1 - s) if e is 0; its
eigenvectors Q give independent pseudo-observations of Q^T (g - mean); with these fixed, variances are found as for
values, and the mode again, a few times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tupi.methods.auto.process import JITTER, LogPrior, Model

SCALE = 0.5  # noise of a comparison, in deviations of the labels: that of two values with noise e^-1 each
ROUNDS = 4
MAX_NEWTON = 50
TOL = 1e-9
# The probability that an answer is turned around: those that are tried, how much less likely each is before any answer
# (as if so many answers had been seen to be right), and below which none is assumed: most answer as they mean to.
TRIED_FLIPS = (0.15, 0.3)
RIGHT_BEFORE = 8.0
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
    flips : float
        The probability that an answer is turned around.
    """

    v: Array
    dual: Array
    middle: Array
    mode: Array
    flips: float = 0.0


def differences(higher: Positions, lower: Positions, m: int) -> Array:
    """Return D, with which D g are the differences of all pairs in units of SCALE."""
    D = np.zeros((len(higher), m))
    D[np.arange(len(higher)), higher] = 1 / SCALE
    D[np.arange(len(lower)), lower] = -1 / SCALE
    return D


def slopes(u: Array, weights: Array, flips: float) -> tuple[Array, Array]:
    """Return the slope of the log likelihood in each difference, and Fisher's information about it."""
    s = expit(u)
    chance = flips + (1 - 2 * flips) * s
    rise = (1 - 2 * flips) * s * (1 - s)
    return weights * rise / chance, weights * rise**2 / np.maximum(chance * (1 - chance), 1e-300)


def mode(
    K: Array, mean: Array, D: Array, start: Array, weights: Array | None = None, flips: float = 0.0
) -> tuple[Array, Array, Array]:
    """Return the mode of the posterior, the gradient of the log likelihood there and Fisher's information Lam.

    Newton's method; since without flips the likelihood is log concave, halving steps that do not improve is all the
    care it needs. With flips Fisher's information takes the place of the Hessian, so that steps still improve.
    """
    inverse = np.linalg.inv(K)
    weights = np.ones(len(D)) if weights is None else weights

    def objective(g: Array) -> float:
        likely = np.logaddexp(0, -(D @ g)) if not flips else -np.log(flips + (1 - 2 * flips) * expit(D @ g))
        return float(0.5 * (g - mean) @ inverse @ (g - mean) + weights @ likely)

    g, value = start, objective(start)
    for _ in range(MAX_NEWTON):
        slope, information = slopes(D @ g, weights, flips)
        gradient = D.T @ slope
        Lam = (D * information[:, None]).T @ D
        step = np.linalg.solve(inverse + Lam, gradient - inverse @ (g - mean))
        size = 1.0
        while size > 1e-6 and objective(g + size * step) > value + 1e-12:
            size /= 2
        g = g + size * step
        value = objective(g)
        if np.abs(size * step).max() < TOL:
            break
    slope, information = slopes(D @ g, weights, flips)
    return g, D.T @ slope, (D * information[:, None]).T @ D


def fit_preferences(
    columns: Array,
    shared: Array,
    prior: LogPrior,
    mean: Array,
    higher: Positions,
    lower: Positions,
    weights: Array | None = None,
    flips: float = 0.0,
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
    higher, lower : ndarray of int
        The pairs, numbered within the m items.
    weights : ndarray, optional
        As how many answers each pair counts; None: one.
    flips : float
        The probability that an answer is turned around.
    """
    m = len(mean)
    weights = np.ones(len(higher)) if weights is None else weights
    D = differences(higher, lower, m)
    v, g = np.exp(prior.mean), mean
    items = Model(columns[None], shared, JITTER * np.eye(m), prior)
    for _ in range(ROUNDS):
        g, gradient, Lam = mode(items.covariance(v, 0), mean, D, g, weights, flips)
        precision, Q = np.linalg.eigh(Lam)
        seen = precision > 1e-6 * precision[-1]
        precision, Q = precision[seen], Q[:, seen]
        observed = Q.T @ (g - mean) + Q.T @ gradient / precision
        projected = Model(
            (columns @ Q)[None],
            np.einsum("ia,kij,jb->kab", Q, shared, Q, optimize=True),
            np.diag(1 / precision + JITTER),
            prior,
        )
        v = projected.most_likely(observed[:, None])
    K = items.covariance(v, 0)
    g, gradient, Lam = mode(K, mean, D, g, weights, flips)
    # (K + Lam^-1)^-1 without the inverse of Lam, which is singular: comparisons do not see a shift.
    middle = Lam - Lam @ np.linalg.solve(np.linalg.inv(K) + Lam, Lam)
    return PreferencePosterior(v, gradient, middle, g, flips)


def log_posterior_of_flips(differences: Array, weights: Array, flips: float) -> float:
    """Return how likely so many answers turned around are, by differences that were predicted with them in mind."""
    chances = flips + (1 - 2 * flips) * expit(differences / SCALE)
    return float(weights @ np.log(np.maximum(chances, 1e-300)) + RIGHT_BEFORE * np.log1p(-flips))


def left_out_comparisons(
    found: PreferencePosterior,
    K: Array,
    higher: Positions,
    lower: Positions,
    judged: Positions,
    weights: Array | None = None,
) -> Array:
    """Return predicted differences of some pairs, each without any comparison that either of its items takes part in.

    The likelihood of all pairs is replaced by its Gaussian approximation at the mode; leaving some of them out is then
    exact for given variances: with S the posterior covariance of the pairs' differences u, w and t their precisions
    and pseudo-observations, the cavity of a set B has mean u_B - S_BB (1/w_B - S_BB)^-1 (t_B - u_B).
    """
    D = differences(higher, lower, len(K))
    covariance = K - K @ found.middle @ K
    S = D @ covariance @ D.T
    u = D @ found.mode
    slope, information = slopes(u, np.ones(len(u)) if weights is None else weights, found.flips)
    noise = 1 / np.maximum(information, 1e-12)
    excess = slope * noise  # t - u
    predicted = np.empty(len(judged))
    for k, pair in enumerate(judged):
        ends = (higher[pair], lower[pair])
        B = np.flatnonzero(np.isin(higher, ends) | np.isin(lower, ends))
        inner = np.linalg.solve(np.diag(noise[B]) - S[np.ix_(B, B)], excess[B])
        predicted[k] = u[pair] - S[pair, B] @ inner
    return predicted * SCALE
