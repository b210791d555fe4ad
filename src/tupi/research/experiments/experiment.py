"""What an experiment is: a frozen configuration, cells to compute, and a section of the page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from tupi import __version__
from tupi.methods.base import Method
from tupi.research.experiments.protocol import PROTOCOL, Protocol, Trial, initial_cells, initial_settings, make_trial
from tupi.research.experiments.sources import dataset_of, source_of
from tupi.research.experiments.store import Cell, Store

NETWORK_SEEDS = 5  # where rank networks take part: these take most of the time


@dataclass(frozen=True)
class Experiment(ABC):
    """One table or figure. Fields are its configuration; a cell made under another one is not used again.

    Parameters
    ----------
    protocol : Protocol
        How f^I is made, and items are dealt.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]]
    parallel: ClassVar[bool] = True  # False where time is what is measured
    command: ClassVar[str] = ""  # what `tupi reproduce` calls it, where that is not its name
    most_seeds: ClassVar[int | None] = None  # where an experiment only explains another one

    protocol: Protocol = PROTOCOL

    @property
    def label(self) -> str:
        """The name under which cells are stored: experiments that differ in their protocol do not mix."""
        return f"{self.name}-{self.protocol.name}"

    def cells(self, datasets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Return the cells on these datasets: all targets under all seeds, or under as many as the experiment takes."""
        most = NETWORK_SEEDS if "network" in self.protocol.rankers else None
        most = self.most_seeds if most is None else min(most, self.most_seeds or most)
        return [
            Cell(self.label, dataset, target, seed)
            for dataset in datasets
            if dataset in self.datasets
            for seed in seeds[:most]
            for target in self.targets(dataset)
        ]

    def targets(self, dataset: str) -> tuple[str, ...]:
        """Return the targets of a dataset that the experiment is about."""
        return source_of(dataset).targets(dataset_of(dataset))

    def settings(self, dataset: str) -> dict[str, Any]:
        """Return everything that the results on a dataset depend on, ready for JSON."""
        return {"tupi": __version__, "experiment": plain(self), "initial": initial_settings(dataset, self.protocol)}

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells of f^I that a cell reads."""
        return []

    @abstractmethod
    def compute(self, cell: Cell, store: Store) -> dict[str, Any]:
        """Return the result of a cell, ready for JSON; what it needs must be in the store."""

    @abstractmethod
    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes, for the estimate of the time left."""

    @abstractmethod
    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return the experiment's part of the page, from the records of its cells, and draw its pictures."""


class TrialExperiment(Experiment):
    """An experiment whose cells are trials: f^I of one target under one seed."""

    def needs(self, cell: Cell) -> list[Cell]:
        """Return the cells of f^I that a cell reads."""
        return initial_cells(cell.dataset, cell.target, cell.seed, self.protocol)

    def compute(self, cell: Cell, store: Store) -> dict[str, Any]:
        """Return the result of a cell; its f^I must be in the store."""
        trial = make_trial(cell.dataset, cell.target, cell.seed, store, self.protocol)
        try:
            return self.run(trial)
        finally:
            trial.forget_others()

    @abstractmethod
    def run(self, trial: Trial) -> dict[str, Any]:
        """Return the result of a trial, ready for JSON."""


def accuracies(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the accuracies of records as a table with dataset, target, seed and one column per variant."""
    rows = [
        {key: record["cell"][key] for key in ("dataset", "target", "seed")} | record["result"]["accuracy"]
        for record in records
    ]
    return pd.DataFrame(rows)


def plain(value: Any) -> Any:
    """Return a configuration as JSON holds it; a method with its name and, where it has one, its grid."""
    if isinstance(value, Experiment):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Method):
        grid = [setting.params() for setting in value.settings(True)] if hasattr(value, "settings") else None
        return {"method": value.name, "params": value.params(), "grid": grid}
    if isinstance(value, Protocol):
        return value.settings()
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return value
