"""Which row of which table belongs to which item: by an id column where there is one, by row order elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.errors import InputError, nearest
from tupi.files.reading import UNNAMED, raw_column, read_table


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

    def could_be_id(self, column: str) -> bool:
        """Return whether a column looks like ids: by its name, or because it is not numeric."""
        if column not in self.frame.columns:
            return False
        return named_like_id(column) or not pd.api.types.is_numeric_dtype(self.frame[column].dtype)

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

    Without a wish, that is the one column that all tables share and that either is called "id" or is not numeric.

    Parameters
    ----------
    sheets : sequence of Sheet
        The tables, that of the predictions first.
    wanted : str, optional
        The column that the user named.
    """
    base = sheets[0]
    if wanted is not None:
        if wanted not in base.frame.columns:
            hint = nearest(wanted, base.frame.columns)
            raise InputError(f"--id: {base.called} has no column {wanted!r}; accepted: {base.listed}.{hint}")
        return wanted
    shared = [column for column in base.frame.columns if all(sheet.could_be_id(column) for sheet in sheets)]
    named = [column for column in shared if named_like_id(column)]
    candidates = named or shared
    if len(candidates) > 1:
        raise InputError(
            f"--id: columns {', '.join(map(repr, candidates))} could all hold the ids; accepted: one of them, by name."
        )
    return candidates[0] if candidates else None


def natural(ids: pd.Index, column: str) -> pd.Index:
    """Return text ids as whole numbers where that loses nothing, under their column's name."""
    name = "id" if column == UNNAMED else column
    numbers = pd.to_numeric(ids, errors="coerce")
    if numbers.dtype.kind == "i" and (numbers.astype(str) == ids).all():
        return pd.Index(numbers, name=name)
    return pd.Index(ids, name=name)


def rows_by_id(base: Sheet, base_ids: pd.Index, sheet: Sheet, column: str) -> NDArray[np.intp]:
    """Return for each item of ``base`` its row in ``sheet``; both must hold the same ids."""
    ids = sheet.ids(column)
    lacking = base_ids[~base_ids.isin(ids)]
    if len(lacking):
        raise InputError(
            f"{sheet.called}: {len(lacking)} id(s) of {base.path} have no row (first: {few(lacking)}); accepted: a row "
            "for each id, with empty values where an item lacks these features."
        )
    surplus = ids[~ids.isin(base_ids)]
    if len(surplus):
        raise InputError(
            f"{sheet.called}: {len(surplus)} id(s) are not in {base.path} (first: {few(surplus)}); accepted: the same ids."
        )
    return ids.get_indexer(base_ids)


def check_order_is_safe(base: Sheet | None, sheet: Sheet) -> None:
    """Complain about columns that look like ids in a table whose rows are about to be matched by their order.

    Otherwise they would count as features, and rows in another order would go unnoticed.
    """
    for column in sheet.frame.columns:
        if named_like_id(column):
            what = "a first column without a name" if column == UNNAMED else f"a column {column!r}"
            where = "which the predictions lack" if base is None or column not in base.frame else "which other tables lack"
            raise InputError(f"{sheet.called}: has {what}, {where}; accepted: ids in all tables (--id), or in none.")
        if base is not None and column in base.frame and not column.isdigit():
            raise InputError(
                f"{sheet.called}: column {column!r} is also in {base.path}; accepted: --id {column} if it holds ids, "
                "otherwise no such column here."
            )


def check_rows(called: str, found: int, n: int) -> None:
    """Complain unless a file without ids has as many rows as there are predictions."""
    if found != n:
        raise InputError(f"{called}: has {found} rows for {n} predictions; accepted: one row per item, or ids (--id).")
