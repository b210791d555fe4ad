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

from tupi.results.coverage import class_sets
from tupi.results.result import Denoised
from tupi.runtime.atomic import filling, is_free, replacing
from tupi.runtime.errors import InputError

PARTS = "part-*.parquet"  # files of a folder that `to_parquet` writes
SOME = 10_000  # items that are looked at where all would be too many
Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class DistributedDenoised(Denoised):
    """A `tupi.Denoised` whose items are in blocks: what `tupi.denoise` returns with Dask.

    Attributes
    ----------
    predictions, initial, expected, uncertainty : dask.array.Array of shape (n,) or (n, c)
        In the input's order and scale. Those of a cluster that was given stay there; predictions of a local one that
        has ended are in temporary files that last as long as the array. The other attributes are as in `tupi.Denoised`.
    client : distributed.Client or None
        The cluster that was given.
    """

    predictions: Any
    initial: Any
    client: Any = None

    def _lines(self) -> list[str]:
        said = () if self.evidence is None else (self.evidence.sentence,)
        return [f"{len(self.initial):,} items on Dask, {self.task} by method {self.method!r}", *said, *self.notes]

    @property
    def changed(self) -> bool:
        """Whether any prediction differs from the initial one."""
        return self.predictions is not self.initial

    def class_sets(self, level: float = 0.95, empty: bool = True) -> Any:
        """Return which classes each item may well have, as a Dask dataframe; see `tupi.Denoised.class_sets`."""
        known = self.left_out_errors, self.classes, None, empty, self.method, self.task
        columns = 2 if self.initial.ndim == 1 else self.initial.shape[1]
        names = class_sets(level, np.ones((1, columns)), *known).columns  # complains before anything is computed
        rows = self.predictions if self.predictions.ndim == 2 else self.predictions[:, None]
        sets = rows.map_blocks(_sets, level, known, dtype=bool, chunks=(rows.chunks[0], (len(names),)))
        return sets.to_dask_dataframe(columns=list(names))

    def _titles(self) -> list[str]:
        """Return the names of the columns of a table of the result."""
        if self.initial.ndim == 1:
            return ["initial", "prediction"]
        names = self.classes or tuple(range(self.initial.shape[1]))
        return [f"{kind}_{name}" for kind in ("initial", "prediction") for name in names]

    def without_items(self) -> Denoised:
        """Return the result in memory without its items: it has no predictions, but it can `predict`."""
        nothing = np.empty((0, *self.initial.shape[1:]))
        return self._in_memory(nothing, nothing, "left_out_errors", "model", "raters", "agreement", "in_blocks")

    def some_items(self) -> Denoised:
        """Return the result in memory for at most `SOME` items, spread evenly over all."""
        import dask

        step = -(-self.initial.shape[0] // SOME)
        before, after = dask.compute(self.initial[::step], self.predictions[::step], **self._scheduler)
        return self._in_memory(after, before)

    def _in_memory(self, predictions: Array, initial: Array, *more: str) -> Denoised:
        """Return a result in memory that has the same to say of all items together."""
        said = ("weights", "dependence", "evidence", "method", "params", "history", "task", "classes", "notes")
        return Denoised(predictions, initial, **{name: getattr(self, name) for name in (*said, *more)})

    def save(self, path: str | Path, items: bool = False) -> Path:
        """Write the result without its items into one file, from which `tupi.load` makes one that can `predict`."""
        if items:
            raise self._elsewhere("save")
        return self.without_items().save(path)

    def table(self) -> pd.DataFrame:
        """Refuse: the items are in blocks."""
        raise self._elsewhere("table")

    def write(self, path: str | Path, escape_formulas: bool = False) -> Path:
        """Refuse: the items are in blocks, which `to_parquet` writes."""
        raise self._elsewhere("write")

    def report(self, path: str | Path) -> Path:
        """Refuse: the items are in blocks."""
        raise self._elsewhere("report")

    def plot(self, name: str | None = None) -> Any:
        """Refuse: the items are in blocks."""
        raise self._elsewhere("plot")

    def decide(self, cost_fp: float, cost_fn: float) -> Any:
        """Refuse: the items are in blocks."""
        raise self._elsewhere("decide")

    def _elsewhere(self, caller: str) -> InputError:
        return InputError(f"{caller}: found a result of a Dask cluster; accepted: one that was computed in memory.")

    def to_frame(self) -> Any:
        """Return a Dask dataframe with columns ``initial`` and ``prediction``, or such a column for each class."""
        import dask.array as da

        parts = [one if one.ndim == 2 else one[:, None] for one in (self.initial, self.predictions)]
        together = da.concatenate(parts, axis=1)
        return together.rechunk({1: -1}).to_dask_dataframe(columns=self._titles())

    def compute(self) -> Array:
        """Return the predictions in memory."""
        return self.predictions.compute(**self._scheduler)

    def to_parquet(self, folder: str | Path, ids: tuple[str, Sequence[Any]] | None = None) -> Path:
        """Write one Parquet file per block, ``part-00000.parquet`` and so on, and return the folder.

        Workers write; the folder must be one that they see, and new or empty, but for what a killed process left of its
        parts. Columns are ``initial`` and ``prediction``, after the ids if there are some: their name, and those of
        each block.
        """
        import dask
        from dask import delayed

        folder = Path(folder).resolve()
        if not is_free(folder, PARTS):
            raise InputError(f"folder: {str(folder)!r} is not empty; accepted: a new or an empty folder.")
        name, own = ("id", [None] * len(self.initial.chunks[0])) if ids is None else ids
        parts = zip(self.initial.to_delayed().ravel(), self.predictions.to_delayed().ravel(), own, strict=True)
        titles = self._titles()
        tasks = [
            delayed(_write_part)(folder / f"part-{k:05d}.parquet", name, titles, *part) for k, part in enumerate(parts)
        ]
        with filling(folder, PARTS):
            dask.compute(*tasks, **self._scheduler)
        return folder

    @property
    def _scheduler(self) -> dict[str, Any]:
        return {"scheduler": "threads" if self.client is None else self.client}


def while_connected(name: str, client: Any, compute: Callable[[], Any] | None) -> Callable[[], Any] | None:
    """Return a function that computes something on a cluster, and complains if that ended with the call."""

    def ended() -> Any:
        raise InputError(
            f"{name}: found a result whose cluster ended with the call; accepted: one of a client that was given "
            "to tupi.denoise, and that is still connected."
        )

    return ended if client is None and compute is not None else compute


def _sets(rows: Array, level: float, known: tuple[Any, ...]) -> Array:
    """Return which classes the items of a block may well have."""
    return class_sets(level, given_shape(rows), *known).to_numpy()


def _write_part(
    path: Path, name: str, titles: Sequence[str], initial: Array, predictions: Array, ids: Array | None
) -> None:
    columns = {} if ids is None else {name: ids}
    frame = pd.DataFrame(columns | dict(zip(titles, np.column_stack([initial, predictions]).T, strict=True)))
    with replacing(path) as temporary:
        frame.to_parquet(temporary, index=False)


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


def kept_vector(client: Any, parts: Sequence[Any], sizes: Sequence[int], owned: bool, columns: int = 1) -> Any:
    """Return a Dask array whose blocks are futures; in temporary files if the cluster is about to end."""
    if not owned:
        return lazy_vector(_same, parts, sizes, columns=columns)
    kept = Spool()
    client.gather(client.map(spool, parts, list(map(kept.path, range(len(parts)))), pure=False))
    return lazy_vector(read_spooled, [(kept, b) for b in range(len(parts))], sizes, columns=columns)


def _same(values: Array) -> Array:
    return values


def lazy_vector(
    function: Callable[..., Any], parts: Sequence[Any], sizes: Sequence[int], *arguments: Any, columns: int = 1
) -> Any:
    """Return a Dask array of numbers, each block of which a function gives: vectors, or rows of several columns."""
    import dask.array as da
    from dask import delayed

    return da.concatenate(
        [
            da.from_delayed(
                delayed(function)(part, *arguments), (size,) if columns == 1 else (size, columns), np.float64
            )
            for part, size in zip(parts, sizes, strict=True)
        ]
    )


def given_shape(rows: Array) -> Array:
    """Return a block of predictions as they came in: a vector, or a column per class."""
    rows = np.asarray(rows, np.float64).reshape(len(rows), -1)
    return rows[:, 0] if rows.shape[1] == 1 else rows
