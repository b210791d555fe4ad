"""The default method on a Dask cluster: the very passes that run in memory, on blocks that workers have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
from tupi.cluster.result import given_shape, kept_vector, lazy_vector
from tupi.embedding.hsic import dependence_table, hsic
from tupi.embedding.prepared import standardize
from tupi.inputs.labels import subset
from tupi.inputs.new_items import Known, KnownView
from tupi.inputs.problem import Problem, without_views
from tupi.methods.auto.auto import Auto, steps_of, why
from tupi.methods.auto.items import Scale, view_rows
from tupi.methods.auto.labelfree import LabelFree, label_free
from tupi.methods.auto.model import mixture_of, model_of
from tupi.methods.base import Fit
from tupi.runtime.computing import one_blas_thread
from tupi.runtime.errors import InputError

Array = NDArray[Any]


def fit_auto(
    predictions: Any,
    features: Any,
    labels: Any,
    method: Auto,
    task: str,
    callback: Watch | None,
    progress: Callable[[str], None],
    options: ClusterOptions,
) -> tuple[Problem, list[str], Fit, dict[str, Any]]:
    """Fit "auto" to items in blocks, see `tupi.cluster.denoise.fit_on_cluster`.

    The predictions come to this process: one number for each item, or for each of its classes. Views never do, but for
    a sample.
    """
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
        found, answer, blend = method.solve(base, useful, items, units, names, True, progress)

        def kept(function: Callable[..., Array], columns: Kept, width: int = 1, **common: Any) -> Any:
            parts = client.map(function, problem.opened, home.items, list(columns), **common, pure=False)
            return kept_vector(client, parts, np.diff(problem.bounds).tolist(), options.client is None, width)

        width = values[0].shape[1]
        initial = lazy_vector(given_shape, problem.scores, np.diff(problem.bounds).tolist(), columns=width)
        before = after = f[base.sample]
        final, mixture = initial, None
        if found.columns is not None:
            final = kept(restored, cast(Kept, found.columns), width, back=units.predictions)
            after = units.both(home.picked(base.sample, _same, cast(Kept, found.columns))[0])
            mixture = mixture_of(base, units, answer, blend)
        constant = tuple(name for name in given_views if name not in problem.views)
        views = tuple(KnownView(*each, None, None, None) for each in zip(names, problem.contents.views, strict=True))
        given = task, said.initial.shape[1:], said.are_probabilities, said.classes
        model = model_of(Known(*given, views, constant, said.binary), f, base, units, mixture, answer)
        sure, suggested, expected = found.uncertainty, found.suggested, found.expected

        def dependence() -> pd.DataFrame:
            return _dependence(base, names, before, after)

        fields = {
            "predictions": final,
            "initial": initial,
            "dependence": dependence() if options.client is None else dependence,  # when asked
            "uncertainty": None if sure is None else lambda: kept(everyone, cast(Kept, sure())),
            "suggested": None if suggested is None else lambda: items[suggested()],
            "expected": None if expected is None else kept(everyone, cast(Kept, expected)),
            "model": model,
        }
        fit = replace(
            found,
            steps=steps_of(base, (initial, final), (before, after), callback),
            notes=(why(said.labels, found) + found.notes[0],),
        )
        return said, names, fit, fields | {"client": client}


def _called(values: Array, predictions: Any, task: str) -> Any:
    """Return predictions of classes under the names of their columns, if they came with some."""
    if task != "classification":
        return given_shape(values)
    if hasattr(predictions, "columns"):
        return pd.DataFrame(values, columns=list(predictions.columns))
    return pd.Series(values[:, 0], name=predictions.name) if hasattr(predictions, "to_frame") else given_shape(values)


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
