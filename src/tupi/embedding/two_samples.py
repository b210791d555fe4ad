"""Do two sets of rows look alike? The distance of their means in the space of a Gaussian kernel, and a test.

That distance is the maximum mean discrepancy (MMD); its square is the HSIC of the rows with their membership, up to a
factor. If membership has nothing to do with the rows, so that they could as well be dealt out to the two samples at
random, the square is a sum of chi-square variables, one for each direction in the space of the kernel and weighted by
the variance of all rows along it. A chi-square distribution with the same mean, variance and skewness gives the
p-value, so nothing is sampled. (The gamma distribution of `tupi.embedding.relevance.p_value` lacks the skewness, which
matters for small p-values.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from tupi.embedding.gaussian import GaussianFeatures, in_canonical_order
from tupi.inputs.views import Statistics, standardized

RANK = 50  # basis points of the kernel
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """How two sets of rows differ.

    Attributes
    ----------
    distance : float
        Distance of the two means in the space of the kernel, from 0 to the root of 2.
    shift : float
        The largest difference of a column's two means, in standard deviations of that column; NaN if one set has no
        rows.
    p_value : float
        Of the hypothesis that both come from the same source.
    """

    distance: float
    shift: float
    p_value: float


def difference(before: Array, now: Array) -> Difference:
    """Compare two sets of rows; a row of NaN is one that is missing, and to be missing more often is a difference too.

    Parameters
    ----------
    before, now : ndarray of shape (n, d)
        The rows, in the same columns.
    """
    rows = np.concatenate([before, now]).astype(np.float64)
    is_new = np.arange(len(rows)) >= len(before)
    present = ~np.isnan(rows).all(axis=1)
    phi, shift = np.zeros((len(rows), 1)), np.nan
    statistics = Statistics.of(rows[present])
    if present.any() and not statistics.constant:
        known = standardized(rows[present], *statistics.standard)
        some = in_canonical_order(known)  # what is found with these does not know who is new
        features = GaussianFeatures(some, RANK, "median")(known)
        phi = np.zeros((len(rows), features.shape[1]))
        phi[present] = features - features.mean(axis=0)
    if (present & is_new).any() and (present & ~is_new).any():
        shift = 0.0 if statistics.constant else _largest_shift(known, is_new[present])
    phi = np.column_stack([phi, present])  # one more kernel: 1 between items that both have the view
    phi = phi - phi.mean(axis=0)
    distance = float(np.linalg.norm(phi[is_new].mean(axis=0) - phi[~is_new].mean(axis=0)))
    if not phi.any():
        return Difference(0.0, shift, 1.0)
    return Difference(distance, shift, _p_value(phi, is_new - is_new.mean()))


def _p_value(phi: Array, member: Array) -> float:
    """Return the p-value of ||phi^T member||^2 from centred features and centred membership."""
    statistic = np.sum((phi.T @ member) ** 2)
    weights = np.linalg.eigvalsh(phi.T @ phi) * (member @ member) / (len(phi) - 1)
    first, second, third = (np.sum(weights**power) for power in (1, 2, 3))
    scale, degrees = third / second, second**3 / third**2
    return float(chdtrc(float(degrees), float(max((statistic - first) / scale + degrees, 0.0))))


def _largest_shift(known: Array, is_new: NDArray[np.bool_]) -> float:
    return float(np.abs(known[is_new].mean(axis=0) - known[~is_new].mean(axis=0)).max())
