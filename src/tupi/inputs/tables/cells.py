"""A column's cells, whatever they came as: numbers, times or texts, and which of them are gaps."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.numbers import REAL, as_float
from tupi.inputs.tables.parsing import is_gap
from tupi.runtime.errors import InputError

ACCEPTED = "accepted: real numbers, truth values, text, categories, dates and times"
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column.

    Attributes
    ----------
    form : {"numbers", "truth values", "times", "texts", "levels"}
        What they came as; levels are texts of a column that is said to be a category.
    values : ndarray of shape (n,)
        Floats, with NaN at gaps; times as datetime64; texts as str, empty at gaps.
    gaps : ndarray of bool
        Which cells have nothing.
    """

    form: str
    values: Array
    gaps: Array

    @classmethod
    def of(cls, called: str, column: pd.Series) -> Cells:
        """Return the cells of a column; complain about what no column of a table may hold.

        Parameters
        ----------
        called : str
            Which column this is, for messages.
        column : Series
            Of any kind.
        """
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            texts = cls._texts(called, column.astype(object).to_numpy(), column.isna().to_numpy())
            return replace(texts, form="levels")
        elif pd.api.types.is_datetime64_any_dtype(dtype):
            zone = getattr(dtype, "tz", None)
            return cls._times(column if zone is None else column.dt.tz_convert("UTC").dt.tz_localize(None))
        elif pd.api.types.is_timedelta64_dtype(dtype):
            seconds = column.dt.total_seconds().to_numpy(np.float64)
            return cls("numbers", seconds, np.isnan(seconds))
        elif dtype.kind in REAL:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            form = "truth values" if dtype.kind == "b" else "numbers"
            return cls._numbers(called, form, values)
        if dtype.kind == "c":
            raise InputError(f"{called}: found complex numbers; {ACCEPTED}.")
        return cls._objects(called, column.astype(object).to_numpy())

    @classmethod
    def _numbers(cls, called: str, form: str, values: Array) -> Cells:
        if np.isinf(values).any():
            raise InputError(f"{called}: is infinite at row {np.flatnonzero(np.isinf(values))[0]}; {ACCEPTED}.")
        return cls(form, values, np.isnan(values))

    @classmethod
    def _times(cls, column: pd.Series) -> Cells:
        values = column.to_numpy("datetime64[us]")
        return cls("times", values, np.isnat(values))

    @classmethod
    def _objects(cls, called: str, values: Array) -> Cells:
        gaps = np.asarray(pd.isna(values), bool)
        found = values[~gaps]
        if all(isinstance(value, (bool, np.bool_)) for value in found):
            form = "truth values"
        elif all(isinstance(value, (numbers.Real, Decimal, np.bool_)) for value in found):
            form = "numbers"
        elif all(isinstance(value, date) for value in found):  # a datetime is a date as well
            return cls._times(
                pd.to_datetime(pd.Series(values).where(~gaps), errors="coerce", utc=True).dt.tz_localize(None)
            )
        else:
            return cls._texts(called, values, gaps)
        plain = np.full(len(values), np.nan)
        plain[~gaps] = [as_float(called, value) for value in found]
        return cls._numbers(called, form, plain)

    @classmethod
    def _texts(cls, called: str, values: Array, gaps: Array) -> Cells:
        texts = np.empty(len(values), object)
        for k, value in enumerate(values):
            texts[k] = "" if gaps[k] else _text(called, value)
        unknown = {text for text in set(texts) if is_gap(text)}
        return cls("texts", texts, gaps | np.array([text in unknown for text in texts], bool))

    @property
    def as_texts(self) -> Array:
        """The cells as text, in the order of the rows: whole numbers without a decimal point."""
        if self.form in ("texts", "levels"):
            return self.values
        return np.array(
            ["" if gap else _shown(value) for value, gap in zip(self.values, self.gaps, strict=True)], object
        )


def _text(called: str, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    if isinstance(value, (str, numbers.Real, Decimal, np.bool_, date, time, pd.Interval, pd.Period)):
        return " ".join(str(value).split()) if isinstance(value, str) else _shown(value)
    kind = "complex numbers" if isinstance(value, numbers.Complex) else f"a {type(value).__name__}"
    raise InputError(f"{called}: found {kind} such as {value!r}; {ACCEPTED}.")


def _shown(value: Any) -> str:
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else str(value)
