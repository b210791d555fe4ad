"""The labelled items of a distributed problem: their predictions along every path, and what labels choose from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tupi.cluster.blocks import Block
from tupi.cluster.engine import Blocks, DaskState
from tupi.cluster.moves import values_at
from tupi.embedding.prepared import Prepared
from tupi.embedding.restoring import restore
from tupi.inputs.labels import Labels, labelled_items, n_labels, relabel
from tupi.judging.evidence import MIN_LABELS, N_REPEATS, Evidence, judge
from tupi.judging.folds import label_folds
from tupi.judging.metrics import metric_of

Array = NDArray[Any]


def look_up(block: Block, rows: Array) -> tuple[Array, Array]:
    """Return the predictions of some rows of a block, and their number among those that take part (-1: they do not)."""
    ranks = np.full(len(block.initial), -1)
    ranks[block.items] = np.arange(len(block.items))
    return block.initial[rows], ranks[rows]


class Labelled:
    """The labelled items, wherever they are.

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
    labels : Values or Pairs
        Positions counted among the labelled items.
    """

    def __init__(self, blocks: Blocks, bounds: Array, labels: Labels, task: str, random_state: int) -> None:
        items = labelled_items(labels)
        self.labels = relabel(labels, items)
        self._blocks, home = blocks, np.searchsorted(bounds, items, side="right") - 1
        self._homes = np.unique(home)
        rows = [items[home == b] - bounds[b] for b in self._homes]
        client = blocks.client
        found = client.gather(client.map(look_up, [blocks.futures[b] for b in self._homes], rows, pure=False))
        initial = np.concatenate([values for values, _ in found])
        self._ranks = [ranks[ranks >= 0] for _, ranks in found]
        unit, mean, deviation = blocks.standard
        taking_part = np.flatnonzero(np.concatenate([ranks for _, ranks in found]) >= 0)
        self.first = (initial[taking_part] / unit - mean) / deviation
        # What `tupi.embedding.restoring` and `tupi.judging.evidence` look at, for the labelled items alone.
        self._prepared = cast(
            Prepared,
            SimpleNamespace(
                problem=SimpleNamespace(task=task, initial=initial, are_probabilities=False),
                items=taking_part,
                f=self.first[:, None],
                scale=np.array([deviation * unit]),
                shift=np.array([mean * unit]),
                random_state=random_state,
            ),
        )
        self.task = task

    def values(self, states: Sequence[DaskState]) -> list[Array]:
        """Return f(t) of the labelled items that take part, for each of some states."""
        client = self._blocks.client
        places = [[state.places[b] for state in states] for b in self._homes]
        parts = client.gather(client.map(values_at, places, self._ranks, pure=False))
        return [state.table.prediction(x) for state, x in zip(states, np.concatenate(parts, axis=1), strict=True)]

    def score(self, f: Array, labels: Labels) -> float:
        """Return how well f(t) agrees with labels."""
        return metric_of(self.task, labels).score(restore(self._prepared, f[:, None]), labels)

    def train_sets(self) -> list[Labels]:
        """Return the labels that choose: all of them, and those of each fold that judges."""
        if n_labels(self.labels) < MIN_LABELS:
            return [self.labels]
        seed = self._prepared.random_state
        folds = [fold for k in range(N_REPEATS) for fold in label_folds(self.labels, random_state=(seed, k))]
        return [self.labels, *(fold.train for fold in folds)]

    def judge(self, paths: list[list[Array]], patience: int, accepted: bool) -> Evidence:
        """Return what the labels say about the gain, see `tupi.judging.evidence.judge`."""

        def predict(labels: Labels) -> Array:
            choice = Choices(self, labels, len(paths), patience)
            for k, path in enumerate(paths):
                for f in path:
                    choice.see(k, f)
            return restore(self._prepared, paths[choice.best][choice.t][:, None])

        return judge(predict, self._prepared, self.labels, accepted)


@dataclass(eq=False)
class Choices:
    """What one set of labels thinks of several paths while they grow: the rule of `tupi.algorithm.choice.choose`.

    A path is left as soon as its score has not increased for ``patience`` steps; of equal scores the earliest wins.
    """

    labelled: Labelled
    labels: Labels
    n_paths: int
    patience: int

    def __post_init__(self) -> None:
        self.scores: list[list[float]] = [[] for _ in range(self.n_paths)]

    def wants(self, k: int) -> bool:
        """Whether it would follow a path further."""
        scores = self.scores[k]
        return not scores or len(scores) - 1 - scores.index(max(scores)) < self.patience

    def see(self, k: int, f: Array) -> None:
        """Take in the next step of a path, unless it was left."""
        if self.wants(k):
            self.scores[k].append(self.labelled.score(f, self.labels))

    @property
    def best(self) -> int:
        """The path with the best step."""
        tops = [max(scores, default=-np.inf) for scores in self.scores]
        return tops.index(max(tops))

    @property
    def t(self) -> int:
        """That step."""
        scores = self.scores[self.best]
        return scores.index(max(scores))
