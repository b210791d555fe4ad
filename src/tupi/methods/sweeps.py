"""Fitting methods without steps: one solution per setting, found once, the settings swept along trajectories.

Solutions that do not depend on the labels are computed once per problem. Folds that judge a choice only choose again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory, Watch, choose, follow
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.methods.base import Fit, Method

Array = NDArray[np.float64]


class Swept(Method):
    """A method on neighbours whose solutions depend on no labels, and are in the units of the initial predictions."""

    n_neighbors: int | None

    @abstractmethod
    def solutions(self, prepared: Prepared, values: Sequence[float]) -> Iterator[Array]:
        """Yield the columns for each value of the swept parameter in turn; n_neighbors must be set."""


def fit_swept(
    method: Swept,
    ks: Sequence[int],
    name: str,
    values: Sequence[float],
    prepared: Prepared,
    labels: Labels | None,
    watch: Watch | None,
) -> Fit:
    """Fit a method whose solutions do not depend on labels.

    Parameters
    ----------
    method : Swept
        The method.
    ks : sequence of int
        What to try for n_neighbors if it is None, cautious ones first.
    name : str
        The swept parameter; its value 0 must mean the initial predictions.
    values : sequence of float
        What to try for it if it is None, cautious ones first.
    prepared : Prepared
        The problem.
    labels : Values, Pairs or None
        What chooses; without labels there must be one setting and one value.
    watch : callable, optional
        Sees each new solution; returning True ends the search.
    """
    ks = ks if method.n_neighbors is None else (method.n_neighbors,)
    settings: list[Swept] = [replace(cast(Any, method), n_neighbors=k) for k in ks]
    given, m = getattr(method, name), len(prepared.problem.views)
    values = values if given is None else (float(given),)
    alike, unknown = np.full(m, 1.0 / m), np.full(m, np.nan)

    def trajectory_of(setting: Swept) -> Trajectory:
        def begin() -> Trajectory:
            found = chain([prepared.f], setting.solutions(prepared, values))
            steps = (Step(t, columns, alike, unknown) for t, columns in enumerate(found))
            return Trajectory(InMemory(prepared, calibrated), ahead=steps)

        return prepared.once((setting, name, tuple(values)), begin)

    calibrated = prepared.problem.task == "regression"
    if labels is None:
        trajectory = trajectory_of(settings[0])
        follow([trajectory], watch=watch)
        steps = list(trajectory.steps)
        value = values[0] if len(steps) > 1 else 0.0
        return Fit(steps[-1].f, settings[0].params() | {name: value}, steps, [], calibrated=calibrated)
    choice = choose(settings, trajectory_of, prepared, labels, patience=len(values) + 1, watch=watch)
    steps, tried = choice.trajectory.steps[: choice.t + 1], len(settings) * len(values)
    if choice.t == 0:
        note = f"None of {tried} settings scored better on the labels than the initial predictions."
        params = choice.setting.params() | {name: 0.0}
        return Fit(prepared.f, params, steps, choice.scores[:1], (note,), calibrated=calibrated)
    chosen = choice.setting.params() | {name: values[choice.t - 1]}
    listed = ", ".join(f"{key}={value:g}" for key, value in chosen.items() if value is not None)
    note = f"{listed} scored best of {tried} settings on the labels."
    ends = [steps[0], replace(steps[-1], t=1)]
    scores = [choice.scores[0], choice.scores[choice.t]]
    return Fit(steps[-1].f, chosen, ends, scores, (note,), calibrated=calibrated)
