"""Whether labels of suggested items teach more than labels of random ones.

The same data as in `auto.py`, the default method with its guard. Labelled are first the ten items that are suggested
without any label; then ten more after ten random ones; then, with comparisons as labels, twenty pairs more after
twenty random ones. Against them stand as many random items (or pairs), three draws each. Pairwise accuracy, in per
cent, on items that neither of them labelled.

    python experiments/suggestions.py [--seeds 4] [--datasets mfeat,pubfig,osr,sarcos]
"""

import argparse
from collections import defaultdict

import numpy as np

import auto
import tupi
from tupi.methods.auto.auto import Auto

DRAWS = 3
ITEMS, PAIRS = 10, 20


def first_items(one, rng):
    """Yield sets of items to label when nothing is labelled: the suggested ones first."""
    yield tupi.denoise(one.initial, one.views).suggest(ITEMS)
    for _ in range(DRAWS):
        yield rng.choice(len(one.truth), ITEMS, replace=False)


def further_items(one, rng):
    """Yield sets of labelled items that share ten random ones: with ten suggested ones first."""
    start = one.valid[:ITEMS]
    labels = one.labels(ITEMS)
    if labels is None:
        return
    yield np.concatenate([start, tupi.denoise(one.initial, one.views, labels=labels).suggest(ITEMS)])
    others = np.setdiff1d(np.arange(len(one.truth)), start)
    for _ in range(DRAWS):
        yield np.concatenate([start, rng.choice(others, ITEMS, replace=False)])


def compared(one, pairs):
    """Return pairs as labels; those that are equal in truth have no answer."""
    first, second = pairs.T
    up = one.truth[first] > one.truth[second]
    told = one.truth[first] != one.truth[second]
    return tupi.Pairs(np.where(up, first, second)[told], np.where(up, second, first)[told])


def further_pairs(one, rng):
    """Yield sets of compared pairs that share twenty random ones: with twenty suggested ones first."""
    n = len(one.truth)
    start = rng.integers(n, size=(PAIRS, 2))
    result = tupi.denoise(one.initial, one.views, labels=compared(one, start))
    yield np.concatenate([start, result.suggest(PAIRS)])
    for _ in range(DRAWS):
        yield np.concatenate([start, rng.integers(n, size=(PAIRS, 2))])


def accuracies(one, prepared, sets):
    """Return accuracy with each set of labels, on items that are in none of them; fits share what needs no labels."""
    sets = list(sets)
    if not sets:
        return None
    judged = np.setdiff1d(one.test, np.concatenate([chosen.ravel() for chosen in sets]))
    found = []
    for chosen in sets:
        labels = one.labels(0, chosen) if chosen.ndim == 1 else compared(one, chosen)
        predictions = Auto().fit(prepared, labels).predictions(prepared)
        found.append(100 * tupi.pairwise_accuracy(predictions[judged], one.truth[judged]))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    args = parser.parse_args()
    kinds = {"first items": first_items, "further items": further_items, "further pairs": further_pairs}
    for dataset in args.datasets.split(","):
        found = defaultdict(list)
        for seed in range(args.seeds):
            for one in auto.instances(dataset, seed):
                prepared = one.prepared(None)
                for kind, sets in kinds.items():
                    pair = accuracies(one, prepared, sets(one, np.random.default_rng(seed)))
                    if pair is not None:
                        found[kind].append((pair[0], np.mean(pair[1:])))
        for kind, pairs in found.items():
            suggested, random = np.mean(pairs, axis=0)
            gain = np.subtract(*np.transpose(pairs))
            error = gain.std() / np.sqrt(len(gain))
            print(
                f"{dataset:<8}{kind:<15} suggested {suggested:.2f}, random {random:.2f}: "
                f"{gain.mean():+.2f} ± {error:.2f} ({len(gain)} runs)",
                flush=True,
            )


if __name__ == "__main__":
    main()
