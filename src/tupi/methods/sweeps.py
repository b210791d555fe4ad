"""Fitting methods without steps: one solution per setting, found once, the settings swept along paths.

Solutions that do not depend on the labels are computed once per problem. Folds that judge a choice only choose again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tupi.denoiser import Step
from tupi.labels import Labels
from tupi.methods.base import Fit, Method
from tupi.paths import Path, Stopped, Watch
from tupi.prepared import Prepared
from tupi.tuning import choose

Array = NDArray[np.float64]
Swept = TypeVar("Swept", bound=Method)


def plain_step(prepared: Prepared, t: int, columns: Array) -> Step:
    """Return columns as a step in which all views count alike and no dependence was measured."""
    m = len(prepared.problem.views)
    return Step(t, columns, np.full(m, 1.0 / m), np.full(m, np.nan))


def first_and_last(prepared: Prepared, columns: Array, watch: Watch | None = None) -> list[Step]:
    """Return the steps of a method that has none: where it began and where it ended."""
    steps = [plain_step(prepared, 0, prepared.f), plain_step(prepared, 1, columns)]
    if watch is not None:
        for step in steps:
            watch(step)
    return steps


def fit_swept(
    settings: Sequence[Swept],
    name: str,
    values: Sequence[float],
    solutions: Callable[[Swept, Sequence[float]], Iterator[Array]],
    prepared: Prepared,
    labels: Labels | None,
    watch: Watch | None,
) -> Fit:
    """Fit a method whose solutions do not depend on labels.

    Parameters
    ----------
    settings : sequence of Method
        Complete but for the swept parameter, cautious ones first.
    name : str
        The swept parameter; its value 0 must mean the initial predictions.
    values : sequence of float
        Its values, cautious ones first.
    solutions : callable
        Yields the columns for each value in turn.
    prepared : Prepared
        The problem.
    labels : Values, Pairs or None
        What chooses; without labels there must be one setting and one value.
    watch : callable, optional
        Sees each new solution.
    """

    def path_of(setting: Swept) -> Path:
        def steps() -> Iterator[Step]:
            found = chain([prepared.f], solutions(setting, values))
            return (plain_step(prepared, t, columns) for t, columns in enumerate(found))

        return prepared.once((setting, name, tuple(values)), lambda: Path(prepared, steps()))

    if labels is None:
        return _unlabelled(settings[0], name, values[0], path_of(settings[0]), watch)
    choice = choose(settings, path_of, prepared, labels, patience=len(values) + 1, watch=watch)
    steps, tried = choice.path.upto(choice.t), len(settings) * len(values)
    if choice.t == 0:
        note = f"None of {tried} settings scored better on the labels than the initial predictions."
        return Fit(prepared.f, choice.setting.params() | {name: 0.0}, steps, choice.scores[:1], (note,))
    chosen = choice.setting.params() | {name: values[choice.t - 1]}
    listed = ", ".join(f"{key}={value:g}" for key, value in chosen.items() if isinstance(value, (int, float)))
    note = f"{listed} scored best of {tried} settings on the labels."
    ends = [steps[0], replace(steps[-1], t=1)]
    return Fit(steps[-1].f, chosen, ends, [choice.scores[0], choice.scores[choice.t]], (note,))


def _unlabelled(setting: Method, name: str, value: float, path: Path, watch: Watch | None) -> Fit:
    params = setting.params() | {name: value}
    try:
        for t in (0, 1):
            path.step(t, watch)
    except Stopped:
        pass  # what the watcher saw counts
    steps = path.upto(1)
    return Fit(steps[-1].f, params if len(steps) > 1 else params | {name: 0.0}, steps, [])
