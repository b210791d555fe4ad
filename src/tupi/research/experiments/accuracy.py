"""The figures of accuracy (labels ``f:resultsrelative`` and ``f:resultsabsolute``): all methods on all targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from tupi.methods.auto.auto import Auto
from tupi.methods.base import Method
from tupi.methods.coconut import Coconut
from tupi.methods.graph_ssl import GraphSSL
from tupi.methods.kim import Kim
from tupi.methods.retrain import Retrain
from tupi.methods.tupi import Tupi, TupiJoint
from tupi.research.experiments.experiment import TrialExperiment, accuracies
from tupi.research.experiments.page import check, figure, over_seeds, picture, table
from tupi.research.experiments.protocol import Trial
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.t_tests import sign_of_difference
from tupi.runtime.errors import InputError

#: Seconds that all methods together take on a cell.
SECONDS = {"mfeat": 7.0, "pubfig": 2.0, "osr": 2.5, "sarcos": 14.0, "shoes": 20.0, "awa": 120.0}
SECONDS |= dict.fromkeys(("zap50k", "zap50k-coarse"), 120.0)


RECOMMENDED = TupiJoint()  # the paper's method as we recommend it


def compared(retrain: Retrain) -> tuple[tuple[str, Method], ...]:
    """Return what is compared with f^I, by name."""
    return (
        ("kim", Kim()),
        ("graph-ssl", GraphSSL()),
        ("retrain", retrain),
        ("coconut", Coconut()),
        ("tupi", Tupi()),
        ("tupi-joint", RECOMMENDED),
        ("auto", Auto()),
    )


@dataclass(frozen=True)
class Accuracy(TrialExperiment):
    """The configuration.

    Parameters
    ----------
    methods : tuple of (str, Method)
        What is compared with f^I. A method that does not apply, as `kim` to views of many columns, is left out.
    """

    name: ClassVar[str] = "accuracy"
    title: ClassVar[str] = "Figures of accuracy"
    datasets: ClassVar[tuple[str, ...]] = ("pubfig", "osr", "sarcos", "shoes", "awa", "zap50k", "zap50k-coarse")

    methods: tuple[tuple[str, Method], ...] = field(default_factory=lambda: compared(Retrain()))

    def run(self, trial: Trial) -> dict[str, Any]:
        """Return the accuracy of each method that applies; all share one prepared problem."""
        prepared = trial.prepared()
        accuracy = {"initial": trial.accuracy(trial.initial)}
        seconds, left_out = {}, {}
        for name, method in self.methods:
            try:
                found = trial.judge(method, prepared)
            except InputError as reason:
                left_out[name] = str(reason)
                continue
            accuracy[name], seconds[name] = found["accuracy"], round(found["seconds"], 3)
        return {"accuracy": accuracy, "seconds": seconds, "left_out": left_out}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes."""
        return SECONDS[dataset]

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return a figure and a table per dataset, and what must hold."""
        from tupi.research.experiments.drawing import draw_accuracy

        found = accuracies(records)
        parts = [INTRODUCTION]
        harmed: list[str] = []
        for dataset, runs in found.groupby("dataset", sort=False):
            source = SOURCES[str(dataset)]
            draw_accuracy(runs, source.title, pictures / f"{self.label}-{dataset}.png")
            names = [name for name in ("initial", *(name for name, _ in self.methods)) if runs[name].notna().any()]
            means = runs.groupby("target", sort=False)[names].mean()
            parts.append(f"\n### {source.title}\n\n")
            if not source.available:
                parts.append("Not yet run on the real archive.\n\n")
            caption = f"{source.title}: accuracy of each method by attribute, relative to f^I and absolute"
            parts.append(picture(f"{self.label}-{dataset}.png", caption) + "\n")
            rows = [
                [str(target), *(figure(one[name]) for name in names)]
                for target, one in runs.groupby("target", sort=False)
            ]
            rows.append(["**mean**", *(over_seeds(runs, runs[name]) for name in names)])
            gains = (over_seeds(runs, runs[name] - runs["initial"], "+") for name in names[1:])
            rows.append(["**gain over f^I**", "", *gains])
            parts.append(table([source.title, "f^I", *names[1:]], rows) + "\n")
            gain = float((means["tupi"] - means["initial"]).mean())
            harmed += worse_than_initial(runs, source.title)
            shown = over_seeds(runs, runs["tupi"] - runs["initial"], "+")
            parts.append(check("`tupi` is better than f^I on average", gain > 0, f"{shown} points"))
        n_targets = len(found.groupby(["dataset", "target"]))
        listed = f"; worse on {', '.join(harmed)}" if harmed else ""
        parts.append("\n")
        parts.append(
            check(
                f"`tupi` is significantly worse than f^I on none of the {n_targets} targets",
                not harmed,
                f"{len(harmed)} of {n_targets}{listed}",
            )
        )
        return "".join(parts)


def worse_than_initial(runs: pd.DataFrame, title: str) -> list[str]:
    """Return the targets on which `tupi` is significantly worse than f^I."""
    return [
        f"{title} {target}"
        for target, one in runs.groupby("target", sort=False)
        if sign_of_difference(one["tupi"] - one["initial"]) < 0
    ]


INTRODUCTION = (
    "Accuracy in per cent, mean over seeds (standard deviation). In the pictures attributes are in ascending order of"
    " the accuracy of `tupi`, as in the paper, and error bars are one standard deviation. The last two rows are means"
    " over targets, with the deviation over seeds of these means. The paper shows these figures as pictures without "
    "numbers; the table of significance compares them.\n\n`tupi-joint` was found by looking at PubFig, OSR, InvDyn and "
    "MFeat under seeds 0 to 5, and `auto` was developed on these datasets too: the figures of both are optimistic.\n"
)
