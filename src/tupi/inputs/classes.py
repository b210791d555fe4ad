"""Which column of class scores a label means: by the columns' names where they have any, by position elsewhere.

One probability per item is classification with two classes, of which the predictions say how likely the second is.
Methods see two columns of class probabilities, [1 - p, p]: `expand` makes them, and `collapse` brings back p.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.numbers import as_numbers, check_real
from tupi.runtime.errors import InputError

SHOWN = 10  # names in a message
AMBIGUOUS = -1
SHOWN_VALUES = 5  # in a message
# What people call the class that a probability is about, and the other one. Of two other names the greater is positive.
POSITIVE = frozenset({"yes", "y", "true", "t", "positive", "pos", "success"})
NEGATIVE = frozenset({"no", "n", "false", "f", "negative", "neg", "failure"})
Array = NDArray[np.float64]


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


def expand(probabilities: Array) -> Array:
    """Return probabilities of the positive class, shape (n,), as those of both classes: columns [1 - p, p]."""
    return np.column_stack([1 - probabilities, probabilities])


def collapse(columns: Array) -> Array:
    """Return the probability of the positive class from two columns of class probabilities."""
    return np.ascontiguousarray(columns[:, 1])


def check_probabilities(values: Array) -> None:
    """Complain about numbers that are no probabilities; whether they are finite was checked before."""
    bad = np.flatnonzero((values < 0) | (values > 1))
    if bad.size:
        raise InputError(
            f"predictions: found {values[bad[0]]:g} (item {bad[0]}) in one column for task 'classification'; accepted: "
            "one probability per item, from 0 to 1, or a column per class. Scores on any other scale are for task "
            "'ranking'."
        )


def name_of(predictions: Any) -> Any:
    """Return what a Series, or the only column of a table, is called; None for anything else.

    The number 0 is no name: pandas calls so what has none.
    """
    called = None
    if isinstance(predictions, pd.Series):
        called = predictions.name
    elif isinstance(predictions, pd.DataFrame) and predictions.shape[1] == 1:
        called = predictions.columns[0]
    return None if isinstance(called, int) and called == 0 else called


def check_called(predictions: Any, classes: Sequence[Any] | None) -> None:
    """Complain about probabilities of items that come later if they are called by the other one of two classes."""
    called = name_of(predictions)
    if called is None or classes is None:
        return
    negative, positive = map(plain_name, classes)
    if plain_name(called) == negative != positive:
        raise InputError(
            f"predictions: found a column called {called!r}, which is the other class; accepted: probabilities of "
            f"class {classes[1]!r}, as they were before."
        )


class TwoClasses:
    """Numbers of two classes, 0 and 1, from labels with two values of any kind.

    The positive class, 1, is the one that the predictions are called by; else the one that is so by convention, such as
    "yes"; else the greater, which 1 and True are beside 0 and False.

    Parameters
    ----------
    called : object
        The name of the column of predictions, if it has one, see `name_of`.

    Attributes
    ----------
    names : tuple or None
        The negative and the positive class as the labels have them; None before labels were seen.
    """

    def __init__(self, called: Any = None) -> None:
        self.called = called
        self.names: tuple[Any, Any] | None = None

    def __call__(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class number of each label; those of a single value are all zero."""
        if values.dtype.kind in "Mmc":
            check_real("labels", values.dtype)
        listed = values.tolist()
        if pd.isna(values).any() or not all(isinstance(value, Hashable) for value in listed):
            raise InputError("labels: found an entry without a value; accepted: one of two values for each label.")
        # 1, 1.0, True and "1" are one value, which is called as it came first.
        found = {plain_name(value): value for value in reversed(listed)}
        if len(found) > 2:
            shown = ", ".join(sorted(repr(_name(value)) for value in found.values())[:SHOWN_VALUES])
            more = ", ..." if len(found) > SHOWN_VALUES else ""
            raise InputError(
                f"labels: found {len(found)} different values ({shown}{more}) for one "
                "probability per item; accepted: two values, or predictions with a column per class."
            )
        forms = sorted(found, key=self._rank)
        if len(forms) == 2:
            self.names = _name(found[forms[0]]), _name(found[forms[1]])
        return np.array([forms.index(plain_name(value)) for value in listed], np.int64)

    def _rank(self, form: Any) -> tuple[bool, int, bool, Any]:
        """Return by what classes are put in order, the positive one last; numbers come before text."""
        text = str(form).strip().casefold()
        is_called = self.called is not None and plain_name(self.called) == form
        is_number = isinstance(form, numbers.Real) or _is_number(text)
        return is_called, _by_words(text), not is_number, float(form) if is_number else text


def convention(name: Any) -> int:
    """Return 1 for a name that is positive by convention, such as "yes" or 1, -1 for its opposite, and else 0."""
    form = plain_name(name)
    return {0: -1, 1: 1}.get(form, 0) if isinstance(form, int) else _by_words(form.strip().casefold())


def _by_words(text: str) -> int:
    return (text in POSITIVE) - (text in NEGATIVE)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _name(value: Any) -> Any:
    """Return a label as the name of a class: a whole number without decimals, anything else as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
