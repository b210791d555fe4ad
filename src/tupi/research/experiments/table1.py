"""Table 1 (label ``t:mfeatresults``): MFeat, with random views, with fewer views, and with the truth as a view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tupi.methods.auto.auto import Auto
from tupi.methods.base import Method
from tupi.methods.tupi import Tupi
from tupi.research.experiments import paper
from tupi.research.experiments.experiment import TrialExperiment, accuracies
from tupi.research.experiments.page import check, figure, over_seeds, table
from tupi.research.experiments.protocol import SVM_ONLY, Array, Trial
from tupi.research.experiments.t_tests import counted, directions

COLUMNS = paper.TABLE1_COLUMNS


@dataclass(frozen=True)
class Table1(TrialExperiment):
    """The configuration.

    Parameters
    ----------
    method : Method
        What denoises.
    default : Method
        Our default, which gets the views of O, for the count of rows that are improved.
    n_random : int
        Random views beside the real ones (R).
    columns : tuple of int
        The least and the largest number of columns of a random view.
    n_selected : tuple of int
        How many of the views are drawn (S1, S3).
    noise : tuple of float
        Deviations of the noise on the truth, scaled to [0, 1], which is then the only view (G1 to G3). That it is the
        only one follows from the paper's figures: G1 is below f^O.
    """

    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Table 1: MFeat"
    datasets: ClassVar[tuple[str, ...]] = ("mfeat",)

    method: Method = field(default_factory=Tupi)
    default: Method = field(default_factory=Auto)
    n_random: int = 10
    columns: tuple[int, int] = (2, 20)
    n_selected: tuple[int, ...] = (1, 3)
    noise: tuple[float, ...] = (1.0, 0.2, 0.0)

    def variants(self, trial: Trial) -> dict[str, dict[str, Array]]:
        """Return the views of each column of the table."""
        assert trial.truth is not None
        rng = np.random.default_rng((trial.seed, 1))
        n, names = len(trial.initial), list(trial.views)
        found = {"O": dict(trial.views), "R": dict(trial.views)}
        for k in range(self.n_random):
            width = int(rng.integers(self.columns[0], self.columns[1] + 1))
            found["R"][f"random {k}"] = rng.normal(size=(n, width))
        for size in self.n_selected:
            drawn = rng.choice(names, size, replace=False)
            found[f"S{size}"] = {name: trial.views[name] for name in drawn}
        low, high = trial.truth.min(), trial.truth.max()
        for k, deviation in enumerate(self.noise, start=1):
            noisy = (trial.truth - low) / (high - low) + deviation * rng.normal(size=n)
            found[f"G{k}"] = {"truth": noisy[:, None]}
        return found

    def run(self, trial: Trial) -> dict[str, Any]:
        """Return the accuracy of each column."""
        found = {key: trial.judge(self.method, trial.prepared(views)) for key, views in self.variants(trial).items()}
        accuracy = {"I": trial.accuracy(trial.initial)} | {key: one["accuracy"] for key, one in found.items()}
        accuracy["auto"] = trial.judge(self.default, trial.prepared())["accuracy"]
        return {"accuracy": accuracy, "chosen": {key: one["chosen"] for key, one in found.items()}}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes."""
        return 3.5

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return the table: ours, the paper's, the difference; and what must hold."""
        found = accuracies(records)
        rows = []
        for target, runs in found.groupby("target", sort=False):
            published = np.array(paper.TABLE1[str(target)])
            ours = runs[list(COLUMNS)].mean().to_numpy()
            name = f"{target} ({paper.MFEAT[str(target)]})"
            rows.append([f"**{name}**", *(figure(runs[column]) for column in COLUMNS)])
            deviations = paper.TABLE1_DEVIATIONS[str(target)]
            rows.append(["paper", *(f"{a:.2f} ({b:.2f})" for a, b in zip(published, deviations, strict=True))])
            rows.append(["difference", *(f"{value:+.2f}" for value in ours - published)])
        legend = (
            "I: f^I. O: f^O by `tupi` with the five other views. R: with ten random views. S1, S3: with one and three "
            "views drawn at random. G1 to G3: the truth as the only view, with noise of deviation 1, 0.2 and 0. Means "
            "over seeds (standard deviations), here and in the paper. A difference is ours less the paper's.\n\n"
        )
        why = WHY_COMPARISONS if self.protocol.n_pairs else WHY_SVM if self.protocol == SVM_ONLY else WHY_NETWORK
        return legend + table(["view", *COLUMNS], rows) + f"\n{why}\n\n" + "".join(checks(found)) + counts(found)


WHY_SVM = (
    "*Why they differ.* f^I is a rank SVM here. If the columns F1 to F6 are the files in alphabetical order, then the"
    " paper's accuracies of f^I are nearer to those of a rank SVM than to those of a network. The gains are larger "
    "than the paper's. The paper does not say how far each step descends, and its rule for the width of kernels can "
    "be read in several ways; our choices move f further. The width rule was chosen on MFeat itself under seeds 0 and"
    " 1, and the grid of lam and sigma_w2 on all four datasets under the same seeds."
)
WHY_NETWORK = (
    "*Why they differ.* This is the protocol to the letter: f^I is a rank network wherever a network validates better"
    " than the rank SVM. Our networks are far better than the paper's f^I on MFeat, and leave less to gain."
)
WHY_COMPARISONS = (
    "*Why they differ.* f^I is a rank SVM that is trained by 200 comparisons, drawn at random between the 200 items. "
    'This is another way to read the paper\'s "200 data points with pairwise comparison labels", and f^I is weaker.'
)


def checks(found: pd.DataFrame) -> list[str]:
    """Return what the table must show, and whether it does."""
    means = found.groupby("target")[list(COLUMNS)].mean()
    published = pd.DataFrame(paper.TABLE1, index=list(COLUMNS)).T.loc[means.index]
    above = means["O"] - published["O"]
    margin = above - (means["I"] - published["I"])
    open_rows = above[means["I"] < published["O"]]
    off = (means["I"] - published["I"]).abs()
    level = [  # where f^I alone is above the paper's f^O, that f^O is too says nothing
        check(
            "f^O is at least the paper's on every row where f^I alone is not",
            bool((open_rows >= 0).all()),
            f"{(open_rows >= 0).sum()} of {len(open_rows)} such rows, by {open_rows.min():+.2f} or more",
        )
    ] * bool(len(open_rows))
    noise = means["R"] - means["O"]
    average = means.mean()

    def level_of(*names: str) -> str:
        return ", ".join(over_seeds(found, found[name]) for name in names)

    return [
        check(
            "the gain f^O - f^I is at least the paper's on every row",
            bool((margin >= 0).all()),
            f"{(margin >= 0).sum()} of {len(margin)} rows, by {margin.min():+.2f} (on {margin.idxmin()}) to "
            f"{margin.max():+.2f} points more; it is {over_seeds(found, found['O'] - found['I'], '+')} on average",
        ),
        *level,
        check(
            "f^I is within one point of the paper's on every row",
            bool((off <= 1).all()),
            f"{(off <= 1).sum()} of {len(off)}",
        ),
        check(
            "R is within 0.5 points of f^O on every row",
            bool((noise.abs() <= 0.5).all()),
            f"{over_seeds(found, found['R'] - found['O'], '+')} on average, {noise.min():+.2f} to {noise.max():+.2f} "
            "by view",
        ),
        check(
            "S1 < S3 <= f^O on average",
            bool(average["S1"] < average["S3"] <= average["O"]),
            level_of("S1", "S3", "O"),
        ),
        check("G3 is at least 99.0 on average", bool(average["G3"] >= 99.0), level_of("G3")),
        check("G2 is at least 87.0 on average", bool(average["G2"] >= 87.0), level_of("G2")),
    ]


def counts(found: pd.DataFrame) -> str:
    """Return on how many rows f^I is improved and degraded; the paper counts 43 and 2 of 45 on all its datasets."""
    said = []
    for name, column in (("tupi", "O"), ("auto", "auto")):
        gains = found[["dataset", "target", "seed"]].assign(gain=found[column] - found["I"])
        better, worse = (counted(gains, directions, sign) for sign in (1, -1))
        said.append(f"- `{name}` improves f^I on {better.among} rows and degrades it on {worse.plain}.\n")
    return "".join(said)
