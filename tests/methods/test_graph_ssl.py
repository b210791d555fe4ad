import numpy as np
import pytest

from tests.methods.dense import assert_order_free, fitted, weight_matrix, with_gaps
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, TRUTH, VIEWS, class_problem, prepare
from tupi.inputs.labels import Pairs, Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods import spreading
from tupi.methods.graph_ssl import GraphSSL, _predictor
from tupi.methods.spreading import tuning_rows
from tupi.runtime.errors import InputError

GAPS = with_gaps(VIEWS)


def dense_values(views, labels, alpha, k):
    """(1 - alpha) (I - alpha S)^-1 Y for values and for the indicator, and their ratio."""
    W = weight_matrix(list(views.values()), k)
    root = 1 / np.sqrt(W.sum(axis=1))
    spread = (1 - alpha) * np.linalg.inv(np.eye(len(W)) - alpha * root[:, None] * W * root)
    y, one = np.zeros(len(W)), np.zeros(len(W))
    y[labels.index], one[labels.index] = labels.values, 1.0
    return (spread @ y) / (spread @ one)


def dense_pairs(views, labels, alpha, k):
    """The normal equations of the documented energy."""
    W = weight_matrix(list(views.values()), k)
    D = np.diag(W.sum(axis=1))
    B = np.zeros((len(labels.higher), len(W)))
    for row, (high, low) in enumerate(zip(labels.higher, labels.lower, strict=True)):
        B[row, high], B[row, low] = 1.0, -1.0
    return np.linalg.solve(B.T @ B + 0.1 / np.diag(D).mean() * (D - alpha * W), B.T @ np.ones(len(B)))


@pytest.mark.parametrize("views", [VIEWS, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize(("alpha", "k"), [(0.5, 20), (0.9, 5), (0.99, 10)])
def test_equals_a_dense_solution(views, alpha, k):
    method = GraphSSL(alpha=alpha, n_neighbors=k)
    expected = dense_values(views, KNOWN, alpha, k)
    np.testing.assert_allclose(fitted(method, KNOWN, views=views, task="regression"), expected, atol=1e-6)
    columns = method.fit(prepare(KNOWN, views=views), KNOWN).columns[:, 0]
    np.testing.assert_allclose(columns, (expected - expected.mean()) / expected.std(), atol=1e-6)


@pytest.mark.parametrize("views", [VIEWS, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize(("alpha", "k"), [(0.5, 20), (0.9, 5), (0.99, 10)])
def test_pairs_equal_a_dense_solution(views, alpha, k):
    columns = GraphSSL(alpha=alpha, n_neighbors=k).fit(prepare(COMPARED, views=views), COMPARED).columns[:, 0]
    expected = dense_pairs(views, COMPARED, alpha, k)
    np.testing.assert_allclose(columns, (expected - expected.mean()) / expected.std(), atol=1e-6)


@pytest.mark.parametrize("labels", [KNOWN, COMPARED], ids=["values", "pairs"])
def test_folds_predict_what_a_fit_to_their_labels_gives(labels):
    """The small dense problems of cross-validation are the large sparse one, seen at the labelled items."""
    prepared = prepare(labels)
    rows = tuning_rows(prepared)
    predict = _predictor(prepared, 10, 0.9, rows)
    if isinstance(labels, Values):
        here = Values(np.searchsorted(rows, labels.index[:20]), labels.values[:20])
        expected = dense_values(VIEWS, Values(labels.index[:20], labels.values[:20]), 0.9, 10)
    else:
        some = Pairs(labels.higher[:20], labels.lower[:20])
        here = Pairs(np.searchsorted(rows, some.higher), np.searchsorted(rows, some.lower))
        expected = dense_pairs(VIEWS, some, 0.9, 10)
    np.testing.assert_allclose(predict(here), expected[rows], atol=1e-6)


@pytest.mark.parametrize("labels", [KNOWN, COMPARED], ids=["values", "pairs"])
@pytest.mark.parametrize("views", [VIEWS, GAPS], ids=["complete", "gaps"])
def test_learns_from_labels_and_does_not_depend_on_order(labels, views):
    assert pairwise_accuracy(fitted(GraphSSL(), labels, views=views), JUDGING) > 0.7
    assert_order_free(GraphSSL(alpha=0.9, n_neighbors=10), labels, views=views)


def test_order_matters_to_the_choice_only_through_the_folds():
    np.testing.assert_array_equal(fitted(GraphSSL(), KNOWN), fitted(GraphSSL(), KNOWN))


def test_initial_predictions_are_not_used():
    noise = np.random.default_rng(0).normal(size=120)
    np.testing.assert_allclose(
        fitted(GraphSSL(), KNOWN, task="regression"), fitted(GraphSSL(), KNOWN, noise, task="regression"), atol=1e-9
    )


def test_values_come_back_in_the_units_of_the_labels():
    new = fitted(GraphSSL(), Values(KNOWN.index, 50 + 7 * KNOWN.values), task="regression")
    np.testing.assert_allclose(new, 50 + 7 * fitted(GraphSSL(), KNOWN, task="regression"), atol=1e-6)


def test_items_that_no_label_reaches_get_the_labels_mean():
    left, right = np.random.default_rng(0).normal(size=(2, 60, 2))
    left[:20], right[20:] = np.nan, np.nan  # two parts that share no view
    labels = Values(np.arange(30, 40), TRUTH[30:40])
    new = fitted(GraphSSL(alpha=0.9), labels, SCORES[:60], {"left": left, "right": right}, "regression")
    np.testing.assert_allclose(new[:20], TRUTH[30:40].mean())
    assert np.std(new[20:]) > 0.01


def test_classes():
    chances, views, truth = class_problem(300)
    labels = Values(np.arange(40), truth[:40])
    new = fitted(GraphSSL(), labels, chances, views, "classification")
    np.testing.assert_allclose(new.sum(axis=1), 1)
    assert np.mean(new[40:].argmax(axis=1) == truth[40:]) > 0.8
    alone = fitted(GraphSSL(alpha=0.9, n_neighbors=10), labels, chances, views, "classification")
    W = weight_matrix(list(views.values()), 10)
    root = 1 / np.sqrt(W.sum(axis=1))
    spread = np.linalg.inv(np.eye(300) - 0.9 * root[:, None] * W * root)[:, :40] @ np.eye(3)[truth[:40]]
    np.testing.assert_allclose(alone, spread / spread.sum(axis=1, keepdims=True), atol=1e-5)


def test_settings_are_chosen_by_some_of_many_labels(monkeypatch):
    monkeypatch.setattr(spreading, "TUNING_LABELS", 12)
    for labels in (KNOWN, COMPARED):
        prepared = prepare(labels)
        rows = tuning_rows(prepared)
        assert len(rows) == 12
        assert pairwise_accuracy(fitted(GraphSSL(), labels), JUDGING) > 0.7


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match="labels: found none, and method 'graph-ssl'"):
        fitted(GraphSSL(), None)
    with pytest.raises(InputError, match="alpha: found 1"):
        GraphSSL(alpha=1.0)
    with pytest.raises(InputError, match="n_neighbors: found 0"):
        GraphSSL(n_neighbors=0)
    views = {name: np.array(view) for name, view in VIEWS.items()}
    for view in views.values():
        view[KNOWN.index] = np.nan
    with pytest.raises(InputError, match="labelled items that have features"):
        fitted(GraphSSL(), KNOWN, views=views)
