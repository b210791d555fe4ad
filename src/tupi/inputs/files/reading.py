"""One file at a time: tables (CSV, TSV, Parquet) and arrays (NPY, NPZ), by suffix."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.runtime.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TABLES = (*SEPARATORS, ".parquet")
ARRAYS = (".npy", ".npz")
SUFFIXES = TABLES + ARRAYS
NO_PYARROW = "Parquet files need pyarrow: pip install 'tupi[parquet]'."
UNNAMED = "Unnamed: 0"  # what pandas calls a first column without a name, such as an index that it wrote itself
# Before pandas 3.1, numbers were read to the last bit only on request; since then always, and asking is deprecated.
EXACT = {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}

Array = NDArray[Any]


def is_table(spec: str | Path) -> bool:
    """Return whether a file is a table with named columns; complain about suffixes that nothing here reads."""
    path, _ = split_key(spec)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"{path}: found the suffix {path.suffix!r}; accepted: {', '.join(SUFFIXES)}.")
    return path.suffix.lower() in TABLES


def split_key(spec: str | Path) -> tuple[Path, str | None]:
    """Return path and array name of ``file.npz:name``, or the path and None."""
    if isinstance(spec, Path):
        return spec, None
    start = spec.lower().rfind(".npz:")
    if start < 0:
        return Path(spec), None
    return Path(spec[: start + 4]), spec[start + 5 :]


def _check_there(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: no such file.")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; accepted: a file.")
    with path.open("rb") as file:  # an unreadable file fails here, as an OSError that says why
        if not file.read(1):
            raise InputError(f"{path}: is empty.")


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table with at least one row; column names are unique text, rows are numbered from 0."""
    path = Path(path)
    if not is_table(path):
        raise InputError(f"{path}: holds arrays; accepted: a table ({', '.join(TABLES)}).")
    _check_there(path)
    frame = _read_parquet(path) if path.suffix.lower() == ".parquet" else _read_text(path)
    if frame.empty:
        raise InputError(f"{path}: has no rows or no columns; accepted: a table with one row per item.")
    return frame


def _read_text(path: Path) -> pd.DataFrame:
    header = _header(path)
    # In a table of one column an empty line is a missing value; elsewhere it is only an empty line.
    frame = _parse(path, skip_blank_lines=len(header) > 1, **EXACT)
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes surplus fields for an index
        raise InputError(f"{path}: rows have more fields than the first line has names.")
    frame.columns = [name or UNNAMED for name in header]
    return frame


def _parse(path: Path, **options: Any) -> pd.DataFrame:
    try:
        return pd.read_csv(
            path,
            sep=SEPARATORS[path.suffix.lower()],
            encoding="utf-8-sig",
            skipinitialspace=True,
            low_memory=False,
            **options,
        )
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text.") from None
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: is empty.") from None
    except (pd.errors.ParserError, ValueError) as problem:
        raise InputError(f"{path}: cannot be read as a table ({str(problem).strip()}).") from None


def _header(path: Path) -> list[str]:
    """Return the names in the first line, as they stand there; complain where they are none."""
    first = _parse(path, header=None, nrows=1, dtype=str, keep_default_na=False)
    names = [str(name).strip() for name in first.iloc[0]]
    for k, name in enumerate(names):
        if not name and k > 0:
            raise InputError(f"{path}: column {k + 1} has no name; accepted: a first line with a name per column.")
        if names.index(name) < k:
            raise InputError(f"{path}: column {name!r} occurs more than once; accepted: unique names.")
    numbered = names == [str(k) for k in range(len(names))]  # as pandas writes the columns of an array
    if not numbered and all(_is_number(name) for name in names):
        raise InputError(
            f"{path}: the first line holds numbers only ({', '.join(names[:3])}), so the columns have no names; "
            "accepted: a first line with names."
        )
    return names


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise InputError(f"{path}: {NO_PYARROW}") from None
    except (ValueError, OSError):
        raise InputError(f"{path}: is not a Parquet file, or a damaged one.") from None
    if not isinstance(frame.index, pd.RangeIndex):  # ids that somebody stored as pandas' index
        frame.index.names = [name or UNNAMED for name in frame.index.names]
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"{path}: column {twice!r} occurs more than once; accepted: unique names.")
    return frame


def raw_column(path: Path, frame: pd.DataFrame, column: str) -> pd.Series:
    """Return a column as text, exactly as the file has it (``007`` stays ``007``); empty where it has nothing."""
    if path.suffix.lower() in SEPARATORS:
        one = len(frame.columns) == 1
        # Column names are looked up by position: pandas calls a column without a name by a name of its own.
        position = list(frame.columns).index(column)
        text = _parse(path, usecols=[position], dtype=str, keep_default_na=False, skip_blank_lines=not one)
        return text.iloc[:, 0].str.strip()
    return as_text(frame[column])


def as_text(values: pd.Series) -> pd.Series:
    """Return values as text, whole numbers without a decimal point; empty where there is nothing."""
    if pd.api.types.is_float_dtype(values.dtype):  # whole numbers that had to make room for a missing value
        whole = values.dropna()
        if (whole == whole.round()).all():
            values = values.astype("Int64")
    return values.astype(object).map(lambda value: "" if pd.isna(value) else str(value))


def read_arrays(spec: str | Path) -> dict[str, Array]:
    """Read the arrays of an NPY file (one, named ``""``) or NPZ file (by name; one if the path ends in ``:name``)."""
    if is_table(spec):
        raise InputError(f"{spec}: is a table; accepted: arrays ({', '.join(ARRAYS)}).")
    path, key = split_key(spec)
    _check_there(path)
    archive = path.suffix.lower() == ".npz"
    try:
        # A large NPY file is left where it is, and read in blocks by those who need its rows.
        loaded = np.load(path, mmap_mode=None if archive else "r", allow_pickle=False)
        if isinstance(loaded, np.ndarray) == archive:
            raise InputError(f"{path}: is not what its suffix says; accepted: one array in .npy, several in .npz.")
        if not archive:
            return {"": loaded}
        with loaded:
            if key is not None and key not in loaded.files:
                raise InputError(f"{path}: holds no array {key!r}; accepted: {', '.join(loaded.files)}.")
            arrays = {name: loaded[name] for name in loaded.files if key in (None, name)}
    except InputError:
        raise
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error):
        raise InputError(
            f"{path}: holds nothing readable; accepted: arrays written by numpy, of numbers and not of Python objects."
        ) from None
    if not arrays:
        raise InputError(f"{path}: holds no arrays.")
    return arrays


def read_one_array(spec: str | Path) -> Array:
    """Read an array from a file that must hold (or be told) exactly one."""
    arrays = read_arrays(spec)
    if len(arrays) > 1:
        raise InputError(
            f"{spec}: holds {len(arrays)} arrays ({', '.join(arrays)}); accepted: one, such as "
            f"{spec}:{next(iter(arrays))}."
        )
    return next(iter(arrays.values()))
