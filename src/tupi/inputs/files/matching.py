"""Which row of which table belongs to which item: by an id column where there is one, by row order elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.files.reading import UNNAMED, raw_column, read_table
from tupi.runtime.errors import InputError, nearest


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table and what it is for, such as ``"features color"``."""

    role: str
    path: Path
    frame: pd.DataFrame

    @classmethod
    def read(cls, role: str, path: str | Path) -> Sheet:
        """Read a table."""
        return cls(role, Path(path), read_table(path))

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
        values = self.frame[column]
        if pd.api.types.is_numeric_dtype(values.dtype):
            return True
        is_text = values.dtype == object or pd.api.types.is_string_dtype(values.dtype)
        return bool(is_text and pd.to_numeric(values, errors="coerce").notna().any())

    def ids(self, column: str) -> pd.Index:
        """Return a column of unique ids as text."""
        ids = pd.Index(raw_column(self.path, self.frame, column))
        if (ids == "").any():
            row = int(np.flatnonzero(ids == "")[0])
            raise InputError(f"{self.called}: row {row} has no id in column {column!r}; accepted: an id in each row.")
        if not ids.is_unique:
            twice = ids[ids.duplicated()].unique()
            raise InputError(
                f"{self.called}: {len(twice)} id(s) in column {column!r} occur more than once (first: {few(twice)}); "
                "accepted: unique ids."
            )
        return ids


def named_like_id(column: str) -> bool:
    """Return whether a column's name alone says that it holds ids."""
    return column == UNNAMED or column.lower() == "id"


def few(ids: pd.Index | Sequence[str]) -> str:
    """Return the first few ids, in words."""
    return ", ".join(str(one) for one in ids[:3]) + (", ..." if len(ids) > 3 else "")


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
    """Return the columns that look like ids in all tables; those called so alone, if there are any."""
    shared = [column for column in sheets[0].frame.columns if all(sheet.could_be_id(column) for sheet in sheets)]
    return [column for column in shared if named_like_id(column)] or shared


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
    """

    n: int
    base: Sheet | None = None
    column: str | None = None
    ids: pd.Index | None = None
    index: pd.Index | None = None
    by_order: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, sheets: Sequence[Sheet], wanted: str | None) -> Items:
        """Return the items of the first of several tables."""
        base = sheets[0]
        column = find_id(sheets, wanted)
        if column is None:
            return cls(len(base.frame), base)
        ids = base.ids(column)
        return cls(len(ids), base, column, ids, natural(ids, column))

    def arrange(self, sheet: Sheet) -> pd.DataFrame:
        """Return the rows of a table of features in the items' order, without ids."""
        if self.column is None or self.column not in sheet.frame:
            if sheet is not self.base:
                check_order_is_safe(self.base, sheet)
                self.take_in_order(sheet.role.removeprefix("features "), sheet.called, len(sheet.frame))
            frame = sheet.frame
        else:
            frame = sheet.frame.drop(columns=self.column).iloc[self._rows(sheet)]
        return frame if self.index is None else frame.set_axis(self.index, axis=0)

    def take_in_order(self, name: str, called: str, rows: int) -> None:
        """Note that something is matched by the order of its rows; complain unless there is one row per item."""
        if rows != self.n:
            raise InputError(
                f"{called}: has {rows} rows for {self.n} items; accepted: one row per item, or ids (--id)."
            )
        self.by_order.append(name)

    def _rows(self, sheet: Sheet) -> NDArray[np.intp]:
        assert self.base is not None
        assert self.ids is not None
        ids = sheet.ids(str(self.column))
        lacking = self.ids[~self.ids.isin(ids)]
        if len(lacking):
            raise InputError(
                f"{sheet.called}: {len(lacking)} id(s) of {self.base.path} have no row (first: {few(lacking)}); "
                "accepted: a row for each id, with empty values where an item lacks these features."
            )
        self.positions(sheet, ids)  # complains about ids that are too many
        return ids.get_indexer(self.ids)

    def positions(self, sheet: Sheet, ids: pd.Index) -> NDArray[np.intp]:
        """Return the positions of items by id; complain about ids that no item has."""
        assert self.base is not None
        assert self.ids is not None
        unknown = ids[~ids.isin(self.ids)].unique()
        if len(unknown):
            raise InputError(
                f"{sheet.called}: {len(unknown)} id(s) are not in {self.base.path} (first: {few(unknown)}); "
                f"accepted: ids of its column {self.column!r}."
            )
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
