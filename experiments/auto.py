"""What the default method gains: many labels, few, none; its harm, its robustness, and its uncertainty.

f^I is a linear rank SVM on 200 items, its C chosen with 50 of them held out. MFeat: each view in turn is the
predictor's, the other five are extra. PubFig and OSR: each attribute in turn, from all features; the predictions of the
other attributes are the views. SARCOS: each torque, six of the 21 measurements are the extra view. 50 further items are
labelled; pairwise accuracy, in per cent, on all others.

    python experiments/auto.py [--seeds 10] [--datasets mfeat,osr] [--extras 2]

Other methods: `rivals.py`; which items to label next: `suggestions.py`.
"""

import argparse
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

import tupi
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import Auto
from tupi.rankers import RankSVM, RankSVMCV
from tupi.research.datasets import load_mfeat, load_osr, load_pubfig, load_sarcos

SIZES = (50, 20, 10, 5, 0)
SARCOS_VIEW = (1, 4, 7, 10, 13, 16)
LEVELS = (50, 80, 95)
NO_HARM = 0.5  # points that a single run may lose before it counts as harm


@dataclass
class Instance:
    """One target of one dataset under one seed."""

    target: str
    initial: np.ndarray
    views: dict
    truth: np.ndarray
    valid: np.ndarray
    test: np.ndarray

    def accuracy(self, predictions):
        """Return pairwise accuracy on the test items."""
        return 100 * tupi.pairwise_accuracy(predictions[self.test], self.truth[self.test])

    def labels(self, m, items=None):
        """Return labels of the first m validation items, or of other ones; None if they are all equal."""
        items = self.valid[:m] if items is None else items
        return tupi.Values(items, self.truth[items]) if len(np.unique(self.truth[items])) > 1 else None

    def prepared(self, labels, views=None, task="ranking"):
        """Return the problem made ready."""
        return Prepared(make_problem(self.initial, self.views if views is None else views, labels, task))


def rank_svm(X, y, train):
    held, kept = train[:50], train[50:]
    C = RankSVMCV().fit(X[kept], y[kept], X_val=X[held], y_val=y[held]).C_
    return RankSVM(C=C).fit(X[train], y[train]).predict(X)


def instances(dataset, seed, ranker=rank_svm):
    """Yield all targets of a dataset; ``ranker(X, y, train)`` makes the predictions."""
    if dataset == "mfeat":
        data = load_mfeat()
        truth = next(iter(data.targets.values()))
        cases = {name: (X, truth, {k: v for k, v in data.views.items() if k != name}) for name, X in data.views.items()}
    elif dataset == "sarcos":
        data = load_sarcos([k for k in range(21) if k not in SARCOS_VIEW])
        cases = {name: (data.g, y, data.extras) for name, y in data.targets.items()}
    else:
        data = load_pubfig() if dataset == "pubfig" else load_osr()
        X = np.hstack(list(data.views.values()))
        cases = {name: (X, y, None) for name, y in data.targets.items()}
    order = np.random.default_rng(1000 + seed).permutation(data.n)
    train, valid, test = np.split(order, [200, 250])
    scores = {name: ranker(X, y, train) for name, (X, y, _) in cases.items()}
    for name, (_, y, views) in cases.items():
        if views is None:
            views = {other: f[:, None] for other, f in scores.items() if other != name}
        yield Instance(name, scores[name], views, y, valid, test)


def gains_by_size(one):
    """Return the gain with each number of labels; problems share what does not depend on labels."""
    prepared = one.prepared(one.labels(50))
    before = one.accuracy(one.initial)
    found = {}
    for m in SIZES:
        labels = one.labels(m) if m else None
        found[m] = one.accuracy(Auto().fit(prepared, labels).predictions(prepared)) - before
    return before, found


def with_junk(one, seed):
    """Return the change through ten random views, and through eleven copies of f, with 50 labels and with none."""
    rng = np.random.default_rng(seed)
    n = len(one.initial)
    junk = one.views | {f"random {k}": rng.normal(size=(n, 5)) for k in range(10)}
    copies = one.views | {f"copy {k}": one.initial[:, None] * (k + 1.0) for k in range(11)}
    found = {}
    for m in (50, 0):
        labels = one.labels(m) if m else None
        plain, *changed = (
            one.accuracy(Auto().fit(prepared, labels).predictions(prepared))
            for prepared in (one.prepared(labels, views) for views in (one.views, junk, copies))
        )
        found[m] = [after - plain for after in changed]
    return found


def coverage(one):
    """Return the share of test labels within intervals of several levels."""
    result = tupi.denoise(one.initial, one.views, labels=one.labels(50), task="regression")
    truth = one.truth[one.test]
    found = []
    for level in LEVELS:
        low, high = (bound[one.test] for bound in result.interval(level / 100))
        found.append(100 * np.mean((low <= truth) & (truth <= high)))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos")
    parser.add_argument("--extras", type=int, default=0, help="seeds of junk, copies and coverage")
    args = parser.parse_args()
    totals, single, harmed = defaultdict(list), defaultdict(int), defaultdict(int)
    for dataset in args.datasets.split(","):
        before, gains = defaultdict(list), {m: defaultdict(list) for m in SIZES}
        extra = defaultdict(list)
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            for one in instances(dataset, seed):
                start, found = gains_by_size(one)
                before[one.target].append(start)
                for m, gain in found.items():
                    gains[m][one.target].append(gain)
                    single[m] += 1
                    harmed[m] += gain < -NO_HARM
                if seed - args.first_seed < args.extras:
                    for m, changes in with_junk(one, seed).items():
                        extra[f"ten random views, {m} labels"].append(changes[0])
                        extra[f"eleven copies of f, {m} labels"].append(changes[1])
                    for level, inside in zip(LEVELS, coverage(one), strict=True):
                        extra[f"coverage of {level}% intervals"].append(inside)
        first = np.mean([np.mean(values) for values in before.values()])
        print(f"\n{dataset}: f^I {first:.2f}, {len(before)} targets, {args.seeds} seeds", flush=True)
        for m in SIZES:
            means = {target: np.mean(values) for target, values in gains[m].items()}
            worst = min(means, key=means.get)
            runs = np.concatenate(list(gains[m].values()))
            total = np.mean(list(means.values()))
            totals[m].append(total)
            spread = np.std(np.mean(list(gains[m].values()), axis=0))
            print(
                f"  {m:2d} labels: {first + total:6.2f} ({total:+.2f}, over seeds ± {spread:.2f}); "
                f"worst target {worst} {means[worst]:+.2f}; "
                f"{np.sum(runs < -NO_HARM)} of {len(runs)} runs lose more than {NO_HARM}",
                flush=True,
            )
        for what, values in extra.items():
            print(f"  {what}: {np.mean(values):+.2f} (from {np.min(values):+.2f} to {np.max(values):+.2f})", flush=True)
    print("\nall datasets: mean gain, as share of that with 50 labels, runs that lose more than half a point")
    for m in SIZES:
        share = np.mean(totals[m]) / np.mean(totals[50])
        print(f"  {m:2d} labels: {np.mean(totals[m]):+.2f}, {100 * share:.0f}%, {harmed[m]} of {single[m]}")


if __name__ == "__main__":
    main()
