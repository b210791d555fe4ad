"""Steps of Algorithm 1 under many settings, kept in memory as long as there is room."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

import numpy as np

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory, extend
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.problem import Problem
from tupi.methods.tupi import Tupi
from tupi.runtime.computing import threads_for

MEMORY = 512 * 2**20  # bytes of steps
# What methods keep that depends on predictions and views alone. Engines do, too, but each serves one thread at a time.
SHARED: tuple[str, ...] = ("embedding", "kernels", "neighbors", "graph", "label-free", "relations", "seen")
SHARED += ("stacked views", "initial dependence")


class ToLookAt(InMemory):
    """Predictions are kept in single precision, which is enough to look at."""

    def kept(self, step: Step) -> Step:
        """Return the step with less precise predictions."""
        return replace(step, f=step.f.astype(np.float32))


class Trails:
    """The trajectories of a problem that people look at. One thread advances them, any thread looks them up.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    memory : int
        Bytes to keep, of steps and of where trajectories stand that have not ended; beyond that, trajectories that
        nobody looked at for longest are forgotten.
    """

    def __init__(self, prepared: Prepared, memory: int = MEMORY) -> None:
        self.prepared, self._memory = prepared, memory
        self._trajectories: OrderedDict[Tupi, Trajectory] = OrderedDict()
        self._lock = threading.RLock()

    def known(self, setting: Tupi) -> list[Step]:
        """Return the steps of a setting that are known, step 0 first."""
        with self._lock:
            trajectory = self._trajectories.get(setting)
            if trajectory is None:
                return []
            self._trajectories.move_to_end(setting)
            return list(trajectory.steps)

    def needs(self, setting: Tupi, t: int) -> bool:
        """Return whether step t is not known and can still be computed."""
        with self._lock:
            trajectory = self._trajectories.get(setting)
            return trajectory is None or (not trajectory.ended and len(trajectory.steps) <= t)

    def advance(self, setting: Tupi, n_threads: int | None = None) -> None:
        """Compute the next step of a setting, on so many threads (None: as many as the setting says)."""
        with self._lock:
            trajectory = self._trajectories.get(setting)
        if trajectory is None:  # others may look up what they want while this one begins
            trajectory = setting.trajectory(self.prepared, ToLookAt(self.prepared))
        with self._lock:
            self._trajectories[setting] = trajectory
            self._trajectories.move_to_end(setting)
        entries = len(self.prepared.items) * len(self.prepared.problem.views) * setting.rank
        with threads_for(n_threads or setting.n_threads, entries):
            extend([trajectory])
        if trajectory.ended:
            for run in trajectory.runs:
                run.state = None  # what it takes to go on is larger than all steps together
        with self._lock:
            self._forget()

    @property
    def n_steps(self) -> int:
        """How many steps of all settings are known."""
        with self._lock:
            return sum(len(trajectory.steps) for trajectory in self._trajectories.values())

    def _forget(self) -> None:
        size = sum(_bytes(trajectory) for trajectory in self._trajectories.values())
        while size > self._memory and len(self._trajectories) > 1:
            size -= _bytes(self._trajectories.popitem(last=False)[1])


def _bytes(trajectory: Trajectory) -> int:
    """Return how much memory a trajectory takes: its steps, and as long as it has not ended where its runs stand."""
    steps = len(trajectory.steps) * trajectory.steps[0].f.nbytes if trajectory.steps else 0
    states = (vars(run.state).values() for run in trajectory.runs if run.state is not None)
    return steps + sum(value.nbytes for state in states for value in state if isinstance(value, np.ndarray))


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
