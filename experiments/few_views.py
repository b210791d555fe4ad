"""How far the paper's method should go without labels where there are only one or two views.

`tupi.methods.reach` lets predictions move by what columns take for error, less 0.02, where fewer than three views are
given. Here other figures than 0.02 are tried, and the way has a least and a largest length, in shares of the variance.
The problems are those of `tupi reproduce unlabelled`, each with one view: InvDyn as it is; PubFig and OSR with the
other attributes' scores side by side; MFeat with one of the five other feature sets, drawn by the seed. Gains are in
points of pairwise accuracy, means over targets and seeds, with the deviation over seeds, and the number of targets that
become significantly better and worse. The least and largest ways are chosen on seeds 4 to 9; seeds 10 and above judge.

    python experiments/few_views.py [--seeds 4,5,6,7,8,9] [--datasets sarcos,mfeat,pubfig,osr] [--out reproduction]

Predictions are read from OUT/cells, and written there where they are missing.
"""

import argparse
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

from tupi.methods import reach
from tupi.methods.tupi import Tupi
from tupi.research.experiments.page import over_seeds
from tupi.research.experiments.protocol import (
    SVM_ONLY,
    initial_cells,
    initial_scores,
    initial_settings,
    make_trial,
)
from tupi.research.experiments.sources import dataset_of, source_of
from tupi.research.experiments.store import Store
from tupi.research.experiments.t_tests import sign_of_difference

WAYS = {  # what is taken off the columns' error, and the least and the largest way
    "as it is": (reach.FAINT, 0.0, 1.0),
    "at most .05": (reach.FAINT, 0.0, 0.05),
    "at most .02": (reach.FAINT, 0.0, 0.02),
    "at most .01": (reach.FAINT, 0.0, 0.01),
    "at most .005": (reach.FAINT, 0.0, 0.005),
    "less .01, at most .01": (0.01, 0.0, 0.01),
    "less 0, at most .01": (0.0, 0.0, 0.01),
    "at least .005": (reach.FAINT, 0.005, 1.0),
    "always .005": (reach.FAINT, 0.005, 0.005),
    "always .01": (reach.FAINT, 0.01, 0.01),
}


def one_view(dataset, trial):
    """Return the trial's views as one: its only one, one that the seed draws, or all side by side."""
    if dataset == "mfeat":
        drawn = np.random.default_rng((trial.seed, 5)).choice(list(trial.views))
        return {drawn: trial.views[drawn]}
    return {"all": np.hstack(list(trial.views.values()))}


def gains(dataset, target, seed, store):
    """Return the gain by each way, and the way that the rule has."""
    for cell in initial_cells(dataset, target, seed, SVM_ONLY):
        settings = initial_settings(dataset, SVM_ONLY)
        if store.read(cell, settings) is None:
            store.write(cell, settings, 0.0, initial_scores(cell, SVM_ONLY))
    trial = make_trial(dataset, target, seed, store, SVM_ONLY)
    prepared = trial.prepared(one_view(dataset, trial))
    before, rules = trial.accuracy(trial.initial), {}
    for faint in sorted({faint for faint, _, _ in WAYS.values()}):
        with patch.object(reach, "FAINT", faint):
            rules[faint] = reach.reach_of(prepared)
    found = {"dataset": dataset, "target": target, "seed": seed, "way": rules[reach.FAINT]}
    for name, (faint, least, most) in WAYS.items():
        way = float(np.clip(rules[faint], least, most))
        prepared._cache.pop(("reach", False), None)
        with patch("tupi.methods.tupi.reach_of", lambda *_, way=way: way):
            found[name] = trial.judge(Tupi(), prepared, labelled=False)["accuracy"] - before
    trial.forget()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="4,5,6,7,8,9")
    parser.add_argument("--datasets", default="sarcos,mfeat,pubfig,osr")
    parser.add_argument("--out", type=Path, default=Path("reproduction"))
    args = parser.parse_args()
    store = Store(args.out / "cells")
    for dataset in args.datasets.split(","):
        targets = source_of(dataset).targets(dataset_of(dataset))
        seeds = map(int, args.seeds.split(","))
        found = pd.DataFrame([gains(dataset, target, seed, store) for seed in seeds for target in targets])
        ways = ", ".join(f"{target} {one['way'].mean():.3f}" for target, one in found.groupby("target", sort=False))
        print(f"{source_of(dataset).title}: {found['seed'].nunique()} seeds; the rule's way on average: {ways}")
        for name in WAYS:
            signs = [sign_of_difference(one[name]) for _, one in found.groupby("target")]
            print(
                f"  {name:21s} {over_seeds(found, found[name], '+'):14s} better on {signs.count(1)}, worse on "
                f"{signs.count(-1)} of {len(signs)} targets; worst run {found[name].min():+.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
