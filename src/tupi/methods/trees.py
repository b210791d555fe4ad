"""Extremely randomised trees on the predictions and the views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import Array, Positions, finished, known_items, predict_all, stacked_views, view_columns


@dataclass(frozen=True, kw_only=True)
class Trees(Method):
    """Labels by scikit-learn's extremely randomised trees on [f, H], where H is all views side by side.

    Nothing is tuned: averages of many full-grown random trees hardly depend on their settings, and a choice between
    leaf sizes by a few dozen labels would be noise. Labels must be values; an item that lacks a view gets that view's
    mean. Rows and columns are put in an order of their content before splits are drawn, and of equal columns one is
    kept, so that neither the order of items and views nor a copy of a view counts.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    min_samples_leaf : int
        Labelled items in a leaf, at least.
    max_features : float, optional
        Share of columns that a split looks at. None: all of them for values, as many as the square root for classes,
        which are scikit-learn's defaults.
    """

    name: ClassVar[str] = "trees"

    n_estimators: int = 100
    min_samples_leaf: int = 1
    max_features: float | None = None

    def __post_init__(self) -> None:
        for name in ("n_estimators", "min_samples_leaf"):
            check_positive(name, getattr(self, name), whole=True, least=1, optional=False)
        check_positive("max_features", self.max_features, most=1)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Grow trees on the labels and predict all items."""
        known = known_items(self, prepared, labels, pairs=False)
        classes = prepared.problem.task == "classification"
        settings: dict[str, Any] = self.params() | {"random_state": prepared.random_state}
        if self.max_features is None:
            settings["max_features"] = "sqrt" if classes else 1.0
        from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor  # takes long to import

        forest = ExtraTreesClassifier(**settings) if classes else ExtraTreesRegressor(**settings)
        X, values = tree_columns(prepared, prepared.f[known.rows], stacked_views(prepared, known.rows)), known.values
        rows = training_order(X, prepared.f[known.rows], values)
        # Columns come back sorted by content, row by row.
        _, first, which = np.unique(X[rows], axis=1, return_index=True, return_inverse=True)
        forest.fit(X[np.ix_(rows, first)], values[rows])

        def predict(f: Array, H: Array) -> Array:
            X = tree_columns(prepared, f, H)[:, first]
            if not classes:
                return forest.predict(X)
            chances = np.zeros_like(f)  # a class without labels gets none
            chances[:, forest.classes_] = forest.predict_proba(X)
            return chances

        predictions = predict_all(prepared, predict)
        shared = forest.feature_importances_ / np.bincount(which)  # equal columns share what the kept one has
        importances = shared[which][prepared.f.shape[1] :]
        weights = np.array([importances[columns].sum() for columns in view_columns(prepared)])
        share = f"{100 * (1 - importances.sum()):.0f}%" if forest.feature_importances_.any() else "none"
        note = f"Of the trees' gain in purity, {share} is due to splits on the initial predictions."
        del settings["random_state"]
        return finished(prepared, predictions, settings, weights, (note,), watch)


def tree_columns(prepared: Prepared, f: Array, H: Array) -> NDArray[np.float32]:
    """Return [f, H] as trees see it, on a scale that does not depend on the number of views."""
    return np.hstack([f, H * np.sqrt(len(prepared.problem.views))]).astype(np.float32)


def training_order(X: NDArray[np.float32], f: Array, values: Array) -> Positions:
    """Return an order of rows by label, prediction and features, whatever the order of columns."""
    H = X.astype(np.float64)
    powers = [np.round(np.sum(H**power, axis=1), 6) for power in (4, 3, 2)]
    return np.lexsort([*powers, *f.T[::-1], values])
