"""`tupi denoise` on a Dask cluster: files that are larger than memory in, a folder of Parquet files out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from tupi.cli.showing import shown
from tupi.inputs.features import check_row_count
from tupi.inputs.files import InputFiles
from tupi.runtime.atomic import is_free
from tupi.runtime.errors import InputError

if TYPE_CHECKING:
    from tupi.cluster.result import DistributedDenoised
    from tupi.methods.base import Method

Array = NDArray[Any]


@contextmanager
def nothing_said_of_waiting() -> Iterator[None]:
    """Keep what Dask was waiting for from complaining after an interrupt that nobody waits any more."""
    log = logging.getLogger("asyncio")
    before = log.level
    log.setLevel(logging.CRITICAL)
    yield
    log.setLevel(before)  # not after an interrupt: such a complaint comes when what waited is thrown away


def denoise_on_cluster(
    files: InputFiles,
    out: Path,
    method: Method,
    scheduler: str | None,
    checkpoint: Path | None,
    memory_limit: str | None,
    bar: Any,
    **options: Any,
) -> tuple[DistributedDenoised, str]:
    """Denoise files block by block and write a folder of Parquet files; say what changed.

    Rows are matched by their order. With ids, which only Parquet files hold, tables must have the same ones in the same
    order; labels may then be given by id.

    Parameters
    ----------
    files : InputFiles
        What to read.
    out : Path
        The folder to write.
    method : Method
        How to denoise.
    scheduler : str, optional
        Address of a Dask scheduler; None for a local cluster.
    checkpoint : Path, optional
        See `tupi.denoise`.
    memory_limit : str, optional
        Of a local cluster.
    bar : ProgressBar
        Where progress goes.
    **options
        Of `tupi.denoise`.
    """
    import tupi
    from tupi.cluster.cluster import check_installed
    from tupi.cluster.result import PARTS

    check_installed()
    if out.suffix or not is_free(out, PARTS):
        raise InputError(f"--out: {out} is not a new or an empty folder; accepted with Dask: a folder.")
    if len(files.score) > 1:
        raise InputError(f"--score: found {len(files.score)} columns; accepted with Dask: one.")
    from tupi.cluster.cluster import connected
    from tupi.cluster.denoise import runnable
    from tupi.cluster.reading import as_rows
    from tupi.inputs.views import called_view
    from tupi.results.summary import what_changed

    runnable(method)  # complains before anything is read
    if files.pairs is not None:
        raise InputError("--pairs: found with Dask; accepted there: --labels alone, which may hold comparisons.")
    ids = None if files.id_column is None else Ids.of(files.scores, files.id_column)
    scores = as_rows("predictions", files.scores, list(files.score) or _others(files.scores, files.id_column))
    views = {}
    for name, path in files.features.items():
        columns = _others(path, files.id_column)
        views[name] = as_rows(called_view(name), path, columns)
        if ids is not None and files.id_column is not None and columns is not None:
            bar.say(f"Comparing ids of view {name}")
            ids.check_same(Ids.of(path, files.id_column), name)
    labels = None if files.labels is None else _labels(files, scores.shape[0], ids)
    with connected(scheduler, memory_limit) as client:
        result: Any = tupi.denoise(
            scores,
            views,
            labels,
            method=method,
            client=client,
            checkpoint=checkpoint,
            callback=bar.step,
            progress=bar.say,
            **options,
        )
        bar.say("Writing")
        result.to_parquet(out, None if ids is None else (files.id_column, ids.blocks(result.initial.chunks[0])))
        result.dependence  # noqa: B018 - computed while there is a cluster, since the summary shows it
        changed = what_changed(result, result.some_items() if result.changed else None)
    return result, changed


def _others(path: str, id_column: str | None) -> list[str] | None:
    """Return the columns of a Parquet file or folder but the ids, if it has ids."""
    if id_column is None or not _parquet_files(path):
        return None
    from pyarrow import parquet

    names = parquet.read_schema(_parquet_files(path)[0]).names
    return [name for name in names if name != id_column] if id_column in names else None


def _parquet_files(path: str) -> list[Path]:
    if Path(path).is_dir():
        return sorted(Path(path).glob("*.parquet"))
    return [Path(path)] if path.lower().endswith((".parquet", ".pq")) and Path(path).is_file() else []


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of a Parquet file or folder, read in pieces."""

    column: str
    files: list[Path]
    starts: Array

    @classmethod
    def of(cls, path: str, column: str) -> Ids:
        """Return the ids in a column."""
        from pyarrow import parquet

        files = [file.resolve() for file in _parquet_files(path)]
        if not files or column not in parquet.read_schema(files[0]).names:
            raise InputError(f"--id: {path} has no column {column!r}; accepted: a column of a Parquet file.")
        sizes = [parquet.read_metadata(file).num_rows for file in files]
        return cls(column, files, np.cumsum([0, *sizes]))

    def read(self, start: int, stop: int) -> Array:
        """Return the ids of some rows."""
        from pyarrow import parquet

        parts = []
        for file, first, last in zip(self.files, self.starts, self.starts[1:], strict=False):
            if start < last and stop > first:
                column = parquet.read_table(file, columns=[self.column]).column(0)
                parts.append(column.slice(max(start - first, 0), min(stop, last) - max(start, first)).to_numpy())
        return np.concatenate(parts)

    def blocks(self, sizes: Sequence[int]) -> list[Any]:
        """Return the ids in blocks of some sizes, lazily."""
        from dask import delayed

        return [delayed(self.read)(int(a), int(b)) for a, b in pairwise(np.cumsum([0, *sizes]))]

    def each(self, function: Callable[[Array, int], None]) -> None:
        """Call a function with the ids of each file and the first one's row."""
        for first, last in pairwise(self.starts):
            function(self.read(int(first), int(last)), int(first))

    def check_same(self, other: Ids, name: str) -> None:
        """Complain unless another table has the same ids in the same order."""
        check_row_count(name, other.starts[-1], self.starts[-1])

        def compare(mine: Array, first: int) -> None:
            theirs = other.read(first, first + len(mine))
            if len(different := np.flatnonzero(mine != theirs)):
                k = different[0]
                raise InputError(
                    f"features: row {first + k} of view {name!r} is {theirs[k]!r}, and {mine[k]!r} in the predictions; "
                    "accepted with Dask: the same ids in the same order."
                )

        self.each(compare)

    def positions(self, wanted: Sequence[str]) -> Array:
        """Return the rows of some ids, given as text."""
        import pandas as pd

        index = pd.Index(wanted)
        found = np.full(len(index), -1)

        def look(ids: Array, first: int) -> None:
            place = index.get_indexer(pd.Index(ids).astype(str))
            found[place[place >= 0]] = first + np.flatnonzero(place >= 0)

        self.each(look)
        if (found < 0).any():
            raise InputError(f"labels: no prediction has the id {index[found < 0][0]!r}; accepted: ids of predictions.")
        return found


def _labels(files: InputFiles, n: int, ids: Ids | None) -> Any:
    """Return labels by id, or by row where there are no ids."""
    from tupi.inputs.files.label_files import holds_pairs, read_labels
    from tupi.inputs.files.matching import Items, Sheet
    from tupi.inputs.files.reading import is_table
    from tupi.inputs.labels import Pairs, Values

    assert files.labels is not None
    sheet = Sheet.read("labels", files.labels) if is_table(files.labels) else None
    if sheet is None or ids is None:
        return read_labels(files.labels, sheet, files.label, Items(n))
    if holds_pairs(sheet):
        return Pairs(*(ids.positions(sheet.frame[column].astype(str).tolist()) for column in ("higher", "lower")))
    sheet.check_has("--id", ids.column)
    others = [name for name in sheet.frame.columns if name != ids.column]
    if files.label is not None:
        sheet.check_has("--label", files.label)
    elif len(others) != 1:
        raise InputError(f"labels: {files.labels} has {len(others)} value columns; accepted: one, named by --label.")
    values = sheet.frame[files.label or others[0]]
    known = values.notna()
    return Values(ids.positions(sheet.frame[ids.column][known].astype(str).tolist()), values[known].to_numpy())


def print_cluster_summary(result: DistributedDenoised, changed: str, out: Path) -> None:
    """Print what a person wants to know about a run on a cluster, and last what it comes to, as for any other run."""
    from tupi.cli.printing import print_ending, say

    n = result.initial.shape[0]
    steps = f", {result.params['n_iter']} steps" if "n_iter" in result.params else ""
    say(f"{n:,} items, method {result.method}{steps}")
    table = result.dependence.assign(weight=result.weights.iloc[-1]).rename(index=shown)
    click.echo(table.to_string(float_format="{:.3f}".format))
    for line in (*result.notes, f"Wrote {out}."):
        say(line)
    print_ending(result, changed)
