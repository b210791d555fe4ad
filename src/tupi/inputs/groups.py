"""Groups: items that are compared with one another only, such as the results of one query.

Nothing compares items of two groups. But what is learnt from one group is to hold for the others, and for that it
matters whether the levels of groups mean anything. Some predictors score each query on a scale of its own; what a whole
group shares then only stands in the way, and predictions, views and labels are taken relative to the mean of their
group. Others give each item a score that means the same everywhere; differences between groups then teach as much as
differences within them. The views tell which is the case, without labels: see `levels_mean_something`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.ids import few, in_order_of
from tupi.inputs.labels import Labels, Pairs, Values, entries, n_labels, ranks_something
from tupi.inputs.numbers import as_pandas, as_plain
from tupi.inputs.sources import Source
from tupi.inputs.views import View
from tupi.runtime.errors import InputError

BLOCK = 8192  # rows read at once
SAMPLE = 4000  # items by which the levels of groups are judged, about
FOLDS, LEAST_GROUPS = 5, 10  # fewer groups say nothing about levels
LEAST_MORE = 0.05  # share of variance by which views must explain more: without good reason, groups are left alone
PENALTY = 0.1  # of ridge regression on columns of deviation one, for each item
Array = NDArray[Any]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each item.

    Attributes
    ----------
    numbers : ndarray of int
        The group of each item, numbered from 0.
    ids : ndarray
        What the user calls the group of each item.
    levels : bool
        Whether the levels of groups mean something, so that items count as they are.
    """

    numbers: Positions
    ids: Array
    levels: bool = False

    @property
    def n(self) -> int:
        """How many groups there are."""
        return int(self.numbers.max()) + 1

    def among(self, items: Positions) -> Groups:
        """Return the groups of some items."""
        return Groups(self.numbers[items], self.ids[items], self.levels)

    def relative(self, rows: Any) -> Any:
        """Return rows as they count: less the mean of their group, unless the levels of groups mean something.

        Rows of an array come back as an array; those of a source are read when they are wanted.
        """
        if self.levels:
            return rows
        relative = Relative(rows, self.numbers)
        return relative if isinstance(rows, Source) else relative[:]

    def of(self, labels: Labels) -> Labels:
        """Return labels that know the groups of their items; complain about pairs of two groups."""
        if isinstance(labels, Values):
            found: Labels = replace(labels, groups=self.numbers[labels.index])
        else:
            first, second = (self.numbers[side] for side in (labels.higher, labels.lower))
            if len(across := np.flatnonzero(first != second)):
                higher, lower = labels.higher[across[0]], labels.lower[across[0]]
                raise InputError(
                    f"labels: {len(across)} pair(s) are of items in different groups (first: items {higher} and "
                    f"{lower}, in groups {self.ids[higher]} and {self.ids[lower]}); accepted: pairs within a group."
                )
            found = replace(labels, groups=first)
        if not ranks_something(found):
            raise InputError(
                "labels: no two labelled items of one group differ in their label; accepted: labels that rank items "
                "within a group."
            )
        if alone := int(np.sum(~_in_company(found))) if isinstance(found, Values) else 0:
            warnings.warn(
                f"labels: {alone} of {n_labels(found)} labels are the only one of their group, and rank nothing.",
                UserWarning,
                stacklevel=2,
            )
        return found


def levels_mean_something(initial: Array, views: Sequence[View], groups: Groups, labels: Labels | None) -> bool:
    """Return whether the levels of groups mean something.

    They do if the views explain predictions of other groups better as they are than relative to their group, by ridge
    regression: predictors and views with a scale of their own in each group would then be of no use. Labels that are
    values must agree: their correlation with the predictions must not be lower than it is within groups.
    """
    plain, relative = explained_shares(initial, views, groups.numbers)
    if plain <= max(relative, 0.0) + LEAST_MORE:
        return False
    if not isinstance(labels, Values):
        return True
    columns = [initial[labels.index], labels.values]
    own = np.unique(groups.numbers[labels.index], return_inverse=True)[1]
    return _correlation(*columns) >= _correlation(*(Relative(column, own)[:] for column in columns))


def explained_shares(initial: Array, views: Sequence[View], numbers: Positions) -> tuple[float, float]:
    """Return the share of the predictions that the views explain as they are, and relative to groups."""
    means = np.bincount(numbers, initial) / np.bincount(numbers)
    place = np.argsort(np.argsort(means))[numbers]  # of each item's group, by content and not by order
    every = -(-len(initial) // SAMPLE)
    rows = np.flatnonzero((place % every == 0) & np.logical_and.reduce([view.present for view in views]))
    fold = place[rows] // every % FOLDS
    if len(np.unique(numbers[rows])) < LEAST_GROUPS:
        return 0.0, 0.0
    H = np.hstack([view.rows(rows) for view in views])
    own = np.unique(numbers[rows], return_inverse=True)[1]
    f = initial[rows] - initial[rows].mean()
    return explained(f, H, fold), explained(Relative(f, own)[:], Relative(H, own)[:], fold)


def _correlation(first: Array, second: Array) -> float:
    """Return the correlation of two columns; 0 where one of them is constant."""
    first, second = first - first.mean(), second - second.mean()
    size = np.linalg.norm(first) * np.linalg.norm(second)
    return float(first @ second / size) if size > 0 else 0.0


def explained(f: Array, H: Array, fold: Positions) -> float:
    """Return the share of the variance of f that ridge regression on H explains, of folds that it was not fitted to."""
    deviation = H.std(axis=0)
    H = H[:, deviation > 0] / deviation[deviation > 0]
    left = f.copy()
    for k in range(FOLDS):
        X, held = H[fold != k], H[fold == k]
        # The smaller of the two systems of equations that ridge regression can be solved by.
        wide = X.shape[1] > len(X)
        inner = (X @ X.T if wide else X.T @ X) + PENALTY * len(X) * np.eye(min(X.shape))
        y = f[fold != k]
        w = X.T @ np.linalg.solve(inner, y) if wide else np.linalg.solve(inner, X.T @ y)
        left[fold == k] -= held @ w
    return 1.0 - float(np.sum(left**2)) / max(float(np.sum(f**2)), np.finfo(float).tiny)


class Relative(Source):
    """Rows less the mean of their group; a missing row stays missing, and a missing value counts in no mean.

    Parameters
    ----------
    rows : ndarray or source of shape (n,) or (n, d)
        The rows.
    numbers : ndarray of int
        The group of each row, numbered from 0.
    """

    def __init__(self, rows: Any, numbers: Positions) -> None:
        self._rows, self._numbers = rows, numbers
        self.shape, self.dtype = rows.shape, np.dtype(np.float64)
        shape = (int(numbers.max(initial=-1)) + 1, *rows.shape[1:])
        # Means are taken of differences from the least value of the group: those of equal values are zero exactly.
        self._least, self._means = np.full(shape, np.nan), np.zeros(shape)
        counts, starts = np.zeros(shape), range(0, len(rows), BLOCK)
        for start in starts:
            block, groups = self._block(start, start + BLOCK)
            np.fmin.at(self._least, groups, block)
        for start in starts:
            block, groups = self._block(start, start + BLOCK)
            difference = block - self._least[groups]
            known = ~np.isnan(difference)
            np.add.at(counts, groups, known)
            np.add.at(self._means, groups, np.where(known, difference, 0.0))
        self._means /= np.maximum(counts, 1)

    def _block(self, start: int, stop: int) -> tuple[Array, Positions]:
        return np.asarray(self._rows[start:stop], np.float64), self._numbers[start:stop]

    def _read(self, start: int, stop: int) -> Array:
        block, groups = self._block(start, stop)
        return block - self._least[groups] - self._means[groups]


def as_groups(groups: Any, n: int, index: pd.Index | None) -> Groups | None:
    """Check the groups of items in any accepted form.

    Parameters
    ----------
    groups : array_like of shape (n,), Series or None
        The group of each item: numbers, text, anything that has an order. A Series is matched by ``index``.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids, when the predictions came with them.
    """
    if groups is None:
        return None
    groups = as_pandas("groups", groups)
    if isinstance(groups, pd.Series) and index is not None:
        groups = in_order_of(index, "groups", groups)
    array = as_plain("groups", groups)
    if array.ndim != 1 or len(array) != n:
        raise InputError(f"groups: found shape {array.shape} for {n} items; accepted: the group of each item.")
    if len(missing := np.flatnonzero(pd.isna(array))):
        named = missing if index is None else index[missing]
        raise InputError(f"groups: {len(missing)} item(s) have none (first: {few(named)}); accepted: one for each.")
    numbers, _ = pd.factorize(array)
    if len(np.unique(numbers)) == n:
        raise InputError(
            "groups: each item is a group of its own, so that there is nothing to rank; accepted: groups of several "
            "items, such as the results of one query."
        )
    return Groups(numbers.astype(np.int64), array)


def relative_labels(labels: Labels, groups: Groups | None) -> Labels:
    """Return labels as methods that know no groups can use them.

    Unless the levels of groups mean something, values are less the mean of those of their group, and such as are alone
    in it are left out: they rank nothing. Whatever is fitted to some of the labels must come here with these alone.
    """
    if groups is None or groups.levels or isinstance(labels, Pairs):
        return labels
    found = entries(labels, _in_company(labels))
    assert isinstance(found, Values)
    assert found.groups is not None
    numbers = np.unique(found.groups, return_inverse=True)[1]
    return replace(found, values=Relative(found.values, numbers)[:])


def pairs_within(labels: Values) -> Pairs:
    """Return the comparisons that values imply within their groups."""
    assert labels.groups is not None
    higher, lower = [], []
    for own in members(labels.groups):
        first, second = np.nonzero(labels.values[own][:, None] > labels.values[own])
        higher.append(labels.index[own[first]])
        lower.append(labels.index[own[second]])
    return Pairs(np.concatenate(higher), np.concatenate(lower))


def members(groups: Positions) -> list[Positions]:
    """Return which entries each group has, in ascending order."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


def _in_company(labels: Values) -> NDArray[np.bool_]:
    """Return which values are not the only one of their group."""
    assert labels.groups is not None
    _, numbers, counts = np.unique(labels.groups, return_inverse=True, return_counts=True)
    return counts[numbers] > 1
