"""One probability per item, some months after its model was trained: does denoising make it a better probability.

The table `california.csv` in the folder that TUPI_DATA names has the probability that a district is dear, what came
true, and eight columns, which are taken as three views: place, houses and people. Labels are of items drawn at random,
and 6,000 items take part; AUC, log loss and calibration error are of those without a label.

    TUPI_DATA=... python experiments/binary.py [--seeds 10] [--first 0] [--labels 100,20,0] [--method auto]
"""

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score

import tupi
from tupi.inputs.classes import expand
from tupi.judging.catalogue import CalibrationError

N_ITEMS = 6000
VIEWS = {
    "place": ["Latitude", "Longitude"],
    "house": ["HouseAge", "AveRooms", "AveBedrms"],
    "people": ["MedInc", "Population", "AveOccup"],
}
FIGURES = {
    "AUC": roc_auc_score,
    "log loss": lambda truth, p: log_loss(truth, np.clip(p, 1e-6, 1 - 1e-6)),
    "calibration error": lambda truth, p: CalibrationError().of(truth, expand(p)),
}


def case(table, k, seed):
    """Return probabilities, views, what came true, and labels of the first k items."""
    items = np.random.default_rng(1000 + seed).permutation(len(table))[:N_ITEMS]
    table = table.iloc[items].reset_index(drop=True)
    views = {name: table[columns].to_numpy() for name, columns in VIEWS.items()}
    views["people"] = np.log1p(views["people"])
    truth = table["clf_target"].to_numpy()
    labels = tupi.Values(np.arange(k), truth[:k]) if k else None
    return table["y_pred_proba"].to_numpy(), views, truth, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--labels", default="100,20,0")
    parser.add_argument("--method", default="auto")
    args = parser.parse_args()
    table = pd.read_csv(Path(os.environ["TUPI_DATA"]) / "california.csv")
    for k in map(int, args.labels.split(",")):
        found = []
        for seed in range(args.first, args.first + args.seeds):
            p, views, truth, labels = case(table, k, seed)
            if k and len(set(truth[:k])) < 2:
                continue
            after = tupi.denoise(p, views, labels, args.method, "classification").predictions
            found.append([[figure(truth[k:], one[k:]) for figure in FIGURES.values()] for one in (p, after)])
        before, after = np.moveaxis(np.array(found), 1, 0)
        for number, name in enumerate(FIGURES):
            old, new = before[:, number], after[:, number]
            worse = (new < old).sum() if name == "AUC" else (new > old).sum()
            print(
                f"{k:4d} labels  {name:18s} {old.mean():.4f} to {new.mean():.4f} ({(new - old).mean():+.4f})  "
                f"worse in {worse} of {len(found)} draws",
                flush=True,
            )


if __name__ == "__main__":
    main()
