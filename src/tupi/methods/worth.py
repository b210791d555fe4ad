"""What each view is worth: by how much predictions are better with it than without it.

With labels a method is fitted again without the view, and labels that were left out compare what comes back from either
fit. What another view tells as well is then worth nothing in both. Without labels nobody knows what is better; there it
is told how much of the initial predictions a view explains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from tupi.blocks.home import Memory
from tupi.embedding.prepared import Prepared, silent
from tupi.embedding.relevance import Relations, evenly
from tupi.inputs.labels import Labels, Pairs, Values, labelled_items, n_labels, relabel
from tupi.inputs.problem import Problem, check_taking_part
from tupi.judging.evidence import EXPLAINS, GAIN, MIN_LABELS, Gain, Unseen, gain_of, half_width, pair_gain, unseen_by
from tupi.judging.folds import label_folds
from tupi.judging.metrics import Metric, metric_of
from tupi.methods.auto.answers import correlation
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.items import normal_scores, scale_of, view_relations, view_rows
from tupi.methods.auto.labelfree import LABEL_FREE, NEIGHBORS
from tupi.methods.auto.signal import POOL, sampled_neighbors
from tupi.methods.base import Fit, Method
from tupi.runtime.errors import InputError

MOST_VIEWS = 20  # views that are left out in turn; of more, those that count most
SELDOM = 3.0  # what none of m labels shows may still be true of 3 / m of all items, with a confidence of 95 per cent
LEAST_ITEMS = 4  # a correlation of fewer has no interval
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AsJudged:
    """What came back from a fit, as labels that were left out see it.

    Attributes
    ----------
    answers : sequence of (ndarray of int, ndarray)
        One round as in `tupi.judging.evidence.judge_answers`; none if only pairs are known.
    pairs : tuple of ndarray, or None
        Items of the problem, others that are truly lower, and predicted differences.
    """

    answers: Sequence[Unseen]
    pairs: tuple[Positions, Positions, Array] | None = None

    def n_judging(self, labels: Labels) -> int:
        """Return how many of the labels judge."""
        if isinstance(labels, Pairs) and self.pairs is not None:
            return min(len(self.pairs[0]), n_labels(labels))
        return len(np.unique(np.concatenate([held for held, _ in self.answers]))) if self.answers else n_labels(labels)


def view_gains(prepared: Prepared, method: Method, fit: Fit, metric: Metric[Any] | None) -> pd.DataFrame:
    """Return what each view is worth, one row per view.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    method : Method
        The method.
    fit : Fit
        What it made of all views.
    metric : Metric or None
        What the gain is measured in; None without labels.

    Returns
    -------
    DataFrame
        ``gain`` with its 95 per cent interval from ``low`` to ``high``; NaN for views that were not left out. ``kind``
        is "gain", or "explains" where too few labels judge.
    """
    problem, labels = prepared.problem, prepared.problem.labels
    if metric is None or labels is None or n_labels(labels) < MIN_LABELS:
        return _table(problem, explained_shares(prepared), EXPLAINS)
    found = np.full((len(problem.views), 3), np.nan)
    by_itself = fit.gain is not None
    everything = _judged(prepared, method, fit, labels, by_itself)
    chosen = _heaviest(fit, len(problem.views))
    for k, view in enumerate(chosen):
        prepared.progress(f"Fitting again without view {problem.names[view]} ({k + 1} of {len(chosen)})")
        less = _judged_without(prepared, view, method, labels, by_itself)
        whole = less is None and everything is not None  # a gain over the initial predictions, as the evidence's is
        gain = fit.gain if whole and metric is metric_of(problem.task, labels) else None
        gain = gain or _gain(metric, less, everything, problem, labels)
        if gain is not None and np.isfinite(gain.error):
            better = metric.gain(gain.before, gain.after)
            half = float(stdtrit(n_labels(labels) - 1, 0.975) * gain.error)
            if less is None and everything is not None:
                half = half_width(metric, gain, everything.n_judging(labels))
            if half == 0 and metric.bounds == (0.0, 1.0) and not same(less, everything):
                half = min(SELDOM / n_labels(labels), 1.0)
            found[view] = better, better - half, better + half
    return _table(problem, found, GAIN)


def _table(problem: Problem, figures: Array, kind: str) -> pd.DataFrame:
    frame = pd.DataFrame(figures, columns=["gain", "low", "high"], index=pd.Index(problem.names, name="view"))
    return frame.assign(kind=kind)


def _heaviest(fit: Fit, n_views: int) -> list[int]:
    """Return the views to leave out, in their order: all, or those with the greatest shares."""
    shares = np.nan_to_num(fit.steps[-1].weights)
    return (
        sorted(np.argsort(-shares, kind="stable")[:MOST_VIEWS].tolist()) if n_views > MOST_VIEWS else [*range(n_views)]
    )


def same(old: AsJudged | None, new: AsJudged | None) -> bool:
    """Return whether two fits say the same of all labels, and not only what is right or wrong as often."""
    if old is None or new is None:
        return old is new
    if (old.pairs is None) != (new.pairs is None) or len(old.answers) != len(new.answers):
        return False
    equal = old.pairs is None or new.pairs is None or np.array_equal(old.pairs[2], new.pairs[2])
    answers = zip(old.answers, new.answers, strict=True)
    return equal and all(np.array_equal(one, other) for both in answers for one, other in zip(*both, strict=True))


def without_view(prepared: Prepared, view: int) -> Prepared | None:
    """Return the problem without a view; None if nothing is left to learn from."""
    problem = prepared.problem
    views = problem.views[:view] + problem.views[view + 1 :]
    if not views:
        return None
    less = replace(problem, views=views)
    columns = less.columns[less.covered]
    try:
        check_taking_part(len(columns), bool((columns != columns[:1]).any()))
    except InputError:
        return None
    return Prepared(less, prepared.random_state, silent, prepared.memory_limit)


def _judged_without(prepared: Prepared, view: int, method: Method, labels: Labels, by_itself: bool) -> AsJudged | None:
    """Return what comes back without a view; None if that is the initial predictions, since there is nothing else."""
    less = without_view(prepared, view)
    if less is None:
        return None
    try:
        return _judged(less, method, method.fit(less, labels), labels, by_itself)
    except InputError:  # whatever the method needs is gone with the view
        return None


def _judged(prepared: Prepared, method: Method, fit: Fit, labels: Labels, by_itself: bool) -> AsJudged | None:
    """Return what came back as the labels see it; None if that is the initial predictions.

    Parameters
    ----------
    prepared, method, fit, labels
        The problem, the method, and what it made of these labels.
    by_itself : bool
        Whether the method predicts each label without itself; otherwise it is fitted to folds of them.
    """
    items = labelled_items(labels)
    if not by_itself:
        predict = method.predictor(prepared)
        folds = label_folds(labels, random_state=(prepared.random_state, 0))
        return AsJudged([(fold.held, predict(fold.train)[items]) for fold in folds])
    if np.array_equal(fit.columns, prepared.f):
        return None
    everyone = np.arange(n_labels(labels))
    if fit.gain is None:  # no label could be used, so that all may judge
        return AsJudged([(everyone, fit.predictions(prepared)[items])])
    pairs = None if fit.left_out_pairs is None else fit.left_out_pairs()
    if pairs is not None:
        pairs = prepared.items[pairs[0]], prepared.items[pairs[1]], pairs[2]
    if fit.left_out is None or not isinstance(labels, Values):
        return AsJudged([], pairs)
    used = fit.left_out[0]
    _, without = unseen_by(prepared.problem, labels, *fit.left_out)
    # Labels that were not used, of many, do not judge; those of items without any view judge what these keep.
    unused = np.isin(labels.index, prepared.items) & ~np.isin(labels.index, used)
    return AsJudged([(everyone[~unused], without)], pairs)


def _gain(
    metric: Metric[Any], old: AsJudged | None, new: AsJudged | None, problem: Problem, labels: Labels
) -> Gain | None:
    """Return the gain of what came back from one fit over another; None stands for the initial predictions."""
    some = old or new
    if some is None:
        return Gain(0.0, 0.0, 0.0)
    pairs = [(one or some).pairs for one in (old, new)]
    if all(one is not None for one in pairs) and metric is metric_of(problem.task, labels):
        # Items that lack all other views have no pairs without this one, and keep their predictions.
        same = len({len(one[0]) for one in pairs if one is not None}) == 1
        if same or isinstance(labels, Pairs):
            return _gain_in_pairs(old, new, problem)
    items = labelled_items(labels)
    initial = problem.initial[items]
    answers = [[(held, initial) for held, _ in some.answers] if one is None else one.answers for one in (old, new)]
    common = [np.intersect1d(first[0], second[0]) for first, second in zip(*answers, strict=True)]
    rounds = [[[(held, one[1]) for held, one in zip(common, several, strict=True)]] for several in answers]
    return gain_of(metric, rounds[1], initial, relabel(labels, items), old=rounds[0])


def _gain_in_pairs(old: AsJudged | None, new: AsJudged | None, problem: Problem) -> Gain | None:
    """Return the gain in pairwise accuracy, by the pairs of which both fits have predicted the difference."""
    some = old or new
    assert some is not None
    keys, differences = [], []
    for one in (old, new):
        pairs = (one or some).pairs
        assert pairs is not None
        first, second, difference = pairs
        keys.append(first * problem.n + second)
        differences.append(difference if one is not None else problem.initial[first] - problem.initial[second])
    # Raters may compare the same two items: each answer is another one.
    numbers = [_number_among_equals(key) for key in keys]
    most = 1 + max(int(number.max(initial=0)) for number in numbers)
    old_keys, new_keys = (key * most + number for key, number in zip(keys, numbers, strict=True))
    common, here, there = np.intersect1d(old_keys, new_keys, assume_unique=True, return_indices=True)
    if not len(common):
        return None
    common //= most
    ends, numbered = np.unique(np.concatenate([common // problem.n, common % problem.n]), return_inverse=True)
    first, second = np.split(numbered.astype(np.int64), 2)
    groups = None if problem.groups is None else problem.groups.numbers[common // problem.n]
    return pair_gain(differences[0][here], differences[1][there], first, second, len(ends), groups)


def _number_among_equals(keys: Positions) -> Positions:
    """Return for each key how many equal ones come before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    number = np.empty(len(keys), np.int64)
    number[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return number


def explained_shares(prepared: Prepared) -> Array:
    """Return how much of the initial predictions each view explains, and a 95 per cent interval, shape (views, 3).

    It is the squared correlation of items' predictions with the mean of those of the most alike items by the view. Its
    interval is Fisher's. Columns that repeat the predictions do not count.
    """
    problem, kept = prepared.problem, relations_of(prepared).kept
    f = scale_of(prepared).worked_on(prepared.f)
    f = normal_scores(f) if problem.task == "ranking" else f
    sample = prepared.order[evenly(len(prepared.order), POOL)]
    n_views = len(problem.views)
    drawn = Memory(problem.views, prepared.items).picked(sample, view_rows, n_views=n_views)
    found = np.zeros((n_views, 3))
    for view in range(n_views):
        has = np.flatnonzero(drawn[n_views + view])
        if len(has) < LEAST_ITEMS or not kept[view].any():
            continue
        items, near = sampled_neighbors(drawn[view][has][:, kept[view]], NEIGHBORS)
        scores = f[sample[has]]
        r = np.array([correlation(one[items], one[near].mean(axis=1)) for one in scores.T])
        error = 1.96 / np.sqrt(max(len(items) - 3, 1))
        ends = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
        for k, z in enumerate((ends, ends - error, ends + error)):
            found[view, k] = np.mean(np.maximum(np.tanh(z), 0.0) ** 2)
    return found


def relations_of(prepared: Prepared) -> Relations:
    """Return what a sample says about each view, by the test that decides which views count."""

    def compute() -> Relations:
        problem, items = prepared.problem, prepared.items
        f = scale_of(prepared).worked_on(prepared.f)
        return view_relations(Memory(problem.views, items), problem.columns[items], f, problem.task == "ranking")[3]

    if prepared.has(LABEL_FREE):
        return label_free_of(prepared).relations
    found: Relations = prepared.once("relations", compute)
    return found
