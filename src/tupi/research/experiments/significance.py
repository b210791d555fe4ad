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
from tupi.research.experiments.page import listed, over_seeds, table
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.t_tests import count_of, counted, directions, sign_of_difference

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

    command: ClassVar[str] = "significance"
    title: ClassVar[str] = "Table of significance"

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return the signs per attribute beside the paper's, and the summaries."""
        found = accuracies(records)
        pairs = [pair for pair in (*paper.DIFFERENCES, *OURS) if set(pair) <= set(found.columns)]
        rows: list[list[str]] = []
        signs: dict[tuple[str, str], dict[str, list[int]]] = {pair: {} for pair in pairs}
        for (dataset, target), runs in found.groupby(["dataset", "target"], sort=False):
            cells = []
            for pair in pairs:
                sign = _sign(runs, pair)
                cells.append("." if sign is None else SIGNS[sign])
                if sign is not None:
                    signs[pair].setdefault(str(dataset), []).append(sign)
            rows.append([f"{SOURCES[str(dataset)].title} {target}", *cells])
        header = ["attribute", *(f"{SHORT[a]}-{SHORT[b]}" for a, b in pairs)]
        return (
            INTRODUCTION
            + table(header, rows)
            + "\n### Summary of the paper's comparisons\n\n"
            + _summary(found, signs)
            + f"\n{WHY}\n\n"
            + COUNTED
            + "".join(_counts(found, name) for name in ("tupi", "tupi-joint", "auto") if name in found.columns)
            + "\n### All pairs of methods\n\n"
            + _matrix(found)
        )


def _sign(runs: pd.DataFrame, pair: tuple[str, str]) -> int | None:
    """Return the sign of a difference, or None where a method does not apply."""
    first, second = runs[pair[0]], runs[pair[1]]
    return None if first.isna().all() or second.isna().all() else sign_of_difference(first - second)


def published_signs(dataset: str, pair: tuple[str, str]) -> list[str]:
    """Return the paper's signs of a difference on a dataset, in its order of attributes; none where it has none."""
    if pair not in paper.DIFFERENCES or dataset not in paper.SIGNIFICANCE:
        return []
    column = paper.DIFFERENCES.index(pair)
    return [row[column] for row in paper.SIGNIFICANCE[dataset] if row[column] != "."]


def in_common(ours: Sequence[int], theirs: Sequence[str]) -> int:
    """Return on how many attributes two lists of signs agree at most, if their orders have nothing to do with another.

    The paper numbers attributes in ascending order of f^O's accuracy, so that nobody can tell which of its rows is
    which attribute: only how often each sign occurs can be compared.
    """
    return sum(min(sum(SIGNS[sign] == name for sign in ours), theirs.count(name)) for name in SIGNS.values())


def _summary(found: pd.DataFrame, signs: dict[tuple[str, str], dict[str, list[int]]]) -> str:
    """Return shares of targets on which the first method is significantly better and worse, ours and the paper's."""
    rows = []
    for (first, second), by_dataset in signs.items():
        theirs = {dataset: published_signs(dataset, (first, second)) for dataset in by_dataset}
        published = [sign for some in theirs.values() for sign in some]
        compared_on = [dataset for dataset in by_dataset if theirs[dataset] or not published]
        if not compared_on:
            continue
        own = found[found["dataset"].isin(compared_on)]
        better, worse = (count_of(own, first, second, sign) for sign in (1, -1))
        shared = sum(in_common(by_dataset[dataset], some) for dataset, some in theirs.items())
        rows.append(
            [
                f"`{first}` against `{second}`" if second != "initial" else f"`{first}` against f^I",
                str(better.of),
                over_seeds(own, own[first] - own[second], "+"),
                better.share,
                worse.share,
                *(f"{100 * published.count(sign) / len(published):.0f}%" if published else "" for sign in "+-"),
                f"{shared} of {len(published)}" if published else "",
            ]
        )
    header = ["", "targets", "mean difference", "better", "worse", "paper: better", "paper: worse", "signs in common"]
    return SUMMARY + table(header, rows)


def _counts(found: pd.DataFrame, name: str) -> str:
    """Return on how many targets a method improves f^I on average, and on how many it degrades it."""
    gains = found[["dataset", "target", "seed"]].assign(gain=found[name] - found["initial"])
    better, worse = (counted(gains, directions, sign) for sign in (1, -1))
    surely = listed([count_of(found, name, "initial", sign).plain for sign in (1, -1)])
    return (
        f"- `{name}` improves f^I on {better.among} targets and degrades it on {worse.plain}; significantly on "
        f"{surely}.\n"
    )


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
    return MATRIX + table(header, rows)


INTRODUCTION = (
    "Each column compares two methods on each target by a two-sided t-test at the paper's level (5%) of the "
    "differences in accuracy, paired by seed. A + says that the first is better, a - that it is worse, a 0 that "
    "neither is, and a dot that a method does not apply. I: f^I, K: `kim`, S: `graph-ssl`, R: `retrain`, C: "
    "`coconut`, O: `tupi`, J: `tupi-joint`, A: `auto`. The accuracies themselves, with their deviations, are in the "
    "section before.\n\n"
)
WHY = (
    "*Why they differ.* The top of this page says what we believe. Besides, items and rankers are drawn anew here, "
    "the 15 measurements of InvDyn are our choice, `kim` follows a description in words, and items that trained f^I "
    "are not denoised. The paper's percentages are those of the datasets that were run here. The paper numbers "
    "attributes in ascending order of the accuracy of f^O, so that nobody can tell which of its rows is which "
    "attribute. *Signs in common* therefore compares, dataset by dataset, how often each sign occurs. The fewer seeds"
    " there are, the fewer differences are significant; the paper has ten."
)
SUMMARY = (
    "The share of targets on which the first method is significantly better and worse, and the mean difference in "
    "points over targets and seeds (deviation over seeds). A row counts the targets for which the paper has this "
    "comparison, or all targets where it has none.\n\n"
)
MATRIX = (
    "On how many targets the row's method is significantly better than the column's. How far such numbers depend on "
    "single seeds shows in the brackets of the summary above.\n\n"
)
COUNTED = (
    "On how many targets does a method improve f^I on average, and on how many does it degrade it? In the paper "
    "`tupi` improves 43 of 45 and degrades 2. Among these 45 are the six rows of MFeat, see Table 1, and three "
    "datasets that could not be had.\n\n"
)
