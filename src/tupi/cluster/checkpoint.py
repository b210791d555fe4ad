"""Checkpoints: where runs stand, every few steps, in a folder that client and workers share.

A checkpoint is a folder ``step-00010`` with one file of positions per block, written by the workers, and a file
``state.npz`` of everything else, written last: a checkpoint without it does not count, nor does one of which a file is
damaged. Reading one back also cuts the chain of moves that Dask would have to repeat if a worker died.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.engines.fused import FusedEngine, FusedState, together
from tupi.algorithm.engines.landscape import GridTable
from tupi.algorithm.engines.moves import Attempt
from tupi.cluster.home import OnCluster
from tupi.cluster.search import NOTHING, Best, Search
from tupi.embedding.embedding import Embedding
from tupi.runtime.atomic import replacing
from tupi.runtime.errors import InputError

# 4 kept moments of positions, too; 3 had no checksums; 2 kept labelled predictions standardised; 1 knew its data by
# mean and spread only.
FORMAT = 5
KEPT = 2  # checkpoints
Array = NDArray[Any]


def write_positions(attempt: Attempt, path: Path) -> str:
    """Write a block's positions to a file, whole or not at all, and return their fingerprint."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, attempt.x, allow_pickle=False)
    return fingerprint(attempt.x)


def is_whole(path: Path, written: str) -> bool:
    """Return whether a file holds the positions that were written: others would lead compiled code out of bounds."""
    try:
        return fingerprint(np.load(path, allow_pickle=False)) == written
    except Exception:  # numpy finds many words for what is no array
        return False


def read_positions(path: Path) -> Attempt:
    """Read a block's positions."""
    x = np.load(path, allow_pickle=False)
    return Attempt(x, x)


def fingerprint(*parts: Any) -> str:
    """Return a hash of arrays, numbers and text: equal for equal input, down to the last bit of each array."""
    digest = hashlib.blake2b()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).view(np.uint8).data if part.size else b"")
        else:
            digest.update(repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


class Checkpoint:
    """Saves a search every few steps, and finds where an earlier call stopped.

    Parameters
    ----------
    folder : str or Path
        Where; client and workers must both see it under this name.
    every : int
        Steps between two checkpoints.
    key : str
        Fingerprint of inputs and settings.
    """

    def __init__(self, folder: str | Path, every: int, key: str) -> None:
        self.folder, self.every, self.key = Path(folder).resolve(), every, key
        self.damaged: list[str] = []  # names of checkpoints that could not be read
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InputError(f"checkpoint: {str(folder)!r} cannot be made ({problem.strerror}).") from None

    def _saved(self) -> list[Path]:
        return sorted(path.parent for path in self.folder.glob("step-*/state.npz"))

    def resume(self, search: Search, engine: FusedEngine) -> int:
        """Bring a search to where the last whole checkpoint left it; return the step, 0 if there is none."""
        for folder in reversed(self._saved()):
            opened = _opened(folder)
            if opened is not None:
                self._check(opened[1])
                if _whole(_home(engine.embedding), folder, opened[1]["checksums"]):
                    return self._take(search, engine, folder, *opened)
            self.damaged.append(folder.name)
        return 0

    def _check(self, meta: dict[str, Any]) -> None:
        """Complain about a checkpoint of another version or another run."""
        if meta["format"] != FORMAT:
            raise InputError(
                f"checkpoint: {str(self.folder)!r} was written by another version of tupi (format {meta['format']}); "
                f"accepted: format {FORMAT}, or an empty folder."
            )
        if meta["key"] != self.key:
            raise InputError(
                f"checkpoint: {str(self.folder)!r} holds a run with other inputs or settings; accepted: the same ones, "
                "or an empty folder."
            )

    def _take(
        self, search: Search, engine: FusedEngine, folder: Path, arrays: dict[str, Array], meta: dict[str, Any]
    ) -> int:
        """Bring a search to where a checkpoint left it; return the step."""
        for k, (trajectory, run) in enumerate(zip(search.trajectories, search.runs, strict=True)):
            trajectory.steps = [
                Step(t, NOTHING, arrays[f"weights-{k}"][t], arrays[f"dependence-{k}"][t], tuple(energies))
                for t, energies in enumerate(meta["energies"][k])
            ]
            trajectory.labelled = list(arrays[f"values-{k}"])
            run.begin()  # what a run remembers of its initial state
            run.t = meta["t"][k]
            run.length = meta["length"][k]
            run.curvatures.extend(meta["curvatures"][k])
        attempts = _read(_home(engine.embedding), folder, "block")
        for row, k in enumerate(meta["live"]):
            search.runs[k].state = _state(engine, arrays, f"state-{k}", attempts, len(meta["live"]), row)
        if meta["best"] is not None:
            attempts = _read(_home(engine.embedding), folder, "best")
            setting, t = meta["best"]
            search.best = Best(setting, t, _state(engine, arrays, "best", attempts, 1, 0))
        return max(meta["t"])

    def save(self, search: Search, live: list[int]) -> None:
        """Save where these runs stand, if it is time; from then on they stand where the files say."""
        runs = [search.runs[k] for k in live]
        t = runs[0].t
        last = t == runs[0].n_iter
        if t == 0 or (t % self.every and not last):
            return
        folder = self.folder / f"step-{t:05d}"
        folder.mkdir(exist_ok=True)
        checksums: dict[str, list[str]] = {}
        home = _home(runs[0].state.embedding)
        attempts, checksums["block"] = _through_files(
            home, list(together([run.state for run in runs])), folder, "block"
        )
        arrays: dict[str, Any] = {}
        for row, (k, run) in enumerate(zip(live, runs, strict=True)):
            run.state = replace(run.state, attempts=attempts, runs=len(runs), run=row)
            arrays |= _arrays(run.state, f"state-{k}")
        if search.best is not None:
            state = search.best.state
            best, checksums["best"] = _through_files(home, list(state.attempts), folder, "best")
            state = replace(state, attempts=best)
            search.best = replace(search.best, state=state)
            arrays |= _arrays(state, "best")
        for k, trajectory in enumerate(search.trajectories):
            arrays[f"weights-{k}"] = np.array([step.weights for step in trajectory.steps])
            arrays[f"dependence-{k}"] = np.array([step.dependence for step in trajectory.steps])
            arrays[f"values-{k}"] = np.array(trajectory.labelled)
        with replacing(folder / "state.npz") as temporary, temporary.open("wb") as file:
            meta = self._meta(search, live) | {"checksums": checksums}
            np.savez(file, meta=np.array(json.dumps(meta)), **arrays)
        for old in self._saved()[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def _meta(self, search: Search, live: list[int]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "key": self.key,
            "live": live,
            "t": [run.t for run in search.runs],
            "length": [run.length for run in search.runs],
            "curvatures": [list(run.curvatures) for run in search.runs],
            "energies": [[list(step.energies) for step in one.steps] for one in search.trajectories],
            "best": None if search.best is None else [search.best.setting, search.best.t],
        }


def _arrays(state: FusedState, name: str) -> dict[str, Array]:
    table = state.table
    return {
        f"{name}-table": np.array([table.low, table.per_unit, table.points, table.sigma2, table.rank]),
        f"{name}-sums": state.sums,
        f"{name}-tally": state.tally,
        f"{name}-ends": state.ends,
    }


def _state(
    engine: FusedEngine, arrays: dict[str, Array], name: str, attempts: list[Any], rows: int, row: int
) -> FusedState:
    low, per_unit, points, sigma2, rank = arrays[f"{name}-table"]
    table = GridTable(float(low), float(per_unit), int(points), float(sigma2), int(rank))
    sums = (arrays[f"{name}-{part}"] for part in ("sums", "tally", "ends"))
    return FusedState(engine.embedding, attempts, rows, row, table, *sums)


def _home(embedding: Embedding) -> OnCluster:
    assert isinstance(embedding.home, OnCluster)
    return embedding.home


def _paths(home: OnCluster, folder: Path, name: str) -> list[Path]:
    return [folder / f"{name}-{b:05d}.npy" for b in range(len(home.items))]


def _opened(folder: Path) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """Return the arrays of a checkpoint's state and the facts among them, or None if the file is damaged."""
    try:
        with np.load(folder / "state.npz", allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return arrays, json.loads(str(arrays["meta"]))
    except Exception:  # zipfile, zlib and numpy find many words for what is no archive
        return None


def _whole(home: OnCluster, folder: Path, checksums: dict[str, list[str]]) -> bool:
    """Return whether the files of all blocks hold what was written."""
    paths = [path for name in checksums for path in _paths(home, folder, name)]
    written = [checksum for each in checksums.values() for checksum in each]
    return all(home.client.gather(home.client.map(is_whole, paths, written, pure=False)))


def _through_files(home: OnCluster, attempts: list[Any], folder: Path, name: str) -> tuple[list[Any], list[str]]:
    """Write positions; return them as read back, all that Dask then has to remember, and their fingerprints."""
    paths = _paths(home, folder, name)
    checksums = home.client.gather(home.client.map(write_positions, attempts, paths, pure=False))
    return _read(home, folder, name), checksums


def _read(home: OnCluster, folder: Path, name: str) -> list[Any]:
    return home.client.map(read_positions, _paths(home, folder, name), pure=False)
