"""How many labels the default method needs: its gain, and how often the labels themselves confirm it.

The predictions and datasets are those of `auto.py`. Labels are drawn at random, and the gain in pairwise accuracy, in
points, is on items without one. A gain counts as confirmed if the whole 95 per cent interval of `result.evidence` is
above zero.

    python experiments/labels_needed.py [--seeds 2] [--datasets mfeat,pubfig,osr] [--out docs/pictures/labels.png]
"""

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import tupi
from auto import instances
from tupi.judging.evidence import stated
from tupi.methods.auto.auto import Auto
from tupi.runtime.atomic import replacing

SIZES = (0, 5, 10, 20, 30, 50, 100, 200)
NAMES = {"mfeat": "MFeat", "pubfig": "PubFig", "osr": "OSR", "sarcos": "SARCOS"}
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def gains(one):
    """Return the gain and whether the labels confirm it, by number of labels; problems share what needs no labels."""
    known, judging = np.split(np.concatenate([one.valid, one.test]), [max(SIZES)])
    prepared = one.prepared(tupi.Values(known, one.truth[known]))

    def accuracy(predictions):
        return 100 * tupi.pairwise_accuracy(predictions[judging], one.truth[judging])

    found = {}
    for m in SIZES:
        labels = one.labels(m, known[:m]) if m else None
        fit = Auto().fit(prepared, labels)
        predictions = fit.predictions(prepared)
        judged = labels is not None and fit.gain is not None
        accepted = not np.array_equal(predictions, one.initial)
        confirmed = judged and accepted and stated(fit.gain, labels, "ranking", accepted).low > 0
        found[m] = accuracy(predictions) - accuracy(one.initial), confirmed
    return found


def picture(table):
    """Return both curves of each dataset."""
    figure = Figure(figsize=(9, 3.6), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    places = np.arange(len(SIZES))
    for (name, found), color, marker in zip(table.items(), COLORS, "osD^", strict=False):
        for axes, column in ((left, 0), (right, 1)):
            means = [np.mean([run[column] for run in found[m]]) for m in SIZES]
            axes.plot(places, np.multiply(means, 100 if column else 1), color=color, marker=marker, label=name)
    left.set(xlabel="labels", ylabel="gain in pairwise accuracy, points", title="Gain")
    right.set(xlabel="labels", ylabel="per cent of the runs", title="Confirmed by the labels", ylim=(-3, 103))
    for axes in (left, right):
        axes.set_xticks(places, [str(m) for m in SIZES])
        axes.grid(alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--datasets", default="mfeat,pubfig,osr")
    parser.add_argument("--out", type=Path, help="where to draw the picture, such as docs/pictures/labels.png")
    args = parser.parse_args()
    table = {}
    print(f"| labels | {' | '.join(map(str, SIZES))} | runs |\n|{'---|' * (len(SIZES) + 2)}")
    for dataset in args.datasets.split(","):
        found = table[NAMES[dataset]] = defaultdict(list)
        for seed in range(args.seeds):
            for one in instances(dataset, seed):
                for m, run in gains(one).items():
                    found[m].append(run)
        means = [f"{np.mean([gain for gain, _ in found[m]]):+.2f}" for m in SIZES]
        shares = [f"{100 * np.mean([sure for _, sure in found[m]]):.0f}%" for m in SIZES]
        for what, row in (("gain", means), ("confirmed", shares)):
            print(f"| {NAMES[dataset]}, {what} | {' | '.join(row)} | {len(found[0])} |", flush=True)
    if args.out:
        with replacing(args.out) as temporary:
            picture(table).savefig(temporary, dpi=110, format="png")


if __name__ == "__main__":
    main()
