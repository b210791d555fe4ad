"""A linear rank SVM trained in the primal by a truncated Newton method, after Chapelle and Keerthi."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from tupi.embedding.graphs import conjugate_gradients
from tupi.rankers.base import Ranker, TrainAndJudge, ValidatedRanker, standardiser, without
from tupi.rankers.rank_loss import RankLoss
from tupi.rankers.targets import Targets
from tupi.runtime.errors import InputError

Floats = NDArray[np.float64]

C_GRID = tuple(10.0 ** (k / 2) for k in range(-6, 9))
ARMIJO = 1e-4  # fraction of the predicted decrease that a step must achieve
MAX_HALVINGS = 40  # beyond it a step no longer changes w in floating point


class Solution(NamedTuple):
    """Where the Newton iterations ended."""

    w: Floats
    objective: float
    n_iter: int
    converged: bool


def minimise(X: Floats, loss: RankLoss, C: float, w: Floats, tol: float, max_iter: int) -> Solution:
    """Minimise ``1/2 ||w||^2 + C loss(X w)`` over w, with loss the mean over pairs of label ``e:rankloss``.

    Each Newton system is solved by conjugate gradients on Hessian-vector products, so that the d x d Hessian
    is never formed. Steps backtrack along f = X w, where a trial costs no product with X.

    The objective is 1-strongly convex: its excess over the minimum is at most half the squared gradient norm.
    The iterations stop when that bound is below `tol` times the objective, and also below `tol` times its
    value at w = 0: for tiny C the objective is so flat that w = 0, which ranks nothing, would pass otherwise.
    """
    gradient = C * (X.T @ loss.at(np.zeros(len(X))).gradient)
    excess_at_zero = 0.5 * float(gradient @ gradient)
    f = X @ w
    at = loss.at(f)
    objective = 0.5 * float(w @ w) + C * at.value
    for iteration in range(max_iter + 1):
        gradient = w + C * (X.T @ at.gradient)
        excess = 0.5 * float(gradient @ gradient)
        if excess <= tol * min(objective, excess_at_zero):
            return Solution(w, objective, iteration, True)
        if iteration == max_iter:
            break

        def hessian_times(p: Floats, curvature: Callable[[Floats], Floats] = at.hessian_times) -> Floats:
            return p + C * (X.T @ curvature(X @ p))

        # Solving early systems roughly and late ones well keeps Newton's fast local convergence.
        accuracy = min(0.1, (excess / (excess + objective)) ** 0.25)
        step = conjugate_gradients(hessian_times, np.ones(len(w)), -gradient, tol=accuracy, max_iter=2 * len(w) + 10)
        slope, f_step = float(gradient @ step), X @ step
        size = 1.0
        for _ in range(MAX_HALVINGS):
            w_new = w + size * step
            at_new = loss.at(f + size * f_step)
            objective_new = 0.5 * float(w_new @ w_new) + C * at_new.value
            if objective_new <= objective + ARMIJO * size * slope:
                break
            size *= 0.5
        else:
            break  # rounding errors exceed what is left to gain
        w, f, at, objective = w_new, f + size * f_step, at_new, objective_new
    return Solution(w, objective, iteration, False)


class _LinearRanker(Ranker):
    """Fitting and prediction with ``coef_`` and ``intercept_``, shared by the two estimators."""

    tol: float
    max_iter: int

    def _predict(self, X: Floats) -> Floats:
        return np.asarray(X @ self.coef_ + self.intercept_)

    def _solve(self, X: Floats, targets: Targets, C: float) -> Self:
        scaler = standardiser(X)
        start = np.zeros(X.shape[1])
        solution = minimise(scaler.transform(X), targets.loss(), C, start, self.tol, self.max_iter)
        self.coef_ = solution.w / scaler.scale_
        self.intercept_ = -float(scaler.mean_ @ self.coef_)
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        if not solution.converged:
            warnings.warn(
                f"The rank SVM stopped after {solution.n_iter} Newton steps short of tol={self.tol:g}: "
                "raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self


class RankSVM(_LinearRanker):
    """Linear rank SVM: ``1/2 ||w||^2 + C * mean over pairs of max(0, 1 - (f_i - f_j))^2``.

    The loss is that of label ``e:rankloss``. It is *averaged* over the ordered pairs (i above j), so that one
    C means the same for 50 items as for 5,000. Columns of X are standardised inside, and w weighs those.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean pair loss against the squared norm of w.
    tol : float, default=1e-6
        The objective is within this fraction of its minimum when the iterations stop.
    max_iter : int, default=100
        Largest number of Newton steps.

    Attributes
    ----------
    coef_, intercept_ : array of shape (d,), float
        Scores are ``X @ coef_ + intercept_``, in the units of X; the mean training score is zero.
    objective_ : float
        The minimum reached.
    n_iter_ : int
        Newton steps taken.
    n_features_in_ : int
        Number of columns seen by `fit`.

    Notes
    -----
    A conjugate gradient iteration costs ``O(n d + n log n)`` from values, ``O(n d + pairs)`` from pairs.

    References
    ----------
    O. Chapelle and S. S. Keerthi, "Efficient algorithms for ranking with SVMs", Information Retrieval, 2010.
    """

    def __init__(self, C: float = 1.0, tol: float = 1e-6, max_iter: int = 100) -> None:
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, pairs: Any = None) -> Self:
        """Fit to values or to pairs.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        y : array of shape (n,), optional
            Values: every pair with ``y_i > y_j`` counts, equal values form none.
        pairs : tuple (higher, lower) of integer arrays, optional
            Instead of `y`: row ``higher[p]`` of X ranks above row ``lower[p]``.
        """
        _check_settings(C=self.C, tol=self.tol, max_iter=self.max_iter)
        features, targets = self._check_training(X, y, pairs)
        return self._solve(features, targets, self.C)


class RankSVMCV(ValidatedRanker, _LinearRanker):
    """`RankSVM` with C chosen by pairwise accuracy on held-out labels.

    Parameters
    ----------
    C_grid : sequence of float, default=10 ** (-3, -2.5, ..., 4)
        Values of C to try. Of equally accurate ones the smallest is taken.
    cv : int, default=5
        Number of folds over the labelled items, when `fit` is given no validation items.
    tol, max_iter : float, int
        As in `RankSVM`.
    random_state : int, default=0
        Seed of the folds.

    Attributes
    ----------
    C_ : float
        The chosen C.
    validation_accuracy_ : array of shape (n_C,)
        Pairwise accuracy on the held-out labels for each C of the grid, ascending.
    coef_, intercept_, objective_, n_iter_, n_features_in_
        As in `RankSVM`, fitted to all of X with the chosen C.
    """

    def __init__(
        self,
        C_grid: Sequence[float] = C_GRID,
        cv: int = 5,
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: int | None = 0,
    ) -> None:
        self.C_grid = C_grid
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_settings(self) -> None:
        _check_settings(tol=self.tol, max_iter=self.max_iter)
        if np.ndim(self.C_grid) != 1 or not len(self.C_grid):
            raise InputError(f"C_grid must be a sequence of numbers, at least one: found {self.C_grid!r}.")
        for C in self.C_grid:
            _check_settings(C_grid=C)

    def _fit(self, features: Floats, targets: Targets, validation: tuple[Floats, Targets] | None) -> Self:
        C_grid = np.sort(np.asarray(self.C_grid, dtype=np.float64))
        splits = [(features, targets, *validation)] if validation else self._folds(features, targets)
        accuracy, weight = np.zeros(len(C_grid)), 0
        for X_train, train, X_judge, judge in splits:
            accuracy += judge.n_pairs * self._path_accuracy(X_train, train, X_judge, judge, C_grid)
            weight += judge.n_pairs
        self.validation_accuracy_ = accuracy / weight
        best = int(np.argmax(self.validation_accuracy_))
        self.C_ = float(C_grid[best])
        return self._solve(features, targets, self.C_)

    def _folds(self, X: Floats, targets: Targets) -> list[TrainAndJudge]:
        n_labelled = len(targets.labelled)
        if not isinstance(self.cv, Integral) or not 2 <= self.cv <= n_labelled:
            raise InputError(f"cv must be from 2 to the {n_labelled} labelled items: found {self.cv!r}.")
        folds = targets.folds(np.random.default_rng(self.random_state), self.cv)
        splits = [split for fold in folds if (split := without(fold, X, targets)) is not None]
        if not splits:
            raise InputError(f"No ordered pair is left in the {self.cv} folds of cv: label more items, or give X_val.")
        return splits

    def _path_accuracy(self, X: Floats, targets: Targets, X_judge: Floats, judge: Targets, C_grid: Floats) -> Floats:
        """Return the accuracy on the judging labels for each C, each fit started from the previous one."""
        scaler = standardiser(X)
        X, X_judge = scaler.transform(X), scaler.transform(X_judge)
        loss, w = targets.loss(), np.zeros(X.shape[1])
        accuracy = np.empty(len(C_grid))
        for c, C in enumerate(C_grid):
            w = minimise(X, loss, C, w, self.tol, self.max_iter).w
            accuracy[c] = judge.accuracy(X_judge @ w)
        return accuracy


def _check_settings(**settings: Any) -> None:
    """Raise unless each setting is a finite number above zero, and max_iter a whole one."""
    for name, value in settings.items():
        whole = name == "max_iter"
        number = isinstance(value, Integral if whole else Real) and 0 < float(value) < np.inf
        if not number:
            kind = "a whole number" if whole else "a finite number"
            raise InputError(f"{name} must be {kind} above 0: found {value!r}.")
