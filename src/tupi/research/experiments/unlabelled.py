"""The paper's method without any label: a grid of fixed settings, and the steps that the views give reason for."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from tupi.algorithm.trajectory import follow
from tupi.embedding.prepared import restore
from tupi.methods.tupi import Tupi
from tupi.research.experiments.accuracy import RECOMMENDED
from tupi.research.experiments.experiment import TrialExperiment, accuracies
from tupi.research.experiments.page import check, figure, listed, over_seeds, table
from tupi.research.experiments.protocol import Trial
from tupi.research.experiments.sources import SOURCES
from tupi.research.experiments.store import Cell
from tupi.research.experiments.t_tests import counted, sign_of_difference, signs_by_target

FOUND_ON = (0, 1, 2, 3)  # seeds
#: What `tupi` and `tupi-joint` did without labels before they chose for themselves.
BEFORE = ("lam=0.3, sigma_w2=0.1, T=20", "lam=0.3, T=20")


@dataclass(frozen=True)
class Unlabelled(TrialExperiment):
    """The configuration.

    Parameters
    ----------
    chosen : tuple of (str, Tupi)
        What chooses lam, sigma_w2 and T by itself.
    lams, widths : tuple of float
        lam and sigma_w2 of the fixed settings. Of joint views sigma_w2 does not matter.
    steps : tuple of int
        T of the fixed settings.
    """

    name: ClassVar[str] = "unlabelled"
    title: ClassVar[str] = "Without labels: lam, sigma_w2 and T"
    datasets: ClassVar[tuple[str, ...]] = ("mfeat", "pubfig", "osr", "sarcos")

    chosen: tuple[tuple[str, Tupi], ...] = field(
        default_factory=lambda: (("`tupi`", Tupi()), ("`tupi-joint`", RECOMMENDED))
    )
    lams: tuple[float, ...] = (0.1, 0.3)
    widths: tuple[float, ...] = (0.1, 1.0, 10.0)
    steps: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 18, 20, 25, 40)

    def cells(self, datasets: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
        """Return the cells of seeds on which the rule was not found; of all seeds if there are no others."""
        return super().cells(datasets, [seed for seed in seeds if seed not in FOUND_ON] or seeds)

    def fixed(self, method: Tupi) -> dict[str, Tupi]:
        """Return the fixed settings of a method by name, each to its last step."""
        (setting,) = replace(method, n_iter=max(self.steps)).settings(labelled=False)
        widths = self.widths[-1:] if method.joint else self.widths
        return {
            f"lam={lam:g}" + ("" if method.joint else f", sigma_w2={width:g}"): replace(
                setting, lam=lam, sigma_w2=width
            )
            for lam, width in itertools.product(self.lams, widths)
        }

    def run(self, trial: Trial) -> dict[str, Any]:
        """Return the accuracy of each setting, no label used."""
        prepared = trial.prepared()
        accuracy = {"initial": trial.accuracy(trial.initial)}
        for name, method in self.chosen:
            accuracy[name] = trial.judge(method, prepared, labelled=False)["accuracy"]
            settings = self.fixed(method)
            # A single view has weight one whatever the width.
            alike = {key: one if len(trial.views) > 1 else replace(one, sigma_w2=1.0) for key, one in settings.items()}
            paths = {one: one.trajectory(prepared) for one in dict.fromkeys(alike.values())}
            follow(list(paths.values()))
            found = {
                one: [trial.accuracy(restore(prepared, path.steps[t].f)) for t in self.steps]
                for one, path in paths.items()
            }
            for key, one in alike.items():
                accuracy |= {f"{name} {key}, T={t}": value for t, value in zip(self.steps, found[one], strict=True)}
        return {"accuracy": accuracy}

    def seconds(self, dataset: str) -> float:
        """Return about how long a cell takes."""
        return 4.0 if dataset == "sarcos" else 1.5

    def section(self, records: Sequence[dict[str, Any]], pictures: Path) -> str:
        """Return, for each method, what it gains by itself and with fixed settings, and on whom it does harm."""
        found = accuracies(records)
        seeds = listed([str(seed) for seed in sorted(set(found["seed"]))])
        parts = [INTRODUCTION.format(found_on=listed(list(map(str, FOUND_ON))), seeds=seeds)]
        parts += [_about(name, found) for name, _ in self.chosen if name in found]
        return "\n".join(parts)


def _about(name: str, found: pd.DataFrame) -> str:
    """Return a table of one method and the best fixed settings of its kind, and what holds of them."""
    settings = [str(column) for column in found if str(column).startswith(f"{name} ")]
    gains = found[[name, *settings]].sub(found["initial"], axis=0)
    means = gains.groupby(found["dataset"], sort=False).mean()
    titles = [SOURCES[str(dataset)].title for dataset in means.index]
    single = str(means[settings].mean().idxmax())
    safe = [one for one in settings if means[one].min() >= 0]
    picked = {str(dataset): settings[int(means.loc[dataset, settings].to_numpy().argmax())] for dataset in means.index}
    shown = {f"**{name}**, by its rule": gains[name]}
    for before in (one for one in settings if _short(one, name) in BEFORE):
        shown[f"the default before the rule: {_short(before, name)}"] = gains[before]
    shown[f"best single fixed setting: {_short(single, name)}"] = gains[single]
    if safe:
        harmless = str(means[safe].mean().idxmax())
        shown[f"best single one that loses on no dataset: {_short(harmless, name)}"] = gains[harmless]
    picked_gains = pd.concat([gains.loc[found["dataset"] == data, one] for data, one in picked.items()]).loc[
        gains.index
    ]
    shown["best fixed setting of each dataset, picked by the truth"] = picked_gains
    header = ["", *titles, "mean over datasets", "better than f^I on", "worse than f^I on"]
    header += [f"{name} is better than it on", f"{name} is worse than it on"]
    rows = [
        [what, *_row(found, values), *(_counts(found, gains[name] - values) if number else ["", ""])]
        for number, (what, values) in enumerate(shown.items())
    ]
    margins = (means[name] - means[settings].max(axis=1)).tolist()
    datasets = (found[found["dataset"] == dataset] for dataset in picked)
    each = (over_seeds(one, gains[name][one.index] - picked_gains[one.index], "+") for one in datasets)
    margin = ", ".join(f"{title} {one}" for title, one in zip(titles, each, strict=True))
    harmed = [f"{SOURCES[str(data)].title} {target}" for data, target in _targets(found, gains[name], -1)]
    lines = [
        f"- {len(settings)} fixed settings were tried, and {len(safe)} of them lose on no dataset.\n",
        check(f"{name} loses on no dataset", means[name].min() >= 0, f"{means[name].min():+.2f} at least"),
        check(
            f"{name} is significantly worse than f^I on no target",
            not harmed,
            f"{len(harmed)} of {len(_targets(found, gains[name]))}" + (f", {listed(harmed)}" if harmed else ""),
        ),
        f"- The worst single run of {name} changes the accuracy by {_worst_run(found, gains[name])}, and that of the "
        f"fixed settings that are picked by the truth by {_worst_run(found, picked_gains)}.\n",
        check(
            f"{name} gains more than each single fixed setting, on average over datasets",
            bool((means[name].mean() > means[settings].mean()).all()),
            f"{_over_all(found, gains[name] - gains[single])} points more than the best",
        ),
    ]
    if safe:
        lead = (means[safe].le(means[name], axis=0)).all(axis=0)
        lines.append(
            check(
                f"{name} gains at least as much on every dataset as each fixed setting that loses on none",
                bool(lead.all()),
                f"{lead.sum()} of {len(safe)}",
            )
        )
    lines.append(
        check(
            f"{name} gains at least as much on every dataset as the fixed setting that is best there by the truth",
            min(margins) >= 0,
            f"margins {margin}",
        )
    )
    names = "; ".join(f"{title} {_short(one, name)}" for title, one in zip(titles, picked.values(), strict=True))
    return table(header, rows) + f"\nPicked by the truth: {names}.\n\n" + "".join(lines)


def _worst_run(found: pd.DataFrame, gains: pd.Series) -> str:
    """Return how much the run lost that lost most, and which it is: a mean over seeds may hide it."""
    worst = found.iloc[int(gains.to_numpy().argmin())]
    return f"{gains.min():+.2f} points ({SOURCES[str(worst['dataset'])].title} {worst['target']}, seed {worst['seed']})"


def _short(setting: str, name: str) -> str:
    return setting.removeprefix(f"{name} ")


def _row(found: pd.DataFrame, gains: pd.Series) -> list[str]:
    """Return the mean gain on each dataset and over all of them, and on how many targets it is significant."""
    own = (found[found["dataset"] == dataset] for dataset in dict.fromkeys(found["dataset"]))
    return [*(over_seeds(one, gains[one.index], "+") for one in own), _over_all(found, gains), *_counts(found, gains)]


def _over_all(found: pd.DataFrame, gains: pd.Series) -> str:
    """Return the mean over datasets, and the deviation over seeds of these means."""
    by_seed = gains.groupby([found["dataset"], found["seed"]], sort=False).mean().groupby("seed").mean()
    return figure(by_seed, "+")


def _counts(found: pd.DataFrame, gains: pd.Series) -> list[str]:
    """Return on how many targets gains are significantly positive, and on how many negative."""
    runs = found.assign(gain=gains)
    return [counted(runs, signs_by_target, sign).plain for sign in (1, -1)]


def _targets(found: pd.DataFrame, gains: pd.Series, sign: int | None = None) -> list[tuple[str, str]]:
    """Return the targets on which gains have this significant sign; without one, all targets."""
    return [
        (str(data), str(target))
        for (data, target), runs in found.groupby(["dataset", "target"], sort=False)
        if sign is None or sign_of_difference(gains[runs.index]) == sign
    ]


INTRODUCTION = (
    "The gain in points where no label is used, mean over targets and seeds (deviation over seeds), and on how many "
    "targets it is significant. The paper has no such experiment: it leaves lam and sigma_w2 to a person who looks. "
    "`tupi` and `tupi-joint` choose lam, sigma_w2 and T by a rule (`tupi.methods.reach`): they weigh views nearly "
    "evenly, and end when the order has moved by about as much as the views take for error. Each is compared with "
    "fixed settings of the same method: with the one that was its default before it had a rule; with the best single "
    "one, whose mean over the datasets is largest; and with the best one of each dataset. The last is a comparison "
    "that nobody could make without the truth: it is picked by the very accuracies that are shown here. The last two "
    "columns compare the rule with each of these, target by target. The rule was found on seeds {found_on}, which are "
    "left out where there are others. What follows is of seeds {seeds}. "
    "[Methods](methods.md#tupi-with-and-without-labels) explains the rule, and says what was tried for InvDyn, where "
    "there is one view.\n"
)
