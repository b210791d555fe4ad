"""How many labels are inside, on average over draws of 40 labels; `tests/methods/auto/test_fuse.py` has regression."""

import numpy as np
import pytest
from scipy.special import softmax

import tupi
from tests.conftest import make_problem_arrays
from tupi.api import denoise_prepared
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem, with_more_labels
from tupi.methods.auto.auto import Auto

N, M, DRAWS = 400, 40, 16
LEVELS = (0.5, 0.8, 0.95)
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
CLASSES = np.digitize(TRUTH, [-0.5, 0.5])
GIVEN = {
    "ranking": (SCORES, TRUTH),
    "classification": (softmax(-((SCORES[:, None] - [-1, 0, 1]) ** 2), axis=1), CLASSES),
}


@pytest.mark.parametrize("task", GIVEN)
def test_on_average_the_level_is_met(task):
    given, truth = GIVEN[task]
    prepared = Prepared(make_problem(given, VIEWS, None, task))
    found = []
    for seed in range(DRAWS):
        known, unseen = np.split(np.random.default_rng(seed).permutation(N), [M])
        labels = tupi.Values(known, truth[known])
        result = denoise_prepared(prepared.relabelled(with_more_labels(prepared.problem, labels)), Auto())
        for level in LEVELS:
            if task == "classification":
                held = result.class_sets(level).to_numpy()[np.arange(N), truth]
            else:
                low, high = result.interval(level)
                held = (low <= truth) & (truth <= high)
            found.append(held[unseen].mean())
    mean = np.reshape(found, (DRAWS, -1)).mean(axis=0)
    assert np.abs(mean - LEVELS).max() < 0.05
