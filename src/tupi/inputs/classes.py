"""Which column of class scores a label means: by the columns' names where they have any, by position elsewhere."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.numbers import as_numbers, check_real
from tupi.runtime.errors import InputError

SHOWN = 10  # names in a message
AMBIGUOUS = -1


def check_names(names: Sequence[Any]) -> None:
    """Complain about class columns whose names are equal as text, since labels could not tell them apart."""
    for text, column in _table([str(name) for name in names]).items():
        if column == AMBIGUOUS:
            raise InputError(f"predictions: two columns are called {text!r} as text; accepted: names that differ.")


def class_numbers(values: NDArray[Any], n_classes: int, names: Sequence[Any] | None) -> NDArray[np.int64]:
    """Return the column number of each label.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Labels as they came in.
    n_classes : int
        The number of class columns.
    names : sequence, optional
        The names of the class columns. Labels are then names: equal objects match, else equal text, else equal whole
        numbers, so that 1, 1.0 and "1" all mean a column called 1 or "1". Without names, labels are column numbers.
    """
    if names is None:
        return _positions(values, n_classes)
    if values.dtype.kind in "Mmc":  # numpy would make whole numbers of some dates
        check_real("labels", values.dtype)
    tables = [_table(names), _table([str(name) for name in names]), _table([plain_name(name) for name in names])]
    found = np.empty(len(values), np.int64)
    for place, value in enumerate(values.tolist()):
        forms = (value if isinstance(value, Hashable) else None, str(value), plain_name(value))
        column = next((table[form] for table, form in zip(tables, forms, strict=True) if form in table), None)
        if column is None or column == AMBIGUOUS:
            shown = value if isinstance(value, str) else plain_name(value)
            which = "" if column is None else ", which more than one column could mean"
            listed = ", ".join(str(name) for name in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            raise InputError(f"labels: found class {shown!r}{which}; accepted: {listed}.")
        found[place] = column
    return found


def _positions(values: NDArray[Any], n_classes: int) -> NDArray[np.int64]:
    accepted = f"accepted: column numbers 0 to {n_classes - 1}, since the columns have no names."
    if values.dtype.kind in "UT" or (values.dtype == object and any(isinstance(value, str) for value in values)):
        text = next(str(value) for value in values if isinstance(value, str))
        raise InputError(f"labels: found class {text!r}; {accepted}")
    places = as_numbers("labels", values).astype(np.float64)
    bad = places[~((places == np.round(places)) & (places >= 0) & (places < n_classes))]
    if bad.size:
        raise InputError(f"labels: found class {bad[0]:g}; {accepted}")
    return places.astype(np.int64)


def _table(forms: Sequence[Any]) -> dict[Any, int]:
    table: dict[Any, int] = {}
    for column, form in enumerate(forms):
        table[form] = AMBIGUOUS if form in table else column
    return table


def plain_name(name: Any) -> Any:
    """Return a name that is a whole number, whatever its type, as that number; any other as its text."""
    if isinstance(name, (str, numbers.Real, np.bool_)):
        try:
            number = float(name)
        except ValueError:
            return str(name)
        if number.is_integer():
            return int(number)
    return str(name)
