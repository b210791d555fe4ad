"""Features in any form that people give them, made into views."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi.inputs.files.reading import READ_TABLES, read_table, suffix_of
from tupi.inputs.ids import in_order_of
from tupi.inputs.numbers import as_numbers, as_pandas, unmasked
from tupi.inputs.sources import Source, as_source
from tupi.inputs.tables import Encoding
from tupi.inputs.views import View, called_view, check_impute
from tupi.runtime.errors import InputError

IN_MEMORY = 1 << 26  # bytes: smaller files are read once and kept
LAZY = ("dask", "distributed", "zarr")  # packages whose collections are larger than memory
FORMS = (
    "accepted: {name: array of shape (n, d)}, a list of arrays, one array, or a DataFrame "
    "(MultiIndex columns give one view per first level); instead of an array also a memory map, the path of an NPY "
    "file or of a table, or an iterator of chunks"
)


def is_large(source: Source) -> bool:
    """Return whether a file holds too much to be read once and kept."""
    return source.shape[0] * source.shape[1] * source.dtype.itemsize > IN_MEMORY


def as_matrix(called: str, values: Any) -> Any:
    """Return values as a two-dimensional numeric array or `tupi.inputs.sources` source, not copied if possible.

    The parameters are those of `tupi.inputs.sources.as_source`.
    """
    if type(values) is not np.ndarray:  # nor a memory map, which is a kind of array
        values = as_source(called, values)
    if isinstance(values, Source):
        return values if is_large(values) else values[:]
    array = as_numbers(called, values)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{called} has shape {array.shape}; accepted: (n, d) with at least one column.")
    return array


def named_views(features: Any) -> dict[str, Any]:
    """Return the features as {name: values}, whatever form they came in."""
    if features is None:
        raise InputError(f"features: found None; {FORMS}.")
    if isinstance(features, Mapping):
        return _by_text(features.keys(), features.values())
    if isinstance(features, pd.DataFrame):
        if isinstance(features.columns, pd.MultiIndex):
            names = features.columns.get_level_values(0).unique()
            return _by_text(names, [features[name] for name in names])
        return {"features": features}
    if isinstance(features, (list, tuple)):
        return _by_text((f"view{k}" for k in range(1, len(features) + 1)), features)
    return {"features": features}


def any_lazy(predictions: Any, features: Any) -> bool:
    """Whether predictions or a view are a Dask collection or a Zarr array, said without importing these packages."""
    nothing = features is None or (isinstance(features, (Mapping, list, tuple)) and not features)
    views = [] if nothing else named_views(features).values()
    return any(type(one).__module__.partition(".")[0] in LAZY for one in (predictions, *views))


def _by_text(names: Iterable[Any], views: Iterable[Any]) -> dict[str, Any]:
    """Return views by their names as text; complain where that makes two of them one, and if there are none."""
    named: dict[str, Any] = {}
    for name, values in zip(names, views, strict=True):
        if str(name) in named:
            raise InputError(f"features: two views are called {str(name)!r} as text; accepted: names that differ.")
        named[str(name)] = values
    if not named:
        raise InputError(f"features: found no views; {FORMS}.")
    return named


def as_encoded(called: str, name: str, values: Any) -> tuple[Any, Encoding | None]:
    """Return values as `as_matrix` does, and how columns that are no numbers were encoded, if there are any.

    Parameters
    ----------
    called : str
        Which argument this is, for messages.
    name : str
        The view's name.
    values : Any
        What the user gave: what `as_matrix` takes, or a table or array with columns of any kind.
    """
    values = as_pandas(called, values)
    if isinstance(values, (str, os.PathLike)) and suffix_of(Path(values)) in READ_TABLES and not _in_groups(values):
        values = read_table(Path(values))
    try:
        return as_matrix(called, values), None
    except InputError:
        table = mixed_table(values)
        if table is None:
            raise
    encoding = Encoding.fit(table, name, called)
    matrix = encoding.transform(table, called)
    return matrix if matrix.shape[1] else np.zeros((len(table), 1)), encoding


def _in_groups(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is one whose rows can be read group by group, if they are numbers."""
    return suffix_of(Path(path)) == ".parquet" and Path(path).is_file()


def mixed_table(values: Any) -> pd.DataFrame | None:
    """Return a table, its file or an array of objects, text or times as a table; None for anything else."""
    if isinstance(values, (str, os.PathLike)):
        return read_table(Path(values)) if _in_groups(values) else None
    if isinstance(values, pd.DataFrame):
        return values if values.shape[1] else None
    if isinstance(values, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        return pd.Series(values).to_frame("value")
    try:
        array = values if isinstance(values, np.ndarray) else unmasked(values)
    except ValueError:  # rows of different lengths
        return None
    array = unmasked(array)
    if array.ndim not in (1, 2) or array.dtype.kind not in "OUTSMm" or 0 in array.shape:
        return None
    columns = array[:, None] if array.ndim == 1 else array
    return pd.DataFrame({f"column {k}": pd.Series(columns[:, k]) for k in range(columns.shape[1])})


def table_of_more(called: str, values: Any) -> pd.DataFrame:
    """Return values of a view whose columns were encoded, for other items, as a table with columns of the same names.

    Parameters
    ----------
    called : str
        What messages call the view.
    values : array_like, Series or DataFrame
        The values; numbers will do, too.
    """
    table = mixed_table(values)
    if table is None:
        array = as_matrix(called, values)
        table = pd.DataFrame({f"column {k}": array[:, k] for k in range(array.shape[1])})
    return table


def as_views(
    features: Any, n: int, index: pd.Index | None = None, impute: str | None = None
) -> tuple[tuple[View, ...], dict[str, Encoding]]:
    """Check the features in any accepted form; return them as views, and the encodings of those that are not numbers.

    Parameters
    ----------
    features : mapping, list, array_like or DataFrame
        See `tupi.denoise`.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids; pandas views are put in this order. Items without a row lack the view, and rows of other ids
        are left out with a warning.
    impute : {None, "median"}
        See `View`.
    """
    check_impute(impute)
    views, encodings = [], {}
    for name, values in named_views(features).items():
        if index is not None and isinstance(values, (pd.DataFrame, pd.Series)):
            values = in_order_of(index, called_view(name), values)
        values = as_pandas(called_view(name), values)
        matrix, encoding = as_encoded(called_view(name), name, values)
        if encoding is not None:
            encodings[name] = encoding
        check_row_count(name, len(matrix), n)
        named = isinstance(values, pd.DataFrame) and encoding is None
        views.append(View(name, matrix, impute, headings=tuple(map(str, values.columns)) if named else None))
    return tuple(views), encodings


def varying(views: Sequence[View]) -> tuple[View, ...]:
    """Return the views that vary over the items; warn of the others."""
    names = varying_views({view.name: view.constant for view in views})
    return tuple(view for view in views if view.name in names)


def check_row_count(name: str, rows: int, n: int) -> None:
    """Complain unless a view has as many rows as there are predictions."""
    if rows != n:
        raise InputError(f"features: view {name!r} has {rows} rows for {n} predictions; accepted: one row per item.")


def varying_views(constant: Mapping[str, bool]) -> list[str]:
    """Return the names of the views that vary over the items; warn of the others, and complain if none is left.

    The warning points at the caller of `tupi.denoise`, which is four calls away in memory and on a cluster.
    """
    varying = [name for name, is_constant in constant.items() if not is_constant]
    if not varying:
        raise InputError("features: every view is constant; accepted: at least one view that varies over the items.")
    for name, is_constant in constant.items():
        if is_constant:
            warnings.warn(f"View {name!r} is constant over the items and was dropped.", UserWarning, stacklevel=5)
    return varying
