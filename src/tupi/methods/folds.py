"""Choosing a setting by cross-validation over labels, for methods that learn from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tupi.labels import Labels, Pairs, Values, relabel, score
from tupi.prepared import Prepared

N_FOLDS = 5
N_REPEATS = 4
Array = NDArray[np.float64]


def taking_part(prepared: Prepared, labels: Labels) -> Labels | None:
    """Return the labels of items that take part, with positions among those; None where they say nothing."""
    has_view = np.zeros(prepared.problem.n, bool)
    has_view[prepared.items] = True
    if isinstance(labels, Values):
        inside = has_view[labels.index]
        if len(np.unique(labels.values[inside])) < 2:
            return None
        kept: Labels = Values(labels.index[inside], labels.values[inside])
    else:
        inside = has_view[labels.higher] & has_view[labels.lower]
        if not inside.any():
            return None
        kept = Pairs(labels.higher[inside], labels.lower[inside])
    return relabel(kept, prepared.items)


def tuning_items(prepared: Prepared, limit: int) -> NDArray[np.int64]:
    """Return positions of at most ``limit`` labelled items of the whole problem, enough to choose settings by.

    They are the same whichever of the labels a fold may use, so that what is computed for them serves all folds.
    """
    assert prepared.problem.labels is not None
    labels = taking_part(prepared, prepared.problem.labels)
    if labels is None:
        return np.empty(0, np.int64)
    rng = np.random.default_rng(prepared.random_state)
    if isinstance(labels, Values):
        return np.sort(rng.permutation(labels.index)[:limit])
    order = rng.permutation(len(labels.higher))
    named = np.column_stack([labels.higher[order], labels.lower[order]]).ravel()
    _, first = np.unique(named, return_index=True)  # whole pairs in random order, until there are enough items
    return np.sort(named[np.sort(first)[:limit]])


def among(labels: Labels, items: NDArray[np.int64]) -> Labels | None:
    """Return the labels within the sorted items, with positions among them; None where they say nothing."""
    if isinstance(labels, Values):
        inside = np.isin(labels.index, items)
        kept: Labels = Values(labels.index[inside], labels.values[inside])
        return relabel(kept, items) if len(np.unique(kept.values)) > 1 else None
    inside = np.isin(labels.higher, items) & np.isin(labels.lower, items)
    return relabel(Pairs(labels.higher[inside], labels.lower[inside]), items) if inside.any() else None


def cross_validate(labels: Labels, predict: Callable[[Labels], Array], task: str, random_state: int) -> float:
    """Return the mean score of predictions on labels that did not make them; NaN where no fold can be judged.

    Parameters
    ----------
    labels : Values or Pairs
        What to fit and judge by.
    predict : callable
        Labels -> predictions for all positions that ``labels`` may mention.
    task : str
        Decides the score, see `tupi.labels.score`.
    random_state : int
        Seed of the folds.
    """
    scores, sizes = [], []
    for train, held in _splits(labels, random_state):
        scores.append(score(predict(train), held, task))
        sizes.append(_n_judged(held))
    return float(np.average(scores, weights=sizes)) if scores else float("nan")


def _splits(labels: Labels, random_state: int) -> Iterator[tuple[Labels, Labels]]:
    size = len(labels.values) if isinstance(labels, Values) else len(labels.higher)
    rng = np.random.default_rng(random_state)
    for _ in range(N_REPEATS):
        for held in np.array_split(rng.permutation(size), min(N_FOLDS, size)):
            rest = np.setdiff1d(np.arange(size), held)
            train, judge = _some(labels, rest), _some(labels, held)
            if train is not None and judge is not None:
                yield train, judge


def _some(labels: Labels, chosen: NDArray[np.int64]) -> Labels | None:
    if isinstance(labels, Values):
        some = Values(labels.index[chosen], labels.values[chosen])
        return some if len(np.unique(some.values)) > 1 else None
    return Pairs(labels.higher[chosen], labels.lower[chosen]) if len(chosen) else None


def _n_judged(labels: Labels) -> int:
    return len(labels.values) if isinstance(labels, Values) else len(labels.higher)
