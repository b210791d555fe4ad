"""What `tupi.denoise` returns for items on a cluster: predictions that are computed when somebody asks for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.cluster.blocks import Block
from tupi.cluster.moves import Place
from tupi.judging.evidence import Evidence
from tupi.runtime.atomic import replacing
from tupi.runtime.errors import InputError

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DistributedDenoised:
    """The result of `tupi.denoise` with Dask; names are those of `tupi.Denoised`.

    Attributes
    ----------
    predictions, initial : dask.array.Array of shape (n,)
        The improved predictions and what came in, in the input's order and scale. Predictions of a cluster that was
        given stay there; those of a local one that has ended are in temporary files that last as long as the array.
    weights, dependence, evidence, method, params, history, task, notes
        As in `tupi.Denoised`.
    changed : bool
        Whether any prediction differs from the initial one.
    """

    predictions: Any
    initial: Any
    weights: pd.DataFrame
    dependence: pd.DataFrame
    evidence: Evidence | None
    method: str
    params: dict[str, Any]
    history: pd.DataFrame
    task: str
    notes: tuple[str, ...]
    changed: bool
    client: Any = None
    ids: tuple[str, Sequence[Any]] | None = None

    def to_frame(self) -> Any:
        """Return a Dask dataframe with columns ``initial`` and ``prediction``."""
        import dask.array as da

        return da.stack([self.initial, self.predictions], axis=1).to_dask_dataframe(columns=["initial", "prediction"])

    def compute(self) -> Array:
        """Return the predictions in memory."""
        return self.predictions.compute(**self._scheduler)

    def to_parquet(self, folder: str | Path) -> Path:
        """Write one Parquet file per block, ``part-00000.parquet`` and so on, and return the folder.

        Workers write; the folder must be one that they see. Columns are ``initial`` and ``prediction``, after the ids
        if the predictions came with some.
        """
        import dask
        from dask import delayed

        folder = Path(folder).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InputError(f"folder: {str(folder)!r} is not empty; accepted: a new or an empty folder.")
        name, ids = self.ids if self.ids is not None else ("id", [None] * len(self.initial.chunks[0]))
        parts = zip(self.initial.to_delayed().ravel(), self.predictions.to_delayed().ravel(), ids, strict=True)
        tasks = [delayed(_write_part)(folder / f"part-{k:05d}.parquet", name, *part) for k, part in enumerate(parts)]
        dask.compute(*tasks, **self._scheduler)
        return folder

    @property
    def _scheduler(self) -> dict[str, Any]:
        return {"scheduler": "threads" if self.client is None else self.client}


def _write_part(path: Path, name: str, initial: Array, predictions: Array, ids: Array | None) -> None:
    columns = {} if ids is None else {name: ids}
    frame = pd.DataFrame(columns | {"initial": initial, "prediction": predictions})
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)


def restored(block: Block, place: Place | None, low: float, per_unit: float, scale: float, shift: float) -> Array:
    """Return the predictions of a block in the input's scale; items without any view keep theirs."""
    if place is None:
        return block.initial
    trial, run, moved = place
    values = (trial.reached(run, moved) / per_unit + low) * scale + shift
    result = block.initial.copy()
    result[block.items] = values
    return result


class Spool:
    """A temporary folder of blocks that lasts as long as somebody holds it; copies on workers do not own it."""

    def __init__(self) -> None:
        self._owned: Any = tempfile.TemporaryDirectory(prefix="tupi-")
        self.folder = Path(self._owned.name)

    def __getstate__(self) -> dict[str, Any]:
        return {"_owned": None, "folder": self.folder}

    def path(self, block: int) -> Path:
        """Return the file of a block."""
        return self.folder / f"{block}.npy"


def spool(values: Array, path: Path) -> bool:
    """Write a block's values to a file."""
    np.save(path, values)
    return True


def read_spooled(place: tuple[Spool, int]) -> Array:
    """Return a block's values, given the spool and the number of the block."""
    kept, block = place
    return np.load(kept.path(block))


def kept_vector(client: Any, parts: Sequence[Any], sizes: Sequence[int], owned: bool) -> Any:
    """Return a Dask array whose blocks are futures; in temporary files if the cluster is about to end."""
    if not owned:
        return lazy_vector(_same, parts, sizes)
    kept = Spool()
    client.gather(client.map(spool, parts, list(map(kept.path, range(len(parts)))), pure=False))
    return lazy_vector(read_spooled, [(kept, b) for b in range(len(parts))], sizes)


def _same(values: Array) -> Array:
    return values


def lazy_vector(function: Callable[..., Any], parts: Sequence[Any], sizes: Sequence[int], *arguments: Any) -> Any:
    """Return a Dask array of numbers, each block of which a function gives."""
    import dask.array as da
    from dask import delayed

    return da.concatenate(
        [
            da.from_delayed(delayed(function)(part, *arguments), (size,), np.float64)
            for part, size in zip(parts, sizes, strict=True)
        ]
    )


def column(rows: Array) -> Array:
    """Return a block of shape (rows, 1) as a vector of numbers."""
    return np.asarray(rows, np.float64).reshape(len(rows))
