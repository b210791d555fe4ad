"""HSIC between two sets of features: exact, low rank, unbiased; and a test of independence.

There is one definition of how much a view and predictions depend on each other, ``hsic(view, predictions,
normalized=True)``: Gaussian kernels of standardised columns, their widths by the rule and their basis points by the
number that method ``"tupi"`` has by default. `view_dependence` gives it for views that are embedded already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tupi.embedding.embedding import Embedding, EmbeddingOptions, check_rank
from tupi.embedding.gaussian import (
    GaussianFeatures,
    PredictionKernel,
    alignment,
    centered,
    centred_products,
    kernel_matrix,
    moments,
    sample_view,
    squared_bandwidth,
)
from tupi.inputs.features import as_encoded
from tupi.inputs.numbers import check_seed
from tupi.inputs.types import Table
from tupi.inputs.views import BLOCK, View, check_impute
from tupi.runtime.errors import InputError, nearest

ESTIMATORS = ("biased", "unbiased")
EXACT_LIMIT = 20_000  # rows: the kernel matrices are then 6 GB
DEFAULTS = EmbeddingOptions()  # how method "tupi" embeds views unless told otherwise
CONSTANT = 1e-12  # share of the largest value within which values differ by rounding only
Matrix = NDArray[np.float64]


def hsic(
    x: Table,
    y: Table,
    normalized: bool = False,
    estimator: str = "biased",
    rank: int | None = DEFAULTS.rank,
    bandwidth: str | float | tuple[str | float, str | float] | list[str | float] = DEFAULTS.bandwidth,
    random_state: int = 0,
    impute: str | None = None,
) -> float:
    """Return the Hilbert-Schmidt independence criterion of two sets of features, with Gaussian kernels.

    Columns are standardised first. Zero means independent, up to noise. With the defaults and ``normalized=True`` this
    is what `tupi.denoise` shows as ``result.dependence``, and what method ``"tupi"`` weights views by at its first step
    unless its kernels were changed. Those agree but for rounding; past 1,000 items to about one per cent for a view of
    one column, whose width comes from another sample there.

    Parameters
    ----------
    x, y : array_like of shape (n,) or (n, d)
        The features, row by row of the same items.
    normalized : bool
        Divide by the root of the criterion of each with itself: the inner product of the paper's manifold
        (label ``e:innerproduct``), between 0 and 1 for the biased estimator.
    estimator : {"biased", "unbiased"}
        ``"biased"`` is the paper's tr(K C L C), which grows as n^2; ``"unbiased"`` is that of Song et al. (2012), an
        estimate of the population's value, whose mean is zero under independence.
    rank : int, optional
        The number of basis points, K (label ``e:HSICeval``); None for whole kernel matrices, O(n^2) memory. For a few
        columns both agree. For many they do not: a view of 30 columns has more directions than 50 basis points see,
        and its value from whole matrices can be a third of that from basis points.
    bandwidth : str or float, or a pair of them
        Width rule of the kernels (`tupi.embedding.gaussian`), one for both or one each.
    random_state : int
        Seed for the basis points.
    impute : {None, "median"}
        What to do about single missing values within a row: fail, or fill in the column's median.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 100)
    >>> hsic(x, x**2, normalized=True) > 10 * hsic(x, np.cos(1000 * x), normalized=True)
    True
    """
    if estimator not in ESTIMATORS:
        raise InputError(
            f"estimator: found {estimator!r}; accepted: biased, unbiased.{nearest(str(estimator), ESTIMATORS)}"
        )
    rules = bandwidth if isinstance(bandwidth, (tuple, list)) else (bandwidth, bandwidth)
    if len(rules) != 2:
        raise InputError(f"bandwidth: found {len(rules)} rules; accepted: one, or one for x and one for y.")
    check_impute(impute)
    random_state = check_seed(random_state)
    views = _checked("x", x, impute), _checked("y", y, impute)
    n = views[0].n
    if n != views[1].n:
        raise InputError(f"y: found {views[1].n} rows, and {n} in x; accepted: as many rows in both.")
    value: Callable[[Matrix, Matrix], float]
    if rank is None:
        if n > EXACT_LIMIT:
            raise InputError(
                f"rank: found None for {n} rows; accepted: a number such as {DEFAULTS.rank} above {EXACT_LIMIT}."
            )
        kernels = [_kernel(view, rule) for view, rule in zip(views, rules, strict=True)]
        value = biased_from_kernels if estimator == "biased" else unbiased_from_kernels
    else:
        check_rank(rank, "None, or ")
        kernels = [_factor(view, int(rank), rule, random_state) for view, rule in zip(views, rules, strict=True)]
        value = biased_from_factors if estimator == "biased" else unbiased_from_factors
    A, B = kernels
    if not normalized:
        return value(A, B)
    scale = value(A, A) * value(B, B)
    share = value(A, B) / float(np.sqrt(scale)) if scale > 0 else 0.0
    return min(max(share, 0.0), 1.0) if estimator == "biased" else share  # rounding, where kernels are nearly constant


def view_dependence(embedding: Embedding, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``hsic(view, f, normalized=True)`` of each embedded view; zero if all of f is equal.

    Parameters
    ----------
    embedding : Embedding
        The views, with Gaussian kernels; an item that lacks a view counts as an average one.
    f : ndarray of shape (n,)
        Predictions, in the embedding's order.
    """
    f = f / (np.abs(f).max() or 1.0)  # squares of large numbers would not be finite
    scale = f.std()
    if scale <= CONSTANT:
        return np.zeros(len(embedding.names))
    f = (f - f.mean()) / scale
    kernel = PredictionKernel(f, squared_bandwidth(np.sort(f)[:, None], DEFAULTS.bandwidth), DEFAULTS.rank)
    products = np.zeros((embedding.width, kernel.root.shape[1]))
    table = np.zeros((1 + products.shape[1],) * 2)
    for first, block in zip(embedding.home.bounds, embedding.blocks, strict=False):
        rows = block.rows
        for start in range(0, len(rows), BLOCK):
            U = rows[start : start + BLOCK]
            phi = kernel.features(f[first + start : first + start + len(U)])
            table += moments(phi)
            products += U.T @ phi  # columns of U are centred, so those of phi need not be
    return alignment(products, embedding.offsets, centred_products(table))


def dependence_table(
    names: Sequence[str], before: ArrayLike, after: ArrayLike, p_values: Sequence[float] | NDArray[np.float64]
) -> pd.DataFrame:
    """Return how strongly each view depends on the predictions before and after, as `tupi.Denoised` shows it."""
    return pd.DataFrame({"before": before, "after": after, "p_value": p_values}, index=pd.Index(names, name="view"))


def _checked(name: str, x: Table, impute: str | None) -> View:
    view = View(name, as_encoded(name, name, x)[0], impute, called=name, complete=True)
    if view.constant or view.n < 4:
        raise InputError(f"{name}: found {view.n} row(s), constant: {view.constant}; accepted: at least 4 that differ.")
    return view


def _sample(view: View) -> Matrix:
    """Return rows from which widths and basis points are found; of one column all, in order, as for predictions."""
    X = view.rows(slice(None))
    return np.sort(X, axis=0) if X.shape[1] == 1 else sample_view(view)


def _kernel(view: View, rule: str | float) -> Matrix:
    X = view.rows(slice(None))
    return kernel_matrix(X, X, squared_bandwidth(_sample(view), rule))


def _factor(view: View, rank: int, rule: str | float, random_state: int) -> Matrix:
    return GaussianFeatures(_sample(view), rank, rule, random_state)(view.rows(slice(None)))


def biased_from_kernels(K: Matrix, L: Matrix) -> float:
    """Return tr(K C L C)."""
    return float(np.sum(centered(K) * L))


def unbiased_from_kernels(K: Matrix, L: Matrix) -> float:
    """Return the unbiased estimator of Song et al. (2012) from kernel matrices."""
    n = len(K)
    K, L = K.copy(), L.copy()
    np.fill_diagonal(K, 0.0)
    np.fill_diagonal(L, 0.0)
    total = np.sum(K * L) + K.sum() * L.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (K.sum(axis=0) @ L.sum(axis=0))
    return float(total / (n * (n - 3)))


def biased_from_factors(phi: Matrix, psi: Matrix) -> float:
    """Return tr(K C L C) for K = phi phi^T and L = psi psi^T (label ``e:HSICeval``)."""
    return float(np.sum(((phi - phi.mean(axis=0)).T @ psi) ** 2))


def unbiased_from_factors(phi: Matrix, psi: Matrix) -> float:
    """Return the unbiased estimator of Song et al. (2012) for K = phi phi^T and L = psi psi^T, O(n r s)."""
    n = len(phi)
    k, kl = np.einsum("ij,ij->i", phi, phi), np.einsum("ij,ij->i", psi, psi)  # the diagonals of K and L
    K_rows, L_rows = phi @ phi.sum(axis=0) - k, psi @ psi.sum(axis=0) - kl
    products = np.sum((phi.T @ psi) ** 2) - k @ kl
    total = products + K_rows.sum() * L_rows.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (K_rows @ L_rows)
    return float(total / (n * (n - 3)))
