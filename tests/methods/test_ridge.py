import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tests.methods.rows import (
    JUDGING,
    KNOWN,
    LABELLED,
    SCORES,
    TRUTH,
    VIEWS,
    class_problem,
    predict,
    prepare,
    stacked,
    standard,
)
from tupi.inputs.labels import Pairs, Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.ridge import F_WIDTH, Ridge, RidgePath
from tupi.runtime.errors import InputError


def some_rows(m, d, seed=0):
    rng = np.random.default_rng(seed)
    f, H = rng.normal(size=m), rng.normal(size=(m, d))
    return f, H, f + H[:, 0] + 0.1 * rng.normal(size=m)


def normal_equations(f, H, y, alpha):
    X = np.column_stack([np.ones(len(f)), f, H])
    penalty = np.diag([0.0, 0.0] + [alpha] * H.shape[1])
    return np.linalg.solve(X.T @ X + penalty, X.T @ y)


@pytest.mark.parametrize(("m", "d"), [(30, 5), (12, 40)])
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 1e3])
def test_normal_equations(m, d, alpha):
    f, H, y = some_rows(m, d)
    a, b, w = RidgePath(f, H, y).solve(alpha)
    np.testing.assert_allclose([a, b, *w], normal_equations(f, H, y, alpha), atol=1e-9)


@pytest.mark.parametrize(("m", "d"), [(30, 5), (12, 40)])
def test_leave_one_out_is_what_refitting_gives(m, d):
    f, H, y = some_rows(m, d)
    errors = []
    for k in range(m):
        rest = np.arange(m) != k
        solution = normal_equations(f[rest], H[rest], y[rest], 0.7)
        errors.append(y[k] - np.array([1, f[k], *H[k]]) @ solution)
    assert RidgePath(f, H, y).leave_one_out(0.7) == pytest.approx(np.mean(np.square(errors)), rel=1e-9)


def test_predictions_of_all_items_equal_the_dense_solution():
    f, H, y = standard(SCORES), stacked(), TRUTH[LABELLED]
    expected = np.column_stack([np.ones(120), f, H]) @ normal_equations(f[LABELLED], H[LABELLED], y, 0.3)
    np.testing.assert_allclose(predict(Ridge(alpha=0.3), task="regression"), expected, atol=1e-6)
    ranking = standard(expected) * SCORES.std() + SCORES.mean()
    np.testing.assert_allclose(predict(Ridge(alpha=0.3)), ranking, atol=1e-6)


def test_pairs_reach_the_minimum_of_the_rank_svm():
    """The minimum, found by solving for one set of active pairs after the other."""
    order = LABELLED[np.argsort(TRUTH[LABELLED])]
    pairs = Pairs(order[5:], order[:-5])
    X = np.column_stack([F_WIDTH * standard(SCORES), stacked()])
    difference, C = X[pairs.higher] - X[pairs.lower], 1 / 0.05
    w = np.zeros(X.shape[1])
    for _ in range(100):
        active = difference[difference @ w < 1]
        factor = 2 * C / len(difference)
        w = np.linalg.solve(np.eye(len(w)) + factor * active.T @ active, factor * active.sum(axis=0))
    expected = standard(X @ w) * SCORES.std() + SCORES.mean()
    np.testing.assert_allclose(predict(Ridge(alpha=0.05), labels=pairs), expected, atol=1e-6)


def test_a_large_penalty_keeps_the_ranking():
    found = predict(Ridge(alpha=1e12))
    np.testing.assert_allclose(found, SCORES, atol=1e-6)


def test_a_useful_view_helps():
    assert pairwise_accuracy(predict(Ridge()), JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.05


def test_a_useful_view_helps_with_pairs():
    truth, scores, views = make_problem_arrays(600)
    first, second, unseen = np.split(np.random.default_rng(0).permutation(600), [100, 200])
    pairs = Pairs(*np.where(truth[first] > truth[second], [first, second], [second, first]))
    found, judging = predict(Ridge(), labels=pairs, scores=scores, views=views), Values(unseen, truth[unseen])
    assert pairwise_accuracy(found, judging) > pairwise_accuracy(scores, judging) + 0.05


def test_labels_in_other_units_give_values_in_those_units():
    found = predict(Ridge(), task="regression")
    other = predict(Ridge(), task="regression", labels=Values(LABELLED, 1e6 * TRUTH[LABELLED] - 7))
    np.testing.assert_allclose(other, 1e6 * found - 7, rtol=1e-6)


def test_predictions_in_other_units_change_nothing():
    found, other = predict(Ridge(), task="regression"), predict(Ridge(), task="regression", scores=4 - 100 * SCORES)
    np.testing.assert_allclose(other, found, atol=1e-8)


def test_constant_predictions_of_labelled_items():
    scores = SCORES.copy()
    scores[LABELLED] = 0.5
    assert np.isfinite(predict(Ridge(), scores=scores, task="regression")).all()


def test_classes():
    chances, views, truth = class_problem()
    known, unseen = np.arange(40), np.arange(40, 150)
    found = predict(Ridge(), labels=Values(known, truth[known]), scores=chances, views=views, task="classification")
    np.testing.assert_allclose(found.sum(axis=1), 1)
    before, after = (np.mean(p[unseen].argmax(axis=1) == truth[unseen]) for p in (chances, found))
    assert after > before + 0.1


def test_items_without_a_view_get_its_mean_and_items_without_any_stay():
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["near"][:10] = np.nan
    for view in views.values():
        view[5] = np.nan
    found = predict(Ridge(alpha=0.3), views=views, task="regression")
    assert found[5] == SCORES[5]
    there = np.arange(120) != 5
    f = (SCORES - SCORES[there].mean()) / SCORES[there].std()
    blocks = []
    for view in views.values():
        block = (view - np.nanmean(view, axis=0)) / np.nanstd(view, axis=0)
        blocks.append(np.nan_to_num(block) / np.sqrt(view.shape[1] * 3))
    H, rows = np.hstack(blocks), np.setdiff1d(LABELLED, [5])
    expected = np.column_stack([np.ones(120), f, H]) @ normal_equations(f[rows], H[rows], TRUTH[rows], 0.3)
    np.testing.assert_allclose(found[there], expected[there], atol=1e-6)


def test_weights_say_which_view_counts():
    prepared = prepare()
    fit = Ridge().fit(prepared, KNOWN)
    weights = dict(zip(prepared.problem.names, fit.steps[-1].weights, strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["near"] > weights["junk"]
    assert len(fit.steps) == 2
    assert fit.params["alpha"] > 0


def test_the_callback_sees_both_steps():
    seen = []
    Ridge().fit(prepare(), KNOWN, seen.append)
    assert [step.t for step in seen] == [0, 1]


def test_needs_labels():
    with pytest.raises(InputError, match=r"labels: found none, and method 'ridge' is fitted to labels"):
        Ridge().fit(prepare(labels=None), None)


def test_needs_labelled_items_with_features():
    views = {"near": VIEWS["near"].copy()}
    views["near"][LABELLED] = np.nan
    with pytest.raises(InputError, match="labelled items that have features"):
        predict(Ridge(), views=views)


@pytest.mark.parametrize("alpha", [0, -1, "a", np.nan])
def test_bad_penalty(alpha):
    with pytest.raises(InputError, match="alpha: found"):
        Ridge(alpha=alpha)
