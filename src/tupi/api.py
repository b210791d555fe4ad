"""`tupi.denoise`: from input to result in one call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from tupi.algorithm.trajectory import Watch
from tupi.cluster.detect import check_installed, wants_dask
from tupi.cluster.result import DistributedDenoised
from tupi.embedding.hsic import DEFAULTS, dependence_table, view_dependence
from tupi.embedding.prepared import Prepared, Progress, silent
from tupi.inputs.checks import check_seed
from tupi.inputs.labels import Labels, Pairs
from tupi.inputs.problem import make_problem, standardize
from tupi.inputs.tables import columns_table
from tupi.inputs.types import Column, DaskClient, Features, Lazy, Table
from tupi.judging.evidence import judge, stated
from tupi.methods import make_method
from tupi.methods.auto.auto import Auto, Fuse, Smooth, view_p_values
from tupi.methods.base import Fit, Method
from tupi.methods.tupi import Tupi
from tupi.results.outcome import history_table, weights_table
from tupi.results.result import Denoised
from tupi.runtime.errors import InputError
from tupi.runtime.memory import as_bytes


def denoise(
    predictions: Table | Lazy,
    features: Features,
    labels: Labels | Column | None = None,
    method: str | Method = "auto",
    task: str = "ranking",
    random_state: int = 0,
    callback: Watch | None = None,
    *,
    groups: Column | None = None,
    impute: str | None = None,
    memory_limit: str | int | None = None,
    progress: Progress = silent,
    client: DaskClient | str | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 5,
    **params: Any,
) -> Denoised | DistributedDenoised:
    """Improve predictions with features that the predictor never saw.

    Dask collections and Zarr arrays, as predictions or as views, are denoised on a Dask cluster, and so is everything
    with ``engine="dask"`` or a ``client``: blocks of items stay on the workers, and the result is a
    `tupi.cluster.result.DistributedDenoised`, whose predictions are a Dask array. That takes ``"auto"`` or ``"tupi"``.

    Parameters
    ----------
    predictions : array_like of shape (n,) or (n, c), Series or DataFrame
        Scores of n items, higher meaning more; class scores for classification.
    features : dict, list, array_like or DataFrame
        Views of the same items: ``{"gist": (n, d) array, ...}``, a list of arrays, one array, or a DataFrame
        (MultiIndex columns give one view per first level, flat columns one view). Tables may be of pandas, polars or
        pyarrow, and their columns of any kind: text, categories, dates; ``result.columns`` says what became of each. A
        row that is NaN or masked means that the item lacks that view. Pandas objects are matched by their index: items
        without a row lack the view, and rows of other ids are left out with a warning. Larger than memory: a
        `numpy.memmap`, the path of an NPY or Parquet file of numbers, or an iterator of chunks of rows, in place of an
        array.
    labels : Values, Pairs, Series or array_like of shape (n,), optional
        What is known of some items; in an array, NaN (or masked) where unknown. A Series is matched by its index if the
        predictions have one, and so are Values and Pairs whose items are text. Classes are meant by the names of the
        predictions' columns if they have any, and by their position otherwise.
    method : str or Method
        A name that ``tupi.methods()`` lists, or a configured method such as ``tupi.methods.Tupi(lam=0.3)``.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    random_state : int
        Same seed, same result.
    callback : callable, optional
        Called with each `Step`; returning True stops, and the best so far is returned.
    groups : array_like of shape (n,) or Series, optional
        The group of each item, such as the query that it is a result of: for ranking, if items are compared within
        groups only. Predictions, views and labels count relative to their group; a Series is matched by its index.
    impute : {None, "median"}
        What to do about single missing values within a row of a view: fail, or fill in the column's median.
    memory_limit : str or int, optional
        Such as ``"1GB"``: with ``method="tupi"`` what would take more goes to temporary files (set TMPDIR to say
        where); ``"auto"`` reads views in blocks, and says if its columns do not fit. Others keep graphs in memory.
    progress : callable, optional
        Called with a sentence whenever something long begins.
    client : distributed.Client or str, optional
        The Dask cluster to use, or its scheduler's address; None starts a local one for the call if Dask is needed.
    checkpoint : str or Path, optional
        With Dask: a folder that all workers see, to save where the run stands. The same call later goes on from there.
    checkpoint_every : int
        Steps between two checkpoints.
    **params
        Parameters of the method that was named; for ``"tupi"`` see `tupi.methods.Tupi`. Others are refused.

    Returns
    -------
    Denoised or DistributedDenoised
        The better predictions with their explanation; the latter from a Dask cluster.

    Examples
    --------
    >>> import numpy as np, tupi
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=300)
    >>> scores = truth + rng.normal(size=300)
    >>> views = {"clean": truth[:, None], "junk": rng.normal(size=(300, 3))}
    >>> result = tupi.denoise(scores, views, labels=tupi.Values(range(30), truth[:30]))
    >>> tupi.pairwise_accuracy(result.predictions, truth) > tupi.pairwise_accuracy(scores, truth) + 0.05
    True
    """
    chosen = make_method(method, params, caller="denoise")
    random_state = check_seed(random_state)
    if memory_limit is not None and chosen.name not in (Tupi.name, Auto.name, Fuse.name, Smooth.name):
        raise InputError(
            f"memory_limit: found {memory_limit!r} with method {chosen.name!r}, which keeps its graphs in memory; "
            'accepted: with method="auto" or "tupi".'
        )
    if wants_dask(predictions, features, chosen, client):
        check_installed()
        if groups is not None:
            raise InputError("groups: found with Dask; accepted: without it, with predictions and views in memory.")
        from tupi.cluster.cluster import ClusterOptions  # Dask is an extra
        from tupi.cluster.denoise import denoise_distributed

        options = ClusterOptions(client, checkpoint, checkpoint_every, memory_limit)
        return denoise_distributed(
            predictions, features, labels, chosen, task, random_state, callback, impute, progress, options
        )
    if checkpoint is not None:
        raise InputError("checkpoint: found a folder without Dask; accepted: with engine='dask' or Dask collections.")
    problem = make_problem(predictions, features, labels, task, impute, groups)
    return denoise_prepared(Prepared(problem, random_state, progress, as_bytes(memory_limit)), chosen, callback)


def denoise_prepared(prepared: Prepared, method: Method, callback: Watch | None = None) -> Denoised:
    """Return what `denoise` would for a problem that is ready: whatever was embedded already is used again."""
    problem = prepared.problem
    fit = method.fit(prepared, problem.labels, callback)
    final = fit.predictions(prepared)
    evidence, accepted = None, not np.array_equal(final, problem.initial)
    if problem.labels is not None and fit.gain is not None:
        evidence = stated(fit.gain, problem.labels, problem.task, accepted)
    elif problem.labels is not None:
        prepared.progress("Judging the gain on held-out labels")
        evidence = judge(method.predictor(prepared), problem, problem.labels, accepted, prepared.random_state)
    return Denoised(
        predictions=np.array(final),
        initial=np.array(problem.initial),
        weights=weights_table(fit.steps, problem.names, accepted),
        dependence=cast(pd.DataFrame, lambda: _dependence(prepared, fit, final)),  # when somebody looks
        evidence=evidence,
        method=method.name,
        params=fit.params | {"random_state": prepared.random_state},
        history=history_table(fit.steps, fit.scores),
        task=problem.task,
        index=problem.index,
        classes=problem.classes,
        notes=fit.notes + _weights_note(problem.labels, method),
        uncertainty=_of_everyone(prepared, fit.uncertainty),
        expected=_of_everyone(prepared, fit.expected),
        left_out_errors=fit.left_out_errors,
        columns=columns_table(problem.encodings.values()),
        library=problem.library,
        suggested=None if fit.suggested is None else prepared.items[fit.suggested],
        groups=None if problem.groups is None else problem.groups.ids,
    )


def _weights_note(labels: Labels | None, method: Method) -> tuple[str, ...]:
    """Return a sentence if comparisons have weights that the method does not use."""
    if not isinstance(labels, Pairs) or labels.weights is None or isinstance(method, Auto):
        return ()
    return (f"Method {method.name!r} counts each comparison once, whatever its weight; 'auto' uses weights.",)


def _of_everyone(prepared: Prepared, values: np.ndarray | None) -> np.ndarray | None:
    """Return values of the items that take part for all items, NaN for those without any view."""
    if values is None:
        return None
    everyone = np.full(prepared.problem.n, np.nan)
    everyone[prepared.items] = values
    return everyone


def _dependence(prepared: Prepared, fit: Fit, final: np.ndarray) -> pd.DataFrame:
    """Return ``tupi.hsic(view, predictions, normalized=True)`` of each view with the predictions before and after.

    For classification it is the mean over class columns as methods see them: logarithms, if they are probabilities.
    The p-value is that by which "auto" tells views that depend on the initial predictions from others.
    """
    embedding = prepared.embedding(replace(DEFAULTS, random_state=prepared.random_state))
    if final.ndim == 1:
        relative = final if prepared.problem.groups is None else prepared.problem.groups.relative(final)
        new = standardize(relative[prepared.items, None])[0]
    else:
        new = fit.columns
    before, after = (
        np.mean([view_dependence(embedding, column) for column in columns[prepared.order].T], axis=0)
        for columns in (prepared.f, new)
    )
    return dependence_table(embedding.names, before, after, view_p_values(prepared))
