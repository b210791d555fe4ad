"""From a table with columns of any kind to numbers, and back to the sentence of what became of each column."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.tables.cells import Cells
from tupi.inputs.tables.kinds import Boolean, Category, Date, Kind, Number, Text, are_ids, kind_from_json
from tupi.inputs.tables.parsing import (
    ISO,
    are_numbers,
    best_mark,
    date_format,
    decimal_mark,
    truth,
)
from tupi.runtime.errors import InputError

FORMAT = 1  # of JSON
FEW, MANY = 0.01, 0.99  # shares of gaps between which the gap itself may tell something
LONG = 4  # words from which on entries are texts, even if they recur
CONSTANT, IDS = "constant", "id"  # kinds of columns that are dropped
NAMED_ID = re.compile(r"(?:^|[_\s.-])id$|[a-z]I[dD]$", re.IGNORECASE)
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ColumnEncoding:
    """What became of one column.

    Attributes
    ----------
    name : str
        The column.
    kind : Kind or None
        What it is; None if it was dropped.
    keep : tuple of int
        Which of the kind's columns vary, and are kept.
    flag : bool
        Whether a column says where there was a gap.
    dropped : str
        Why it was dropped, "constant" or "id"; otherwise empty.
    note : str
        What a person may want to know.
    """

    name: str
    kind: Kind | None = None
    keep: tuple[int, ...] = ()
    flag: bool = False
    dropped: str = ""
    note: str = ""

    @property
    def outputs(self) -> list[str]:
        """Names of the columns it became."""
        if self.kind is None:
            return []
        names = [f"{self.name} {self.kind.outputs[k]}".strip() for k in self.keep]
        return [*names, f"{self.name} is missing"] if self.flag else names

    def transform(self, cells: Cells) -> tuple[Array, Array]:
        """Return the columns of numbers, and which cells are gaps."""
        assert self.kind is not None
        columns, gaps = self.kind.columns(cells)
        if isinstance(self.kind, (Category, Text)):  # a gap is none of the levels
            columns = np.where(gaps[:, None], 0.0, columns)
        parts = [columns[:, list(self.keep)], gaps[:, None].astype(float)]
        return np.hstack(parts if self.flag else parts[:1]), gaps


def the_only(found: Sequence[str], name: str, called: str) -> int:
    """Return where a column of before is among those that came; complain if none, or more than one, has its name."""
    if name not in found:
        raise InputError(f"{called}: has no column {name!r}; accepted: the columns that were there before.")
    if (several := found.count(name)) > 1:
        raise InputError(
            f"{called}: has {several} columns {name!r}; accepted: one of each name, or the columns of before in their "
            "order."
        )
    return found.index(name)


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the columns of a table became numbers; the same for any order of rows, and for items that come later.

    Attributes
    ----------
    view : str
        The view that the table is.
    columns : tuple of ColumnEncoding
        What became of each column.

    Examples
    --------
    >>> table = pd.DataFrame({"price": ["$3.20", "$4.10", "N/A"] * 4, "color": ["red", "blue", "green"] * 4})
    >>> encoding = Encoding.fit(table)
    >>> encoding.outputs
    ['price', 'price is missing', 'color = blue', 'color = green', 'color = red']
    >>> encoding.transform(pd.DataFrame({"price": ["$5.00"], "color": ["red"]})).tolist()
    [[5.0, 0.0, 0.0, 0.0, 1.0]]
    """

    view: str
    columns: tuple[ColumnEncoding, ...]

    @classmethod
    def fit(cls, table: pd.DataFrame, view: str = "features", called: str = "features") -> Encoding:
        """Find out what each column of a table is.

        Parameters
        ----------
        table : DataFrame
            One row per item, columns of any kind.
        view : str
            The view's name.
        called : str
            How messages call it.
        """
        cells = {str(name): _cells(called, table, k) for k, name in enumerate(table.columns)}
        if len(cells) < table.shape[1]:
            raise InputError(f"{called}: two columns have the same name as text; accepted: names that differ.")
        usual = decimal_mark(
            sorted(set(one.values[~one.gaps].tolist())) for one in cells.values() if one.form == "texts"
        )
        return cls(view, tuple(_column(name, one, usual) for name, one in cells.items()))

    @property
    def outputs(self) -> list[str]:
        """Names of the columns of numbers."""
        return [name for column in self.columns for name in column.outputs]

    def transform(self, table: pd.DataFrame, called: str = "features") -> Array:
        """Return the numbers of a table with (at least) the same columns; a row without any value is NaN.

        Parameters
        ----------
        table : DataFrame
            One row per item. Levels that were not there before are none of the known ones; what cannot be read as
            the column's kind is a gap.
        called : str
            How messages call it.
        """
        found = list(map(str, table.columns))
        as_before = found == [column.name for column in self.columns]
        parts, lacking = [np.empty((len(table), 0))], np.ones(len(table), bool)
        for k, column in enumerate(self.columns):
            if column.kind is None:
                continue
            place = k if as_before else the_only(found, column.name, called)
            numbers, gaps = column.transform(_cells(called, table, place))
            parts.append(numbers)
            lacking &= gaps
        matrix = np.hstack(parts)
        matrix[lacking] = np.nan
        return matrix

    def to_json(self) -> str:
        """Return everything as text, from which `from_json` makes the same encoding."""
        columns = [
            {
                "name": column.name,
                "kind": None if column.kind is None else column.kind.name,
                "learnt": None if column.kind is None else column.kind.to_json(),
                "keep": list(column.keep),
                "flag": column.flag,
                "dropped": column.dropped,
                "note": column.note,
            }
            for column in self.columns
        ]
        return json.dumps({"format": FORMAT, "view": self.view, "columns": columns})

    @classmethod
    def from_json(cls, text: str) -> Encoding:
        """Return the encoding that `to_json` wrote."""
        try:
            found = json.loads(text)
            if found["format"] > FORMAT:
                raise InputError(f"encoding: was written by a newer tupi (format {found['format']}).")
            columns = []
            for entry in found["columns"]:
                kind = None if entry["kind"] is None else kind_from_json(entry["kind"], entry["learnt"])
                rest = (tuple(entry["keep"]), entry["flag"], entry["dropped"], entry["note"])
                columns.append(ColumnEncoding(entry["name"], kind, *rest))
            return cls(found["view"], tuple(columns))
        except (KeyError, TypeError, json.JSONDecodeError) as problem:
            raise InputError(f"encoding: is not what Encoding.to_json writes ({problem}).") from None


def _cells(called: str, table: pd.DataFrame, place: int) -> Cells:
    return Cells.of(f"{called}, column {str(table.columns[place])!r}", table.iloc[:, place])


def _column(name: str, cells: Cells, usual: str) -> ColumnEncoding:
    """Find out what a column is; ``usual`` is the decimal mark of the table."""
    if cells.gaps.all():
        return ColumnEncoding(name, dropped=CONSTANT, note="has no value")
    if _counts_rows(name, cells, usual):
        return ColumnEncoding(name, dropped=IDS, note="whole numbers that only number the items")
    kind, note = _kind(cells, usual)
    if kind is None:
        return ColumnEncoding(name, dropped=IDS, note=note)
    columns, gaps = kind.columns(cells)
    keep = tuple(np.flatnonzero((columns[~gaps] != columns[~gaps][:1]).any(axis=0)).tolist())
    flag = bool(FEW <= gaps.mean() <= MANY)
    if not keep and not flag:
        return ColumnEncoding(name, dropped=CONSTANT, note="the same for all items")
    return ColumnEncoding(name, kind, keep, flag, note="; ".join(filter(None, [note, _gaps_note(cells, gaps)])))


def _gaps_note(cells: Cells, gaps: Array) -> str:
    if not gaps.any():
        return ""
    note = f"{np.count_nonzero(gaps)} gap(s)"
    slips = sorted(set(cells.as_texts[gaps & ~cells.gaps].tolist()))
    return f"{note}, counting {slips[0]!r}" if slips else note


def _kind(cells: Cells, usual: str) -> tuple[Kind | None, str]:
    """Return what a column is, or None for ids, and a note."""
    if cells.form == "numbers":
        return Number.fit(cells), ""
    if cells.form == "truth values":
        return Boolean.fit(cells), ""
    if cells.form == "times":
        return Date.fit(cells, ISO), ""
    if cells.form == "levels":
        return Category.fit(cells), ""
    known = cells.values[~cells.gaps]
    distinct = sorted(set(known.tolist()))
    if all(not np.isnan(truth(text)) for text in distinct):
        return Boolean.fit(cells), ""
    decimal = best_mark(distinct, usual)
    if are_numbers(distinct, decimal):
        return Number.fit(cells, decimal), "decimal commas" if decimal == "," else ""
    if (form := date_format(distinct)) is not None:
        return Date.fit(cells, form[0]), f"read as {form[0]}" if form[1] else ""
    words = np.mean([len(text.split()) for text in distinct])
    recurs = len(distinct) <= len(known) / 2
    if recurs and (words < LONG or len(distinct) <= 30):
        category = Category.fit(cells)
        return category, f"{len(distinct)} levels" if category.counts else ""
    if not recurs and are_ids(distinct):
        return None, f"{len(distinct)} different texts in {len(known)} cells, without words in common"
    return Text.fit(cells), f"{len(distinct)} different texts"


def _counts_rows(name: str, cells: Cells, usual: str) -> bool:
    """Return whether a column holds different whole numbers that follow one another, or that it calls ids."""
    if cells.gaps.any() or cells.form in ("times", "levels"):
        return False
    if cells.form == "texts" and not are_numbers(sorted(set(cells.values.tolist())), usual):
        return False
    values = np.sort(Number(median=0.0, decimal=usual).columns(cells)[0][:, 0])
    if len(values) < 3 or (values != np.round(values)).any() or (np.diff(values) == 0).any():
        return False
    return bool(values[-1] - values[0] == len(values) - 1 or NAMED_ID.search(name))
