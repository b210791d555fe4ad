"""Labels in any form that people give them, checked and made into `tupi.Values` or `tupi.Pairs` of plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from tupi.inputs.ids import check_pairs_left, few, in_order_of, match
from tupi.inputs.labels import Labels, Pairs, Values, entries, implied_pairs
from tupi.inputs.numbers import (
    MAGNITUDES,
    PANDAS,
    as_numbers,
    as_pandas,
    as_plain,
    check_magnitude,
    is_masked,
    library_of,
)
from tupi.inputs.raters import Opinions, weighed_classes, weighed_values
from tupi.runtime.errors import InputError

Array: TypeAlias = NDArray[Any]


def as_targets(values: Array) -> Array:
    """Return label values as real numbers."""
    return as_numbers("labels", values).astype(np.float64)


def as_labels(
    labels: Any,
    n: int,
    index: pd.Index | None = None,
    convert: Callable[[Array], Array] = as_targets,
    before: Labels | None = None,
    groups: NDArray[np.int64] | None = None,
) -> Labels | None:
    """Check labels in any accepted form and return them as `Values` or `Pairs` of plain arrays.

    Parameters
    ----------
    labels : Values, Pairs, a list of these, array_like of length n, Series or None
        An array has one entry per item, NaN or masked where unknown. A Series is matched by ``index`` if there is
        one, and so are `Values` and `Pairs` whose items are text. What is known of ids that are not in it is left out
        with a warning. Of values and pairs together, values become comparisons.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids, when the predictions came with them.
    convert : callable
        Makes numbers of the known values, see `tupi.inputs.classes` for those of classes.
    before : Values or Pairs, optional
        Checked labels of the same items, to which these are added.
    groups : ndarray of int, optional
        The group of each item, if only items of one group are compared.
    """
    if labels is None:
        return before
    if isinstance(labels, (list, tuple)) and any(isinstance(one, (Values, Pairs)) for one in labels):
        return _together(list(labels), n, index, convert, before, groups)
    if library_of(labels) != PANDAS:  # rows without an index are in the order of the predictions
        labels = as_pandas("labels", labels).to_numpy()
    if isinstance(labels, Pairs):
        return _check_pairs(_pairs_by_id(labels, index), n, before, groups)
    if not isinstance(labels, Values):
        labels = _of_each_item(labels, n, index)
    return _check_values(_values_by_id(labels, index), n, convert, before, groups)


def _of_each_item(labels: Any, n: int, index: pd.Index | None) -> Values:
    """Return the values of an array or Series that has an entry for each item, those that are unknown left out."""
    if isinstance(labels, pd.Series) and index is not None:
        labels = in_order_of(index, "labels", labels)
    array = _one_dimensional(labels)
    if len(array) != n:
        raise InputError(
            f"labels: found {len(array)} entries for {n} items; accepted: one entry per item (NaN where unknown), "
            "tupi.Values(index, values) or tupi.Pairs(higher, lower)."
        )
    known = np.flatnonzero(~pd.isna(array))
    return Values(known, array[known])


def _together(
    labels: list[Any],
    n: int,
    index: pd.Index | None,
    convert: Callable[[Array], Array],
    before: Labels | None,
    groups: NDArray[np.int64] | None,
) -> Labels:
    """Return several labels as one: values after values, and else comparisons."""
    if strange := [one for one in labels if not isinstance(one, (Values, Pairs))]:
        raise InputError(
            f"labels: found a list with {type(strange[0]).__name__}; accepted: lists of tupi.Values and tupi.Pairs."
        )
    values = [one for one in labels if isinstance(one, Values)]
    if len(values) > 1:
        values = [_one_after_another(values)]
    for one in (*values, *(one for one in labels if isinstance(one, Pairs))):
        before = as_labels(one, n, index, convert, before, groups)
    assert before is not None
    return before


def _one_after_another(values: list[Values]) -> Values:
    """Return several lists of values as one."""
    if any(is_masked(one.index) for one in values):
        raise InputError("labels.index: found masked positions; accepted: those of labelled items alone.")
    items = [_entries_of("index", one.index) for one in values]
    sizes = [len(one) for one in items]
    known = [_entries_of("values", one.values, size) for one, size in zip(values, sizes, strict=True)]
    rest: dict[str, Any] = {"weights": None, "raters": None}
    for name, usual in (("weights", 1.0), ("raters", "")):
        given = [getattr(one, name) for one in values]
        if any(part is not None for part in given):
            parts = zip(given, sizes, strict=True)
            rest[name] = np.concatenate(
                [
                    np.full(size, usual, object) if part is None else _entries_of(name, part, size)
                    for part, size in parts
                ]
            )
    if any(isinstance(item, str) for one in items for item in one):
        items = [one.astype(object) for one in items]
    masks = [np.ma.getmaskarray(one.values) if is_masked(one.values) else np.zeros(len(one.values)) for one in values]
    said = np.ma.masked_array(np.concatenate([one.astype(object) for one in known]), np.concatenate(masks))
    return Values(np.concatenate(items), said, **rest)


def _entries_of(name: str, given: Any, size: int | None = None) -> Array:
    """Return one part of some labels, missing what is masked; complain unless there is as much of it as asked for."""
    found = _one_dimensional(as_pandas(f"labels.{name}", given), f"labels.{name}")
    if size is not None and len(found) != size:
        raise InputError(f"labels.{name}: found {len(found)} for {size} item(s); accepted: one for each.")
    return found


def _one_dimensional(labels: Any, called: str = "labels") -> Array:
    # Nullable and categorical columns become plain objects; numbers among them are converted later.
    column = isinstance(labels, (pd.Series, pd.Index))
    array = labels.astype(object).to_numpy() if column else as_plain(called, labels)
    if array.ndim != 1:
        raise InputError(f"{called}: found an array of shape {array.shape}; accepted: a one-dimensional array.")
    return array


def _values_by_id(labels: Values, index: pd.Index | None) -> Values:
    """Return values with positions in place of ids, without those of unknown ids."""
    ids = _text_ids("labels.index", labels.index, index)
    if ids is None or index is None or len(ids) != len(labels.values):
        return labels
    match("labels.index", ids, index)
    known = np.asarray(ids.isin(index))
    values = labels.values[known] if is_masked(labels.values) else _one_dimensional(labels.values)[known]
    return Values(index.get_indexer(ids[known]), values, **_rest(labels, known))


def _pairs_by_id(labels: Pairs, index: pd.Index | None) -> Pairs:
    """Return pairs with positions in place of ids, without those that have an unknown id."""
    sides = [_text_ids(f"labels.{side}", getattr(labels, side), index) for side in ("higher", "lower")]
    if index is None or any(ids is None for ids in sides):
        return labels
    higher, lower = (ids for ids in sides if ids is not None)
    _check_as_many(len(higher), len(lower))
    match("labels", higher.append(lower), index)
    known = np.asarray(higher.isin(index) & lower.isin(index))
    check_pairs_left("labels", known, higher.append(lower).difference(index, sort=False))
    return Pairs(index.get_indexer(higher[known]), index.get_indexer(lower[known]), **_rest(labels, known))


def _rest(labels: Values | Pairs, known: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what was given for each label beside items and values, for those that are known."""
    found = {name: _per_label(name, getattr(labels, name, None), len(known)) for name in ("weights", "tied")}
    found["raters"] = _names(labels.raters, len(known))
    return {name: part[known] for name, part in found.items() if part is not None}


def _text_ids(name: str, items: Any, index: pd.Index | None) -> pd.Index | None:
    """Return items as ids if they are text, which needs an index of predictions; None for positions."""
    items = as_pandas(name, items)
    array = as_plain(name, items)
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
    array = as_plain(name, index)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name}: found {array.dtype} of shape {array.shape}; accepted: a list of item positions.")
    array = array.astype(np.int64)
    bad = array[(array < 0) | (array >= n)]
    if bad.size:
        raise InputError(
            f"{name}: found position {bad[0]}; accepted: 0 to {n - 1}, or a Series for labels by ids that are numbers."
        )
    return array


def _check_values(
    labels: Values,
    n: int,
    convert: Callable[[Array], Array],
    before: Labels | None,
    groups: NDArray[np.int64] | None,
) -> Labels:
    index = _positions("labels.index", labels.index, n)
    values = _one_dimensional(labels.values)
    if len(values) != len(index):
        raise InputError(f"labels: found {len(index)} positions and {len(values)} values; accepted: as many of each.")
    weights, raters = _checked_weights(labels, len(index)), _names(labels.raters, len(index))
    if is_masked(labels.values):
        known = ~np.ma.getmaskarray(labels.values)
        index, values = index[known], np.asarray(labels.values)[known]
        weights, raters = (None if part is None else part[known] for part in (weights, raters))
    values = convert(values)
    if not np.isfinite(values).all():
        bad = index[~np.isfinite(values)][0]
        raise InputError(f"labels.values: the label of item {bad} is not finite; accepted: finite numbers.")
    found = _one_per_item(Values(index, values, weights=weights, raters=raters), convert is not as_targets)
    if isinstance(before, Pairs):
        return _after(before, implied_pairs(found, groups))
    if before is not None:  # a later value of an item takes the place of an earlier one
        found = _in_place(before, found)
    if (distinct := len(np.unique(found.values))) < 2:
        raise InputError(
            f"labels: found {distinct} distinct value(s) in {len(found.values)} label(s); "
            "accepted: at least two distinct values, since equal labels rank nothing."
        )
    return found


def _in_place(before: Values, found: Values) -> Values:
    """Return values after earlier ones, whose place they take."""
    kept = entries(before, ~np.isin(before.index, found.index))
    weighted = before.weights is not None or found.weights is not None
    weights = [np.ones(len(one.index)) if one.weights is None else one.weights for one in (kept, found)]
    opinions = found.opinions if before.opinions is None else before.opinions.and_more(found.opinions)
    return Values(
        np.concatenate([kept.index, found.index]),
        np.concatenate([kept.values, found.values]),
        weights=np.concatenate(weights) if weighted else None,
        opinions=opinions,
        errors=None if opinions is None else (before.errors or {}) | (found.errors or {}),
    )


def _check_as_many(higher: int, lower: int) -> None:
    if higher != lower:
        raise InputError(f"labels: found {higher} higher and {lower} lower items; accepted: as many of each.")


def _check_pairs(labels: Pairs, n: int, before: Labels | None, groups: NDArray[np.int64] | None) -> Pairs:
    higher = _positions("labels.higher", labels.higher, n)
    lower = _positions("labels.lower", labels.lower, n)
    k = len(higher)
    _check_as_many(k, len(lower))
    if k == 0:
        raise InputError("labels: found no pairs; accepted: at least one.")
    if (same := higher[higher == lower]).size:
        raise InputError(f"labels: item {same[0]} is compared with itself; accepted: two different items.")
    weights, tied, raters = (
        _checked_weights(labels, k),
        _per_label("tied", labels.tied, k),
        _names(labels.raters, k),
    )
    equal = None if tied is None or not tied.any() else tied.astype(bool)
    if equal is not None and equal.all() and before is None:
        raise InputError(f"labels: all {k} pairs are tied; accepted: some of which one item is the higher one.")
    opinions = None if raters is None else Opinions.of_pairs(raters, higher, lower, equal)
    found = Pairs(higher, lower, weights=weights, raters=raters, opinions=opinions)
    if equal is not None:  # half an answer in either order pulls neither way, and draws the two together
        found = replace(found, weights=np.where(equal, 0.5, 1.0) * (1.0 if weights is None else weights))
        turned = entries(found, equal)
        found = _after(found, replace(turned, higher=turned.lower, lower=turned.higher, opinions=None))
    return _after(implied_pairs(before, groups) if isinstance(before, Values) else before, found)


def _after(before: Pairs | None, found: Pairs) -> Pairs:
    """Return comparisons after earlier ones, if there are any."""
    if before is None:
        return found
    usual = {"weights": 1.0, "raters": "", "implied": False}
    rest: dict[str, Any] = {}
    for name, one in usual.items():
        parts = [getattr(before, name), getattr(found, name)]
        if any(part is not None for part in parts):
            sizes = (len(before.higher), len(found.higher))
            rest[name] = np.concatenate(
                [np.full(size, one) if part is None else part for part, size in zip(parts, sizes, strict=True)]
            )
    higher, lower = (np.concatenate([getattr(part, side) for part in (before, found)]) for side in ("higher", "lower"))
    together = Pairs(higher, lower, **rest)
    opinions = found.opinions if before.opinions is None else before.opinions
    if before.opinions is not None and found.opinions is not None:  # numbers of pairs must be those of both
        opinions = _opinions_of(together)
    return replace(together, opinions=opinions)


def _opinions_of(pairs: Pairs) -> Opinions:
    """Return what raters said in comparisons that are checked; a tie is there in both orders, each of half a weight."""
    assert pairs.raters is not None
    given = np.ones(len(pairs.higher), bool) if pairs.implied is None else ~pairs.implied
    some = entries(pairs, given)
    assert isinstance(some, Pairs)
    assert some.raters is not None
    return Opinions.of_pairs(some.raters, some.higher, some.lower, None)


def _checked_weights(labels: Values | Pairs, size: int) -> NDArray[np.float64] | None:
    """Return the weights of labels, or complain about those that are not above 0."""
    weights = _per_label("weights", labels.weights, size)
    if weights is not None and not ((weights > 0) & np.isfinite(weights)).all():
        raise InputError(f"labels.weights: found {weights.min():g}; accepted: finite numbers above 0.")
    return None if weights is None or np.all(weights == 1.0) else weights  # what counts once each has no weights


def _per_label(name: str, given: Any, size: int) -> NDArray[np.float64] | None:
    """Return what was given for each label as numbers, or complain."""
    if given is None:
        return None
    found = as_numbers(f"labels.{name}", as_pandas(f"labels.{name}", given)).astype(np.float64)
    if found.shape != (size,) or np.isnan(found).any():
        raise InputError(
            f"labels.{name}: found shape {found.shape} for {size} labels, or gaps; accepted: one entry for each label."
        )
    return found


def _names(raters: Any, size: int) -> Array | None:
    """Return who gave each label as text; unnamed raters are one, whose name is empty."""
    if raters is None:
        return None
    names = as_plain("labels.raters", as_pandas("labels.raters", raters)).astype(object)
    if names.shape != (size,):
        raise InputError(
            f"labels.raters: found shape {names.shape} for {size} labels; accepted: one name for each label."
        )
    known = pd.Series(np.where(pd.isna(names), "", names), dtype=object)
    return known.astype(str).str.strip().to_numpy(dtype=str)


def _one_per_item(labels: Values, classes: bool) -> Values:
    """Return one value for each item, of all that people said; what raters are like is learnt from it."""
    names, numbers = (
        (None, np.zeros(len(labels.index), np.int64))
        if labels.raters is None
        else np.unique(labels.raters, return_inverse=True)
    )
    repeated = len(np.unique(labels.index)) < len(labels.index)
    if names is None and not repeated:
        return labels
    if np.abs(labels.values).max(initial=0) > MAGNITUDES[1]:  # what is weighed is squared
        check_magnitude("labels", labels.values)
    weights = np.ones(len(labels.index)) if labels.weights is None else labels.weights
    weigh = weighed_classes if classes else weighed_values
    found = weigh(labels.index, labels.values, weights, numbers)
    if not repeated:  # nobody said anything twice, and values stay in their order
        found = replace(found, index=labels.index, values=labels.values, weights=weights)
    elif names is None:
        several = int(np.sum(np.unique(labels.index, return_counts=True)[1] > 1))
        warnings.warn(
            f"labels: {several} item(s) have several values, of which "
            + ("the class that most say counts." if classes else "the mean counts, the more the more there are."),
            UserWarning,
            stacklevel=2,
        )
    if len(undecided := found.index[found.weights == 0]):
        warnings.warn(
            f"labels: of {len(undecided)} item(s) as many say one class as another (first: {few(undecided)}); these "
            "are left out.",
            UserWarning,
            stacklevel=2,
        )
    decided = found.weights > 0
    together = Values(found.index[decided], found.values[decided], weights=found.weights[decided])
    if np.all(together.weights == 1.0):
        together = replace(together, weights=None)
    if names is None or labels.raters is None:
        return together
    return replace(
        together,
        opinions=Opinions(labels.raters, labels.index, labels.values, "classes" if classes else "values"),
        errors=dict(zip(names.tolist(), found.errors.tolist(), strict=True)),
    )
