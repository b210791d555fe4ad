"""What `tupi.denoise` returns for items on a cluster: predictions that are computed when somebody asks for them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.judging.evidence import Evidence
from tupi.results.coverage import class_sets, interval
from tupi.results.later import Model
from tupi.results.outcome import WhenAsked
from tupi.results.result import Denoised
from tupi.runtime.atomic import filling, is_free, replacing
from tupi.runtime.errors import InputError

PARTS = "part-*.parquet"  # files of a folder that `to_parquet` writes
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DistributedDenoised:
    """The result of `tupi.denoise` with Dask; names are those of `tupi.Denoised`.

    Attributes
    ----------
    predictions, initial : dask.array.Array of shape (n,) or (n, c)
        The improved predictions and what came in, in the input's order and scale. Predictions of a cluster that was
        given stay there; those of a local one that has ended are in temporary files that last as long as the array.
    weights, dependence, evidence, method, params, history, task, notes, classes, left_out_errors
        As in `tupi.Denoised`.
    changed : bool
        Whether any prediction differs from the initial one.
    expected : dask.array.Array of shape (n,) or None
        As in `tupi.Denoised`.
    asked : dict of str to callable
        What the cluster computes when somebody asks for it: ``uncertainty`` and ``suggested``.
    model : Model or None
        As in `tupi.Denoised`; from "auto".
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
    classes: tuple[Any, ...] | None = None
    expected: Any = None
    left_out_errors: NDArray[np.float64] | None = None
    asked: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    model: Model | None = None

    @cached_property
    def uncertainty(self) -> Any:
        """The standard deviation of each item's label as a Dask array, as in `tupi.Denoised`; None without labels."""
        return None if self.evidence is None else self._computed("uncertainty")

    @cached_property
    def suggested(self) -> NDArray[np.int64]:
        """Items, or pairs, to label next."""
        found: NDArray[np.int64] = self._computed("suggested")
        return found

    def _computed(self, name: str) -> Any:
        if name not in self.asked:
            raise InputError(f"{name}: method {self.method!r} has none with Dask; accepted: method 'auto'.")
        if self.client is None:
            raise InputError(
                f"{name}: found a result whose cluster ended with the call; accepted: one of a client that was given "
                "to tupi.denoise, and that is still connected."
            )
        return self.asked[name]()

    def suggest(self, k: int = 10) -> NDArray[np.int64]:
        """Return the items, or pairs, to label next, at most 100; see `tupi.Denoised.suggest`."""
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise InputError(f"k: found {k!r}; accepted: a whole number of at least 1.")
        return self.suggested[:k]

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return bounds between which the label of each item is expected, as Dask arrays; see `tupi.Denoised`."""
        center, errors = self.expected if self.task == "ranking" else self.predictions, self.left_out_errors
        sure = None if errors is None or self.task == "classification" else self.uncertainty
        return interval(level, center, sure, errors, self.method, self.task)

    def class_sets(self, level: float = 0.95, empty: bool = True) -> Any:
        """Return which classes each item may well have, as a Dask dataframe; see `tupi.Denoised.class_sets`."""
        known = self.left_out_errors, self.classes, None, empty, self.method, self.task
        columns = 2 if self.initial.ndim == 1 else self.initial.shape[1]
        names = class_sets(level, np.ones((1, columns)), *known).columns  # complains before anything is computed
        rows = self.predictions if self.predictions.ndim == 2 else self.predictions[:, None]
        sets = rows.map_blocks(_sets, level, known, dtype=bool, chunks=(rows.chunks[0], (len(names),)))
        return sets.to_dask_dataframe(columns=list(names))

    def _columns(self) -> list[str]:
        """Return the names of the columns of a table of the result."""
        if self.initial.ndim == 1:
            return ["initial", "prediction"]
        names = self.classes or tuple(range(self.initial.shape[1]))
        return [f"{kind}_{name}" for kind in ("initial", "prediction") for name in names]

    def without_items(self) -> Denoised:
        """Return the result in memory without its items: it has no predictions, but it can `predict`."""
        from tupi.cluster.predict import predict_in_blocks  # here, since it needs what this module defines

        nothing = np.empty((0, *self.initial.shape[1:]))
        said = self.weights, self.dependence, self.evidence, self.method, self.params, self.history, self.task
        return Denoised(
            nothing, nothing, *said, notes=self.notes, classes=self.classes, left_out_errors=self.left_out_errors,
            model=self.model,
            in_blocks=predict_in_blocks,
        )  # fmt: skip

    def predict(self, predictions: Any, features: Any, details: bool = False) -> Any:
        """Return better predictions of items that came later, on Dask or in memory; see `tupi.Denoised.predict`."""
        return self.without_items().predict(predictions, features, details)

    def save(self, path: str | Path) -> Path:
        """Write the result without its items into one file, from which `tupi.load` makes one that can `predict`."""
        return self.without_items().save(path)

    def to_frame(self) -> Any:
        """Return a Dask dataframe with columns ``initial`` and ``prediction``, or such a column for each class."""
        import dask.array as da

        parts = [one if one.ndim == 2 else one[:, None] for one in (self.initial, self.predictions)]
        together = da.concatenate(parts, axis=1)
        return together.rechunk({1: -1}).to_dask_dataframe(columns=self._columns())

    def compute(self) -> Array:
        """Return the predictions in memory."""
        return self.predictions.compute(**self._scheduler)

    def to_parquet(self, folder: str | Path) -> Path:
        """Write one Parquet file per block, ``part-00000.parquet`` and so on, and return the folder.

        Workers write; the folder must be one that they see, and new or empty, but for what a killed process left of its
        parts. Columns are ``initial`` and ``prediction``, after the ids
        if the predictions came with some.
        """
        import dask
        from dask import delayed

        folder = Path(folder).resolve()
        if not is_free(folder, PARTS):
            raise InputError(f"folder: {str(folder)!r} is not empty; accepted: a new or an empty folder.")
        name, ids = self.ids if self.ids is not None else ("id", [None] * len(self.initial.chunks[0]))
        parts = zip(self.initial.to_delayed().ravel(), self.predictions.to_delayed().ravel(), ids, strict=True)
        titles = self._columns()
        tasks = [
            delayed(_write_part)(folder / f"part-{k:05d}.parquet", name, titles, *part) for k, part in enumerate(parts)
        ]
        with filling(folder, PARTS):
            dask.compute(*tasks, **self._scheduler)
        return folder

    @property
    def _scheduler(self) -> dict[str, Any]:
        return {"scheduler": "threads" if self.client is None else self.client}


# When somebody asks for it, as long as there is a cluster.
setattr(DistributedDenoised, "dependence", WhenAsked("_dependence"))  # noqa: B010


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
