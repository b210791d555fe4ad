"""The search among settings on workers: trajectories, the labelled items along them, and what labels make of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step
from tupi.algorithm.engines.fused import FusedEngine, FusedState, together
from tupi.algorithm.trajectory import Shelf, Trajectory, Vote
from tupi.cluster.home import LazyColumn, OnCluster
from tupi.cluster.problem import Opened
from tupi.inputs.labels import Labels, labelled_items, n_labels, relabel
from tupi.inputs.problem import Problem
from tupi.judging.evidence import MIN_LABELS, Evidence
from tupi.judging.folds import N_REPEATS, judge, label_folds
from tupi.methods.tupi import Tupi

NOTHING = np.zeros(0)  # in place of predictions that are not kept
Array = NDArray[Any]


class OnWorkers:
    """The items are on workers: predictions are not kept, or those of all steps would stay there."""

    def labelled(self, steps: Sequence[Step]) -> list[NDArray[np.float64]]:
        """Return nothing for each step, since there are no labels."""
        return [NOTHING] * len(steps)

    def kept(self, step: Step) -> Step:
        """Return the step without its predictions."""
        return replace(step, f=NOTHING)


@dataclass(frozen=True, eq=False)
class Best:
    """The best step so far: the number of its setting, how many steps it took, and where the run stood then."""

    setting: int
    t: int
    state: FusedState


@dataclass(eq=False)
class Search:
    """What a call computes, step by step, and what a checkpoint saves.

    Attributes
    ----------
    trajectories : list of Trajectory
        One per setting, each of a single run.
    best : Best, optional
        With labels: the best step so far, if it is not an initial one.
    """

    trajectories: list[Trajectory]
    best: Best | None = None

    @classmethod
    def of(cls, settings: Sequence[Tupi], engine: FusedEngine, f: Any, shelf: Shelf) -> Search:
        """Return the search among some settings from some predictions, before its first step."""
        return cls([Trajectory(shelf, [setting.run(engine, f)]) for setting in settings])

    @property
    def runs(self) -> list[Run]:
        """The run of each setting."""
        return [trajectory.runs[0] for trajectory in self.trajectories]

    def keep(self, setting: int, t: int) -> None:
        """Keep the step that is the best now, unless it was before; its run must stand there.

        Of all predictions the workers keep these alone, so that nothing has to be computed twice when all is known.
        """
        if t and (self.best is None or (self.best.setting, self.best.t) != (setting, t)):
            state = self.runs[setting].state
            self.best = Best(setting, t, replace(state, attempts=together([state]), runs=1, run=0))


def look_up(block: Opened, items: Array, rows: Array) -> tuple[Array, Array]:
    """Return the predictions of some rows of a block, and their number among those that take part (-1: they do not)."""
    ranks = np.full(len(block[0]), -1)
    ranks[items] = np.arange(len(items))
    return block[0][rows, 0], ranks[rows]


def values_at(columns: Sequence[tuple[Callable[..., Array], Sequence[Any], dict[str, Any]]], ranks: Array) -> Array:
    """Return the numbers that some items of a block have in columns, given how each column is computed."""
    return np.array([function(None, *kept, **common)[ranks] for function, kept, common in columns])


class LabelledOnWorkers(OnWorkers):
    """The labelled items, wherever they are: of a step, their predictions alone come to the client.

    Parameters
    ----------
    home : OnCluster
        All items.
    labels : Values or Pairs
        Checked labels.
    task : str
        What the predictions are for.
    random_state : int
        Seed of the folds that judge.

    Attributes
    ----------
    problem : Problem
        The labelled items alone, without their views.
    """

    def __init__(self, home: OnCluster, labels: Labels, task: str, random_state: int) -> None:
        items, bounds, opened = labelled_items(labels), home.problem.bounds, home.problem.opened
        self._labels, self.random_state, self._home = relabel(labels, items), random_state, home
        block = np.searchsorted(bounds, items, side="right") - 1
        self._blocks = np.unique(block)
        asked = [(opened[b], home.items[b], items[block == b] - bounds[b]) for b in self._blocks]
        found = home.client.gather(home.client.map(look_up, *zip(*asked, strict=True), pure=False))
        self.problem = Problem(np.concatenate([values for values, _ in found]), (), self._labels, task)
        self._ranks = [ranks[ranks >= 0] for _, ranks in found]
        self._taking_part = np.concatenate([ranks for _, ranks in found]) >= 0

    def labelled(self, steps: Sequence[Step]) -> list[Array]:
        """Return the predictions of the labelled items, in the input's scale, for each of some new steps."""
        values = iter(self._values([cast(LazyColumn, step.f) for step in steps if step.t]))
        return [next(values) if step.t else self.problem.initial for step in steps]

    def _values(self, columns: Sequence[LazyColumn]) -> Iterator[Array]:
        if not columns:
            return
        client, (scale, shift) = self._home.client, self._home.problem.scale
        asked = [[(one.function, [kept[b] for kept in one.kept], one.common) for one in columns] for b in self._blocks]
        for found in np.concatenate(client.gather(client.map(values_at, asked, self._ranks, pure=False)), axis=1):
            values = self.problem.initial.copy()
            values[self._taking_part] = found * scale + shift
            yield values

    def votes(self, trajectories: Sequence[Trajectory], patience: int) -> list[Vote]:
        """Return the votes of all labels, which choose, and of those of each fold that judges.

        Folds that judge choose again. When they look along with the others, all go in the same reads of the embedding.
        """
        sets = [self._labels]
        if n_labels(self._labels) >= MIN_LABELS:
            for repeat in range(N_REPEATS):
                folds = label_folds(self._labels, random_state=(self.random_state, repeat))
                sets += [fold.train for fold in folds]
        return [Vote(trajectories, labels, self.problem.task, patience) for labels in sets]

    def judge(self, trajectories: Sequence[Trajectory], patience: int, accepted: bool) -> Evidence:
        """Return what the labels say about the gain, see `tupi.judging.folds.judge`."""

        def predict(labels: Labels) -> Array:
            k, t = Vote(trajectories, labels, self.problem.task, patience).best
            return trajectories[k].labelled[t]

        return judge(predict, self.problem, self._labels, accepted, self.random_state)
