"""`tupi.tune`: a linear or kernel model of one's own, improved with features that it never sees.

The model's predictions of some items are denoised, and its coefficients then follow them: f(x) = phi(x) theta becomes
phi(x) (theta + delta), where delta is the ridge regression of what denoising changed on phi(x), with the penalty that
predicts left-out items best. What comes out needs the old features only, also for items whose new features nobody has.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tupi.api import denoise
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import as_numbers
from tupi.inputs.types import Column, FeaturesLike, Table
from tupi.runtime.errors import InputError

PENALTIES = np.logspace(-4, 6, 31)  # of which left-out items choose one
LEAST_EIGENVALUE = 1e-8  # of a kernel between the items of a model, in that of the largest: less is rounding
ACCEPTED = (
    "accepted: a fitted model of scikit-learn with one row of coefficients (coef_), KernelRidge or "
    "GaussianProcessRegressor with one output, or a pipeline that ends in one"
)
Array = NDArray[np.float64]
Estimator = TypeVar("Estimator")  # of scikit-learn, which has no types


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A model that is linear in some features of an item.

    Attributes
    ----------
    phi : ndarray of shape (n, p)
        These features of the items.
    predictions : ndarray of shape (n,)
        What the model says of them.
    constant : bool
        Whether the model has a constant beside them.
    move : callable
        Changes the model, given what is added to the coefficients of these features and to the constant.
    """

    phi: Array
    predictions: Array
    constant: bool
    move: Callable[[Array, float], None]


def tune(
    model: Estimator, X: Table, features: FeaturesLike, labels: Labels | Column | None = None, **options: Any
) -> Estimator:
    """Return a copy of a linear or kernel model that is better by features that it never sees.

    Parameters
    ----------
    model : estimator of scikit-learn
        A fitted linear model with one row of coefficients, `sklearn.kernel_ridge.KernelRidge` or
        `sklearn.gaussian_process.GaussianProcessRegressor` with one output, or a pipeline that ends in one. It is left
        as it is. Of classifiers of two classes, the scores (``decision_function``) are tuned.
    X : array_like of shape (n, d)
        What the model sees of some items.
    features : dict, list, array_like or DataFrame
        Views of the same items, as `tupi.denoise` takes them.
    labels : Values, Pairs, Series or array_like of shape (n,), optional
        What is known of some of these items.
    **options
        Passed to `tupi.denoise`, such as ``method`` or ``task``.

    Returns
    -------
    estimator of scikit-learn
        The tuned model. It is equal to the given one if denoising changed nothing.

    Examples
    --------
    >>> import numpy as np, tupi
    >>> from sklearn.linear_model import Ridge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 20))
    >>> truth = X[:, 0] + X[:, 1]
    >>> model = Ridge(alpha=0.1).fit(X[:30], truth[:30] + 2 * rng.normal(size=30))
    >>> views = {"view": np.column_stack([truth, truth]) + 0.5 * rng.normal(size=(900, 2))}
    >>> items, later = slice(30, 600), slice(600, 900)
    >>> known = tupi.Values(range(30), truth[30:60])
    >>> tuned = tupi.tune(model, X[items], {"view": views["view"][items]}, known)
    >>> before, after = (tupi.pairwise_accuracy(one.predict(X[later]), truth[later]) for one in (model, tuned))
    >>> bool(after > before + 0.03)
    True
    """
    tuned = deepcopy(model)
    found = _checked(tuned, X)
    result = denoise(found.predictions, features, labels, **options)
    if not isinstance(result.predictions, np.ndarray) or result.predictions.ndim != 1:
        raise InputError("tune: found items on Dask or several classes; accepted: arrays in memory, and one output.")
    change = result.predictions - found.predictions
    if not change.any():
        return tuned
    ridge = RidgeCV(PENALTIES, fit_intercept=found.constant).fit(found.phi, change)
    found.move(ridge.coef_, float(ridge.intercept_))
    return tuned


def _checked(model: Any, X: Any) -> LinearModel:
    """Return what `_linear` does; what scikit-learn says of the model or of its items becomes a sentence."""
    try:
        return _linear(model, X)
    except InputError:
        raise
    except NotFittedError:
        raise InputError(f"model: found {type(model).__name__} that was not fitted; {ACCEPTED}.") from None
    except (ValueError, TypeError) as problem:
        said = " ".join(str(problem).split()).rstrip(".")
        raise InputError(f"X: {type(model).__name__} refuses it ({said}); accepted: what it was fitted to.") from None


def _linear(model: Any, X: Any) -> LinearModel:
    """Return a model as one that is linear in some features, or complain."""
    if isinstance(model, Pipeline):
        return _linear(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if not isinstance(model, BaseEstimator):
        raise InputError(f"model: found {type(model).__name__}; {ACCEPTED}.")
    check_is_fitted(model)
    if isinstance(model, KernelRidge) and model.dual_coef_.ndim == 1:
        return _of_kernel(model, "dual_coef_", model._get_kernel(X, model.X_fit_), model._get_kernel(model.X_fit_))
    if isinstance(model, GaussianProcessRegressor) and model.alpha_.ndim == 1:
        unit, rows = float(model._y_train_std), model.X_train_
        across, within = unit * model.kernel_(np.asarray(X), rows), unit * model.kernel_(rows)
        return _of_kernel(model, "alpha_", across, within, float(model._y_train_mean))
    coefficients, columns = getattr(model, "coef_", None), getattr(model, "n_features_in_", None)
    if coefficients is None or np.size(coefficients) != columns or not hasattr(model, "intercept_"):
        raise InputError(f"model: found {type(model).__name__}; {ACCEPTED}.")

    rows = np.asarray(as_numbers("X", X), np.float64)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise InputError(f"X: found shape {rows.shape}; accepted: (n, {columns}), as the model was fitted to.")
    spread = rows.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)

    def move(delta: Array, constant: float) -> None:
        model.coef_ = model.coef_ + (delta / spread).reshape(np.shape(model.coef_))
        model.intercept_ = model.intercept_ + constant

    predictions = rows @ np.ravel(coefficients) + float(np.ravel(model.intercept_)[0])
    return LinearModel(rows / spread, predictions, True, move)


def _of_kernel(model: Any, name: str, across: Array, within: Array, mean: float = 0.0) -> LinearModel:
    """Return a kernel model as linear in K(x, x') K(x', x')^-1/2, so that the penalty is that of its own space.

    Parameters
    ----------
    model : estimator
        The model.
    name : str
        The attribute with its coefficients.
    across, within : ndarray of shape (n, m) and (m, m)
        The kernel between items and the m items that the model was fitted to, and among these.
    mean : float
        What is added to the products of kernel and coefficients.
    """
    values, vectors = eigh(within)
    some = values > LEAST_EIGENVALUE * values[-1]
    root = vectors[:, some] / np.sqrt(values[some])

    def move(delta: Array, constant: float) -> None:
        setattr(model, name, getattr(model, name) + root @ delta)

    return LinearModel(across @ root, across @ getattr(model, name) + mean, False, move)
