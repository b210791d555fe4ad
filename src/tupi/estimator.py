"""The scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from tupi.api import denoise
from tupi.inputs.checks import MIN_ITEMS
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import unmasked
from tupi.inputs.types import Column, Table
from tupi.methods import Method
from tupi.results.result import Denoised
from tupi.runtime.errors import InputError


class TupiDenoiser(BaseEstimator):
    """Improve predictions with features, transductively: there is no `predict` for other items.

    Parameters
    ----------
    method : str or Method
        As in `tupi.denoise`.
    views : dict of {str: list of int, slice or list of str}, optional
        Which columns of ``X`` form which view; None takes all as one view.
    task : {"ranking", "regression"}
        What the predictions are for.
    random_state : int
        Same seed, same result.
    params : dict, optional
        The method's own parameters, such as ``{"lam": 0.3}`` with ``method="tupi"``.

    Attributes
    ----------
    denoised_ : ndarray of shape (n,)
        The improved predictions.
    result_ : Denoised
        Everything else.
    n_features_in_ : int
        Number of columns of ``X``.

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
        views: Mapping[str, slice | Sequence[int] | Sequence[str]] | None = None,
        task: str = "ranking",
        random_state: int = 0,
        params: dict[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.views = views
        self.task = task
        self.random_state = random_state
        self.params = params

    def fit(self, X: Table, y: Column, labels: Labels | Column | None = None) -> TupiDenoiser:
        """Denoise the predictions.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features of the items.
        y : array_like of shape (n,)
            Their initial predictions.
        labels : Values, Pairs or array_like of shape (n,), optional
            What is known of some items.
        """
        names = getattr(X, "columns", None)
        plain = [unmasked(each) if np.ma.isMaskedArray(each) else each for each in (X, y)]  # scikit-learn drops masks
        rows, scores = validate_data(self, *plain, y_numeric=True, dtype="numeric", ensure_min_samples=MIN_ITEMS)
        if np.iscomplexobj(scores):
            raise InputError("y: found complex numbers; accepted: real predictions.")
        columns = {"features": slice(None)} if self.views is None else self.views
        if not isinstance(columns, Mapping):
            raise InputError(f"views: found {columns!r}; accepted: a mapping such as {{'color': [0, 1]}}, or None.")
        result = denoise(
            scores,
            {name: rows[:, _positions(name, which, names, rows.shape[1])] for name, which in columns.items()},
            labels=labels,
            method=self.method,
            task=self.task,
            random_state=self.random_state,
            **(self.params or {}),
        )
        self.result_ = result
        self.denoised_ = result.predictions
        return self

    def fit_predict(self, X: Table, y: Column, labels: Labels | Column | None = None) -> np.ndarray:
        """Denoise the predictions and return them."""
        return self.fit(X, y, labels).denoised_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def report(self, path: str | Path) -> Path:
        """Write the HTML report of the fitted result."""
        check_is_fitted(self, "result_")
        if not isinstance(self.result_, Denoised):
            raise InputError("report: found a result of a Dask cluster; accepted: one that was computed in memory.")
        return self.result_.report(path)


def _positions(view: str, which: Any, names: Any, d: int) -> Any:
    """Return column positions among d from positions, a slice, truth values, or column names."""
    if isinstance(which, slice):
        return which
    wanted = np.atleast_1d(np.asarray(which))
    if wanted.dtype.kind == "b" and wanted.shape == (d,):
        return np.flatnonzero(wanted)
    if wanted.dtype.kind in "iu" and wanted.ndim == 1:
        if ((wanted < -d) | (wanted >= d)).any():
            raise InputError(f"views: {view!r} is {which!r}; accepted: numbers of columns from 0 to {d - 1}.")
        return wanted
    if wanted.dtype.kind not in "UO" or wanted.ndim != 1:
        raise InputError(f"views: {view!r} is {which!r}; accepted: a list of column numbers or names, or a slice.")
    if names is None:
        raise InputError(f"views: {view!r} names columns, but X has no column names; accepted: column numbers.")
    known = {str(name): k for k, name in enumerate(names)}
    unknown = [str(name) for name in wanted if str(name) not in known]
    if unknown:
        raise InputError(f"views: {view!r} names a column {unknown[0]!r} that X does not have.")
    return np.array([known[str(name)] for name in wanted])
