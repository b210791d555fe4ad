"""The table of significance (label ``t:sigtestresults``): t-tests between methods, per attribute and in summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from tupi.research.experiments import paper
from tupi.research.experiments.accuracy import Accuracy
from tupi.research.experiments.experiment import accuracies
from tupi.research.experiments.page import table
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.t_tests import sign_of_difference

SIGNS = {1: "+", 0: "0", -1: "-"}
SHORT = {
    "initial": "I",
    "kim": "K",
    "graph-ssl": "S",
    "retrain": "R",
    "coconut": "C",
    "tupi": "O",
    "tupi-joint": "J",
    "auto": "A",
}
#: Beside the paper's pairs: what joint kernels and the default do.
OURS = (("tupi-joint", "initial"), ("tupi-joint", "tupi"), ("auto", "initial"), ("auto", "coconut"), ("auto", "tupi"))


@dataclass(frozen=True)
class Significance(Accuracy):
    """The configuration is that of the figures of accuracy, whose cells this reads."""

    title: ClassVar[str] = "Table of significance"

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return the signs per attribute beside the paper's, and the summaries."""
        found = accuracies(records)
        pairs = [pair for pair in (*paper.DIFFERENCES, *OURS) if set(pair) <= set(found.columns)]
        rows: list[list[str]] = []
        tallies: dict[tuple[str, str], list[tuple[int, str]]] = {pair: [] for pair in pairs}
        for (dataset, target), runs in found.groupby(["dataset", "target"], sort=False):
            cells = []
            for pair in pairs:
                sign = _sign(runs, pair)
                published = _published(
                    str(dataset), list(found.loc[found["dataset"] == dataset, "target"].unique()), target, pair
                )
                cells.append("." if sign is None else f"{SIGNS[sign]}{f' ({published})' if published else ''}")
                if sign is not None:
                    tallies[pair].append((sign, published))
            rows.append([f"{SOURCES[str(dataset)].title} {target}", *cells])
        header = ["attribute", *(f"{SHORT[a]}-{SHORT[b]}" for a, b in pairs)]
        return (
            INTRODUCTION
            + table(header, rows)
            + "\n### Summary of the paper's comparisons\n\n"
            + _summary(tallies)
            + f"\n{WHY}\n\n### All pairs of methods\n\n"
            + _matrix(found)
        )


def _sign(runs: pd.DataFrame, pair: tuple[str, str]) -> int | None:
    """Return the sign of a difference, or None where a method does not apply."""
    first, second = runs[pair[0]], runs[pair[1]]
    return None if first.isna().all() or second.isna().all() else sign_of_difference(first - second)


def _published(dataset: str, targets: list[Any], target: Any, pair: tuple[str, str]) -> str:
    """Return the paper's sign, or nothing where it has none."""
    if pair not in paper.DIFFERENCES or dataset not in paper.SIGNIFICANCE:
        return ""
    sign = paper.SIGNIFICANCE[dataset][targets.index(target)][paper.DIFFERENCES.index(pair)]
    return "" if sign == "." else sign


def _summary(tallies: dict[tuple[str, str], list[tuple[int, str]]]) -> str:
    """Return shares of targets on which the first method is significantly better and worse, ours and the paper's."""
    rows = []
    for (first, second), found in tallies.items():
        if not found:
            continue
        published = [sign for _, sign in found if sign]
        theirs = [f"{100 * published.count(s) / len(published):.0f}%" if published else "" for s in "+-"]
        ours = [sum(sign == s for sign, _ in found) for s in (1, -1)]
        alike = sum(SIGNS[sign] == other for sign, other in found if other)
        rows.append(
            [
                f"`{first}` against `{second}`" if second != "initial" else f"`{first}` against f^I",
                str(len(found)),
                *(f"{100 * count / len(found):.0f}%" for count in ours),
                *theirs,
                f"{alike} of {len(published)}" if published else "",
            ]
        )
    return table(["", "targets", "better", "worse", "paper: better", "paper: worse", "same sign"], rows)


def _matrix(found: pd.DataFrame) -> str:
    """Return for each pair of methods on how many targets the row's is significantly better than the column's."""
    names = [name for name in SHORT if name in found.columns]
    wins = {(a, b): 0 for a in names for b in names}
    for _, runs in found.groupby(["dataset", "target"], sort=False):
        for a, b in combinations(names, 2):
            sign = _sign(runs, (a, b))
            wins[a, b] += sign == 1
            wins[b, a] += sign == -1
    rows = [[f"`{a}`" if a != "initial" else "f^I", *("" if a == b else str(wins[a, b]) for b in names)] for a in names]
    header = ["better than", *(f"`{b}`" if b != "initial" else "f^I" for b in names)]
    return "On how many targets the row's method is significantly better than the column's.\n\n" + table(header, rows)


INTRODUCTION = (
    "Two-sided t-tests at the paper's level (5%) of differences in accuracy, paired by seed: + better, - worse, 0 "
    "neither, the paper's sign in parentheses where it gives one, and a dot where a method does not apply. I: f^I, K: "
    "`kim`, S: `graph-ssl`, R: `retrain`, C: `coconut`, O: `tupi` as published, J: `tupi-joint`, A: `auto`.\n\n"
)
WHY = (
    "*Why they differ.* The items, the rank networks and the 15 measurements of InvDyn are drawn anew, f^I is "
    "better than a rank SVM's, `kim` is an adaptation after a description in words, and the items that trained "
    "f^I are not denoised. The paper's percentages cover six datasets, these the ones that were run."
)
