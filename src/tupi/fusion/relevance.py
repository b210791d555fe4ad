"""Which views have something to do with the predictions: junk is told apart, and copies count once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tupi.dependence import independence_p_value
from tupi.kernels.bandwidth import squared_bandwidth
from tupi.kernels.basis import basis_points
from tupi.kernels.embedding import normalized_factor
from tupi.kernels.gaussian import nystrom_features
from tupi.neighbors import EXACT_LIMIT
from tupi.prepared import Prepared

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
    """

    related: list[Block] = field(default_factory=list)
    rest: list[Block] = field(default_factory=list)
    copies: list[int] = field(default_factory=list)


def content_order(prepared: Prepared) -> NDArray[np.int64]:
    """Return an order of the items that take part which depends on their predictions and features only.

    Whatever is drawn, and whichever of two equally near neighbours is taken, is then the same after a shuffle.
    """
    norms = np.zeros(len(prepared.items))
    for view in prepared.problem.views:
        has = view.present[prepared.items]
        norms[has] += np.mean(view.rows(prepared.items[has]) ** 2, axis=1)
    return np.lexsort([norms, *prepared.f.T[::-1]])


def evenly(n: int, size: int) -> NDArray[np.int64]:
    """Return at most ``size`` positions, evenly spread."""
    return np.arange(n) if n <= size else np.linspace(0, n - 1, size).astype(np.int64)


def sort_views(prepared: Prepared, order: NDArray[np.int64], f: Array) -> Relevance:
    """Return the views, rows in the given order, by what they are good for; f are predictions in that order."""
    n = len(f)
    some = evenly(n, TESTED)
    found = Relevance()
    blocks: list[Block] = []
    grams: list[Array] = []
    for number, view in enumerate(prepared.problem.views):
        present = view.present[prepared.items[order]]
        rows = view.rows(prepared.items[order][present])
        used = some[present[some]]
        kept = ~_repeats(f[used], rows[np.cumsum(present)[used] - 1])
        rows = rows[:, kept] / np.sqrt(max(1, kept.sum()))
        columns = np.zeros((n, rows.shape[1]), np.float64 if n < EXACT_LIMIT else np.float32)
        columns[present] = rows
        gram = _gram(columns[evenly(n, COMPARED)])
        if rows.shape[1] == 0 or any(np.sum(gram * other) > COPY for other in grams):
            found.copies.append(number)
            continue
        blocks.append(Block(number, columns, present))
        grams.append(gram)
    related = _related(f[some], [block.columns[some] for block in blocks], [block.present[some] for block in blocks])
    for block, is_related in zip(blocks, related, strict=True):
        (found.related if is_related else found.rest).append(block)
    return found


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


def _related(f: Array, views: Sequence[NDArray[np.floating]], present: Sequence[NDArray[np.bool_]]) -> list[bool]:
    """Test each view against the predictions, and the independent ones against those that passed."""
    n_tests = max(1, len(views))
    factors = [_factor(view.astype(np.float64), has) for view, has in zip(views, present, strict=True)]
    predictions = [_factor(f[:, [c]], np.ones(len(f), bool)) for c in range(f.shape[1]) if np.ptp(f[:, c]) > 0]
    level = LEVEL / n_tests
    direct = [
        any(independence_p_value(factor, one) < level / len(predictions) for one in predictions) for factor in factors
    ]
    return [
        passed
        or any(
            direct[j] and independence_p_value(factor, factors[j]) < level / n_tests
            for j in range(len(factors))
            if j != i
        )
        for i, (factor, passed) in enumerate(zip(factors, direct, strict=True))
    ]


def _factor(X: Array, present: NDArray[np.bool_]) -> Array:
    """Return the factor of a Gaussian kernel, centred and normalised; zero for items without the view."""
    rows = X[present]
    basis = basis_points(rows, min(RANK, len(rows)))
    phi = normalized_factor(nystrom_features(rows, basis, squared_bandwidth(rows, "median")))
    everywhere = np.zeros((len(X), phi.shape[1]))
    everywhere[present] = phi
    return everywhere
