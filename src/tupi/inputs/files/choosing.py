"""Which columns of the features are taken: those that ``--columns`` and ``--drop`` name."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tupi.inputs.files.matching import Sheet
from tupi.runtime.errors import InputError, nearest


def chosen_columns(
    sheets: Mapping[str, Sheet], id_column: str | None, columns: Sequence[str], drop: Sequence[str]
) -> dict[str, Sheet]:
    """Return the tables of the views with the columns that were asked for, and their ids.

    Parameters
    ----------
    sheets : mapping of str to Sheet
        Tables by view.
    id_column : str, optional
        The column of ids, which always stays.
    columns, drop : sequence of str
        Entries such as ``color=red,green``, or ``red,green`` for all views.
    """
    chosen = dict(sheets)
    for option, entries in (("--columns", columns), ("--drop", drop)):
        for view, names in _by_view(option, entries, chosen).items():
            sheet = chosen[view]
            inside = [name for name in sheet.frame.columns if name in names]
            stays = inside if option == "--columns" else [name for name in sheet.frame.columns if name not in names]
            ids = [] if id_column is None or id_column not in sheet.frame or id_column in stays else [id_column]
            if not [name for name in stays if name != id_column]:
                raise InputError(f"{option}: leaves no column of {sheet.called}; accepted: some of {sheet.listed}.")
            chosen[view] = replace(sheet, frame=sheet.frame[ids + stays])
    return chosen


def _by_view(option: str, entries: Sequence[str], sheets: Mapping[str, Sheet]) -> dict[str, list[str]]:
    """Return the columns that are named for each view."""
    named: dict[str, list[str]] = {}
    for entry in entries:
        view, found, listed = entry.partition("=")
        if found and view.strip() in sheets:
            names = _listed(option, entry, listed)
            for name in names:
                sheets[view.strip()].check_has(option, name)
            named.setdefault(view.strip(), []).extend(names)
            continue
        names = _listed(option, entry, entry)
        known = [column for sheet in sheets.values() for column in sheet.frame.columns]
        for name in names:
            if name not in known:
                views = ", ".join(sheets) or "none, since arrays have no columns"
                raise InputError(
                    f"{option}: no view has a column {name!r}; accepted: columns of a table, such as VIEW=a,b with one "
                    f"of the views ({views}).{nearest(name, known)}"
                )
        for each, sheet in sheets.items():
            if inside := [name for name in names if name in sheet.frame]:
                named.setdefault(each, []).extend(inside)
    return named


def _listed(option: str, entry: str, names: str) -> list[str]:
    found = [name.strip() for name in next(csv.reader([names], skipinitialspace=True), [])]
    if not found or not all(found):
        raise InputError(f"{option}: found {entry!r}; accepted: names of columns, such as VIEW=a,b or a,b.")
    return found
