"""Whether labels that were left out speak against new predictions, in the metric that somebody asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.labels import Labels, Values
from tupi.inputs.problem import Problem
from tupi.judging.evidence import answer_without, judge_answers
from tupi.judging.metrics import Metric


def speaks_against(
    metric: Metric[Any],
    problem: Problem,
    labels: Labels,
    items: NDArray[np.int64],
    predictions: NDArray[np.float64],
) -> str | None:
    """Return why new predictions may not come back; None if the metric does not rule out a gain.

    A guard asks this beside its own question. Comparisons ask nothing but what the guard asks.

    Parameters
    ----------
    metric : Metric
        What was asked for.
    problem : Problem
        Whose initial predictions are compared with.
    labels : Values or Pairs
        The labels.
    items : ndarray of int
        The labelled items.
    predictions : ndarray of shape (m, c)
        New predictions of these, each made without its label.
    """
    if not isinstance(labels, Values):
        return None
    answer = np.flatnonzero(np.isin(labels.index, items)), answer_without(problem, labels, items, predictions)
    found = judge_answers([[answer]], problem, labels, True, metric)
    if not found.high < 0:
        return None
    level = metric.words.level
    return (
        f"But {found.metric}, which was asked for, went from {level(found.before)} to {level(found.after)} there, and "
        "the 95% interval of that contains no gain, so the initial predictions stay as they are."
    )
