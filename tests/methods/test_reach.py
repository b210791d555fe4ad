"""How far the paper's method goes without labels."""

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
from tupi.methods.reach import (
    DOUBTFUL_SHARE,
    FAINT,
    LEAST_WAY,
    NEARLY,
    NEIGHBORS,
    PAST,
    compared,
    lam_of,
    most_steps,
    moved,
    reach_of,
)
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
    seen = np.mean(alone) / (NEARLY * all_together)
    assert seen < 0.8
    assert LEAST_WAY < reach_of(prepared) == pytest.approx(joint * PAST * seen**2, rel=0.02)
    assert reach_of(prepared) < joint


def test_where_single_views_see_nearly_all_steps_go_past_the_error():
    _, scores, views = looks_at(1500, 0.5)
    prepared = Prepared(make_problem(scores, views))
    assert reach_of(prepared) == pytest.approx(PAST * reach_of(prepared, joint=True))


def test_steps_end_within_reach_and_improve():
    truth, scores, views = looks_at(600, 0.15)
    prepared = Prepared(make_problem(scores, views))
    limit = reach_of(prepared)
    fit = Tupi(lam=0.4).fit(prepared, None)
    t = fit.params["n_iter"]
    assert 0 < t < most_steps(0.4)
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


def found_by(monkeypatch, **known):
    """Let the jackknife find this, whatever the views say."""
    monkeypatch.setattr(reach, "signal_share", lambda *a: signal.SignalShare(**known))


def test_views_that_may_tell_of_something_else_lead_a_tenth_of_the_way(monkeypatch):
    _, scores, views = looks_at(600, 0.5)
    prepared = Prepared(make_problem(scores, views))
    found_by(monkeypatch, c=0.5, explained=0.8, kept=0.5, credible=False)
    monkeypatch.setattr(reach, "tells_of", lambda *a: False)
    assert reach_of(prepared, joint=True) == pytest.approx(0.1 * DOUBTFUL_SHARE)
    monkeypatch.setattr(reach, "tells_of", lambda *a: True)
    assert reach_of(prepared, joint=True) == pytest.approx(0.1)


@pytest.mark.parametrize(("told", "tells"), [(1.0, True), (0.2, False)])
def test_views_tell_of_what_they_explain_nearly_as_well_as_one_another(told, tells):
    truth, _, views = looks_at(600, 0.0)
    other = np.random.default_rng(1).normal(size=600)
    f = told * truth + (1 - told) * other
    f = ((f - f.mean()) / f.std())[:, None]
    r = float(explained(f, np.column_stack(list(views.values())), NEIGHBORS)[0])
    assert signal.tells_of(f, list(views.values()), NEIGHBORS, r) is tells
    assert not signal.tells_of(f, [next(iter(views.values()))[:, :1]], NEIGHBORS, r)  # one column: nothing to compare


def test_three_views_that_explain_half_of_f_may_move_it_by_a_hundredth(monkeypatch):
    _, scores, views = looks_at(200, 0.5)
    prepared = Prepared(make_problem(scores, views))
    for explained_share, least in ((0.6, LEAST_WAY), (0.4, 0.0)):
        found_by(monkeypatch, c=1.0, explained=explained_share, kept=1.0, credible=True)
        assert reach_of(prepared) == reach_of(prepared, joint=True) == least
    found_by(monkeypatch, c=1.0, explained=0.6, kept=1.0, coarse=True)
    assert reach_of(prepared) == 0.0  # nobody can tell


@pytest.mark.parametrize("n_views", [1, 2])
def test_columns_of_few_views_must_give_a_clear_sign(monkeypatch, n_views):
    _, scores, views = looks_at(200, 0.5, n_views)
    prepared = Prepared(make_problem(scores, views))
    for kept, expected in ((0.8, 0.2 * 0.3 - FAINT), (0.95, 0.0)):
        found_by(monkeypatch, c=kept, explained=0.7, kept=kept, credible=True)
        assert reach_of(prepared) == pytest.approx(expected)


def test_a_long_way_is_gone_by_larger_steps_and_no_way_beyond_its_end():
    assert (lam_of(0.05), lam_of(0.2)) == (0.1, 0.3)
    assert (most_steps(0.1), most_steps(0.3), most_steps(100.0), most_steps(1e-6)) == (75, 25, 1, 75)
    _, scores, views = looks_at(300, 0.7)
    chosen = Tupi().fit(Prepared(make_problem(scores, views)), None).params
    assert chosen["lam"] == 0.3
    assert 0 < chosen["n_iter"] <= 25
    _, scores, views = looks_at(300, 0.05)
    assert Tupi().fit(Prepared(make_problem(scores, views)), None).params["lam"] == 0.1


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
