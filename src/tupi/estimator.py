"""The scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from tupi.api import denoise
from tupi.inputs.classes import plain_name
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.numbers import as_numbers, as_plain, unmasked
from tupi.inputs.problem import MIN_ITEMS
from tupi.inputs.types import Column, Table
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods import Method
from tupi.runtime.errors import InputError

Which = slice | int | str | Sequence[int] | Sequence[str]  # columns of X


def _knows_predictions(estimator: TupiDenoiser) -> bool:
    """Return whether new items can be predicted: not where ``y`` held the predictions, which nobody has for them."""
    if getattr(estimator, "y_is_predictions_", False):
        raise AttributeError(
            "TupiDenoiser was fitted with the initial predictions as y, so it does not know where to find those of new "
            "items; accepted: TupiDenoiser(predictions=column of X), or fit(X, y, predictions=...), where y are labels."
        )
    return True


def _has_classes(estimator: TupiDenoiser) -> bool:
    return estimator.task == "classification" and _knows_predictions(estimator)


class TupiDenoiser(BaseEstimator):
    """Improve predictions with features.

    The initial predictions come in one of three ways, and ``y`` depends on it:

    - they are columns of ``X``: ``TupiDenoiser(predictions="score").fit(X, y)``. Then ``y`` holds labels, NaN or None
      where they are not known, and everything that scikit-learn has works: pipelines, searches, cross-validation;
    - they are given beside ``X``: ``fit(X, y, predictions=scores)`` and ``predict(X, predictions=scores)``; ``y`` as
      above. In searches and pipelines they have to be requested, ``set_fit_request(predictions=True)``;
    - they are ``y``: ``fit(X, scores, labels=...)``. That is for the items at hand only; there is no `predict`.

    Parameters
    ----------
    method : str or Method
        As in `tupi.denoise`.
    predictions : int, str, slice or list, optional
        The column of ``X`` with the initial predictions; one for each class for classification.
    views : dict of {str: list of int, slice or list of str}, optional
        Which columns of ``X`` form which view; None takes all but the predictions as one view, ``"features"``.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    impute : {"median", None}
        What to do about single missing values within a row of a view: fill in the column's median, or fail. A row that
        is NaN in all columns of a view means that the item lacks the view.
    random_state : int
        Same seed, same result.
    params : dict, optional
        The method's own parameters, such as ``{"lam": 0.3}`` with ``method="tupi"``.

    Attributes
    ----------
    denoised_ : ndarray of shape (n,) or (n, c)
        The improved predictions.
    result_ : Denoised
        Everything else. It has the ids of the items, if ``X`` is a DataFrame with different ones.
    classes_ : ndarray of shape (c,)
        For classification: the classes, by the names of the predictions' columns if they have any. Labels may also
        number columns of ``X`` from 0 on, if their names are in ascending order; then the classes are these numbers.
    n_features_in_ : int
        Number of columns of ``X``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if ``X`` has them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> X = np.column_stack([truth, rng.normal(size=200)])
    >>> estimator = TupiDenoiser(views={"good": [0], "junk": [1]}).fit(X, truth + rng.normal(size=200))
    >>> estimator.denoised_.shape
    (200,)
    """

    def __init__(
        self,
        method: str | Method = "auto",
        *,
        predictions: Which | None = None,
        views: Mapping[str, Which] | None = None,
        task: str = "ranking",
        impute: str | None = "median",
        random_state: int = 0,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.predictions = predictions
        self.views = views
        self.task = task
        self.impute = impute
        self.random_state = random_state
        self.params = params

    def fit(
        self,
        X: Table,
        y: Column | None = None,
        labels: Labels | Sequence[Labels] | Column | None = None,
        predictions: Table | None = None,
        groups: Column | None = None,
    ) -> TupiDenoiser:
        """Denoise the predictions of these items.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features of the items, and their initial predictions if ``predictions`` of the estimator says so. A
            DataFrame may have columns of any kind.
        y : array_like of shape (n,), optional
            What is known of the items, NaN or None where nothing is; their initial predictions if these come in no
            other way.
        labels : Values, Pairs or array_like of shape (n,), optional
            What is known of some items, if ``y`` does not say it. In cross-validation it must be an array.
        predictions : array_like of shape (n,) or (n, c), optional
            The initial predictions, if they are neither in ``X`` nor ``y``.
        groups : array_like of shape (n,), optional
            The group of each item, as in `tupi.denoise`.
        """
        apart = predictions is not None
        if apart and self.predictions is not None:
            raise InputError(f"predictions: found beside columns {self.predictions!r} of X; accepted: one of the two.")
        self.y_is_predictions_ = not apart and self.predictions is None
        if self.y_is_predictions_:
            predictions = y
        elif y is not None and labels is not None:
            raise InputError("labels: found beside y, which holds labels too; accepted: one of the two.")
        elif y is not None:
            labels = as_plain("y", y)
        scores, views = self._parts(X, predictions, fitting=True)
        if self.predictions is not None and _mean_numbers(labels, scores):
            scores = scores.set_axis(range(scores.shape[1]), axis=1)
        options: dict[str, Any] = {} if groups is None else {"groups": groups}
        options |= self.params or {}
        result = denoise(
            scores,
            views,
            labels=labels,
            method=self.method,
            task=self.task,
            random_state=self.random_state,
            impute=self.impute,
            **options,
        )
        self.result_ = result
        self.denoised_ = result.predictions
        if self.task == "classification":
            names = result.classes
            n_classes = 2 if self.denoised_.ndim == 1 else self.denoised_.shape[1]
            self.classes_ = np.asarray(range(n_classes) if names is None else names)
        return self

    def fit_predict(
        self,
        X: Table,
        y: Column | None = None,
        labels: Labels | Sequence[Labels] | Column | None = None,
        predictions: Table | None = None,
        groups: Column | None = None,
    ) -> np.ndarray:
        """Denoise the predictions of these items and return them; classes for classification."""
        return self._answer(self.fit(X, y, labels, predictions, groups).denoised_)

    @available_if(_knows_predictions)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict(self, X: Table, predictions: Table | None = None, groups: Column | None = None) -> np.ndarray:
        """Return improved predictions of other items, or their classes for classification.

        Parameters
        ----------
        X : array_like of shape (k, d)
            Features of the items, in the columns that `fit` saw.
        predictions : array_like of shape (k,) or (k, c), optional
            Their initial predictions, if these are not in ``X``.
        groups : array_like of shape (k,), optional
            Their groups, if `fit` had groups: each with all its items.
        """
        return self._answer(self._predicted(X, predictions, groups))

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Table, predictions: Table | None = None) -> np.ndarray:
        """Return improved class probabilities, or scores if these came in, of other items: see `predict`."""
        return _by_class(self._predicted(X, predictions))

    @available_if(_knows_predictions)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def score(
        self,
        X: Table,
        y: Column,
        predictions: Table | None = None,
        groups: Column | None = None,
        sample_weight: Column | None = None,
    ) -> float:
        """Return how good the predictions of other items are, by those whose truth is known.

        That is pairwise accuracy for ranking (the share of pairs in the right order), R^2 for regression, and accuracy
        for classification.

        Parameters
        ----------
        X, predictions, groups
            As in `predict`; of items with groups, pairs within a group count.
        y : array_like of shape (k,)
            The truth; NaN or None where it is not known.
        sample_weight : array_like of shape (k,), optional
            How much each item counts, for regression and classification; scikit-learn's pipelines pass it on.
        """
        if sample_weight is not None and self.task == "ranking":
            raise InputError("sample_weight: found for ranking, where pairs are scored; accepted: None.")
        truth = as_plain("y", y)
        if truth.ndim != 1:
            raise InputError(f"y: found shape {truth.shape}; accepted: one value for each row of X.")
        known = ~pd.isna(truth)
        if not known.any():
            raise InputError("y: found no value; accepted: the truth of some items.")
        found = self.predict(X, predictions, groups)
        if len(found) != len(truth):
            raise InputError(f"y: found {len(truth)} value(s) for {len(found)} rows of X; accepted: one for each.")
        found, truth = found[known], truth[known]
        weights = None if sample_weight is None else _weights(sample_weight, known)
        if self.task == "classification":  # 1, 1.0 and "1" are one class, and no name is cut to the length of others
            right = [plain_name(one) == plain_name(other) for one, other in zip(truth, found, strict=True)]
            return float(np.average(right, weights=weights))
        truth = as_numbers("y", truth).astype(np.float64)
        if self.task == "regression":
            return float(r2_score(truth, found, sample_weight=weights))
        return pairwise_accuracy(found, truth, None if groups is None else np.asarray(groups)[known])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.predictions is None
        tags.input_tags.allow_nan = self.impute is not None and self.predictions is None  # views may have gaps only
        return tags

    def report(self, path: str | Path) -> Path:
        """Write the HTML report of the fitted result."""
        check_is_fitted(self, "result_")
        return self.result_.report(path)

    def _predicted(self, X: Table, predictions: Table | None, groups: Column | None = None) -> np.ndarray:
        check_is_fitted(self, "result_")
        if predictions is None and self.predictions is None:
            raise InputError("predictions: found None; accepted: the initial predictions of these items, as in fit.")
        scores, views = self._parts(X, predictions, fitting=False)
        if self.predictions is not None and isinstance(scores, pd.DataFrame):
            scores = scores.set_axis(self.classes_, axis=1)  # the columns of `fit`, in the same order
        return np.asarray(self.result_.predict(scores, views, groups=groups))

    def _answer(self, columns: np.ndarray) -> np.ndarray:
        """Return predictions as scikit-learn has them: the most likely class for classification."""
        return self.classes_[_by_class(columns).argmax(axis=1)] if self.task == "classification" else columns

    def _parts(self, X: Any, predictions: Any, fitting: bool) -> tuple[Any, dict[str, Any]]:
        """Check the columns of ``X`` and return the initial predictions, with ids if there are any, and the views."""
        mixed = isinstance(X, pd.DataFrame) and any(not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes)
        names, index = getattr(X, "columns", None), _ids(X)
        rows: Any
        if mixed:
            validate_data(self, X, reset=fitting, skip_check_array=True)
            rows = X.set_axis(index, axis=0)
        else:
            at_least = 2 if fitting and self.predictions is not None and self.views is None else 1
            limits = {"ensure_min_samples": MIN_ITEMS if fitting else 1, "ensure_min_features": at_least}
            checks = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "reset": fitting, **limits}
            X = unmasked(X) if np.ma.isMaskedArray(X) else X  # scikit-learn drops masks
            if fitting and self.y_is_predictions_:
                y = unmasked(predictions) if np.ma.isMaskedArray(predictions) else predictions
                several = {"multi_output": self.task == "classification", "y_numeric": True}
                rows, scores = validate_data(self, X, y, **several, **checks)
                predictions = _like(predictions, scores)
            else:
                rows = validate_data(self, X, **checks)
        d = rows.shape[1]
        own = np.array([], int)
        if self.predictions is not None:
            own = np.arange(d)[_positions("predictions", self.predictions, names, d)]
            predictions = _columns(rows, own[0] if len(own) == 1 else own)
            if len(own) > 1 and names is not None and self.task == "classification":
                predictions = pd.DataFrame(np.asarray(predictions), columns=[names[k] for k in own])
        views = {"features": np.setdiff1d(np.arange(d), own)} if self.views is None else self.views
        if not isinstance(views, Mapping):
            raise InputError(f"views: found {views!r}; accepted: a mapping such as {{'color': [0, 1]}}, or None.")
        found = {
            str(name): _columns(rows, np.arange(d)[_positions(f"views: {name!r}", which, names, d)])
            for name, which in views.items()
        }
        if np.iscomplexobj(predictions):
            raise InputError("y: found complex numbers; accepted: real predictions.")
        return _with_ids(predictions, index), found


def _ids(X: Any) -> Any:
    """Return the ids of the items of a table; their positions if the ids do not differ."""
    if not isinstance(X, pd.DataFrame):
        return None
    return X.index if X.index.is_unique else pd.RangeIndex(len(X))


def _columns(rows: Any, which: Any) -> Any:
    """Return columns of a table or array by their positions."""
    return rows.iloc[:, which] if isinstance(rows, pd.DataFrame) else rows[:, which]


def _mean_numbers(labels: Any, scores: Any) -> bool:
    """Return whether labels are numbers of class columns, from 0 on, and none of the names that these have.

    Scikit-learn may have put them in the place of names, which it counts in ascending order. In columns of another
    order the same number would mean two classes, and is none.
    """
    if not isinstance(scores, pd.DataFrame) or labels is None or isinstance(labels, Pairs):
        return False
    names = list(map(str, scores.columns))
    if names != sorted(names):
        return False
    values = np.asarray(labels.values if isinstance(labels, Values) else as_plain("labels", labels), object)
    known = {plain_name(one) for one in values[~pd.isna(values)]}
    return known <= set(range(scores.shape[1])) and not known <= set(map(plain_name, scores.columns))


def _like(given: Any, checked: np.ndarray) -> Any:
    """Return checked numbers under the names of the columns in which they came."""
    named = isinstance(given, pd.DataFrame) and checked.ndim > 1
    return pd.DataFrame(checked, columns=given.columns) if named else checked


def _with_ids(predictions: Any, index: pd.Index | None) -> Any:
    """Return predictions under the ids of the items, if these have any."""
    if index is None or predictions is None:
        return predictions
    if len(predictions) != len(index):
        raise InputError(f"predictions: found {len(predictions)} for {len(index)} rows of X; accepted: one per row.")
    if isinstance(predictions, (pd.Series, pd.DataFrame)):
        return predictions.set_axis(index, axis=0)
    return pd.DataFrame(predictions, index=index) if np.ndim(predictions) > 1 else pd.Series(predictions, index=index)


def _weights(sample_weight: Column, known: np.ndarray) -> np.ndarray:
    """Return how much each item counts whose truth is known."""
    weights = as_numbers("sample_weight", sample_weight).astype(np.float64)
    if weights.shape != known.shape or not (np.isfinite(weights) & (weights >= 0)).all() or not weights[known].any():
        raise InputError(
            f"sample_weight: found shape {weights.shape} for {len(known)} rows of X, or none above 0; accepted: a "
            "finite number from 0 on for each, some of them above 0."
        )
    found: np.ndarray = weights[known]
    return found


def _by_class(columns: np.ndarray) -> np.ndarray:
    """Return one column per class, also where one probability per item says it all."""
    return np.column_stack([1.0 - columns, columns]) if columns.ndim == 1 else columns


def _positions(called: str, which: Any, names: Any, d: int) -> Any:
    """Return column positions among d from positions, a slice, truth values, or column names."""
    if isinstance(which, slice):
        return which
    wanted = np.atleast_1d(np.asarray(which))
    if wanted.dtype.kind == "b" and wanted.shape == (d,):
        return np.flatnonzero(wanted)
    if wanted.dtype.kind in "iu" and wanted.ndim == 1:
        if ((wanted < -d) | (wanted >= d)).any():
            raise InputError(f"{called} is {which!r}; accepted: numbers of columns from 0 to {d - 1}.")
        return wanted
    if wanted.dtype.kind not in "UO" or wanted.ndim != 1:
        raise InputError(f"{called} is {which!r}; accepted: a list of column numbers or names, or a slice.")
    if names is None:
        raise InputError(f"{called} names columns, but X has no column names; accepted: column numbers.")
    known = {str(name): k for k, name in enumerate(names)}
    unknown = [str(name) for name in wanted if str(name) not in known]
    if unknown:
        raise InputError(f"{called} names a column {unknown[0]!r} that X does not have.")
    return np.array([known[str(name)] for name in wanted])
