import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from tests.methods.dense import assert_order_free, fitted, laplacian, weight_matrix, with_gaps
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, TRUTH, VIEWS, class_problem, prepare
from tupi.embedding.joint_graph import graph
from tupi.inputs.labels import Values
from tupi.judging.metrics import RSquared, pairwise_accuracy
from tupi.methods.coconut import Coconut, coclassify
from tupi.runtime.errors import InputError


@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
@pytest.mark.parametrize(("lam", "k"), [(0.1, 5), (10.0, 10), (1000.0, 20)])
def test_equals_a_dense_solution(views, lam, k):
    prepared = prepare(None, views=views)
    columns = Coconut(lam=lam, n_neighbors=k).fit(prepared, None).columns
    L = laplacian(weight_matrix(list(views.values()), k))
    np.testing.assert_allclose(columns, np.linalg.solve(np.eye(120) + lam / k * L, prepared.f), atol=1e-6)


def energy(edges, F, U, strength):
    """Return E(U)."""
    return float(-np.sum(U * F) + strength * np.sum(U * edges.laplacian_times(U)))


def test_sweep_gives_what_single_settings_give():
    prepared = prepare(None)
    setting = Coconut(n_neighbors=10)
    for lam, columns in zip((0.1, 3.0, 100.0), setting.solutions(prepared, (0.1, 3.0, 100.0)), strict=True):
        alone = Coconut(lam=lam, n_neighbors=10).fit(prepare(None), None).columns
        np.testing.assert_allclose(columns, alone, atol=1e-8)


@pytest.mark.parametrize("labels", [KNOWN, COMPARED, None], ids=["values", "pairs", "none"])
@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
def test_improves_and_does_not_depend_on_order(labels, views):
    new = fitted(Coconut(), labels, views=views)
    assert pairwise_accuracy(new, JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.02
    assert_order_free(Coconut(), labels, views=views)


def test_labels_choose_the_setting_that_scores_best():
    prepared = prepare(KNOWN)
    fit = Coconut().fit(prepared, prepared.problem.labels)
    grid = [
        pairwise_accuracy(Coconut(lam=lam, n_neighbors=k).fit(prepared, None).columns[:, 0], prepared.problem.labels)
        for lam in (0.1, 1.0, 10.0, 100.0)
        for k in (5, 10, 20)
    ]
    assert fit.scores[-1] >= max(grid)
    assert fit.scores[-1] == pytest.approx(pairwise_accuracy(fit.columns[:, 0], prepared.problem.labels))
    assert [step.t for step in fit.steps] == [0, 1]
    again = Coconut(**fit.params).fit(prepare(None), None)
    np.testing.assert_allclose(again.columns, fit.columns, atol=1e-8)
    assert "scored best of 27 settings" in fit.notes[0]


def test_useless_views_leave_the_predictions_alone():
    labels = Values(np.arange(120), SCORES)  # the initial predictions are the truth: nothing can be better
    prepared = prepare(labels)
    fit = Coconut().fit(prepared, prepared.problem.labels)
    np.testing.assert_array_equal(fit.columns, prepared.f)
    assert fit.params["lam"] == 0.0


def test_each_setting_is_solved_once_for_all_folds(monkeypatch):
    calls = []
    solutions = Coconut.solutions
    monkeypatch.setattr(Coconut, "solutions", lambda self, *args: calls.append(self) or solutions(self, *args))
    prepared = prepare(KNOWN)
    Coconut().fit(prepared, prepared.problem.labels)
    Coconut().fit(prepared, Values(KNOWN.index[:20], KNOWN.values[:20]))
    assert len(calls) == 3


@given(scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_follows_the_units_of_the_scores(scale, shift):
    method = Coconut(lam=3.0, n_neighbors=5)
    for task in ("ranking", "regression"):
        moved = fitted(method, None, scale * SCORES + shift, task=task)
        expected = scale * fitted(method, None, task=task) + shift
        np.testing.assert_allclose(moved, expected, atol=1e-6 * (1 + scale + abs(shift)))


def test_regression_returns_the_smoothed_values_themselves():
    new = fitted(Coconut(lam=5.0, n_neighbors=10), None, task="regression")
    L = laplacian(weight_matrix(list(VIEWS.values()), 10))
    np.testing.assert_allclose(new, np.linalg.solve(np.eye(120) + 0.5 * L, SCORES), atol=1e-6)
    tuned = fitted(Coconut(), KNOWN, task="regression")
    assert RSquared().score(tuned, JUDGING) > RSquared().score(SCORES, JUDGING)


def test_items_without_views_keep_their_score():
    views = {name: np.array(view) for name, view in VIEWS.items()}
    for view in views.values():
        view[[3, 70]] = np.nan
    new = fitted(Coconut(), KNOWN, views=views)
    np.testing.assert_array_equal(new[[3, 70]], SCORES[[3, 70]])
    assert pairwise_accuracy(new, TRUTH) > pairwise_accuracy(SCORES, TRUTH)


def test_a_watcher_may_stop():
    prepared = prepare(None)
    fit = Coconut().fit(prepared, None, watch=lambda step: True)
    np.testing.assert_array_equal(fit.columns, prepared.f)
    assert fit.params["lam"] == 0.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"lam": 0}, "lam: found 0"), ({"lam": "a"}, "lam: found 'a'"), ({"n_neighbors": 1.5}, "n_neighbors: found 1.5")],
)
def test_bad_settings_get_a_sentence(settings, message):
    with pytest.raises(InputError, match=message):
        Coconut(**settings)


# Co-classification


def small_classes(n=14, c=3):
    chances, views, truth = class_problem(n)
    return graph(prepare(None, chances, views, "classification"), 4), np.log(chances), truth


@pytest.mark.parametrize("strength", [0.01, 0.1, 1.0])
def test_relaxation_is_solved_as_by_a_general_solver(strength):
    edges, F, _ = small_classes()
    F = (F - F.mean(axis=1, keepdims=True)) / np.sqrt(np.mean((F - F.mean(axis=1, keepdims=True)) ** 2))
    n, c = F.shape
    L = laplacian(edges.weights.toarray())
    general = minimize(
        lambda u: -u @ F.ravel() + strength * np.sum(u.reshape(n, c) * (L @ u.reshape(n, c))),
        np.full(n * c, 1 / c),
        jac=lambda u: -F.ravel() + 2 * strength * (L @ u.reshape(n, c)).ravel(),
        bounds=[(0, 1)] * (n * c),
        constraints={
            "type": "eq",
            "fun": lambda u: u.reshape(n, c).sum(axis=1) - 1,
            "jac": lambda u: np.kron(np.eye(n), np.ones(c)),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    (U,) = coclassify(edges, F, [strength], tol=1e-12)
    assert energy(edges, F, U, strength) == pytest.approx(general.fun, abs=1e-6)
    np.testing.assert_allclose(U, general.x.reshape(n, c), atol=1e-4)
    np.testing.assert_allclose(U.sum(axis=1), 1)
    assert (U >= 0).all()


@given(seed=st.integers(0, 1000))
def test_on_whole_classes_the_energy_is_the_original_one(seed):
    edges, F, _ = small_classes()
    classes = np.random.default_rng(seed).integers(0, 3, len(F))
    W = edges.weights.toarray()
    original = -F[np.arange(len(F)), classes].sum() + 0.2 * np.sum(W * (classes[:, None] != classes[None, :]))
    # W holds each directed weight half in both directions, so that their sum over all pairs is the original's
    assert energy(edges, F, np.eye(3)[classes], 0.2) == pytest.approx(original)


@pytest.mark.parametrize("probabilities", [True, False])
def test_classes_improve_and_come_back_in_their_scale(probabilities):
    chances, views, truth = class_problem(300)
    scores = chances if probabilities else 10 * np.log(chances) + 4
    labels = Values(np.arange(40), truth[:40])
    for given_labels in (labels, None):
        new = fitted(Coconut(), given_labels, scores, views, "classification")
        before, after = (np.mean(p[40:].argmax(axis=1) == truth[40:]) for p in (scores, new))
        assert after > before + 0.02
        if probabilities:
            np.testing.assert_allclose(new.sum(axis=1), 1)
        else:
            assert new.mean() == pytest.approx(scores.mean(), rel=0.05)
    assert_order_free(Coconut(lam=2.0, n_neighbors=5), None, scores, views, "classification")
