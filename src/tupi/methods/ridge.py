"""Ridge regression of the labels on the predictions and the views: what many would try first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Pairs
from tupi.inputs.numbers import check_positive
from tupi.judging.folds import judge_settings
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import (
    KnownItems,
    finished,
    known_items,
    predict_all,
    rank_svm_path,
    stacked_views,
    targets_of,
    view_shares,
)

Array = NDArray[np.float64]

ALPHA_GRID = tuple(10.0 ** (k / 2) for k in range(10, -9, -1))  # from next to nothing but f, to next to no penalty
F_WIDTH = 10.0  # with pairs, the column of f is so much wider, and so carries a hundredth of the penalty


@dataclass(frozen=True, kw_only=True)
class Ridge(Method):
    """Labels regressed on [1, f, H], where H is all views side by side, each view as long as the others.

    Values: ``a + b f + H w`` minimises the squared error plus ``alpha ||w||^2``; f and the intercept carry no penalty,
    so that a large alpha means the initial ranking. For classification each class has its own regression of zeros and
    ones, on its own column of f. Pairs: a rank SVM (label ``e:rankloss``) on [f, H], with weight ``1 / alpha`` of the
    mean pair loss, in which f carries a hundredth of the penalty. An item that lacks a view gets that view's mean.

    Parameters
    ----------
    alpha : float, optional
        Penalty of the views. None: from 10^5 down to 10^-4 in half powers of ten, chosen with values by their
        leave-one-out squared error, with pairs by the accuracy in five folds; of equal ones the largest.
    """

    name: ClassVar[str] = "ridge"

    alpha: float | None = None

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Fit to the labels and predict all items."""
        known = known_items(self, prepared, labels)
        if isinstance(known.labels, Pairs):
            alpha, w = self._fit_pairs(prepared, known, known.labels)
            return _finished(prepared, known, alpha, (0.0, F_WIDTH * w[0], w[1:, None]), (1.0, 0.0), watch)
        targets, f, H = targets_of(known, prepared), prepared.f[known.rows], stacked_views(prepared, known.rows)
        paths = [RidgePath(f[:, c], H, targets.columns[:, c]) for c in range(f.shape[1])]
        errors = [sum(path.leave_one_out(alpha) for path in paths) for alpha in self._alphas]
        alpha = self._alphas[int(np.argmin(errors))]
        a, b, w = (np.array(part) for part in zip(*(path.solve(alpha) for path in paths), strict=True))
        return _finished(prepared, known, alpha, (a, b, w.T), (targets.scale, targets.shift), watch)

    @property
    def _alphas(self) -> Sequence[float]:
        return ALPHA_GRID if self.alpha is None else (self.alpha,)

    def _fit_pairs(self, prepared: Prepared, known: KnownItems, pairs: Pairs) -> tuple[float, Array]:
        X = np.hstack([F_WIDTH * prepared.f[known.rows], stacked_views(prepared, known.rows)])

        def path(some: Labels) -> list[Array]:
            return rank_svm_path(X, some, [1 / alpha for alpha in self._alphas])

        best = 0
        if self.alpha is None:
            best = judge_settings(
                lambda some: [X @ w for w in path(some)], pairs, "ranking", random_state=prepared.random_state
            ).best
        return self._alphas[best], path(pairs)[best]


class RidgePath:
    """Least squares of y on [1, f, H] with a penalty on H alone, at any alpha, from one decomposition.

    What [1, f] explains is taken out of y and H first; the rest is ordinary ridge regression.

    Parameters
    ----------
    f, H, y : ndarray of shape (m,), (m, d) and (m,)
        Predictions, views and targets of the labelled items.
    """

    def __init__(self, f: Array, H: Array, y: Array) -> None:
        self._f, self._H, self._y = f, H, y
        fixed = np.column_stack([np.ones(len(f)), f])
        left, singular, _ = np.linalg.svd(fixed, full_matrices=False)
        self._basis = left[:, singular > 1e-10 * singular.max()]  # f may be constant over the labelled items
        self._left, self._S, self._right = np.linalg.svd(self._without(H), full_matrices=False)
        self._rest = self._without(y)
        self._inner = self._left.T @ self._rest

    def _without(self, columns: Array) -> Array:
        return columns - self._basis @ (self._basis.T @ columns)

    def solve(self, alpha: float) -> tuple[float, float, Array]:
        """Return a, b and w."""
        w = self._right.T @ (self._S / (self._S**2 + alpha) * self._inner)
        fixed = np.column_stack([np.ones(len(self._f)), self._f])
        a, b = np.linalg.lstsq(fixed, self._y - self._H @ w, rcond=1e-10)[0]
        return float(a), float(b), w

    def leave_one_out(self, alpha: float) -> float:
        """Return the mean squared error of predictions of each label by a fit to all others."""
        shrunk = self._S**2 / (self._S**2 + alpha)
        residual = self._rest - self._left @ (shrunk * self._inner)
        leverage = np.sum(self._basis**2, axis=1) + self._left**2 @ shrunk
        return float(np.mean((residual / np.maximum(1 - leverage, 1e-8)) ** 2))


def _finished(
    prepared: Prepared,
    known: KnownItems,
    alpha: float,
    line: tuple[float | Array, float | Array, Array],
    units: tuple[float, float],
    watch: Watch | None,
) -> Fit:
    (a, b, w), (scale, shift) = line, units
    predictions = predict_all(prepared, lambda f, H: (a + b * f + H @ w) * scale + shift)
    if prepared.problem.task != "classification":
        predictions = predictions[:, 0]
    note = f"The views' penalty alpha is {alpha:g}, and the weight of a view the deviation of what it adds."
    calibrated = not isinstance(known.labels, Pairs)
    return finished(
        prepared, predictions, {"alpha": alpha}, view_shares(prepared, known.rows, w), (note,), watch, calibrated
    )
