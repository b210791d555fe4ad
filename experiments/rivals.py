"""Every method, tuned with the same 50 labels: accuracy and seconds of each.

f^I, splits and accuracy as in `auto.py`; with ``--protocol paper`` the rank SVM's C is chosen on the 50 labels, which
then tune (or train) the method as well. Each finished run is written at once, and found again next time: an
interrupted experiment goes on where it stopped. Seconds are of one process's work, without what methods share.

    python experiments/rivals.py [--seeds 10] [--datasets mfeat,pubfig,osr,sarcos] [--methods coconut,graph-ssl]
"""

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

import auto
import tupi
from tupi.methods import make_method
from tupi.rankers import RankSVMCV

N_TARGETS = {"mfeat": 6, "pubfig": 11, "osr": 6, "sarcos": 7}


def instances(dataset, seed, protocol):
    """Yield the targets of a dataset."""

    def on_labels(X, y, train):
        valid = np.random.default_rng(1000 + seed).permutation(len(y))[200:250]  # as `auto.instances` splits them
        return RankSVMCV().fit(X[train], y[train], X_val=X[valid], y_val=y[valid]).predict(X)

    return auto.instances(dataset, seed, on_labels if protocol == "paper" else auto.rank_svm)


def run(one, name):
    """Return accuracy before and after and seconds, or why the method cannot be used."""
    labels = one.labels(50)
    prepared = one.prepared(labels)
    start = time.process_time()
    try:
        predictions = make_method(name, {}).fit(prepared, labels).predictions(prepared)
    except tupi.InputError as reason:
        return {"reason": str(reason)}
    seconds = time.process_time() - start
    return {"before": one.accuracy(one.initial), "after": one.accuracy(predictions), "seconds": seconds}


def runs(dataset, seeds, names, protocol, cache):
    """Yield (seed, target, name, what was found) of all runs, making those that are not there yet."""
    for seed in range(seeds):
        file = cache / f"{protocol}-{dataset}-{seed}.jsonl"
        found = {}
        if file.exists():
            for line in file.read_text().splitlines():
                cell = json.loads(line)
                found[cell["target"], cell["method"]] = cell
        if sum(name in names for _, name in found) < N_TARGETS[dataset] * len(names):
            for one in instances(dataset, seed, protocol):
                for name in names:
                    if (one.target, name) not in found:
                        cell = {"target": one.target, "method": name} | run(one, name)
                        found[one.target, name] = cell
                        with file.open("a") as out:
                            out.write(json.dumps(cell) + "\n")
        yield from ((seed, target, name, cell) for (target, name), cell in found.items() if name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    parser.add_argument("--methods", default=",".join(tupi.methods()))
    parser.add_argument("--protocol", choices=["design", "paper"], default="design")
    parser.add_argument("--cache", type=Path, default=Path("build/rivals"), help="where finished runs are kept")
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    for dataset in args.datasets.split(","):
        cells, before, reasons = defaultdict(list), defaultdict(list), {}
        for seed, _, name, cell in runs(dataset, args.seeds, args.methods.split(","), args.protocol, args.cache):
            if "reason" in cell:
                reasons[name] = cell["reason"]
            else:
                cells[name].append((seed, cell["after"], cell["after"] - cell["before"], cell["seconds"]))
                before[seed].append(cell["before"])
        first = np.mean([np.mean(values) for values in before.values()])
        print(f"\n{dataset}: f^I {first:.2f}, {args.seeds} seeds; accuracy, gain, its deviation over seeds, seconds")
        for name, found in sorted(cells.items(), key=lambda item: -np.mean([run[1] for run in item[1]])):
            seeds, after, gains, seconds = np.array(found).T
            spread = np.std([gains[seeds == seed].mean() for seed in np.unique(seeds)])
            print(f"  {name:<20}{after.mean():8.2f}{gains.mean():+8.2f}{spread:7.2f}{seconds.mean():9.2f}", flush=True)
        for name, reason in reasons.items():
            print(f"  {name:<20} {reason}")


if __name__ == "__main__":
    main()
