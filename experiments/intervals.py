"""How many labels are within `result.interval` and `result.class_sets`: by dataset, task, level and kind of prediction.

Each dataset's views take turns as what the predictor saw, the others being the views; the predictor is a random forest
on 300 items for values and scores, and a logistic regression on 200 items for classes. California comes with somebody
else's probabilities. Labels are drawn at random from the other items, several times, and coverage is counted on the
rest. "low", "middle" and "high" are thirds of these by prediction; for classes, by the probability of the likeliest.
Figures are means over draws, in per cent, with the error of the mean; they should be within 4 points of the level.

    python experiments/intervals.py [--boxes 4] [--draws 10] [--labels 50] [--datasets mfeat,...]
"""

import argparse
import os
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import tupi
from tupi.api import denoise_prepared
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem, with_more_labels
from tupi.methods.auto.auto import Auto

LEVELS = (0.5, 0.8, 0.95)
MOST = 1200  # items of a dataset that take part: coverage of a thousand tells as much, and anchors cost less
TRAINED = {"ranking": 300, "regression": 300, "classification": 200}
DATASETS = {
    "mfeat": ("regression", "ranking", "classification"),
    "sarcos": ("regression", "ranking"),
    "ames_housing": ("regression", "ranking"),
    "star_test_scores": ("regression", "ranking"),
    "loan_interest": ("regression", "ranking"),
    "mlb_teams": ("regression", "ranking"),
    "optdigits": ("classification",),
    "california": ("binary",),
}


def loaded(name):
    """Return the truth, the views, and the predictions that came along, if any."""
    folder = Path(os.environ["TUPI_DATA"])
    if name == "california":
        table = pd.read_csv(folder / "california.csv")
        parts = (["Latitude", "Longitude"], ["HouseAge", "AveRooms", "AveBedrms"], ["MedInc", "Population", "AveOccup"])
        views = {columns[0]: table[columns].to_numpy(float) for columns in parts}
        return table["clf_target"].to_numpy(int), views, table["y_pred_proba"].to_numpy(float)
    found = np.load(folder / f"{name}.npz", allow_pickle=False)
    if name == "mfeat":
        return found["y"].astype(float), {key: found[key] for key in ("fac", "fou", "kar", "mor", "pix", "zer")}, None
    if name == "sarcos":
        seen, *others = np.split(found["X"][:, np.random.default_rng(7).permutation(21)], range(15, 21), axis=1)
        return found["Y"][:, 0], {"seen": seen} | {f"x{k}": X for k, X in enumerate(others)}, None
    parts = {str(title): found["X"][:, found["view_index"] == k] for k, title in enumerate(found["view_names"])}
    return found["y"].astype(float), {title: X for title, X in parts.items() if X.shape[1]}, None


def predictors(name, task, boxes):
    """Yield predictions of some items, views, truth, the items that the predictor learned from, and a generator."""
    truth, views, given = loaded(name)
    able = [title for title, X in views.items() if X.shape[1] >= 3]
    for k in range(boxes):
        rng = np.random.default_rng((k, len(truth)))
        items = rng.permutation(len(truth))[:MOST]
        y, parts = truth[items], {title: StandardScaler().fit_transform(X[items]) for title, X in views.items()}
        if given is not None:
            yield given[items], parts, y, np.empty(0, int), rng
            continue
        X = parts.pop(able[k % len(able)])
        train = np.arange(TRAINED[task])
        if task == "classification":
            y = y.astype(int)
            box = LogisticRegression(max_iter=1000).fit(X[train], y[train])
            f = np.full((len(y), y.max() + 1), 1e-6)
            f[:, box.classes_] = box.predict_proba(X)
            f /= f.sum(axis=1, keepdims=True)
        else:
            f = RandomForestRegressor(100, min_samples_leaf=3, random_state=k).fit(X[train], y[train]).predict(X)
        yield f, parts, y, train, rng


def inside(result, truth, level):
    """Return which labels are where they are expected, and by what items are dealt into thirds."""
    if result.task != "classification":
        low, high = result.interval(level)
        return (low <= truth) & (truth <= high), result.predictions
    sets, shares = result.class_sets(level).to_numpy(), result.predictions
    sure = np.maximum(shares, 1 - shares) if shares.ndim == 1 else shares.max(axis=1)
    return sets[np.arange(len(truth)), truth.astype(int)], sure


def runs(name, task, boxes, draws, m):
    """Yield, for each draw of labels, coverage at each level: of all, and of low, middle and high predictions."""
    asked = "classification" if task == "binary" else task
    for f, views, truth, train, rng in predictors(name, asked, boxes):
        others = np.setdiff1d(np.arange(len(truth)), train)
        prepared = Prepared(make_problem(f, views, None, asked, None, None))
        for _ in range(draws):
            known = rng.permutation(others)[:m]
            labels = tupi.Values(known, truth[known])
            # What needs no labels is the same for all draws.
            result = denoise_prepared(prepared.relabelled(with_more_labels(prepared.problem, labels)), Auto())
            rest = np.setdiff1d(others, known)
            found = []
            for level in LEVELS:
                held, by = inside(result, truth, level)
                order = rest[np.argsort(by[rest], kind="stable")]
                found.append([held[rest].mean(), *(held[third].mean() for third in np.array_split(order, 3))])
            yield found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--boxes", type=int, default=4)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    asked = parser.parse_args()
    print(f"{asked.labels} labels, {asked.boxes} x {asked.draws} draws; all (low, middle, high)")
    print("| dataset | task | 50% | 80% | 95% |\n|---|---|---|---|---|")
    worst = defaultdict(float)
    for name in asked.datasets.split(","):
        for task in DATASETS[name]:
            found = 100 * np.array(list(runs(name, task, asked.boxes, asked.draws, asked.labels)))
            mean, error = found.mean(axis=0), found[:, :, 0].std(axis=0) / np.sqrt(len(found))
            cells = [
                f"{one[0]:.1f} ± {off:.1f} ({one[1]:.0f}, {one[2]:.0f}, {one[3]:.0f})"
                for one, off in zip(mean, error, strict=True)
            ]
            print(f"| {name} | {task} | {' | '.join(cells)} |", flush=True)
            for level, one in zip(LEVELS, mean, strict=True):
                worst[level] = max(worst[level], abs(one[0] - 100 * level))
    print("farthest from the level:", ", ".join(f"{100 * level:.0f}%: {off:.1f}" for level, off in worst.items()))


if __name__ == "__main__":
    main()
