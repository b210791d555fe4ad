"""Accuracy of the paper's methods and of plain ones, by the paper's protocol.

f^I is a linear rank SVM on 200 items, its C chosen on the 50 validation items, which then tune (or train) the method;
pairwise accuracy, in per cent, on all other items. MFeat: each view in turn is the predictor's. PubFig and OSR: each
attribute in turn; the other attributes' rankers are one-dimensional views. SARCOS: each torque.

    python experiments/rivals.py [--seeds 10] [--datasets mfeat,pubfig,osr,sarcos] [--methods coconut,graph-ssl,retrain]
"""

import argparse
from collections import defaultdict

import numpy as np

import auto
from tupi.rankers import RankSVMCV


def instances(dataset, seed):
    """Yield the targets of a dataset, predictors made by the paper's protocol."""

    def rank_svm(X, y, train):
        valid = np.random.default_rng(1000 + seed).permutation(len(y))[200:250]  # as `auto.instances` splits them
        return RankSVMCV().fit(X[train], y[train], X_val=X[valid], y_val=y[valid]).predict(X)

    auto.rank_svm = rank_svm
    return auto.instances(dataset, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    parser.add_argument("--methods", default="coconut,graph-ssl,retrain")
    args = parser.parse_args()
    names = args.methods.split(",")
    print(f"{'dataset':<9}{'f^I':>8}" + "".join(f"{name:>20}" for name in names) + f"   ({args.seeds} seeds)")
    for dataset in args.datasets.split(","):
        before, after = [], defaultdict(list)
        for seed in range(args.seeds):
            for one in instances(dataset, seed):
                before.append(one.accuracy(one.initial))
                for name, (accuracy, _) in auto.rivals(one, names).items():
                    after[name].append(accuracy)
        row = f"{dataset:<9}{np.mean(before):8.2f}"
        for name in names:
            gain = np.array(after[name]) - before if after[name] else np.array([np.nan])
            row += f"{np.mean(after[name] or [np.nan]):10.2f} ({gain.mean():+6.2f})"
        print(row, flush=True)


if __name__ == "__main__":
    main()
