"""Methods on a Dask cluster: from tables in blocks to what `tupi.denoise` makes a result of, which stays in blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.fused import FusedEngine, FusedState
from tupi.algorithm.trajectory import Watch, follow
from tupi.cluster.auto import fit_auto
from tupi.cluster.checkpoint import Checkpoint, fingerprint
from tupi.cluster.cluster import ClusterOptions, connected, described
from tupi.cluster.coded import coded
from tupi.cluster.dependence import measured, prediction_width
from tupi.cluster.home import OnCluster, restored
from tupi.cluster.problem import Distributed, read
from tupi.cluster.reading import as_rows, named_rows
from tupi.cluster.result import given_shape, kept_vector, lazy_vector, while_connected
from tupi.cluster.search import LabelledOnWorkers, OnWorkers, Search
from tupi.embedding.embedding import embed_blocks, gaussian_maps
from tupi.embedding.prepared import Progress, in_scale
from tupi.inputs.checked_labels import as_labels
from tupi.inputs.labels import Labels
from tupi.inputs.problem import TASKS, Problem, check_task
from tupi.judging.evidence import Evidence
from tupi.methods.auto.auto import Auto
from tupi.methods.base import Fit, Method
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

Array = NDArray[Any]


def fit_on_cluster(
    predictions: Any,
    features: Any,
    labels: Any,
    method: Method,
    task: str,
    random_state: int,
    callback: Watch | None,
    impute: str | None,
    progress: Progress,
    cluster: ClusterOptions,
) -> tuple[Problem, list[str], Fit, dict[str, Any]]:
    """Fit a method to predictions and features that are in blocks; the parameters are those of `tupi.denoise`.

    Returns
    -------
    Problem
        The problem without its views.
    list of str
        Names of these.
    Fit
        What was found, but for columns: these are with the blocks.
    dict
        What `tupi.cluster.result.DistributedDenoised` has of single items, by the names of its attributes.
    """
    chosen = runnable(method)
    check_task(task)
    if isinstance(chosen, Tupi) and task != "ranking":
        raise InputError(
            f"task: found {task!r} with Dask; accepted there: 'ranking'. Elsewhere: {', '.join(TASKS)}, on a sample."
        )
    if impute is not None:
        raise InputError(f"impute: found {impute!r} with Dask; accepted: None, after filling in values yourself.")
    if isinstance(chosen, Auto):
        said, names, fit, fields = fit_auto(predictions, features, labels, chosen, task, callback, progress, cluster)
    else:
        said, names, fit, fields = _fit_tupi(
            predictions, features, labels, chosen, random_state, callback, progress, cluster
        )
    fields |= {
        "client": None if cluster.client is None else fields["client"],
        **{name: while_connected(name, cluster.client, fields.get(name)) for name in ("uncertainty", "suggested")},
    }
    return said, names, replace(fit, params=fit.params | {"engine": "dask"}), fields


def _fit_tupi(
    predictions: Any,
    features: Any,
    labels: Any,
    chosen: Tupi,
    random_state: int,
    callback: Watch | None,
    progress: Progress,
    cluster: ClusterOptions,
) -> tuple[Problem, list[str], Fit, dict[str, Any]]:
    """Fit the paper's method, see `fit_on_cluster`."""
    notes: tuple[str, ...] = ()
    task = "ranking"
    with connected(cluster.client, cluster.memory_limit) as client:
        progress(f"Reading on {described(client)}")
        problem = read(client, as_rows("predictions", predictions), named_rows(features))
        checked = as_labels(labels, problem.n)
        settings = chosen.settings(checked is not None)
        home, names = OnCluster(problem, by_prediction=True), list(problem.views)
        options = chosen._options(random_state)
        say = partial(_say_view, progress)
        maps = gaussian_maps(OnCluster(problem), names, options, say)
        progress("Embedding views")
        embedding = embed_blocks(home, names, maps, options, coded)
        f = home.column(_standard, home.predictions(), standard=problem.standard)
        sigma2 = prediction_width(home, f.parts(), problem.ends, chosen.prediction_bandwidth)
        engine = FusedEngine(embedding, problem.ends, sigma2, chosen.rank)
        labelled = None if checked is None else LabelledOnWorkers(home, checked, task, random_state)
        search = Search.of(settings, engine, f, labelled or OnWorkers())
        checkpoint: Checkpoint | None = None
        progress(f"Denoising on {described(client)}")
        if cluster.checkpoint is not None:
            key = _key(problem, settings, checked, random_state)
            checkpoint = Checkpoint(cluster.checkpoint, cluster.checkpoint_every, key)
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
        sizes = np.diff(problem.bounds).tolist()
        initial = lazy_vector(given_shape, problem.scores, sizes)
        fields = {
            "predictions": initial if final is None else _restored(home, final, sizes, cluster.client is None),
            "initial": initial,
            "dependence": measured(engine.begin(f), final),
            "evidence": evidence,
            "client": client,
        }
        fit = Fit(np.empty((0, 1)), settings[k].params() | {"n_iter": t}, steps, scores, notes)
        return Problem(np.empty(0), (), checked, task), names, fit, fields


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


def _say_view(progress: Progress, name: str) -> None:
    progress(f"Finding basis points of view {name}")


def _standard(rows: None, values: Array, *, standard: tuple[float, float, float]) -> Array:
    unit, mean, deviation = standard
    return (values / unit - mean) / deviation


def _key(problem: Distributed, settings: list[Tupi], labels: Labels | None, random_state: int) -> str:
    """Return the fingerprint of everything that decides the result: settings, labels, and the content of all blocks."""
    parts = [] if labels is None else vars(labels).values()
    known = [part for part in parts if isinstance(part, np.ndarray)]
    texts = [list(problem.views), [setting.params() for setting in settings], random_state]
    return fingerprint(*texts, problem.bounds, *known, *problem.client.gather(problem.on_blocks(fingerprint)))


def _restored(home: OnCluster, final: FusedState, sizes: list[int], owned: bool) -> Any:
    """Return the predictions in the input's scale as a Dask array, in files if the cluster is about to end."""
    scale, shift = (np.array([one]) for one in home.problem.scale)
    back = partial(_back, scale=scale, shift=shift)
    parts = home.client.map(restored, home.problem.opened, home.items, final.f.parts(), back=back, pure=False)
    return kept_vector(home.client, parts, sizes, owned)


def _back(column: Array, scale: Array, shift: Array) -> Array:
    return in_scale(column[:, None], scale, shift, probabilities=False)
