"""A metric that somebody asked for may keep the initial predictions."""

from functools import partial

import numpy as np
import pytest

import tupi
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import metric_for
from tupi.judging.evidence import speaks_against

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=200)
SCORES = TRUTH + RNG.normal(size=200)
VIEWS = {"sharp": TRUTH[:, None] + 0.2 * RNG.normal(size=(200, 2))}
KNOWN = Values(np.arange(50), TRUTH[:50])


def error(truth, prediction):
    """A metric of which less is better, by somebody who says the contrary."""
    return np.mean((truth - prediction) ** 2)


def test_nothing_comes_back_that_the_metric_rules_out():
    free = tupi.denoise(SCORES, VIEWS, KNOWN, task="regression")
    assert not np.array_equal(free.predictions, SCORES)
    found = tupi.denoise(SCORES, VIEWS, KNOWN, task="regression", metric=error)
    np.testing.assert_array_equal(found.predictions, SCORES)
    assert found.params["weight"] == 0
    assert "error, which was asked for, went from" in found.notes[0]
    assert "stay as they are" in found.notes[0]
    assert not found.evidence.accepted
    assert found.evidence.high < 0  # of what was turned down
    np.testing.assert_allclose(found.predict(SCORES[:5], {"sharp": VIEWS["sharp"][:5]}), SCORES[:5])
    for metric in ("rmse", "r2", "pairwise"):
        same = tupi.denoise(SCORES, VIEWS, KNOWN, task="regression", metric=metric)
        np.testing.assert_array_equal(same.predictions, free.predictions)


def test_without_the_guard_the_metric_has_no_say():
    found = tupi.denoise(SCORES, VIEWS, KNOWN, task="regression", metric=error, guard=False)
    assert not np.array_equal(found.predictions, SCORES)


def test_comparisons_of_methods_meet_the_same_guard():
    found = tupi.compare(SCORES, VIEWS, KNOWN, ["auto"], "regression", n_repeats=1, metric=error).table.iloc[0]
    assert found["gain"] == 0


@pytest.mark.parametrize(("better", "said"), [(0.5, False), (-0.5, True)])
def test_a_doubt_is_no_veto(better, said):
    problem = make_problem(SCORES, VIEWS, KNOWN, "regression")
    veto = partial(speaks_against, metric_for("rmse", problem))
    new = TRUTH[:50] + (1 - better) * (SCORES - TRUTH)[:50]
    assert (veto(problem, KNOWN, np.arange(50), new[:, None]) is not None) == said
    few = Values(np.arange(8), TRUTH[:8])  # too few to rule out a gain by
    assert veto(problem, few, np.arange(8), (SCORES + 0.01 * RNG.normal(size=200))[:8, None]) is None


def test_comparisons_are_the_guards_own():
    pairs = Pairs([0, 1], [2, 3])
    problem = make_problem(SCORES, VIEWS, pairs)
    assert speaks_against(metric_for("pairwise", problem), problem, pairs, np.arange(4), np.zeros((4, 1))) is None
