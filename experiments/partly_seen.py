"""What views are worth that only some items have: MFeat with 100, 75, 50 and 25 per cent of each view.

f^I is the rank SVM of `auto.py` on 200 items; each of the six sets of features in turn is the predictor's, and the
other five are views. Every view loses its rows for a share of the items, drawn for each view by itself, so that at 25
per cent about a quarter of the items have no view at all and one in a thousand has all five. "disjoint" deals the items
out to the five views: each item has one view, and no item has two. Pairwise accuracy, in per cent, on the items that
are neither trained on nor labelled, those without a view included.

    python experiments/partly_seen.py [--seeds 2]
"""

import argparse

import numpy as np

import tupi
from auto import instances

SHARES = (1.0, 0.75, 0.5, 0.25)
DISJOINT = "disjoint"


def thinned(views, share, rng):
    """Return the views with rows missing: a share of each is kept, or each item keeps one view."""
    n = len(next(iter(views.values())))
    if share == DISJOINT:
        owner = rng.integers(len(views), size=n)
        kept = [owner == k for k in range(len(views))]
    else:
        kept = [rng.random(n) < share for _ in views]
    return {name: np.where(has[:, None], view, np.nan) for (name, view), has in zip(views.items(), kept, strict=True)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    found = {(share, m): [] for share in (*SHARES, DISJOINT) for m in (0, 50)}
    before = []
    for seed in range(args.seeds):
        for one in instances("mfeat", seed):
            start = one.accuracy(one.initial)
            before.append(start)
            for share in (*SHARES, DISJOINT):
                views = thinned(one.views, share, np.random.default_rng(seed))
                for m in (0, 50):
                    result = tupi.denoise(one.initial, views, labels=one.labels(m) if m else None)
                    found[share, m].append(one.accuracy(result.predictions) - start)
    print(f"f^I {np.mean(before):.2f}, {len(before)} runs; gain in points with 0 and with 50 labels, and the worst run")
    for share in (*SHARES, DISJOINT):
        name = share if share == DISJOINT else f"{100 * share:.0f}%"
        cells = [f"{np.mean(found[share, m]):+6.2f} (worst {np.min(found[share, m]):+.2f})" for m in (0, 50)]
        print(f"  {name:9s} {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
