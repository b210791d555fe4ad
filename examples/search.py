"""A search engine that nobody can retrain: its results, judged for a few queries, in a better order for all of them.

    python examples/search.py [PICTURE]

The queries are made up, so that it is known how good each result is. An engine gives each result a score, and an
embedding of another model is the view that the engine never saw. People judged the results of twelve queries. What
that is worth is measured on the other queries, which nobody judged. With PICTURE, a figure is drawn (needs matplotlib).
"""

# ruff: noqa: T201 - an example says what it did
from __future__ import annotations

import sys

import numpy as np

import tupi

QUERIES, RESULTS, JUDGED = 60, 20, 12

rng = np.random.default_rng(0)
n = QUERIES * RESULTS
query = np.repeat(np.arange(QUERIES), RESULTS)
quality = rng.normal(size=n)
engine = quality + 1.2 * rng.normal(size=n) + np.repeat(3 * rng.normal(size=QUERIES), RESULTS)  # queries differ, too
embedding = np.column_stack([quality, quality**2, rng.normal(size=n)]) + 0.6 * rng.normal(size=(n, 3))
grades = np.digitize(quality, [0.3, 1.0, 1.7])  # 0 to 3, as people judge

known = np.flatnonzero(query < JUDGED)
labels = tupi.Values(known, grades[known])
result = tupi.denoise(engine, {"embedding": embedding}, labels=labels, groups=query, metric="ndcg@10")
print(result.evidence.sentence)

rest = query >= JUDGED
before, after = (tupi.ndcg(scores[rest], grades[rest], query[rest], k=10) for scores in (engine, result.predictions))
print(f"NDCG@10 of the {QUERIES - JUDGED} queries that nobody judged: {before:.3f} before, {after:.3f} after")

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    each = np.array(
        [
            [tupi.ndcg(scores[query == q], grades[query == q], k=10) for scores in (engine, result.predictions)]
            for q in range(JUDGED, QUERIES)
        ]
    )
    each = each[np.argsort(each[:, 0])]
    figure = Figure(figsize=(9, 3.6), layout="constrained", facecolor="white")
    axes = figure.subplots()
    places = np.arange(len(each))
    better = each[:, 1] >= each[:, 0]
    axes.vlines(places, each[:, 0], each[:, 1], color=np.where(better, "#009E73", "#D55E00"), linewidth=2)
    axes.plot(places, each[:, 0], "o", color="#8A8A8A", label="before", markersize=5)
    axes.plot(places, each[:, 1], "o", color="#0072B2", label="after", markersize=6)
    axes.set(xlabel="queries that nobody judged, the worst first", ylabel="NDCG@10", xticks=[])
    axes.set_title(f"NDCG@10 rose for {better.sum()} of {len(better)} queries", loc="left", fontweight="bold")
    axes.legend(loc="lower right", frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
