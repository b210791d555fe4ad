"""`Denoised.predict` for items on Dask: each block is predicted where it is, by the very same call."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.cluster.cluster import broadcast, check_installed
from tupi.cluster.reading import BlockedRows, as_rows, common_bounds
from tupi.cluster.result import DistributedDenoised
from tupi.inputs.features import check_row_count, named_views
from tupi.inputs.views import called_view
from tupi.results.outcome import Outcome, without_items
from tupi.results.predicted import Predicted
from tupi.runtime.errors import InputError

Array = NDArray[Any]


def predict_in_blocks(result: Any, predictions: Any, features: Any, details: bool, groups: Any) -> Any:
    """Return predictions of items that are in Dask collections, Zarr arrays or files, computed when they are asked for.

    Parameters
    ----------
    result : Denoised
        The result with its model.
    predictions, features, details, groups
        As for `tupi.Denoised.predict`. Tables are cut into blocks by position: those of predictions and views must have
        the same items in the same order, and ids are compared within a block.

    Returns
    -------
    dask.array.Array, or Series or DataFrame of dask.dataframe
        An array for arrays, and a Series or DataFrame for these. With details, a DataFrame with what
        `tupi.results.predicted.Predicted.to_frame` has.
    """
    check_installed()
    import dask.array as da
    import dask.dataframe as dd
    from dask import delayed

    known = result.model.known
    if groups is not None or known.groups == "relative":
        raise InputError("groups: found with Dask; accepted: without it, with all items of a group in memory.")
    scores = _rows("predictions", predictions)
    views = {name: _rows(called_view(name), values) for name, values in named_views(features).items()}
    for name, view in views.items():
        check_row_count(name, view.shape[0], scores.shape[0])
    tables = [scores, *views.values()]
    framed = [rows for rows in tables if isinstance(rows, Frames)]
    bounds = np.unique(framed[0].starts if framed else common_bounds(tables))  # partitions have ids of their own
    bare, columns = _shared(_bare(result)), [rows.blocks(bounds) for rows in tables]
    parts = [delayed(_predicted)(bare, list(views), *block, details=details) for block in zip(*columns, strict=True)]
    if details:
        nothing = np.empty((0, *result.initial.shape[1:]))
        meta = Predicted(nothing, nothing, np.empty(0), result.method, result.task, classes=result.classes).table()
        return dd.from_delayed(parts, meta=meta, verify_meta=False)
    if isinstance(scores, Frames):
        meta = scores.meta.astype(float)
        if meta.ndim == 2 and result.classes is not None and not known.binary:
            meta = pd.DataFrame(columns=list(result.classes), dtype=float)
        return dd.from_delayed(parts, meta=meta, verify_meta=False)
    sizes = np.diff(bounds).tolist()
    shape = result.initial.shape[1:]
    return da.concatenate(
        [da.from_delayed(part, (size, *shape), np.float64) for part, size in zip(parts, sizes, strict=True)]
    )


def _bare(result: Outcome) -> Outcome:
    """Return a result with nothing but what its `predict` needs."""
    nothing: dict[str, Any] = {"dependence": pd.DataFrame(), "seen": None, "origin": None, "kept_gains": None}
    if isinstance(result, DistributedDenoised):
        result = result.without_items()
    assert result.model is not None
    return without_items(replace(result, **nothing, model=result.model.to_store(), uncertainty=None, suggested=None))


def _shared(thing: Any) -> Any:
    """Return what all tasks get alike: on the cluster that is in use, or in the graph of tasks."""
    from dask import delayed
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return delayed(thing, pure=False, traverse=False)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        return client.submit(broadcast, thing, pure=False)


def _predicted(result: Any, names: list[str], scores: Any, *views: Any, details: bool) -> Any:
    """Return what is predicted of one block."""
    if isinstance(scores, np.ndarray) and scores.shape[1] == 1:
        scores = scores[:, 0]
    found = result.predict(scores, dict(zip(names, views, strict=True)), details=details)
    return found.table() if details else found


@dataclass(frozen=True, eq=False)
class Frames(BlockedRows):
    """The rows of a dataframe of Dask, which keep their headings, their ids and whatever kind of columns they have.

    Attributes
    ----------
    meta : Series or DataFrame of pandas
        A table like it without any row.
    """

    meta: Any


def _rows(name: str, values: Any) -> BlockedRows:
    """Return values in any form that `as_rows` accepts, or a dataframe with columns of any kind."""
    if not hasattr(values, "to_dask_array"):
        return as_rows(name, values)
    import dask
    from dask import delayed

    partitions = values.to_delayed()
    starts = np.cumsum([0, *dask.compute(*(delayed(len)(one) for one in partitions))])

    def blocks(bounds: Array) -> list[Any]:
        found = []
        for start, stop in itertools.pairwise(bounds.tolist()):
            first, last = np.searchsorted(starts, [start, stop - 1], side="right") - 1
            some = partitions[first : last + 1]
            found.append(delayed(_piece)(start - int(starts[first]), stop - start, *some))
        return found

    shape = int(starts[-1]), 1 if values.ndim == 1 else len(values.columns)
    return Frames(shape, starts, False, blocks, values._meta)


def _piece(start: int, size: int, *partitions: Any) -> Any:
    """Return some rows of partitions that follow one another."""
    together = partitions[0] if len(partitions) == 1 else pd.concat(partitions)
    return together if start == 0 and size == len(together) else together.iloc[start : start + size]
