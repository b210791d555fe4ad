"""Shuffled labels on real data, where it is at hand."""

import os

import numpy as np
import pytest

import tupi
from tupi.rankers import RankSVM
from tupi.research.datasets import load_mfeat, load_osr

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("TUPI_DATA" not in os.environ, reason="TUPI_DATA names no folder with real data"),
]
LABELS = 40


def predicted(X, y, train):
    return RankSVM().fit(X[train], y[train]).predict(X)


def mfeat(train):
    data = load_mfeat()
    truth = next(iter(data.targets.values()))
    views = dict(data.views)
    return predicted(views.pop("kar"), truth, train(len(truth))), truth, views


def osr(train):
    data = load_osr()
    X = np.hstack(list(data.views.values()))
    first, *others = [predicted(X, y, train(len(X))) for y in data.targets.values()]
    return first, next(iter(data.targets.values())), {str(k): other[:, None] for k, other in enumerate(others)}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("problem", [mfeat, osr])
def test_shuffled_labels_change_next_to_nothing(problem, seed):
    def split(n):
        return np.split(np.random.default_rng(seed).permutation(n), [200, 200 + LABELS])

    scores, truth, views = problem(lambda n: split(n)[0])
    _, items, unseen = split(len(truth))
    shuffled = tupi.Values(items, np.random.default_rng(seed).permutation(truth[items]))
    free, told = (
        tupi.pairwise_accuracy(tupi.denoise(scores, views, labels=labels).predictions[unseen], truth[unseen])
        for labels in (None, shuffled)
    )
    assert abs(told - free) < 0.005
