"""What is known about some items: values or pairs; `tupi.inputs.checked_labels` makes them of what people give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.raters import Opinions
from tupi.inputs.types import Column

NEIGHBOURS = 20  # comparisons with others that a value becomes, about, where values and comparisons are given together
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Values:
    """Known target values of some items.

    Nothing is checked or converted before the labels meet a problem, in `as_labels`; inside the package both fields are
    arrays.

    Parameters
    ----------
    index : array_like of int or of ids
        Positions of the labelled items; all values of an item that occurs more than once count, see `raters`. Text is
        ids of the predictions' index; ids that are whole numbers would be taken for positions, so give such labels as a
        Series.
    values : array_like
        Their target values; for classification the class: a column's name if the predictions have names, and its
        number otherwise. A masked value is unknown.
    weights : array_like of float, optional
        As how many answers each value counts; None: one each. A value that counts twice errs half as much (in squares).
    raters : array_like, optional
        Who gave each value, by name. How far each rater errs, and says more than the others, is learnt from the items
        that several spoke of; see `tupi.inputs.raters`.
    """

    index: NDArray[np.int64]
    values: Array
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    raters: Array | None = field(default=None, kw_only=True)
    groups: NDArray[np.int64] | None = field(default=None, kw_only=True)  # of the items, once a problem has them
    opinions: Opinions | None = field(default=None, kw_only=True)  # what raters said, once checked
    errors: dict[str, float] | None = field(default=None, kw_only=True)  # of raters, once checked

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(
            self,
            index: Column,
            values: Column,
            *,
            weights: Column | None = None,
            raters: Column | None = None,
            **_: Any,
        ) -> None: ...


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
    raters : array_like, optional
        Who gave each answer, by name. The methods "auto" and "fuse" learn how many answers of each rater are wrong.
    """

    higher: NDArray[np.int64]
    lower: NDArray[np.int64]
    weights: NDArray[np.float64] | None = field(default=None, kw_only=True)
    tied: NDArray[np.bool_] | None = field(default=None, kw_only=True)
    raters: Array | None = field(default=None, kw_only=True)
    groups: NDArray[np.int64] | None = field(default=None, kw_only=True)  # of the pairs, once a problem has them
    implied: NDArray[np.bool_] | None = field(default=None, kw_only=True)  # which follow from values, once checked
    opinions: Opinions | None = field(default=None, kw_only=True)  # what raters said, once checked

    if TYPE_CHECKING:  # the dataclass writes the same, but for the types

        def __init__(
            self, higher: Column, lower: Column, *, weights: Column | None = None, tied: Column | None = None,
            raters: Column | None = None, **_: Any,
        ) -> None: ...  # fmt: skip


Labels: TypeAlias = Values | Pairs
AnyLabels = TypeVar("AnyLabels", bound=Values | Pairs)


def labelled_items(labels: Labels) -> NDArray[np.int64]:
    """Return the positions of all items that the labels mention, sorted."""
    if isinstance(labels, Values):
        return np.sort(labels.index)
    return np.unique(np.concatenate([labels.higher, labels.lower]))


def n_labels(labels: Labels) -> int:
    """Return the number of labels: values, or pairs."""
    return len(labels.values) if isinstance(labels, Values) else len(labels.higher)


def noun_of(labels: Labels) -> str:
    """Return what `n_labels` counts."""
    return "label" if isinstance(labels, Values) else "comparison"


def amount(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def counted(labels: Labels) -> str:
    """Return how many labels there are, called what they are."""
    return amount(n_labels(labels), noun_of(labels))


def entries(labels: AnyLabels, which: NDArray[np.int64] | NDArray[np.bool_] | slice) -> AnyLabels:
    """Return some entries of the labels."""
    parts: dict[str, Any] = {name: part for name, part in vars(labels).items() if isinstance(part, np.ndarray)}
    return replace(labels, **{name: part[which] for name, part in parts.items()})


def subset(labels: Labels, keep: Sequence[int] | Array) -> Labels | None:
    """Return the labels among the items ``keep`` only, or None where those say nothing.

    For values, that is the values of these items; for pairs, the pairs with both items among them.
    """
    ends = (labels.index,) if isinstance(labels, Values) else (labels.higher, labels.lower)
    found = entries(labels, np.logical_and.reduce([np.isin(items, keep) for items in ends]))
    return found if ranks_something(found) else None


def ranks_something(labels: Labels) -> bool:
    """Return whether any two items have different labels; if there are groups, two items of one group."""
    if isinstance(labels, Pairs):
        return len(labels.higher) > 0
    groups = np.zeros(len(labels.values)) if labels.groups is None else labels.groups
    return len(np.unique(np.column_stack([groups, labels.values]), axis=0)) > len(np.unique(groups))


def relabel(labels: Labels, items: Array) -> Labels:
    """Return the labels with positions counted within the sorted ``items``, which must include all labelled ones."""
    if isinstance(labels, Values):
        return replace(labels, index=np.searchsorted(items, labels.index))
    return replace(labels, higher=np.searchsorted(items, labels.higher), lower=np.searchsorted(items, labels.lower))


def implied_pairs(values: Values, groups: NDArray[np.int64] | None) -> Pairs:
    """Return the comparisons that values imply, of items of one group if there are groups.

    Each value is compared with about `NEIGHBOURS` others, evenly spread over the ranks. All comparisons together count
    as much as one less than there are values in a group, since so many differences determine them all.
    """
    groups = np.zeros(len(values.index), np.int64) if groups is None else groups[values.index]
    given = np.ones(len(values.index)) if values.weights is None else values.weights
    higher, lower, weights = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)]
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        own = own[np.argsort(values.values[own], kind="stable")]
        m = len(own)
        steps = np.unique(np.linspace(1, max(m - 1, 1), min(NEIGHBOURS, max(m - 1, 1))).astype(np.int64))
        first = np.concatenate([np.arange(m - step) for step in steps if step < m] or [np.empty(0, np.int64)])
        second = first + np.concatenate([np.full(m - step, step) for step in steps if step < m] or [first])
        differ = values.values[own[second]] > values.values[own[first]]
        above, below = own[second[differ]], own[first[differ]]
        weight = np.sqrt(given[above] * given[below])  # of two answers, neither counts alone
        higher.append(values.index[above])
        lower.append(values.index[below])
        weights.append(weight * (m - 1) / max(len(first), 1))
    found = np.concatenate(higher)
    raters = None if values.opinions is None else np.full(len(found), "")
    return Pairs(
        found, np.concatenate(lower), weights=np.concatenate(weights), implied=np.ones(len(found), bool), raters=raters
    )
