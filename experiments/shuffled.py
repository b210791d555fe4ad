"""What 40 labels without signal do: labels of the right items in a random order, as mismatched ids make them.

The sets of `auto.py`, scikit-learn's digits (each view in turn is the predictor's, the other five are extra), and two
of its tables: diabetes, whose predictor sees age, sex, body mass and blood pressure while the blood serum is extra, and
breast cancer, whose predictor sees the means of the measurements while their errors and extremes are extra. f^I is the
rank SVM of `auto.py`. Change of pairwise accuracy, in points, against the answer without labels, on items that are
neither trained on nor labelled; beside it the gain of true labels of the same items.

    python experiments/shuffled.py [--seeds 2] [--datasets mfeat,pubfig,osr,sarcos,digits,diabetes,cancer]
"""

import argparse

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import auto
import tupi
from tupi.research.datasets import load_digits

LABELS = 40
MOST = 3000  # items of one run, so that the experiment takes minutes


def digits():
    """Yield name, predictor's view, truth and the other views for each of the six."""
    data = load_digits()
    truth = data.targets["digit"]
    for name, X in data.views.items():
        yield name, X, truth, {other: view for other, view in data.views.items() if other != name}


def diabetes():
    X, truth = load_diabetes(return_X_y=True)
    yield "progression", X[:, :4], truth, {"lipids": X[:, 4:8], "triglycerides and sugar": X[:, 8:]}


def cancer():
    X, benign = load_breast_cancer(return_X_y=True)
    yield "benign", X[:, :10], benign.astype(float), {"errors": X[:, 10:20], "extremes": X[:, 20:]}


TABLES = {"digits": digits, "diabetes": diabetes, "cancer": cancer}


def instances(dataset, seed):
    """Yield the targets of a dataset as `auto.instances` does."""
    if dataset not in TABLES:
        yield from auto.instances(dataset, seed)
        return
    for name, X, truth, views in TABLES[dataset]():
        train, valid, test = np.split(np.random.default_rng(1000 + seed).permutation(len(truth)), [200, 250])
        yield auto.Instance(name, auto.rank_svm(X, truth, train), views, truth, valid, test)


def thinned(one):
    """Return the labelled items and as many others as are allowed; predictions of trained items are not judged."""
    kept = np.concatenate([one.valid[:LABELS], one.test[: MOST - LABELS]])
    views = {name: view[kept] for name, view in one.views.items()}
    places = np.arange(len(kept))
    return auto.Instance(one.target, one.initial[kept], views, one.truth[kept], places[:LABELS], places[LABELS:])


def changes(one, rng):
    """Return the change through shuffled labels and through true ones; None if all labels are equal."""
    true = one.labels(LABELS)
    if true is None:
        return None
    shuffled = tupi.Values(true.index, rng.permutation(true.values))
    free, *told = (
        one.accuracy(tupi.denoise(one.initial, one.views, labels=labels).predictions)
        for labels in (None, shuffled, true)
    )
    return [after - free for after in told]


def line(name, found):
    """Return a row of the table."""
    wrong, right = np.transpose(found)
    return (
        f"{name:10s} shuffled: mean {wrong.mean():+.2f}, worst {wrong.min():+.2f}, best {wrong.max():+.2f}, "
        f"{np.sum(wrong != 0)} of {len(wrong)} runs change; true: mean {right.mean():+.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos,digits,diabetes,cancer")
    args = parser.parse_args()
    total = []
    for dataset in args.datasets.split(","):
        found = []
        for seed in range(args.seeds):
            rng = np.random.default_rng(seed)
            found += [changes(thinned(one), rng) for one in instances(dataset, seed)]
        found = [one for one in found if one is not None]
        print(line(dataset, found), flush=True)
        total += found
    print(line("all", total))


if __name__ == "__main__":
    main()
