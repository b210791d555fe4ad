"""`tupi.denoise` on a Dask cluster: from tables in blocks to a result whose predictions stay in blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.choice import follow
from tupi.algorithm.trajectory import Watch
from tupi.cluster import prepare
from tupi.cluster.auto import denoise_with_auto
from tupi.cluster.blocks import diagonals
from tupi.cluster.checkpoint import Checkpoint, fingerprint
from tupi.cluster.cluster import ClusterOptions, connected, described
from tupi.cluster.engine import Blocks, DaskEngine, DaskState
from tupi.cluster.labelled import LabelledOnWorkers
from tupi.cluster.reading import as_rows, named_rows
from tupi.cluster.result import DistributedDenoised, column, kept_vector, lazy_vector, restored
from tupi.cluster.search import OnWorkers, Search
from tupi.embedding.hsic import KernelMoments, dependence_table, p_value
from tupi.inputs.labels import Labels, as_labels
from tupi.inputs.problem import TASKS
from tupi.judging.evidence import Evidence
from tupi.methods.auto.auto import Auto
from tupi.methods.base import Method
from tupi.methods.tupi import Tupi
from tupi.results.outcome import history_table, weights_table
from tupi.runtime.errors import InputError

Array = NDArray[Any]
Progress = Callable[[str], None]


def denoise_distributed(
    predictions: Any,
    features: Any,
    labels: Any,
    method: Method,
    task: str,
    random_state: int,
    callback: Watch | None,
    impute: str | None,
    progress: Progress,
    options: ClusterOptions,
) -> DistributedDenoised:
    """Improve predictions with features, both in blocks on a cluster; see `tupi.denoise`."""
    chosen = runnable(method)
    if isinstance(chosen, Auto):
        return denoise_with_auto(
            predictions, features, labels, chosen, task, random_state, callback, impute, progress, options
        )
    notes: tuple[str, ...] = ()
    if task != "ranking":
        raise InputError(
            f"task: found {task!r} with Dask; accepted there: 'ranking'. Elsewhere: {', '.join(TASKS)}, on a sample."
        )
    if impute is not None:
        raise InputError(f"impute: found {impute!r} with Dask; accepted: None, after filling in values yourself.")
    with connected(options.client, options.memory_limit) as client:
        progress(f"Reading on {described(client)}")
        problem = prepare.read(client, as_rows("predictions", predictions), named_rows(features))
        checked = as_labels(labels, problem.n)
        settings = chosen.settings(checked is not None)
        blocks = prepare.embed(problem, chosen._options(random_state), progress)
        sigma2 = prepare.prediction_width(blocks, chosen.prediction_bandwidth)
        engine = DaskEngine(blocks, sigma2, chosen.rank)
        labelled = None if checked is None else LabelledOnWorkers(blocks, problem.bounds, checked, task, random_state)
        search = Search.of(settings, engine, labelled or OnWorkers())
        checkpoint: Checkpoint | None = None
        progress(f"Denoising on {described(client)}")
        if options.checkpoint is not None:
            key = _key(problem, settings, checked, random_state)
            checkpoint = Checkpoint(options.checkpoint, options.checkpoint_every, key)
            t = checkpoint.resume(search, engine)
            notes = (*notes, *(f"Checkpoint {name} was damaged and left aside." for name in checkpoint.damaged))
            if t:
                notes = (*notes, f"Resumed after step {t} from {checkpoint.folder}.")
        votes = [] if labelled is None else labelled.votes(search.trajectories, chosen.patience)

        def after(live: list[int]) -> None:
            if votes:
                search.keep(*votes[0].best)
            if checkpoint is not None:
                checkpoint.save(search, live)

        follow(search.trajectories, votes, callback, after)
        evidence: Evidence | None = None
        if labelled is None:
            k, t, scores, final = 0, search.runs[0].t, [], search.runs[0].state
        else:
            k, t = votes[0].best
            scores, final = votes[0].scores[k][: t + 1], None if search.best is None else search.best.state
            notes = (*notes, settings[k].why(t, len(settings)))
            progress("Judging the gain on held-out labels")
            evidence = labelled.judge(search.trajectories, chosen.patience, t > 0)
        final = final if t else None
        progress("Measuring dependence")
        steps = search.trajectories[k].steps[: t + 1]
        return DistributedDenoised(
            predictions=_predictions(problem, blocks, final, owned=options.client is None),
            initial=lazy_vector(column, problem.score_blocks, np.diff(problem.bounds).tolist()),
            weights=weights_table(steps, list(problem.views), t > 0),
            dependence=_dependence(blocks, engine.begin(), final, list(problem.views)),
            evidence=evidence,
            method=chosen.name,
            params=settings[k].params() | {"n_iter": t, "engine": "dask", "random_state": random_state},
            history=history_table(steps, scores),
            task=task,
            notes=notes,
            changed=t > 0,
            client=client if options.client is not None else None,
        )


def runnable(method: Method) -> Tupi | Auto:
    """Return the settings to run with; complain about methods that cannot run at this scale."""
    if isinstance(method, Auto) and method.name == Auto.name:
        return method
    if method.name != Tupi.name or not isinstance(method, Tupi):
        raise InputError(
            f"method: {method.name!r} does not run with Dask, since it needs all items in one memory; accepted there: "
            f"'auto' and 'tupi' (--method auto). For {method.name!r}, take a sample of the items as arrays."
        )
    if method.kernel == "diffusion":
        raise InputError("kernel: 'diffusion' needs the neighbour graph of all items; accepted with Dask: 'gaussian'.")
    if method.joint:
        raise InputError("joint: found True with Dask; accepted: False, or views put side by side as one.")
    if method.engine not in ("fused", "dask"):
        raise InputError(f"engine: found {method.engine!r} for Dask collections; accepted: 'dask'.")
    return replace(method, kernel="gaussian")


def _key(problem: prepare.Distributed, settings: list[Tupi], labels: Labels | None, random_state: int) -> str:
    """Return the fingerprint of everything that decides the result: settings, labels, and the content of all blocks."""
    known = [] if labels is None else [np.asarray(part) for part in vars(labels).values() if part is not None]
    texts = [list(problem.views), [setting.params() for setting in settings], random_state]
    return fingerprint(*texts, problem.bounds, *known, *problem.client.gather(prepare.on_blocks(problem, fingerprint)))


def _predictions(problem: prepare.Distributed, blocks: Blocks, final: DaskState | None, owned: bool) -> Any:
    """Return the predictions in the input's scale as a Dask array, in files if the cluster is about to end."""
    sizes = np.diff(problem.bounds).tolist()
    if final is None:
        return lazy_vector(column, problem.score_blocks, sizes)
    unit, mean, deviation = blocks.standard
    table = final.table
    numbers = {"low": table.low, "per_unit": table.per_unit, "scale": deviation * unit, "shift": mean * unit}
    parts = blocks.each(restored, final.places, **numbers)
    return kept_vector(blocks.client, parts, sizes, owned)


def _dependence(blocks: Blocks, initial: DaskState, final: DaskState | None, names: list[str]) -> pd.DataFrame:
    """Return normalised HSIC of each view with the predictions before and after, by the views' kernels of the run.

    The p-value is of all items, times the number of views: a sample of them by content would take a sort of all.
    """
    found = blocks.total(blocks.each(diagonals, offsets=blocks.offsets))
    views = [KernelMoments(blocks.n, 1.0, *each) for each in found.T]
    before = _again(blocks, initial)
    after = before if final is None else _again(blocks, final)
    p_values = [
        min(1.0, len(views) * p_value(float(d), before.moments(), view))
        for d, view in zip(before.dependence, views, strict=True)
    ]
    return dependence_table(names, before.dependence, after.dependence, p_values)


def _again(blocks: Blocks, state: DaskState) -> DaskState:
    """Return a state under the width that `tupi.hsic` takes, so that figures of different methods compare."""
    here = replace(blocks, ends=state.table.prediction(state.ends))
    return DaskEngine(here, state.width_rule()).at(state)
