"""Rows of views and predictions in common blocks: from Dask collections, Zarr arrays, Parquet and NPY files."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.features import as_matrix, is_large, named_views
from tupi.inputs.numbers import check_real, unmasked
from tupi.inputs.sources import ParquetRows, as_source
from tupi.inputs.views import called_view
from tupi.runtime.errors import InputError

BLOCK_BYTES = 1 << 26  # of a block's views as they are read: several of them must fit beside the embedding
LARGE_BYTES, MANY_BLOCKS = 1 << 28, 1000  # beyond so many, blocks grow up to this: each costs the scheduler time
LEAST_BLOCKS, LEAST_ROWS = 8, 8192  # a small problem is still spread, but not into crumbs
ACCEPTED = (
    "Dask arrays or dataframes, Zarr arrays, arrays, and paths of .npy, .parquet or .zarr or a folder of Parquet files"
)
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class BlockedRows:
    """A table of numbers that is read in blocks.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    starts : ndarray of int
        Where its own chunks begin, and the number of rows.
    on_disk : bool
        Whether a sample is drawn by position, as `tupi.embedding.gaussian.sample_view` does for large files.
    blocks : callable
        bounds -> list of Delayed, the rows from each bound to the next.
    """

    shape: tuple[int, int]
    starts: Array
    on_disk: bool
    blocks: Callable[[Array], list[Any]]


def read_rows(source: Any, start: int, stop: int) -> Array:
    """Return rows of a source: of Parquet files, a Zarr array, or the path of an NPY file."""
    opened = as_source("view", source) if isinstance(source, Path) else source
    return np.asarray(opened[slice(start, stop)])


def as_rows(name: str, values: Any, columns: Sequence[str] | None = None) -> BlockedRows:
    """Return values in any accepted form as `BlockedRows`.

    Parameters
    ----------
    name : str
        What this is, for messages: ``"features: view 'gist'"`` or ``"predictions"``.
    values : Any
        What the user gave.
    columns : sequence of str, optional
        Of a Parquet file, the columns to take; all by default.
    """
    if isinstance(values, BlockedRows):
        return values
    if isinstance(values, (str, Path)):
        return _from_path(name, Path(values), columns)
    package = type(values).__module__.partition(".")[0]
    if package == "zarr":
        return _from_zarr(name, values)
    if package == "dask":
        return _from_dask(name, values)
    matrix = as_matrix(name, values)
    if not isinstance(matrix, np.ndarray):
        raise InputError(f"{name}: found {type(values).__name__}; accepted with Dask: {ACCEPTED}.")
    return _from_dask(name, _dask_array().from_array(matrix, chunks=(max(LEAST_ROWS, len(matrix) // 16), -1)))


def _dask_array() -> Any:
    import dask.array

    return dask.array


def _from_path(name: str, path: Path, columns: Sequence[str] | None) -> BlockedRows:
    if path.suffix.lower() == ".zarr" or (path / "zarr.json").exists() or (path / ".zarray").exists():
        import zarr

        try:
            return _from_zarr(name, zarr.open_array(str(path), mode="r"))
        except (FileNotFoundError, ValueError, TypeError) as problem:
            raise InputError(f"{name}: {str(path)!r} is not a Zarr array ({problem}).") from None
    if path.is_dir() or path.suffix.lower() in (".parquet", ".pq"):
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files or not files[0].is_file():
            raise InputError(f"{name}: {str(path)!r} holds no Parquet file; accepted with Dask: {ACCEPTED}.")
        table = ParquetRows(name, [file.resolve() for file in files], columns)
        return _from_source(table, table.shape, table.starts, is_large(table))
    source = as_source(name, path)
    return _from_source(path.resolve(), source.shape, np.array([0, source.shape[0]]), is_large(source))


def _from_zarr(name: str, array: Any) -> BlockedRows:
    check_real(name, array.dtype)
    if array.ndim not in (1, 2):
        raise InputError(f"{name}: a Zarr array of shape {array.shape}; accepted: shape (n,) or (n, d).")
    n, step = array.shape[0], array.chunks[0]
    starts = np.append(np.arange(0, n, step), n)
    return _from_source(array, (n, 1 if array.ndim == 1 else array.shape[1]), starts, False)


def _from_source(source: Any, shape: tuple[int, int], starts: Array, on_disk: bool) -> BlockedRows:
    from dask import delayed

    def blocks(bounds: Array) -> list[Any]:
        return [delayed(read_rows)(source, int(a), int(b)) for a, b in itertools.pairwise(bounds)]

    return BlockedRows(shape, starts, on_disk, blocks)


def _from_dask(name: str, values: Any) -> BlockedRows:
    if hasattr(values, "to_dask_array"):
        values = _from_frame(name, values)
    check_real(name, values.dtype)
    if values.ndim not in (1, 2):
        raise InputError(f"{name}: found shape {values.shape}; accepted: numbers of shape (n,) or (n, d).")
    # Only blocks know whether they are masked, and blocks that are put together forget it.
    values = values.map_blocks(unmasked, dtype=values.dtype, meta=np.empty((0,) * values.ndim, values.dtype))
    if np.isnan(values.shape[0]):
        values = values.compute_chunk_sizes()
    if values.ndim == 1:
        values = values[:, None]
    starts = np.cumsum([0, *values.chunks[0]])

    def blocks(bounds: Array) -> list[Any]:
        aligned = values.rechunk({0: tuple(np.diff(bounds).tolist()), 1: -1})
        return list(aligned.to_delayed(optimize_graph=False).ravel())

    return BlockedRows((int(values.shape[0]), int(values.shape[1])), starts, False, blocks)


def _from_frame(name: str, values: Any) -> Any:
    kinds = [values.dtype] if values.ndim == 1 else list(values.dtypes)
    if not all(pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind) for kind in kinds):
        raise InputError(f"{name}: a Dask dataframe with columns that are not numbers; accepted: numbers.")
    return values.to_dask_array(lengths=True)


def named_rows(features: Any) -> dict[str, BlockedRows]:
    """Return the views of `tupi.denoise` as `BlockedRows` by name."""
    return {name: as_rows(called_view(name), values) for name, values in named_views(features).items()}


def common_bounds(tables: Sequence[BlockedRows]) -> Array:
    """Return where blocks begin that suit all tables, and the number of rows.

    Blocks follow the chunks of the widest table. They depend on the data alone, never on the cluster, and so do all
    sums: the result is the same whoever computes it.
    """
    n = tables[0].shape[0]
    per_row = 8 * sum(table.shape[1] for table in tables)
    small = min(BLOCK_BYTES // per_row, max(n // LEAST_BLOCKS, LEAST_ROWS))
    large = min(LARGE_BYTES // per_row, n // MANY_BLOCKS)
    target = max(1, small, large)
    widest = max(tables, key=lambda table: table.shape[1])
    bounds = [0]
    for end in widest.starts[1:]:
        start = bounds[-1]
        size = int(end) - start
        if size < target and end < n:
            continue  # gather small chunks
        pieces = max(1, round(size / target))
        bounds += [start + size * k // pieces for k in range(1, pieces + 1)]
    return np.array(bounds)
