"""Labels from a file: values by id, one value per item, or comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.files.matching import Items, Sheet, check_order_is_safe
from tupi.inputs.files.reading import is_table, read_arrays, read_one_array, split_key
from tupi.inputs.ids import check_pairs_left
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.runtime.errors import InputError

PAIR = ("higher", "lower")
RATER, WEIGHT = "rater", "weight"


def holds_pairs(sheet: Sheet) -> bool:
    """Return whether a table holds comparisons."""
    return all(column in sheet.frame for column in PAIR)


def read_labels(
    path: str | Path, sheet: Sheet | None, wanted: str | None, items: Items, classes: Sequence[str] = ()
) -> Labels | NDArray[Any]:
    """Return labels as `tupi.denoise` takes them.

    Parameters
    ----------
    path : path
        The file.
    sheet : Sheet or None
        Its table; None if it is a file of arrays.
    wanted : str, optional
        The value column that the user named.
    items : Items
        What the labels are matched to.
    classes : sequence of str
        For classification: the names of the class columns, if they have any.
    """
    if sheet is None:
        return _from_arrays(path, wanted, items)
    if holds_pairs(sheet):
        return _pairs(sheet, items)
    joined = items.column if items.column in sheet.frame else None
    sheet, rest = _beside(sheet, joined, wanted)
    if joined is not None and "raters" not in rest:  # who are several, and may say something of the same item
        sheet = sheet.unique(joined, items.duplicates)
        rest = {name: part[sheet.kept] for name, part in rest.items()} if sheet.kept is not None else rest
    if joined is None and items.column is not None and _holds_more(sheet, wanted, items.ids):
        raise sheet.lacks_ids(items.column)
    values = _values(sheet, joined, wanted, classes)
    if joined is None and rest:
        raise InputError(
            f"{sheet.called}: found columns {', '.join(map(repr, sheet.frame.columns))} and no ids; accepted: a column "
            "of ids beside those of values, raters and weights."
        )
    if joined is None:
        if items.base is None or sheet.path.resolve() != items.base.path.resolve():
            check_order_is_safe(None, sheet)
            items.take_in_order("labels", sheet.called, len(values))
        return values.to_numpy()
    places = items.positions(sheet, sheet.ids(joined))
    known = values.notna().to_numpy() & (places >= 0)
    return Values(places[known], values[known].to_numpy(), **{name: part[known] for name, part in rest.items()})


def with_pairs(labels: Labels | NDArray[Any] | None, path: str | Path, items: Items) -> Labels | list[Labels]:
    """Return labels with the comparisons of another file beside them."""
    sheet = Sheet.read("pairs", path) if is_table(path) else None
    pairs = read_labels(path, sheet, None, items) if sheet is None or holds_pairs(sheet) else None
    if not isinstance(pairs, Pairs):
        raise InputError(f"--pairs: {path} holds no comparisons; accepted: columns, or arrays, 'higher' and 'lower'.")
    if labels is None:
        return pairs
    if isinstance(labels, np.ndarray):  # one entry per item
        labels = Values(known := np.flatnonzero(~pd.isna(labels)), labels[known])
    return [labels, pairs]


def _beside(sheet: Sheet, id_column: str | None, wanted: str | None) -> tuple[Sheet, dict[str, Any]]:
    """Return a table of values without the columns that say who gave them and what each counts, and these.

    They are such only in a table that has nothing else: elsewhere a weight may be one of many features.
    """
    others = [name for name in sheet.frame.columns if name not in (id_column, wanted)]
    left = [name for name in others if name not in (RATER, WEIGHT)]
    if len(left) + (wanted is not None) != 1 or len(left) == len(others):
        return sheet, {}
    rest: dict[str, Any] = {}
    if RATER in others:
        rest["raters"] = sheet.text(RATER).to_numpy()
    if WEIGHT in others:
        rest["weights"] = sheet.values(WEIGHT).to_numpy()
    return replace(sheet, frame=sheet.frame.drop(columns=[name for name in others if name not in left])), rest


def _holds_more(sheet: Sheet, wanted: str | None, ids: pd.Index | None) -> bool:
    """Return whether a table of labels has more than values: several columns, or one with ids beside the named one."""
    others = [column for column in sheet.frame.columns if column != wanted]
    if wanted is None or ids is None:
        return len(others) > 1
    return any(sheet.text(column).isin(ids).all() for column in others)


def _from_arrays(path: str | Path, wanted: str | None, items: Items) -> Labels | NDArray[Any]:
    if wanted is not None:
        raise InputError(f"--label: {path} has no columns; accepted: a value column of a table.")
    arrays = read_arrays(path)
    if split_key(path)[1] is None and all(name in arrays for name in PAIR):
        return Pairs(arrays["higher"], arrays["lower"])
    array = read_one_array(path)
    items.take_in_order("labels", f"labels ({path})", len(array) if array.ndim else 1)
    return array


def _pairs(sheet: Sheet, items: Items) -> Pairs:
    rest: dict[str, Any] = {
        name: sheet.values(column).to_numpy()
        for name, column in (("weights", WEIGHT), ("tied", "tied"))
        if column in sheet.frame
    }
    if RATER in sheet.frame:
        rest["raters"] = sheet.text(RATER).to_numpy()
    if items.ids is None:
        return Pairs(*(sheet.frame[column].to_numpy() for column in PAIR), **rest)
    sides = [pd.Index(sheet.text(column)) for column in PAIR]
    places = items.positions(sheet, sides[0].append(sides[1])).reshape(2, -1)
    both = np.asarray((places >= 0).all(axis=0))
    check_pairs_left(sheet.called, both, sides[0].append(sides[1])[places.ravel() < 0])
    return Pairs(*places[:, both], **{name: part[both] for name, part in rest.items()})


def _values(sheet: Sheet, id_column: str | None, wanted: str | None, classes: Sequence[str]) -> pd.Series:
    """Return the value column as objects, missing where unknown."""
    if wanted is not None:
        sheet.check_has("--label", wanted)
    found = [wanted] if wanted is not None else [name for name in sheet.frame.columns if name != id_column]
    if len(found) != 1:
        raise InputError(
            f"{sheet.called}: found {len(found)} columns that could be the values (of {sheet.listed}); accepted: one, "
            "named by --label, or the columns 'higher' and 'lower'."
        )
    values = sheet.frame[found[0]]
    if not classes:
        return sheet.values(found[0]).astype(object)
    # Names are compared as the file has them ("007" is not 7), so that even a class called "NA" is one.
    text = sheet.text(found[0]).astype(object)
    return text.where(values.notna() | text.isin(list(classes)), None)
