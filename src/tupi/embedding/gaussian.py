"""Gaussian kernels exp(-||x - y||^2 / sigma2) (label ``e:gaussiankernel``): matrices, Nystroem factors, and widths.

The paper sets sigma^2 "to twice the standard deviations of the pairwise distances". That can be read in three ways,
which are offered by name:

======================  ==========================================================================
``"std-squared"``       sigma2 = 2 std(d^2): distances squared, as the kernel uses them
``"std"``               sigma2 = 2 std(d)
``"std-as-sigma"``      sigma2 = (2 std(d))^2: the rule sets sigma, not its square
``"median"``            sigma2 = median(d^2), the usual heuristic elsewhere
======================  ==========================================================================

`tupi.hsic` and method ``"tupi"`` take the third by default.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from tupi.blocks.home import Home, Memory, Rows, reads_views
from tupi.inputs.views import View
from tupi.runtime.errors import InputError, nearest

RCOND = 1e-10  # eigenvalues of K_BB below this share of the largest are noise: dropped, never inverted
Matrix = NDArray[np.float64]
Precision = TypeVar("Precision", bound=np.floating)
RULES = ("std-squared", "std", "std-as-sigma", "median")
WIDTHS = (1e-3, 1e6)  # what sigma2 may be, in units of standardised columns: beyond, no items are alike, or all
DISTANCES = 1000  # rows whose distances are looked at where a rule needs the distances themselves
MARGIN = 1.0  # how far, in units of sigma_f, the grid reaches past the predictions: they move while they are denoised
MAX_POINTS = 1000
SAMPLE = 5000  # rows that k-means sees: centres settle long before
CONTENT_LIMIT = 200_000  # items beyond which a sample is drawn by position instead of content
LEADING = 8  # columns that decide between rows of equal norm
N_LLOYD = 10  # rounds of Lloyd's algorithm: the kernel factor no longer changes visibly after that


def squared_norms(X: NDArray[Precision]) -> NDArray[Precision]:
    """Return ||x||^2 for all rows x of ``X``, in their precision."""
    return np.einsum("ij,ij->i", X, X)


def squared_distances(
    X: NDArray[Precision], Y: NDArray[Precision], norms: NDArray[Precision] | None = None
) -> NDArray[Precision]:
    """Return ||x - y||^2 for all rows x of ``X`` and y of ``Y``, of which the squared norms may be known."""
    squared = squared_norms(X)[:, None] + (squared_norms(Y) if norms is None else norms)
    products = X @ Y.T
    squared -= np.multiply(products, 2, out=products)
    return np.maximum(squared, 0.0, out=squared)


def kernel_matrix(X: Matrix, Y: Matrix, sigma2: float) -> Matrix:
    """Return exp(-||x - y||^2 / sigma2) for all rows x of ``X`` and y of ``Y``."""
    squared = squared_distances(X, Y)
    squared *= -1.0 / sigma2
    return np.exp(squared, out=squared)


def inverse_root(B: Matrix, sigma2: float) -> Matrix:
    """Return W with W W^T the pseudo-inverse of K_BB, from its truncated eigendecomposition."""
    values, vectors = np.linalg.eigh(kernel_matrix(B, B, sigma2))
    keep = values > RCOND * values[-1]
    return vectors[:, keep] / np.sqrt(values[keep])


def alignment(products: Matrix, offsets: NDArray[np.int64], gram: Matrix) -> Matrix:
    """Return the normalised HSIC with each view from U^T phi, where each view's rows begin in it, and phi^T phi."""
    per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), offsets[:-1])
    return per_view / np.linalg.norm(gram)


def check_bandwidth(bandwidth: Any, name: str = "bandwidth") -> str | float:
    """Return a bandwidth rule or a width; complain about anything else, naming the argument."""
    low, high = WIDTHS
    is_number = isinstance(bandwidth, (int, float, np.integer, np.floating)) and not isinstance(bandwidth, bool)
    if is_number and low <= bandwidth <= high:
        return float(bandwidth)
    if isinstance(bandwidth, str) and bandwidth in RULES:
        return bandwidth
    hint = nearest(bandwidth, RULES) if isinstance(bandwidth, str) else ""
    accepted = f"{', '.join(RULES)} or a number from {low:g} to {high:g}"
    raise InputError(f"{name}: found {bandwidth!r}; accepted: {accepted}.{hint}")


def squared_bandwidth(X: NDArray[np.float64], bandwidth: str | float = "std-squared") -> float:
    """Return sigma2 of the Gaussian kernel of the rows of ``X``.

    All pairs count, an item with itself too, so that a copy of the data changes nothing. Rules that need the
    distances themselves take `DISTANCES` rows, evenly spread in the order that `tupi.embedding.gaussian` defines.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Centred rows.
    bandwidth : str or float
        A rule by name, or sigma2 itself.
    """
    bandwidth = check_bandwidth(bandwidth)
    if not isinstance(bandwidth, str):
        return bandwidth
    if bandwidth == "std-squared":
        return 2.0 * float(np.sqrt(_variance_of_squared_distances(X)))
    if len(X) > DISTANCES:
        X = X[np.linspace(0, len(X) - 1, DISTANCES).astype(int)]
    distances = pdist(X)
    n = len(X)
    if bandwidth == "median":
        sigma2 = float(np.median(distances)) ** 2
    else:
        mean = 2 * distances.sum() / n**2
        variance = 2 * (distances**2).sum() / n**2 - mean**2
        sigma2 = 2.0 * float(np.sqrt(variance)) if bandwidth == "std" else 4.0 * float(variance)
    if sigma2 <= 0:  # more than half of the distances are zero: fall back on the rule that always has a value
        return squared_bandwidth(X, "std-squared")
    return sigma2


def _variance_of_squared_distances(X: NDArray[np.float64]) -> float:
    """Return the variance of ||x_i - x_j||^2 over all n^2 pairs, in O(n d^2).

    With centred rows and a_i = ||x_i||^2: E d^2 = 2 E a and E d^4 = 2 E a^2 + 2 (E a)^2 + 4 ||E x x^T||_F^2.
    """
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    n, d = X.shape
    gram = X.T @ X if d <= n else X @ X.T  # either has the same Frobenius norm
    fourth = 2 * np.mean(squares**2) + 2 * squares.mean() ** 2 + 4 * np.sum((gram / n) ** 2)
    return float(fourth - (2 * squares.mean()) ** 2)


def basis_size(sigmas: float, rank: int) -> int:
    """Return how many grid points a range of so many sigma_f has: at least ``rank``, never coarser than sigma_f / 3."""
    return int(np.clip(np.ceil(3 * sigmas), rank, MAX_POINTS))


class PredictionKernel:
    """phi(f) = k_f(f, B) K_BB^(-1/2) for a grid B (label ``e:kapprox``), and its derivative.

    The grid is the paper's (equally spaced over the range of f) with a margin, at least ``rank`` points and never
    coarser than sigma_f / 3. Its kernel matrix is nearly singular, so the map keeps only the eigenvectors that
    matter: 13 to 20 of 50.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Predictions that the grid must cover.
    sigma2 : float
        sigma_f^2, the width of the kernel.
    rank : int
        The least number of grid points, K.
    """

    def __init__(self, f: NDArray[np.float64], sigma2: float, rank: int = 50) -> None:
        self.sigma2 = sigma2
        sigma = np.sqrt(sigma2)
        low, high = f.min() - MARGIN * sigma, f.max() + MARGIN * sigma
        self.grid = np.linspace(low, high, basis_size((high - low) / sigma, rank))
        self.root = inverse_root(self.grid[:, None], sigma2)

    def features(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return phi(f), one row per prediction."""
        return kernel_matrix(f[:, None], self.grid[:, None], self.sigma2) @ self.root

    def features_and_slopes(self, f: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return phi(f) and d phi / d f."""
        difference = f[:, None] - self.grid[None, :]
        kernel = np.exp(difference**2 / -self.sigma2)
        slopes = kernel * difference * (-2.0 / self.sigma2)
        return kernel @ self.root, slopes @ self.root


def canonical_order(norms: NDArray[np.float64], leading: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an order of rows that depends on their content only.

    Rows are sorted by their squared norm, then by their leading values. Whatever is drawn in this order is the same
    after a shuffle of the items, a copy of the data, or a rotation of the view.
    """
    order = np.argsort(norms, kind="stable")
    if (np.diff(norms[order]) == 0).any():
        order = np.lexsort([*leading.T[::-1], norms])
    return order


def in_canonical_order(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows in an order that depends on their content only."""
    return X[canonical_order(np.einsum("ij,ij->i", X, X), X[:, :LEADING])]


def sample_views(home: Home, size: int = SAMPLE, scaling: str = "columns") -> list[NDArray[np.float64]]:
    """Return at most ``size`` rows of each view, evenly spread over the canonical order of the items that have it.

    Past `CONTENT_LIMIT` items, and for views that are read from files, rows are evenly spread over the items instead:
    the canonical order would take one more pass over the data.

    Parameters
    ----------
    home : Home
        The items, in an order of which rows can be drawn evenly.
    size : int
        How many rows.
    scaling : {"columns", "view"}
        See `tupi.inputs.views.View.rows`.
    """
    counts = [int(home.having(k).sum()) for k in range(home.n_views)]
    by_content = [size < n <= CONTENT_LIMIT and not home.on_disk(k) for k, n in enumerate(counts)]
    spread = [np.linspace(0, n - 1, size).astype(int) if n > size else np.arange(n) for n in counts]
    if any(by_content):
        keys = zip(*home.fetched(home.each(_content_keys, wanted=by_content, scaling=scaling)), strict=True)
        for k, found in enumerate(keys):
            if by_content[k]:
                content = np.concatenate(found)
                spread[k] = canonical_order(content[:, 0], content[:, 1:])[spread[k]]
    orders = [np.argsort(ranks) for ranks in spread]
    drawn = home.drawn([ranks[order] for ranks, order in zip(spread, orders, strict=True)], scaling)
    return [
        rows[np.argsort(order)] if content else in_canonical_order(rows)
        for rows, order, content in zip(drawn, orders, by_content, strict=True)
    ]


@reads_views
def _content_keys(rows: Rows, *, wanted: list[bool], scaling: str) -> list[NDArray[np.float64] | None]:
    """Return squared norm and leading values of the items that have each wanted view, by which a sample is drawn."""
    found: list[NDArray[np.float64] | None] = []
    for k, one in enumerate(wanted):
        X, has = rows.view(k, scaling) if one else (np.empty((0, 0)), np.zeros(0, bool))
        X = X if has.all() else X[has]
        found.append(np.column_stack([np.einsum("ij,ij->i", X, X), X[:, :LEADING]]) if one else None)
    return found


def sample_view(view: View, size: int = SAMPLE, scaling: str = "columns") -> NDArray[np.float64]:
    """Return at most ``size`` rows of a view of all items, as `sample_views` draws them."""
    return sample_views(Memory((view,), np.arange(view.n)), size, scaling)[0]


def basis_points(X: NDArray[np.float64], rank: int, random_state: int = 0) -> NDArray[np.float64]:
    """Return at most ``rank`` basis points for the rows of ``X``: the paper's choices.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows, or a sample of them in canonical order.
    rank : int
        K, the number of basis points.
    random_state : int
        Seed of k-means++.
    """
    if X.shape[1] == 1:
        return np.linspace(X.min(), X.max(), rank)[:, None]
    distinct = np.unique(X, axis=0) if len(X) <= rank else X
    if len(distinct) <= rank:
        return distinct
    return _lloyd(X, X[first_centers(X, rank, random_state)])


def first_centers(X: NDArray[np.float64], rank: int, random_state: int) -> NDArray[np.int64]:
    """Return the rows from which k-means starts, by greedy k-means++ (Arthur and Vassilvitskii, 2007).

    Each next one is drawn with a probability that grows with its squared distance to those chosen so far; of a few that
    are drawn the one is taken after which the sum of these distances is least. The draws are those of scikit-learn,
    whose import would take longer than all that the default method does with a few thousand items.
    """
    rng = np.random.RandomState(random_state)
    chosen = [int(rng.choice(len(X), p=np.full(len(X), 1 / len(X))))]
    norms = squared_norms(X)
    closest = squared_distances(X[chosen], X, norms)[0]
    for _ in range(1, rank):
        drawn = rng.uniform(size=2 + int(np.log(rank))) * closest.sum()
        candidates = np.minimum(np.searchsorted(np.cumsum(closest), drawn), len(X) - 1)
        then = squared_distances(X[candidates], X, norms)
        np.minimum(closest, then, out=then)
        best = int(then.sum(axis=1).argmin())
        chosen.append(int(candidates[best]))
        closest = then[best]
    return np.array(chosen)


def _lloyd(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve centres by Lloyd's algorithm; a centre that loses all its rows stays where it is."""
    for _ in range(N_LLOYD):
        scores = X @ centers.T
        scores -= 0.5 * squared_norms(centers)
        nearest = scores.argmax(axis=1)
        counts = np.bincount(nearest, minlength=len(centers))
        members = sp.csr_array((np.ones(len(X)), nearest, np.arange(len(X) + 1)), shape=(len(X), len(centers)))
        sums = members.T @ X
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centers)
        if np.allclose(moved, centers, rtol=0, atol=1e-9):
            return moved
        centers = moved
    return centers


class GaussianFeatures:
    """phi = K_XB K_BB^(-1/2), so that phi phi^T approximates the kernel matrix of the rows of X.

    Parameters
    ----------
    sample : ndarray of shape (k, d)
        Some rows, from which width and basis points are found.
    rank : int
        K, the number of basis points.
    bandwidth : str or float
        See `squared_bandwidth`.
    random_state : int
        Seed of k-means++.
    spared : float
        Share of the squared kernel that may be left out for fewer columns; 0 keeps all.
    """

    def __init__(
        self, sample: Matrix, rank: int, bandwidth: str | float, random_state: int = 0, spared: float = 0.0
    ) -> None:
        self.sigma2 = squared_bandwidth(sample, bandwidth)
        self.basis = basis_points(sample, rank, random_state)
        self.root = inverse_root(self.basis, self.sigma2)
        if spared > 0:
            self.root = self.root @ leading(self(sample), spared)
        self.width = self.root.shape[1]

    def __call__(self, X: Matrix) -> Matrix:
        """Return the features of standardised rows."""
        return kernel_matrix(X, self.basis, self.sigma2) @ self.root


def leading(phi: Matrix, spared: float) -> Matrix:
    """Return the rotation to the fewest columns that keep all of the squared kernel but a share ``spared``."""
    values, vectors = np.linalg.eigh(centred_products(moments(phi)))
    return vectors[:, np.cumsum(values**2) > spared * np.sum(values**2)]


def moments(phi: Matrix) -> Matrix:
    """Return sums over rows of features as one table, which adds up: their number, sums and products."""
    table = np.zeros((1 + phi.shape[1],) * 2)
    table[0, 0], table[0, 1:], table[1:, 1:] = len(phi), phi.sum(axis=0), phi.T @ phi
    return table


def centred_products(table: Matrix) -> Matrix:
    """Return the products of centred columns, given their `moments`."""
    return table[1:, 1:] - np.outer(table[0, 1:], table[0, 1:]) / max(table[0, 0], 1)


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
