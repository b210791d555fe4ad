"""Trajectories f(0), f(1), ... of settings, and how labels choose a setting and the number of steps among them.

Each step of a trajectory is computed once, when it is asked for, and all settings share one embedding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step, advance
from tupi.embedding.prepared import Prepared, restore
from tupi.inputs.labels import Labels, labelled_items, relabel
from tupi.judging.metrics import metric_of
from tupi.runtime.computing import set_aside

Array = NDArray[np.float64]
Watch = Callable[[Step], object]
AnySetting = TypeVar("AnySetting")


class Shelf(Protocol):
    """Where steps are kept: what a trajectory keeps of predictions depends on where the items are."""

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
        For regression: whether f(t) are values, see `tupi.embedding.prepared.restore`.
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
    shelf : Shelf
        Where its steps are kept.
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

    shelf: Shelf
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

    The trajectories must share their shelf, and none may have ended. For one without runs that turns out to have no
    further step, None is returned.
    """
    together: dict[object, list[Run]] = {}
    for one in trajectories:
        for run in one.runs:
            together.setdefault((id(run.engine), run.inner_iter), []).append(run)
    reached = {run: step for runs in together.values() for run, step in zip(runs, advance(runs), strict=True)}
    found = [one.next_step([reached[run] for run in one.runs]) for one in trajectories]
    new = [(one, step) for one, step in zip(trajectories, found, strict=True) if step is not None]
    for (one, step), values in zip(new, trajectories[0].shelf.labelled([step for _, step in new]), strict=True):
        one.steps.append(one.shelf.kept(step))
        one.labelled.append(values)
    return found


class Vote:
    """What one set of labels thinks of several trajectories while they grow.

    A trajectory is left as soon as the score has not increased for ``patience`` steps in a row; the paper's rule is 1.
    Of equal scores the earliest wins: the fewest steps, and the trajectory that was listed first.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        Those to choose from, cautious settings first.
    labels : Values or Pairs
        What chooses; positions are counted among the labelled items.
    task : str
        What the predictions are for.
    patience : int
        How long to wait for an increase.

    Attributes
    ----------
    scores : list of list of float
        The score along each trajectory, as far as it was followed.
    """

    def __init__(self, trajectories: Sequence[Trajectory], labels: Labels, task: str, patience: int) -> None:
        self._trajectories, self._labels, self._patience = trajectories, labels, patience
        self._metric = metric_of(task, labels)
        self.scores: list[list[float]] = [[] for _ in trajectories]
        for k in range(len(trajectories)):
            self.look(k)

    def look(self, k: int) -> None:
        """Score the steps of a trajectory that have become known, unless it was left."""
        scores, labelled = self.scores[k], self._trajectories[k].labelled
        while len(scores) < len(labelled) and self.wants(k):
            scores.append(self._metric.score(labelled[len(scores)], self._labels))

    def wants(self, k: int) -> bool:
        """Return whether this trajectory is worth following further."""
        scores = self.scores[k]
        return not scores or len(scores) - 1 - scores.index(max(scores)) < self._patience

    @property
    def best(self) -> tuple[int, int]:
        """The trajectory with the best step, and that step; step 0 means that nothing beat the initial predictions."""
        tops = [max(scores, default=-np.inf) for scores in self.scores]
        k = tops.index(max(tops))
        return k, self.scores[k].index(tops[k])


def follow(
    trajectories: Sequence[Trajectory],
    votes: Sequence[Vote] = (),
    watch: Watch | None = None,
    after: Callable[[list[int]], None] | None = None,
) -> None:
    """Take trajectories further, side by side, as long as any vote wants to; without votes, to their ends.

    Parameters
    ----------
    trajectories : sequence of Trajectory
        What is followed.
    votes : sequence of Vote
        Who looks at each new step.
    watch : callable, optional
        Sees each new step; returning True ends the search.
    after : callable, optional
        Called after each round, with the numbers of the trajectories that were taken further. It may save all of them,
        and so a round counts whole. Without it, votes do not look at the step that ends the search, nor at later ones.
    """
    stopped = False
    while not stopped and (
        live := [
            k
            for k, trajectory in enumerate(trajectories)
            if not trajectory.ended and (not votes or any(vote.wants(k) for vote in votes))
        ]
    ):
        shown = _shown(extend([trajectories[k] for k in live]), watch)
        stopped = shown < len(live)
        for vote in votes:
            for k in live if after is not None else live[:shown]:
                vote.look(k)
        if after is not None:
            after(live)


def _shown(steps: Sequence[Step | None], watch: Watch | None) -> int:
    """Show steps to a watcher, and return how many are before the one at which it asks to stop."""
    for count, step in enumerate(steps):
        if step is not None and watch is not None and watch(step) is True:
            return count
    return len(steps)


@dataclass(frozen=True)
class Choice(Generic[AnySetting]):
    """The best setting and step.

    Attributes
    ----------
    setting : AnySetting
        What was chosen.
    trajectory : Trajectory
        Its trajectory.
    t : int
        The best step on it; 0 means that nothing beat the initial predictions.
    scores : list of float
        The score on the labels along the trajectory, as far as it was followed.
    tried : int
        How many settings were tried.
    """

    setting: AnySetting
    trajectory: Trajectory
    t: int
    scores: list[float]
    tried: int


def choose(
    settings: Sequence[AnySetting],
    trajectory_of: Callable[[AnySetting], Trajectory],
    prepared: Prepared,
    labels: Labels,
    patience: int,
    watch: Watch | None = None,
) -> Choice[AnySetting]:
    """Follow the trajectories of all settings side by side and return the best step of all, see `Vote`.

    Parameters
    ----------
    settings : sequence
        What to try, cautious settings first.
    trajectory_of : callable
        Gives the trajectory of a setting.
    prepared : Prepared
        The problem.
    labels : Values or Pairs
        The labels to choose by: all of the problem's, or some of them.
    patience : int
        How long to wait for an increase.
    watch : callable, optional
        Sees each new step; returning True ends the search with the best so far.
    """
    problem = prepared.problem
    assert problem.labels is not None
    trajectories = [trajectory_of(setting) for setting in settings]
    vote = Vote(trajectories, relabel(labels, labelled_items(problem.labels)), problem.task, patience)
    follow(trajectories, [vote], watch)
    if not vote.scores[0]:  # stopped at the very first step
        vote.look(0)
    k, t = vote.best
    return Choice(settings[k], trajectories[k], t, vote.scores[k], len(settings))
