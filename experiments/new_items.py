"""Items that come later: half of each dataset is denoised, and the other half predicted by `result.predict`.

The gain of the predicted half, in points of pairwise accuracy, stands beside the gain that these same items have when
all items are denoised together, and its share of that. Predictions and splits of MFeat, PubFig, OSR and SARCOS are
those of `auto.py`. The other sets are tables from the folder that TUPI_DATA names: each view in turn is that of the
predictor (a linear rank SVM on 200 items), and the others are the extra views; California comes with the predictions of
a classifier that somebody else trained. At most 6,000 items of a set take part. With ``--targets 1`` each seed takes
one target of a set, the next seed the next one. The difference of the two gains stands with its standard error over
seeds, since a share of a small gain says little.

    python experiments/new_items.py [--seeds 10] [--targets 1] [--sets mfeat,pubfig] [--labels 50,0] [--method auto]
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import auto
import tupi

PAPER = ("mfeat", "pubfig", "osr", "sarcos")
TABLES = ("ames_housing", "star_test_scores", "loan_interest", "mlb_teams", "optdigits")
CALIFORNIA = {
    "place": ["Latitude", "Longitude"],
    "house": ["HouseAge", "AveRooms", "AveBedrms"],
    "people": ["MedInc", "Population", "AveOccup"],
}
MOST = 6000
LEAST_COLUMNS = 3  # of a view that a predictor can be made of
LEAST_GAIN = 0.5  # points: a share of less than that says nothing


def instances(name, seed):
    """Yield the targets of a set."""
    if name in PAPER:
        yield from auto.instances(name, seed)
        return
    folder = Path(os.environ["TUPI_DATA"])
    if name == "california":
        table = pd.read_csv(folder / "california.csv")
        views = {view: table[columns].to_numpy() for view, columns in CALIFORNIA.items()}
        truth, scores = table["clf_target"].to_numpy(float), table["y_pred_proba"].to_numpy()
        valid, test = np.split(np.random.default_rng(1000 + seed).permutation(len(truth)), [50])
        yield auto.Instance("dear", scores, views, truth, valid, test)
        return
    with np.load(folder / f"{name}.npz") as data:
        X, truth, which, names = (data[part] for part in ("X", "y", "view_index", "view_names"))
    views = {str(names[k]): X[:, which == k] for k in np.unique(which)}
    train, valid, test = np.split(np.random.default_rng(1000 + seed).permutation(len(truth)), [200, 250])
    for target, own in views.items():
        if own.shape[1] >= LEAST_COLUMNS:
            spread = own.std(axis=0)
            scores = auto.rank_svm((own - own.mean(axis=0)) / np.where(spread > 0, spread, 1.0), truth, train)
            others = {view: columns for view, columns in views.items() if view != target}
            yield auto.Instance(target, scores, others, truth, valid, test)


def some_instances(name, seed, most):
    """Yield at most so many targets of a set, the next ones for the next seed."""
    targets = list(instances(name, seed))
    first = 0 if most >= len(targets) else seed * most
    yield from (targets[(first + k) % len(targets)] for k in range(min(most, len(targets))))


def halves(one, n_labels, method):
    """Return gains on the items that come later: predicted, and denoised together with all others."""
    order = np.concatenate([one.valid, one.test])[:MOST]
    seen, later = np.split(order, [len(one.valid) + (len(order) - len(one.valid)) // 2])
    known = seen[:n_labels]
    if n_labels and len(np.unique(one.truth[known])) < 2:
        return None

    def denoised(items):
        views = {name: columns[items] for name, columns in one.views.items()}
        labels = tupi.Values(np.arange(n_labels), one.truth[known]) if n_labels else None
        return tupi.denoise(one.initial[items], views, labels, method=method)

    new = denoised(seen).predict(one.initial[later], {name: columns[later] for name, columns in one.views.items()})
    together = denoised(order).predictions[len(seen) :]
    before, apart, whole = (tupi.pairwise_accuracy(f, one.truth[later]) for f in (one.initial[later], new, together))
    return 100 * (apart - before), 100 * (whole - before)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--sets", default=",".join((*PAPER, *TABLES, "california")))
    parser.add_argument("--labels", default="50,0")
    parser.add_argument("--method", default="auto")
    args = parser.parse_args()
    print("| set | labels | runs | gain of predicted items | of the same, denoised with all | difference | share |")
    print("|---|---|---|---|---|---|---|")
    for name in args.sets.split(","):
        for n_labels in map(int, args.labels.split(",")):
            found = pd.DataFrame(
                [
                    (seed, *gains)
                    for seed in range(args.seeds)
                    for one in some_instances(name, seed, args.targets)
                    if (gains := halves(one, n_labels, args.method)) is not None
                ],
                columns=["seed", "apart", "whole"],
            )
            apart, whole = found["apart"].mean(), found["whole"].mean()
            lost = (found["apart"] - found["whole"]).groupby(found["seed"]).mean()
            share = f"{100 * apart / whole:.0f}%" if whole > LEAST_GAIN else ""
            lost = f"{lost.mean():+.2f} ± {lost.sem():.2f}" if len(lost) > 1 else f"{lost.mean():+.2f}"
            figures = f"{len(found)} | {apart:+.2f} | {whole:+.2f} | {lost} | {share}"
            print(f"| {name} | {n_labels} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
