"""Which reading of the kernel width: tuned gain on MFeat for each pair of rules, views by predictions.

By the protocol of `tupi reproduce table1`, with f^I by rank SVM.

python experiments/bandwidths.py [--seeds 2]
"""

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np

from tupi.embedding.gaussian import RULES
from tupi.methods.tupi import Tupi
from tupi.research.experiments.protocol import SVM_ONLY, initial_cells, initial_scores, initial_settings, make_trial
from tupi.research.experiments.sources import dataset_of, source_of
from tupi.research.experiments.store import Store


def trials(n_seeds):
    """Yield seed, view and trial."""
    settings = initial_settings("mfeat", SVM_ONLY)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        for seed, view in itertools.product(range(n_seeds), source_of("mfeat").targets(dataset_of("mfeat"))):
            for cell in initial_cells("mfeat", view, seed, SVM_ONLY):
                store.write(cell, settings, 0.0, initial_scores(cell, SVM_ONLY))
            yield seed, view, make_trial("mfeat", view, seed, store, SVM_ONLY)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    found = list(trials(args.seeds))
    views = list(dict.fromkeys(view for _, view, _ in found))
    print(f"{'views':<14}{'predictions':<14}{'gain':>7}{'sd':>7}   {', '.join(views)}; {args.seeds} seeds")
    for rule, other in itertools.product(RULES, RULES):
        gains = np.empty((args.seeds, len(views)))
        for seed, view, trial in found:
            method = Tupi(bandwidth=rule, prediction_bandwidth=other)
            after = trial.judge(method, trial.prepared())["accuracy"]
            gains[seed, views.index(view)] = after - trial.accuracy(trial.initial)
        each = " ".join(f"{g:+6.2f}" for g in gains.mean(axis=0))
        print(f"{rule:<14}{other:<14}{gains.mean():+7.2f}{gains.mean(axis=1).std():7.2f}   {each}", flush=True)


if __name__ == "__main__":
    main()
