"""One file at a time: tables (text, Parquet, Excel) and arrays (NPY, NPZ), by suffix."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.lib import format as npy
from numpy.typing import NDArray

from tupi.inputs.files.letor import is_letor, read_letor
from tupi.inputs.files.text import UNNAMED, TextFile
from tupi.inputs.files.unpacking import check_archive, refusing
from tupi.runtime.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
TABLES = (*SEPARATORS, ".parquet")
ARRAYS = (".npy", ".npz")
SUFFIXES = TABLES + ARRAYS  # what is written, too
TEXTS = (".csv", ".tsv", ".txt")
READ_TABLES = (*TEXTS, *(f"{suffix}.gz" for suffix in TEXTS), ".parquet", ".xlsx")
READ = READ_TABLES + ARRAYS
NO_PYARROW = "Parquet files need pyarrow: pip install 'tupi[parquet]'."
NO_OPENPYXL = "Excel files need openpyxl: pip install 'tupi[excel]', or save the sheet as CSV."
LETOR = "a LETOR file"
NOT_ARRAYS = "holds nothing readable; accepted: arrays written by numpy, of numbers and not of Python objects."

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table with how it was read.

    Attributes
    ----------
    path : Path
        The file.
    frame : DataFrame
        The table.
    how : str
        How it was read, in words.
    text : TextFile or None
        How to read it again, if it is text.
    """

    path: Path
    frame: pd.DataFrame
    how: str
    text: TextFile | None = None

    @property
    def sentence(self) -> str:
        """What was understood."""
        rows, columns = self.frame.shape
        return f"{self.path}: {rows:,} rows, {columns:,} column{'s' if columns > 1 else ''}, {self.how}."

    @property
    def is_letor(self) -> bool:
        """Whether it is a LETOR file, which has relevance and queries beside the features."""
        return self.how == LETOR

    def raw(self, column: str) -> pd.Series:
        """Return a column as text, exactly as the file has it (``007`` stays ``007``); empty where it has nothing."""
        if self.text is None:
            return as_text(self.frame[column])
        return self.text.raw(list(self.frame.columns).index(column))


def suffix_of(path: Path) -> str:
    """Return what a file's name ends with, in lower case, ``.gz`` together with what is before it."""
    suffix = path.suffix.lower()
    return path.with_suffix("").suffix.lower() + suffix if suffix == ".gz" else suffix


def is_table(spec: str | Path) -> bool:
    """Return whether a file is a table with named columns; complain about suffixes that nothing here reads."""
    path, _ = split_key(spec)
    suffix = suffix_of(path)
    if suffix == ".xls":
        raise InputError(f"{path}: is of the old kind of Excel files; accepted: the same saved as .xlsx or .csv.")
    if suffix not in READ:
        raise InputError(f"{path}: found the suffix {path.suffix!r}; accepted: {', '.join(READ)}.")
    return suffix in READ_TABLES


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
    return read(path).frame


def read(path: str | Path) -> ReadTable:
    """Read a table as `read_table` does, and say how."""
    path = Path(path)
    if not is_table(path):
        raise InputError(f"{path}: holds arrays; accepted: a table ({', '.join(READ_TABLES)}).")
    _check_there(path)
    suffix = suffix_of(path)
    if suffix == ".parquet":
        found = ReadTable(path, _read_parquet(path), "Parquet")
    elif suffix == ".xlsx":
        found = _read_excel(path)
    elif is_letor(path):
        found = ReadTable(path, read_letor(path), LETOR)
    else:
        text = TextFile.of(path)
        found = ReadTable(path, text.read(), text.sentence, text)
    if found.frame.empty:
        raise InputError(f"{path}: has no rows or no columns; accepted: a table with one row per item.")
    return found


def _read_parquet(path: Path) -> pd.DataFrame:
    with refusing(path, "is not a Parquet file, or a damaged one."):
        try:
            frame = pd.read_parquet(path, engine="pyarrow")
        except ImportError:
            raise InputError(f"{path}: {NO_PYARROW}") from None
        if not isinstance(frame.index, pd.RangeIndex):  # ids that somebody stored as pandas' index
            frame.index.names = [name or UNNAMED for name in frame.index.names]
            frame = frame.reset_index()
    return _with_text_names(path, frame)


def _read_excel(path: Path) -> ReadTable:
    with refusing(path, "is not an Excel file, or an encrypted or damaged one; accepted: .xlsx without a password."):
        check_archive(path)
        try:
            with pd.ExcelFile(path, engine="openpyxl") as book:
                sheets = book.sheet_names
                frame = pd.read_excel(book, sheet_name=0)
        except ImportError:
            raise InputError(f"{path}: {NO_OPENPYXL}") from None
    unnamed = [str(name).startswith("Unnamed: ") for name in frame.columns]
    if any(unnamed[1:]):
        raise InputError(
            f"{path}: column {unnamed.index(True, 1) + 1} of sheet {sheets[0]!r} has no name; accepted: a table that "
            "begins in the first cell, with a name per column."
        )
    others = "" if len(sheets) == 1 else f", the first of {len(sheets)}"
    return ReadTable(path, _with_text_names(path, frame), f"from sheet {str(sheets[0])!r}{others}")


def _with_text_names(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    frame.columns = pd.Index([str(name).strip() for name in frame.columns])
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"{path}: column {twice!r} occurs more than once; accepted: unique names.")
    return frame


def as_text(values: pd.Series) -> pd.Series:
    """Return values as text, whole numbers without a decimal point; empty where there is nothing."""
    if pd.api.types.is_float_dtype(values.dtype):  # whole numbers that had to make room for a missing value
        whole = values.dropna()
        if (whole == whole.round()).all():
            values = values.astype("Int64")
    return values.astype(object).map(lambda value: "" if pd.isna(value) else str(value).strip())


def read_arrays(spec: str | Path) -> dict[str, Array]:
    """Read the arrays of an NPY file (one, named ``""``) or NPZ file (by name; one if the path ends in ``:name``)."""
    if is_table(spec):
        raise InputError(f"{spec}: is a table; accepted: arrays ({', '.join(ARRAYS)}).")
    path, key = split_key(spec)
    _check_there(path)
    archive = path.suffix.lower() == ".npz"
    with refusing(path, NOT_ARRAYS):
        if archive != zipfile.is_zipfile(path) and _is_either(path):
            raise InputError(f"{path}: is not what its suffix says; accepted: one array in .npy, several in .npz.")
        if not archive:
            # A large NPY file is left where it is, and read in blocks by those who need its rows.
            return {"": _plain(path, np.load(path, mmap_mode="r", allow_pickle=False))}
        check_archive(path)
        _check_headers(path)
        with np.load(path, allow_pickle=False) as loaded:
            if key is not None and key not in loaded.files:
                raise InputError(f"{path}: holds no array {key!r}; accepted: {', '.join(loaded.files)}.")
            arrays = {name: _plain(path, loaded[name]) for name in loaded.files if key in (None, name)}
    if not arrays:
        raise InputError(f"{path}: holds no arrays.")
    return arrays


def _is_either(path: Path) -> bool:
    """Return whether a file begins as one of numpy's arrays or archives does."""
    with path.open("rb") as file:
        return file.read(6) == b"\x93NUMPY" or zipfile.is_zipfile(path)


def _check_headers(path: Path) -> None:
    """Complain about arrays that say they are larger than what is there: numpy would ask for that much memory."""
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as file:
                version = npy.read_magic(file)
                read_header = (npy.read_array_header_1_0, npy.read_array_header_2_0)[version > (1, 0)]
                shape, _, dtype = read_header(file)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize > entry.file_size:
                raise InputError(f"{path}: its array {entry.filename!r} is shorter than it says; {NOT_ARRAYS}")


def _plain(path: Path, array: Array) -> Array:
    if array.dtype.names is not None:
        raise InputError(
            f"{path}: holds records with fields {', '.join(array.dtype.names[:3])}; accepted: plain arrays of numbers."
        )
    return array


def read_one_array(spec: str | Path) -> Array:
    """Read an array from a file that must hold (or be told) exactly one."""
    arrays = read_arrays(spec)
    if len(arrays) > 1:
        raise InputError(
            f"{spec}: holds {len(arrays)} arrays ({', '.join(arrays)}); accepted: one, such as "
            f"{spec}:{next(iter(arrays))}."
        )
    return next(iter(arrays.values()))
