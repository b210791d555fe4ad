"""What methods that spread labels on a graph share: the graph's kernel between labelled items, and folds over labels.

The kernel (D - alpha W)^-1 between labelled items is all that folds over labels need: it is solved for once, and
then any fold is a small dense problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Values, labelled_items, relabel, subset
from tupi.inputs.numbers import check_positive
from tupi.judging.folds import judge_settings
from tupi.runtime.errors import InputError

TUNING_LABELS = 200  # more would hardly change the choice, and each takes a sparse solve per setting
N_REPEATS = 4
BLOCK_ENTRIES = 1 << 22  # entries of right-hand sides that are solved side by side
TOL = 1e-9
Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Setting = TypeVar("Setting")


def check_alpha(name: str, value: Any) -> None:
    """Complain unless the value is None or a number between 0 and 1."""
    check_positive(name, value)
    if value is not None and value >= 1:
        raise InputError(f"{name}: found {value!r}; accepted: a number above 0 and below 1.")


def tuning_rows(prepared: Prepared) -> Positions:
    """Return rows of labelled items to choose settings by: all, or so many drawn at random.

    They are drawn from the labels of the whole problem, so that what is solved for them serves every fold.
    """
    labels = prepared.problem.labels
    assert labels is not None
    rng = np.random.default_rng(prepared.random_state)
    useful = subset(labels, prepared.items)
    if useful is None:
        return np.empty(0, np.int64)
    labels = relabel(useful, prepared.items)
    if isinstance(labels, Values) or len(labelled_items(labels)) <= TUNING_LABELS:
        return np.sort(rng.permutation(labelled_items(labels))[:TUNING_LABELS])
    order = rng.permutation(len(labels.higher))  # whole pairs, until there are enough items
    named = np.column_stack([labels.higher[order], labels.lower[order]]).ravel()
    return np.unique(named[:TUNING_LABELS])


def kernel_blocks(
    prepared: Prepared, n_neighbors: int, alpha: float, rows: Positions, take: Callable[[Array], Array]
) -> Array:
    """Return ``take`` of the columns of (D - alpha W)^-1 that belong to the rows, some columns at a time."""
    edges, n = graph(prepared, n_neighbors), len(prepared.items)
    block = max(1, BLOCK_ENTRIES // n)
    taken = []
    for begin in range(0, len(rows), block):
        some = rows[begin : begin + block]
        B = np.zeros((n, len(some)))
        B[some, np.arange(len(some))] = 1.0
        taken.append(take(edges.spread(B, alpha, TOL)))
    return np.hstack(taken)


def labelled_kernel(prepared: Prepared, n_neighbors: int, alpha: float, rows: Positions) -> Array:
    """Return (D - alpha W)^-1 between the given rows: one sparse solve per row, done once per problem."""
    return prepared.once(
        ("labelled kernel", n_neighbors, alpha, rows.tobytes()),
        lambda: kernel_blocks(prepared, n_neighbors, alpha, rows, lambda columns: columns[rows]),
    )


def best_setting(
    settings: Sequence[Setting],
    predictor: Callable[[Setting, Positions], Callable[[Labels], Array]],
    labels: Labels,
    prepared: Prepared,
) -> int:
    """Return the number of the setting that predicts held-out labels best in repeated folds, the first of equal ones.

    Parameters
    ----------
    settings : sequence
        What to choose from.
    predictor : callable
        Given a setting and rows, returns a function from labels of the rows to predictions at the rows.
    labels : Values or Pairs
        The labels to choose by.
    prepared : Prepared
        The problem.
    """
    rows = tuning_rows(prepared)
    some = subset(labels, prepared.items[rows])
    if some is None:
        return 0
    local, predictors = relabel(some, prepared.items[rows]), [predictor(setting, rows) for setting in settings]

    def predict(train: Labels) -> list[Array]:
        return [one(train) for one in predictors]

    seeds = np.random.default_rng(prepared.random_state).integers(2**31, size=N_REPEATS)
    scores = np.array(
        [judge_settings(predict, local, prepared.problem.task, random_state=int(seed)).scores for seed in seeds]
    )
    judged = scores[~np.isnan(scores).any(axis=1)]
    return int(np.argmax(judged.mean(axis=0))) if len(judged) else 0
