"""Results as files that appear whole or not at all."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pandas as pd

from tupi.inputs.files.reading import NO_PYARROW, SEPARATORS, SUFFIXES, TABLES
from tupi.results.outcome import Outcome
from tupi.results.saving import id_array
from tupi.runtime.atomic import replacing
from tupi.runtime.errors import InputError


def check_output(option: str, path: Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Complain about a place where nothing can be written, before anything long begins."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option}: {path} has the suffix {path.suffix!r}; accepted: {', '.join(suffixes)}.")
    if path.is_dir():
        raise InputError(f"{option}: {path} is a folder; accepted: a file.")
    if not path.parent.is_dir():
        raise InputError(f"{option}: there is no folder {path.parent}; accepted: a file in a folder that exists.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{option}: nothing can be written into {path.parent.resolve()}; accepted: a folder of yours.")
    if path.suffix.lower() == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(f"{option}: {NO_PYARROW}")


def write_result(result: Outcome, path: str | Path) -> Path:
    """Write the predictions of a result, by suffix.

    CSV, TSV and Parquet files hold `Outcome.table` with the ids, if there are any, as the first column. NPY files
    hold the predictions alone, NPZ files arrays ``initial``, ``prediction`` and, where there are any, ``id`` and
    ``classes``.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix in TABLES:
        frame = result.table()
        if result.index is not None:
            frame = _with_ids(frame)
        return write_table(frame, path)
    if suffix == ".npy":
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.save(file, result.predictions, allow_pickle=False)
        return path
    if suffix != ".npz":
        raise InputError(f"{path}: found the suffix {path.suffix!r}; accepted: {', '.join(SUFFIXES)}.")
    arrays = {"initial": result.initial, "prediction": result.predictions}
    if result.index is not None:
        arrays["id"] = id_array(result.index)
    if result.classes is not None:
        arrays["classes"] = np.array([str(name) for name in result.classes])
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    return path


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
    with replacing(path) as temporary:
        if suffix in SEPARATORS:
            frame.to_csv(temporary, sep=SEPARATORS[suffix], index=False, lineterminator="\n")
        else:
            try:
                frame.to_parquet(temporary, engine="pyarrow", index=False)
            except ImportError:
                raise InputError(f"{path}: {NO_PYARROW}") from None
    return path
