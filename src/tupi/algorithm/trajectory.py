"""What is known of the trajectory f(0), f(1), ... of a setting: each step is computed once, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step, advance
from tupi.embedding.prepared import Prepared
from tupi.embedding.restoring import restore
from tupi.inputs.labels import labelled_items
from tupi.runtime.storage import set_aside

Array = NDArray[np.float64]
Watch = Callable[[Step], object]


class Home(Protocol):
    """Where the items are, which decides what a trajectory keeps of their predictions."""

    def labelled(self, steps: Sequence[Step]) -> list[Array]:
        """Return the predictions of the labelled items, in the input's scale, for each of some new steps."""

    def kept(self, step: Step) -> Step:
        """Return what is kept of a step."""


class InMemory:
    """The items are in memory: all of f(t) is kept, in a temporary file if memory is limited.

    Parameters
    ----------
    prepared : Prepared
        The problem. Without labels there are no labelled items.
    calibrated : bool
        For regression: whether f(t) are values, see `tupi.embedding.restoring.restore`.
    """

    def __init__(self, prepared: Prepared, calibrated: bool = False) -> None:
        self._prepared, self._calibrated = prepared, calibrated
        labels = prepared.problem.labels
        self._items = np.zeros(0, np.int64) if labels is None else labelled_items(labels)

    def labelled(self, steps: Sequence[Step]) -> list[Array]:
        """Return the predictions of the labelled items, in the input's scale, for each of some new steps."""
        return [restore(self._prepared, step.f, self._calibrated, self._items) for step in steps]

    def kept(self, step: Step) -> Step:
        """Return the step, its predictions set aside if memory is limited."""
        return step if self._prepared.memory_limit is None else replace(step, f=set_aside(step.f))


def only(steps: Sequence[Step]) -> Step:
    """Return the step of a setting with a single run."""
    (step,) = steps
    return step


@dataclass(eq=False)
class Trajectory:
    """The known steps of one setting; `extend` computes further ones.

    Attributes
    ----------
    home : Home
        Where the items are.
    runs : sequence of Run
        The runs of Algorithm 1 that steps come from, one per class column.
    joined : callable
        Makes one step of those that the runs come to.
    ahead : iterator of Step
        Where steps come from if there are no runs.
    steps : list of Step
        What is known, step 0 first.
    labelled : list of ndarray
        The predictions of the labelled items at each of these steps, in the input's scale.
    """

    home: Home
    runs: Sequence[Run] = ()
    joined: Callable[[Sequence[Step]], Step] = only
    ahead: Iterator[Step] = field(default_factory=lambda: iter(()))
    steps: list[Step] = field(default_factory=list, init=False)
    labelled: list[Array] = field(default_factory=list, init=False)
    _exhausted: bool = field(default=False, init=False)

    @property
    def ended(self) -> bool:
        """Whether there are no further steps."""
        if self.runs:
            return len(self.steps) > self.runs[0].n_iter
        return self._exhausted

    def next_step(self, reached: Sequence[Step]) -> Step | None:
        """Return the step after the known ones, given what the runs, if there are any, have come to."""
        if self.runs:
            return self.joined(reached)
        step = next(self.ahead, None)
        self._exhausted = step is None
        return step


def extend(trajectories: Sequence[Trajectory]) -> list[Step | None]:
    """Compute the next step of each trajectory, in common reads of the embedding, and return the new steps.

    The trajectories must share their home, and none may have ended. For one without runs that turns out to have no
    further step, None is returned.
    """
    together: dict[object, list[Run]] = {}
    for one in trajectories:
        for run in one.runs:
            together.setdefault((id(run.engine), run.inner_iter), []).append(run)
    reached = {run: step for runs in together.values() for run, step in zip(runs, advance(runs), strict=True)}
    found = [one.next_step([reached[run] for run in one.runs]) for one in trajectories]
    new = [(one, step) for one, step in zip(trajectories, found, strict=True) if step is not None]
    for (one, step), values in zip(new, trajectories[0].home.labelled([step for _, step in new]), strict=True):
        one.steps.append(one.home.kept(step))
        one.labelled.append(values)
    return found
