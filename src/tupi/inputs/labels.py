"""What is known about some items: values or pairs; and how well scores agree with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numba
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tupi.inputs.numbers import as_numbers, is_masked, unmasked
from tupi.inputs.types import Column
from tupi.runtime.errors import InputError

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Values:
    """Known target values of some items.

    Nothing is checked or converted before the labels meet a problem, in `as_labels`; inside the package both fields are
    arrays.

    Parameters
    ----------
    index : array_like of int
        Positions of the labelled items, each at most once.
    values : array_like
        Their target values; for classification the class: a column's name if the predictions have names, and its
        number otherwise. A masked value is unknown.
    """

    index: NDArray[np.int64]
    values: Array

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(self, index: Column, values: Column) -> None: ...


@dataclass(frozen=True, eq=False)
class Pairs:
    """Known comparisons: item ``higher[k]`` ranks above item ``lower[k]``.

    As for `Values`, nothing is checked or converted before the labels meet a problem.

    Parameters
    ----------
    higher, lower : array_like of int
        Positions of the items compared; the same comparison may occur more than once.
    """

    higher: NDArray[np.int64]
    lower: NDArray[np.int64]

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(self, higher: Column, lower: Column) -> None: ...


Labels: TypeAlias = Values | Pairs


def as_targets(values: Array) -> Array:
    """Return label values as real numbers."""
    return as_numbers("labels", values).astype(np.float64)


def as_labels(
    labels: Any, n: int, index: pd.Index | None = None, convert: Callable[[Array], Array] = as_targets
) -> Labels | None:
    """Check labels in any accepted form and return them as `Values` or `Pairs` of plain arrays.

    Parameters
    ----------
    labels : Values, Pairs, array_like of length n, Series or None
        An array has one entry per item, NaN or masked where unknown. A Series is matched by ``index`` if there is
        one.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids, when the predictions came with them.
    convert : callable
        Makes numbers of the known values, see `tupi.inputs.classes` for those of classes.
    """
    if labels is None:
        return None
    if isinstance(labels, Pairs):
        return _check_pairs(labels, n)
    if isinstance(labels, Values):
        return _check_values(labels, n, convert)
    if isinstance(labels, pd.Series) and index is not None and not labels.index.equals(index):
        labels = _match(labels, index)
    array = _one_dimensional(labels)
    if len(array) != n:
        raise InputError(
            f"labels: found {len(array)} entries for {n} items; accepted: one entry per item (NaN where unknown), "
            "tupi.Values(index, values) or tupi.Pairs(higher, lower)."
        )
    known = np.flatnonzero(~pd.isna(array))
    return _check_values(Values(known, array[known]), n, convert)


def _one_dimensional(labels: Any) -> Array:
    # Nullable and categorical columns become plain objects; numbers among them are converted later.
    array = labels.astype(object).to_numpy() if isinstance(labels, (pd.Series, pd.Index)) else unmasked(labels)
    if array.ndim != 1:
        raise InputError(f"labels: found an array of shape {array.shape}; accepted: a one-dimensional array.")
    return array


def _match(labels: pd.Series, index: pd.Index) -> pd.Series:
    if not labels.index.is_unique:
        twice = labels.index[labels.index.duplicated()].tolist()[:3]
        raise InputError(f"labels: the index holds {twice[0]!r} more than once; accepted: unique ids.")
    unknown = labels.index.difference(index, sort=False)
    if len(unknown):
        raise InputError(
            f"labels: {len(unknown)} ids are not among the predictions (first: {list(unknown[:3])}); "
            "accepted: ids of the predictions' index, or an array with one entry per item."
        )
    return labels.reindex(index)


def _positions(name: str, index: ArrayLike, n: int) -> NDArray[np.int64]:
    if is_masked(index):
        raise InputError(f"{name}: found masked positions; accepted: those of labelled items alone.")
    array = np.asarray(index)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name}: found {array.dtype} of shape {array.shape}; accepted: a list of item positions.")
    array = array.astype(np.int64)
    bad = array[(array < 0) | (array >= n)]
    if bad.size:
        raise InputError(f"{name}: found position {bad[0]}; accepted: 0 to {n - 1}.")
    return array


def _check_values(labels: Values, n: int, convert: Callable[[Array], Array]) -> Values:
    index = _positions("labels.index", labels.index, n)
    values = _one_dimensional(labels.values)
    if len(values) != len(index):
        raise InputError(f"labels: found {len(index)} positions and {len(values)} values; accepted: as many of each.")
    if len(np.unique(index)) < len(index):
        order = np.sort(index)
        twice = order[1:][order[1:] == order[:-1]][0]
        raise InputError(f"labels.index: item {twice} occurs more than once; accepted: each item once.")
    if is_masked(labels.values):
        known = ~np.ma.getmaskarray(labels.values)
        index, values = index[known], np.asarray(labels.values)[known]
    values = convert(values)
    if not np.isfinite(values).all():
        bad = index[~np.isfinite(values)][0]
        raise InputError(f"labels.values: the label of item {bad} is not finite; accepted: finite numbers.")
    if len(np.unique(values)) < 2:
        raise InputError(
            f"labels: found {len(np.unique(values))} distinct value(s) in {len(values)} label(s); "
            "accepted: at least two distinct values, since equal labels rank nothing."
        )
    return Values(index, values)


def _check_pairs(labels: Pairs, n: int) -> Pairs:
    higher = _positions("labels.higher", labels.higher, n)
    lower = _positions("labels.lower", labels.lower, n)
    if len(higher) != len(lower):
        raise InputError(f"labels: found {len(higher)} higher and {len(lower)} lower items; accepted: as many of each.")
    if len(higher) == 0:
        raise InputError("labels: found no pairs; accepted: at least one.")
    if (same := higher[higher == lower]).size:
        raise InputError(f"labels: item {same[0]} is compared with itself; accepted: two different items.")
    forward, backward = higher * n + lower, lower * n + higher
    if (both := np.intersect1d(forward, backward)).size:
        raise InputError(
            f"labels: items {both[0] // n} and {both[0] % n} are each said to be the higher one; "
            "accepted: pairs that do not contradict one another."
        )
    return Pairs(higher, lower)


def labelled_items(labels: Labels) -> NDArray[np.int64]:
    """Return the positions of all items that the labels mention, sorted."""
    if isinstance(labels, Values):
        return np.sort(labels.index)
    return np.unique(np.concatenate([labels.higher, labels.lower]))


def pairwise_accuracy(scores: Column, truth: Labels | Column) -> float:
    """Return the fraction of ordered pairs that the scores rank right; ties in the scores count half.

    This is the accuracy of the paper's experiments. Pairs with equal truth do not count. O(n log n).

    Parameters
    ----------
    scores : array_like of shape (n,)
        The scores to judge.
    truth : array_like of shape (n,), Values or Pairs
        The true values (NaN where unknown), those of some items, or comparisons.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is what constant or random scores get.

    Examples
    --------
    >>> pairwise_accuracy([1.0, 2.0, 3.0, 3.0], [0, 1, 2, 3])
    0.9166666666666666
    """
    scores = as_numbers("scores", scores).astype(np.float64)
    if scores.ndim != 1 or not np.isfinite(scores).all():
        raise InputError("scores: accepted: a one-dimensional array of finite numbers.")
    labels = as_labels(truth, len(scores))
    if labels is None:
        raise InputError("truth: found None; accepted: an array, tupi.Values or tupi.Pairs.")
    return score(scores, labels, "ranking")


def _accuracy_of_values(scores: Array, truth: Array) -> float:
    ranks = np.unique(scores, return_inverse=True)[1]
    order = np.argsort(truth, kind="stable")
    groups = np.unique(truth, return_inverse=True)[1][order]
    won, tied, pairs = _count_pairs(ranks[order], groups)
    return (won + 0.5 * tied) / pairs


@numba.njit(cache=True)
def _count_pairs(ranks: Array, groups: Array) -> tuple[int, int, int]:
    """Count pairs from different groups that are in order, tied and in all; items sorted by group."""
    n = len(ranks)
    tree = np.zeros(ranks.max() + 2, np.int64)  # Fenwick tree: how many items seen have each rank
    won, tied, pairs, start = 0, 0, 0, 0
    while start < n:
        stop = start
        while stop < n and groups[stop] == groups[start]:
            below, k = 0, ranks[stop]
            while k > 0:
                below += tree[k]
                k -= k & -k
            upto, k = 0, ranks[stop] + 1
            while k > 0:
                upto += tree[k]
                k -= k & -k
            won += below
            tied += upto - below
            pairs += start
            stop += 1
        for i in range(start, stop):
            k = ranks[i] + 1
            while k < len(tree):
                tree[k] += 1
                k += k & -k
        start = stop
    return won, tied, pairs


def score(predictions: Array, labels: Labels, task: str) -> float:
    """Return how well predictions agree with labels; higher is better.

    Pairwise accuracy for ranking, the coefficient of determination for regression (pairwise accuracy if the labels
    are pairs), the fraction of right classes for classification.
    """
    if task == "classification":
        assert isinstance(labels, Values)
        return float(np.mean(predictions[labels.index].argmax(axis=1) == labels.values))
    if task == "regression" and isinstance(labels, Values):
        residual = predictions[labels.index] - labels.values
        spread = labels.values - labels.values.mean()
        return float(1 - np.sum(residual**2) / np.sum(spread**2))
    if isinstance(labels, Values):
        return _accuracy_of_values(predictions[labels.index], labels.values)
    difference = predictions[labels.higher] - predictions[labels.lower]
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))


def subset(labels: Labels, keep: Sequence[int] | Array) -> Labels | None:
    """Return the labels among the items ``keep`` only, or None where those say nothing.

    For values, that is the values of these items; for pairs, the pairs with both items among them.
    """
    keep = np.asarray(keep)
    if isinstance(labels, Values):
        inside = np.isin(labels.index, keep)
        if len(np.unique(labels.values[inside])) < 2:
            return None
        return Values(labels.index[inside], labels.values[inside])
    inside = np.isin(labels.higher, keep) & np.isin(labels.lower, keep)
    return Pairs(labels.higher[inside], labels.lower[inside]) if inside.any() else None


def relabel(labels: Labels, items: Array) -> Labels:
    """Return the labels with positions counted within the sorted ``items``, which must include all labelled ones."""
    if isinstance(labels, Values):
        return Values(np.searchsorted(items, labels.index), labels.values)
    return Pairs(np.searchsorted(items, labels.higher), np.searchsorted(items, labels.lower))


METRIC_NAMES = {"ranking": "pairwise accuracy", "regression": "R²", "classification": "accuracy"}
