"""The gain of the paper's method on MFeat, by the paper's protocol.

For each of the six views: f^I is a linear rank SVM on 200 items, its C chosen on the 50 validation items; the other
five views denoise it, lam, sigma_w2 and T chosen on the same 50; pairwise accuracy on the remaining 1,750 items. The
paper's columns F1 to F6 are taken as the files in alphabetical order: see docs/paper_map.md.

    python experiments/mfeat_gain.py [--seeds 10]
"""

import argparse

import numpy as np

import tupi
from tupi.datasets import load_mfeat
from tupi.rankers import RankSVMCV

PAPER_GAIN = {"fac": 4.12, "fou": 2.17, "kar": 2.61, "mor": 3.45, "pix": 2.14, "zer": 5.15}


def one_run(views, truth, baseline, seed, **params):
    """Return accuracy before and after, in per cent, on items whose labels nobody used."""
    order = np.random.default_rng(seed).permutation(len(truth))
    train, items = order[:200], order[200:]
    valid = np.arange(50)  # within items: the first 50 validate, the others judge
    X, y = views[baseline], truth[items]
    ranker = RankSVMCV().fit(X[train], truth[train], X_val=X[items[:50]], y_val=y[:50])
    initial = ranker.predict(X[items])
    others = {name: values[items] for name, values in views.items() if name != baseline}
    result = tupi.denoise(initial, others, labels=tupi.Values(valid, y[:50]), method="tupi", **params)
    before, after = (100 * tupi.pairwise_accuracy(f[50:], y[50:]) for f in (initial, result.predictions))
    return before, after, result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    data = load_mfeat()
    truth = next(iter(data.targets.values()))
    print(f"{'view':<6}{'f^I':>8}{'f^O':>8}{'gain':>8}{'sd':>7}{'paper':>8}{'worse':>7}   ({args.seeds} seeds)")
    gains = []
    for name in data.views:
        runs = np.array([one_run(data.views, truth, name, seed)[:2] for seed in range(args.seeds)])
        gain = runs[:, 1] - runs[:, 0]
        gains.append(gain.mean())
        before, after = runs.mean(axis=0)
        print(
            f"{name:<6}{before:8.2f}{after:8.2f}{gain.mean():+8.2f}{gain.std():7.2f}{PAPER_GAIN[name]:+8.2f}"
            f"{np.count_nonzero(gain < 0):7d}",
            flush=True,
        )
    paper = np.mean(list(PAPER_GAIN.values()))
    print(f"mean gain {np.mean(gains):+.2f} points over {len(gains)} views (paper {paper:+.2f})")


if __name__ == "__main__":
    main()
