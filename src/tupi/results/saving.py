"""Whole outcomes in one file each, written and read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.problem import TASKS
from tupi.judging.evidence import Evidence
from tupi.results.outcome import Outcome
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain
from tupi.runtime.packing import packed, unpacked

FORMAT = 2  # of saved files; 2 added the model and some of the items
TABLES = ("weights", "dependence", "history")
OPTIONAL = ("uncertainty", "suggested", "left_out_errors", "expected")
PER_ITEM = ("uncertainty", "expected", "groups")
UNPACKED = 2**30  # bytes that any file may unpack to, and larger files to `RATIO` times their size: numbers that vary
RATIO = 100  # hardly shrink, and a file that is made to fill the memory shrinks a thousandfold


def save_outcome(outcome: Outcome, path: Path) -> Path:
    """Write everything into one .npz file, whole or not at all, and return its path."""
    meta: dict[str, Any] = {
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
        "model": None,
        "seen": None,
        "raters": None if outcome.raters is None else outcome.raters.reset_index().to_dict(orient="list"),
        "agreement": None if outcome.agreement is None else outcome.agreement.to_dict(orient="list"),
        "view_gains": None if (gains := outcome.known_gains) is None else gains.reset_index().to_dict(orient="list"),
    }
    arrays = {
        "predictions": outcome.predictions,
        "initial": outcome.initial,
        **{name: _to_text(getattr(outcome, name)) for name in TABLES},
    }
    arrays |= {name: value for name in OPTIONAL if (value := getattr(outcome, name)) is not None}
    if outcome.groups is not None:
        arrays["groups"] = id_array(pd.Index(outcome.groups))
    if outcome.index is not None:
        levels = [outcome.index.get_level_values(k) for k in range(outcome.index.nlevels)]
        arrays |= {f"index{k or ''}": id_array(level) for k, level in enumerate(levels)}
        names = [None if level.name is None else str(level.name) for level in levels]
        meta["index_name"] = names if isinstance(outcome.index, pd.MultiIndex) else names[0]
    parts: dict[str, NDArray[Any]] = {}
    if outcome.model is not None:
        store = outcome.model.to_store()
        known = replace(store.known, classes=None if meta["classes"] is None else tuple(meta["classes"]))
        meta["model"] = packed(replace(store, known=known), parts, "model")
    if outcome.seen is not None:
        meta["seen"] = packed(outcome.seen, parts, "seen")
    arrays |= parts
    arrays["meta"] = np.array(json.dumps(meta))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return write_atomically(path, buffer.getvalue())


def id_array(index: pd.Index) -> NDArray[Any]:
    """Return ids as numbers, dates or durations if that is what they are, and as text otherwise."""
    dates = isinstance(index.dtype, np.dtype) and index.dtype.kind in "mM"  # numpy knows no time zones
    return index.to_numpy() if dates or index.dtype.kind in "iuf" else index.astype(str).to_numpy(dtype=str)


def _name(name: Any) -> Any:
    """Return a class's name as JSON can hold it; labels are matched with it, so that a number stays one."""
    value = name.item() if isinstance(name, np.generic) else name
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _to_text(frame: pd.DataFrame) -> NDArray[np.str_]:
    return np.array(frame.to_json(orient="split", double_precision=15))


def _from_text(text: NDArray[np.str_]) -> pd.DataFrame:
    """Return a table as it was written: a view that is called "01" or "1e3" stays called so."""
    return pd.read_json(io.StringIO(str(text)), orient="split", convert_axes=False, precise_float=True)


def read_outcome(path: Path, classes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an outcome that `save_outcome` wrote.

    Parameters
    ----------
    path : Path
        The file.
    classes : mapping of str to class
        What a model, and the items that are kept, may be made of, by name.
    """
    if not path.exists():
        raise FileNotFoundError(f"path: there is no file {str(path)!r}.")
    try:
        arrays = _unpacked(path)
        meta = json.loads(str(arrays["meta"]))
        version = meta["format"]
        if version > FORMAT:
            raise InputError(f"path: {path.name!r} was saved by a newer tupi (format {version}).")
        frames = {name: _from_text(arrays[name]) for name in TABLES}
        found = _checked(path, _restored(arrays, meta, frames))
        return found | {name: unpacked(meta.get(name), arrays, classes) for name in ("model", "seen")}
    except InputError:
        raise
    except KeyError as missing:
        raise InputError(f"path: {path.name!r} is not a result saved by tupi (it lacks {missing}).") from None
    except Exception as problem:  # a damaged file makes zipfile, zlib, numpy, json and pandas say all kinds of things
        why = " ".join(str(problem).split()) or type(problem).__name__
        raise InputError(f"path: {path.name!r} is not a result saved by tupi ({why}).") from None


def _unpacked(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file, unless they would fill the memory."""
    with zipfile.ZipFile(path) as packed:
        size, most = sum(part.file_size for part in packed.infolist()), max(UNPACKED, RATIO * path.stat().st_size)
    if size > most:
        raise InputError(f"path: {path.name!r} would unpack to {size:,} bytes; accepted: at most {most:,}.")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _checked(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, or complain if they do not belong together."""
    initial = found["initial"]
    n = len(initial)
    faults = {
        "predictions that are no numbers": initial.dtype.kind != "f" or found["predictions"].dtype.kind != "f",
        "predictions of other items": found["predictions"].shape != initial.shape,
        "ids of other items": found["index"] is not None and len(found["index"]) != n,
        "names of other classes": found["classes"] is not None and not _names_fit(found["classes"], initial.shape),
        "an unknown task": found["task"] not in TASKS,
        **{f"{name} of other items": found[name] is not None and found[name].shape != (n,) for name in PER_ITEM},
    }
    for fault, is_there in faults.items():
        if is_there:
            raise InputError(f"path: {path.name!r} is not a result saved by tupi (it holds {fault}).")
    return found


def _names_fit(classes: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """Return whether there is a name for each column, or two names for one probability per item."""
    return len(classes) == (shape[1] if len(shape) == 2 else 2)


def _later(meta: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that files of earlier versions lack."""
    if "columns" not in meta:
        return {}
    gains, raters, agreement = (meta.get(name) for name in ("view_gains", "raters", "agreement"))
    return {
        "raters": None if raters is None else pd.DataFrame(raters).set_index("rater"),
        "agreement": None if agreement is None else pd.DataFrame(agreement),
        "columns": pd.DataFrame(**meta["columns"], dtype=object),
        "library": str(meta["library"]),
        "kept_gains": None if gains is None else pd.DataFrame(gains).set_index("view"),
    }


def _evidence(found: dict[str, Any]) -> Evidence:
    """Return evidence; that of earlier versions has nothing beside its metric."""
    return Evidence(**found | {"beside": {name: tuple(both) for name, both in found.get("beside", {}).items()}})


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
        "evidence": _evidence(meta["evidence"]) if meta["evidence"] else None,
        "method": meta["method"],
        "params": meta["params"],
        "task": meta["task"],
        "index": index,
        "classes": tuple(meta["classes"]) if meta["classes"] else None,
        "notes": tuple(meta["notes"]),
        **_later(meta),
        **{name: arrays.get(name) for name in (*OPTIONAL, "groups")},
        **frames,
    }
