"""Finished cells on disk, one file each, so that a run resumes where it stopped.

A cell's file holds its settings. Other settings, other data or another version of this package mean that the cell is
computed again: what is read back is what would be computed now.
"""

from __future__ import annotations

import json
import platform
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tupi.runtime.atomic import write_atomically

RECORDED = ("tupi", "numpy", "scipy", "scikit-learn", "numba", "torch")


@dataclass(frozen=True, order=True)
class Cell:
    """What is computed at once and stored at once.

    Attributes
    ----------
    experiment, dataset, target : str
        Which experiment, on which target of which dataset.
    seed : int
        Which items train, validate and judge.
    """

    experiment: str
    dataset: str
    target: str
    seed: int

    def __str__(self) -> str:
        return f"{self.experiment} {self.dataset} {self.target}, seed {self.seed}"


@cache
def versions() -> dict[str, str]:
    """Return the versions that results may depend on; a package that is not installed has none."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in RECORDED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


class Store:
    """Cells below a folder.

    Parameters
    ----------
    folder : Path
        Made when the first cell is written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """Return the file of a cell."""
        name = re.sub(r"[^A-Za-z0-9=+-]+", "-", f"{cell.target}-{cell.seed}")
        return self.folder / cell.experiment / cell.dataset / f"{name}.json"

    def read(self, cell: Cell, settings: dict[str, Any]) -> dict[str, Any] | None:
        """Return a cell's record, or None where there is none, or one made under other settings."""
        try:
            record = json.loads(self.path(cell).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        same = record.get("settings") == as_json(settings) and record.get("cell") == vars(cell)
        return record if same else None

    def write(self, cell: Cell, settings: dict[str, Any], seconds: float, result: dict[str, Any]) -> None:
        """Write a finished cell, whole or not at all."""
        record = {
            "cell": vars(cell),
            "settings": as_json(settings),
            "versions": versions(),
            "seconds": round(seconds, 3),
            "result": result,
        }
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(record, indent=1).encode())


def as_json(settings: dict[str, Any]) -> Any:
    """Return settings as they come back from a file, so that both can be compared."""
    return json.loads(json.dumps(settings, default=str))
