"""Views: named sets of features, checked once, read in blocks and standardised on the way out."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.numbers import as_numbers
from tupi.inputs.sources import Source, as_source
from tupi.runtime.errors import InputError

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
        Numbers of any type; a row of NaN means that the item lacks this view. See `tupi.inputs.sources` for files.
    impute : {None, "median"}
        What to do about rows in which only some values are missing: fail, or fill in the column's median.
    called : str, optional
        How messages call it; None: a view of the features, by its name.
    complete : bool
        Whether all items must have this view.
    """

    def __init__(
        self, name: str, source: Any, impute: str | None = None, called: str | None = None, complete: bool = False
    ) -> None:
        self.name = name
        self._called = called_view(name) if called is None else called
        self._complete = complete
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
                        f"{self._called} is infinite at row {rows.start + row}, column {column}; accepted: finite "
                        f"numbers{'' if self._complete else ', or NaN for a whole row that is missing'}."
                    )
                nan = np.isnan(block)
                present[rows] = ~nan.all(axis=1)
                partly = nan.any(axis=1) & present[rows]
                missing_values += nan[partly].sum(axis=0)
                missing_rows.extend((rows.start + np.flatnonzero(partly)).tolist())
                block = np.where(nan, 0.0, block)
                largest, smallest = block.max(axis=0), block.min(axis=0)
            unit = np.maximum(unit, np.maximum(largest, -smallest))
        if self._complete and not present.all():
            raise InputError(
                f"{self._called}: {np.count_nonzero(~present)} row(s) are missing (first: {np.argmin(present)}); "
                "accepted: rows with values."
            )
        if missing_rows and impute is None:
            where = ", ".join(map(str, missing_rows[:3])) + (", ..." if len(missing_rows) > 3 else "")
            raise InputError(
                f"{self._called} lacks {missing_values.sum()} single value(s), in {len(missing_rows)} "
                f"row(s) ({where}) and {np.count_nonzero(missing_values)} column(s); accepted: complete rows, "
                f'{"" if self._complete else "rows missing as a whole, "}or impute="median".'
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


def called_view(name: str) -> str:
    """Return how messages call a view of the features."""
    return f"features: view {name!r}"


def check_impute(impute: Any) -> None:
    """Complain about a way to fill in values that does not exist."""
    if impute not in (None, "median"):
        raise InputError(f"impute: found {impute!r}; accepted: None or 'median'.")


def as_matrix(called: str, values: Any) -> Any:
    """Return values as a two-dimensional numeric array or `tupi.inputs.sources` source, not copied if possible.

    The parameters are those of `tupi.inputs.sources.as_source`.
    """
    values = as_source(called, values)
    if isinstance(values, Source):
        small = values.shape[0] * values.shape[1] * values.dtype.itemsize <= IN_MEMORY
        return values[:] if small else values
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
        return {f"view{k}": values for k, values in enumerate(features, start=1)}
    return {"features": features}


def _by_text(names: Iterable[Any], views: Iterable[Any]) -> dict[str, Any]:
    """Return views by their names as text; complain where that makes two of them one."""
    named: dict[str, Any] = {}
    for name, values in zip(names, views, strict=True):
        if str(name) in named:
            raise InputError(f"features: two views are called {str(name)!r} as text; accepted: names that differ.")
        named[str(name)] = values
    return named


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
    check_impute(impute)
    named = named_views(features)
    if not named:
        raise InputError(f"features: found no views; {FORMS}.")
    views = []
    for name, values in named.items():
        if index is not None and isinstance(values, (pd.DataFrame, pd.Series)):
            values = _in_order(name, values, index)
        matrix = as_matrix(called_view(name), values)
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
