"""Views on the manifold of centred, normalised kernels (label ``e:normalization``), computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Held, Home, Memory, Rows, Scratch, reads_views, uses_threads
from tupi.embedding.gaussian import (
    SAMPLE,
    GaussianFeatures,
    centred_products,
    check_bandwidth,
    kernel_matrix,
    leading,
    moments,
    normalized_kernel,
    sample_view,
    sample_views,
    squared_bandwidth,
)
from tupi.embedding.graphs import N_NEIGHBORS, TIME, diffusion_features, diffusion_matrix
from tupi.inputs.numbers import check_positive
from tupi.inputs.views import BLOCK, View
from tupi.runtime.computing import aligned, in_order
from tupi.runtime.errors import InputError, nearest

KERNELS = ("gaussian", "diffusion")
NORMALIZATIONS = ("supplement", "main")  # the norm of C K C, as in the paper's supplement; of K C, as in its main text
MAX_RANK = 2000  # basis points: the eigenvectors of their kernel take seconds, of more than these minutes
LANES = 16  # floats per vector register: rows whose length is a multiple leave no remainder
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class EmbeddingOptions:
    """How views are embedded.

    Parameters
    ----------
    kernel : {"gaussian", "diffusion"}
        Gaussian kernels as in the paper, or heat on the neighbour graph of the view.
    rank : int
        K: basis points of a Gaussian kernel, eigenvectors of a diffusion kernel.
    bandwidth : str or float
        Width rule of Gaussian kernels, see `tupi.embedding.gaussian`.
    scaling : {"columns", "view"}
        Whether each column of a view is scaled to unit deviation, or the view as a whole.
    n_neighbors, time : int, float
        The graph and the duration of diffusion kernels.
    random_state : int
        Seed of k-means.
    spared : float
        Share of a view's squared kernel that may be left out for fewer columns; 0 keeps all.
    dtype : {"float32", "float64"}
        How factors are stored.
    normalization : {"supplement", "main"}
        Which of the paper's norms whole kernel matrices are divided by, see `measured_part`.
    """

    kernel: str = "gaussian"
    rank: int = 50
    bandwidth: str | float = "std-as-sigma"
    scaling: str = "columns"
    n_neighbors: int = N_NEIGHBORS
    time: float = TIME
    random_state: int = 0
    spared: float = 1e-6
    dtype: str = "float32"
    normalization: str = "supplement"

    def __post_init__(self) -> None:
        if self.kernel not in KERNELS:
            hint = nearest(str(self.kernel), KERNELS)
            raise InputError(f"kernel: found {self.kernel!r}; accepted: {', '.join(KERNELS)}.{hint}")
        if self.scaling not in ("columns", "view"):
            raise InputError(f"scaling: found {self.scaling!r}; accepted: columns, view.")
        check_bandwidth(self.bandwidth)
        check_rank(self.rank)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=2, optional=False)
        check_positive("time", self.time, optional=False)


def check_rank(rank: Any, otherwise: str = "") -> None:
    """Complain unless a number of basis points can be had, saying what else is accepted."""
    if not isinstance(rank, (int, np.integer)) or not 2 <= rank <= MAX_RANK:
        raise InputError(f"rank: found {rank!r}; accepted: {otherwise}a whole number from 2 to {MAX_RANK}.")


@dataclass(frozen=True, eq=False)
class Embedding:
    """Factors phi_i of the views' kernels, side by side.

    Columns are centred and ||phi_i^T phi_i||_F = 1, so phi_i phi_i^T has unit norm.

    Attributes
    ----------
    names : tuple of str
        The views.
    offsets : ndarray of shape (m + 1,)
        Where each view's columns begin.
    width : int
        Number of columns, with those of zeros that fill up to a whole number of vector registers.
    home : Home
        Where the items are.
    blocks : list
        Kept with them: the rows of [phi_1, ..., phi_m], see `tupi.blocks.home`.
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    width: int
    home: Home
    blocks: list[Any]

    @classmethod
    def of(cls, names: tuple[str, ...], factors: Sequence[Matrix], dtype: str = "float32") -> Embedding:
        """Return the embedding of factors that are centred and normalised already."""
        offsets = np.cumsum([0, *(phi.shape[1] for phi in factors)])
        rows = aligned((len(factors[0]), padded(int(offsets[-1]))), dtype)
        rows[:, : offsets[-1]] = np.hstack(factors)
        home = Memory((), np.arange(len(rows)), len(rows))
        return cls(names, offsets, rows.shape[1], home, [Held(rows)])

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.home.n

    @property
    def factors(self) -> Matrix:
        """All factors, in memory."""
        if len(self.blocks) > 1 or not isinstance(self.blocks[0], Held):
            raise InputError("engine: the views were embedded in a file, which only engine 'fused' can read.")
        return self.blocks[0].rows[:, : self.offsets[-1]]

    def view(self, i: int) -> Matrix:
        """Return phi_i."""
        return self.factors[:, self.offsets[i] : self.offsets[i + 1]]


def padded(width: int) -> int:
    """Return the width with columns that fill up to a whole number of vector registers."""
    return width + -width % LANES


def embed(
    views: Sequence[View],
    options: EmbeddingOptions,
    items: NDArray[np.int64] | None = None,
    progress: Callable[[str], None] | None = None,
    limit: int | None = None,
    features: Callable[[Matrix, EmbeddingOptions], GaussianFeatures] | None = None,
) -> Embedding:
    """Embed views.

    Rows are read in blocks and written as float32, so nothing of a view's size is copied in float64.

    Parameters
    ----------
    views : sequence of View
        The views.
    options : EmbeddingOptions
        How.
    items : ndarray of int, optional
        Which items, each with at least one view, and in which order. All by default.
    progress : callable, optional
        Called with the name of each view.
    limit : int, optional
        Bytes that the factors may take in memory; beyond, they go to a temporary file.
    features : callable, optional
        Makes the features of a view from a sample of its rows; `gaussian_features` by default.
    """
    items = np.arange(views[0].n) if items is None else items
    names, known = tuple(view.name for view in views), {}
    if options.kernel == "gaussian":
        maps: list[Any] = gaussian_maps(Memory(views, np.sort(items)), names, options, progress, features)
    else:
        for i, view in enumerate(views):
            if progress is not None:
                progress(view.name)
            known[i] = _diffused(view, options, items)
        maps = [phi.shape[1] for phi in known.values()]
    row = padded(sum(widths_of(maps))) * np.dtype(options.dtype).itemsize
    if limit is None or len(items) * row <= limit:
        return embed_blocks(Memory(views, items, len(items)), names, maps, options, known=known)
    home = Memory(views, items, max(BLOCK, limit // (4 * row)))
    return embed_blocks(home, names, maps, options, Scratch(), known)


def gaussian_maps(
    home: Home,
    names: Sequence[str],
    options: EmbeddingOptions,
    progress: Callable[[str], None] | None = None,
    features: Callable[[Matrix, EmbeddingOptions], GaussianFeatures] | None = None,
) -> list[GaussianFeatures]:
    """Return the features of each view, found from a sample of the items."""
    maps, made = [], features or gaussian_features
    for name, sample in zip(names, sample_views(home, SAMPLE, options.scaling), strict=True):
        if progress is not None:
            progress(name)
        maps.append(made(sample, options))
    return maps


def gaussian_features(sample: Matrix, options: EmbeddingOptions) -> GaussianFeatures:
    """Return the features of a view from a sample of its rows."""
    return GaussianFeatures(sample, options.rank, options.bandwidth, options.random_state, options.spared)


def widths_of(maps: Sequence[GaussianFeatures | int]) -> list[int]:
    """Return how many features each view has, given its map, or their number if they are known already."""
    return [one if isinstance(one, int) else one.width for one in maps]


def embed_blocks(
    home: Home,
    names: Sequence[str],
    maps: Sequence[GaussianFeatures | int],
    options: EmbeddingOptions,
    store: Callable[[NDArray[Any]], Any] = Held,
    known: dict[int, Matrix] | None = None,
) -> Embedding:
    """Embed views block by block, in two passes: features, and their centres.

    Parameters
    ----------
    home : Home
        The items, in the order of the embedding.
    names : sequence of str
        Of the views.
    maps : sequence of GaussianFeatures or int
        From rows of each view to features; the number of features of a view in ``known``.
    options : EmbeddingOptions
        How.
    store : callable
        Turns the rows of a block into what it keeps, see `tupi.blocks.home`.
    known : dict of int to ndarray, optional
        Features of some views that were computed for all items at once, NaN for items that lack the view.
    """
    offsets = np.cumsum([0, *widths_of(maps)])
    dealt = [home.dealt(phi) for phi in (known or {}).values()]
    common = {"maps": maps, "offsets": offsets, "options": options, "store": store}
    kept = home.each(_featured, *dealt, **common)
    center, scale = np.zeros(padded(int(offsets[-1]))), np.ones(padded(int(offsets[-1])))
    for i, total in enumerate(home.summed(_moments_of, kept)):  # so that `normalized_factor` results
        center[offsets[i] : offsets[i + 1]] = total[0, 1:] / max(total[0, 0], 1)
        scale[offsets[i] : offsets[i + 1]] = 1.0 / np.sqrt(np.linalg.norm(centred_products(total)))
    blocks = home.each(_centered, kept, center=center, scale=scale)
    return Embedding(tuple(names), offsets, len(center), home, list(blocks))


@reads_views
@uses_threads
def _featured(
    rows: Rows,
    *known: Matrix,
    maps: Sequence[GaussianFeatures | int],
    offsets: NDArray[np.int64],
    options: EmbeddingOptions,
    store: Callable[[NDArray[Any]], Any],
) -> tuple[Any, NDArray[Any]]:
    """Return the features of a block's items, NaN for those that lack a view, and the sums of each view's."""
    n = len(rows.has(0))
    phi = aligned((n, padded(int(offsets[-1]))), options.dtype)

    def some_rows(start: int) -> list[Matrix]:
        chosen = np.arange(start, min(start + BLOCK, n))
        some, ready, parts = rows.some(chosen), iter(known), []
        for i, each in enumerate(maps):
            if isinstance(each, int):
                X = next(ready)[chosen]
                has = ~np.isnan(X[:, 0])
            else:
                X, has = some.view(i, options.scaling)
            features = X if has.all() else X[has]
            features = features if isinstance(each, int) else each(features)
            target = phi[start : start + BLOCK, offsets[i] : offsets[i + 1]]
            if has.all():
                target[:] = features
            else:
                target[:], target[has] = np.nan, features
            parts.append(moments(features))
        return parts

    # Parts are computed side by side and added up in their order: the result does not depend on how many at a time.
    sums = np.empty(len(maps), object)
    for i, width in enumerate(np.diff(offsets)):
        sums[i] = np.zeros((1 + width,) * 2)
    for parts in in_order(some_rows, range(0, n, BLOCK)):
        for total, part in zip(sums, parts, strict=True):
            total += part
    return store(phi), sums


def _moments_of(rows: Rows, featured: tuple[Any, NDArray[Any]]) -> NDArray[Any]:
    return featured[1]


def _centered(rows: Rows, featured: tuple[Any, NDArray[Any]], *, center: Matrix, scale: Matrix) -> Any:
    return featured[0].centered(center, scale)


def _diffused(view: View, options: EmbeddingOptions, items: NDArray[np.int64]) -> Matrix:
    """Return the features of a view's diffusion kernel, NaN for items that lack the view."""
    present = view.present[items]
    X = view.rows(items[present], options.scaling)
    phi = diffusion_features(X, options.rank, options.n_neighbors, options.time)
    if options.spared > 0:
        phi = phi @ leading(phi, options.spared)
    rows = np.full((len(items), phi.shape[1]), np.nan)
    rows[present] = phi
    return rows


def exact_kernel(view: View, options: EmbeddingOptions) -> Matrix:
    """Return the view's whole centred kernel matrix with unit norm: what `embed` approximates."""
    items = np.flatnonzero(view.present)
    X = view.rows(items, options.scaling)
    if options.kernel == "diffusion":
        K = diffusion_matrix(X, options.n_neighbors, options.time)
    else:
        sigma2 = squared_bandwidth(sample_view(view, scaling=options.scaling), options.bandwidth)
        K = kernel_matrix(X, X, sigma2)
    everywhere = np.zeros((view.n, view.n))
    everywhere[np.ix_(items, items)] = normalized_kernel(K, options.normalization)
    return everywhere
