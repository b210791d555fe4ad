"""Views on the manifold of centred, normalised kernels (label ``e:normalization``), computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.bandwidth import check_bandwidth, squared_bandwidth
from tupi.embedding.basis import SAMPLE, basis_points, sample_view
from tupi.embedding.diffusion import N_NEIGHBORS, TIME, diffusion_features, diffusion_matrix
from tupi.embedding.gaussian import inverse_root, kernel_matrix
from tupi.inputs.views import BLOCK, View
from tupi.runtime.errors import InputError, nearest
from tupi.runtime.storage import Memory, Scratch, Storage
from tupi.runtime.threads import in_order

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
        Width rule of Gaussian kernels, see `tupi.embedding.bandwidth`.
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
        if not isinstance(self.n_neighbors, (int, np.integer)) or self.n_neighbors < 2:
            raise InputError(f"n_neighbors: found {self.n_neighbors!r}; accepted: a whole number of at least 2.")
        if not isinstance(self.time, (int, float, np.number)) or not 0 < self.time < np.inf:
            raise InputError(f"time: found {self.time!r}; accepted: a positive number.")


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
    storage : Storage
        The factors [phi_1, ..., phi_m], and columns of zeros up to a whole number of vector registers.
    """

    names: tuple[str, ...]
    offsets: NDArray[np.int64]
    storage: Storage

    @classmethod
    def of(cls, names: tuple[str, ...], factors: Sequence[Matrix], dtype: str = "float32") -> Embedding:
        """Return the embedding of factors that are centred and normalised already."""
        offsets = np.cumsum([0, *(phi.shape[1] for phi in factors)])
        storage = Memory(len(factors[0]), padded(int(offsets[-1])), dtype)
        storage.array[:, : offsets[-1]] = np.hstack(factors)
        return cls(names, offsets, storage)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.storage.n

    @property
    def width(self) -> int:
        """Number of columns, with those that fill up."""
        return self.storage.width

    @property
    def rows_per_block(self) -> int:
        """Rows of the largest block."""
        return self.storage.rows_per_block

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield the first row's number and the rows of each block; valid until the next one."""
        return self.storage.blocks()

    @property
    def factors(self) -> Matrix:
        """All factors, in memory."""
        if not isinstance(self.storage, Memory):
            raise InputError("engine: the views were embedded in a file, which only engine 'fused' can read.")
        return self.storage.array[:, : self.offsets[-1]]

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
    """
    items = np.arange(views[0].n) if items is None else items
    maps = []
    for view in views:
        if progress is not None:
            progress(view.name)
        maps.append(_view_map(view, options, items))
    offsets = np.cumsum([0, *(each.width for each in maps)])
    storage = _storage(len(items), padded(int(offsets[-1])), options.dtype, limit)
    sums = [Moments(each.width) for each in maps]

    def rows_of(start: int) -> tuple[int, NDArray[Any], list[Moments]]:
        chosen = slice(start, min(start + BLOCK, len(items)))
        rows = np.zeros((chosen.stop - start, storage.width), options.dtype)
        parts = []
        for i, each in enumerate(maps):
            rows[:, offsets[i] : offsets[i + 1]], part = each.rows(chosen)
            parts.append(part)
        return start, rows, parts

    # Blocks are computed side by side and added up in their order: the result does not depend on how many at a time.
    for start, rows, parts in in_order(rows_of, range(0, len(items), BLOCK)):
        storage.write(start, rows)
        for total, part in zip(sums, parts, strict=True):
            total.add(part)
    center, scale = np.zeros(storage.width), np.ones(storage.width)
    for i, total in enumerate(sums):
        columns = slice(offsets[i], offsets[i + 1])
        center[columns], scale[columns] = total.normalization()
    storage.finish(center, scale)
    return Embedding(tuple(view.name for view in views), offsets, storage)


def _storage(n: int, width: int, dtype: str, limit: int | None) -> Storage:
    if limit is None or n * width * np.dtype(dtype).itemsize <= limit:
        return Memory(n, width, dtype)
    return Scratch(n, width, rows_per_block=max(BLOCK, limit // (4 * width * 4)))


class Moments:
    """Sum and products of rows of features."""

    def __init__(self, width: int) -> None:
        self.count, self.total, self.products = 0, np.zeros(width), np.zeros((width, width))

    def take(self, phi: Matrix) -> Moments:
        """Take in rows."""
        self.count += len(phi)
        self.total += phi.sum(axis=0)
        self.products += phi.T @ phi
        return self

    def add(self, other: Moments) -> None:
        """Take in what another has seen."""
        self.count += other.count
        self.total += other.total
        self.products += other.products

    @property
    def gram(self) -> Matrix:
        """The products of centred columns."""
        return self.products - np.outer(self.total, self.total) / max(self.count, 1)

    def normalization(self) -> tuple[Matrix, float]:
        """Return what to subtract and by what to multiply, so that `normalized_factor` results."""
        return self.total / max(self.count, 1), float(1.0 / np.sqrt(np.linalg.norm(self.gram)))


class GaussianFeatures:
    """From rows of a view to features K_XB W, W chosen so that the fewest columns keep what matters.

    Parameters
    ----------
    sample : ndarray of shape (k, d)
        Some rows, from which bandwidth and basis points are found.
    options : EmbeddingOptions
        How.
    """

    def __init__(self, sample: Matrix, options: EmbeddingOptions) -> None:
        self.sigma2 = squared_bandwidth(sample, options.bandwidth)
        self.basis = basis_points(sample, options.rank, options.random_state)
        self.root = inverse_root(self.basis, self.sigma2)
        if options.spared > 0:
            phi = self(sample)
            self.root = self.root @ leading(Moments(phi.shape[1]).take(phi).gram, options.spared)
        self.width = self.root.shape[1]

    def __call__(self, X: Matrix) -> Matrix:
        """Return the features of standardised rows."""
        return kernel_matrix(X, self.basis, self.sigma2) @ self.root


class _GaussianMap:
    """From items to the Gaussian features of one view."""

    def __init__(self, view: View, options: EmbeddingOptions, items: NDArray[np.int64]) -> None:
        self.view, self.options, self.items = view, options, items
        self.features = GaussianFeatures(sample_view(view, items, SAMPLE, options.scaling), options)
        self.width = self.features.width

    def rows(self, chosen: slice) -> tuple[Matrix, Moments]:
        """Return features of some items, NaN for those that lack the view, and the sums of the others."""
        items = self.items[chosen]
        present = self.view.present[items]
        phi = self.features(self.view.rows(items if present.all() else items[present], self.options.scaling))
        return _everywhere(phi, present), Moments(self.width).take(phi)


class _KnownMap:
    """Features of one view that were computed for all items at once."""

    def __init__(self, phi: Matrix, present: NDArray[np.bool_]) -> None:
        self.phi, self.present, self.width = phi, present, phi.shape[1]
        self._row = np.cumsum(present) - 1

    def rows(self, chosen: slice) -> tuple[Matrix, Moments]:
        """Return features of some items, NaN for those that lack the view, and the sums of the others."""
        present = self.present[chosen]
        phi = self.phi[self._row[chosen][present]]
        return _everywhere(phi, present), Moments(self.width).take(phi)


def _everywhere(phi: Matrix, present: NDArray[np.bool_]) -> Matrix:
    if present.all():
        return phi
    rows = np.full((len(present), phi.shape[1]), np.nan)
    rows[present] = phi
    return rows


def _view_map(view: View, options: EmbeddingOptions, items: NDArray[np.int64]) -> _GaussianMap | _KnownMap:
    if options.kernel == "gaussian":
        return _GaussianMap(view, options, items)
    present = view.present[items]
    X = view.rows(items[present], options.scaling)
    phi = diffusion_features(X, options.rank, options.n_neighbors, options.time)
    if options.spared > 0:
        phi = phi @ leading(Moments(phi.shape[1]).take(phi).gram, options.spared)
    return _KnownMap(phi, present)


def leading(gram: Matrix, spared: float) -> Matrix:
    """Return the rotation to the fewest columns that keep all of the squared kernel but a share ``spared``."""
    values, vectors = np.linalg.eigh(gram)
    return vectors[:, np.cumsum(values**2) > spared * np.sum(values**2)]


def exact_kernel(view: View, options: EmbeddingOptions) -> Matrix:
    """Return the view's whole centred kernel matrix with unit norm: what `embed` approximates."""
    items = np.flatnonzero(view.present)
    X = view.rows(items, options.scaling)
    if options.kernel == "diffusion":
        K = diffusion_matrix(X, options.n_neighbors, options.time)
    else:
        sigma2 = squared_bandwidth(sample_view(view, items, SAMPLE, options.scaling), options.bandwidth)
        K = kernel_matrix(X, X, sigma2)
    everywhere = np.zeros((view.n, view.n))
    everywhere[np.ix_(items, items)] = normalized_kernel(K, options.normalization)
    return everywhere


def centered(K: Matrix) -> Matrix:
    """Return C K C with C = I - 11^T/n."""
    return K - K.mean(axis=0)[None, :] - K.mean(axis=1)[:, None] + K.mean()


def normalized_kernel(K: Matrix, normalization: str = "supplement") -> Matrix:
    """Return C K C / ||C K C||_F (label ``e:normalization``), or C K C / ||K C||_F as in the paper's main text."""
    return centered(K) / np.linalg.norm(measured_part(K, normalization))


def measured_part(K: Matrix, normalization: str) -> Matrix:
    """Return the matrix by whose norm a kernel is divided: C K C, or K C.

    The paper's main text divides by ||K C||_F and its supplement by ||C K C||_F. Inner products tr(K~ L~) hold C K C in
    both cases, since C is its own square.
    """
    return centered(K) if normalization == "supplement" else K - K.mean(axis=1)[:, None]


def normalized_factor(phi: Matrix) -> Matrix:
    """Return C phi scaled so that ||phi^T phi||_F = 1: the factor of `normalized_kernel`."""
    phi = phi - phi.mean(axis=0)
    return phi / np.sqrt(np.linalg.norm(phi.T @ phi))
