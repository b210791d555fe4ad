"""Views that are larger than memory: NPY and Parquet files, chunks that come one by one, and sparse matrices.

A source looks like a two-dimensional array of which only ``shape``, ``dtype`` and ``source[rows]`` exist. Rows are read
when they are asked for, with plain reads, so that a file that was read does not count as this process's memory.
"""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tupi.inputs.files.unpacking import refusing
from tupi.inputs.numbers import as_numbers, check_real
from tupi.runtime.errors import InputError
from tupi.runtime.system import read_at

DAMAGED = "is not a Parquet file, or a damaged one."
GAP = 64  # rows: runs of wanted rows that are closer than this are read in one go
Array = NDArray[Any]


class Source(ABC):
    """Rows of numbers that are read when they are asked for.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : dtype
        What the numbers are.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @abstractmethod
    def _read(self, start: int, stop: int) -> Array:
        """Return the rows from one to another."""

    def __getitem__(self, rows: slice | Array) -> Array:
        """Return a copy of rows, by a slice or by their numbers."""
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step > 0:
                return self._read(start, max(start, stop))[::step]
            return self._read(stop + 1, start + 1)[::-1][::-step]
        wanted = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
        ordered, back = np.unique(wanted, return_inverse=True)
        parts, begin = [], 0
        for end in [*(np.flatnonzero(np.diff(ordered) > GAP) + 1), len(ordered)]:
            if end > begin:
                run = ordered[begin:end]
                parts.append(self._read(int(run[0]), int(run[-1]) + 1)[run - run[0]])
            begin = end
        return (np.concatenate(parts) if parts else self._read(0, 0))[back]


class FileRows(Source):
    """Rows of numbers that lie one after another in a file.

    Parameters
    ----------
    file : file object
        An open binary file; it stays open as long as this object lives.
    offset : int
        Where the first row begins, in bytes.
    shape : tuple of int
        Rows and columns.
    dtype : dtype
        What the numbers are.
    """

    def __init__(self, file: IO[bytes], offset: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self._file, self._offset, self.shape, self.dtype = file, offset, shape, dtype

    def _read(self, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self.shape[1]), self.dtype)
        if rows.size == 0:
            return rows
        offset = self._offset + start * self.shape[1] * self.dtype.itemsize
        if read_at(self._file.fileno(), rows.data.cast("B"), offset) < rows.nbytes:
            raise InputError(f"features: {getattr(self._file, 'name', 'a file')} is shorter than its header says.")
        return rows


class SparseRows(Source):
    """Rows of a sparse matrix; those that are asked for come dense.

    Parameters
    ----------
    called : str
        Which argument this is, for messages.
    matrix : sparse matrix or array of scipy
        In any format.
    """

    def __init__(self, called: str, matrix: Any) -> None:
        check_real(called, matrix.dtype)
        if len(matrix.shape) != 2 or not matrix.shape[1]:
            raise InputError(f"{called}: found a sparse array of shape {matrix.shape}; accepted: shape (n, d).")
        self._matrix, self.shape, self.dtype = matrix.tocsr(), matrix.shape, matrix.dtype

    def _read(self, start: int, stop: int) -> Array:
        rows: Array = self._matrix[start:stop].toarray()
        return rows


class ParquetRows(Source):
    """The numeric columns of Parquet files that follow one another; readable wherever their paths are.

    A row group is read at a time, and the last one is kept.

    Parameters
    ----------
    called : str
        Which argument this is, for messages.
    paths : sequence of Path
        The files.
    columns : sequence of str, optional
        The columns to take; all by default.
    """

    def __init__(self, called: str, paths: Sequence[Path], columns: Sequence[str] | None = None) -> None:
        from pyarrow import parquet

        self._only = list(columns) if columns else None
        self._groups: list[tuple[Path, int]] = []
        names, sizes = self._only, []
        for path in paths:
            with refusing(f"{called}: {path.name!r}", DAMAGED), parquet.ParquetFile(path) as file:
                schema, metadata = file.schema_arrow, file.metadata
            names = names or schema.names
            if not (set(names) <= set(schema.names) if self._only else names == schema.names):
                found, accepted = ", ".join(schema.names[:5]), ", ".join(names[:5])
                raise InputError(f"{called}: {path.name} has columns {found}; accepted: {accepted}.")
            for field in schema:
                if field.name in names and not _is_number(field.type):
                    raise InputError(
                        f"{called}: {path.name} has a column {field.name!r} of type {field.type}; accepted: numbers."
                    )
            self._groups += [(path, g) for g in range(metadata.num_row_groups)]
            sizes += [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]
        self.starts = np.cumsum([0, *sizes])
        self.shape = (int(self.starts[-1]), len(names or ()))
        self.dtype = np.dtype(np.float64)
        self.__setstate__({})

    def __getstate__(self) -> dict[str, Any]:
        """Return what another process needs: neither the lock nor the group that was kept."""
        return {name: value for name, value in vars(self).items() if name not in ("_kept", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._kept: tuple[int, Any] | None = None
        self._lock = threading.Lock()

    def _group(self, k: int) -> Any:
        """Return a row group as a table of Arrow, which may take less memory than its numbers as float64."""
        from pyarrow import parquet

        with self._lock:  # several threads that want the same group read it once
            if self._kept is None or self._kept[0] != k:
                self._kept = None  # two groups at once may be too much
                path, g = self._groups[k]
                with refusing(f"features: {path.name!r}", DAMAGED), parquet.ParquetFile(path) as file:
                    table = file.read_row_group(g, columns=self._only, use_threads=False)
                self._kept = (k, table if self._only is None else table.select(self._only))
            return self._kept[1]

    def _read(self, start: int, stop: int) -> Array:
        rows = np.empty((stop - start, self.shape[1]))
        into = rows
        while start < stop:
            k = int(np.searchsorted(self.starts, start, side="right")) - 1
            end = min(stop, int(self.starts[k + 1]))
            table = self._group(k).slice(start - self.starts[k], end - start)
            for j, column in enumerate(table.columns):
                into[: end - start, j] = column.to_numpy()
            into, start = into[end - start :], end
        return rows


class MappedRows(Source):
    """A `numpy.memmap` whose pages are given back after each read, so that they do not pile up in memory."""

    def __init__(self, array: Array) -> None:
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self._map: mmap.mmap | None = getattr(array, "_mmap", None)

    def __getitem__(self, rows: slice | Array) -> Array:
        """Return a copy of rows, by a slice or by their numbers."""
        copy = np.array(self._array[rows])
        if self._map is not None and hasattr(self._map, "madvise"):
            self._map.madvise(mmap.MADV_DONTNEED)
        return copy

    def _read(self, start: int, stop: int) -> Array:
        return self[start:stop]


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)


def as_source(called: str, values: Any) -> Any:
    """Return a source for a path, a memory map, a sparse matrix or an iterator of chunks; anything else as it is.

    Parameters
    ----------
    called : str
        Which argument this is, for messages, such as ``"features: view 'gist'"``.
    values : Any
        What the user gave.
    """
    if isinstance(values, (str, os.PathLike)):
        return _open(called, Path(values))
    if isinstance(values, np.memmap):
        check_real(called, values.dtype)
        if values.ndim not in (1, 2):
            raise InputError(f"{called}: found a memory map of shape {values.shape}; accepted: shape (n, d).")
        return MappedRows(values if values.ndim == 2 else values[:, None])
    if sparse.issparse(values):
        return SparseRows(called, values)
    if isinstance(values, Iterator):
        return _spooled(called, values)
    return values


def _open(called: str, path: Path) -> FileRows | ParquetRows:
    if not path.is_file():
        raise InputError(f"{called} is to be read from {str(path)!r}, which is not a file.")
    if path.suffix.lower() in (".parquet", ".pq"):
        return ParquetRows(called, [path.resolve()])
    if path.suffix.lower() != ".npy":
        raise InputError(f"{called} is to be read from {path.name!r}; accepted: .npy or .parquet.")
    file = path.open("rb")
    with refusing(f"{called}: {path.name!r}", "is not an NPY file of numbers."):
        version = np.lib.format.read_magic(file)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, columns_first, dtype = header(file)
    if math.prod(shape) * dtype.itemsize > path.stat().st_size - file.tell() or min(shape, default=0) < 0:
        raise InputError(f"{called}: {path.name!r} is shorter than its header says; accepted: a whole NPY file.")
    if columns_first and len(shape) == 2 and shape[1] > 1:
        raise InputError(
            f"{called}: {path.name!r} is stored column by column; accepted: row by row "
            "(numpy.ascontiguousarray before saving)."
        )
    check_real(f"{called}: {path.name!r}", dtype)
    if len(shape) not in (1, 2):
        raise InputError(f"{called}: {path.name!r} has shape {shape}; accepted: numbers of shape (n, d).")
    return FileRows(file, file.tell(), (shape[0], shape[1] if len(shape) == 2 else 1), dtype)


def _spooled(called: str, chunks: Iterable[Any]) -> FileRows:
    """Write chunks to a temporary file without a name and return its rows."""
    file = tempfile.TemporaryFile(prefix="tupi-")  # noqa: SIM115 - lives as long as its rows
    n, d, dtype = 0, None, None
    for number, chunk in enumerate(chunks):
        array = as_numbers(f"{called}, chunk {number}", chunk)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2:
            raise InputError(f"{called}, chunk {number}: found shape {array.shape}; accepted: shape (rows, d).")
        if d is None:
            d, dtype = array.shape[1], np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
        if array.shape[1] != d:
            raise InputError(
                f"{called}, chunk {number}, has {array.shape[1]} columns, and the first {d}; accepted: as many in all."
            )
        file.write(np.ascontiguousarray(array, dtype).tobytes())
        n += len(array)
    if d is None or dtype is None:
        raise InputError(f"{called} is an iterator without any chunk; accepted: at least one.")
    file.flush()
    return FileRows(file, 0, (n, d), dtype)
