"""Ids: which of those found are known, and what to say of the others."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.runtime.errors import InputError

SHOWN = 3  # ids in a message


def few(ids: Iterable[Any]) -> str:
    """Return the first few ids, in words."""
    listed = list(ids)
    return ", ".join(str(one) for one in listed[:SHOWN]) + (", ..." if len(listed) > SHOWN else "")


def check_unique(called: str, ids: pd.Index, where: str = "its index", instead: str = "unique ids") -> None:
    """Complain about ids that occur more than once, and name some of them."""
    if not ids.is_unique:
        twice = ids[ids.duplicated()].unique()
        raise InputError(
            f"{called}: {len(twice)} id(s) in {where} occur more than once (first: {few(twice)}); accepted: {instead}."
        )


def match(called: str, found: pd.Index, known: pd.Index, whose: str = "the predictions", known_as: str = "") -> None:
    """Warn of ids that are not known and will be left out; complain if none is known.

    Parameters
    ----------
    called : str
        Which argument or file the ids are from.
    found, known : Index
        The ids there, and those of the predictions.
    whose : str
        What the known ids are of.
    known_as : str
        Where exactly they are, for the complaint.
    """
    unknown = found[~found.isin(known)].unique()
    if not len(unknown):
        return
    hint = likeness(unknown, known)
    if len(unknown) == found.nunique():
        raise InputError(
            f"{called}: none of its ids is among those of {whose} (first: {few(unknown)}); accepted: ids such as "
            f"{few(known)}{known_as}.{hint}"
        )
    warnings.warn(
        f"{called}: {len(unknown)} id(s) are not among those of {whose} (first: {few(unknown)}) and were left out."
        f"{hint}",
        UserWarning,
        stacklevel=2,
    )


def in_order_of(index: pd.Index, called: str, values: Any) -> Any:
    """Return the rows of a table or Series in the order of the items' ids; items without a row lack it."""
    if values.index.equals(index):
        return values
    check_unique(called, values.index)
    match(called, values.index, index)
    return values.reindex(index)


def check_pairs_left(called: str, known: NDArray[np.bool_], unknown: pd.Index) -> None:
    """Complain if of all pairs none has two known ids, and name unknown ones."""
    if len(known) and not known.any():
        raise InputError(
            f"{called}: each pair has an id that is not among those of the predictions (first: {few(unknown)}); "
            "accepted: pairs of items that have predictions."
        )


def likeness(unknown: pd.Index, known: pd.Index) -> str:
    """Return a hint if ids that are not known differ from known ones only by leading zeros, blanks or case."""
    reasons: dict[str, Callable[[str], str]] = {
        "blanks": lambda text: re.sub(r"\s", "", text),
        "upper and lower case": lambda text: text.strip().casefold(),
        "leading zeros": lambda text: text.strip().lstrip("0"),
        "leading zeros, blanks or case": lambda text: re.sub(r"\s", "", text).casefold().lstrip("0"),
        "decimals or type": lambda text: re.sub(r"\.0+$", "", text),
    }
    for reason, simple in reasons.items():
        table = {simple(str(one)): one for one in known}
        alike = [(one, table[simple(str(one))]) for one in unknown if simple(str(one)) in table]
        if 2 * len(alike) > len(unknown):
            ours, theirs = alike[0]
            return f" Did you mean the same ids? {ours!r} and {theirs!r} differ only by {reason}."
    return ""
