"""Which row of which table belongs to which item: by an id column where there is one, by row order elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.files.reading import ReadTable, read
from tupi.inputs.files.text import UNNAMED
from tupi.inputs.ids import check_unique, few, match
from tupi.inputs.tables.parsing import are_numbers, best_mark, decimal_mark, is_gap, number
from tupi.runtime.errors import InputError, nearest


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table and what it is for.

    Attributes
    ----------
    role : str
        What it is for, such as ``"features color"``.
    file : ReadTable
        The table as the file has it.
    frame : DataFrame
        The same, with some rows and columns perhaps left out.
    kept : ndarray or None
        Which rows of the file are in ``frame``; None for all.
    """

    role: str
    file: ReadTable
    frame: pd.DataFrame
    kept: NDArray[np.intp] | None = None

    @classmethod
    def read(cls, role: str, path: str | Path) -> Sheet:
        """Read a table."""
        file = read(path)
        return cls(role, file, file.frame)

    @property
    def path(self) -> Path:
        """The file."""
        return self.file.path

    @property
    def is_letor(self) -> bool:
        """Whether it is a LETOR file."""
        return self.file.is_letor

    @property
    def called(self) -> str:
        """How error messages call it."""
        return f"{self.role} ({self.path})"

    @property
    def listed(self) -> str:
        """The column names, in words."""
        names = [repr(name) for name in self.frame.columns[:6]]
        return ", ".join(names) + (", ..." if len(self.frame.columns) > 6 else "")

    def check_has(self, option: str, column: str) -> None:
        """Complain unless a column that the user named is there."""
        if column not in self.frame.columns:
            hint = nearest(column, self.frame.columns)
            raise InputError(f"{option}: {self.called} has no column {column!r}; accepted: {self.listed}.{hint}")

    def lacks_ids(self, column: str) -> InputError:
        """Return the complaint that this table lacks the ids by which others are joined."""
        return InputError(
            f"{self.called}: has no column {column!r}, by which tables are joined, but {self.listed}; accepted: ids in "
            f"a column of that name, or no ids here and --id {column}: rows are then matched by their order."
        )

    def could_be_id(self, column: str) -> bool:
        """Return whether a column looks like ids: by its name, or because it is not numeric."""
        if column not in self.frame.columns:
            return False
        return named_like_id(column) or not pd.api.types.is_numeric_dtype(self.frame[column].dtype)

    def holds_numbers(self, column: str) -> bool:
        """Return whether a column has numbers, be it among text: a slip of the pen makes no text of a column."""
        values = self.values(column)
        if pd.api.types.is_numeric_dtype(values.dtype):
            return True
        is_text = values.dtype == object or pd.api.types.is_string_dtype(values.dtype)
        return bool(is_text and pd.to_numeric(values, errors="coerce").notna().any())

    def values(self, column: str) -> pd.Series:
        """Return a column, as numbers if it is text that shows numbers, such as ``54%`` or ``3,20``."""
        values = self.frame[column]
        if not is_text(values):
            return values
        known = [text for text in values.dropna().map(str) if not is_gap(text)]
        mark = best_mark(known, self._decimal)
        if not are_numbers(known, mark, slips=False):
            return values
        return values.map(lambda entry: number(str(entry), mark), na_action="ignore").astype(np.float64)

    @cached_property
    def _decimal(self) -> str:
        """The decimal mark of the table."""
        texts = [self.frame[column].dropna().map(str) for column in self.frame if is_text(self.frame[column])]
        return decimal_mark([text for text in column if not is_gap(text)] for column in texts)

    def text(self, column: str) -> pd.Series:
        """Return a column as text, exactly as the file has it; empty where it has nothing."""
        text = self.file.raw(column)
        return text if self.kept is None else text.iloc[self.kept].reset_index(drop=True)

    def ids(self, column: str) -> pd.Index:
        """Return a column of ids as text; complain about rows that have none."""
        ids = pd.Index(self.text(column))
        if (ids == "").any():
            row = int(np.flatnonzero(ids == "")[0])
            raise InputError(f"{self.called}: row {row} has no id in column {column!r}; accepted: an id in each row.")
        return ids

    def unique(self, column: str, duplicates: str | None) -> Sheet:
        """Return the table with one row per id.

        Parameters
        ----------
        column : str
            The column of ids.
        duplicates : {None, "mean", "first", "last"}
            What to do about rows with the same id: complain, take the mean of numbers (and the first of anything
            else), or take the first or last row.
        """
        ids = self.ids(column)
        if ids.is_unique:
            return self
        if duplicates is None:
            check_unique(
                self.called, ids, f"column {column!r}", "unique ids, or --duplicates mean, --duplicates first or last"
            )
        kept = np.flatnonzero(~ids.duplicated(keep="last" if duplicates == "last" else "first"))
        frame = self.frame.iloc[kept].reset_index(drop=True)
        if duplicates == "mean":
            for name in self.frame.columns.drop(column):
                values = self.values(name)
                if pd.api.types.is_numeric_dtype(values.dtype):
                    frame[name] = values.groupby(ids, sort=False).mean().to_numpy()
        return replace(self, frame=frame, kept=kept)


def is_text(values: pd.Series) -> bool:
    """Return whether a column is of text, or of objects that may be."""
    return bool(values.dtype == object or pd.api.types.is_string_dtype(values.dtype))


def named_like_id(column: str) -> bool:
    """Return whether a column's name alone says that it holds ids."""
    return column == UNNAMED or column.lower() == "id"


def find_id(sheets: Sequence[Sheet], wanted: str | None) -> str | None:
    """Return the column by which tables are joined, or None if there is none and rows are matched by their order.

    Without a wish, that is the one column that all tables share and that either is called "id" or is not numeric. A
    table that alone lacks such a column is named in the complaint.

    Parameters
    ----------
    sheets : sequence of Sheet
        The tables, that of the predictions first.
    wanted : str, optional
        The column that the user named.
    """
    base = sheets[0]
    if wanted is not None:
        base.check_has("--id", wanted)
        return wanted
    candidates = _shared_ids(sheets)
    if len(sheets) > 1 and len({sheet.path.resolve() for sheet in sheets}) == 1:
        # One file holds everything: its rows are in one order, and other columns of text are features.
        candidates = [column for column in candidates if named_like_id(column) and base.frame[column].is_unique]
        if not candidates:
            return None
    if len(candidates) > 1:
        raise InputError(
            f"--id: columns {', '.join(map(repr, candidates))} could all hold the ids; accepted: one of them, by name."
        )
    if candidates:
        return candidates[0]
    for other in sheets[1:]:
        found = _shared_ids([sheet for sheet in sheets if sheet is not other])
        own = len(other.frame.columns) > 1 and any(map(other.could_be_id, other.frame.columns))
        if found and (len(sheets) > 2 or own):  # what is in one table alone is an id only beside ids elsewhere
            raise other.lacks_ids(found[0])
    for sheet in sheets:
        if lonely := [column for column in sheet.frame.columns if named_like_id(column)]:
            raise InputError(
                f"{sheet.called}: has a column {lonely[0]!r}, and not all other tables do; accepted: ids in all "
                f"tables, in none, or --id {lonely[0]!r} to match tables without it by the order of their rows."
            )
    return None


def _shared_ids(sheets: Sequence[Sheet]) -> list[str]:
    """Return the columns that look like ids in all tables; those called so or else unique alone, if there are any."""
    shared = [column for column in sheets[0].frame.columns if all(sheet.could_be_id(column) for sheet in sheets)]
    unique = [column for column in shared if sheets[0].frame[column].is_unique]
    return [column for column in shared if named_like_id(column)] or unique or shared


def natural(ids: pd.Index, column: str) -> pd.Index:
    """Return text ids as whole numbers where that loses nothing, under their column's name."""
    name = "id" if column == UNNAMED else column
    numbers = pd.to_numeric(ids.to_series(), errors="coerce")
    if numbers.dtype.kind == "i" and (numbers.astype(str) == numbers.index).all():
        return pd.Index(numbers.to_numpy(), name=name)
    return pd.Index(ids, name=name)


@dataclass(frozen=True, eq=False)
class Items:
    """The items in the order of the first table, to which everything else is matched.

    Attributes
    ----------
    n : int
        How many there are.
    base : Sheet or None
        The first table; None if it is an array.
    column : str or None
        The column that identifies items.
    ids : Index or None
        Its entries, as text.
    index : Index or None
        The same as whole numbers, if that is what they are.
    by_order : list of str
        What had to be matched by the order of its rows; grows on the way.
    duplicates : {None, "mean", "first", "last"}
        What to do about rows with the same id, see `Sheet.unique`.
    """

    n: int
    base: Sheet | None = None
    column: str | None = None
    ids: pd.Index | None = None
    index: pd.Index | None = None
    by_order: list[str] = field(default_factory=list)
    duplicates: str | None = None

    @classmethod
    def of(cls, sheets: Sequence[Sheet], wanted: str | None, duplicates: str | None = None) -> Items:
        """Return the items of the first of several tables."""
        base = sheets[0]
        column = find_id(sheets, wanted)
        if column is None:
            return cls(len(base.frame), base)
        base = base.unique(column, duplicates)
        ids = base.ids(column)
        return cls(len(ids), base, column, ids, natural(ids, column), duplicates=duplicates)

    def arrange(self, sheet: Sheet) -> pd.DataFrame:
        """Return the rows of a table of features in the items' order, without ids; missing where it has no row."""
        if self.column is None or self.column not in sheet.frame:
            if self.base is not None and sheet.path.resolve() == self.base.path.resolve():
                frame = sheet.frame
            else:
                check_order_is_safe(self.base, sheet)
                self.take_in_order(sheet.role.removeprefix("features "), sheet.called, len(sheet.frame))
                frame = sheet.frame
        else:
            frame = self._by_id(sheet)
        return frame if self.index is None else frame.set_axis(self.index, axis=0)

    def take_in_order(self, name: str, called: str, rows: int) -> None:
        """Note that something is matched by the order of its rows; complain unless there is one row per item."""
        if rows != self.n:
            raise InputError(
                f"{called}: has {rows} rows for {self.n} items; accepted: one row per item, or ids (--id)."
            )
        self.by_order.append(name)

    def _by_id(self, sheet: Sheet) -> pd.DataFrame:
        assert self.base is not None
        assert self.ids is not None
        column = str(self.column)
        sheet = sheet.unique(column, self.duplicates)
        ids = sheet.ids(column)
        self.positions(sheet, ids)  # says which ids no item has
        lacking = self.ids[~self.ids.isin(ids)]
        if len(lacking):
            warnings.warn(
                f"{sheet.called}: {len(lacking)} of {self.n} items have no row here (first: {few(lacking)}) and lack "
                "these features.",
                UserWarning,
                stacklevel=2,
            )
        return sheet.frame.drop(columns=column).set_axis(ids, axis=0).reindex(self.ids)

    def positions(self, sheet: Sheet, ids: pd.Index) -> NDArray[np.intp]:
        """Return the positions of items by id, -1 for ids that no item has; warn of these, complain if all are so."""
        assert self.base is not None
        assert self.ids is not None
        match(sheet.called, ids, self.ids, str(self.base.path), f" of its column {self.column!r}")
        return self.ids.get_indexer(ids)


def check_order_is_safe(base: Sheet | None, sheet: Sheet) -> None:
    """Complain about columns that look like ids in a table whose rows are about to be matched by their order.

    Otherwise they would count as features, and rows in another order would go unnoticed.
    """
    for column in sheet.frame.columns:
        if named_like_id(column):
            raise InputError(
                f"{sheet.called}: has a column {column!r} that matches nothing elsewhere; accepted: the same id "
                "column in all tables, or none."
            )
        if base is not None and column in base.frame and not column.isdigit():
            raise InputError(
                f"{sheet.called}: column {column!r} is also in {base.path}; accepted: --id {column} if it holds ids, "
                "otherwise no such column here."
            )
