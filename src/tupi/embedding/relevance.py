"""Which views have something to do with the predictions: junk is told apart, and copies count once."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tupi.embedding.bandwidth import squared_bandwidth
from tupi.embedding.basis import basis_points
from tupi.embedding.embedding import normalized_factor
from tupi.embedding.gaussian import nystrom_features
from tupi.embedding.hsic import independence_p_value
from tupi.embedding.neighbors import EXACT_LIMIT
from tupi.embedding.prepared import Prepared
from tupi.inputs.views import BLOCK, View

LEVEL = 0.01  # of the test of independence, shared by all views: one problem in a hundred keeps a junk view
TESTED = 1000  # items that the tests look at; a dependence that needs more of them to show is too weak to use
COMPARED = 500  # items by which views are compared with one another
RANK = 32  # of the kernels in the tests
COPY = 0.999  # correlation from which on a column is a copy of the predictions, or a view of another one
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Block:
    """The useful columns of one view.

    Attributes
    ----------
    view : int
        Which view.
    columns : ndarray of shape (n, d)
        Standardised and divided by sqrt(d), so that every view has total variance one; zero where it is missing.
    present : ndarray of shape (n,)
        Which items have the view.
    """

    view: int
    columns: NDArray[np.floating]
    present: NDArray[np.bool_]


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
    """

    kept: list[NDArray[np.bool_]]
    copies: list[int]
    p_values: Array
    through: list[int]


@dataclass(frozen=True, eq=False)
class Relevance:
    """Views by what they are good for.

    Attributes
    ----------
    related : list of Block
        Views that depend on the predictions, or on a view that does.
    rest : list of Block
        Views that do not: junk, or something that the predictor knows nothing of. Only labels can tell.
    copies : list of int
        Views that repeat the predictions or an earlier view.
    through : list of int
        Those of the related views that depend on another view only.
    """

    related: list[Block] = field(default_factory=list)
    rest: list[Block] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)
    through: list[int] = field(default_factory=list)


def content_order(prepared: Prepared) -> NDArray[np.int64]:
    """Return an order of the items that take part which depends on their predictions and features only.

    Whatever is drawn, and whichever of two equally near neighbours is taken, is then the same after a shuffle.
    """
    f = prepared.f.T[::-1]
    order = np.lexsort(f)
    same = (prepared.f[order[1:]] == prepared.f[order[:-1]]).all(axis=1)
    tied = np.sort(order[np.append(same, False) | np.append(False, same)])  # only these need a look at the features
    norms = np.zeros(len(prepared.items))
    for start in range(0, len(tied), BLOCK):
        some = tied[start : start + BLOCK]
        for view in prepared.problem.views:
            has = some[view.present[prepared.items[some]]]
            norms[has] += np.mean(view.rows(prepared.items[has]) ** 2, axis=1)
    return np.lexsort([norms, *f]) if len(tied) else order


def evenly(n: int, size: int) -> NDArray[np.int64]:
    """Return at most ``size`` positions, evenly spread."""
    return np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.int64)


def relations(prepared: Prepared, order: NDArray[np.int64], f: Array) -> Relations:
    """Test which views depend on the predictions, by a sample of the items; f are predictions in the given order."""
    n = len(f)
    some = evenly(n, TESTED)
    kept: list[NDArray[np.bool_]] = []
    copies: list[int] = []
    originals: list[int] = []
    columns: list[Array] = []
    present: list[NDArray[np.bool_]] = []
    grams: list[Array] = []
    for number, view in enumerate(prepared.problem.views):
        rows, has = _sampled(prepared, view, order[some])
        kept.append(~_repeats(f[some][has], rows[has]))
        is_copy = not kept[-1].any()
        if not is_copy:
            rows = rows[:, kept[-1]] / np.sqrt(kept[-1].sum())
            compared = _sampled(prepared, view, order[evenly(n, COMPARED)])[0][:, kept[-1]]
            gram = _gram((compared / np.sqrt(kept[-1].sum())).astype(_precision(n)))
            is_copy = any(np.sum(gram * other) > COPY for other in grams)
            grams.extend([] if is_copy else [gram])
        (copies if is_copy else originals).append(number)
        columns.append(rows.astype(_precision(n)))
        present.append(has)
    n_tests = max(1, len(originals))
    factors = [_factor(rows.astype(np.float64), has) for rows, has in zip(columns, present, strict=True)]
    each = [_factor(f[some][:, [c]], np.ones(len(some), bool)) for c in range(f.shape[1]) if np.ptp(f[some, c]) > 0]
    p_values = np.array(
        [min([1.0, *(n_tests * len(each) * _p_value(factor, one) for one in each)]) for factor in factors]
    )
    direct = [k for k in originals if p_values[k] < LEVEL]
    through = [
        k
        for k in originals
        if k not in direct and any(_p_value(factors[k], factors[j]) < LEVEL / n_tests**2 for j in direct)
    ]
    return Relations(kept, copies, p_values, through)


def sort_views(prepared: Prepared, order: NDArray[np.int64], found: Relations) -> Relevance:
    """Return the views, rows in the given order, by what they are good for."""
    n = len(order)
    views = Relevance(copies=found.copies, through=found.through)
    for number, view in enumerate(prepared.problem.views):
        if number in found.copies:
            continue
        kept, present = found.kept[number], view.present[prepared.items[order]]
        columns = np.zeros((n, kept.sum()), _precision(n))
        columns[present] = view.rows(prepared.items[order][present])[:, kept] / np.sqrt(kept.sum())
        is_related = found.p_values[number] < LEVEL or number in found.through
        (views.related if is_related else views.rest).append(Block(number, columns, present))
    return views


def _sampled(prepared: Prepared, view: View, chosen: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
    """Return rows of a view, zero where it is missing, and where it is not."""
    items = prepared.items[chosen]
    has = view.present[items]
    found = view.rows(items[has])
    rows = np.zeros((len(items), found.shape[1]))
    rows[has] = found
    return rows, has


def _precision(n: int) -> type[np.floating]:
    """Return how the columns of n items are kept."""
    return np.float64 if n < EXACT_LIMIT else np.float32


def _repeats(f: Array, columns: Array) -> NDArray[np.bool_]:
    """Return which columns order the items as some prediction does, forwards or backwards."""
    if len(f) < 3:
        return np.zeros(columns.shape[1], bool)
    correlations = _standard(rankdata(f, axis=0)).T @ _standard(rankdata(columns, axis=0)) / len(f)
    return np.abs(correlations).max(axis=0) > COPY


def _standard(columns: Array) -> Array:
    columns = columns - columns.mean(axis=0)
    spread = columns.std(axis=0)
    return columns / np.where(spread > 0, spread, 1.0)


def _gram(X: NDArray[np.floating]) -> Array:
    """Return the centred linear kernel with unit norm: inner products of these see neither rotation nor scale."""
    X = X.astype(np.float64) - X.mean(axis=0)
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
    basis = basis_points(rows, min(RANK, len(rows)))
    phi = normalized_factor(nystrom_features(rows, basis, squared_bandwidth(rows, "median")))
    everywhere = np.zeros((len(X), phi.shape[1]))
    everywhere[present] = phi
    return everywhere
