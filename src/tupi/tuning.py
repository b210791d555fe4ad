"""Choosing a setting and the number of steps with labels. All settings share one embedding and one set of paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tupi.labels import Labels, labelled_items, relabel, score
from tupi.paths import Path, Stopped, Watch
from tupi.prepared import Prepared

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Choice(Generic[Setting]):
    """The best setting and step.

    Attributes
    ----------
    setting : Setting
        What was chosen.
    path : Path
        Its path.
    t : int
        The best step on it; 0 means that nothing beat the initial predictions.
    scores : list of float
        The score on the labels along the path, as far as it was followed.
    tried : int
        How many settings were tried.
    """

    setting: Setting
    path: Path
    t: int
    scores: list[float]
    tried: int


def choose(
    settings: Sequence[Setting],
    path_of: Callable[[Setting], Path],
    prepared: Prepared,
    labels: Labels,
    patience: int,
    watch: Watch | None = None,
) -> Choice[Setting]:
    """Follow the path of each setting and return the best step of all.

    A path is left as soon as the score has not increased for ``patience`` steps in a row; the paper's rule is 1. Of
    equal scores the earliest wins: the fewest steps, and the setting that was listed first.

    Parameters
    ----------
    settings : sequence
        What to try, cautious settings first.
    path_of : callable
        Gives the path of a setting.
    prepared : Prepared
        The problem.
    labels : Values or Pairs
        The labels to choose by: all of the problem's, or some of them.
    patience : int
        How long to wait for an increase.
    watch : callable, optional
        Sees each new step; returning True ends the search with the best so far.
    """
    problem = prepared.problem
    assert problem.labels is not None
    local = relabel(labels, labelled_items(problem.labels))
    best: Choice[Setting] | None = None
    for tried, setting in enumerate(settings, start=1):
        path = path_of(setting)
        scores: list[float] = []
        stopped = False
        try:
            while path.step(len(scores), watch) is not None:
                scores.append(score(path.labelled(len(scores)), local, problem.task))
                leader = scores.index(max(scores))
                if len(scores) - 1 - leader >= patience:
                    break
        except Stopped:
            stopped = True
        if scores:
            t = scores.index(max(scores))
            if best is None or scores[t] > best.scores[best.t]:
                best = Choice(setting, path, t, scores, tried)
        if stopped:
            break
    if best is None:  # stopped at the very first step
        path = path_of(settings[0])
        best = Choice(settings[0], path, 0, [score(path.labelled(0), local, problem.task)], 1)
    return Choice(best.setting, best.path, best.t, best.scores, len(settings))
