"""Groups: items that are compared with one another only, such as the results of one query.

What is compared within groups only must not depend on what a whole group shares. So predictions, views and labels are
taken relative to the mean of their group, here and nowhere else; what is learnt from them holds for all groups.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.frames import as_pandas
from tupi.inputs.ids import check_unique, few, match
from tupi.inputs.labels import Labels, Pairs, Values, entries, ranks_something
from tupi.inputs.numbers import is_masked, unmasked
from tupi.inputs.sources import Source
from tupi.runtime.errors import InputError

BLOCK = 8192  # rows read at once
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
    """

    numbers: Positions
    ids: Array

    @property
    def n(self) -> int:
        """How many groups there are."""
        return int(self.numbers.max()) + 1

    def relative(self, rows: Any) -> Any:
        """Return rows less the mean of their group: an array, or a source whose rows are read when they are wanted."""
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
                f"labels: {alone} of {len(found.groups)} labels are the only one of their group, and rank nothing.",
                UserWarning,
                stacklevel=2,
            )
        return found


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
    if isinstance(groups, pd.Series) and index is not None and not groups.index.equals(index):
        check_unique("groups", groups.index)
        match("groups", groups.index, index)
        groups = groups.reindex(index)
    array = np.asarray(unmasked(groups) if is_masked(groups) else groups)
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


def relative_labels(labels: Labels) -> Labels:
    """Return labels as methods that know no groups can use them.

    If there are groups, values are less the mean of those of their group, and such as are alone in it are left out:
    they rank nothing. Whatever is fitted to some of the labels must come here with these alone.
    """
    if isinstance(labels, Pairs) or labels.groups is None:
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
    _, numbers, counts = np.unique(labels.groups, return_inverse=True, return_counts=True)
    return counts[numbers] > 1
