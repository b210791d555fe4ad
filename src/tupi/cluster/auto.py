"""The default method on a Dask cluster: the very passes that run in memory, on blocks that workers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.cluster import prepare
from tupi.cluster.cluster import ClusterOptions, connected, described
from tupi.cluster.home import OnCluster, opened, restored, taking_part
from tupi.cluster.reading import as_rows, named_rows
from tupi.cluster.result import DistributedDenoised, column, kept_vector, lazy_vector
from tupi.embedding.hsic import dependence_table, hsic
from tupi.inputs.labels import as_labels, relabel, subset
from tupi.judging.evidence import stated
from tupi.methods.auto.auto import Auto, steps_of
from tupi.methods.auto.labelfree import LabelFree, label_free, view_rows
from tupi.methods.auto.notes import why
from tupi.methods.auto.scale import Scale
from tupi.results.outcome import history_table, weights_table
from tupi.runtime.errors import InputError
from tupi.runtime.threads import one_blas_thread

TASKS = ("ranking", "regression")
Array = NDArray[Any]


def denoise_with_auto(
    predictions: Any,
    features: Any,
    labels: Any,
    method: Auto,
    task: str,
    random_state: int,
    callback: Watch | None,
    impute: str | None,
    progress: Callable[[str], None],
    options: ClusterOptions,
) -> DistributedDenoised:
    """Improve predictions with features, both in blocks on a cluster; see `tupi.denoise`.

    The predictions come to this process: one number for each item. Views never do, but for a sample.
    """
    if task not in TASKS:
        raise InputError(f"task: found {task!r} with Dask; accepted there: {', '.join(TASKS)}.")
    if impute is not None:
        raise InputError(f"impute: found {impute!r} with Dask; accepted: None, after filling in values yourself.")
    if options.checkpoint is not None:
        raise InputError("checkpoint: method 'auto' has no steps to go on from; accepted: with method 'tupi'.")
    # As in memory, BLAS runs on one thread: the answer must not depend on how many there are.
    with connected(options.client, options.memory_limit) as client, one_blas_thread():
        progress(f"Reading on {described(client)}")
        problem = prepare.read(client, as_rows("predictions", predictions), named_rows(features))
        given = as_labels(labels, problem.n)
        home, blocks = OnCluster(problem), prepare.on_blocks(problem, opened)
        values, covered = zip(*client.gather(client.map(taking_part, blocks, pure=False)), strict=True)
        unit, mean, deviation = problem.standard
        f = ((np.concatenate(values) / unit - mean) / deviation)[:, None]
        items = np.flatnonzero(np.concatenate(covered))
        base = label_free(home, f, task == "ranking", progress)
        useful = None if given is None else subset(given, items)
        scale = Scale(task, np.array([deviation * unit]), np.array([mean * unit]), False)
        names = list(problem.views)
        found = method.solve(base, None if useful is None else relabel(useful, items), scale, names, False, progress)
        sizes = np.diff(problem.bounds).tolist()
        initial = lazy_vector(column, problem.score_blocks, sizes)
        before = after = f[base.sample]
        changed, final = found.columns is not None, initial
        if found.columns is not None:
            back = {"scale": float(scale.scale[0]), "shift": float(scale.shift[0])}
            parts = client.map(restored, blocks, list(found.columns), **back, pure=False)
            final = kept_vector(client, parts, sizes, owned=options.client is None)
            after = home.picked(base.sample, _same, found.columns)[0]
        steps = steps_of(base, (initial, final), (before, after), callback)
        evidence = None if given is None or found.gain is None else stated(found.gain, given, task, changed)
        progress("Measuring dependence")
        return DistributedDenoised(
            predictions=final,
            initial=initial,
            weights=weights_table(steps, names, changed),
            dependence=_dependence(base, names, before, after),
            evidence=evidence,
            method=method.name,
            params=method.params() | found.params | {"engine": "dask", "random_state": random_state},
            history=history_table(steps, []),
            task=task,
            notes=(why(given, useful) + found.note,),
            changed=changed,
            client=client if options.client is not None else None,
        )


def _same(rows: Any, columns: Array) -> list[Array]:
    return [columns]


def _dependence(base: LabelFree, names: list[str], before: Array, after: Array) -> pd.DataFrame:
    """Return normalised HSIC of each view with the predictions before and after, by the items of the sample."""
    views = base.home.picked(base.sample, view_rows, n_views=len(names))
    found = []
    for view, has in zip(views[: len(names)], views[len(names) :], strict=True):
        found.append(
            [hsic(view[has], one[has, 0], normalized=True) if has.sum() > 3 else 0.0 for one in (before, after)]
        )
    figures = np.array(found)
    return dependence_table(names, figures[:, 0], figures[:, 1], base.relations.p_values)
