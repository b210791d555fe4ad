"""What the results page says first: what is reproduced and what is not, worked out from the cells that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tupi.research.experiments import paper
from tupi.research.experiments.experiment import accuracies
from tupi.research.experiments.page import listed, table
from tupi.research.experiments.significance import published_signs
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.t_tests import sign_of_difference, signs_of
from tupi.research.experiments.why import why

LEAST_SEEDS = 3  # for a claim that something is not significant
Records = Sequence[dict[str, Any]]


class Claim(NamedTuple):
    """One thing that the paper reports, and whether it is so here."""

    holds: bool
    what: str
    ours: str
    theirs: str


def summary(found: Mapping[str, Records]) -> str:
    """Return a table of what is and is not reproduced, and paragraphs of what else was found.

    Parameters
    ----------
    found : mapping of str to list of dict
        The records of each experiment by its label; an experiment that is not there is not spoken of.
    """
    tables = {label: accuracies(records) for label, records in found.items() if _has_accuracies(records)}
    claims = [
        claim
        for label, about in (
            ("table1-svm", _table1),
            ("table2-svm", _table2),
            ("accuracy-svm", _significance),
            ("remarks-svm", _remarks),
        )
        if label in tables
        for claim in about(tables[label])
    ]
    parts = []
    if claims:
        rows = [[one.what, one.theirs, one.ours, "yes" if one.holds else "**no**"] for one in claims]
        parts.append(CLAIMS + table(["what the paper reports", "the paper's figure", "here", "reproduced"], rows))
    parts += [_improved(tables)] if {"table1-svm", "accuracy-svm"} <= set(tables) else []
    parts += [_recommended(tables["accuracy-svm"])] if "accuracy-svm" in tables else []
    parts += [why(tables)] if "accuracy-svm" in tables else []
    return "\n\n".join(part.rstrip("\n") for part in parts)


def headline(found: Mapping[str, Records]) -> str:
    """Return the first paragraph of the page: the paper's headline, and whether it is so here.

    It is empty unless `tupi`, CoConut and f^I were compared on datasets that the paper has t-tests for.
    """
    if not _has_accuracies(found.get("accuracy-svm", ())):
        return ""
    table = accuracies(found["accuracy-svm"])
    ours = {other: signs_of(table, "tupi", other) for other in ("initial", "coconut")}
    theirs = {other: _published(table, "tupi", other) for other in ours}
    if not all((*ours.values(), *theirs.values())):
        return ""
    paper_s = [_share(theirs[other], 1) for other in ours]
    better = [_share(ours[other], 1) for other in ours]
    worse = [_share(ours[other], -1) for other in ours]
    holds = all(
        ours[other].count(1) / len(ours[other]) >= theirs[other].count(1) / len(theirs[other]) for other in ours
    )
    said = (
        f"**The headline of the paper is {'reproduced' if holds else 'not reproduced by `tupi` itself'}.** The paper "
        f"says that its method is significantly better than the initial predictions f^I, in t-tests at 5%, on "
        f"{paper_s[0]} of the targets (attributes and torques) of {_titles(table)}, and significantly better than its "
        f"rival CoConut on {paper_s[1]}. Here `tupi`, which is the paper's method as we read it, is significantly "
        f"better than f^I on {better[0]} and significantly worse on {worse[0]}; it is significantly better than "
        f"CoConut on {better[1]} and significantly worse on {worse[1]}."
    )
    joint = signs_of(table, "tupi-joint", "initial")
    if joint:
        said += (
            f" With one kernel of all views (`tupi-joint`), the same algorithm is significantly better than f^I on "
            f"{_share(joint, 1)} and significantly worse on {_share(joint, -1)}."
        )
    return said


def _share(signs: Sequence[int], sign: int) -> str:
    """Return on which share of the targets a sign occurs, and on how many."""
    return f"{signs.count(sign) / len(signs):.0%} ({signs.count(sign)} of {len(signs)})"


def _has_accuracies(records: Records) -> bool:
    return bool(records) and "accuracy" in records[0]["result"]


def _table1(found: pd.DataFrame) -> list[Claim]:
    means = found.groupby("target").mean(numeric_only=True)
    published = pd.DataFrame(paper.TABLE1, index=list(paper.TABLE1_COLUMNS)).T.loc[means.index]
    gains, their_gains = means["O"] - means["I"], published["O"] - published["I"]
    noise, their_noise = ((some["R"] - some["O"]).abs().max() for some in (means, published))
    off, average, theirs = (means["I"] - published["I"]).abs(), means.mean(), published.mean()
    views = "{:.2f}, {:.2f}, {:.2f}".format
    enough = gains >= their_gains
    return [
        Claim(
            bool(enough.all()),
            "MFeat: `tupi` gains on each of the six feature sets, on average by",
            f"{gains.mean():+.2f}; at least the paper's gain on {enough.sum()} of {len(gains)}",
            f"{their_gains.mean():+.2f}",
        ),
        Claim(
            bool(noise <= 0.5),
            "MFeat: ten random views among the others change the accuracy by at most",
            f"{noise:.2f}",
            f"{their_noise:.2f}",
        ),
        Claim(
            bool(average["S1"] < average["S3"] <= average["O"]),
            "MFeat: fewer views help less (accuracy with one, three and all five)",
            views(*average[["S1", "S3", "O"]]),
            views(*theirs[["S1", "S3", "O"]]),
        ),
        Claim(
            bool(average["G3"] >= 99),
            "MFeat: the truth as a view ranks almost perfectly",
            f"{average['G3']:.2f}",
            f"{theirs['G3']:.2f}",
        ),
        Claim(
            bool((off <= 1).all()),
            "MFeat: f^I alone, within one point of the paper's",
            f"{average['I']:.2f}; {(off <= 1).sum()} of {len(off)} rows",
            f"{theirs['I']:.2f}",
        ),
    ]


def _table2(found: pd.DataFrame) -> list[Claim]:
    means, numbers = found.groupby("target").mean(numeric_only=True), (0, *paper.COPIES)
    ours = [float((means[f"published {k}"] - means["I"]).mean()) for k in numbers]
    rows = [(paper.TABLE1[view][0], (paper.TABLE1[view][1], *paper.TABLE2[view])) for view in means.index]
    theirs = [float(np.mean([after[k] - before for before, after in rows])) for k in range(len(numbers))]
    gradual = ours[1] > 0.5 * ours[0] and bool(np.all(np.diff(ours) <= 0.05))
    what = (
        f"MFeat: copies of f^I among the views use the gain up little by little ({', '.join(map(str, numbers))} copies)"
    )
    return [Claim(gradual, what, *(", ".join(f"{gain:+.2f}" for gain in some) for some in (ours, theirs)))]


def _significance(found: pd.DataFrame) -> list[Claim]:
    claims = []
    for (first, second), wanted in (
        (("tupi", "initial"), 1),
        (("tupi", "initial"), -1),
        (("tupi", "coconut"), 1),
        (("coconut", "initial"), 1),
        (("retrain", "initial"), -1),
    ):
        own = found[[bool(published_signs(str(data), (first, second))) for data in found["dataset"]]]
        signs, published = signs_of(own, first, second), _published(own, first, second)
        if not (signs and published):
            continue
        ours, theirs = (some.count(wanted) / len(some) for some in (signs, published))
        word, other = "better" if wanted == 1 else "worse", "f^I" if second == "initial" else f"`{second}`"
        # Harm is reproduced where there is as little of it; a bad rival where it is worse on most targets.
        holds = ours >= theirs if wanted == 1 else ours <= theirs if first == "tupi" else ours > 0.5
        what = f"{_titles(own)}: `{first}` is significantly {word} than {other}, share of the targets"
        claims.append(Claim(holds, what, _share(signs, wanted), _share(published, wanted)))
    return claims


def _remarks(found: pd.DataFrame) -> list[Claim]:
    tested = found.groupby(["dataset", "target"], sort=False)
    signs = [sign_of_difference(one["finer"] - one["usual"]) for _, one in tested]
    what = "All datasets: number of targets on which K = 200 basis points are significantly better than 50"
    claims = [Claim(signs.count(1) <= 0.05 * len(signs), what, f"{signs.count(1)} of {len(signs)}", "none")]
    if tested["seed"].nunique().min() < LEAST_SEEDS:  # hardly any difference can be significant then
        claims = []
    if "truths" in found and found["truths"].notna().any():
        own = found[found["truths"].notna()]
        for column, method in (("truths", "tupi"), ("truths joint", "tupi-joint")):
            reached = own.groupby("dataset", sort=False)[column].mean()
            what = f"{_titles(own)}: the other attributes' true values as views, accuracy of `{method}`"
            said = listed([f"{value:.2f}" for value in reached])
            claims.append(Claim(bool(reached.min() >= 98), what, said, '"almost perfect"'))
    return claims


def _improved(tables: Mapping[str, pd.DataFrame]) -> str:
    """Return the count of targets that are improved, on all datasets; the paper's is 43 of 45."""
    own, rest = tables["table1-svm"], tables["accuracy-svm"]
    said = []
    for name, column in (("tupi", "O"), ("auto", "auto")):
        if name not in rest.columns:
            continue
        gains = [*_gains(own, column, "I"), *_gains(rest, name, "initial")]
        better, worse = (sum(np.sign(gain) == sign for gain in gains) for sign in (1, -1))
        said.append(f"`{name}` improves f^I on {better} of {len(gains)} targets and degrades it on {worse}")
    return (
        f"**43 of 45 targets improved and 2 degraded** is the paper's count over its seven datasets, by the mean over "
        f"seeds and whatever the size of the change. Here, on {_titles(own, rest)}, {'; '.join(said)}. Many of these "
        "changes are of a few hundredths of a point."
    )


def _recommended(found: pd.DataFrame) -> str:
    said = []
    for name in ("tupi-joint", "auto"):
        signs = signs_of(found, name, "initial")
        if not signs:
            continue
        share = f"{signs.count(1)} of {len(signs)} targets ({signs.count(1) / len(signs):.0%})"
        said.append(
            f"`{name}` is significantly better than f^I on {share} and significantly worse on {signs.count(-1)}"
        )
    return (
        '**What we recommend.** Of the paper\'s method we recommend `method="tupi-joint"`: it is the same algorithm, '
        "but all views form one kernel, the labels choose whether that kernel is a Gaussian or a diffusion kernel, and "
        'copies of f^I are discounted. `method="tupi"` stays what the paper describes. Our default, `method="auto"`, '
        "is another method. " + (f"On {_titles(found)}, {'; '.join(said)}." if said else "")
    )


def _published(found: pd.DataFrame, first: str, second: str) -> list[int]:
    values = {"+": 1, "0": 0, "-": -1}
    return [values[s] for data in dict.fromkeys(found["dataset"]) for s in published_signs(str(data), (first, second))]


def _gains(found: pd.DataFrame, column: str, initial: str) -> list[float]:
    means = found.groupby(["dataset", "target"], sort=False)[[column, initial]].mean()
    return (means[column] - means[initial]).tolist()


def _titles(*found: pd.DataFrame) -> str:
    return listed([SOURCES[str(data)].title for one in found for data in dict.fromkeys(one["dataset"])])


CLAIMS = (
    "Each row is one thing that the paper reports. f^I is by rank SVM here, and accuracies and gains are means "
    "over seeds and targets; the sections below have them one by one, with their spread, the number of seeds and "
    "the command. A gain, or a share of the targets on which a method is better, counts as reproduced if it is at"
    " least the paper's. That `tupi` is worse counts as reproduced if it happens as seldom as in the paper, and "
    "that `retrain` is worse if it happens on most targets. Ten random views may change the accuracy by half a "
    "point, and f^I may be off by one point. With copies of f^I the gain must fall, and the first copy must leave"
    " more than half of it. Almost perfect is at least 99 per cent for the truth itself, and at least 98 for true"
    " values of other attributes.\n\n"
)
