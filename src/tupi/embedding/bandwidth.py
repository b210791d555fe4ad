"""The width of Gaussian kernels, exp(-||x - y||^2 / sigma2).

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

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist

from tupi.runtime.errors import InputError, nearest

RULES = ("std-squared", "std", "std-as-sigma", "median")
WIDTHS = (1e-3, 1e6)  # what sigma2 may be, in units of standardised columns: beyond, no items are alike, or all
SAMPLE = 1000  # rows whose distances are looked at where a rule needs the distances themselves


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
    distances themselves take `SAMPLE` rows, evenly spread in the order that `tupi.embedding.basis` defines.

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
    if len(X) > SAMPLE:
        X = X[np.linspace(0, len(X) - 1, SAMPLE).astype(int)]
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
