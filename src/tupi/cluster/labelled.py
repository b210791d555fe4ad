"""The labelled items of a distributed problem: their predictions along trajectories, and what labels make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.choice import Vote
from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Trajectory
from tupi.cluster.blocks import Block
from tupi.cluster.engine import Blocks, DaskState, LazyPredictions
from tupi.cluster.moves import values_at
from tupi.cluster.search import OnWorkers
from tupi.inputs.labels import Labels, labelled_items, n_labels, relabel
from tupi.inputs.problem import Problem
from tupi.judging.evidence import MIN_LABELS, N_REPEATS, Evidence, judge
from tupi.judging.folds import label_folds

Array = NDArray[Any]


def look_up(block: Block, rows: Array) -> tuple[Array, Array]:
    """Return the predictions of some rows of a block, and their number among those that take part (-1: they do not)."""
    ranks = np.full(len(block.initial), -1)
    ranks[block.items] = np.arange(len(block.items))
    return block.initial[rows], ranks[rows]


class LabelledOnWorkers(OnWorkers):
    """The labelled items, wherever they are: of a step, their predictions alone come to the client.

    Parameters
    ----------
    blocks : Blocks
        All items.
    bounds : ndarray of int
        Where blocks begin.
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

    def __init__(self, blocks: Blocks, bounds: Array, labels: Labels, task: str, random_state: int) -> None:
        items = labelled_items(labels)
        self._labels, self.random_state = relabel(labels, items), random_state
        self._blocks, home = blocks, np.searchsorted(bounds, items, side="right") - 1
        self._homes = np.unique(home)
        rows = [items[home == b] - bounds[b] for b in self._homes]
        client = blocks.client
        found = client.gather(client.map(look_up, [blocks.futures[b] for b in self._homes], rows, pure=False))
        self.problem = Problem(np.concatenate([values for values, _ in found]), (), self._labels, task)
        self._ranks = [ranks[ranks >= 0] for _, ranks in found]
        self._taking_part = np.concatenate([ranks for _, ranks in found]) >= 0

    def labelled(self, steps: Sequence[Step]) -> list[Array]:
        """Return the predictions of the labelled items, in the input's scale, for each of some new steps."""
        moved = [cast(LazyPredictions, step.f).state for step in steps if step.t]
        values = iter(self._values(moved) if moved else ())
        return [next(values) if step.t else self.problem.initial for step in steps]

    def _values(self, states: Sequence[DaskState]) -> list[Array]:
        client = self._blocks.client
        places = [[state.places[b] for state in states] for b in self._homes]
        parts = client.gather(client.map(values_at, places, self._ranks, pure=False))
        unit, mean, deviation = self._blocks.standard
        found = []
        for state, x in zip(states, np.concatenate(parts, axis=1), strict=True):
            values = self.problem.initial.copy()
            values[self._taking_part] = state.table.prediction(x) * (deviation * unit) + mean * unit
            found.append(values)
        return found

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
        """Return what the labels say about the gain, see `tupi.judging.evidence.judge`."""

        def predict(labels: Labels) -> Array:
            k, t = Vote(trajectories, labels, self.problem.task, patience).best
            return trajectories[k].labelled[t]

        return judge(predict, self.problem, self._labels, accepted, self.random_state)
