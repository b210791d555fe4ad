"""Results as files that appear whole or not at all."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi.inputs.files.reading import NO_PYARROW, SEPARATORS, SUFFIXES, TABLES
from tupi.results.outcome import Outcome
from tupi.results.predicted import Predicted
from tupi.results.saving import id_array
from tupi.runtime.atomic import replacing
from tupi.runtime.errors import InputError

LONGEST_NAME = 230  # bytes: file systems take 255, and a temporary file in the same folder has a longer name
FORMULA = re.compile(r"[=+\-@\t\r]")  # what a cell begins with that a spreadsheet takes for a formula
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def destination(path: Path) -> Path:
    """Return where a file is written: where a link leads, so that the link stays one."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError):
        raise InputError(f"{path}: its links lead in a circle; accepted: a file.") from None


def _check_length(option: str, path: Path) -> None:
    if (length := len(os.fsencode(path.name))) > LONGEST_NAME:
        raise InputError(
            f"{option}: the file's name has {length} bytes ({path.name[:20]}...); accepted: at most {LONGEST_NAME}."
        )


def check_output(option: str, path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Complain about a place where nothing can be written, before anything long begins."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option}: {path} has the suffix {path.suffix!r}; accepted: {', '.join(suffixes)}.")
    _check_length(option, path)  # beyond what the file system takes, nothing else can be asked about it
    path = destination(path)
    _check_length(option, path)
    if path.is_dir():
        raise InputError(f"{option}: {path} is a folder; accepted: a file.")
    # Whoever may do anything may write to such a file as well, but whoever made it read-only meant it to stay.
    if path.exists() and not (os.access(path, os.W_OK) and path.stat().st_mode & 0o222):
        raise InputError(f"{option}: {path} is read-only; accepted: a file that may be replaced, or a new one.")
    if not path.parent.is_dir():
        raise InputError(f"{option}: there is no folder {path.parent}; accepted: a file in a folder that exists.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{option}: nothing can be written into {path.parent.resolve()}; accepted: a folder of yours.")
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{option}: {NO_PYARROW}")


def formula_ids(result: Outcome | Predicted) -> int:
    """Return how many ids a spreadsheet would take for formulas, if they are written to a text file."""
    return 0 if result.index is None else sum(map(_is_formula, result.index))


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and FORMULA.match(value) is not None and NUMBER.fullmatch(value) is None


def write_result(result: Outcome | Predicted, path: str | Path, escape_formulas: bool = False) -> Path:
    """Write the predictions of a result, by suffix.

    CSV, TSV and Parquet files hold `Outcome.table` with the ids, if there are any, as the first column. NPY files
    hold the predictions alone, NPZ files arrays ``initial``, ``prediction`` and, where there are any, ``id`` and
    ``classes``.

    Parameters
    ----------
    result : Outcome or Predicted
        The result, or what it says of new items.
    path : str or Path
        The file. A link is followed.
    escape_formulas : bool
        Whether ids in CSV and TSV files that a spreadsheet would take for formulas get a ``'`` in front.
    """
    given = Path(path)
    path, suffix = destination(given), given.suffix.lower()
    if suffix in TABLES:
        frame = result.table()
        if result.index is not None:
            frame = _with_ids(frame)
        if escape_formulas and suffix in SEPARATORS:
            frame.isetitem(0, [f"'{value}" if _is_formula(value) else value for value in frame.iloc[:, 0]])
        write_table(frame, given)
        return given
    if suffix == ".npy":
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, result.predictions, allow_pickle=False)
        return given
    if suffix != ".npz":
        raise InputError(f"{path}: found the suffix {path.suffix!r}; accepted: {', '.join(SUFFIXES)}.")
    arrays: dict[str, Any] = {"initial": result.initial, "prediction": result.predictions}
    if result.index is not None:
        arrays["id"] = id_array(result.index)
    if result.classes is not None:
        arrays["classes"] = np.array([str(name) for name in result.classes])
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)  # numbers and text alone, so nothing is pickled
    return given


def _with_ids(frame: pd.DataFrame) -> pd.DataFrame:
    name = "id" if frame.index.name is None else str(frame.index.name)
    if name in frame.columns:  # an id column that is called like one of the results
        name = f"{name}_id"
    frame = frame.copy()
    frame.insert(0, name, frame.index)
    return frame


def write_table(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a table without its index as CSV, TSV or Parquet; numbers in text are exact."""
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in TABLES:
        raise InputError(f"{path}: found the suffix {path.suffix!r}; accepted: {', '.join(TABLES)}.")
    with replacing(destination(path)) as temporary:
        if suffix in SEPARATORS:
            # The csv module leaves a carriage return bare, and readers then see two rows.
            quoting: Any = csv.QUOTE_NONNUMERIC if _has_returns(frame) else csv.QUOTE_MINIMAL
            frame.to_csv(temporary, sep=SEPARATORS[suffix], index=False, lineterminator="\n", quoting=quoting)
        else:
            try:
                frame.to_parquet(temporary, engine="pyarrow", index=False)
            except ImportError:
                raise InputError(f"{path}: {NO_PYARROW}") from None
    return path


def _has_returns(frame: pd.DataFrame) -> bool:
    """Return whether a name or a value of a table holds a carriage return."""
    texts = (frame.iloc[:, k] for k in range(frame.shape[1]) if frame.dtypes.iloc[k].kind not in "biuf")
    return any("\r" in str(name) for name in frame.columns) or any("\r" in str(v) for text in texts for v in text)
