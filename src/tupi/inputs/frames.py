"""Tables and columns of any dataframe library, through narwhals; inside the package they are those of pandas."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from tupi.runtime.errors import InputError

PANDAS = "pandas"


def as_pandas(called: str, values: Any) -> Any:
    """Return a table or column of another library as one of pandas, with rows numbered from 0; the rest as it is.

    Parameters
    ----------
    called : str
        Which argument this is, for messages.
    values : Any
        What the user gave.
    """
    found = _narwhals(values)
    if isinstance(found, nw.LazyFrame):
        raise InputError(f"{called}: found a lazy table; accepted: one whose rows are there (call .collect() first).")
    if isinstance(found, nw.Series):
        return _column(found)
    if isinstance(found, nw.DataFrame):
        return pd.DataFrame({name: _column(found[name]) for name in found.columns}, index=range(len(found)))
    return values


def library_of(*inputs: Any) -> str:
    """Return the name of the dataframe library of the first input that is of one, as narwhals calls it."""
    for values in inputs:
        if isinstance(values, (pd.DataFrame, pd.Series)):
            return PANDAS
        found = _narwhals(values)
        if isinstance(found, (nw.DataFrame, nw.Series)):
            return str(found.implementation.value)
    return PANDAS


def in_library(frame: pd.DataFrame, library: str) -> Any:
    """Return a table of pandas as one of a library; such tables have no index, so ids become the first column."""
    if library == PANDAS:
        return frame
    if not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index(names="id" if frame.index.name is None else frame.index.name)
    columns = {str(name): frame[name].to_list() for name in frame.columns}
    backend: Any = library  # narwhals lists the names in its types
    return nw.from_dict(columns, backend=backend).to_native()


def _narwhals(values: Any) -> Any:
    """Return a table or column of a library other than pandas in narwhals' clothes, and anything else as it is."""
    if isinstance(values, (pd.DataFrame, pd.Series, pd.Index, np.ndarray, list, tuple, dict, str)) or values is None:
        return values
    found = nw.from_native(values, allow_series=True, pass_through=True)
    # Lazy tables of Dask and databases are for others to take, or to refuse.
    if isinstance(found, nw.LazyFrame) and not found.implementation.is_polars():
        return values
    return found


def _column(column: Any) -> pd.Series:
    if column.dtype.is_numeric() and not column.dtype.is_decimal():
        return pd.Series(column.to_numpy())
    if column.dtype == nw.Boolean and not column.is_null().any():
        return pd.Series(column.to_numpy())
    if column.dtype in (nw.Date, nw.Duration) or (column.dtype == nw.Datetime and column.dtype.time_zone is None):
        return pd.Series(column.to_numpy())
    return pd.Series(column.to_list(), dtype=object)
