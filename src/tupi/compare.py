"""`tupi.compare`: what each method gives on one's own data, judged by labels that it did not see."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi.embedding.prepared import Prepared, Progress, Veto, silent
from tupi.inputs.labels import Labels, amount, n_labels, noun_of
from tupi.inputs.numbers import check_positive, check_seed
from tupi.inputs.problem import Problem, make_problem
from tupi.inputs.types import Column, FeaturesLike, Table
from tupi.judging.catalogue import MetricLike, metric_for
from tupi.judging.evidence import MIN_LABELS, speaks_against
from tupi.judging.folds import N_REPEATS, judge
from tupi.judging.metrics import Metric
from tupi.methods import make_method
from tupi.methods import methods as method_names
from tupi.methods.base import Method
from tupi.runtime.atomic import write_atomically
from tupi.runtime.errors import InputError

BETTER, WORSE, UNCLEAR = "better", "worse", "no clear change"
NOT_APPLICABLE, FAILED = "does not apply", "failed"
COLUMNS = ("method", "before", "after", "gain", "low", "high", "seconds", "verdict", "reason")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `tupi.compare` found.

    Attributes
    ----------
    table : DataFrame
        One row per method, the largest gain first: ``method``; the score ``before`` and ``after`` on labels that the
        method did not see; their difference ``gain`` with its 95 per cent interval from ``low`` to ``high``;
        ``seconds`` of one fit to all labels; ``verdict``, which is "better" or "worse" if the interval excludes zero
        and "no clear change" otherwise, or "does not apply" or "failed", and then the ``reason``. The usual metrics of
        the task follow, such as ``log loss before`` and ``log loss after``, on the same labels.
    metric : str
        What the score is.
    n_items, n_labels, n_repeats : int
        How many items and labels there were, and how often the labels were dealt to folds.
    noun : {"label", "comparison"}
        What ``n_labels`` counts.

    Notes
    -----
    Each interval is about one method. The best of many methods owes some of its gain to being the best on these labels.
    """

    table: pd.DataFrame
    metric: str
    n_items: int
    n_labels: int
    n_repeats: int
    noun: str = "label"

    def __repr__(self) -> str:
        head = f"Comparison by {self.metric} of {self.n_items:,} items, {amount(self.n_labels, self.noun)}"
        return f"{head}\n{self.table.to_string(index=False, na_rep='')}"

    def to_csv(self, path: str | Path) -> Path:
        """Write the table as CSV, whole or not at all, and return its path."""
        text = self.table.to_csv(index=False, lineterminator="\n")
        return write_atomically(Path(path), text.encode())

    def plot(self, path: str | Path) -> Path:
        """Draw all gains with their intervals into a file, and return its path.

        HTML files (which open offline) need plotly; PNG, SVG and PDF files need matplotlib.
        """
        from tupi.results.compare_plot import plot_gains  # needs an extra

        judges = amount(self.n_labels, self.noun)
        title = f"{self.n_items:,} items, judged by {judges} that the methods did not see"
        return plot_gains(self.table, self.metric, title, Path(path))


def compare(
    predictions: Table,
    features: FeaturesLike,
    labels: Labels | Sequence[Labels] | Column,
    methods: Sequence[str | Method] | str | Method | None = None,
    task: str = "ranking",
    n_repeats: int = N_REPEATS,
    random_state: int = 0,
    *,
    metric: MetricLike = None,
    groups: Column | None = None,
    impute: str | None = None,
    part: Progress = silent,
    progress: Progress = silent,
) -> Comparison:
    """Try methods on one's own data and judge them by repeated cross-validation over the labels.

    All methods meet the same folds. Labels of a fold judge predictions that were tuned and fitted without them. A
    method that does not apply, or fails, is listed with the reason, and the others go on.

    Parameters
    ----------
    predictions, features, labels, task, random_state, metric, groups, impute
        See `tupi.denoise`; labels are needed here.
    methods : sequence of str or Method, optional
        Names from `tupi.methods`, or configured methods. None: all.
    n_repeats : int
        How often all labels are dealt to five folds: each method is fitted five times as often, and once more.
    part, progress : callable, optional
        Called with a method's name when its turn comes, and with a sentence when something long begins within it.

    Examples
    --------
    >>> import numpy as np, tupi
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=200)
    >>> scores, views = truth + rng.normal(size=200), {"clean": truth[:, None] + 0.1 * rng.normal(size=(200, 1))}
    >>> found = compare(scores, views, tupi.Values(np.arange(40), truth[:40]), methods=["tupi"], n_repeats=1)
    >>> list(found.table["verdict"])
    ['better']
    """
    chosen = _named(methods)
    check_positive("n_repeats", n_repeats, whole=True, least=1, optional=False)
    random_state = check_seed(random_state)
    problem = make_problem(predictions, features, labels, task, impute, groups)
    if problem.labels is None:
        raise InputError(
            "labels: found None; accepted: tupi.Values, tupi.Pairs or an array, since labels judge the methods."
        )
    size = n_labels(problem.labels)
    if size < MIN_LABELS:
        raise InputError(f"labels: found {size}; accepted: at least {MIN_LABELS}, since labels judge the methods.")
    measured = metric_for(metric, problem)
    assert measured is not None  # there are labels
    veto = None if metric is None else partial(speaks_against, measured)
    rows = []
    for name, method in chosen.items():
        part(name)
        judged = _judged(method, problem, problem.labels, n_repeats, random_state, measured, veto, progress)
        rows.append({"method": name} | judged)
    beside = dict.fromkeys(column for row in rows for column in row if column not in COLUMNS)
    table = pd.DataFrame(rows, columns=[*COLUMNS, *beside])
    table = table.sort_values("gain", ascending=False, na_position="last", kind="stable", ignore_index=True)
    return Comparison(table, measured.name, problem.n, size, n_repeats, noun_of(problem.labels))


def _named(methods: Sequence[str | Method] | str | Method | None) -> dict[str, Method]:
    """Return methods by what they are called in the table: their name, numbered from its second use on."""
    wanted = method_names() if methods is None else [methods] if isinstance(methods, (str, Method)) else methods
    named: dict[str, Method] = {}
    for one in wanted:
        method = make_method(one, {})
        uses = sum(other.name == method.name for other in named.values())
        named[f"{method.name} #{uses + 1}" if uses else method.name] = method
    if not named:
        raise InputError(f"methods: found none; accepted: {', '.join(method_names())}, or method objects.")
    return named


def _judged(
    method: Method,
    problem: Problem,
    labels: Labels,
    n_repeats: int,
    random_state: int,
    metric: Metric[Any],
    veto: Veto | None,
    progress: Progress,
) -> dict[str, Any]:
    """Return a method's row of the table. Nothing is shared between methods, so that each pays its own time."""
    prepared = Prepared(problem, random_state, progress)
    prepared.veto = veto
    start = time.perf_counter()
    try:
        progress("Fitting to all labels")
        final = method.fit(prepared, labels).predictions(prepared)
        if not np.isfinite(final).all():
            raise ArithmeticError("some predictions are not finite")
        seconds = time.perf_counter() - start
        progress("Judging on held-out labels")
        changed = not np.array_equal(final, problem.initial)
        evidence = judge(method.predictor(prepared), problem, labels, changed, random_state, n_repeats, metric)
    except (InputError, ImportError) as reason:
        return {"verdict": NOT_APPLICABLE, "reason": str(reason)}
    except Exception as reason:  # whatever it is, the other methods go on
        return {"verdict": FAILED, "reason": f"{type(reason).__name__}: {reason}"}
    if np.isnan(evidence.gain):
        return {"seconds": seconds, "verdict": UNCLEAR, "reason": evidence.sentence}
    return {
        "before": evidence.before,
        "after": evidence.after,
        "gain": evidence.gain,
        "low": evidence.low,
        "high": evidence.high,
        "seconds": seconds,
        "verdict": BETTER if evidence.low > 0 else WORSE if evidence.high < 0 else UNCLEAR,
        "reason": "",
        **{
            f"{name} {when}": value
            for name, both in evidence.beside.items()
            for when, value in zip(("before", "after"), both, strict=True)
        },
    }
