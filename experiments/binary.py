"""One probability per item, some months after its model was trained: does denoising make it a better probability.

The table `california.csv` in the folder that TUPI_DATA names has the probability that a district is dear, what came
true, and eight columns, which are taken as three views: place, houses and people. Labels are of items drawn at random,
and 6,000 items take part; AUC, log loss and calibration error are of those without a label.

With ``--others`` the tables are those on which the share of new log odds was chosen: houses, pupils, loans, baseball
teams and scikit-learn's breast cancer. Each of their views with at least three columns has its turn: a logistic
regression on 100 items of it predicts whether the target is among the upper 35 per cent, the log odds of every second
draw are one too low, and the other views are extra; 1,500 items take part.

    TUPI_DATA=... python experiments/binary.py [--seeds 10] [--first 0] [--labels 100,20,0] [--method auto] [--others]
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import scale

import tupi
from tupi.inputs.classes import expand
from tupi.judging.catalogue import CalibrationError

N_ITEMS, N_OTHERS, TRAINING = 6000, 1500, 100
OTHERS = ("ames_housing", "star_test_scores", "loan_interest", "mlb_teams")
VIEWS = {
    "place": ["Latitude", "Longitude"],
    "house": ["HouseAge", "AveRooms", "AveBedrms"],
    "people": ["MedInc", "Population", "AveOccup"],
}
DIGITS = ("fou", "kar", "mor", "zer")
FIGURES = {
    "AUC or accuracy": lambda truth, p: roc_auc_score(truth, p) if p.ndim == 1 else np.mean(p.argmax(axis=1) == truth),
    "log loss": lambda truth, p: log_loss(truth, np.clip(p, 1e-6, 1 - 1e-6)),
    "calibration error": lambda truth, p: CalibrationError().of(truth, expand(p) if p.ndim == 1 else p),
}


def california(folder, seed):
    """Yield probabilities, views and what came true."""
    table = pd.read_csv(folder / "california.csv")
    items = np.random.default_rng(1000 + seed).permutation(len(table))[:N_ITEMS]
    table = table.iloc[items].reset_index(drop=True)
    views = {name: table[columns].to_numpy() for name, columns in VIEWS.items()}
    views["people"] = np.log1p(views["people"])
    yield table["y_pred_proba"].to_numpy(), views, table["clf_target"].to_numpy()


def others(folder, seed):
    """Yield the same for each view of the other tables."""
    X, benign = load_breast_cancer(return_X_y=True)
    tables = [({name: X[:, k : k + 10] for k, name in ((0, "mean"), (10, "error"), (20, "worst"))}, benign)]
    for name in OTHERS:
        data = np.load(folder / f"{name}.npz")
        views = {str(name): data["X"][:, data["view_index"] == k] for k, name in enumerate(data["view_names"])}
        tables.append((views, (data["y"] > np.quantile(data["y"], 0.65)).astype(int)))
    for number, (views, truth) in enumerate(tables):
        for seen in [name for name, view in views.items() if view.shape[1] >= 3]:
            rng = np.random.default_rng([seed, number])
            training, items = np.split(rng.permutation(len(truth))[: TRAINING + N_OTHERS], [TRAINING])
            X = scale(views[seen])
            odds = LogisticRegression(C=0.1).fit(X[training], truth[training]).decision_function(X[items])
            yield expit(odds - seed % 2), {n: v[items] for n, v in views.items() if n != seen}, truth[items]


def classes(folder, seed):
    """Yield the same for each view of handwritten digits, with a column per class."""
    mfeat, digits = (np.load(folder / f"{name}.npz") for name in ("mfeat", "optdigits"))
    halves = {str(name): digits["X"][:, digits["view_index"] == k] for k, name in enumerate(digits["view_names"])}
    for views, truth in (({name: mfeat[name] for name in DIGITS}, mfeat["y"]), (halves, digits["y"])):
        truth = truth.astype(int)
        for seen in views:
            rng = np.random.default_rng(seed)
            training, items = np.split(rng.permutation(len(truth))[: 2 * TRAINING + N_OTHERS], [2 * TRAINING])
            X = scale(views[seen].astype(float))
            logs = LogisticRegression(C=0.1, max_iter=300).fit(X[training], truth[training]).predict_log_proba(X[items])
            for sure in (1, 2, 3):
                yield softmax(sure * logs, axis=1), {n: v[items] for n, v in views.items() if n != seen}, truth[items]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--labels", default="100,20,0")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--others", action="store_true", help="other tables")
    parser.add_argument("--classes", action="store_true", help="ten classes")
    args = parser.parse_args()
    draws = classes if args.classes else others if args.others else california
    folder = Path(os.environ["TUPI_DATA"])
    for k in map(int, args.labels.split(",")):
        found = []
        for seed in range(args.first, args.first + args.seeds):
            for p, views, truth in draws(folder, seed):
                if k and len(set(truth[:k])) < 2:
                    continue
                labels = tupi.Values(np.arange(k), truth[:k]) if k else None
                after = tupi.denoise(p, views, labels, args.method, "classification").predictions
                found.append([[figure(truth[k:], one[k:]) for figure in FIGURES.values()] for one in (p, after)])
        before, after = np.moveaxis(np.array(found), 1, 0)
        for number, name in enumerate(FIGURES):
            old, new = before[:, number], after[:, number]
            gains = new - old if name.startswith("AUC") else old - new
            print(
                f"{k:4d} labels  {name:18s} {old.mean():.4f} to {new.mean():.4f} (gain {gains.mean():+.4f})  "
                f"worse in {(gains < 0).sum()} of {len(found)}, worst {gains.min():+.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
