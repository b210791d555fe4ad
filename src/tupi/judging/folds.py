"""Folds over labels: some labels fit, the others judge, and no item is on both sides.

Pairs are split by items too. A pair that shares an item with the labels that were fitted could not judge: a method that
memorised that item as low would be credited for ranking it below items it never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.labels import Labels, Values, entries, labelled_items, n_labels, ranks_something
from tupi.inputs.problem import Problem
from tupi.judging.evidence import MIN_LABELS, Evidence, judge_answers
from tupi.judging.metrics import Metric, metric_of

Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Predict = Callable[[Labels], Array]  # from labels that may be used to predictions of all items, in the input's scale

N_FOLDS = 5
N_REPEATS = 4


@dataclass(frozen=True, eq=False)
class Fold:
    """Labels to fit with, and the labels that judge the fit.

    Attributes
    ----------
    train : Values or Pairs
        What a method may see.
    held : ndarray of int
        Which entries of the labels (values, or pairs) judge.
    """

    train: Labels
    held: Positions


def label_folds(labels: Labels, n_folds: int = N_FOLDS, random_state: int | Sequence[int] = 0) -> Iterator[Fold]:
    """Yield folds over the labelled items; folds that leave nothing to fit with, or nothing to judge by, are skipped.

    Folds of values are drawn at random, without regard to the values: folds that spread the values evenly would never
    hold out two close ones, and so judge by the easier pairs only. Pairs between a held-out item and another one are
    neither fitted nor judged by; items that are compared tend to be in one fold, which keeps most sparse pairs. Labels
    of as many groups as folds, or more, are dealt by whole groups: what is judged is then a group without any label.

    Parameters
    ----------
    labels : Values or Pairs
        Checked labels.
    n_folds : int
        How many folds; no more than there are labelled items.
    random_state : int or sequence of int
        Seed.
    """
    rng = np.random.default_rng(random_state)
    if labels.groups is not None and len(names := np.unique(labels.groups)) >= n_folds:
        for some in np.array_split(rng.permutation(names), n_folds):
            outside = np.isin(labels.groups, some)
            train, held = entries(labels, ~outside), np.flatnonzero(outside)
            if ranks_something(train) and ranks_something(entries(labels, held)):
                yield Fold(train, held)
        return
    n_folds = min(n_folds, len(labelled_items(labels)))
    if isinstance(labels, Values):
        order = rng.permutation(len(labels.values))
        for fold in np.array_split(order, n_folds):
            held, kept = np.sort(fold), np.setdiff1d(order, fold)
            if ranks_something(train := entries(labels, kept)):
                yield Fold(train, held)
        return
    for items in np.array_split(shuffled_ends(labels.higher, labels.lower, rng), n_folds):
        inside = np.isin(labels.higher, items).astype(int) + np.isin(labels.lower, items)
        held, kept = np.flatnonzero(inside == 2), np.flatnonzero(inside == 0)
        if len(held) and len(kept):
            yield Fold(entries(labels, kept), held)


def shuffled_ends(higher: Positions, lower: Positions, rng: np.random.Generator) -> Positions:
    """Return the compared items in random order, in which items that are compared tend to be neighbours.

    Contiguous parts of it keep more of a sparse set of pairs whole than parts of any random order would.
    """
    drawn = rng.permutation(len(higher))
    ends = np.column_stack([higher[drawn], lower[drawn]]).ravel()
    items, first = np.unique(ends, return_index=True)
    return items[np.argsort(first)]


@dataclass(frozen=True, eq=False)
class Judged:
    """What held-out labels say about several settings.

    Attributes
    ----------
    scores : ndarray of shape (n_settings,)
        See `tupi.judging.metrics.metric_of`; NaN if there was nothing to judge by.
    held_out : list of ndarray
        For each setting, predictions of the labelled items by fits that did not see them; NaN where there were none.
    """

    scores: Array
    held_out: list[Array]

    @property
    def best(self) -> int:
        """The setting with the highest score, the first of equal ones; 0 if nothing could be judged."""
        return 0 if np.isnan(self.scores).any() else int(np.argmax(self.scores))


def judge_settings(
    predict: Callable[[Labels], Sequence[Array]],
    labels: Labels,
    task: str,
    n_folds: int = N_FOLDS,
    random_state: int = 0,
) -> Judged:
    """Score settings by cross-validation over the labels; all settings meet the same folds.

    Parameters
    ----------
    predict : callable
        Takes the labels to fit with and returns, for each setting, predictions of all items that ``labels`` counts.
    labels : Values or Pairs
        All labels that may be used.
    task : {"ranking", "regression", "classification"}
        What the predictions are for.
    n_folds, random_state : int
        See `label_folds`.
    """
    metric = metric_of(task, labels)
    shares: list[list[float]] = []
    weight = 0.0
    held_out: list[Array] = []
    for fold in label_folds(labels, n_folds, random_state):
        predictions = predict(fold.train)
        items = labelled_items(entries(labels, fold.held))
        if not held_out:
            held_out = [np.full_like(one, np.nan) for one in predictions]
        for kept, one in zip(held_out, predictions, strict=True):
            kept[items] = one[items]
        shares.append([metric.shares(one, labels, fold.held).sum() for one in predictions])
        weight += metric.weights(labels, fold.held).sum()
    if not held_out:
        return Judged(np.array([np.nan]), [])
    if weight == 0:  # as when each fold holds out one value, which forms no pair
        return Judged(np.full(len(held_out), np.nan), held_out)
    return Judged(np.sum(shares, axis=0) / weight, held_out)


def judge(
    predict: Predict,
    problem: Problem,
    labels: Labels,
    accepted: bool,
    random_state: int = 0,
    n_repeats: int = N_REPEATS,
    metric: Metric[Any] | None = None,
) -> Evidence:
    """Estimate a method's gain by repeated cross-validation over the labels.

    Each fold's labels judge predictions that were chosen (or fitted) with the other folds' labels only. The interval
    is that of a mean over labelled items (or pairs), not over folds, since folds share their training labels. Folds
    depend on the labels and the seed only, so that methods can be compared.

    Parameters
    ----------
    predict : callable
        Makes predictions with some of the labels.
    problem : Problem
        Whose initial predictions are compared with.
    labels : Values or Pairs
        All labels.
    accepted : bool
        Whether the predictions that come back differ from the initial ones.
    random_state : int
        Seed of the folds.
    n_repeats : int
        How often all labels are dealt to folds anew.
    metric : Metric, optional
        What is measured; None takes the first of the task.
    """
    metric = metric or metric_of(problem.task, labels)
    items = labelled_items(labels)
    rounds = [
        [(fold.held, predict(fold.train)[items]) for fold in label_folds(labels, random_state=(random_state, repeat))]
        for repeat in range(n_repeats if n_labels(labels) >= MIN_LABELS else 0)
    ]
    return judge_answers(rounds, problem, labels, accepted, metric)
