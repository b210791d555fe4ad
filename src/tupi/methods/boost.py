"""Boosted trees that start from the predictions."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import Array, finished, known_items, predict_all, stacked_views, view_columns
from tupi.methods.trees import training_order, tree_columns


@dataclass(frozen=True, kw_only=True)
class Boost(Method):
    """Labels by gradient boosting on [f, H] that starts from f, where H is all views side by side.

    Values start from a + b f, with a and b >= 0 by least squares, and classes from f's probabilities; each tree then
    explains what is left of the squared error (of a class, of zeros and ones). LightGBM grows the trees where it is
    installed (``pip install 'tupi[boost]'``), and scikit-learn otherwise. Labels must be values; an item that lacks a
    view gets that view's mean. As for `tupi.methods.Trees`, neither the order of items and views nor a copy counts.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    learning_rate : float
        Share of each tree that is added.
    max_leaf_nodes : int
        Leaves of a tree, at most.
    min_samples_leaf : int
        Labelled items in a leaf, at least.
    """

    name: ClassVar[str] = "boost"

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 15
    min_samples_leaf: int = 5

    def __post_init__(self) -> None:
        for name, least in (("n_estimators", 1), ("max_leaf_nodes", 2), ("min_samples_leaf", 1)):
            check_positive(name, getattr(self, name), whole=True, least=least, optional=False)
        check_positive("learning_rate", self.learning_rate, optional=False)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Boost on the labels and predict all items."""
        known = known_items(self, prepared, labels, pairs=False)
        f, H = prepared.f[known.rows], stacked_views(prepared, known.rows)
        X = tree_columns(prepared, f, H)
        rows = training_order(X, f, known.values)
        first = np.unique(X[rows], axis=1, return_index=True)[1]  # of equal columns one, in the order of their content
        if prepared.problem.task == "classification":
            targets = np.eye(f.shape[1])[known.values.astype(np.int64)]
            center, unit, line = np.zeros(f.shape[1]), 1.0, (0.0, 0.0)
        else:
            center, unit = known.values.mean(), known.values.std() or 1.0
            targets = ((known.values - center) / unit)[:, None]
            line = _line(f[:, 0], targets[:, 0])

        def start(f: Array) -> Array:
            if prepared.problem.task == "classification":
                logs = f * prepared.scale + prepared.shift if prepared.problem.are_probabilities else f
                return np.asarray(softmax(logs, axis=1))
            return line[0] + line[1] * f

        residuals = targets - start(f)
        boosters = [self._boosted(X[np.ix_(rows, first)], one[rows], prepared.random_state) for one in residuals.T]

        def predict(f: Array, H: Array) -> Array:
            X = tree_columns(prepared, f, H)[:, first]
            found = (start(f) + np.column_stack([one.predict(X) for one in boosters])) * unit + center
            return found if prepared.problem.task == "classification" else found[:, 0]

        weights = np.array([_moved(predict, f, H, columns) for columns in view_columns(prepared)])
        by = "LightGBM" if _with_lightgbm() else "scikit-learn"
        note = f"Boosting by {by} started from the initial predictions."
        return finished(prepared, predict_all(prepared, predict), self.params(), weights, (note,), watch)

    def _boosted(self, X: NDArray[np.floating], y: Array, seed: int) -> Any:
        """Return trees that explain what is left."""
        if _with_lightgbm():
            import lightgbm

            settings = {
                "objective": "regression",
                "boost_from_average": False,  # what is explained is what the start leaves
                "learning_rate": self.learning_rate,
                "num_leaves": self.max_leaf_nodes,
                "min_data_in_leaf": self.min_samples_leaf,
                "min_data_in_bin": 1,
                "seed": seed,
                "deterministic": True,
                "force_row_wise": True,
                "num_threads": 1,
                "verbosity": -1,
            }
            return lightgbm.train(settings, lightgbm.Dataset(X, y, params=settings), self.n_estimators)
        from sklearn.ensemble import HistGradientBoostingRegressor  # takes long to import

        return HistGradientBoostingRegressor(
            learning_rate=self.learning_rate,
            max_iter=self.n_estimators,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=self.min_samples_leaf,
            early_stopping=False,
            random_state=seed,
        ).fit(X, y)


def _with_lightgbm() -> bool:
    """Return whether LightGBM is installed."""
    return importlib.util.find_spec("lightgbm") is not None


def _line(f: Array, z: Array) -> tuple[float, float]:
    """Return a and b of the line a + b f that is nearest to z, with b at least zero."""
    spread = f.var()
    slope = max(float(np.mean((f - f.mean()) * (z - z.mean())) / spread), 0.0) if spread > 0 else 0.0
    return float(z.mean() - slope * f.mean()), slope


def _moved(predict: Any, f: Array, H: Array, columns: slice) -> float:
    """Return by how much predictions of the labelled items change if a view is the same for all of them."""
    without = H.copy()
    without[:, columns] = 0.0
    return float(np.sqrt(np.mean((predict(f, H) - predict(f, without)) ** 2)))
