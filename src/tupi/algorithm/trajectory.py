"""Paths of Algorithm 1 under many settings, each computed once and only as far as somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step, advance
from tupi.embedding.prepared import Prepared
from tupi.embedding.restoring import restore
from tupi.inputs.labels import labelled_items
from tupi.runtime.storage import set_aside

Watch = Callable[[Step], object]


class Stopped(Exception):  # noqa: N818 - a request, not an error
    """The callback asked to stop."""


class Path:
    """The steps f(0), f(1), ... of one setting; a step is computed when it is first asked for.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    steps : iterator of Step
        Where steps come from.
    runs : sequence of Run
        The runs of Algorithm 1 behind them, if there are any: `extend` then takes many paths further at once.
    """

    def __init__(self, prepared: Prepared, steps: Iterator[Step], runs: Sequence[Run] = ()) -> None:
        self._prepared, self._steps, self.runs = prepared, steps, runs
        self._known: list[Step] = []
        self._labelled: list[NDArray[np.float64]] = []
        labels = prepared.problem.labels
        self._items = None if labels is None else labelled_items(labels)

    def step(self, t: int, watch: Watch | None = None) -> Step | None:
        """Return step t, or None if the path is shorter. A watcher sees each new step and may stop everything."""
        while len(self._known) <= t:
            step = next(self._steps, None)
            if step is None:
                return None
            if self._prepared.memory_limit is not None:
                step = replace(step, f=set_aside(step.f))
            self._known.append(step)
            if watch is not None and watch(step) is True:
                raise Stopped
        return self._known[t]

    def __len__(self) -> int:
        """Return how many steps are known, the initial one included."""
        return len(self._known)

    def upto(self, t: int) -> list[Step]:
        """Return the known steps up to and including t."""
        return self._known[: t + 1]

    def labelled(self, t: int) -> NDArray[np.float64]:
        """Return the restored predictions of step t for the labelled items."""
        while len(self._labelled) <= t:
            f = self._known[len(self._labelled)].f
            self._labelled.append(restore(self._prepared, f)[self._items])
        return self._labelled[t]


def extend(paths: Sequence[Path], t: int) -> None:
    """Prepare step t of all paths that do not know it, in common reads of the embedding."""
    together: dict[object, list[Run]] = {}
    for path in paths:
        if len(path) == t:
            for run in path.runs:
                together.setdefault((id(run.engine), run.inner_iter), []).append(run)
    for runs in together.values():
        advance(runs)
