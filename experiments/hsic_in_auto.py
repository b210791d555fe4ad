"""What the paper's algorithm adds to the default method: its label-free answer as one more view of `auto`.

The problems of `auto.py`. The column is f after Algorithm 1 without labels (`tupi.methods.reach` says how far), with
one kernel per view and with one kernel of all views. Change of pairwise accuracy, in points, with 50 labels and none,
and the t-test of these changes over all runs of a dataset.

    python experiments/hsic_in_auto.py [--seeds 1] [--datasets mfeat,pubfig,osr,sarcos]
"""

import argparse

import numpy as np
from scipy.stats import ttest_1samp

import auto
from tupi.methods.auto.auto import Auto
from tupi.methods.tupi import Tupi

COLUMNS = {"tupi": Tupi(), "tupi-joint": Tupi(joint=True, discount=True, kernel=None)}
SIZES = (50, 0)


def changes(one):
    """Return the change of `auto` by each column and number of labels."""
    free = one.prepared(None)
    views = {"": one.views}
    for name, method in COLUMNS.items():
        views[name] = one.views | {name: method.fit(free, None).columns}
    found = {}
    for m in SIZES:
        labels = one.labels(m) if m else None
        after = {
            name: one.accuracy(Auto().fit(prepared, labels).predictions(prepared))
            for name, prepared in ((name, one.prepared(labels, some)) for name, some in views.items())
        }
        found |= {(name, m): after[name] - after[""] for name in COLUMNS}
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
                f"{dataset:8s} {name:10s} {m:2d} labels: mean {values.mean():+.2f}, worst {values.min():+.2f}, "
                f"best {values.max():+.2f}, {len(values)} runs, p = {p:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
