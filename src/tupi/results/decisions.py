"""Decisions between two classes, by what either mistake costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.classes import collapse, convention
from tupi.inputs.numbers import check_positive
from tupi.results.outcome import Outcome
from tupi.runtime.errors import InputError


@dataclass(frozen=True, eq=False)
class Decisions:
    """What `Denoised.decide` found.

    Attributes
    ----------
    decisions : ndarray of shape (n,)
        The class that each item is taken for: a label, or 0 and 1 (the positive class) if there were no labels.
    positive : ndarray of bool, shape (n,)
        Which items are taken for the positive class.
    threshold : float
        The probability from which on that costs less.
    expected_cost : float
        The mean cost of an item, if the probabilities are right.
    sentence : str
        All that in words.
    """

    decisions: NDArray[Any]
    positive: NDArray[np.bool_]
    threshold: float
    expected_cost: float
    sentence: str

    def __repr__(self) -> str:
        return self.sentence


def decide(result: Outcome, cost_fp: float, cost_fn: float) -> Decisions:
    """Return the decisions that cost least, see `tupi.Denoised.decide`."""
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        check_positive(name, cost, optional=False)
    p, classes = _probabilities(result)
    cost_fp, cost_fn = float(cost_fp), float(cost_fn)
    threshold = 1.0 / (1.0 + cost_fn / cost_fp)  # the sum of two large costs may be no number
    positive = p >= threshold
    unit = max(cost_fp, cost_fn)  # neither may the sum over all items
    expected = unit * float(np.mean(np.where(positive, (1 - p) * (cost_fp / unit), p * (cost_fn / unit))))
    names = np.array(classes or (0, 1), dtype=None if classes is None else object)
    called = "the positive class" if classes is None else repr(classes[1])
    sentence = (
        f"{int(positive.sum()):,} of {len(p):,} items have a probability of at least {threshold:.3g} and are taken for "
        f"{called}; on average an item is expected to cost {expected:.3g}, if the probabilities are right."
    )
    return Decisions(names[positive.astype(int)], positive, threshold, expected, sentence + _doubt(result))


def _probabilities(result: Outcome) -> tuple[NDArray[np.float64], tuple[Any, ...] | None]:
    """Return the probability of the positive class, and the names of both, that one last.

    Complain unless there are two classes with probabilities. Of two columns the second is positive, unless the first is
    so by convention.
    """
    found, classes = result.predictions, result.classes
    if result.binary:
        return found, classes
    two = result.task == "classification" and found.shape[1] == 2
    if two and (found >= 0).all() and np.allclose(found.sum(axis=1), 1.0, atol=1e-6):
        if classes is not None and convention(classes[0]) > convention(classes[1]):
            found, classes = found[:, ::-1], classes[::-1]
        return collapse(found), classes
    raise InputError(
        f"decide: found predictions of shape {found.shape} for task {result.task!r}; accepted: probabilities of two "
        "classes, from task='classification' with one probability per item or two columns that sum to one."
    )


def _doubt(result: Outcome) -> str:
    """Return a sentence on why the probabilities may not be right, if there is a reason."""
    if result.evidence is None:
        return " There were no labels to check that by."
    worse = " and ".join(result.evidence.worse_losses)
    return f" The labels doubt that: {worse} did not become better." if worse and result.changed else ""
