"""Views: named sets of features, checked once, read in blocks and standardised on the way out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.errors import InputError

BLOCK = 8192  # rows read at once: large enough for BLAS, small enough to stay in cache
Array = NDArray[Any]
FORMS = (
    "accepted: {name: array of shape (n, d)}, a list of arrays, one array, or a DataFrame "
    "(MultiIndex columns give one view per first level)"
)


class View:
    """One set of features of the items.

    The source is never copied or changed: `rows` converts and standardises what it is asked for.

    Parameters
    ----------
    name : str
        The view's name.
    source : ndarray of shape (n, d)
        Numbers of any type; a row of NaN means that the item lacks this view.
    impute : {None, "median"}
        What to do about rows in which only some values are missing: fail, or fill in the column's median.
    """

    def __init__(self, name: str, source: Array, impute: str | None = None) -> None:
        self.name = name
        self.source = source
        self.n, self.d = source.shape
        self.present = self._find_present(impute)
        self.fill = self._medians() if impute == "median" else None
        self._unit, self._center, self._scale = self._column_statistics()
        self.constant = not (self._scale > 0).any()

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        for start in range(0, self.n, BLOCK):
            rows = slice(start, min(start + BLOCK, self.n))
            yield rows, self.source[rows].astype(np.float64)

    def _find_present(self, impute: str | None) -> Array:
        """Return which rows are there; complain about infinite values and half-empty rows."""
        missing_values, missing_rows = np.zeros(self.d, np.int64), []
        present = np.ones(self.n, bool)
        for rows, block in self._blocks():
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
        if missing_rows and impute is None:
            where = ", ".join(map(str, missing_rows[:3])) + (", ..." if len(missing_rows) > 3 else "")
            raise InputError(
                f"features: view {self.name!r} lacks {missing_values.sum()} single value(s), in {len(missing_rows)} "
                f"row(s) ({where}) and {np.count_nonzero(missing_values)} column(s); accepted: complete rows, rows "
                'missing as a whole, or impute="median".'
            )
        return present

    def _medians(self) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without any value: filled with zero
            columns = [np.nanmedian(self.source[:, j].astype(np.float64)) for j in range(self.d)]
        return np.nan_to_num(np.array(columns))

    def _filled(self, block: Array) -> Array:
        return block if self.fill is None else np.where(np.isnan(block), self.fill, block)

    def _column_statistics(self) -> tuple[Array, Array, Array]:
        """Return each column's largest magnitude, and mean and deviation in that unit (safe from 1e-300 to 1e300)."""
        unit, count = np.zeros(self.d), 0
        for rows, block in self._blocks():
            here = self._filled(block[self.present[rows]])
            unit = np.maximum(unit, np.abs(here).max(axis=0, initial=0.0))
            count += len(here)
        unit[unit == 0] = 1.0
        if count == 0:
            return unit, np.zeros(self.d), np.zeros(self.d)
        center = np.zeros(self.d)
        for rows, block in self._blocks():
            center += (self._filled(block[self.present[rows]]) / unit).sum(axis=0) / count
        variance = np.zeros(self.d)
        for rows, block in self._blocks():
            deviation = self._filled(block[self.present[rows]]) / unit - center
            variance += (deviation**2).sum(axis=0) / count
        scale = np.sqrt(variance)
        scale[scale <= 1e-14 * np.maximum(np.abs(center), 1e-2)] = 0.0  # only rounding separates the values
        return unit, center, scale

    def rows(self, items: slice | Array, scaling: str = "columns") -> Array:
        """Return rows as float64, columns centred and without the constant ones.

        Parameters
        ----------
        items : slice or array of int
            Which rows; they must be present.
        scaling : {"columns", "view"}
            Divide each column by its own deviation, or all by the view's (which a rotation leaves alone).
        """
        varying = self._scale > 0
        block = self._filled(self.source[items].astype(np.float64))[:, varying]
        block /= self._unit[varying]
        block -= self._center[varying]
        if scaling == "columns":
            block /= self._scale[varying]
        else:  # back to common units, divided by the root mean square deviation of the view
            common = self._unit[varying].max()
            ratio = self._unit[varying] / common
            block *= ratio / np.sqrt(np.mean((self._scale[varying] * ratio) ** 2))
        return block


def as_matrix(name: str, values: Any) -> Array:
    """Return one view's values as a two-dimensional numeric array, without copying where possible."""
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
