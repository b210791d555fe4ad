"""Folds over labels: some labels fit, the others judge, and no item is on both sides.

Pairs are split by items too. A pair that shares an item with the labels that were fitted could not judge: a method that
memorised that item as low would be credited for ranking it below items it never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.labels import Labels, Pairs, Values, labelled_items
from tupi.rankers.targets import PairTargets, ValueTargets

Array = NDArray[np.float64]
Positions = NDArray[np.int64]

N_FOLDS = 5


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
    neither fitted nor judged by; items that are compared tend to be in one fold, which keeps most sparse pairs.

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
    n_folds = min(n_folds, len(labelled_items(labels)))
    if isinstance(labels, Values):
        order = rng.permutation(len(labels.values))
        for fold in np.array_split(order, n_folds):
            held, kept = np.sort(fold), np.setdiff1d(order, fold)
            if len(np.unique(labels.values[kept])) > 1:
                yield Fold(Values(labels.index[kept], labels.values[kept]), held)
        return
    for items in PairTargets(labels.higher, labels.lower).folds(rng, n_folds):
        inside = np.isin(labels.higher, items).astype(int) + np.isin(labels.lower, items)
        held, kept = np.flatnonzero(inside == 2), np.flatnonzero(inside == 0)
        if len(held) and len(kept):
            yield Fold(Pairs(labels.higher[kept], labels.lower[kept]), held)


def entries(labels: Labels, which: Positions) -> Labels:
    """Return some entries of the labels."""
    if isinstance(labels, Values):
        return Values(labels.index[which], labels.values[which])
    return Pairs(labels.higher[which], labels.lower[which])


@dataclass(frozen=True, eq=False)
class Judged:
    """What held-out labels say about several settings.

    Attributes
    ----------
    scores : ndarray of shape (n_settings,)
        Pairwise accuracy, accuracy, or minus the mean squared error; NaN if there was nothing to judge by.
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
    merits: list[list[float]] = []
    weights: list[float] = []
    held_out: list[Array] = []
    for fold in label_folds(labels, n_folds, random_state):
        predictions = predict(fold.train)
        held = entries(labels, fold.held)
        items = labelled_items(held)
        if not held_out:
            held_out = [np.full_like(one, np.nan) for one in predictions]
        for kept, one in zip(held_out, predictions, strict=True):
            kept[items] = one[items]
        found = [_merit(one, held, task) for one in predictions]
        merits.append([merit for merit, _ in found])
        weights.append(found[0][1])
    if not held_out:
        return Judged(np.array([np.nan]), [])
    if sum(weights) == 0:  # as when each fold holds out one value, which forms no pair
        return Judged(np.full(len(held_out), np.nan), held_out)
    return Judged(np.average(merits, axis=0, weights=weights), held_out)


def _merit(predictions: Array, held: Labels, task: str) -> tuple[float, float]:
    """Return a score of predictions and how much it weighs: the number of pairs, or of labels."""
    if isinstance(held, Pairs):
        difference = predictions[held.higher] - predictions[held.lower]
        return float(np.mean(0.5 * (1 + np.sign(difference)))), len(difference)
    here = predictions[held.index]
    if task == "classification":
        return float(np.mean(here.argmax(axis=1) == held.values)), len(here)
    if task == "regression":
        return -float(np.mean((here - held.values) ** 2)), len(here)
    targets = ValueTargets(held.values)
    return (targets.accuracy(here), targets.n_pairs) if targets.n_pairs else (0.0, 0)
