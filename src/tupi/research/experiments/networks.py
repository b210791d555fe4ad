"""Who makes f^I: the rank SVM, our rank networks, and the paper's search over networks in full, one by one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tupi.inputs.labels import Values
from tupi.judging.metrics import metric_of
from tupi.rankers import RankNet, RankSVMCV, paper_network
from tupi.rankers.base import ValidatedRanker
from tupi.research.experiments import paper
from tupi.research.experiments.experiment import Experiment, accuracies
from tupi.research.experiments.page import figure, over_seeds, table
from tupi.research.experiments.protocol import split_of
from tupi.research.experiments.sources import dataset_of, source_of
from tupi.research.experiments.store import Cell, Store

RANKERS = ("svm", "network", "paper's network")


@dataclass(frozen=True)
class Networks(Experiment):
    """The configuration.

    Parameters
    ----------
    rankers : tuple of str
        Which rankers are trained.
    """

    name: ClassVar[str] = "networks"
    title: ClassVar[str] = "Rankers that make f^I on MFeat"
    datasets: ClassVar[tuple[str, ...]] = ("mfeat",)
    most_seeds: ClassVar[int | None] = 2

    rankers: tuple[str, ...] = RANKERS

    def compute(self, cell: Cell, store: Store) -> dict[str, Any]:
        """Return the accuracy of each ranker, which shape was chosen, and how long it took."""
        source, data = source_of(cell.dataset), dataset_of(cell.dataset)
        X, parts = source.features(data, cell.target), split_of(cell, self.protocol)
        assert isinstance(parts.train, Values)
        assert isinstance(parts.valid, Values)
        train, valid = parts.train, parts.valid
        accuracy, seconds, shapes = {}, {}, {}
        for name in self.rankers:
            start, ranker = time.process_time(), ranker_of(name, cell.seed)
            ranker.fit(X[train.index], train.values, X_val=X[valid.index], y_val=valid.values)
            seconds[name] = time.process_time() - start
            accuracy[name] = 100 * metric_of("ranking", parts.test).score(ranker.predict(X), parts.test)
            shapes[name] = getattr(ranker, "shape_", None)
        return {"accuracy": accuracy, "seconds": seconds, "shapes": shapes}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes."""
        return 20.0

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return each ranker's accuracy beside the paper's f^I, and the time it took."""
        found = accuracies(records)
        published = {view: values[0] for view, values in paper.TABLE1.items()}
        rows = []
        for name in self.rankers:
            times = [record["result"]["seconds"][name] for record in records]
            means = [figure(found[found["target"] == view][name]) for view in paper.MFEAT]
            distances = (found[name] - found["target"].map(published)).abs()
            rows.append([name, *means, over_seeds(found, distances), figure(times)])
        theirs = (f"{paper.TABLE1[view][0]:.2f} ({paper.TABLE1_DEVIATIONS[view][0]:.2f})" for view in paper.MFEAT)
        rows.append(["**paper**", *theirs, "", ""])
        header = ["", *(f"{view} ({label})" for view, label in paper.MFEAT.items())]
        return INTRODUCTION + table([*header, "mean distance to the paper", "seconds of one core"], rows)


def ranker_of(name: str, seed: int) -> ValidatedRanker:
    """Return a ranker by its name in the table."""
    if name == "svm":
        return RankSVMCV()
    return RankNet(random_state=seed) if name == "network" else paper_network(seed)


INTRODUCTION = (
    "Accuracy in per cent on the items that neither trained nor validated, mean over seeds (standard deviation), of "
    "each ranker alone. The paper takes a rank SVM or a network, whichever validates better. Its networks have 2 to 8 "
    "layers of 5 to 160 units and batch normalisation, and are trained by plain mini-batch gradient descent. "
    "`network` is what all other sections of this page use: five shapes, trained by Adam, each to its best epoch. "
    "`paper's network` is the search in full (`tupi.rankers.paper_network`): 42 shapes by plain descent; after 3, 9 "
    "and 27 epochs two thirds of those that are left are given up. The method `retrain` uses two shapes, of 2 layers "
    'with 10 or 40 units, by Adam; `network="paper"` gives it the full search. The distance to the paper\'s f^I is '
    "in points, mean over feature sets and seeds (deviation over seeds); the deviation of seconds is over both.\n\n"
)
