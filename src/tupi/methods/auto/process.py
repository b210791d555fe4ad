"""A Gaussian process on the labels: variances by marginal likelihood under a prior, and what it predicts.

y_j = b0 (l_j - mean l_j) + constant + sum_k GP_k + noise for each output j (one for scores, one per class), where l is
the label-free answer, b0 the slope that a correlation of RHO would have, and GP_k has variance v_k times a kernel of
`tupi.methods.auto.kernels`. Outputs share the v_k. All algebra is m x m for m labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

RHO = 0.8  # expected correlation of label-free answer and labels. It makes the slope positive whatever few labels say
LOG_PRIOR_NOISE = -1.0
PRIOR_SD = 1.0  # of log variances: a factor e either way
BOUNDS = (-6.0, 4.0)  # how many deviations log variances may move from their prior
JITTER = 1e-6
MAX_STEPS = 60
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogPrior:
    """What is expected of log variances: independent normal distributions.

    Attributes
    ----------
    mean, sd : ndarray of shape (k,)
        Of each.
    """

    mean: Array
    sd: Array

    def and_noise(self) -> LogPrior:
        """Return the same with that of the noise at the end."""
        return LogPrior(np.append(self.mean, LOG_PRIOR_NOISE), np.append(self.sd, PRIOR_SD))


@dataclass(frozen=True, eq=False)
class Model:
    """A zero-mean Gaussian process at m places.

    Attributes
    ----------
    columns : ndarray of shape (c, q, m)
        Rank-one kernels of each output.
    shared : ndarray of shape (p, m, m)
        Kernels that outputs share.
    fixed : ndarray of shape (m, m)
        What is added as it is.
    prior : LogPrior
        Of the q + p variances.
    """

    columns: Array
    shared: Array
    fixed: Array
    prior: LogPrior

    def among(self, places: NDArray[np.int64]) -> Model:
        """Return the process at some of the places."""
        square = np.ix_(places, places)
        shared = self.shared[:, places][:, :, places]
        return Model(self.columns[:, :, places], shared, self.fixed[square], self.prior)

    def covariance(self, v: Array, output: int) -> Array:
        """Return the covariance of one output."""
        columns = self.columns[output]
        q = len(columns)
        return (columns.T * v[:q]) @ columns + np.tensordot(v[q:], self.shared, 1) + self.fixed

    def minus_log_posterior(self, theta: Array, residuals: Array) -> tuple[float, Array]:
        """Return minus the log posterior of the log variances, up to a constant, and its gradient.

        Parameters
        ----------
        theta : ndarray
            Log variances.
        residuals : ndarray of shape (m, c)
            Observed values.
        """
        v = np.exp(theta)
        q = self.columns.shape[1]
        deviation = (theta - self.prior.mean) / self.prior.sd
        value, gradient = 0.5 * deviation @ deviation, deviation / self.prior.sd
        for output, columns in enumerate(self.columns):
            factor = cho_factor(self.covariance(v, output), lower=True)
            inverse = cho_solve(factor, np.eye(len(residuals)))
            dual = inverse @ residuals[:, output]
            value += 0.5 * residuals[:, output] @ dual + np.log(np.diag(factor[0])).sum()
            traces = np.einsum("ki,ij,kj->k", columns, inverse, columns, optimize=True) - (columns @ dual) ** 2
            gradient[:q] += 0.5 * v[:q] * traces
            middle = inverse - np.outer(dual, dual)
            gradient[q:] += 0.5 * v[q:] * np.einsum("kij,ij->k", self.shared, middle)
        return float(value), gradient

    def most_likely(self, residuals: Array) -> Array:
        """Return the variances that maximise the posterior."""
        found = minimize(
            self.minus_log_posterior,
            self.prior.mean,
            args=(residuals,),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(*(self.prior.mean + bound * self.prior.sd for bound in BOUNDS), strict=True)),
            options={"maxiter": MAX_STEPS},
        )
        return np.exp(found.x)


def labelled_model(columns: Array, shared: Array, prior: LogPrior, constant: float = 1.0) -> Model:
    """Return the model of noisy values: noise of unknown variance, and an unknown constant.

    Parameters
    ----------
    columns, shared, prior
        The kernels at the labelled items, see `tupi.methods.auto.kernels.Kernels`.
    constant : float
        Variance of the constant.
    """
    m = columns.shape[2]
    return Model(
        columns,
        np.concatenate([shared, np.eye(m)[None]]),
        np.full((m, m), constant) + JITTER * np.eye(m),
        prior.and_noise(),
    )


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the labels make of the model.

    Attributes
    ----------
    v : ndarray
        Variances; the last one is the noise's.
    duals : ndarray of shape (m, c)
        K^-1 times the residuals.
    inverses : sequence of ndarray of shape (m, m)
        K^-1 of each output.
    """

    v: Array
    duals: Array
    inverses: Sequence[Array]


def posterior(model: Model, v: Array, residuals: Array) -> Posterior:
    """Return the posterior of given variances."""
    inverses = [np.linalg.inv(model.covariance(v, output)).astype(np.float64) for output in range(len(model.columns))]
    duals = np.column_stack([K @ residuals[:, j] for j, K in enumerate(inverses)])
    return Posterior(v, duals, inverses)


def left_out(values: Array, dual: Array, inverse: Array) -> Array:
    """Return each value's prediction from all others: y_i - alpha_i / (K^-1)_ii.

    It is exact for given variances; these saw all labels.
    """
    return values - dual / np.diag(inverse)


def left_out_twice(values: Array, dual: Array, inverse: Array) -> Array:
    """Return predictions without two labels: entry (i, j) is that of i without the labels of i and j.

    The 2 x 2 block of K^-1 gives it in closed form. Entries (i, i) are without i alone.
    """
    diagonal = np.diag(inverse)
    determinant = np.outer(diagonal, diagonal) - inverse**2
    np.fill_diagonal(determinant, 1.0)
    error = (diagonal[None, :] * dual[:, None] - inverse * dual[None, :]) / determinant
    np.fill_diagonal(error, dual / diagonal)
    return values[:, None] - error


def left_out_pairs(values: Array, dual: Array, inverse: Array) -> Array:
    """Return predicted differences of every two values from all others: entry (i, j) is that of i minus that of j.

    Neither of the two labels is seen: leaving out one at a time lowers the prediction of whoever is high, since the
    mean of the others is then lower, and so underrates a gain.
    """
    predicted = left_out_twice(values, dual, inverse)
    return predicted - predicted.T


def slope(answers: Array) -> float:
    """Return b0: the slope of labels with deviation one on the label-free answers, if they correlate by RHO."""
    return float(1 / np.sqrt(answers.var() + (1 - RHO**2) / RHO**2))
