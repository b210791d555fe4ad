"""Rankings within queries: results of a search engine, a ranker that knows half of the features, labels on 20 queries.

The data are those of LightGBM's example of ranking: 251 queries with some 15 judged results each. A rank SVM on half of
the features learns from 30 queries and scores the results of the others; the other half of the features is the view.
All results of 20 of these queries are labelled. NDCG@10 is the mean over queries, of the 201 without labels and of all
221. In "shifted" rows a number of its own was added to all scores of a query, three times as large as the scores'
deviation, as by a predictor that scores each query on its own scale. LightGBM's ranker learns from the same labels,
with the scores and the view as its features, if it is installed (`pip install "tupi[boost]"`).

    TUPI_DATA=folder python experiments/queries.py [--seeds 10] [--first 0]
"""

import argparse
import importlib.util
import os
from pathlib import Path

import numpy as np

import tupi
from tupi.inputs.groups import pairs_within
from tupi.inputs.problem import make_problem
from tupi.rankers import RankSVM

TRAINING, LABELLED = 30, 20


def scores_of(X, y, query, training):
    """Return scores of all results by a rank SVM that compares results within the training queries."""
    rows = np.flatnonzero(np.isin(query, training))
    pairs = pairs_within(tupi.Values(np.arange(len(rows)), y[rows], groups=query[rows]))
    return RankSVM().fit(X[rows], pairs=(pairs.higher, pairs.lower)).predict(X)


def lightgbm_scores(scores, view, y, query, labelled):
    """Return what LightGBM's ranker learns from the labels, with the scores as a feature."""
    import lightgbm

    X = np.column_stack([scores, view])
    rows = np.flatnonzero(labelled)
    rows = rows[np.argsort(query[rows], kind="stable")]
    sizes = np.unique(query[rows], return_counts=True)[1]
    ranker = lightgbm.LGBMRanker(verbose=-1, n_jobs=1, random_state=0)
    return ranker.fit(X[rows], y[rows].astype(int), group=sizes).predict(X)


def trial(X, y, query, seed):
    """Return whether the levels of queries count, and NDCG@10 of each ranking, of queries without labels and of all."""
    rng = np.random.default_rng(seed)
    columns, queries = rng.permutation(X.shape[1]), rng.permutation(np.unique(query))
    half = len(columns) // 2
    scores = scores_of(X[:, columns[:half]], y, query, queries[:TRAINING])
    rows = np.flatnonzero(~np.isin(query, queries[:TRAINING]))
    scores, view, y, query = scores[rows], X[rows][:, columns[half:]], y[rows], query[rows]
    labelled = np.isin(query, queries[TRAINING : TRAINING + LABELLED])
    known = tupi.Values(np.flatnonzero(labelled), y[labelled])
    shifts = 3 * scores.std() * rng.normal(size=query.max() + 1)[query]
    found = {
        "the scores": scores,
        "auto, no labels": tupi.denoise(scores, {"view": view}, groups=query).predictions,
        "auto, labels": tupi.denoise(scores, {"view": view}, known, groups=query).predictions,
        "auto, labels, groups not told": tupi.denoise(scores, {"view": view}, known).predictions,
        "auto, labels, shifted": tupi.denoise(scores + shifts, {"view": view}, known, groups=query).predictions,
        "auto, labels, shifted, groups not told": tupi.denoise(scores + shifts, {"view": view}, known).predictions,
    }
    if importlib.util.find_spec("lightgbm") is not None:
        found["LightGBM's ranker, labels"] = lightgbm_scores(scores, view, y, query, labelled)
    levels = make_problem(scores, {"view": view}, known, groups=query).groups.levels
    return levels, {
        name: [tupi.ndcg(new[~labelled], y[~labelled], query[~labelled]), tupi.ndcg(new, y, query)]
        for name, new in found.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    seeds = options.seeds
    data = np.load(Path(os.environ.get("TUPI_DATA", "data")) / "queries.npz")
    X, y, query = data["X"].astype(np.float64), data["y"], data["query"]
    trials = [trial(X, y, query, seed) for seed in range(options.first, options.first + seeds)]
    told = sum(levels for levels, _ in trials)
    trials = [found for _, found in trials]
    print(f"NDCG@10, per cent, mean over {seeds} seeds; in {told} of them the levels of queries count")
    print("| ranking | queries without labels | worst gain | all queries |")
    print("|---|---|---|---|")
    before = 100 * np.array([one["the scores"] for one in trials])
    for name in trials[0]:
        found = 100 * np.array([one[name] for one in trials])
        worst = (found - before)[:, 0].min()
        print(f"| {name} | {found[:, 0].mean():.1f} | {worst:+.1f} | {found[:, 1].mean():.1f} |")


if __name__ == "__main__":
    main()
