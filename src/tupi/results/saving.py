"""Whole outcomes in one file each, written and read."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.judging.evidence import Evidence
from tupi.results.outcome import Outcome
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

FORMAT = 1  # of saved files
TABLES = ("weights", "dependence", "history")
OPTIONAL = ("uncertainty", "suggested", "left_out_errors", "expected")


def save_outcome(outcome: Outcome, path: Path) -> Path:
    """Write everything into one .npz file, whole or not at all, and return its path."""
    meta = {
        "format": FORMAT,
        "method": outcome.method,
        "params": plain(outcome.params, strict=False),
        "task": outcome.task,
        "evidence": asdict(outcome.evidence) if outcome.evidence else None,
        "classes": [_name(c) for c in outcome.classes] if outcome.classes else None,
        "notes": list(outcome.notes),
        "columns": outcome.columns.to_dict(orient="split", index=False),
        "library": outcome.library,
        "index_name": None,
    }
    arrays = {
        "predictions": outcome.predictions,
        "initial": outcome.initial,
        **{name: _to_text(getattr(outcome, name)) for name in TABLES},
    }
    arrays |= {name: value for name in OPTIONAL if (value := getattr(outcome, name)) is not None}
    if outcome.index is not None:
        levels = [outcome.index.get_level_values(k) for k in range(outcome.index.nlevels)]
        arrays |= {f"index{k or ''}": id_array(level) for k, level in enumerate(levels)}
        names = [None if level.name is None else str(level.name) for level in levels]
        meta["index_name"] = names if isinstance(outcome.index, pd.MultiIndex) else names[0]
    arrays["meta"] = np.array(json.dumps(meta))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return write_atomically(path, buffer.getvalue())


def id_array(index: pd.Index) -> NDArray[Any]:
    """Return ids as numbers if that is what they are, and as text otherwise."""
    return index.to_numpy() if index.dtype.kind in "iuf" else index.astype(str).to_numpy(dtype=str)


def _name(name: Any) -> Any:
    """Return a class's name as JSON can hold it; labels are matched with it, so that a number stays one."""
    value = name.item() if isinstance(name, np.generic) else name
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _to_text(frame: pd.DataFrame) -> NDArray[np.str_]:
    return np.array(frame.to_json(orient="split", double_precision=15))


def read_outcome(path: Path) -> dict[str, Any]:
    """Return the fields of an outcome that `save_outcome` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        meta = json.loads(str(arrays["meta"]))
        version = meta["format"]
        if version > FORMAT:
            raise InputError(f"path: {path.name!r} was saved by a newer tupi (format {version}).")
        frames = {
            name: pd.read_json(io.StringIO(str(arrays[name])), orient="split", precise_float=True) for name in TABLES
        }
        return _restored(arrays, meta, frames)
    except (FileNotFoundError, InputError):
        raise
    except KeyError as missing:
        raise InputError(f"path: {path.name!r} is not a result saved by tupi (it lacks {missing}).") from None
    except (TypeError, ValueError, OSError, zipfile.BadZipFile, zlib.error) as problem:
        raise InputError(f"path: {path.name!r} is not a result saved by tupi ({problem}).") from None


def _later(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that files of earlier versions lack."""
    if "columns" not in meta:
        return {}
    return {"columns": pd.DataFrame(**meta["columns"], dtype=object), "library": str(meta["library"])}


def _restored(arrays: dict[str, NDArray[Any]], meta: dict[str, Any], frames: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the fields whose parts were read."""
    index, name = None, meta["index_name"]
    if isinstance(name, list):
        levels = [arrays[f"index{k or ''}"] for k in range(len(name))]
        index = pd.MultiIndex.from_arrays(levels, names=name)
    elif "index" in arrays:
        index = pd.Index(arrays["index"], name=name)
    for frame in frames.values():
        frame.columns = frame.columns.astype(str)
    frames["weights"].index.name, frames["history"].index.name = "step", "step"
    frames["dependence"].index = frames["dependence"].index.astype(str)
    frames["dependence"].index.name = "view"
    return {
        "predictions": arrays["predictions"],
        "initial": arrays["initial"],
        "evidence": Evidence(**meta["evidence"]) if meta["evidence"] else None,
        "method": meta["method"],
        "params": meta["params"],
        "task": meta["task"],
        "index": index,
        "classes": tuple(meta["classes"]) if meta["classes"] else None,
        "notes": tuple(meta["notes"]),
        **_later(meta),
        **{name: arrays.get(name) for name in OPTIONAL},
        **frames,
    }
