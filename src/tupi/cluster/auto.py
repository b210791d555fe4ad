"""The default method on a Dask cluster: the very passes that run in memory, on blocks that workers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.blocks.home import Kept
from tupi.cluster.cluster import ClusterOptions, connected, described
from tupi.cluster.home import OnCluster, everyone, restored
from tupi.cluster.problem import read
from tupi.cluster.reading import as_rows, named_rows
from tupi.cluster.result import DistributedDenoised, given_shape, kept_vector, lazy_vector
from tupi.embedding.hsic import dependence_table, hsic
from tupi.embedding.prepared import standardize
from tupi.inputs.labels import relabel, subset
from tupi.inputs.new_items import Known, KnownView
from tupi.inputs.problem import TASKS, Problem, without_views
from tupi.judging.evidence import judged
from tupi.judging.metrics import metric_of
from tupi.methods.auto.auto import Auto, Solution, steps_of, why
from tupi.methods.auto.items import Scale
from tupi.methods.auto.labelfree import LabelFree, label_free, view_rows
from tupi.methods.auto.model import model_of
from tupi.results.outcome import history_table, weights_table
from tupi.runtime.errors import InputError, nearest
from tupi.runtime.threads import one_blas_thread

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

    The predictions come to this process: one number for each item, or for each of its classes. Views never do, but for
    a sample.
    """
    if task not in TASKS:
        raise InputError(f"task: found {task!r}; accepted: {', '.join(TASKS)}.{nearest(str(task), TASKS)}")
    if impute is not None:
        raise InputError(f"impute: found {impute!r} with Dask; accepted: None, after filling in values yourself.")
    if options.checkpoint is not None:
        raise InputError("checkpoint: method 'auto' has no steps to go on from; accepted: with method 'tupi'.")
    # As in memory, BLAS runs on one thread: the answer must not depend on how many there are.
    with connected(options.client, options.memory_limit) as client, one_blas_thread():
        progress(f"Reading on {described(client)}")
        given_views = named_rows(features)
        problem = read(client, as_rows("predictions", predictions), given_views, task)
        home = OnCluster(problem)
        values, rows = zip(*client.gather(problem.opened), strict=True)
        said = without_views(_called(np.concatenate(values), predictions, task), labels, task)
        items = np.concatenate([start + here for start, here in zip(problem.bounds, rows, strict=False)])
        covered = np.zeros(problem.n, bool)
        covered[items] = True
        f, scale, shift = standardize(said.columns, covered)
        units = Scale.of(said, scale, shift)
        base = label_free(home, said.columns[items], units.worked_on(f), task == "ranking", progress)
        useful = None if said.labels is None else subset(said.labels, items)
        names = list(problem.views)
        found = method.solve(base, None if useful is None else relabel(useful, items), units, names, True, progress)

        def kept(function: Callable[..., Array], columns: Kept, width: int = 1, **common: Any) -> Any:
            parts = client.map(function, problem.opened, home.items, list(columns), **common, pure=False)
            return kept_vector(client, parts, np.diff(problem.bounds).tolist(), options.client is None, width)

        width = values[0].shape[1]
        initial = lazy_vector(given_shape, problem.scores, np.diff(problem.bounds).tolist(), columns=width)
        before = after = f[base.sample]
        changed, final = found.columns is not None, initial
        if found.columns is not None:
            final = kept(restored, found.columns, width, back=units.predictions)
            after = units.both(home.picked(base.sample, _same, found.columns)[0])
        steps = steps_of(base, (initial, final), (before, after), callback)
        constant = tuple(name for name in given_views if name not in problem.views)
        views = tuple(KnownView(*each, None, None, None) for each in zip(names, problem.contents.views, strict=True))
        given = task, said.initial.shape[1:], said.are_probabilities, said.classes
        known = Known(*given, views, constant, said.binary)
        model = model_of(known, f, base, units, found.mixture(base, units), found.answer)
        asked: dict[str, Callable[[], Any]] = {}
        if found.uncertainty is not None:
            sure = found.uncertainty
            asked["uncertainty"] = lambda: kept(everyone, sure())
        if found.suggested is not None:
            suggested = found.suggested
            asked["suggested"] = lambda: items[suggested()]

        def dependence() -> pd.DataFrame:
            return _dependence(base, names, before, after)

        return DistributedDenoised(
            predictions=final,
            initial=initial,
            weights=weights_table(steps, names, changed),
            dependence=dependence() if options.client is None else cast(pd.DataFrame, dependence),  # when asked
            evidence=_evidence(found, said, items, changed),
            method=method.name,
            params=method.params() | found.params | {"engine": "dask", "random_state": random_state},
            history=history_table(steps, []),
            task=task,
            notes=(*said.notes, why(said.labels, useful) + found.note),
            changed=changed,
            client=client if options.client is not None else None,
            classes=said.classes,
            expected=None if found.expected is None else kept(everyone, found.expected),
            left_out_errors=found.left_out_errors,
            asked=asked,
            model=model,
        )


def _called(values: Array, predictions: Any, task: str) -> Any:
    """Return predictions of classes under the names of their columns, if they came with some."""
    if task != "classification":
        return given_shape(values)
    if hasattr(predictions, "columns"):
        return pd.DataFrame(values, columns=list(predictions.columns))
    return pd.Series(values[:, 0], name=predictions.name) if hasattr(predictions, "to_frame") else given_shape(values)


def _evidence(found: Solution, said: Problem, items: NDArray[np.int64], changed: bool) -> Any:
    """Return what the labels say, as in memory; None without labels."""
    if said.labels is None or found.gain is None:
        return None
    left_out = None if found.left_out is None else (items[found.left_out[0]], found.left_out[1])
    return judged(found.gain, left_out, said, said.labels, changed, metric_of(said.task, said.labels))


def _same(rows: Any, columns: Array) -> list[Array]:
    return [columns]


def _dependence(base: LabelFree, names: list[str], before: Array, after: Array) -> pd.DataFrame:
    """Return normalised HSIC of each view with the predictions before and after, by the items of the sample."""
    views = base.home.picked(base.sample, view_rows, n_views=len(names))
    found = []
    for view, has in zip(views[: len(names)], views[len(names) :], strict=True):
        found.append([_mean_hsic(view[has], one[has]) if has.sum() > 3 else 0.0 for one in (before, after)])
    figures = np.array(found)
    return dependence_table(names, figures[:, 0], figures[:, 1], base.relations.p_values)


def _mean_hsic(view: Array, columns: Array) -> float:
    """Return the mean over the columns of predictions."""
    return float(np.mean([hsic(view, one, normalized=True) for one in columns.T]))
