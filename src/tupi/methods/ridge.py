"""Ridge regression of the labels on the predictions and the views: what many would try first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.cross_validation import judge_settings
from tupi.labels import Labels, Pairs
from tupi.methods.base import Fit, Method, check_positive
from tupi.methods.supervised import (
    Known,
    finished,
    known_items,
    predict_all,
    stacked_views,
    targets_of,
    view_columns,
)
from tupi.paths import Watch
from tupi.prepared import Prepared
from tupi.rankers.rank_loss import PairLoss
from tupi.rankers.rank_svm import minimise

Array = NDArray[np.float64]

ALPHA_GRID = tuple(10.0 ** (k / 2) for k in range(10, -9, -1))  # from next to nothing but f, to next to no penalty
# With pairs nothing can be left without a penalty: a wider f gets a hundredth of the others'.
F_WIDTH = 10.0
TOL, MAX_ITER = 1e-6, 100


@dataclass(frozen=True, kw_only=True)
class Ridge(Method):
    """Labels regressed on [1, f, H], where H is all views side by side, each view as long as the others.

    Values: ``a + b f + H w`` minimises the squared error plus ``alpha ||w||^2``; f and the intercept carry no penalty,
    so that a large alpha means the initial ranking. For classification each class has its own regression of zeros and
    ones, on its own column of f. Pairs: a rank SVM (label ``e:rankloss``) on [f, H] with weight ``1 / alpha`` of the
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
            return self._fit_pairs(prepared, known, known.labels, watch)
        targets, f, H = targets_of(known, prepared), prepared.f[known.rows], stacked_views(prepared, known.rows)
        paths = [RidgePath(f[:, c], H, targets.columns[:, c]) for c in range(f.shape[1])]
        alphas = self._alphas()
        errors = [sum(path.leave_one_out(alpha) for path in paths) for alpha in alphas]
        alpha = alphas[int(np.argmin(errors))]
        a, b, W = (np.array(part) for part in zip(*(path.solve(alpha) for path in paths), strict=True))

        def predict(f: Array, H: Array) -> Array:
            return (a + b * f + H @ W.T) * targets.scale + targets.shift

        predictions = predict_all(prepared, predict)
        if prepared.problem.task != "classification":
            predictions = predictions[:, 0]
        return self._finished(prepared, predictions, alpha, H @ W.T, H, W, watch, calibrated=True)

    def _alphas(self) -> Sequence[float]:
        return ALPHA_GRID if self.alpha is None else (self.alpha,)
