"""Items that come later: half of each dataset is denoised, and the other half predicted by `result.predict`.

The gain of the predicted half, in points of pairwise accuracy, stands beside the gain that these same items have when
all items are denoised together, and its share of that. Predictions and splits of MFeat, PubFig, OSR and SARCOS are
those of `auto.py`. The other sets are in the folder that TUPI_DATA names. Of five of them each view in turn is that of
the predictor (a linear rank SVM on 200 items), and the others are the extra views. California comes with the
predictions of a classifier that somebody else trained. Hotel rates and attrition are tables of any columns, with the
predictor of `raw_tables.py`. Of the queries, whole ones come later, and whole ones are labelled, as many as have the
labels between them; the predictor is that of `queries.py`, and pairs are within queries. At most 6,000 items of a set
take part.

With ``--targets 1`` each seed takes one target of a set, the next seed the next one. The difference of the two gains
stands with its standard error over seeds, since a share of a small gain says little. With ``--keep`` each run is
written to a file and not repeated by the next call.

With ``--update`` nine tenths of the items are denoised, `result.update` takes in the last tenth, and what comes out is
compared with a fresh run on all of them: by the rank correlation (Spearman) of the two, and by CPU time.

    python experiments/new_items.py [--seeds 10] [--targets 1] [--sets mfeat,pubfig] [--labels 50,0] [--method auto]
"""

import argparse
import json
import os
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import auto
import queries
import raw_tables
import tupi

PAPER = ("mfeat", "pubfig", "osr", "sarcos")
VIEWS = ("ames_housing", "star_test_scores", "loan_interest", "mlb_teams", "optdigits")
TABLES = {"hotel_rates": 0, "attrition": 1}  # which of those of `raw_tables.py`
SETS = (*PAPER, *VIEWS, "california", *TABLES, "queries")
CALIFORNIA = {
    "place": ["Latitude", "Longitude"],
    "house": ["HouseAge", "AveRooms", "AveBedrms"],
    "people": ["MedInc", "Population", "AveOccup"],
}
MOST = 6000
LEAST_COLUMNS = 3  # of a view that a predictor can be made of
LEAST_GAIN = 0.5  # points: a share of less than that says nothing
SHARES = (
    "| set | labels | runs | gain of predicted items | of the same, denoised with all | difference | share | "
    "runs that lose |"
)
LIKENESS = "| set | labels | runs | correlation, median | worst | ratio of times |"


def instances(name, seed):
    """Yield the targets of a set."""
    if name in PAPER:
        yield from auto.instances(name, seed)
        return
    folder, rng = Path(os.environ["TUPI_DATA"]), np.random.default_rng(1000 + seed)
    if name in TABLES:
        scores, truth, rest = raw_tables.scored(raw_tables.TABLES[TABLES[name]], folder, seed, MOST)
        yield auto.Instance("table", scores, {"table": rest}, truth, *np.split(rng.permutation(len(truth)), [50]))
        return
    if name == "california":
        table = pd.read_csv(folder / "california.csv")
        views = {view: table[columns].to_numpy() for view, columns in CALIFORNIA.items()}
        truth, scores = table["clf_target"].to_numpy(float), table["y_pred_proba"].to_numpy()
        yield auto.Instance("dear", scores, views, truth, *np.split(rng.permutation(len(truth)), [50]))
        return
    with np.load(folder / f"{name}.npz") as data:
        X, truth, which, names = (data[part] for part in ("X", "y", "view_index", "view_names"))
    views = {str(names[k]): X[:, which == k] for k in np.unique(which)}
    train, valid, test = np.split(rng.permutation(len(truth)), [200, 250])
    for target, own in views.items():
        if own.shape[1] >= LEAST_COLUMNS:
            spread = own.std(axis=0)
            scores = auto.rank_svm((own - own.mean(axis=0)) / np.where(spread > 0, spread, 1.0), truth, train)
            others = {view: columns for view, columns in views.items() if view != target}
            yield auto.Instance(target, scores, others, truth, valid, test)


@cache
def all_instances(name, seed):
    """Return the targets of a set; their predictors take long to train."""
    return list(instances(name, seed))


def some_instances(name, seed, most):
    """Yield at most so many targets of a set, the next ones for the next seed."""
    targets = all_instances(name, seed)
    first = 0 if most >= len(targets) else seed * most
    yield from (targets[(first + k) % len(targets)] for k in range(min(most, len(targets))))


def halves(one, n_labels, method):
    """Return gains on the items that come later: predicted, and denoised together with all others."""
    order = np.concatenate([one.valid, one.test])[:MOST]
    seen, later = np.split(order, [len(one.valid) + (len(order) - len(one.valid)) // 2])
    return compared(one.initial, one.views, one.truth, seen, later, n_labels, method)


def query_halves(seed, n_labels, method):
    """Return the same for queries."""
    data = np.load(Path(os.environ["TUPI_DATA"]) / "queries.npz")
    X, y, query = data["X"].astype(np.float64), data["y"].astype(float), data["query"]
    rng = np.random.default_rng(seed)
    columns, numbers = rng.permutation(X.shape[1]), rng.permutation(np.unique(query))
    half = len(columns) // 2
    train, rest = np.split(numbers, [queries.TRAINING])
    scores = queries.scores_of(X[:, columns[:half]], y, query, train)
    seen, later = (np.concatenate([np.flatnonzero(query == one) for one in some]) for some in np.array_split(rest, 2))
    whole = np.searchsorted(np.flatnonzero(np.diff(query[seen])) + 1, n_labels)  # the query of the last label
    n_labels = int(np.append(np.flatnonzero(np.diff(query[seen])) + 1, len(seen))[whole]) if n_labels else 0
    return compared(scores, {"view": X[:, columns[half:]]}, y, seen, later, n_labels, method, query)


def rows(views, items):
    """Return some items' rows of all views."""
    return {name: view.iloc[items] if hasattr(view, "iloc") else view[items] for name, view in views.items()}


def denoised(initial, views, truth, items, n_labels, method, groups=None):
    """Return the result of some items, of which the first ones have labels."""
    labels = tupi.Values(np.arange(n_labels), truth[items[:n_labels]]) if n_labels else None
    among = None if groups is None else groups[items]
    return tupi.denoise(initial[items], rows(views, items), labels, method=method, groups=among)


def compared(initial, views, truth, seen, later, n_labels, method, groups=None):
    """Return gains on the items that come later; None if the labels are all the same."""
    if n_labels and len(np.unique(truth[seen[:n_labels]])) < 2:
        return None
    both = seen, np.concatenate([seen, later])
    half, whole = (denoised(initial, views, truth, items, n_labels, method, groups) for items in both)
    among = None if groups is None else groups[later]
    found = half.predict(initial[later], rows(views, later), groups=among), whole.predictions[len(seen) :]
    before, *after = (100 * tupi.pairwise_accuracy(f, truth[later], among) for f in (initial[later], *found))
    return [one - before for one in after]


def update(one, n_labels, method):
    """Return how alike an update with a tenth more items and a fresh run rank all items, and the ratio of CPU times."""
    order = np.concatenate([one.valid, one.test])[:MOST]
    first, later = np.split(order, [round(len(order) / 1.1)])
    if n_labels and len(np.unique(one.truth[first[:n_labels]])) < 2:
        return None
    given = one.initial, one.views, one.truth
    result = denoised(*given, first, n_labels, method)
    times = [time.process_time()]
    grown = result.update(predictions=one.initial[later], features=rows(one.views, later))
    times.append(time.process_time())
    fresh = denoised(*given, order, n_labels, method)
    times.append(time.process_time())
    took, whole = np.diff(times)
    return [float(spearmanr(grown.predictions, fresh.predictions)[0]), took / whole]


def runs(name, seeds, targets, n_labels, method, run):
    """Yield the seed and the target of each run of a set, and a function that makes it."""
    for seed in range(seeds):
        if name == "queries":
            yield seed, name, lambda seed=seed: query_halves(seed, n_labels, method)
            continue
        for one in some_instances(name, seed, targets):
            yield seed, one.target, lambda one=one: run(one, n_labels, method)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--targets", type=int, default=100)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--labels", default="50,0")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--update", action="store_true", help="a tenth more items, by an update and by a fresh run")
    parser.add_argument("--keep", type=Path, help="file of runs that were made before")
    args = parser.parse_args()
    known = {}
    if args.keep is not None and args.keep.exists():
        known = {tuple(key): found for key, found in map(json.loads, args.keep.read_text().splitlines())}
    run, tell, heading = (update, likeness, LIKENESS) if args.update else (halves, shares, SHARES)
    print(heading)
    print("|---" * (heading.count("|") - 1) + "|")
    for name in args.sets.split(","):
        if args.update and name == "queries":
            continue  # items are not added to groups
        all_instances.cache_clear()
        for n_labels in map(int, args.labels.split(",")):
            found = []
            for seed, target, make in runs(name, args.seeds, args.targets, n_labels, args.method, run):
                key = (run.__name__, args.method, name, n_labels, seed, target)
                if key not in known:
                    known[key] = make()
                    if args.keep is not None:
                        with args.keep.open("a") as file:
                            file.write(json.dumps([key, known[key]]) + "\n")
                if known[key] is not None:
                    found.append((seed, *known[key]))
            print(f"| {name} | {n_labels} | {len(found)} | {tell(found)} |", flush=True)


def shares(found):
    """Return the cells of `SHARES`, given the seed and both gains of each run."""
    found = pd.DataFrame(found, columns=["seed", "apart", "whole"])
    apart, whole = found["apart"].mean(), found["whole"].mean()
    lost = (found["apart"] - found["whole"]).groupby(found["seed"]).mean()
    share = f"{100 * apart / whole:.0f}%" if whole > LEAST_GAIN else ""
    lost = f"{lost.mean():+.2f} ± {lost.sem():.2f}" if len(lost) > 1 else f"{lost.mean():+.2f}"
    below = found["apart"][found["apart"] < 0]
    harm = f"{len(below)}, worst {below.min():+.2f}" if len(below) else "0"
    return f"{apart:+.2f} | {whole:+.2f} | {lost} | {share} | {harm}"


def likeness(found):
    """Return the cells of `LIKENESS`, given the seed, the correlation and the ratio of times of each run."""
    _, alike, times = np.array(found).T
    return f"{np.median(alike):.4f} | {alike.min():.4f} | {np.median(times):.2f}"


if __name__ == "__main__":
    main()
