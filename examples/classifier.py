"""A classifier in production: its probabilities, improved and calibrated with features that it never saw.

    python examples/classifier.py [PICTURE]

The data are 569 cell samples of scikit-learn, some of them malignant. A classifier that saw three columns gives each
sample a probability. Later, columns of two further kinds were measured, and for 80 samples the truth became known. With
PICTURE, a figure is drawn (needs matplotlib).
"""

# ruff: noqa: T201 - an example says what it did
from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import tupi

data = load_breast_cancer(as_frame=True)
columns, malignant = data.data, (data.target == 0).to_numpy()
order = np.random.default_rng(0).permutation(len(columns))
learned, known, rest = order[:80], order[80:160], order[160:]

own = columns[["mean texture", "mean smoothness", "mean symmetry"]]
own = (own - own.mean()) / own.std()
p = LogisticRegression().fit(own.iloc[learned], malignant[learned]).predict_proba(own)[:, 1]  # the classifier

views = {
    "size": columns.filter(regex="radius|perimeter|area").to_numpy(),
    "shape": columns.filter(regex="concav|compact|fractal").to_numpy(),
}
labels = tupi.Values(known, np.where(malignant[known], "malignant", "benign"))  # p is of the last by name: malignant
result = tupi.denoise(p, views, labels=labels, task="classification", metric="log_loss")
print(result.evidence.sentence)
assert result.classes[-1] == "malignant"
for name, chances in (("before", p), ("after", result.predictions)):
    loss, area = log_loss(malignant[rest], chances[rest]), roc_auc_score(malignant[rest], chances[rest])
    print(f"{name}: log loss {loss:.3f}, AUC {area:.3f}, on {len(rest)} samples that nobody labelled")
print(result.decide(cost_fp=1, cost_fn=10))  # to miss one is ten times as bad as a false alarm

if len(sys.argv) > 1:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained", facecolor="white")
    for axes, name, chances in zip(
        figure.subplots(1, 2, sharey=True), ("Before", "After"), (p, result.predictions), strict=True
    ):
        for kind, color in ((False, "#0072B2"), (True, "#D55E00")):
            label = "malignant" if kind else "benign"
            axes.hist(
                chances[rest][malignant[rest] == kind], np.linspace(0, 1, 21), color=color, alpha=0.65, label=label
            )
        area = roc_auc_score(malignant[rest], chances[rest])
        axes.set_title(f"{name}: AUC {area:.2f}", loc="left", fontweight="bold")
        axes.set_xlabel("probability of a malignant sample")
    figure.axes[0].set_ylabel("samples")
    figure.axes[1].legend(frameon=False)
    figure.savefig(sys.argv[1], dpi=110)
