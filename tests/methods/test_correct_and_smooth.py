import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.methods.dense import assert_order_free, fitted, laplacian, weight_matrix, with_gaps
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, VIEWS, class_problem, prepare
from tupi.inputs.labels import Values
from tupi.judging.metrics import RSquared, pairwise_accuracy
from tupi.methods.correct_and_smooth import CorrectAndSmooth, Setting
from tupi.methods.spreading import tuning_rows
from tupi.runtime.errors import InputError

GAPS = with_gaps(VIEWS)
SETTINGS = [Setting(0.9, 1.0, 0.0), Setting(0.99, 0.5, 0.5), Setting(0.5, 0.25, 0.9)]


def dense(W, f, rows, targets, setting):
    """Errors extended by solving for the unlabelled block, then the smoothing energy's normal equations."""
    D = np.diag(W.sum(axis=1))
    rest = np.setdiff1d(np.arange(len(f)), rows)
    errors = np.zeros_like(f)
    errors[rows] = targets - f[rows]
    Q = D - setting.alpha_correct * W
    errors[rest] = np.linalg.solve(Q[np.ix_(rest, rest)], -Q[np.ix_(rest, rows)] @ errors[rows])
    Z = f + setting.scale * errors
    if setting.alpha_smooth == 0:
        return Z
    Z[rows] = targets
    beta = setting.alpha_smooth
    return np.linalg.solve((1 - beta) * D + beta * laplacian(W), (1 - beta) * D @ Z)


@pytest.mark.parametrize("views", [VIEWS, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_equals_a_dense_solution(views, setting):
    W = weight_matrix(list(views.values()), 10)
    method = CorrectAndSmooth(**setting._asdict())
    new = fitted(method, KNOWN, views=views, task="regression")
    np.testing.assert_allclose(new, dense(W, SCORES, KNOWN.index, KNOWN.values, setting), atol=1e-6)
    b, a = np.polyfit(SCORES[KNOWN.index], KNOWN.values, 1)
    ranked = dense(W, a + b * SCORES, KNOWN.index, KNOWN.values, setting)
    columns = method.fit(prepare(KNOWN, views=views), KNOWN).columns[:, 0]
    np.testing.assert_allclose(columns, (ranked - ranked.mean()) / ranked.std(), atol=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_folds_predict_what_a_fit_to_their_labels_gives(setting, task):
    prepared = prepare(KNOWN, task=task)
    rows, some = tuning_rows(prepared), Values(KNOWN.index[:20], KNOWN.values[:20])
    predict = CorrectAndSmooth()._predictor(prepared, setting, rows)
    here = predict(Values(np.searchsorted(rows, some.index), some.values))
    b, a = np.polyfit(SCORES[some.index], some.values, 1) if task == "ranking" else (1.0, 0.0)
    expected = dense(weight_matrix(list(VIEWS.values()), 10), a + b * SCORES, some.index, some.values, setting)
    np.testing.assert_allclose(here, expected[rows], atol=1e-6)


@pytest.mark.parametrize("views", [VIEWS, GAPS], ids=["complete", "gaps"])
def test_improves_and_does_not_depend_on_order(views):
    new = fitted(CorrectAndSmooth(), KNOWN, views=views)
    assert pairwise_accuracy(new, JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.02
    assert_order_free(CorrectAndSmooth(**SETTINGS[1]._asdict()), KNOWN, views=views)


def test_regression_improves():
    new = fitted(CorrectAndSmooth(), KNOWN, task="regression")
    assert RSquared().score(new, JUDGING) > RSquared().score(SCORES, JUDGING) + 0.05


@given(scale=st.floats(0.01, 100), shift=st.floats(-100, 100))
def test_units_of_the_scores_do_not_matter_to_a_ranking(scale, shift):
    method = CorrectAndSmooth(**SETTINGS[1]._asdict())
    columns = [method.fit(prepare(KNOWN, s), KNOWN).columns for s in (SCORES, scale * SCORES + shift)]
    np.testing.assert_allclose(*columns, atol=1e-6)


def test_scores_that_rank_the_wrong_way_round_are_left_out():
    new = fitted(CorrectAndSmooth(alpha_correct=0.99, scale=1.0, alpha_smooth=0.0), KNOWN, -SCORES)
    assert pairwise_accuracy(new, JUDGING) > 0.6


@pytest.mark.parametrize("probabilities", [True, False])
def test_classes(probabilities):
    chances, views, truth = class_problem(300)
    scores = chances if probabilities else np.log(chances)
    labels = Values(np.arange(40), truth[:40])
    new = fitted(CorrectAndSmooth(), labels, scores, views, "classification")
    before, after = (np.mean(p[40:].argmax(axis=1) == truth[40:]) for p in (scores, new))
    assert after > before + 0.05
    if probabilities:
        np.testing.assert_allclose(new.sum(axis=1), 1)


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="labels: found none, and method 'correct-and-smooth'"):
        fitted(CorrectAndSmooth(), None)
    with pytest.raises(InputError, match="labels: found pairs, and method 'correct-and-smooth'"):
        fitted(CorrectAndSmooth(), COMPARED)
    for settings, message in (
        ({"alpha_correct": 1.0}, "alpha_correct: found 1.0"),
        ({"alpha_smooth": -0.1}, "alpha_smooth: found -0.1"),
        ({"scale": 0}, "scale: found 0"),
        ({"n_neighbors": None}, "n_neighbors: found None"),
    ):
        with pytest.raises(InputError, match=message):
            CorrectAndSmooth(**settings)
