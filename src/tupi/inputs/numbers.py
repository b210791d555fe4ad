"""The one place where input becomes numbers: what is missing or masked becomes NaN, other kinds get a sentence.

Tables of any dataframe library become those of pandas, through narwhals.
"""

from __future__ import annotations

import numbers
import re
from decimal import Decimal
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype, is_object_dtype, is_string_dtype

from tupi.runtime.errors import InputError

REAL = "biuf"  # kinds of dtypes: truth values, whole numbers with and without sign, floating point
PANDAS = "pandas"
LAST_SEED = 2**32 - 1  # the largest that scikit-learn takes
SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
LEAST_MEMORY = 50 * 10**6  # bytes: below this nothing of use fits
MAGNITUDES = (1e-100, 1e100)  # of labels, whose squares are summed: beyond, sums are infinite or zero
Array: TypeAlias = NDArray[Any]


def as_numbers(called: str, values: Any) -> Array:
    """Return values as an array of real numbers, NaN where they are missing or masked; not copied if possible.

    Text is refused even where it looks like numbers, and so are dates, durations and complex numbers: numpy would
    convert them without a word.

    Parameters
    ----------
    called : str
        Which argument this is, for messages.
    values : array_like, Series or DataFrame
        What the user gave.
    """
    if hasattr(values, "toarray"):
        raise InputError(f"{called}: found a sparse matrix; accepted: a dense array (call .toarray() first).")
    if isinstance(values, pd.api.extensions.ExtensionArray):
        values = pd.Series(values)
    if isinstance(values, pd.DataFrame):
        return _from_frame(called, values)
    if isinstance(values, (pd.Series, pd.Index)):
        return _from_column(called, values)
    try:
        array = unmasked(values)
    except ValueError:
        raise InputError(f"{called}: found rows of different lengths; accepted: as many numbers in each row.") from None
    if array.dtype == object:
        return _from_objects(called, array)
    check_real(called, array.dtype, array)
    return array


def as_plain(called: str, values: Any) -> Array:
    """Return what `unmasked` does of one value for each item or label; complain of rows of different lengths."""
    try:
        return unmasked(values)
    except ValueError:
        raise InputError(f"{called}: found rows of different lengths; accepted: a one-dimensional array.") from None


def is_masked(values: Any) -> bool:
    """Return whether something is masked in a masked array of numpy; nullable arrays of pandas are none."""
    return isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)


def unmasked(values: Any) -> Array:
    """Return values as a plain array, with something missing (NaN, or None among objects) in place of what is masked.

    Masks of rows that come as a list count as well.
    """
    if isinstance(values, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        values = np.ma.array(values)
    if not is_masked(values):
        return np.asarray(values)
    if values.dtype.kind in REAL:
        return values.astype(np.result_type(values.dtype, np.float16)).filled(np.nan)
    plain = values.data.astype(object)
    plain[np.ma.getmaskarray(values)] = None
    return plain


def check_real(called: str, dtype: Any, values: Array | None = None) -> None:
    """Complain unless a dtype is one of real numbers.

    Parameters
    ----------
    called : str
        Which argument this is.
    dtype : dtype
        Of numpy or pandas.
    values : ndarray, optional
        The values themselves, if they are at hand, to show one of them.
    """
    if dtype.kind in REAL:
        return
    if dtype.kind == "c":
        raise InputError(f"{called}: found complex numbers; accepted: real numbers.")
    found = str(dtype)
    if dtype.kind in "UT" and values is not None and values.size:
        found = f"text such as {str(values.flat[0])!r}"
    raise InputError(f"{called}: found {found}, values that are not numbers; accepted: real numbers.")


def _from_frame(called: str, frame: pd.DataFrame) -> Array:
    if all(isinstance(dtype, np.dtype) and dtype.kind in REAL for dtype in frame.dtypes):
        return frame.to_numpy()
    columns = [
        _from_column(f"{called}, column {name!r}", frame.iloc[:, k]).astype(np.float64)
        for k, name in enumerate(frame.columns)
    ]
    return np.column_stack(columns) if columns else np.empty(frame.shape)


def _from_column(called: str, column: pd.Series | pd.Index) -> Array:
    dtype = column.dtype
    readable = any(test(dtype) for test in (is_object_dtype, is_string_dtype, is_numeric_dtype))
    if readable and dtype.kind not in REAL:  # objects may be numbers, decimals of Arrow are, and text is shown
        return _from_objects(called, column.astype(object).to_numpy())
    check_real(called, dtype)
    return column.to_numpy() if isinstance(dtype, np.dtype) else column.to_numpy(dtype=np.float64, na_value=np.nan)


def as_float(called: str, value: Any) -> float:
    """Return a real number as a float; complain about one that is too large for that."""
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{called}: found a whole number beyond 1.8e308; accepted: real numbers.") from None


def _from_objects(called: str, array: Array) -> Array:
    result = np.empty(array.shape)
    for place, value in enumerate(array.flat):
        if isinstance(value, (numbers.Real, Decimal, np.bool_)):
            result.flat[place] = as_float(called, value)
        elif value is None or value is pd.NA:
            result.flat[place] = np.nan
        elif isinstance(value, numbers.Complex):
            raise InputError(f"{called}: found complex numbers; accepted: real numbers.")
        else:
            kind = "text" if isinstance(value, str) else f"a {type(value).__name__}"
            raise InputError(
                f"{called}: found {kind} such as {value!r}, values that are not numbers; accepted: real numbers."
            )
    return result


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
    kinds = (pd.DataFrame, pd.Series, nw.DataFrame, nw.Series)
    first = next((found for found in map(_narwhals, inputs) if isinstance(found, kinds)), None)
    return str(first.implementation.value) if isinstance(first, (nw.DataFrame, nw.Series)) else PANDAS


def in_library(found: pd.DataFrame | pd.Series, library: str) -> Any:
    """Return a table or column of pandas as one of a library; without an index, ids become a table's first column."""
    if library == PANDAS:
        return found
    backend: Any = library  # narwhals lists the names in its types
    if isinstance(found, pd.Series):
        name = "" if found.name is None else str(found.name)
        return nw.new_series(name, found.to_numpy(), backend=backend).to_native()
    if not isinstance(found.index, pd.RangeIndex):
        found = found.reset_index(names="id" if found.index.name is None else found.index.name)
    columns = {str(name): found[name].to_list() for name in found.columns}
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


def check_seed(random_state: Any) -> int:
    """Return a seed as a whole number; complain about anything else."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state <= LAST_SEED:
        raise InputError(f"random_state: found {random_state!r}; accepted: a whole number from 0 to {LAST_SEED}.")
    return int(random_state)


def check_positive(
    name: str, value: Any, whole: bool = False, least: float = 0.0, optional: bool = True, most: float | None = None
) -> None:
    """Complain unless the value is a positive (whole) number within bounds, or None where that is optional.

    Parameters
    ----------
    name : str
        Which argument this is.
    value : Any
        What the user gave.
    whole : bool
        Whether it must be a whole number.
    least, most : float
        The least and the greatest number that is accepted; 0: anything above it, None: no bound.
    optional : bool
        Whether None is accepted.
    """
    if value is None and optional:
        return
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    good = isinstance(value, kinds) and not isinstance(value, bool) and np.isfinite(value)
    if not good or value < least or (least == 0.0 and value <= 0) or (most is not None and value > most):
        kind = "a whole number" if whole else "a number"
        bound = f"of at least {least:g}" if least else "above 0"
        bound += "" if most is None else f" and at most {most:g}"
        raise InputError(f"{name}: found {value!r}; accepted: {kind} {bound}.")


def check_magnitude(called: str, values: NDArray[Any], why: str = "") -> None:
    """Complain about numbers of which squares cannot be summed, saying why it matters if that is not plain."""
    (least, most), largest = MAGNITUDES, float(np.abs(values).max(initial=0.0))
    if not least <= largest <= most:
        accepted = f"from {least:g} to {most:g}, in other units if need be"
        raise InputError(f"{called}: the largest magnitude is {largest:.3g}; accepted{why}: {accepted}.")


def as_bytes(limit: Any) -> int | None:
    """Return a memory limit such as ``"1GB"``, or a number of bytes, as a number of bytes; None stays None."""
    if limit is None:
        return None
    size: float | None = None
    if isinstance(limit, (int, float)) and not isinstance(limit, bool):
        size = float(limit)
    elif isinstance(limit, str) and (match := re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]*)\s*", limit)):
        unit = SIZES.get(match[2].upper())
        try:
            size = None if unit is None else float(match[1]) * unit
        except ValueError:
            size = None
    if size is None or not LEAST_MEMORY <= size < float("inf"):
        accepted = "at least 50MB, as '500MB', '4GB' or a number of bytes"
        raise InputError(f"memory_limit: found {limit!r}; accepted: {accepted}.")
    return int(size)
