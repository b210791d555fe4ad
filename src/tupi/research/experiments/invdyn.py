"""InvDyn in four readings: the 15 measurements of f^I fixed or drawn anew, the other six as one view or as six."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tupi.inputs.labels import Values, relabel
from tupi.methods.base import Method
from tupi.methods.coconut import Coconut
from tupi.methods.tupi import Tupi
from tupi.research.datasets import Dataset, load_sarcos
from tupi.research.experiments.experiment import Experiment, accuracies
from tupi.research.experiments.page import over_seeds, table
from tupi.research.experiments.protocol import Trial, best_ranker, initial_cells, make_trial, split_of
from tupi.research.experiments.sharing import LATEST, Common
from tupi.research.experiments.significance import in_common, published_signs
from tupi.research.experiments.sources import SARCOS_VIEWS, digest_of
from tupi.research.experiments.store import Cell, Store
from tupi.research.experiments.t_tests import counted, signs_by_target

N_MEASUREMENTS = 21
COLUMNS = ("fixed", "anew")
LAYOUTS = {"joint": "one view", "columns": "six views"}


@dataclass(frozen=True)
class InvDyn(Experiment):
    """The configuration.

    Parameters
    ----------
    methods : tuple of (str, Method)
        What is compared with f^I.
    """

    name: ClassVar[str] = "invdyn"
    title: ClassVar[str] = "InvDyn: which measurements, and how many views"
    datasets: ClassVar[tuple[str, ...]] = ("sarcos",)
    most_seeds: ClassVar[int | None] = 5

    methods: tuple[tuple[str, Method], ...] = field(default_factory=lambda: (("coconut", Coconut()), ("tupi", Tupi())))

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cell of f^I from the fixed measurements, which other experiments read too."""
        return initial_cells(cell.dataset, cell.target, cell.seed, self.protocol)

    def compute(self, cell: Cell, store: Store) -> dict[str, Any]:
        """Return the accuracy of f^I and of each method in each reading."""
        parts = split_of(cell, self.protocol)
        assert isinstance(parts.valid, Values)
        accuracy: dict[str, float] = {}
        common = LATEST.of("measurements", (digest_of(cell.dataset), self.protocol, cell.seed), Common)
        for how in COLUMNS:
            data = _measured(tuple(extra_columns(how, cell.seed)))
            if how == "fixed":
                initial = make_trial(cell.dataset, cell.target, cell.seed, store, self.protocol).initial
            else:
                _, _, ranker = best_ranker(data.g, parts, cell.seed, self.protocol)
                initial = ranker.predict(data.g[parts.items])
            alone = {name: view[parts.items] for name, view in data.extras.items()}
            for layout in LAYOUTS:
                views = alone if layout == "columns" else {"remaining": np.hstack(list(alone.values()))}
                labels, judging = (relabel(part, parts.items) for part in (parts.valid, parts.test))
                # All torques of a seed have the same views and labelled items.
                trial = Trial(initial, views, labels, judging, None, cell.seed, common, (how, layout))
                accuracy[f"{how} initial"] = trial.accuracy(initial)
                prepared = trial.prepared()
                for name, method in self.methods:
                    accuracy[f"{how} {layout} {name}"] = trial.judge(method, prepared)["accuracy"]
                trial.forget()
        return {"accuracy": accuracy}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes."""
        return 4.0

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return a row per reading: f^I, gains, t-tests and how many of the paper's signs they share."""
        found = accuracies(records)
        rows = []
        for how in COLUMNS:
            initial = found[f"{how} initial"]
            level = over_seeds(found, initial)
            for layout, views in LAYOUTS.items():
                for name, _ in self.methods:
                    gain = found[f"{how} {layout} {name}"] - initial
                    runs = found.assign(gain=gain)
                    signs = signs_by_target(runs)
                    shared = in_common(signs, published_signs("sarcos", (name, "initial")))
                    mean = over_seeds(runs, gain, "+")
                    counts = [counted(runs, signs_by_target, sign).plain for sign in (1, -1)]
                    tests = [*counts, f"{shared} of {len(signs)}"]
                    if found["seed"].nunique() < 2:
                        tests = ["one seed: no test", "", ""]
                    rows.append([f"{how}, {views}", f"`{name}`", level, mean, *tests])
        header = ["measurements, views", "method", "f^I", "gain", "better on", "worse on", "signs in common"]
        return INTRODUCTION + table(header, rows)


def extra_columns(how: str, seed: int) -> Sequence[int]:
    """Return the six measurements that f^I does not see: the same for all seeds, or drawn anew by the seed."""
    if how == "fixed":
        return SARCOS_VIEWS
    return sorted(np.random.default_rng((seed, 4)).permutation(N_MEASUREMENTS)[: len(SARCOS_VIEWS)].tolist())


@lru_cache(maxsize=4)
def _measured(extras: tuple[int, ...]) -> Dataset:
    return load_sarcos([k for k in range(N_MEASUREMENTS) if k not in extras], "columns")


INTRODUCTION = (
    "The paper gives 15 of the 21 measurements to f^I and the others to the methods. It does not say which ones, "
    "whether they are drawn anew for each run, and whether the others are one view or several. Here they are the same "
    "for all seeds (*fixed*) or drawn by the seed (*anew*), and the other six are one view or six. Figures are means "
    "over torques and seeds (deviation over seeds). *Better on* and *worse on* count torques with a significant "
    "difference from f^I. *Signs in common* compares these signs with the paper's, in any order of torques: there "
    "`tupi` is better on 4 of 7 and worse on none, and CoConut neither on any. The paper shows accuracies on InvDyn "
    "as a picture without numbers, so that f^I itself cannot be compared.\n\n"
)
