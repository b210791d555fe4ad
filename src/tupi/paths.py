"""Paths of Algorithm 1 under many settings, each computed once and only as far as somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from tupi.denoiser import Step
from tupi.labels import labelled_items
from tupi.prepared import Prepared
from tupi.tasks import restore

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
    """

    def __init__(self, prepared: Prepared, steps: Iterator[Step]) -> None:
        self._prepared, self._steps = prepared, steps
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
            self._known.append(step)
            if watch is not None and watch(step) is True:
                raise Stopped
        return self._known[t]

    def upto(self, t: int) -> list[Step]:
        """Return the known steps up to and including t."""
        return self._known[: t + 1]

    def labelled(self, t: int) -> NDArray[np.float64]:
        """Return the restored predictions of step t for the labelled items."""
        while len(self._labelled) <= t:
            f = self._known[len(self._labelled)].f
            self._labelled.append(restore(self._prepared, f)[self._items])
        return self._labelled[t]
