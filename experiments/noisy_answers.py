"""Answers that are wrong in three of ten cases, against fewer that are right.

The predictors and views of `auto.py`. Pairs of items are drawn at random, and ten raters in turn say which ranks
higher: all answers are right, or 30 per cent of them are turned around. These are drawn at random, or they are all
answers of three raters; raters have names or not. Pairwise accuracy in per cent, on items that are neither trained on
nor compared, mean over targets and seeds; `auto` learns from the answers.

An answer that is turned around with probability e tells at best (1 - 2e)^2 of what a right one does (Fisher's
information at two equal items; less elsewhere): with three of ten wrong, 16 per cent. So many right answers are the
fair rival of wrong ones that come at random.

    TUPI_DATA=folder python experiments/noisy_answers.py [--seeds 2] [--answers 200] [--datasets mfeat,pubfig]
                                                           [--targets 2]
"""

import argparse
from itertools import islice

import numpy as np

import auto
import tupi

FLIPPED, RATERS = 0.3, 10
MOST = 1500  # items that are judged, so that the experiment takes minutes


def answers(one, items, k, rng):
    """Return so many right answers about pairs of items, and the same with some of them turned around in two ways."""
    pairs = rng.choice(items, (20 * k, 2))
    first, second = pairs[one.truth[pairs[:, 0]] > one.truth[pairs[:, 1]]][:k].T
    anyone = np.zeros(len(first), bool)
    anyone[rng.permutation(len(first))[: round(FLIPPED * len(first))]] = True
    raters = np.arange(len(first)) % RATERS

    def turned(wrong, who=None):
        return tupi.Pairs(np.where(wrong, second, first), np.where(wrong, first, second), raters=who)

    same = raters < FLIPPED * RATERS
    return tupi.Pairs(first, second), turned(anyone), turned(same), turned(same, raters)


def accuracies(one, k, rng):
    """Return the accuracy of f, without labels, with 16% and half of the answers, with all, and with wrong ones."""
    kept = np.concatenate([one.valid, one.test[:MOST]])
    views = {name: view[kept] for name, view in one.views.items()}
    places = np.arange(len(kept))
    asked, judged = places[: len(one.valid)], places[len(one.valid) :]
    small = auto.Instance(one.target, one.initial[kept], views, one.truth[kept], asked, judged)
    right, *noisy = answers(small, asked, k, rng)
    few, half = (tupi.Pairs(right.higher[:m], right.lower[:m]) for m in (k * 16 // 100, k // 2))
    found = [small.initial]
    for labels in (None, few, half, right, *noisy):
        found.append(tupi.denoise(small.initial, small.views, labels).predictions)
    return [small.accuracy(one) for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--datasets", default="mfeat,pubfig")
    parser.add_argument("--targets", type=int, help="of each dataset, the first so many")
    options = parser.parse_args()
    k = options.answers
    wrong = "30% wrong at random", "3 of 10 raters wrong", "the same, raters named"
    print(f"| data | f | no labels | {k * 16 // 100} right | {k // 2} right | {k} right | " + " | ".join(wrong) + " |")
    print("|---|---|---|---|---|---|---|---|---|")
    for dataset in options.datasets.split(","):
        found = [
            accuracies(one, k, np.random.default_rng(seed))
            for seed in range(options.seeds)
            for one in islice(auto.instances(dataset, seed), options.targets)
        ]
        print(f"| {dataset} | " + " | ".join(f"{mean:.1f}" for mean in np.mean(found, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
