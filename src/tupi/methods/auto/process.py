"""A Gaussian process on the labels: variances by marginal likelihood under a prior, and what it predicts.

It learns classes and comparisons; values are learned under many hypotheses, `tupi.methods.auto.hypotheses`.

y_j = mean function + constant + sum_k GP_k + noise for each output j (one for scores, one per class), where GP_k has
variance v_k times a kernel of `tupi.methods.auto.kernels`. The mean function of classes is their label-free
probability; that of scores the label-free answer times the slope that `tupi.methods.auto.items.slope` expects. Outputs
share the v_k. All algebra is m x m for m labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.optimize import minimize

from tupi.inputs.groups import members

LOG_PRIOR_NOISE = -1.0
PRIOR_SD = 1.0  # of log variances: a factor e either way
BOUNDS = (-6.0, 4.0)  # how many deviations log variances may move from their prior
JITTER = 1e-6
MAX_STEPS = 60
CHOOSING_LABELS = 400  # that set the variances; more would hardly change what is likely
FEW = 20  # fewer labelled items than that cannot say that higher scores mean less
FOLDS = 5  # of the labels, each judged under variances that the others chose
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class PriorProcess:
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

    def among(self, places: NDArray[np.int64]) -> PriorProcess:
        """Return the process at some of the places."""
        square = np.ix_(places, places)
        shared = self.shared[:, places][:, :, places]
        return PriorProcess(self.columns[:, :, places], shared, self.fixed[square], self.prior)

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
            # LAPACK itself: for so few labels what SciPy checks around it would take most of the time.
            factor, wrong = dpotrf(self.covariance(v, output), lower=True)
            if wrong:
                raise np.linalg.LinAlgError("the covariance of the labels is not positive definite")
            inverse = dpotrs(factor, np.eye(len(residuals)), lower=True)[0]
            dual = inverse @ residuals[:, output]
            value += 0.5 * residuals[:, output] @ dual + np.log(np.diag(factor)).sum()
            traces = np.einsum("kj,kj->k", columns @ inverse, columns) - (columns @ dual) ** 2
            gradient[:q] += 0.5 * v[:q] * traces
            middle = inverse - np.outer(dual, dual)
            gradient[q:] += 0.5 * v[q:] * (self.shared.reshape(len(self.shared), -1) @ middle.ravel())
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


def labelled_model(
    columns: Array,
    shared: Array,
    prior: LogPrior,
    constant: float = 1.0,
    groups: Positions | None = None,
    weights: Array | None = None,
) -> PriorProcess:
    """Return the model of noisy values: noise of unknown variance, and an unknown constant.

    Parameters
    ----------
    columns, shared, prior
        The kernels at the labelled items, see `tupi.methods.auto.kernels.Kernels`.
    constant : float
        Variance of the constant.
    groups : ndarray of shape (m,), optional
        The group of each item, if each group has a constant of its own.
    weights : ndarray of shape (m,), optional
        As how many answers each value counts: by so much its noise is less.
    """
    m = columns.shape[2]
    noise = np.eye(m) if weights is None else np.diag(1 / weights)
    together = np.ones((m, m)) if groups is None else np.equal.outer(groups, groups)
    return PriorProcess(
        columns,
        np.concatenate([shared, noise[None]]),
        constant * together + JITTER * np.eye(m),
        LogPrior(np.append(prior.mean, LOG_PRIOR_NOISE), np.append(prior.sd, PRIOR_SD)),
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


def posterior(model: PriorProcess, v: Array, residuals: Array) -> Posterior:
    """Return the posterior of given variances."""
    inverses = [np.linalg.inv(model.covariance(v, output)).astype(np.float64) for output in range(len(model.columns))]
    duals = np.column_stack([K @ residuals[:, j] for j, K in enumerate(inverses)])
    return Posterior(v, duals, inverses)


def left_out(values: Array, dual: Array, inverse: Array) -> Array:
    """Return each value's prediction from all others: y_i - alpha_i / (K^-1)_ii.

    It is exact for given variances; these saw all labels.
    """
    return values - dual / np.diag(inverse)


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of labelled items without their labels.

    Attributes
    ----------
    held_out : ndarray of shape (m, c)
        Predictions of each without its label.
    differences : ndarray of shape (m, m)
        Of values: predicted differences within pairs whose labels were both left out.
    twice : ndarray of shape (m, m)
        Of values: entry (i, j) is the prediction of i without the labels of i and j. It judges by i without any help of
        j.
    """

    held_out: Array
    differences: Array
    twice: Array

    @classmethod
    def nothing(cls) -> LeftOut:
        """Return that of no values."""
        return cls(np.empty((0, 1)), np.empty((0, 0)), np.empty((0, 0)))


def judged_apart(
    model: PriorProcess, after: Posterior, residuals: Array, mean: Array, members: NDArray[np.bool_]
) -> LeftOut:
    """Return predictions of indicators of classes that are left out.

    They are exact for given variances. But variances that saw a label make too much of it. So labels are dealt into
    folds, and each fold meets variances that the other folds chose. Fewer than `FEW` labels say too little about
    variances, and more than `CHOOSING_LABELS` say enough, for this to matter.

    Parameters
    ----------
    model : PriorProcess
        The process at the labelled items.
    after : Posterior
        Given all labels.
    residuals, mean : ndarray of shape (m, c)
        What labels are beyond the mean function, 0 for classes without any, and the mean function.
    members : ndarray of bool, shape (m, c)
        The class of each. Without the only label of a class, that class is as the mean function says.
    """

    def without(after: Posterior) -> Array:
        each = zip(residuals.T, after.duals.T, after.inverses, strict=True)
        return mean + np.column_stack([left_out(*one) for one in each])

    held_out = without(after)
    if FEW <= len(mean) <= CHOOSING_LABELS:
        fold = dealt(members[:, members[0].argmax()])  # of the first label's class: the order of classes means nothing
        for k in range(FOLDS):
            own, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            v = model.among(others).most_likely(residuals[others])
            held_out[own] = without(posterior(model, v, residuals))[own]
    alone = members & (members.sum(axis=0) == 1)
    return LeftOut(np.where(alone, mean, held_out), np.empty((0, 0)), np.empty((0, 0)))


def dealt(member: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the fold of each label: dealt like cards, members of a class last, so that all folds are alike."""
    fold = np.empty(len(member), np.int64)
    fold[np.argsort(member, kind="stable")] = np.arange(len(member)) % FOLDS
    return fold


def without_groups(dual: Array, inverse: Array, groups: Positions) -> tuple[Array, Array, Array]:
    """Return what `tupi.methods.auto.hypotheses` asks of labels left out, by groups.

    Entry (i, j) of the errors is that of i without i's group and without the label of j. Log densities follow: of each
    group given the others, and of the two that are left out.

    For a group B and a label j outside of it, the errors of B are (K^-1)_CC^-1 alpha_C at B, with C = B and j. With j
    eliminated that is P_j^-1 (alpha_B - c_j alpha_j / d_j), where c_j and d_j are j's entries of K^-1 with B and with
    itself, and P_j = (K^-1)_BB - c_j c_j^T / d_j has its inverse by Sherman and Morrison's formula. Entries (i, j) of
    one group are without that group alone.
    """
    diagonal, m = np.diag(inverse), len(dual)
    errors, single, of_two = np.empty((m, m)), np.empty(m), np.empty((m, m))
    of_one = 0.5 * np.log(diagonal) - 0.5 * dual**2 / diagonal
    for own in members(groups):
        among = inverse[np.ix_(own, own)]
        inner = np.linalg.inv(among)
        outside = groups != groups[own[0]]
        cross = inverse[own] * outside
        reached = inner @ cross
        direct = inner @ (dual[own][:, None] - cross * (dual / diagonal))
        spread = diagonal - np.einsum("bj,bj->j", cross, reached)
        along = np.einsum("bj,bj->j", cross, direct) / spread
        errors[own] = direct + reached * along
        level = np.linalg.slogdet(among)[1] + np.log(np.maximum(spread / diagonal, 1e-300))
        squares = np.einsum("bj,bc,cj->j", errors[own], among, errors[own], optimize=True)
        squares -= np.einsum("bj,bj->j", cross, errors[own]) ** 2 / diagonal
        # The density of B without j, times that of j given all others.
        of_two[own] = 0.5 * level - 0.5 * squares + of_one * outside
        single[own] = of_two[own[0], own[0]]
    return errors, single, of_two
