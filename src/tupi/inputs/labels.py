"""What is known about some items: values or pairs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tupi.inputs.frames import PANDAS, as_pandas, library_of
from tupi.inputs.ids import check_pairs_left, check_unique, match
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
    index : array_like of int or of ids
        Positions of the labelled items; of an item that occurs more than once the mean counts. Text is ids of the
        predictions' index; ids that are whole
        numbers would be taken for positions, so give such labels as a Series.
    values : array_like
        Their target values; for classification the class: a column's name if the predictions have names, and its
        number otherwise. A masked value is unknown.
    """

    index: NDArray[np.int64]
    values: Array
    groups: NDArray[np.int64] | None = field(default=None, kw_only=True)  # of the items, once a problem has them

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(self, index: Column, values: Column, *, groups: NDArray[np.int64] | None = None) -> None: ...


@dataclass(frozen=True, eq=False)
class Pairs:
    """Known comparisons: item ``higher[k]`` ranks above item ``lower[k]``.

    As for `Values`, nothing is checked or converted before the labels meet a problem.

    Parameters
    ----------
    higher, lower : array_like of int or of ids
        Positions of the items compared, or their ids if these are text. The same comparison may occur more than once,
        and in both orders: people disagree.
    weights : array_like of float, optional
        As how many answers each comparison counts, such as how many people gave it; None: one each.
    tied : array_like of bool, optional
        Which of the two were said to be equal: such an answer counts half in either order.
    """

    higher: NDArray[np.int64]
    lower: NDArray[np.int64]
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    tied: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    groups: NDArray[np.int64] | None = field(default=None, kw_only=True)  # of the pairs, once a problem has them

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(
            self,
            higher: Column,
            lower: Column,
            *,
            weights: Column | None = None,
            tied: Column | None = None,
            groups: NDArray[np.int64] | None = None,
        ) -> None: ...


Labels: TypeAlias = Values | Pairs


def as_targets(values: Array) -> Array:
    """Return label values as real numbers."""
    return as_numbers("labels", values).astype(np.float64)


def as_labels(
    labels: Any,
    n: int,
    index: pd.Index | None = None,
    convert: Callable[[Array], Array] = as_targets,
    before: Labels | None = None,
) -> Labels | None:
    """Check labels in any accepted form and return them as `Values` or `Pairs` of plain arrays.

    Parameters
    ----------
    labels : Values, Pairs, array_like of length n, Series or None
        An array has one entry per item, NaN or masked where unknown. A Series is matched by ``index`` if there is
        one, and so are `Values` and `Pairs` whose items are text. What is known of ids that are not in it is left out
        with a warning.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids, when the predictions came with them.
    convert : callable
        Makes numbers of the known values, see `tupi.inputs.classes` for those of classes.
    before : Values or Pairs, optional
        Checked labels of the same items, to which these are added.
    """
    if labels is None:
        return before
    if library_of(labels) != PANDAS:  # rows without an index are in the order of the predictions
        labels = as_pandas("labels", labels).to_numpy()
    if isinstance(labels, Pairs):
        return _check_pairs(_pairs_by_id(labels, index), n, before)
    if isinstance(labels, Values):
        return _check_values(_values_by_id(labels, index), n, convert, before)
    if isinstance(labels, pd.Series) and index is not None and not labels.index.equals(index):
        labels = _match(labels, index)
    array = _one_dimensional(labels)
    if len(array) != n:
        raise InputError(
            f"labels: found {len(array)} entries for {n} items; accepted: one entry per item (NaN where unknown), "
            "tupi.Values(index, values) or tupi.Pairs(higher, lower)."
        )
    known = np.flatnonzero(~pd.isna(array))
    return _check_values(Values(known, array[known]), n, convert, before)


def _one_dimensional(labels: Any) -> Array:
    # Nullable and categorical columns become plain objects; numbers among them are converted later.
    if isinstance(labels, (pd.Series, pd.Index)):
        array = labels.astype(object).to_numpy()
    else:
        try:
            array = unmasked(labels)
        except ValueError:
            raise InputError("labels: found rows of different lengths; accepted: a one-dimensional array.") from None
    if array.ndim != 1:
        raise InputError(f"labels: found an array of shape {array.shape}; accepted: a one-dimensional array.")
    return array


def _match(labels: pd.Series, index: pd.Index) -> pd.Series:
    check_unique("labels", labels.index)
    match("labels", labels.index, index)
    return labels.reindex(index)


def _values_by_id(labels: Values, index: pd.Index | None) -> Values:
    """Return values with positions in place of ids, without those of unknown ids."""
    ids = _text_ids("labels.index", labels.index, index)
    if ids is None or index is None or len(ids) != len(labels.values):
        return labels
    match("labels.index", ids, index)
    known = np.asarray(ids.isin(index))
    values = labels.values[known] if is_masked(labels.values) else _one_dimensional(labels.values)[known]
    return Values(index.get_indexer(ids[known]), values)


def _pairs_by_id(labels: Pairs, index: pd.Index | None) -> Pairs:
    """Return pairs with positions in place of ids, without those that have an unknown id."""
    sides = [_text_ids(f"labels.{side}", getattr(labels, side), index) for side in ("higher", "lower")]
    if index is None or any(ids is None for ids in sides):
        return labels
    higher, lower = (ids for ids in sides if ids is not None)
    if len(higher) != len(lower):
        return labels
    match("labels", higher.append(lower), index)
    known = np.asarray(higher.isin(index) & lower.isin(index))
    check_pairs_left("labels", known, higher.append(lower).difference(index, sort=False))
    weights, tied = (_per_pair(name, getattr(labels, name), len(known)) for name in ("weights", "tied"))
    return Pairs(
        index.get_indexer(higher[known]),
        index.get_indexer(lower[known]),
        weights=None if weights is None else weights[known],
        tied=None if tied is None else tied[known],
    )


def _text_ids(name: str, items: Any, index: pd.Index | None) -> pd.Index | None:
    """Return items as ids if they are text, which needs an index of predictions; None for positions."""
    items = as_pandas(name, items)
    array = np.asarray(items)
    if is_masked(items) or array.ndim != 1 or not any(isinstance(one, str) for one in array.tolist()):
        return None
    if index is None:
        raise InputError(
            f"{name}: found ids such as {str(array[0])!r}, and the predictions have none; accepted: positions of "
            "items, or predictions with ids as their index (a pandas Series)."
        )
    return pd.Index(array.astype(object))


def _positions(name: str, index: ArrayLike, n: int) -> NDArray[np.int64]:
    if is_masked(index):
        raise InputError(f"{name}: found masked positions; accepted: those of labelled items alone.")
    array = np.asarray(index)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name}: found {array.dtype} of shape {array.shape}; accepted: a list of item positions.")
    array = array.astype(np.int64)
    bad = array[(array < 0) | (array >= n)]
    if bad.size:
        raise InputError(
            f"{name}: found position {bad[0]}; accepted: 0 to {n - 1}, or a Series for labels by ids that are numbers."
        )
    return array


def _check_values(labels: Values, n: int, convert: Callable[[Array], Array], before: Labels | None) -> Values:
    index = _positions("labels.index", labels.index, n)
    values = _one_dimensional(labels.values)
    if len(values) != len(index):
        raise InputError(f"labels: found {len(index)} positions and {len(values)} values; accepted: as many of each.")
    if is_masked(labels.values):
        known = ~np.ma.getmaskarray(labels.values)
        index, values = index[known], np.asarray(labels.values)[known]
    values = convert(values)
    if not np.isfinite(values).all():
        bad = index[~np.isfinite(values)][0]
        raise InputError(f"labels.values: the label of item {bad} is not finite; accepted: finite numbers.")
    index, values = _one_per_item(index, values, convert)
    if isinstance(before, Pairs):
        raise InputError("labels: found values after pairs; accepted: labels of the same kind.")
    if before is not None:  # a later value of an item takes the place of an earlier one
        old = ~np.isin(before.index, index)
        index = np.concatenate([before.index[old], index])
        values = np.concatenate([before.values[old], values])
    if len(np.unique(values)) < 2:
        raise InputError(
            f"labels: found {len(np.unique(values))} distinct value(s) in {len(values)} label(s); "
            "accepted: at least two distinct values, since equal labels rank nothing."
        )
    return Values(index, values)


def _check_pairs(labels: Pairs, n: int, before: Labels | None) -> Pairs:
    higher = _positions("labels.higher", labels.higher, n)
    lower = _positions("labels.lower", labels.lower, n)
    if len(higher) != len(lower):
        raise InputError(f"labels: found {len(higher)} higher and {len(lower)} lower items; accepted: as many of each.")
    if len(higher) == 0:
        raise InputError("labels: found no pairs; accepted: at least one.")
    if (same := higher[higher == lower]).size:
        raise InputError(f"labels: item {same[0]} is compared with itself; accepted: two different items.")
    if isinstance(before, Values):
        raise InputError("labels: found pairs after values; accepted: labels of the same kind.")
    weights, tied = (_per_pair(name, getattr(labels, name), len(higher)) for name in ("weights", "tied"))
    if weights is not None and not ((weights > 0) & np.isfinite(weights)).all():
        raise InputError(f"labels.weights: found {weights.min():g}; accepted: finite numbers above 0.")
    if tied is None or not (tied := tied.astype(bool)).any():
        return _after(before, Pairs(higher, lower, weights=weights))
    if tied.all():
        raise InputError(f"labels: all {len(tied)} pairs are tied; accepted: some of which one item is the higher one.")
    # Half an answer in either order pulls neither way, and draws the two together.
    weights = np.where(tied, 0.5, 1.0) * (1.0 if weights is None else weights)
    found = Pairs(
        np.concatenate([higher, lower[tied]]),
        np.concatenate([lower, higher[tied]]),
        weights=np.concatenate([weights, weights[tied]]),
    )
    return _after(before, found)


def _after(before: Pairs | None, found: Pairs) -> Pairs:
    """Return comparisons after earlier ones, if there are any."""
    if before is None:
        return found
    weights = [np.ones(len(one.higher)) if one.weights is None else one.weights for one in (before, found)]
    weighted = before.weights is not None or found.weights is not None
    return Pairs(
        np.concatenate([before.higher, found.higher]),
        np.concatenate([before.lower, found.lower]),
        weights=np.concatenate(weights) if weighted else None,
    )


def _per_pair(name: str, given: Any, size: int) -> NDArray[np.float64] | None:
    """Return what was given for each pair as numbers, or complain."""
    if given is None:
        return None
    found = as_numbers(f"labels.{name}", as_pandas(f"labels.{name}", given)).astype(np.float64)
    if found.shape != (size,) or np.isnan(found).any():
        raise InputError(
            f"labels.{name}: found shape {found.shape} for {size} pairs, or gaps; accepted: one entry for each pair."
        )
    return found


def _one_per_item(index: NDArray[np.int64], values: Array, convert: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Return the mean of the values of each item that has several; of classes these must agree."""
    items, place, counts = np.unique(index, return_inverse=True, return_counts=True)
    if len(items) == len(index):
        return index, values
    means = np.bincount(place, values) / counts
    if convert is not as_targets and len(differ := items[np.bincount(place, values != means[place]) > 0]):
        raise InputError(f"labels: item {differ[0]} is said to be of several classes; accepted: one class for an item.")
    warnings.warn(
        f"labels: {np.count_nonzero(counts > 1)} item(s) have several values, of which the mean counts.",
        UserWarning,
        stacklevel=2,
    )
    return items, means if convert is as_targets else means.astype(values.dtype)


def labelled_items(labels: Labels) -> NDArray[np.int64]:
    """Return the positions of all items that the labels mention, sorted."""
    if isinstance(labels, Values):
        return np.sort(labels.index)
    return np.unique(np.concatenate([labels.higher, labels.lower]))


def n_labels(labels: Labels) -> int:
    """Return the number of labels: values, or pairs."""
    return len(labels.values) if isinstance(labels, Values) else len(labels.higher)


def entries(labels: Labels, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> Labels:
    """Return some entries of the labels."""
    return replace(labels, **{name: part[which] for name, part in vars(labels).items() if part is not None})


def subset(labels: Labels, keep: Sequence[int] | Array) -> Labels | None:
    """Return the labels among the items ``keep`` only, or None where those say nothing.

    For values, that is the values of these items; for pairs, the pairs with both items among them.
    """
    keep = np.asarray(keep)
    if isinstance(labels, Values):
        inside = np.isin(labels.index, keep)
    else:
        inside = np.isin(labels.higher, keep) & np.isin(labels.lower, keep)
    found = entries(labels, inside)
    return found if ranks_something(found) else None


def ranks_something(labels: Labels) -> bool:
    """Return whether any two items have different labels; if there are groups, two items of one group."""
    if isinstance(labels, Pairs):
        return len(labels.higher) > 0
    if labels.groups is None:
        return len(np.unique(labels.values)) > 1
    both = pd.DataFrame({"group": labels.groups, "value": labels.values}).drop_duplicates()
    return bool(both["group"].duplicated().any())


def relabel(labels: Labels, items: Array) -> Labels:
    """Return the labels with positions counted within the sorted ``items``, which must include all labelled ones."""
    if isinstance(labels, Values):
        return replace(labels, index=np.searchsorted(items, labels.index))
    return replace(labels, higher=np.searchsorted(items, labels.higher), lower=np.searchsorted(items, labels.lower))
