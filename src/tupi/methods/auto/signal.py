"""How much of what the views do not explain in f is signal, told without labels by a jackknife over views.

Let f = g + e with an error e that the views know nothing of, and p = E[f | views] by out-of-fold neighbours. The
residual f - p holds the error and whatever part of g the views do not see, so that the best estimate of g is
p + c (f - p) with c the share of signal in the residual. One view cannot tell the two apart, but several can. If m
views are conditionally independent looks at g with information s each, they explain of f's variance the share

    R(m) = (1 - nu) m s / (1 + m s),    that is    1 / R(m) = 1 / (1 - nu) + slope / m,

with nu the share of error: a straight line in 1 / m, which two points give and whose end at 1 / m = 0 says what
infinitely many views would explain. Then c = 1 - nu / var(f - p). Redundant views thus give c near 0 (trust their
average); where leaving out views costs as much as if each told its own part, nothing is known to be error, and c = 1
(leave f alone).

The second point is a mean over sets of views that are left out in turn: two views at a time, a longer line than one,
or one where there are few. Where views differ, the line may end anywhere between nothing and everything, so nu is
averaged over resampled views: what a few views say decides less than what all say.

The law takes for granted that what the views agree about is g. They may agree about something else, such as the year in
which an item was made; then f's deviation from the year's mean looks like error and is the truth. No label-free figure
tells the two apart for certain, but one is a warning: views that explain one another much better than they explain f.
`SignalShare.credible` is False there, and where the sign is too faint, and then f is left alone without labels.

Averages may also be too coarse: where f changes among the neighbours themselves, they miss what the views do know, and
the jackknife would take that for error. Error that the views know nothing of averages out, so that the nearest three
neighbours explain less of f than fifteen do. If they explain more, the other twelve are too far away, and c = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tupi.embedding.anchors import nearest_others
from tupi.embedding.relevance import evenly
from tupi.runtime.computing import in_order

MAX_GROUPS = 10  # of views or columns that are left out together
MAX_SETS = 15  # of groups that are left out in turn: one search each
QUERIES = 1000  # items whose scores are predicted from their neighbours
POOL = 4000  # items among which neighbours are looked for, so that the cost does not grow with n
MAX_ERROR = 1 / 2  # error in f is taken to be at most this share of what the views confirm: views that explain little
#                    of f, however alike they are, are no reason to move it
RESAMPLED = 1000  # sets of views over which the share of error is averaged
DIMENSIONS = 40  # principal directions in which neighbours are looked for, at most
LEAST_AGREEMENT = 0.6  # of what views explain of one another they must explain of f, or they tell of something else
LEAST_AGREEMENT_OF_COLUMNS = 0.7  # the same for columns: those of one view were made together and share more
FEWER_NEIGHBORS = 3
COARSE = 1.02  # times as much as all neighbours may the nearest few explain: more says that all are too far away
LEAST_KEPT = 2 / 3  # of the residual where columns stand for views and no label confirms c: they are not independent
LEAST_SIGN = 0.25  # share of the residual that must look like error: less is within the error of the jackknife
KEPT = 0.99  # of the variance; the remaining directions are mostly noise, and make all items equally distant
FITTED = 5000  # items that the directions are fitted to
Array = NDArray[np.float64]
Columns = NDArray[np.floating]


@dataclass(frozen=True)
class SignalShare:
    """What the jackknife found.

    Attributes
    ----------
    c : float
        The share of signal in f - p.
    explained : float
        R(m), the share of f's variance that all views together explain.
    kept : float
        The share of f - p that comes back where no label has confirmed c: at least c.
    credible : bool
        Whether f may be moved on this sign alone: the views explain f nearly as well as they explain one another,
        and enough of the residual looks like error.
    coarse : bool
        Whether averages are too coarse to tell: the nearest few items explain f better than all neighbours do.
    """

    c: float
    explained: float
    kept: float = 1.0
    credible: bool = False
    coarse: bool = False


def error_share(r: float, r_less: ArrayLike, m: int, left: int) -> Array:
    """Return nu from R(m) and R(left), see above; for several R(left) at once."""
    slope = np.maximum(0.0, 1 / np.maximum(r_less, 1e-12) - 1 / r) / (1 / left - 1 / m)
    end = 1 / r - slope / m  # at most 1 means that even infinitely many views would explain no more than all
    return 1 - 1 / np.maximum(end, 1.0)


def resampled_error_share(r: float, r_less: Sequence[float], out: Sequence[Sequence[int]], m: int) -> float:
    """Return the mean of nu over resampled views; ``r_less`` has R without each set of views in ``out``.

    m - 1 of m views are drawn at a time, with replacement: the variance of their mean is what s^2 / m estimates. A set
    counts as often as its views were drawn together.
    """
    drawn = np.random.default_rng(0).multinomial(m - 1, np.full(m, 1 / m), size=RESAMPLED)
    counts = drawn[:, np.array(out)].prod(axis=2)
    counts = counts[counts.any(axis=1)]
    return float(error_share(r, counts @ np.array(r_less) / counts.sum(axis=1), m, m - len(out[0])).mean())


def sets_left_out(m: int) -> list[tuple[int, ...]]:
    """Return the sets of views that are left out in turn: single ones, or of four and more views pairs."""
    sets = list(combinations(range(m), 1 if m < 4 else 2))
    return [sets[i] for i in np.random.default_rng(0).permutation(len(sets))[:MAX_SETS]]


def signal_share(f: Array, related: Sequence[Columns], k: int, residual: float) -> SignalShare:
    """Return c for standardised predictions; 1 where there is nothing to compare.

    What is left out in turn are views if there are three or more, else single columns; more than ten of them are
    dealt into ten groups, those that are most alike in their correlation with f into different ones.

    Parameters
    ----------
    f : ndarray of shape (n, c)
        Predictions of a sample of the items.
    related : sequence of ndarray of shape (n, d)
        Views of the sample that depend on them.
    k : int
        Neighbours by which views explain f.
    residual : float
        The mean square, over all items, of f less the averages between which and f the share decides.
    """
    groups, products, apart = _groups(f, related)
    m = len(groups)
    if m < 2:
        return SignalShare(1.0, float("nan"))
    least_kept = 0.0 if apart else LEAST_KEPT
    out = sets_left_out(m)

    def explained_without(some: Sequence[int]) -> tuple[float, float]:
        X, known = _without(groups, products, some)
        items, near = sampled_neighbors(X, k, known)
        few = near[:, :FEWER_NEIGHBORS]
        return float(np.mean(explained_by(f, items, near))), float(np.mean(explained_by(f, items, few)))

    r, r_few = explained_without(())
    if r == 0.0 or r_few > COARSE * r:
        return SignalShare(1.0, r, coarse=r > 0.0)
    r_less = [by_all for by_all, _ in in_order(explained_without, out)]
    nu = resampled_error_share(r, r_less, out, m)
    # p may be smoother than the averages that r was measured by; an item's own f is a small part of it, hence 1 - r.
    residual = max(1 - r, residual, 1e-12)
    credible = nu >= LEAST_SIGN * residual and r >= _least_agreement(apart) * agreement(groups, products, k)
    c = float(np.clip(1 - min(nu, MAX_ERROR * r) / residual, 0.0, 1.0))
    return SignalShare(c, r, max(c, least_kept), credible)


def tells_of(f: Array, related: Sequence[Columns], k: int, r: float) -> bool:
    """Return whether views, which explain the share ``r`` of f, explain it nearly as well as they do one another.

    If they do not, then what they have in common may be something else than what f is about.
    """
    groups, products, apart = _groups(f, related)
    return len(groups) > 1 and r >= _least_agreement(apart) * agreement(groups, products, k)


def _least_agreement(apart: bool) -> float:
    return LEAST_AGREEMENT if apart else LEAST_AGREEMENT_OF_COLUMNS


def _groups(f: Array, related: Sequence[Columns]) -> tuple[list[Columns], Array, bool]:
    """Return what is left out in turn, the products of all its columns, and whether these are views of their own."""
    units, apart = list(related), len(related) >= 3
    if not apart:
        units = [column[:, None] for view in related for column in view.T]
    m = min(len(units), MAX_GROUPS)
    if m < 2:
        return units, np.zeros((0, 0)), apart
    strength = [np.linalg.norm(unit.T @ f) / np.linalg.norm(unit) for unit in units]
    by_strength = np.argsort(strength, kind="stable")
    groups = [np.hstack([units[i] for i in by_strength[start::m]]) for start in range(m)]
    return groups, _products(_pooled(np.hstack(groups))), apart


def agreement(groups: Sequence[Columns], products: Array, k: int) -> float:
    """Return how well groups of columns explain one another: the mean share of each one's first principal direction."""

    def of_others(i: int) -> float:
        others, known = _without(groups, products, (i,))
        first = groups[i] @ _principal_directions(_products(groups[i]), share=1.0)[:, :1]
        return float(explained(first, others, k, known)[0])

    return float(np.mean(list(in_order(of_others, range(len(groups))))))


def _without(groups: Sequence[Columns], products: Array, some: Sequence[int]) -> tuple[Columns, Array]:
    """Return the columns of all groups but some, and the products of these columns, given those of all."""
    kept = np.concatenate([np.full(X.shape[1], i not in some) for i, X in enumerate(groups)])
    return np.hstack([X for i, X in enumerate(groups) if i not in some]), products[np.ix_(kept, kept)]


def explained(f: Array, X: Columns, k: int, products: Array | None = None) -> Array:
    """Return for each column of f the share of its variance that the k nearest other items by X explain."""
    return explained_by(f, *sampled_neighbors(X, k, products))


def _pooled(X: Columns) -> NDArray[np.float32]:
    """Return the items of a sample among which neighbours are looked for."""
    return X[evenly(len(X), POOL)].astype(np.float32)


def sampled_neighbors(X: Columns, k: int, products: Array | None = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return some items, and for each its k nearest others among a sample; products of columns may be known."""
    pool = evenly(len(X), POOL)
    queries = evenly(len(pool), QUERIES)
    X = _pooled(X)
    directions = leading_directions(X, products)
    X = X if directions is None else X @ directions
    return pool[queries], pool[nearest_others(X, queries, k)]


def leading_directions(X: Columns, products: Array | None = None) -> Columns | None:
    """Return the leading principal directions of rows, shape (d, k); None if there are few columns anyway."""
    if X.shape[1] <= DIMENSIONS:
        return None
    directions = _principal_directions(_products(X) if products is None else products, KEPT)
    return directions[:, :DIMENSIONS].astype(X.dtype)


def _products(X: Columns) -> Array:
    """Return the products of centred columns with one another, by a sample of rows."""
    sample = X[evenly(len(X), FITTED)].astype(np.float64)
    sample -= sample.mean(axis=0)
    return np.asarray(sample.T @ sample)


def _principal_directions(products: Array, share: float) -> Array:
    """Return as many directions as have a share of the variance, given the products of centred columns."""
    values, directions = np.linalg.eigh(products)
    enough = int(np.searchsorted(np.cumsum(values[::-1]), share * values[::-1].sum())) + 1
    return directions[:, ::-1][:, :enough]


def explained_by(f: Array, items: NDArray[np.int64], near: NDArray[np.int64]) -> Array:
    """Return for each column the squared correlation of items' values with their neighbours' mean; 0 if negative."""
    means, scores = f[near].mean(axis=1), f[items]
    shares = np.zeros(f.shape[1])
    for c, (mean, score) in enumerate(zip(means.T, scores.T, strict=True)):
        spread = mean.std() * score.std()
        if spread > 0:
            shares[c] = np.mean((mean - mean.mean()) * (score - score.mean())) / spread
    return np.maximum(shares, 0.0) ** 2


def neighbors_alone(related: Sequence[Columns], k: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return what `sampled_neighbors` does, for each view by itself."""
    return list(in_order(lambda X: sampled_neighbors(X, k), related))


def view_shares(
    by_view: Sequence[tuple[int, NDArray[np.int64], NDArray[np.int64]]], n_views: int, columns: Array
) -> Array:
    """Return each view's share of what the views, one by one, explain in columns of the sample's items.

    For each related view comes its number, and the neighbours of some items of the sample.
    """
    shares = np.zeros(n_views)
    for view, items, near in by_view:
        shares[view] = explained_by(columns, items, near).mean()
    return shares / (shares.sum() or 1.0)
