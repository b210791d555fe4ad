"""How far the paper's method goes without labels."""

import dataclasses

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import normal_quantiles
from tupi.inputs.problem import make_problem
from tupi.methods import reach
from tupi.methods.auto import signal
from tupi.methods.auto.signal import explained
from tupi.methods.reach import DOUBTFUL_SHARE, FARTHEST, NEIGHBORS, compared, moved, reach_of
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
    assert reach_of(Prepared(make_problem(scores, views)), joint=True) == pytest.approx(share, abs=0.08)


def test_single_views_lead_as_far_as_they_see():
    """Of two halves of the truth each view sees one; all views together see both."""
    rng = np.random.default_rng(0)
    halves = rng.normal(size=(1500, 2))
    scores = halves.sum(axis=1) + 0.6 * rng.normal(size=1500)
    views = {f"look {k}": halves[:, [k % 2]] + 0.2 * rng.normal(size=(1500, 1)) for k in range(6)}
    prepared = Prepared(make_problem(scores, views))
    f = compared(prepared, prepared.f)
    joint = reach_of(prepared, joint=True)
    columns = np.column_stack(list(views.values()))
    all_together, *alone = (float(explained(f, X, NEIGHBORS)[0]) for X in (columns, *views.values()))
    assert 0 < reach_of(prepared) == pytest.approx(joint * np.mean(alone) / all_together, rel=0.02)
    assert reach_of(prepared) < 0.7 * joint


def test_steps_end_within_reach_and_improve():
    truth, scores, views = looks_at(600, 0.7)
    prepared = Prepared(make_problem(scores, views))
    limit = reach_of(prepared)
    fit = Tupi(lam=0.4).fit(prepared, None)
    t = fit.params["n_iter"]
    assert 0 < t < FARTHEST
    went, further = (
        Tupi(lam=0.4, sigma_w2=fit.params["sigma_w2"], n_iter=steps).fit(prepared, None) for steps in (t, t + 1)
    )
    initial = compared(prepared, prepared.f)
    assert (
        moved(initial, compared(prepared, went.columns)) <= limit < moved(initial, compared(prepared, further.columns))
    )
    np.testing.assert_array_equal(fit.columns, went.columns)
    assert tupi.pairwise_accuracy(truth, fit.columns[:, 0]) > tupi.pairwise_accuracy(truth, scores)
    again = Tupi(lam=0.4).fit(prepared, None)  # with all steps known already
    assert again.params["n_iter"] == t


def test_normal_quantiles_keep_the_order_and_have_no_outliers():
    scores = np.array([0.1, 500.0, 0.2, 0.2, -3.0])
    found = normal_quantiles(scores)
    assert found[1] == pytest.approx(-found[4]) == found.max() < 2
    assert found[2] == found[3] > found[0] > found[4]


def test_of_rankings_the_order_alone_says_how_far():
    """An item at a thousand deviations would otherwise be all that correlations see."""
    _, scores, views = looks_at(600, 0.5)
    far = scores.copy()
    far[scores.argmax()] = 1000.0  # the same order
    reaches = [reach_of(Prepared(make_problem(one, views))) for one in (scores, far)]
    assert reaches[0] == pytest.approx(reaches[1])
    values = [Prepared(make_problem(one, views, task="regression")) for one in (scores, far)]
    assert reach_of(values[0]) != pytest.approx(reach_of(values[1]))
    np.testing.assert_array_equal(compared(values[0], values[0].f), values[0].f)


def test_where_the_sign_is_in_doubt_a_tenth_of_the_way_is_gone(monkeypatch):
    _, scores, views = looks_at(600, 0.5)
    prepared = Prepared(make_problem(scores, views))
    sure = reach_of(prepared)
    found = signal.signal_share
    monkeypatch.setattr(reach, "signal_share", lambda *a: dataclasses.replace(found(*a), credible=False))
    assert reach_of(prepared) == pytest.approx(sure * DOUBTFUL_SHARE)


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
