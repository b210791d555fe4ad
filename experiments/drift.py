"""How often `result.drift` reports a drift: of items from the same source, and of items that have changed.

MFeat: a rank SVM on 200 items by `fou` makes the predictions, the other five sets of features are the views. 800 other
items are denoised, and 200 of the remaining ones (or 50) come later, as they are or changed:

- "one digit": a share of the later items is replaced by items of one digit;
- "one view moved": all columns of `zer` go up by a tenth of their deviation;
- "predictions moved": the predictions go up by a third of their deviation;
- "one view lost": a share of the later items lacks `pix`.

The level is 5 per cent, over predictions and views together.

    python experiments/drift.py [--seeds 60]
"""

import argparse

import numpy as np

import tupi
from auto import rank_svm
from tupi.research.datasets import load_mfeat

N_BEFORE = 800


def one_digit(share):
    def change(f, views, digits, later, rng):
        ones = np.flatnonzero(digits == 1)
        swapped = np.where(rng.random(len(later)) < share, rng.choice(ones, len(later)), later)
        return f[swapped], {name: view[swapped] for name, view in views.items()}

    return change


def as_they_are(f, views, digits, later, rng):
    return f[later], {name: view[later] for name, view in views.items()}


def one_view_moved(f, views, digits, later, rng):
    scores, found = as_they_are(f, views, digits, later, rng)
    return scores, found | {"zer": found["zer"] + 0.1 * views["zer"].std(axis=0)}


def predictions_moved(f, views, digits, later, rng):
    scores, found = as_they_are(f, views, digits, later, rng)
    return scores + f.std() / 3, found


def one_view_lost(share):
    def change(f, views, digits, later, rng):
        scores, found = as_they_are(f, views, digits, later, rng)
        lost = rng.random((len(later), 1)) < share
        return scores, found | {"pix": np.where(lost, np.nan, found["pix"])}

    return change


CHANGES = {
    "none": as_they_are,
    "10% more of one digit": one_digit(0.1),
    "20% more of one digit": one_digit(0.2),
    "one view moved": one_view_moved,
    "predictions moved": predictions_moved,
    "one view lost for 3%": one_view_lost(0.03),
    "one view lost for 10%": one_view_lost(0.1),
}
FEW = ("none", "20% more of one digit")  # what is also tried with few later items


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=60)
    args = parser.parse_args()
    data = load_mfeat()
    digits = data.targets["digit"]
    alarms = {(200, name): [] for name in CHANGES} | {(50, name): [] for name in FEW}
    train = np.random.default_rng(0).permutation(data.n)[:200]
    f, others = rank_svm(data.g, digits, train), np.setdiff1d(np.arange(data.n), train)
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        before, later = np.split(rng.permutation(others), [N_BEFORE])
        views = {name: view[before] for name, view in data.extras.items()}
        result = tupi.denoise(f[before], views, method="tupi", n_iter=1)
        for size, name in alarms:
            new = CHANGES[name](f, data.extras, digits, later[:size], rng)
            alarms[size, name].append(result.drift(*new).drifted)
    print(f"share of {args.seeds} draws in which a drift is reported, in per cent")
    for (size, name), found in alarms.items():
        print(f"  {size:3d} later items, {name:24s} {100 * np.mean(found):5.1f}", flush=True)


if __name__ == "__main__":
    main()
