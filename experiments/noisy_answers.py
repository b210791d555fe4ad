"""Answers that are wrong in three of ten cases, against half as many that are right.

The predictors and views of `auto.py`. Pairs of items are drawn at random, and somebody says which ranks higher: all
answers are right, or 30 per cent of them, drawn at random, are turned around. Pairwise accuracy in per cent, on items
that are neither trained on nor compared, mean over targets and seeds; `auto` learns from the answers.

    TUPI_DATA=folder python experiments/noisy_answers.py [--seeds 2] [--answers 200] [--datasets mfeat,pubfig]
"""

import argparse

import numpy as np

import auto
import tupi

FLIPPED = 0.3
MOST = 1500  # items that are judged, so that the experiment takes minutes


def answers(one, items, k, rng):
    """Return so many right answers about pairs of items, and the same with some of them turned around."""
    pairs = rng.choice(items, (20 * k, 2))
    first, second = pairs[one.truth[pairs[:, 0]] > one.truth[pairs[:, 1]]][:k].T
    wrong = np.zeros(len(first), bool)
    wrong[rng.permutation(len(first))[: round(FLIPPED * len(first))]] = True
    return tupi.Pairs(first, second), tupi.Pairs(np.where(wrong, second, first), np.where(wrong, first, second))


def accuracies(one, k, rng):
    """Return the accuracy of f, without labels, with half the answers, with all, and with wrong ones among all."""
    kept = np.concatenate([one.valid, one.test[:MOST]])
    views = {name: view[kept] for name, view in one.views.items()}
    places = np.arange(len(kept))
    asked, judged = places[: len(one.valid)], places[len(one.valid) :]
    small = auto.Instance(one.target, one.initial[kept], views, one.truth[kept], asked, judged)
    right, noisy = answers(small, asked, k, rng)
    half = tupi.Pairs(right.higher[: k // 2], right.lower[: k // 2])
    found = [small.initial]
    for labels in (None, half, right, noisy):
        found.append(tupi.denoise(small.initial, small.views, labels).predictions)
    return [small.accuracy(one) for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--datasets", default="mfeat,pubfig")
    options = parser.parse_args()
    k = options.answers
    print(f"| data | f | no labels | {k // 2} right answers | {k} right answers | {k}, 30% of them wrong |")
    print("|---|---|---|---|---|---|")
    for dataset in options.datasets.split(","):
        found = [
            accuracies(one, k, np.random.default_rng(seed))
            for seed in range(options.seeds)
            for one in auto.instances(dataset, seed)
        ]
        print(f"| {dataset} | " + " | ".join(f"{mean:.1f}" for mean in np.mean(found, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
