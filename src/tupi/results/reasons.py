"""Why one item moved: parts that add up to its change, and the labelled items that are nearest to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.labels import Pairs
from tupi.inputs.problem import Problem
from tupi.results.readable import decimals_for, fixed, shortened, significant
from tupi.runtime.errors import InputError

OWN = "own prediction"
N_TOLD = 3  # parts that a sentence tells


@dataclass(frozen=True, eq=False)
class Reasons:
    """What moved an item.

    Attributes
    ----------
    item : object
        Its id, or its position where there are no ids.
    before, after : float
        Its prediction before and after, in ``unit``.
    unit : str
        "score" for ranking, "prediction" for regression, "log odds of <class>" for class probabilities and "score of
        <class>" for other class scores. Of two classes it is the second, of more the most likely one after.
    parts : DataFrame
        One row for the item's own prediction, and one for each view: the ``amount`` by which it moved the item, and how
        much of that is due to ``labels``. The amounts add up to `change`.
    neighbours : DataFrame
        One row for each labelled item that was used, the nearest first: its ``item``, its ``label``, how ``alike`` both
        are by the views (from 0 to 1), and its ``pull``. Pulls add up to what is due to labels in all parts. With more
        than two classes they are in shares of the class, before these became probabilities.
    """

    item: Any
    before: float
    after: float
    unit: str
    parts: pd.DataFrame
    neighbours: pd.DataFrame

    @property
    def change(self) -> float:
        """By how much the item moved, in ``unit``."""
        return self.after - self.before

    @property
    def decimals(self) -> int | None:
        """How many decimals the change and its parts are told with, see `tupi.results.readable.decimals_for`."""
        return decimals_for([self.change, *self.parts["amount"]])

    @property
    def sentence(self) -> str:
        """The change and its largest parts in words."""
        moved = f"The {self.unit} {'for' if ' of ' in self.unit else 'of'} item {shortened(str(self.item))} "
        if self.change == 0 and not self.parts["amount"].any():
            return f"{moved}stayed at {significant(self.before)}."
        decimals = self.decimals
        before, after = (fixed(level, decimals) for level in (self.before, self.after))
        moved += f"went from {before} to {after} ({fixed(self.change, decimals, '+')}): {main_parts(self, decimals)}"
        if not len(self.neighbours):
            return f"{moved}."
        item, label, _, pull = (self.neighbours[name].tolist()[0] for name in self.neighbours)
        answers = isinstance(label, str) and label.startswith("above ")
        known = (
            f"which comparisons put {label.replace(', ', ' and ')} others" if answers else f"with label {_label(label)}"
        )
        pulled = fixed(pull, decimals, "+")
        if item == self.item and not answers:
            return f"{moved}. Its own label, {_label(label)}, pulled by {pulled}."
        return f"{moved}. The nearest labelled item is {shortened(str(item))}, {known}; it pulled by {pulled}."

    def __repr__(self) -> str:
        """Return the sentence."""
        return self.sentence


def told(moved: Any, position: int, problem: Problem) -> Reasons:
    """Return what a method says moved an item, with the names of everything.

    Parameters
    ----------
    moved : tupi.methods.base.Moved
        What the method says.
    position : int
        The item.
    problem : Problem
        The problem that it belongs to.
    """
    unit = {"ranking": "score", "regression": "prediction"}.get(problem.task, "")
    if moved.target is not None:
        name = moved.target if problem.classes is None else problem.classes[moved.target]
        unit = f"{'log odds' if problem.are_probabilities else 'score'} of class {name}"
    parts = pd.DataFrame(
        {"part": [OWN, *problem.names], "amount": np.append(moved.own, moved.views), "labels": moved.labels}
    )
    ids = np.arange(problem.n) if problem.index is None else problem.index
    neighbours = pd.DataFrame(
        {
            "item": list(ids[moved.labelled]),
            "label": _labels(problem, moved.labelled),
            "alike": moved.alike,
            "pull": moved.pull,
        }
    )
    return Reasons(ids[position], moved.before, moved.after, unit, parts, neighbours)


def _labels(problem: Problem, items: NDArray[np.int64]) -> list[Any]:
    """Return the labels of labelled items; of comparisons, how often each was above and below another one."""
    labels = problem.labels
    if isinstance(labels, Pairs):
        counts = [np.bincount(side, minlength=problem.n)[items] for side in (labels.higher, labels.lower)]
        return [f"above {above}, below {below}" for above, below in zip(*counts, strict=True)]
    if labels is None:
        return []
    order = np.argsort(labels.index)
    values = labels.values[order[np.searchsorted(labels.index[order], items)]]
    if problem.task != "classification" or problem.classes is None:
        return list(values)
    return [problem.classes[int(value)] for value in values]


def main_parts(reasons: Reasons, decimals: int | None) -> str:
    """Return the largest parts, the largest first, with so many decimals; those that are nothing are left out."""
    parts = reasons.parts.loc[reasons.parts["amount"] != 0]
    order = np.argsort(-parts["amount"].abs().to_numpy(), kind="stable")
    told = [
        f"{shortened(str(part))} {fixed(amount, decimals, '+')}"
        for part, amount in zip(parts["part"].iloc[order[:N_TOLD]], parts["amount"].iloc[order[:N_TOLD]], strict=True)
    ]
    rest = float(parts["amount"].iloc[order[N_TOLD:]].sum())
    return ", ".join([*told, f"the rest {fixed(rest, decimals, '+')}"] if len(parts) > N_TOLD else told)


def _label(value: Any) -> str:
    return significant(float(value)) if isinstance(value, (float, np.floating)) else str(value)


def position_of(item: Any, n: int, index: pd.Index | None) -> int:
    """Return the position of an item that is given by its id, or by its position where no id is meant."""
    try:
        if index is not None and item in index:
            return int(index.get_indexer(pd.Index([item]))[0])
    except TypeError:  # lists and the like are no ids
        pass
    whole = isinstance(item, (int, np.integer)) and not isinstance(item, bool)
    if whole and (index is None or index.dtype.kind not in "iuf") and 0 <= item < n:
        return int(item)
    accepted = f"a position from 0 to {n - 1}"
    if index is not None:
        accepted = "one of the ids" if index.dtype.kind in "iuf" else f"one of the ids, or {accepted}"
    raise InputError(f"item: found {item!r}; accepted: {accepted}.")
