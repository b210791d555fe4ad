"""A Gaussian process on comparisons: logistic likelihood, Laplace's approximation, marginal likelihood.

P(i above j) = sigmoid((g_i - g_j) / SCALE), to the power of the answer's weight w. Around the mode the likelihood is a
Gaussian with precision Lam = D^T diag(w s (1 - s)) D, whose eigenvectors Q give independent pseudo-observations of
Q^T (g - mean); with these fixed, variances are found as for values, and the mode again, a few times.
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
    """

    v: Array
    dual: Array
    middle: Array
    mode: Array


def differences(higher: Positions, lower: Positions, m: int) -> Array:
    """Return D, with which D g are the differences of all pairs in units of SCALE."""
    D = np.zeros((len(higher), m))
    D[np.arange(len(higher)), higher] = 1 / SCALE
    D[np.arange(len(lower)), lower] = -1 / SCALE
    return D


def mode(K: Array, mean: Array, D: Array, start: Array, weights: Array | None = None) -> tuple[Array, Array, Array]:
    """Return the mode of the posterior, the gradient of the log likelihood there and its negative Hessian Lam.

    Newton's method; since the likelihood is log concave, halving steps that do not improve is all the care it needs.
    """
    inverse = np.linalg.inv(K)
    weights = np.ones(len(D)) if weights is None else weights

    def objective(g: Array) -> float:
        return float(0.5 * (g - mean) @ inverse @ (g - mean) + weights @ np.logaddexp(0, -(D @ g)))

    g, value = start, objective(start)
    for _ in range(MAX_NEWTON):
        s = expit(D @ g)
        gradient = D.T @ (weights * (1 - s))
        Lam = (D * (weights * s * (1 - s))[:, None]).T @ D
        step = np.linalg.solve(inverse + Lam, gradient - inverse @ (g - mean))
        size = 1.0
        while size > 1e-6 and objective(g + size * step) > value + 1e-12:
            size /= 2
        g = g + size * step
        value = objective(g)
        if np.abs(size * step).max() < TOL:
            break
    s = expit(D @ g)
    return g, D.T @ (weights * (1 - s)), (D * (weights * s * (1 - s))[:, None]).T @ D


def fit_preferences(
    columns: Array,
    shared: Array,
    prior: LogPrior,
    mean: Array,
    higher: Positions,
    lower: Positions,
    weights: Array | None = None,
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
    """
    m = len(mean)
    D = differences(higher, lower, m)
    v, g = np.exp(prior.mean), mean
    items = Model(columns[None], shared, JITTER * np.eye(m), prior)
    for _ in range(ROUNDS):
        g, gradient, Lam = mode(items.covariance(v, 0), mean, D, g, weights)
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
    g, gradient, Lam = mode(K, mean, D, g, weights)
    # (K + Lam^-1)^-1 without the inverse of Lam, which is singular: comparisons do not see a shift.
    middle = Lam - Lam @ np.linalg.solve(np.linalg.inv(K) + Lam, Lam)
    return PreferencePosterior(v, gradient, middle, g)


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
    s = expit(u)
    spread = np.maximum(s * (1 - s), 1e-12)
    noise = 1 / (spread if weights is None else weights * spread)
    excess = (1 - s) / spread  # t - u
    predicted = np.empty(len(judged))
    for k, pair in enumerate(judged):
        ends = (higher[pair], lower[pair])
        B = np.flatnonzero(np.isin(higher, ends) | np.isin(lower, ends))
        inner = np.linalg.solve(np.diag(noise[B]) - S[np.ix_(B, B)], excess[B])
        predicted[k] = u[pair] - S[pair, B] @ inner
    return predicted * SCALE
