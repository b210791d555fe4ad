"""`tupi.denoise`: from input to result in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from tupi.algorithm.trajectory import Watch
from tupi.cluster.cluster import check_installed
from tupi.cluster.predict import predict_in_blocks
from tupi.cluster.result import DistributedDenoised
from tupi.embedding.hsic import DEFAULTS, dependence_table, view_dependence
from tupi.embedding.prepared import Prepared, Progress, silent, standardize
from tupi.inputs.features import any_lazy
from tupi.inputs.labels import Labels, Pairs, Values
from tupi.inputs.new_items import Known, grown_problem
from tupi.inputs.numbers import as_bytes, check_seed
from tupi.inputs.problem import Problem, make_problem, with_more_labels
from tupi.inputs.seen import Seen
from tupi.inputs.types import Column, DaskClient, FeaturesLike, Lazy, Table
from tupi.judging.catalogue import MetricLike, metric_for
from tupi.judging.evidence import Evidence, judged, speaks_against
from tupi.judging.folds import judge
from tupi.judging.metrics import Metric
from tupi.methods import make_method
from tupi.methods.auto.auto import Auto, Fuse, Smooth
from tupi.methods.auto.growth import can_grow, grow
from tupi.methods.base import Fit, Method
from tupi.methods.saved import SAVED
from tupi.methods.tupi import Tupi
from tupi.methods.worth import MOST_VIEWS, relations_of, view_gains
from tupi.results.outcome import columns_table, history_table, weights_table
from tupi.results.reasons import Reasons, told
from tupi.results.result import Denoised
from tupi.results.saving import read_outcome
from tupi.runtime.errors import InputError

IN_COMMON = 5  # answers that others gave, too: who gave fewer is not said to agree or to disagree
QUICK = 200_000  # items times views for which reports tell what each view is worth without being asked


def denoise(
    predictions: Table | Lazy,
    features: FeaturesLike,
    labels: Labels | Sequence[Labels] | Column | None = None,
    method: str | Method = "auto",
    task: str = "ranking",
    random_state: int = 0,
    callback: Watch | None = None,
    *,
    metric: MetricLike = None,
    groups: Column | None = None,
    impute: str | None = None,
    memory_limit: str | int | None = None,
    progress: Progress = silent,
    client: DaskClient | str | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 5,
    **params: Any,
) -> Denoised:
    """Improve predictions with features that the predictor never saw.

    Dask collections and Zarr arrays, as predictions or as views, are denoised on a Dask cluster, and so is everything
    with ``engine="dask"`` or a ``client``: blocks of items stay on the workers, and the result is a
    `tupi.cluster.result.DistributedDenoised`, whose predictions are a Dask array. That takes ``"auto"`` or ``"tupi"``.

    Parameters
    ----------
    predictions : array_like of shape (n,) or (n, c), Series or DataFrame
        Scores of n items, higher meaning more. For classification a column per class, or one probability per item:
        that of the positive class, which is the one of the labels' two values by which the Series or column is called,
        else the one that is so by convention (1, True, "yes"), else the greater. ``result.classes`` names it last.
    features : dict, list, array_like or DataFrame
        Views of the same items: ``{"gist": (n, d) array, ...}``, a list of arrays, one array, or a DataFrame
        (MultiIndex columns give one view per first level, flat columns one view). Tables may be of pandas, polars or
        pyarrow, and their columns of any kind: text, categories, dates; ``result.columns`` says what became of each. A
        row that is NaN or masked means that the item lacks that view. Pandas objects are matched by their index: items
        without a row lack the view, and rows of other ids are left out with a warning. Larger than memory: a
        `numpy.memmap`, the path of an NPY or Parquet file of numbers, or an iterator of chunks of rows, in place of an
        array.
    labels : Values, Pairs, a list of both, Series or array_like of shape (n,), optional
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
    metric : str or callable, optional
        What ``result.evidence`` tells the gain in: for ranking "pairwise" (the default), "ndcg@10" (or any other number
        of places), "map" or "auc"; for regression "r2" (the default), "rmse", "mae" or "pairwise"; for classification
        "accuracy" (the default), "balanced_accuracy", "log_loss", "brier", "calibration_error" or, with two classes,
        "auc". Or a function of true labels and predictions that returns a number: greater is better, unless it has an
        attribute ``greater_is_better`` that is False. What the method does is the same with any of them.
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
    Denoised
        The better predictions with their explanation; from a Dask cluster a `tupi.cluster.result.DistributedDenoised`.

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
    if getattr(chosen, "engine", None) == "dask" or client is not None or any_lazy(predictions, features):
        check_installed()
        if metric is not None:
            raise InputError(f"metric: found {metric!r} with Dask; accepted there: None, the first metric of the task.")
        if groups is not None:
            raise InputError("groups: found with Dask; accepted: without it, with predictions and views in memory.")
        from tupi.cluster.cluster import ClusterOptions  # Dask is an extra
        from tupi.cluster.denoise import fit_on_cluster

        options = ClusterOptions(client, checkpoint, checkpoint_every, memory_limit)
        said, names, fit, fields = fit_on_cluster(
            predictions, features, labels, chosen, task, random_state, callback, impute, progress, options
        )
        accepted, measured = fields["predictions"] is not fields["initial"], metric_for(None, said)
        evidence = fields.pop("evidence", None)
        if fit.gain is not None and said.labels is not None and measured is not None:
            evidence = judged(fit.gain, fit.left_out, said, said.labels, accepted, measured, fit.left_out_pairs)
        common = _common(said, names, chosen, fit, random_state, accepted)
        return DistributedDenoised(**common, **fields, evidence=evidence)
    if checkpoint is not None:
        raise InputError("checkpoint: found a folder without Dask; accepted: with engine='dask' or Dask collections.")
    problem = make_problem(predictions, features, labels, task, impute, groups)
    prepared = Prepared(problem, random_state, progress, None if memory_limit is None else as_bytes(memory_limit))
    return denoise_prepared(prepared, chosen, callback, metric)


def denoise_prepared(
    prepared: Prepared, method: Method, callback: Watch | None = None, metric: MetricLike = None
) -> Denoised:
    """Return what `denoise` would for a problem that is ready: whatever was embedded already is used again."""
    problem = prepared.problem
    measured = metric_for(metric, problem)
    prepared.veto = None if metric is None or measured is None else partial(speaks_against, measured)
    fit = method.fit(prepared, problem.labels, callback)
    final = fit.predictions(prepared)
    accepted = not np.array_equal(final, problem.initial)
    evidence = None if measured is None else _evidence(prepared, method, fit, accepted, measured)
    return Denoised(
        **_common(problem, problem.names, method, fit, prepared.random_state, accepted),
        predictions=np.array(problem.as_given(final)),
        initial=np.array(problem.as_given(problem.initial)),
        dependence=cast(pd.DataFrame, lambda: _dependence(prepared, fit, final)),
        evidence=evidence,
        index=problem.index,
        uncertainty=_when_asked(fit.uncertainty, lambda sure: _of_everyone(prepared, sure)),
        expected=_of_everyone(prepared, fit.expected),
        columns=cast(pd.DataFrame, lambda: columns_table(problem.encodings.values())),
        library=problem.library,
        suggested=_when_asked(fit.suggested, lambda items: prepared.items[items]),
        groups=None if problem.groups is None else problem.groups.ids,
        model=_when_asked(fit.model, lambda model: model),
        origin=Provenance(prepared, method, fit, measured, metric),
        seen=cast(Seen, lambda: Seen.of(problem, problem.as_given(problem.initial))),
    )


def _common(
    problem: Problem, names: list[str], method: Method, fit: Fit, random_state: int, accepted: bool
) -> dict[str, Any]:
    """Return what a result says of a fit, wherever its items are; functions are called when somebody looks."""
    raters, agreement = _raters(problem.labels, fit)
    return {
        "weights": lambda: weights_table(fit.steps, names, accepted),
        "method": method.name,
        "params": fit.params | {"random_state": random_state},
        "history": lambda: history_table(fit.steps, fit.scores),
        "task": problem.task,
        "classes": problem.classes,
        "notes": (*problem.notes, *fit.notes, *_weights_note(problem.labels, method), *_raters_note(raters)),
        "left_out_errors": fit.left_out_errors,
        "in_blocks": predict_in_blocks,
        "raters": raters,
        "agreement": agreement,
    }


def _raters(labels: Labels | None, fit: Fit) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
    """Return what is known of raters who have names, and how far each two of them agree."""
    if labels is None or labels.opinions is None:
        return None, None
    errors = labels.errors if isinstance(labels, Values) else fit.rater_errors
    return labels.opinions.table(errors), labels.opinions.agreement()


def _raters_note(raters: pd.DataFrame | None) -> tuple[str, ...]:
    """Return a sentence on who agrees least with the others, where there is anything to compare."""
    known = pd.DataFrame({"agree": []}) if raters is None else raters[raters["common"] >= IN_COMMON]
    agree = known["agree"].sort_values(kind="stable")
    if len(agree) < 2 or agree.iloc[0] == agree.iloc[-1]:
        return ()
    return (
        f"{len(agree)} raters were asked about the same items: rater {agree.index[0]!r} agrees least with the others "
        f"({agree.iloc[0]:.0%}) and rater {agree.index[-1]!r} most ({agree.iloc[-1]:.0%}); result.raters and "
        "result.agreement have them all.",
    )


def _evidence(prepared: Prepared, method: Method, fit: Fit, accepted: bool, metric: Metric[Any]) -> Evidence:
    """Return what the labels say: of predictions that the fit made without them, or of fits to some of them."""
    problem, labels = prepared.problem, prepared.problem.labels
    assert labels is not None
    if fit.gain is None:
        prepared.progress("Judging the gain on held-out labels")
        predict = method.predictor(prepared)
        return judge(predict, problem, labels, accepted, prepared.random_state, metric=metric)
    return judged(fit.gain, fit.left_out, problem, labels, accepted, metric, fit.left_out_pairs)


def _weights_note(labels: Labels | None, method: Method) -> tuple[str, ...]:
    """Return a sentence if labels have weights that the method does not use."""
    if labels is None or labels.weights is None or isinstance(method, Auto):
        return ()
    kind = "comparison" if isinstance(labels, Pairs) else "value"
    return (f"Method {method.name!r} counts each {kind} once, whatever its weight; 'auto' uses weights.",)


@dataclass(frozen=True, eq=False)
class Provenance:
    """What a result came from: a problem with all that was computed of it, the method and what is measured."""

    prepared: Prepared
    method: Method
    fit: Fit
    metric: Metric[Any] | None
    asked: MetricLike = None

    @cached_property
    def view_gains(self) -> pd.DataFrame:
        """What each view is worth."""
        return view_gains(self.prepared, self.method, self.fit, self.metric)

    def reasons(self, position: int) -> Reasons | None:
        """Return why an item moved, see `tupi.Denoised.reasons`; None if the method cannot tell."""
        if self.fit.moved is None:
            return None
        return told(self.fit.moved(position), position, self.prepared.problem)

    @property
    def knows_view_gains(self) -> bool:
        """Whether that was computed already."""
        return "view_gains" in vars(self)

    @property
    def quick_view_gains(self) -> bool:
        """Whether it is quick: few items, and a method that needs one fit for each view, or none."""
        size = len(self.prepared.items) * min(len(self.prepared.problem.views), MOST_VIEWS)
        return self.metric is None or (self.fit.gain is not None and size <= QUICK)

    def update(self, labels: Any, predictions: Any, features: Any) -> Denoised:
        """Return a new result with more labels or items, see `tupi.Denoised.update`."""
        if labels is None and predictions is None and features is None:
            raise InputError("update: found nothing new; accepted: labels, or predictions and features of more items.")
        prepared = self.prepared
        if predictions is not None or features is not None:
            prepared = self._grown(predictions, features)
        if labels is not None:
            prepared = prepared.relabelled(with_more_labels(prepared.problem, labels))
        return denoise_prepared(prepared, self.method, metric=self.asked)

    def _grown(self, predictions: Any, features: Any) -> Prepared:
        """Return the problem with more items; "auto" goes on from what it knows of the earlier ones."""
        if predictions is None or features is None:
            lacking = "predictions" if predictions is None else "features"
            raise InputError(f"update: found no {lacking} of more items; accepted: predictions and features of them.")
        old = self.prepared
        if old.problem.groups is not None:
            raise InputError(
                "update: found more items for a result with groups; accepted: more labels, or all items together in "
                "tupi.denoise."
            )
        items = Known.of(old.problem).items(predictions, features)
        goes_on = isinstance(self.method, (Auto, Smooth)) and can_grow(old, items.n)
        problem = grown_problem(old.problem, items, keep=goes_on)
        new = Prepared(problem, old.random_state, old.progress, old.memory_limit)
        if goes_on:
            grow(old, new)
        return new


def load(path: str | Path) -> Denoised:
    """Read a result that `Denoised.save` wrote."""
    return Denoised(**read_outcome(Path(path), SAVED), in_blocks=predict_in_blocks)


def _when_asked(found: Callable[[], Any] | None, then: Callable[[Any], Any]) -> Any:
    """Return what to compute when somebody looks: what was found, and then something more; None if there is nothing."""
    return None if found is None else lambda: then(found())


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

    def mean(columns: np.ndarray) -> np.ndarray:
        found: np.ndarray = np.mean([view_dependence(embedding, one) for one in columns[prepared.order].T], axis=0)
        return found

    before = prepared.once("initial dependence", lambda: mean(prepared.f))
    return dependence_table(embedding.names, before, mean(new), relations_of(prepared).p_values)
