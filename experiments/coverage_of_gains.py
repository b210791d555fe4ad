"""How often the 95 per cent interval of a gain holds the true gain, by task and number of labels.

The sets of `shuffled.py`: those of `auto.py`, scikit-learn's digits, diabetes and breast cancer. The interval is that
of `result.evidence`; the true gain is that of the same predictions on all items neither trained on nor labelled.
Where the guard turned new predictions down, those without the guard are judged, of which the evidence speaks then.
Ranking by pairwise accuracy, regression by R² (predictions are put on the scale of the truth by their own 200 items).

    python experiments/coverage_of_gains.py [--seeds 2] [--labels 8,10,20,50] [--datasets mfeat,digits,diabetes,cancer]
"""

import argparse
from collections import defaultdict

import numpy as np
from sklearn.metrics import r2_score

import shuffled
import tupi

SCORES = {"ranking": tupi.pairwise_accuracy, "regression": lambda predictions, truth: r2_score(truth, predictions)}


def covered(one, items, task):
    """Return whether the interval holds the true gain, its width and the error of the gain; None without a figure."""
    slope, constant = np.polyfit(one.initial, one.truth, 1)
    initial = one.initial if task == "ranking" else slope * one.initial + constant
    labels = tupi.Values(items, one.truth[items])
    result = tupi.denoise(initial, one.views, labels=labels, task=task)
    if not result.changed:
        result = tupi.denoise(initial, one.views, labels=labels, task=task, guard=False)
    told = result.evidence
    if not np.isfinite([told.low, told.high]).all():
        return None
    before, after = (SCORES[task](each[one.test], one.truth[one.test]) for each in (initial, result.predictions))
    true = after - before
    return told.low <= true <= told.high, told.high - told.low, told.gain - true


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--labels", default="8,10,20,50")
    parser.add_argument("--datasets", default="mfeat,pubfig,osr,sarcos,digits,diabetes,cancer")
    asked = parser.parse_args()
    found = defaultdict(list)
    for dataset in asked.datasets.split(","):
        for seed in range(asked.seeds):
            for one in shuffled.instances(dataset, seed):
                for m in map(int, asked.labels.split(",")):
                    items = one.valid[:m]
                    if len(np.unique(one.truth[items])) < 2:
                        continue
                    for task in SCORES:
                        if (run := covered(one, items, task)) is not None:
                            found[task, m].append(run)
    print("| task | labels | runs | intervals that hold the gain | median width | mean gain told minus true |")
    print("|---|---|---|---|---|---|")
    for (task, m), runs in sorted(found.items()):
        inside, widths, errors = np.transpose(runs).astype(float)
        print(
            f"| {task} | {m} | {len(runs)} | {100 * inside.mean():.1f}% | {np.median(widths):.3f} | "
            f"{errors.mean():+.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
