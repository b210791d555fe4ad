"""The trajectories of all settings on a cluster, and the best step so far: its predictions stay on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step
from tupi.algorithm.engines.fused import FusedEngine, FusedState, together
from tupi.algorithm.trajectory import Shelf, Trajectory
from tupi.methods.tupi import Tupi

NOTHING = np.zeros(0)  # in place of predictions that are not kept


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
            self.best = Best(setting, t, replace(state, trials=together([state]), runs=1, run=0))
