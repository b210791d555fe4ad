"""Do all methods still give the numbers that were saved? For changes that should change no result.

    python tests/same_numbers.py --save figures.json     # on the tree before
    python tests/same_numbers.py --compare figures.json  # on the tree after: exits 1 if any figure is off by 1e-6

Each run of a method on a problem is kept as a few sums over its predictions: mean, deviation, and products with fixed
random vectors, which no change of a single prediction leaves alone. Problems are made here and, where ``TUPI_DATA``
names a folder that has them, MFeat, PubFig and OSR.
"""

import argparse
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

import tupi

TOLERANCE = 1e-6
SLOW = ("kim", "gp", "retrain", "select", "tupi+coconut")  # on the real datasets


def made(n=300, seed=0):
    """Return truth, scores and views: two good looks at the truth, one poor one, junk, and some rows missing."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    views = {
        "curve": np.column_stack([np.cos(truth), np.sin(truth)]) + 0.2 * rng.normal(size=(n, 2)),
        "line": truth[:, None] + 0.3 * rng.normal(size=(n, 3)),
        "poor": truth[:, None] + 2.0 * rng.normal(size=(n, 1)),
        "junk": rng.normal(size=(n, 4)),
    }
    views["line"][: n // 20] = np.nan
    return truth, truth + rng.normal(size=n), views


def problems():
    """Yield name, task, predictions, views, and labels."""
    truth, scores, views = made()
    items = np.random.default_rng(1).permutation(len(truth))
    known = items[:40]
    first, second = items[:60], items[60:120]
    up = truth[first] > truth[second]
    pairs = tupi.Pairs(np.where(up, first, second), np.where(up, second, first))
    for kind, labels in (("none", None), ("values", tupi.Values(known, truth[known])), ("pairs", pairs)):
        yield f"made, ranking, {kind}", "ranking", scores, views, labels
    for kind, labels in (("none", None), ("values", tupi.Values(known, 3 * truth[known] + 5))):
        yield f"made, regression, {kind}", "regression", 3 * scores + 5, views, labels
    classes = np.digitize(truth, [-0.5, 0.5])
    chances = np.exp(np.eye(3)[classes] + 0.7 * np.random.default_rng(2).normal(size=(len(truth), 3)))
    chances /= chances.sum(axis=1, keepdims=True)
    for kind, labels in (("none", None), ("values", tupi.Values(known, classes[known]))):
        yield f"made, classification, {kind}", "classification", chances, views, labels
    folder = Path(os.environ.get("TUPI_DATA", ""))
    for name in ("mfeat", "pubfig", "osr"):
        if (folder / f"{name}.npz").is_file():
            yield from _real(name, np.load(folder / f"{name}.npz"))


def _real(name, data):
    if name == "mfeat":
        views = {key: data[key] for key in ("fou", "kar", "pix", "zer")}
        y, X = data["y"].astype(float), data["fac"]
    else:
        order = data["relative_order"][:, data["class_labels"].astype(int) - 1].astype(float)
        X = data["feat"]
        y = order[0]
        views = {f"attribute{k}": _ridge(X, order[k])[:, None] for k in range(1, len(order))}
    f = _ridge(X, y)
    known = np.random.default_rng(7).permutation(len(y))[200:250]
    for kind, labels in (("none", None), ("values", tupi.Values(known, y[known]))):
        yield f"{name}, ranking, {kind}", "ranking", f, views, labels


def _ridge(X, y):
    """Return scores of a ridge regression on 200 items: anything plain will do."""
    some = np.random.default_rng(7).permutation(len(y))[:200]
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9)
    w = np.linalg.solve(X[some].T @ X[some] + 100 * np.eye(X.shape[1]), X[some].T @ (y[some] - y.mean()))
    return X @ w


def sums(predictions):
    """Return a few numbers that stand for all predictions."""
    flat = np.asarray(predictions, float).ravel()
    unit = (flat - flat.mean()) / (flat.std() or 1.0)
    probes = np.random.default_rng(0).normal(size=(3, len(flat))) / np.sqrt(len(flat))
    return [float(flat.mean()), float(flat.std()), *(probes @ unit).tolist()]


def figures():
    """Return the sums of every method on every problem, or the error that it gave."""
    found = {}
    for name, task, predictions, views, labels in problems():
        for method in tupi.methods():
            if method in SLOW and not name.startswith("made"):
                continue
            key = f"{name}: {method}"
            try:
                found[key] = sums(tupi.denoise(predictions, views, labels=labels, task=task, method=method).predictions)
            except (tupi.InputError, ImportError) as error:
                found[key] = type(error).__name__
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = figures()
    if args.save:
        args.save.write_text(json.dumps(found, indent=1))
    if args.compare:
        saved, off = json.loads(args.compare.read_text()), []
        for key, before in saved.items():
            after = found.get(key)
            same = before == after if isinstance(before, str) or isinstance(after, str | None) else None
            if same is None:
                same = np.allclose(before, after, rtol=TOLERANCE, atol=TOLERANCE)
            if not same:
                off.append(f"{key}: {before} became {after}")
        print("\n".join([*off, f"{len(saved) - len(off)} of {len(saved)} figures are the same to {TOLERANCE:g}"]))
        return 1 if off else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
