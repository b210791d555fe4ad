"""What the paper's algorithm adds to the default method: as one more view of `auto`, and as weights of its views.

The problems of `auto.py`, or others of `new_items.py` by name. The column is f after Algorithm 1 without labels
(`tupi.methods.reach` says how far), with one kernel per view (`tupi`) and with one kernel of all views (`tupi-joint`).
`weights` scales each view, where `auto` puts them side by side to find items that are alike, by the square root of its
normalised HSIC with f; even weights are what `auto` has. The change of pairwise accuracy, in points, with 50 labels and
none: its mean over targets and seeds (deviation over seeds of the means over targets), the number of targets that
become significantly better and worse in a t-test at 5% over seeds, and the single runs that gain and lose most.

    python experiments/hsic_in_auto.py [--seeds 5] [--datasets mfeat,pubfig,osr,sarcos] [--keep changes.json]

With --keep, finished targets are written to a file, and a run that was stopped goes on after the last of them.
"""

import argparse
import json
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

import new_items
import tupi
from tupi.methods.auto.auto import Auto
from tupi.methods.auto.items import Layout
from tupi.methods.tupi import Tupi, TupiJoint
from tupi.research.experiments.page import over_seeds
from tupi.research.experiments.t_tests import sign_of_difference

COLUMNS = {"tupi": Tupi(), "tupi-joint": TupiJoint()}
SIZES = (50, 0)


def weighted(one):
    """Return a context in which views count by their dependence on the predictions, and not evenly."""
    dependence = np.array([tupi.hsic(view, one.initial, normalized=True) for view in one.views.values()])
    scales = np.sqrt(dependence / dependence.mean())
    evenly = Layout.side_by_side

    def by_dependence(layout, found, views):
        scaled = [(columns * scales[k], has) for k, (columns, has) in zip(views, found, strict=True)]
        return evenly(layout, scaled, views)

    return patch.object(Layout, "side_by_side", by_dependence)


def changes(one):
    """Return the change of `auto` by each column, and by weights, for each number of labels."""
    free = one.prepared(None)
    views = {"": one.views, "weights": one.views}
    for name, method in COLUMNS.items():
        views[name] = one.views | {name: method.fit(free, None).columns}
    found = {}
    for m in SIZES:
        labels = one.labels(m) if m else None
        after = {}
        for name, some in views.items():
            if name == "weights" and len(one.views) == 1:  # a single view has the weight that it has
                after[name] = after[""]
                continue
            with weighted(one) if name == "weights" else nullcontext():
                prepared = one.prepared(labels, some)
                after[name] = one.accuracy(Auto().fit(prepared, labels).predictions(prepared))
        found |= {f"{name}, {m} labels": after[name] - after[""] for name in views if name}
    return found


def runs(dataset, n_seeds, keep):
    """Return the changes of all targets under all seeds; those that the file knows are not computed again."""
    known = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    rows = []
    for seed in range(n_seeds):
        for one in new_items.instances(dataset, seed):
            key = f"{dataset} {one.target} {seed}"
            if key not in known:
                known[key] = changes(one)
                if keep is not None:
                    keep.write_text(json.dumps(known, indent=1))
            rows.append({"target": one.target, "seed": seed, **known[key]})
    return pd.DataFrame(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    for dataset in args.datasets.split(","):
        found = runs(dataset, args.seeds, args.keep)
        for name in found.columns[2:]:
            values, by_target = found[name], found.groupby("target")[name]
            signs = [sign_of_difference(one) for _, one in by_target]
            print(
                f"{dataset:7s} {name:21s}: {over_seeds(found, values, '+'):13s} better on {signs.count(1)}, worse on "
                f"{signs.count(-1)} of {len(signs)} targets, {args.seeds} seeds; runs {values.min():+.2f} to "
                f"{values.max():+.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
