"""A Gaussian process on the views, with the initial predictions as its mean function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
from scipy.spatial.distance import pdist

from tupi.algorithm.trajectory import Watch
from tupi.embedding.gaussian import kernel_matrix
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import Array, Positions, finished, known_items, predict_all, stacked_views, targets_of

LENGTH_GRID = tuple(2.0 ** (k / 2) for k in range(4, -3, -1))
RATIO_GRID = tuple(10.0 ** (k / 4) for k in range(-16, 17))  # from next to nothing but f, to next to no noise
MAX_LABELS = 4_000  # a system of so many equations is solved in seconds
CHOOSING_LABELS = 500  # more would hardly change what is likely, and each length takes an eigenvalue problem


@dataclass(frozen=True, kw_only=True)
class GP(Method):
    """``y = a + b f + u(H) + noise``, with u a Gaussian process on all views side by side, each as long as the others.

    The kernel of u is ``signal * exp(-d^2 / (2 length^2))``. a and b are fitted by generalised least squares; for
    classification each class has its own, for zeros and ones and its own column of f, and all share one kernel.
    Labels must be values; of more than 4,000, so many are drawn. An item that lacks a view gets that view's mean.

    Parameters
    ----------
    length : float, optional
        Length scale, in units of the median distance between labelled items. None: from 4 down to 1/2 in powers of
        the square root of 2.
    ratio : float, optional
        Variance of the signal, in units of the noise's. None: from 10^-4 up to 10^4 in quarter powers of ten. What is
        None is chosen by the restricted likelihood: the marginal likelihood of what a and b cannot explain.
    """

    name: ClassVar[str] = "gp"

    length: float | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        for name in ("length", "ratio"):
            check_positive(name, getattr(self, name))

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Choose the kernel, fit to the labels and predict all items."""
        known = known_items(self, prepared, labels, pairs=False)
        targets = targets_of(known, prepared)
        used = _drawn(len(known.rows), MAX_LABELS, prepared.random_state)
        f, H, y = prepared.f[known.rows[used]], stacked_views(prepared, known.rows[used]), targets.columns[used]
        some = _drawn(len(used), CHOOSING_LABELS, prepared.random_state)
        unit = _median_distance(H[some])
        length, ratio = self._chosen(f[some], H[some] / unit, y[some])
        K = kernel_matrix(H / unit, H / unit, 2 * length**2)
        a, b, dual = (
            np.array(part) for part in zip(*(solve(K, f[:, c], y[:, c], ratio) for c in range(f.shape[1])), strict=True)
        )

        def predict(f: Array, others: Array) -> Array:
            fitted = a + b * f + kernel_matrix(others / unit, H / unit, 2 * length**2) @ dual.T
            return fitted * targets.scale + targets.shift

        predictions = predict_all(prepared, predict)
        if prepared.problem.task != "classification":
            predictions = predictions[:, 0]
        notes = [f"Length scale {length:.3g} median distances, signal {ratio:.3g} times the noise's variance."]
        if len(used) < len(known.rows):
            notes.append(f"{len(used):,} of {len(known.rows):,} labels were drawn and used.")
        return finished(prepared, predictions, {"length": length, "ratio": ratio}, notes=tuple(notes), watch=watch)

    def _chosen(self, f: Array, H: Array, y: Array) -> tuple[float, float]:
        """Return length and ratio: the most likely ones, and of equal ones those that change f least."""
        lengths = LENGTH_GRID if self.length is None else (self.length,)
        ratios = RATIO_GRID if self.ratio is None else (self.ratio,)
        if len(lengths) == len(ratios) == 1:
            return lengths[0], ratios[0]
        likely = np.array(
            [
                sum(
                    restricted_likelihood(kernel_matrix(H, H, 2 * length**2), f[:, c], y[:, c], ratios)
                    for c in range(f.shape[1])
                    if np.ptp(y[:, c]) > 0  # a class without labels says nothing
                )
                for length in lengths
            ]
        )
        length, ratio = np.unravel_index(np.argmax(likely), likely.shape)
        return lengths[length], ratios[ratio]


def restricted_likelihood(K: Array, f: Array, y: Array, ratios: Sequence[float]) -> Array:
    """Return the log likelihood of y without what [1, f] explains, up to a constant, for each ratio.

    The variance of the noise is the most likely one. One eigenvalue problem serves all ratios.
    """
    fixed = _fixed(f)
    left, singular, _ = np.linalg.svd(fixed)
    rest = left[
        :, np.count_nonzero(singular > 1e-10 * singular.max()) :
    ]  # an orthonormal basis of what [1, f] does not reach
    if rest.shape[1] == 0:
        return np.zeros(len(ratios))
    eigenvalues, vectors = np.linalg.eigh(rest.T @ K @ rest)
    squares = (vectors.T @ (rest.T @ y)) ** 2
    spread = 1 + np.maximum(eigenvalues, 0) * np.asarray(ratios)[:, None]  # variances, in units of the noise's
    noise = np.maximum(np.mean(squares / spread, axis=1), np.finfo(float).tiny)
    return -0.5 * (len(squares) * np.log(noise) + np.log(spread).sum(axis=1))


def solve(K: Array, f: Array, y: Array, ratio: float) -> tuple[float, float, Array]:
    """Return a, b and the coefficients of the kernel's columns."""
    fixed = _fixed(f)
    both = np.column_stack([fixed, y])
    try:
        factor = scipy.linalg.cho_factor(ratio * K + np.eye(len(y)))
        solved = scipy.linalg.cho_solve(factor, both)
    except np.linalg.LinAlgError:  # columns of very different size round distances, and K has negative eigenvalues
        eigenvalues, vectors = np.linalg.eigh(K)
        solved = vectors @ ((vectors.T @ both) / (1 + ratio * np.maximum(eigenvalues, 0))[:, None])
    a, b = np.linalg.lstsq(fixed.T @ solved[:, :2], fixed.T @ solved[:, 2], rcond=1e-10)[0]
    return float(a), float(b), ratio * (solved[:, 2] - solved[:, :2] @ np.array([a, b]))


def _drawn(n: int, most: int, random_state: int) -> Positions:
    return np.sort(np.random.default_rng(random_state).permutation(n)[:most])


def _fixed(f: Array) -> Array:
    return np.column_stack([np.ones(len(f)), f])


def _median_distance(H: Array) -> float:
    distances = pdist(H)
    return float(np.median(distances)) or float(distances.max()) or 1.0
