"""How far the paper's method goes without labels."""

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.reach import FARTHEST, SHARE, moved, reach_of
from tupi.methods.tupi import Tupi


def looks_at(n, error, n_views=6, seed=0):
    """Return predictions with an error of so much deviation, and independent looks at the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    views = {f"look {k}": truth[:, None] + 0.5 * rng.normal(size=(n, 2)) for k in range(n_views)}
    return truth, truth + error * rng.normal(size=n), views


def test_moved_is_one_minus_the_squared_correlation():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 80, 3))
    a, b = ((x - x.mean(axis=0)) / x.std(axis=0) for x in (a, b))
    a[:, 2] = 0.0  # a class that is never predicted
    expected = np.mean([1 - np.corrcoef(a[:, c], b[:, c])[0, 1] ** 2 for c in (0, 1)])
    assert moved(a, b) == pytest.approx(expected)
    assert moved(a, a) == pytest.approx(0.0, abs=1e-12)
    assert moved(np.zeros((5, 1)), np.zeros((5, 1))) == 0.0


@pytest.mark.parametrize("error", [0.2, 0.4, 0.6])
def test_views_tell_how_much_of_the_predictions_is_error(error):
    _, scores, views = looks_at(1500, error)
    share = error**2 / (1 + error**2)
    assert reach_of(Prepared(make_problem(scores, views))) == pytest.approx(SHARE * share, abs=0.08)


def test_steps_end_within_reach_and_improve():
    truth, scores, views = looks_at(600, 0.7)
    prepared = Prepared(make_problem(scores, views))
    reach = reach_of(prepared)
    fit = Tupi(lam=0.4).fit(prepared, None)
    t = fit.params["n_iter"]
    assert 0 < t < FARTHEST
    assert moved(prepared.f, fit.columns) <= reach
    further = Tupi(lam=0.4, sigma_w2=fit.params["sigma_w2"], n_iter=t + 1).fit(prepared, None)
    assert moved(prepared.f, further.columns) > reach
    assert tupi.pairwise_accuracy(truth, fit.columns[:, 0]) > tupi.pairwise_accuracy(truth, scores)
    again = Tupi(lam=0.4).fit(prepared, None)  # with all steps known already
    assert again.params["n_iter"] == t


def test_without_a_second_look_nothing_is_taken_for_error():
    rng = np.random.default_rng(0)
    scores, view = rng.normal(size=(2, 200))
    result = tupi.denoise(scores, {"one": view}, method="tupi")
    assert not result.changed
    assert "no reason to take any part of the predictions for error" in " ".join(result.notes)


def test_a_watcher_ends_the_steps_and_sees_each():
    _, scores, views = make_problem_arrays(200)
    seen = []
    result = tupi.denoise(
        scores, views, method="tupi", lam=0.01, callback=lambda step: seen.append(step.t) or step.t == 2
    )
    assert seen == [0, 1, 2]
    assert result.params["n_iter"] <= 2
