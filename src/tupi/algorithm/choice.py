"""Choosing a setting and the number of steps with labels. All settings share one embedding and one set of paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from tupi.algorithm.trajectory import Path, Stopped, Watch, extend
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, labelled_items, relabel
from tupi.judging.metrics import metric_of

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
    """Follow the paths of all settings side by side and return the best step of all.

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
    metric = metric_of(problem.task, local)
    paths = [path_of(setting) for setting in settings]
    scores: list[list[float]] = [[] for _ in settings]
    live = list(range(len(settings)))
    t = 0
    try:
        while live:
            extend([paths[k] for k in live], t)
            for k in list(live):
                if paths[k].step(t, watch) is None:
                    live.remove(k)
                    continue
                scores[k].append(metric.score(paths[k].labelled(t), local))
                if t - scores[k].index(max(scores[k])) >= patience:
                    live.remove(k)
            t += 1
    except Stopped:
        if not scores[0]:  # stopped at the very first step
            scores[0].append(metric.score(paths[0].labelled(0), local))
    tops = [max(each, default=-np.inf) for each in scores]
    best = tops.index(max(tops))
    return Choice(settings[best], paths[best], scores[best].index(tops[best]), scores[best], len(settings))
