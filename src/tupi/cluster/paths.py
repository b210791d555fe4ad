"""The runs of Algorithm 1 under all settings, side by side, as far as labels, or none, want to follow them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Run, Step, advance
from tupi.algorithm.trajectory import Watch
from tupi.cluster.engine import DaskEngine, DaskState, gathered
from tupi.cluster.labelled import Choices, Labelled
from tupi.methods.tupi import Tupi

Array = NDArray[Any]
NOTHING = np.zeros(0)  # steps that are kept do not keep their predictions: those would stay on the workers


@dataclass(eq=False)
class Paths:
    """All runs with what is known of their steps.

    Attributes
    ----------
    runs : list of Run
        One per setting.
    steps : list of list of Step
        What is known of each, without predictions.
    values : list of list of ndarray
        f(t) of the labelled items along each path.
    best : tuple of int and DaskState, optional
        With labels: setting, step and state of the best step so far, if it is not an initial one.
    """

    runs: list[Run]
    steps: list[list[Step]] = field(default_factory=list)
    values: list[list[Array]] = field(default_factory=list)
    best: tuple[int, int, DaskState] | None = None

    @classmethod
    def of(cls, settings: Sequence[Tupi], engine: DaskEngine) -> Paths:
        """Return the runs of some settings, before their first step."""
        runs = []
        for setting in settings:
            assert setting.lam is not None
            assert setting.sigma_w2 is not None
            assert setting.n_iter is not None
            initial = engine.begin().f
            runs.append(
                Run(
                    engine,
                    initial,
                    setting.lam,
                    setting.sigma_w2,
                    setting.n_iter,
                    setting.optimizer,
                    setting.inner_iter,
                    setting.discount,
                )
            )
        return cls(runs, [[] for _ in runs], [[] for _ in runs])

    def extend(self, live: Sequence[int], labelled: Labelled | None, watch: Watch | None) -> bool:
        """Take one more step of some runs; return whether the watcher asked to stop."""
        advance([self.runs[k] for k in live])
        stop = False
        found = []
        for k in live:
            step = next(self.runs[k])
            self.steps[k].append(replace(step, f=NOTHING))
            found.append(step.t)
            stop = stop or (watch is not None and watch(step) is True)
        if labelled is not None:
            first = found[0] == 0
            new = [labelled.first] * len(live) if first else labelled.values([self.runs[k].state for k in live])
            for k, f in zip(live, new, strict=True):
                self.values[k].append(f)
        return stop


def follow_one(paths: Paths, watch: Watch | None, save: Any) -> None:
    """Follow the first run to its end, or until the watcher stops it."""
    run = paths.runs[0]
    while len(paths.steps[0]) <= run.n_iter:
        stop = paths.extend([0], None, watch)
        save(paths, [0])
        if stop:
            return


def follow_all(paths: Paths, labelled: Labelled, patience: int, watch: Watch | None, save: Any) -> Choices:
    """Follow all runs as far as any set of labels wants to: all labels, which choose, and those of folds, which judge.

    Only the labelled items' f(t) comes to the client, and of the others' only the best step so far stays on the
    workers: nothing has to be computed twice, and the memory of one vector is enough.
    """
    voters = [Choices(labelled, labels, len(paths.runs), patience) for labels in labelled.train_sets()]
    for k, values in enumerate(paths.values):
        for f in values:
            for voter in voters:
                voter.see(k, f)
    main = voters[0]
    while live := [
        k
        for k, run in enumerate(paths.runs)
        if len(paths.steps[k]) <= run.n_iter and any(voter.wants(k) for voter in voters)
    ]:
        stop = paths.extend(live, labelled, watch)
        for k in live:
            for voter in voters:
                voter.see(k, paths.values[k][-1])
        best, t = main.best, main.t
        if t and (paths.best is None or paths.best[:2] != (best, t)):
            state = paths.runs[best].state
            alone = replace(state, trials=gathered([state]), rows=1, run=0, moved=False)
            paths.best = (best, t, alone)
        save(paths, live)
        if stop:
            break
    return main
