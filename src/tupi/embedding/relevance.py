"""Which views have something to do with the predictions: junk is told apart, and copies count once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, ndtri

from tupi.blocks.home import everywhere
from tupi.embedding.gaussian import GaussianFeatures, normalized_factor
from tupi.runtime.computing import in_order

LEVEL = 0.01  # of the test of independence, shared by all views: one problem in a hundred keeps a junk view
TESTED = 1000  # items that the tests look at; a dependence that needs more of them to show is too weak to use
COMPARED = 500  # items by which views are compared with one another
RANK = 32  # of the kernels in the tests
COPY = 0.999  # correlation from which on a column is a copy of the predictions, or a view of another one
Matrix = NDArray[np.float64]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Relations:
    """What a sample of the items says about each view.

    Attributes
    ----------
    kept : list of ndarray of bool
        Which columns of each view do not repeat the predictions.
    copies : list of int
        Views that repeat the predictions or an earlier view.
    p_values : ndarray of shape (m,)
        Of independence from the predictions, times the number of tests: a view depends on them if its p-value is
        below `LEVEL`. Columns that repeat the predictions count only if the view has no others.
    through : list of int
        Views that do not depend on the predictions, but on a view that does.
    related : list of int
        Views that depend on the predictions, or on a view that does, but for copies.
    """

    kept: list[NDArray[np.bool_]]
    copies: list[int]
    p_values: Array
    through: list[int]
    related: list[int]


def evenly(n: int, size: int) -> NDArray[np.int64]:
    """Return at most ``size`` positions, evenly spread."""
    return np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.int64)


def relations(views: Sequence[Array], present: Sequence[NDArray[np.bool_]], f: Array) -> Relations:
    """Test which views depend on the predictions.

    Parameters
    ----------
    views : sequence of ndarray of shape (n, d)
        Rows of each view, zero where an item lacks it.
    present : sequence of ndarray of shape (n,)
        Which items have each view.
    f : ndarray of shape (n, c)
        Predictions. Of more than `TESTED` items some are looked at.
    """
    some = evenly(len(f), TESTED)
    f = f[some]
    compared = evenly(len(some), COMPARED)
    kept: list[NDArray[np.bool_]] = []
    copies: list[int] = []
    originals: list[int] = []
    used: list[Array] = []
    grams: list[Array] = []
    here = [has[some] for has in present]
    for number, (everyone, has) in enumerate(zip(views, here, strict=True)):
        rows = np.asarray(everyone[some], np.float64)
        kept.append(~_repeats(f[has], rows[has]))
        is_copy = not kept[-1].any()
        if not is_copy:
            rows = rows[:, kept[-1]] / np.sqrt(kept[-1].sum())
            gram = _gram(rows[compared])
            is_copy = any(np.sum(gram * other) > COPY for other in grams)
            grams.extend([] if is_copy else [gram])
        (copies if is_copy else originals).append(number)
        used.append(rows)
    factors = list(in_order(lambda k: _factor(used[k], here[k]), range(len(used))))
    n_tests = max(1, len(originals))
    each = [_factor(f[:, [c]], np.ones(len(some), bool)) for c in range(f.shape[1]) if np.ptp(f[:, c]) > 0]
    p_values = np.array(
        [min([1.0, *(n_tests * len(each) * _p_value(factor, one) for one in each)]) for factor in factors]
    )
    direct = [k for k in originals if p_values[k] < LEVEL]
    through = [
        k
        for k in originals
        if k not in direct and any(_p_value(factors[k], factors[j]) < LEVEL / n_tests**2 for j in direct)
    ]
    return Relations(kept, copies, p_values, through, sorted([*direct, *through]))


def _repeats(f: Array, columns: Array) -> NDArray[np.bool_]:
    """Return which columns order the items as some prediction does, forwards or backwards."""
    if len(f) < 3:
        return np.zeros(columns.shape[1], bool)
    correlations = _standard(ranks(f)).T @ _standard(ranks(columns)) / len(f)
    return np.abs(correlations).max(axis=0) > COPY


def ranks(columns: Array) -> Array:
    """Return the rank of each value within its column, from 1 on; equal values share the mean of theirs."""
    found = np.empty(columns.shape)
    for column, place in zip(columns.T, found.T, strict=True):
        order = np.argsort(column, kind="stable")
        new = np.append(True, np.diff(column[order]) != 0)
        ends = np.append(np.flatnonzero(new), len(column))
        place[order] = (0.5 * (ends[:-1] + ends[1:] + 1))[np.cumsum(new) - 1]
    return found


def normal_quantiles(columns: Array) -> Array:
    """Return quantiles of the normal distribution in the order of each column; tied values stay tied."""
    found = ranks(columns.reshape(len(columns), -1)).reshape(columns.shape)
    return np.asarray(ndtri((found - 0.5) / len(columns)))


def _standard(columns: Array) -> Array:
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    return columns / np.where(spread > 0, spread, 1.0)


def _gram(X: Array) -> Array:
    """Return the centred linear kernel with unit norm: inner products of these see neither rotation nor scale."""
    X = X - X.mean(axis=0)
    K = X @ X.T
    norm = np.linalg.norm(K)
    return K / norm if norm > 0 else K


def _p_value(phi: Array, psi: Array) -> float:
    return independence_p_value(phi, psi) if phi.any() and psi.any() else 1.0


def _factor(X: Array, present: NDArray[np.bool_]) -> Array:
    """Return the factor of a Gaussian kernel, centred and normalised; zero for items without the view."""
    rows = X[present]
    if len(rows) < 2 or not np.ptp(rows, axis=0).any():  # the sample has nothing of the view that could vary
        return np.zeros((len(X), 1))
    return everywhere(normalized_factor(GaussianFeatures(rows, min(RANK, len(rows)), "median")(rows)), present)


class KernelMoments(NamedTuple):
    """What a test of independence asks of a centred kernel matrix K of n items.

    Attributes
    ----------
    n : int
        Number of items.
    squares : float
        ||K||_F^2.
    trace : float
        tr K.
    diagonal : float
        sum_k K_kk^2.
    """

    n: int
    squares: float
    trace: float
    diagonal: float


def independence_p_value(phi: Matrix, psi: Matrix) -> float:
    """Return the p-value of the hypothesis that two sets of features are independent, from centred factors."""
    norms = [np.einsum("ij,ij->i", one, one) for one in (phi, psi)]
    x, y = (
        KernelMoments(len(one), float(np.sum((one.T @ one) ** 2)), float(diagonal.sum()), float(diagonal @ diagonal))
        for one, diagonal in zip((phi, psi), norms, strict=True)
    )
    return p_value(float(np.sum((phi.T @ psi) ** 2) / np.sqrt(x.squares * y.squares)), x, y)


def p_value(statistic: float, x: KernelMoments, y: KernelMoments) -> float:
    """Return the p-value of a normalised HSIC under independence.

    The statistic is the RV coefficient of the two kernels. Over all permutations of the items its mean and variance
    have a closed form (Kazi-Aoual et al. 1995; Josse et al. 2008), to which a gamma distribution is fitted, so nothing
    is sampled.
    """
    n = x.n
    a, b = (one.trace**2 / one.squares for one in (x, y))  # how many columns of equal size would have trace and norm
    mean = np.sqrt(a * b) / (n - 1)
    variance = 2 * (n - 1 - a) * (n - 1 - b) / ((n + 1) * (n - 1) ** 2 * (n - 2))
    s, t = (  # how far the diagonals are from even, as the variance over permutations sees it
        (n - 1) / ((n - 3) * (n - 1 - c)) * (n * (n + 1) * one.diagonal / one.squares - (n - 1) * (c + 2))
        for one, c in ((x, a), (y, b))
    )
    variance *= 1 + (n - 3) / (2 * n * (n - 1)) * s * t
    if not variance > 0:  # a kernel that is a multiple of the centring matrix: every permutation gives the same value
        return 1.0
    return float(gammaincc(mean**2 / variance, max(statistic, 0.0) * mean / variance))
