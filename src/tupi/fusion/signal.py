"""How much of what the views do not explain in f is signal, told without labels by a jackknife over views.

Let f = g + e with an error e that the views know nothing of, and p = E[f | views] by out-of-fold neighbours. The
residual f - p holds the error and whatever part of g the views do not see, so that the best estimate of g is
p + c (f - p) with c the share of signal in the residual. One view cannot tell the two apart, but several can. If m
views are conditionally independent looks at g with information s each, they explain of f's variance the share

    R(m) = (1 - nu) m s / (1 + m s),

with nu the share of error. R(m) and R(m - 1), with q = R(m) / R(m - 1), give

    1 - nu = R(m) (1 + (m - 1)(q - 1) / (m - q (m - 1))),    c = 1 - nu / (1 - R(m)),

and q >= m / (m - 1) means that every view adds as much as the first did: nothing is known to be error. Redundant views
thus give c near 0 (trust their average), complementary ones c near 1 (leave f alone).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from tupi.fusion.relevance import Block, evenly

MAX_GROUPS = 10  # left out in turn: one search each
QUERIES = 3000  # items whose scores are predicted from their neighbours
POOL = 20_000  # items among which neighbours are looked for, so that the cost does not grow with n
MAX_ERROR = 1 / 3  # error in f is taken to be at most this share of what the views confirm: views that explain little
#                    of f, however alike they are, are no reason to move it
DIMENSIONS = 40  # principal directions in which neighbours are looked for, at most
KEPT = 0.99  # of the variance; the remaining directions are mostly noise, and make all items equally distant
FITTED = 5000  # items that the directions are fitted to
Array = NDArray[np.float64]


@dataclass(frozen=True)
class SignalShare:
    """What the jackknife found.

    Attributes
    ----------
    c : float
        The share of signal in f - p.
    explained : float
        R(m), the share of f's variance that all views together explain.
    """

    c: float
    explained: float


def error_share(r: float, r_less: float, m: int) -> float:
    """Return nu from R(m) and R(m - 1), see above."""
    q = max(1.0, r / max(r_less, 1e-12))
    left = m - q * (m - 1)
    return max(0.0, 1 - r * (1 + (m - 1) * (q - 1) / left)) if left > 0 else 0.0


def signal_share(f: Array, related: Sequence[Block], k: int) -> SignalShare:
    """Return c for standardised predictions; 1 where there is nothing to compare.

    What is left out in turn are views if there are three or more, else single columns; more than ten of them are
    dealt into ten groups, those that are most alike in their correlation with f into different ones.
    """
    units = [block.columns for block in related]
    if len(units) < 3:
        units = [column[:, None] for block in related for column in block.columns.T]
    m = min(len(units), MAX_GROUPS)
    if m < 2:
        return SignalShare(1.0, float("nan"))
    strength = [np.linalg.norm(unit.T @ f) / np.linalg.norm(unit) for unit in units]
    units = [units[i] for i in np.argsort(strength, kind="stable")]
    r = float(np.mean(explained(f, np.hstack(units), k)))
    less = [np.hstack([u for i, u in enumerate(units) if i % m != group]) for group in range(m)]
    r_less = float(np.mean([explained(f, X, k) for X in less]))
    nu = min(error_share(r, r_less, m), MAX_ERROR * r)
    return SignalShare(float(np.clip(1 - nu / max(1 - r, 1e-12), 0.0, 1.0)), r)


def explained(f: Array, X: NDArray[np.floating], k: int) -> Array:
    """Return for each column of f the share of its variance that the k nearest other items by X explain."""
    return explained_by(f, *sampled_neighbors(X, k))


def sampled_neighbors(X: NDArray[np.floating], k: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return some items, and for each its k nearest others among a sample."""
    pool = evenly(len(X), POOL)
    queries = evenly(len(pool), QUERIES)
    X = leading_directions(X[pool])
    found = NearestNeighbors(n_neighbors=min(k + 1, len(X))).fit(X).kneighbors(X[queries], return_distance=False)
    own = found == queries[:, None]
    own[~own.any(axis=1), -1] = True  # coincident items may have pushed the item out of its own list
    near = found[~own].reshape(len(queries), -1)
    return pool[queries], pool[near]


def leading_directions(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return rows in their leading principal directions; as they are if there are few columns."""
    if X.shape[1] <= DIMENSIONS:
        return X
    sample = X[evenly(len(X), FITTED)].astype(np.float64)
    sample -= sample.mean(axis=0)
    values, directions = np.linalg.eigh(sample.T @ sample)
    values, directions = values[::-1], directions[:, ::-1]
    enough = int(np.searchsorted(np.cumsum(values), KEPT * values.sum())) + 1
    return X @ directions[:, : min(enough, DIMENSIONS)].astype(X.dtype)


def explained_by(f: Array, items: NDArray[np.int64], near: NDArray[np.int64]) -> Array:
    """Return for each column the squared correlation of items' values with their neighbours' mean; 0 if negative."""
    means, scores = f[near].mean(axis=1), f[items]
    shares = np.zeros(f.shape[1])
    for c, (mean, score) in enumerate(zip(means.T, scores.T, strict=True)):
        spread = mean.std() * score.std()
        if spread > 0:
            shares[c] = np.mean((mean - mean.mean()) * (score - score.mean())) / spread
    return np.maximum(shares, 0.0) ** 2
