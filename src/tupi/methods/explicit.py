"""An explicit function of a prediction and its views that repeats what a method did to the items that it had.

The paper's method moves the predictions of a given set of items, and says nothing of others. But what it did is nearly
a function g of an item's prediction f and views H, since it only ever sees them through kernels: f^O - f^I is fitted by
ridge regression on the features of the same kernels, those of f and of each view at its basis points, and on their
products with f. How much to trust them is chosen by leaving out items one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Memory
from tupi.embedding.embedding import EmbeddingOptions, gaussian_features
from tupi.embedding.gaussian import kernel_matrix, sample_views, squared_distances
from tupi.embedding.prepared import Prepared, in_scale
from tupi.embedding.relevance import evenly
from tupi.inputs.new_items import Foreseen, Known, NewItems
from tupi.inputs.views import View
from tupi.methods.base import familiarity, usual_distance
from tupi.runtime.computing import one_blas_thread

FITTED = 5000  # items that the function is fitted to
PENALTIES = tuple(10.0**k for k in range(-8, 1))  # that are tried, in units of the features' total variance
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class KernelFeatures:
    """Features of one set of columns: kernels with basis points (`tupi.embedding.gaussian.GaussianFeatures`).

    Attributes
    ----------
    basis : ndarray of shape (k, d)
        The basis points.
    sigma2 : float
        The kernel's squared width.
    root : ndarray of shape (k, r)
        From kernels to features.
    center : ndarray of shape (r,)
        Their means over the items of the fit.
    spread : float
        The root mean square distance of these to the nearest basis point.
    """

    basis: Array
    sigma2: float
    root: Array
    center: Array
    spread: float

    @classmethod
    def of(cls, rows: Array, options: EmbeddingOptions) -> KernelFeatures:
        """Return the features of rows that are a sample of all."""
        found = gaussian_features(rows, options)
        distance = squared_distances(rows, found.basis).min(axis=1)
        return cls(found.basis, found.sigma2, found.root, found(rows).mean(axis=0), float(np.sqrt(distance.mean())))

    def __call__(self, rows: Array) -> Array:
        """Return centred features of rows."""
        return kernel_matrix(rows, self.basis, self.sigma2) @ self.root - self.center

    def far(self, rows: Array) -> Array:
        """Return how far rows are from the nearest basis point, squared and in units of what is usual."""
        return squared_distances(rows, self.basis).min(axis=1) / max(self.spread, 1e-12) ** 2


@dataclass(frozen=True, eq=False)
class ExplicitModel:
    """What a method did, as a function of an item.

    Attributes
    ----------
    known : Known
        What the problem knew of its views.
    scale, shift : ndarray of shape (c,)
        ``columns * scale + shift`` are predictions, or centred logarithms of probabilities.
    of_f : list of KernelFeatures
        Of each column of predictions.
    of_views : list of KernelFeatures
        Of each view.
    scaling : str
        How views are scaled, see `tupi.inputs.views.View.rows`.
    coefficients : ndarray of shape (p, c) or None
        Of the features side by side, see `_design`; None if predictions stay as they are.
    usual : float
        The distance within which nearly all items of the fit are.
    """

    known: Known
    scale: Array
    shift: Array
    of_f: list[KernelFeatures]
    of_views: list[KernelFeatures]
    scaling: str
    coefficients: Array | None
    usual: float

    def to_store(self) -> ExplicitModel:
        """Return itself: it is small."""
        return self

    def foresee(self, items: NewItems, sure: bool = True) -> Foreseen:
        """Return what is said of items that came later; how sure it is is not known."""
        rows = np.flatnonzero(items.covered)
        predictions, familiar = np.array(items.initial), np.zeros(items.n)
        if len(rows):
            f = (items.columns[rows] - self.shift) / self.scale
            with one_blas_thread():
                X, distances = self._design(f, items.views, rows)
                familiar[rows] = familiarity([distances], [self.usual])
                if self.coefficients is not None:
                    columns = f + familiar[rows][:, None] * (X @ self.coefficients)
                    back = in_scale(columns, self.scale, self.shift, self.known.probabilities)
                    if items.relative:
                        back += items.group_means[rows]
                    predictions[rows] = back.reshape(len(rows), *items.initial.shape[1:])
        return Foreseen(predictions, familiar)

    def _design(self, f: Array, views: Sequence[View], rows: NDArray[np.int64]) -> tuple[Array, Array]:
        """Return the features of items side by side, and how far these are from what is known.

        They are one, f, the features of f, those of the views, and the products of the latter with f; features of views
        that an item lacks are zero, which is their mean.
        """
        parts = [np.ones((len(f), 1)), f, *(made(f[:, [c]]) for c, made in enumerate(self.of_f))]
        far, count = np.zeros(len(f)), np.zeros(len(f))
        for view, made in zip(views, self.of_views, strict=True):
            has = view.present[rows]
            found = np.zeros((len(f), made.root.shape[1]))
            if has.any():
                X = view.rows(rows[has], self.scaling)
                found[has] = made(X)
                far[has] += made.far(X)
                count += has
            parts += [found, *(found * column[:, None] for column in f.T)]
        return np.hstack(parts), np.sqrt(far / np.maximum(count, 1))


def explicit_model(prepared: Prepared, final: Array, options: EmbeddingOptions) -> ExplicitModel:
    """Fit the function that leads from the predictions of a problem, with their views, to others.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    final : ndarray of shape (n,) or (n, c)
        The predictions that a method made of its own.
    options : EmbeddingOptions
        Of the kernels.
    """
    problem = prepared.problem
    options = replace(options, kernel="gaussian", random_state=prepared.random_state)
    with one_blas_thread():
        by_content = prepared.order[np.lexsort(prepared.f[prepared.order].T)]
        chosen = by_content[evenly(len(by_content), FITTED)]
        f, rows = prepared.f[chosen], prepared.items[chosen]
        of_f = [KernelFeatures.of(np.sort(f[:, [c]], axis=0), options) for c in range(f.shape[1])]
        drawn = sample_views(Memory(problem.views, prepared.items), FITTED, options.scaling)
        of_views = [KernelFeatures.of(rows, options) for rows in drawn]
        known = Known.of(problem)
        model = ExplicitModel(known, prepared.scale, prepared.shift, of_f, of_views, options.scaling, None, 0.0)
        X, distances = model._design(f, problem.views, rows)
        model = replace(model, usual=usual_distance(distances))
        if np.array_equal(final, problem.initial):
            return model
        target = (replace(problem, initial=final).columns[rows] - prepared.shift) / prepared.scale
        return replace(model, coefficients=ridge(X, target - f))


def ridge(X: Array, targets: Array) -> Array:
    """Return coefficients of a ridge regression, under the penalty that predicts rows best that are left out.

    The prediction of a row without it follows from the hat matrix, y_i - (y_i - yhat_i) / (1 - h_ii), and all penalties
    from one eigendecomposition. The first column, the constant, is penalised like the others; it hardly matters.
    """
    values, vectors = np.linalg.eigh(X.T @ X)
    rotated, cross = X @ vectors, vectors.T @ (X.T @ targets)
    best, coefficients = np.inf, np.zeros((X.shape[1], targets.shape[1]))
    for penalty in PENALTIES:
        shrunk = 1 / (np.maximum(values, 0.0) + penalty * values.sum())
        own = np.einsum("ij,j,ij->i", rotated, shrunk, rotated)
        found = shrunk[:, None] * cross
        error = float(np.mean(((targets - rotated @ found) / np.maximum(1 - own, 1e-3)[:, None]) ** 2))
        if error < best:
            best, coefficients = error, vectors @ found
    return coefficients
