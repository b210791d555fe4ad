"""Views: named sets of features, checked once, read in blocks and standardised on the way out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.checks import (
    Gaps,
    Statistics,
    check_finite,
    check_row_count,
    check_whole_rows,
    present_rows,
    standardized,
    varying_views,
)
from tupi.inputs.files.reading import READ_TABLES, read_table, suffix_of
from tupi.inputs.ids import check_unique, match
from tupi.inputs.numbers import as_numbers, as_pandas, unmasked
from tupi.inputs.sources import Source, as_source
from tupi.inputs.tables import Encoding
from tupi.runtime.errors import InputError
from tupi.runtime.threads import in_order as threaded

IN_MEMORY = 1 << 26  # bytes: smaller files are read once and kept
MEDIANS = 16  # columns whose medians are taken at once
BLOCK = 8192  # rows read at once: large enough for BLAS, small enough to stay in cache
IN_CACHE = 1024  # rows standardised at once
LAZY = ("dask", "distributed", "zarr")  # packages whose collections are larger than memory
Array = NDArray[Any]
FORMS = (
    "accepted: {name: array of shape (n, d)}, a list of arrays, one array, or a DataFrame "
    "(MultiIndex columns give one view per first level); instead of an array also a memory map, the path of an NPY "
    "file or of a table, or an iterator of chunks"
)


class View:
    """One set of features of the items.

    The source is never copied or changed: `rows` converts and standardises what it is asked for.

    Parameters
    ----------
    name : str
        The view's name.
    source : ndarray or source of shape (n, d)
        Numbers of any type; a row of NaN means that the item lacks this view. See `tupi.inputs.sources` for files.
    impute : {None, "median"}
        What to do about rows in which only some values are missing: fail, or fill in the column's median.
    called : str, optional
        How messages call it; None: a view of the features, by its name.
    complete : bool
        Whether all items must have this view.
    headings : tuple of str, optional
        Names of its columns, if it came as a table of numbers.
    """

    def __init__(
        self,
        name: str,
        source: Any,
        impute: str | None = None,
        called: str | None = None,
        complete: bool = False,
        headings: tuple[str, ...] | None = None,
    ) -> None:
        self.name, self.headings = name, headings
        self._called = called_view(name) if called is None else called
        self._complete = complete
        self.source = source
        self.n, self.d = source.shape
        self.present, gaps, self.statistics = examine(source)
        self._check(gaps, impute)
        self.impute, self._fill = impute, None
        if gaps.rows:
            self._fill = self._medians()
            blocks = (Statistics.of(self._filled(block[self.present[rows]])) for rows, block in in_blocks(source))
            self.statistics = sum(blocks, Statistics.nothing(self.d))
        self.constant = self.statistics.constant

    @property
    def fill(self) -> Array | None:
        """What takes the place of a single missing value, for each column; None if such values are refused."""
        if self._fill is not None or self.impute is None:
            return self._fill
        unit, center, _ = self.statistics.standard
        return center * unit

    @property
    def on_disk(self) -> bool:
        """Whether rows are read from a file, so that reading them all again takes long."""
        return isinstance(self.source, Source)

    def _check(self, gaps: Gaps, impute: str | None) -> None:
        """Complain about what cannot be used."""
        check_finite(self._called, gaps, self._complete)
        if self._complete and not self.present.all():
            raise InputError(
                f"{self._called}: {np.count_nonzero(~self.present)} row(s) are missing (first: "
                f"{np.argmin(self.present)}); accepted: rows with values."
            )
        if impute is None:
            whole = "" if self._complete else "rows missing as a whole, "
            check_whole_rows(self._called, gaps, f'{whole}or impute="median"')

    def _medians(self) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: filled with zero
            # A few columns at a time, so that a view on disk is not read once per column, nor held as a whole.
            columns = [
                value
                for start in range(0, self.d, MEDIANS)
                for value in np.nanmedian(
                    np.concatenate([block[:, start : start + MEDIANS] for _, block in in_blocks(self.source)]), axis=0
                )
            ]
        return np.nan_to_num(np.array(columns))

    def _filled(self, block: Array) -> Array:
        return block if self._fill is None else np.where(np.isnan(block), self._fill, block)

    def rows(self, items: slice | Array, scaling: str = "columns") -> Array:
        """Return rows as float64, columns centred and without the constant ones.

        Parameters
        ----------
        items : slice or array of int
            Which rows; they must be present.
        scaling : {"columns", "view"}
            Divide each column by its own deviation, or all by the view's (which a rotation leaves alone).
        """
        given, standard = self.source[items], self.statistics.standard
        found = np.empty((len(given), np.count_nonzero(standard[2] > 0)))
        for start in range(0, len(given), IN_CACHE):  # rows that are changed again while they are still in the cache
            some = slice(start, start + IN_CACHE)
            block = self._filled(np.array(given[some], np.float64, order="C"))
            found[some] = standardized(block, *standard, scaling)
        return found


def in_blocks(source: Any) -> Iterator[tuple[slice, Array]]:
    """Give the rows of an array or source as float64, some at a time, each time with their numbers."""
    for rows in _slices(source.shape[0]):
        yield rows, _block(source, rows)


def _slices(n: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


def _block(source: Any, rows: slice) -> Array:
    return np.ascontiguousarray(source[rows], np.float64)  # sums depend on the layout


def examine(source: Any, first: int = 0) -> tuple[Array, Gaps, Statistics]:
    """Return which rows of a view are there, what cannot be used, and statistics of the blocks without such gaps.

    Parameters
    ----------
    source : ndarray or source of shape (n, d)
        Rows of the view.
    first : int
        The number of the first row among all items.
    """
    n, d = source.shape
    present, gaps, statistics = np.ones(n, bool), Gaps(), Statistics.nothing(d)

    def of(rows: slice) -> tuple[Gaps, Statistics]:
        block = _block(source, rows)
        ends = block.max(axis=0), block.min(axis=0)
        if np.isfinite(ends).all():
            return Gaps(), Statistics.of(block, np.maximum(ends[0], -ends[1]))
        present[rows] = present_rows(block)  # rare
        found = Gaps.of(block, present[rows], first + rows.start)
        return found, Statistics.of(block[present[rows]]) if found == Gaps() else Statistics.nothing(d)

    for found, block in threaded(of, _slices(n)):
        gaps, statistics = gaps + found, statistics + block
    return present, gaps, statistics


def called_view(name: str) -> str:
    """Return how messages call a view of the features."""
    return f"features: view {name!r}"


def check_impute(impute: Any) -> None:
    """Complain about a way to fill in values that does not exist."""
    if impute not in (None, "median"):
        raise InputError(f"impute: found {impute!r}; accepted: None or 'median'.")


def is_large(source: Source) -> bool:
    """Return whether a file holds too much to be read once and kept."""
    return source.shape[0] * source.shape[1] * source.dtype.itemsize > IN_MEMORY


def as_matrix(called: str, values: Any) -> Any:
    """Return values as a two-dimensional numeric array or `tupi.inputs.sources` source, not copied if possible.

    The parameters are those of `tupi.inputs.sources.as_source`.
    """
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
            values = in_order(name, values, index)
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


def in_order(name: str, values: pd.DataFrame | pd.Series, index: pd.Index) -> pd.DataFrame | pd.Series:
    """Return the rows of a table in the order of the items' ids; items without a row lack it."""
    if values.index.equals(index):
        return values
    check_unique(called_view(name), values.index)
    match(called_view(name), values.index, index)
    return values.reindex(index)
