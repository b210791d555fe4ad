"""What the paper's algorithm adds to the default method: as one more view of `auto`, and as weights of its views.

The problems of `auto.py`. The column is f after Algorithm 1 without labels (`tupi.methods.reach` says how far), with
one kernel per view (`tupi`) and with one kernel of all views (`tupi-joint`). `weights` scales each view, where `auto`
puts them side by side to find items that are alike, by the square root of its normalised HSIC with f; even weights are
what `auto` has. Change of pairwise accuracy, in points, with 50 labels and none, and the t-test of these changes over
all runs of a dataset.

    python experiments/hsic_in_auto.py [--seeds 1] [--datasets mfeat,pubfig,osr,sarcos]
"""

import argparse
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
from scipy.stats import ttest_1samp

import auto
import tupi
from tupi.methods.auto.auto import Auto
from tupi.methods.auto.items import Layout
from tupi.methods.tupi import Tupi, TupiJoint

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
            with weighted(one) if name == "weights" else nullcontext():
                prepared = one.prepared(labels, some)
                after[name] = one.accuracy(Auto().fit(prepared, labels).predictions(prepared))
        found |= {(name, m): after[name] - after[""] for name in views if name}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    args = parser.parse_args()
    for dataset in args.datasets.split(","):
        found = [changes(one) for seed in range(args.seeds) for one in auto.instances(dataset, seed)]
        for name, m in found[0]:
            values = np.array([one[name, m] for one in found])
            p = ttest_1samp(values, 0.0).pvalue if values.any() else 1.0
            print(
                f"{dataset:8s} {name:10s} {m:2d} labels: mean {values.mean():+.2f} (deviation {values.std(ddof=1):.2f})"
                f", worst {values.min():+.2f}, best {values.max():+.2f}, {len(values)} runs, p = {p:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
