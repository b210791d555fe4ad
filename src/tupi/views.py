"""Views: named sets of features, checked once, read in blocks and standardised on the way out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.errors import InputError
from tupi.sources import Source, as_source

IN_MEMORY = 1 << 26  # bytes: smaller files are read once and kept
MEDIANS = 16  # columns whose medians are taken at once
BLOCK = 8192  # rows read at once: large enough for BLAS, small enough to stay in cache
Array = NDArray[Any]
FORMS = (
    "accepted: {name: array of shape (n, d)}, a list of arrays, one array, or a DataFrame "
    "(MultiIndex columns give one view per first level); instead of an array also a memory map, the path of an NPY or "
    "Parquet file, or an iterator of chunks"
)


class View:
    """One set of features of the items.

    The source is never copied or changed: `rows` converts and standardises what it is asked for.

    Parameters
    ----------
    name : str
        The view's name.
    source : ndarray or source of shape (n, d)
        Numbers of any type; a row of NaN means that the item lacks this view. See `tupi.sources` for files.
    impute : {None, "median"}
        What to do about rows in which only some values are missing: fail, or fill in the column's median.
    """

    def __init__(self, name: str, source: Any, impute: str | None = None) -> None:
        self.name = name
        self.source = source
        self.n, self.d = source.shape
        self.present, self._unit = self._examine(impute)
        self.fill = self._medians() if impute == "median" else None
        self._center, self._scale = self._statistics()
        self.constant = not (self._scale > 0).any()

    @property
    def on_disk(self) -> bool:
        """Whether rows are read from a file, so that reading them all again takes long."""
        return isinstance(self.source, Source)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for start in range(0, self.n, BLOCK):
            rows = slice(start, min(start + BLOCK, self.n))
            yield rows, np.ascontiguousarray(self.source[rows], np.float64)  # sums depend on the layout

    def _examine(self, impute: str | None) -> tuple[Array, Array]:
        """Return which rows are there, and each column's largest magnitude; complain about what cannot be used."""
        missing_values, missing_rows = np.zeros(self.d, np.int64), []
        present, unit = np.ones(self.n, bool), np.zeros(self.d)
        for rows, block in self._blocks():
            largest, smallest = block.max(axis=0), block.min(axis=0)
            if not (np.isfinite(largest).all() and np.isfinite(smallest).all()):  # rare, so looked into only then
                if (infinite := np.argwhere(np.isinf(block))).size:
                    row, column = infinite[0]
                    raise InputError(
                        f"features: view {self.name!r} is infinite at row {rows.start + row}, column {column}; "
                        "accepted: finite numbers, or NaN for a whole row that is missing."
                    )
                nan = np.isnan(block)
                present[rows] = ~nan.all(axis=1)
                partly = nan.any(axis=1) & present[rows]
                missing_values += nan[partly].sum(axis=0)
                missing_rows.extend((rows.start + np.flatnonzero(partly)).tolist())
                block = np.where(nan, 0.0, block)
                largest, smallest = block.max(axis=0), block.min(axis=0)
            unit = np.maximum(unit, np.maximum(largest, -smallest))
        if missing_rows and impute is None:
            where = ", ".join(map(str, missing_rows[:3])) + (", ..." if len(missing_rows) > 3 else "")
            raise InputError(
                f"features: view {self.name!r} lacks {missing_values.sum()} single value(s), in {len(missing_rows)} "
                f"row(s) ({where}) and {np.count_nonzero(missing_values)} column(s); accepted: complete rows, rows "
                'missing as a whole, or impute="median".'
            )
        unit[unit == 0] = 1.0
        return present, unit

    def _medians(self) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: filled with zero
            # A few columns at a time, so that a view on disk is not read once per column, nor held as a whole.
            columns = [
                value
                for start in range(0, self.d, MEDIANS)
                for value in np.nanmedian(
                    np.concatenate([block[:, start : start + MEDIANS] for _, block in self._blocks()]), axis=0
                )
            ]
        return np.nan_to_num(np.array(columns))

    def _filled(self, block: Array) -> Array:
        return block if self.fill is None else np.where(np.isnan(block), self.fill, block)

    def _statistics(self) -> tuple[Array, Array]:
        """Return each column's mean and deviation, in its unit (safe from 1e-300 to 1e300)."""
        here = np.flatnonzero(self.present)
        if here.size == 0:
            return np.zeros(self.d), np.zeros(self.d)
        # Sums are taken about some row: it is as far from the mean as any, so nothing cancels.
        pivot = self._filled(np.asarray(self.source[here[0] : here[0] + 1], np.float64))[0] / self._unit
        total, squares = np.zeros(self.d), np.zeros(self.d)
        complete = here.size == self.n
        for rows, block in self._blocks():
            deviation = self._filled(block if complete else block[self.present[rows]]) / self._unit
            deviation -= pivot
            total += deviation.sum(axis=0)
            squares += np.einsum("ij,ij->j", deviation, deviation)
        offset = total / here.size
        center = pivot + offset
        scale = np.sqrt(np.maximum(squares / here.size - offset**2, 0.0))
        scale[scale <= 1e-14 * np.maximum(np.abs(center), 1e-2)] = 0.0  # only rounding separates the values
        return center, scale

    def rows(self, items: slice | Array, scaling: str = "columns") -> Array:
        """Return rows as float64, columns centred and without the constant ones.

        Parameters
        ----------
        items : slice or array of int
            Which rows; they must be present.
        scaling : {"columns", "view"}
            Divide each column by its own deviation, or all by the view's (which a rotation leaves alone).
        """
        block = self._filled(np.array(self.source[items], np.float64, order="C"))
        return standardized(block, self._unit, self._center, self._scale, scaling)


def standardized(block: Array, unit: Array, center: Array, scale: Array, scaling: str = "columns") -> Array:
    """Return rows with columns centred and scaled, without the constant ones; the block may be overwritten.

    Parameters
    ----------
    block : ndarray of shape (rows, d)
        Rows as they came in.
    unit, center, scale : ndarray of shape (d,)
        Each column's largest magnitude, and in units of that its mean and deviation.
    scaling : {"columns", "view"}
        See `View.rows`.
    """
    varying = scale > 0
    if not varying.all():
        block = block[:, varying]
    unit, center, scale = unit[varying], center[varying], scale[varying]
    if scaling == "columns":
        factor = 1.0 / scale
    else:  # back to common units, divided by the root mean square deviation of the view
        ratio = unit / unit.max()
        factor = ratio / np.sqrt(np.mean((scale * ratio) ** 2))
    with np.errstate(over="ignore"):
        at_once = factor / unit
    if np.isfinite(at_once).all():
        block *= at_once
        block -= center * factor
    else:  # numbers near the smallest there are
        block /= unit
        block -= center
        block *= factor
    return block


def as_matrix(name: str, values: Any) -> Any:
    """Return one view's values as a two-dimensional numeric array or `tupi.sources` source, not copied if possible."""
    values = as_source(name, values)
    if isinstance(values, Source):
        small = values.shape[0] * values.shape[1] * values.dtype.itemsize <= IN_MEMORY
        return values[:] if small else values
    if hasattr(values, "toarray"):
        raise InputError(f"features: view {name!r} is sparse; accepted: dense arrays (call .toarray() first).")
    if isinstance(values, pd.Series):
        values = values.to_frame()
    if isinstance(values, pd.DataFrame):
        for column, dtype in values.dtypes.items():
            if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
                raise InputError(f"features: view {name!r} has a column {column!r} of type {dtype}; accepted: numbers.")
        plain = all(isinstance(t, np.dtype) for t in values.dtypes)
        array = values.to_numpy() if plain else values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        array = np.asarray(values)
    if array.dtype == object:
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InputError(f"features: view {name!r} holds values that are not numbers; accepted: numbers.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"features: view {name!r} holds {array.dtype} values; accepted: real numbers.")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"features: view {name!r} has shape {array.shape}; accepted: (n, d) with at least one column.")
    return array


def named_views(features: Any) -> dict[str, Any]:
    """Return the features as {name: values}, whatever form they came in."""
    if features is None:
        raise InputError(f"features: found None; {FORMS}.")
    if isinstance(features, Mapping):
        return {str(name): values for name, values in features.items()}
    if isinstance(features, pd.DataFrame):
        if isinstance(features.columns, pd.MultiIndex):
            names = features.columns.get_level_values(0).unique()
            return {str(name): features[name] for name in names}
        return {"features": features}
    if isinstance(features, (list, tuple)):
        return {f"view{k}": values for k, values in enumerate(features, start=1)}
    return {"features": features}


def as_views(features: Any, n: int, index: pd.Index | None = None, impute: str | None = None) -> tuple[View, ...]:
    """Check the features in any accepted form and return them as views.

    Parameters
    ----------
    features : mapping, list, array_like or DataFrame
        See `tupi.denoise`.
    n : int
        Number of items.
    index : pandas.Index, optional
        The items' ids; pandas views are put in this order, and must hold the same ids.
    impute : {None, "median"}
        See `View`.
    """
    if impute not in (None, "median"):
        raise InputError(f"impute: found {impute!r}; accepted: None or 'median'.")
    named = named_views(features)
    if not named:
        raise InputError(f"features: found no views; {FORMS}.")
    views = []
    for name, values in named.items():
        if index is not None and isinstance(values, (pd.DataFrame, pd.Series)):
            values = _in_order(name, values, index)
        matrix = as_matrix(name, values)
        if len(matrix) != n:
            raise InputError(
                f"features: view {name!r} has {len(matrix)} rows for {n} predictions; accepted: one row per item."
            )
        views.append(View(name, matrix, impute))
    varying = tuple(view for view in views if not view.constant)
    if not varying:
        raise InputError("features: every view is constant; accepted: at least one view that varies over the items.")
    for view in views:
        if view.constant:
            warnings.warn(f"View {view.name!r} is constant over the items and was dropped.", UserWarning, stacklevel=4)
    return varying


def _in_order(name: str, values: pd.DataFrame | pd.Series, index: pd.Index) -> pd.DataFrame | pd.Series:
    if values.index.equals(index):
        return values
    if len(values) != len(index):
        raise InputError(
            f"features: view {name!r} has {len(values)} rows for {len(index)} predictions; accepted: one row per item."
        )
    unmatched = index.difference(values.index, sort=False)
    if len(unmatched) or not values.index.is_unique:
        raise InputError(
            f"features: the index of view {name!r} is not that of the predictions (first ids without a row: "
            f"{list(unmatched[:3])}); accepted: the same unique ids in any order, or plain arrays in the same order."
        )
    return values.reindex(index)
