"""Steps of Algorithm 1 under many settings, kept in memory as long as there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.embedding.prepared import Prepared
from tupi.embedding.restoring import restore
from tupi.inputs.labels import Labels, labelled_items, relabel
from tupi.inputs.problem import Problem
from tupi.judging.metrics import metric_of
from tupi.methods.tupi import Tupi
from tupi.runtime.threads import threads_for

MEMORY = 512 * 2**20  # bytes of steps
# What methods keep that depends on predictions and views alone. Engines do, too, but each serves one thread at a time.
SHARED = ("embedding", "kernels", "neighbors", "graph", "label-free", "sketches", "stacked views")


@dataclass
class Trail:
    """The steps of one setting, as far as they were computed.

    Attributes
    ----------
    source : iterator of Step
        Where further steps come from.
    steps : list of Step
        What is known; predictions in single precision, which is enough to look at.
    done : bool
        Whether there are no further steps.
    """

    source: Iterator[Step]
    steps: list[Step] = field(default_factory=list)
    done: bool = False


class Trails:
    """All trails of a problem. One thread advances them, any thread looks them up.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    memory : int
        Bytes of steps to keep; beyond that, trails that nobody looked at for longest are forgotten.
    """

    def __init__(self, prepared: Prepared, memory: int = MEMORY) -> None:
        self.prepared, self._memory = prepared, memory
        self._trails: OrderedDict[Tupi, Trail] = OrderedDict()
        self._lock = threading.RLock()

    def known(self, setting: Tupi) -> list[Step]:
        """Return the steps of a setting that are known, step 0 first."""
        with self._lock:
            trail = self._trails.get(setting)
            if trail is None:
                return []
            self._trails.move_to_end(setting)
            return list(trail.steps)

    def needs(self, setting: Tupi, t: int) -> bool:
        """Return whether step t is not known and can still be computed."""
        with self._lock:
            trail = self._trails.get(setting)
            return trail is None or (not trail.done and len(trail.steps) <= t)

    def advance(self, setting: Tupi, n_threads: int | None = None) -> None:
        """Compute the next step of a setting, on so many threads (None: as many as the setting says)."""
        with self._lock:
            trail = self._trails.get(setting)
            if trail is None:
                trail = self._trails[setting] = Trail(setting.steps(self.prepared))
            self._trails.move_to_end(setting)
        entries = len(self.prepared.items) * len(self.prepared.problem.views) * setting.rank
        with threads_for(n_threads or setting.n_threads, entries):
            step = next(trail.source, None)
        with self._lock:
            if step is None:
                trail.done = True
            else:
                trail.steps.append(replace(step, f=step.f.astype(np.float32)))
            self._forget()

    @property
    def n_steps(self) -> int:
        """How many steps of all settings are known."""
        with self._lock:
            return sum(len(trail.steps) for trail in self._trails.values())

    def _forget(self) -> None:
        size = sum(step.f.nbytes for trail in self._trails.values() for step in trail.steps)
        while size > self._memory and len(self._trails) > 1:
            _, trail = self._trails.popitem(last=False)
            size -= sum(step.f.nbytes for step in trail.steps)


class Relabelled(Prepared):
    """The same problem with other labels. Nothing that was computed for the problem is computed again.

    Parameters
    ----------
    base : Prepared
        The problem, without labels.
    labels : Values, Pairs or None
        The labels.
    """

    def __init__(self, base: Prepared, labels: Labels | None) -> None:
        super().__init__(replace(base.problem, labels=labels), base.random_state, base.progress)
        self._base = base

    def once(self, key, compute):  # type: ignore[no-untyped-def]
        """Return what was computed under this key for any labels, unless it depends on labels."""
        kind = key[0] if isinstance(key, tuple) and key else key
        if isinstance(kind, str) and kind in SHARED:
            return self._base.once(key, compute)
        return super().once(key, compute)


class Locked(Prepared):
    """A problem that several threads prepare: each thing is computed by one of them while the others wait."""

    def __init__(self, problem: Problem, random_state: int = 0) -> None:
        super().__init__(problem, random_state)
        self._lock = threading.Lock()
        self._locks: dict[object, threading.RLock] = {}

    def once(self, key, compute):  # type: ignore[no-untyped-def]
        """Return what was computed under this key, computing it the first time."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.RLock())
        with lock:
            return super().once(key, compute)


def labelled_score(prepared: Prepared, f: NDArray[np.float64], labels: Labels) -> float:
    """Return how well denoised, standardised columns agree with labels."""
    problem, items = prepared.problem, labelled_items(labels)
    metric, local = metric_of(problem.task, labels), relabel(labels, items)
    if problem.task != "ranking":
        return metric.score(restore(prepared, f)[items], local)
    # The same without touching the other items, of which there may be many.
    values = problem.initial[items].copy()
    covered = problem.covered[items]
    rows = np.searchsorted(prepared.items, items[covered])
    values[covered] = f[rows, 0] * prepared.scale[0] + prepared.shift[0]
    return metric.score(values, local)
