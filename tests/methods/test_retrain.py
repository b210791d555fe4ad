import importlib.util

import numpy as np
import pytest

from tests.methods.rows import (
    COMPARED,
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
from tupi.methods.retrain import Retrain
from tupi.methods.supervised import rank_svm_path
from tupi.rankers import RankNet
from tupi.runtime.errors import InputError

SVM = Retrain(ranker="svm")


def dense_rank_svm(X, higher, lower, C):
    """Return the minimum of the rank SVM's objective, by solving for one set of active pairs after the other."""
    difference = X[higher] - X[lower]
    w = np.zeros(X.shape[1])
    for _ in range(200):
        active = difference[difference @ w < 1]
        factor = 2 * C / len(difference)
        w = np.linalg.solve(np.eye(len(w)) + factor * active.T @ active, factor * active.sum(axis=0))
    return w


def test_the_path_of_the_rank_svm_reaches_each_minimum():
    X, Cs = stacked(), [0.1, 1.0, 10.0]
    y = KNOWN.values
    i, j = np.nonzero(y[:, None] > y)
    values = rank_svm_path(X, KNOWN, Cs)
    pairs = rank_svm_path(X, Pairs(LABELLED[i], LABELLED[j]), Cs)
    for C, from_values, from_pairs in zip(Cs, values, pairs, strict=True):
        expected = dense_rank_svm(X, LABELLED[i], LABELLED[j], C)
        np.testing.assert_allclose(from_values, expected, atol=1e-6)
        np.testing.assert_allclose(from_pairs, expected, atol=1e-6)


def test_fixed_setting_equals_the_dense_solution():
    H, y = stacked(), KNOWN.values
    i, j = np.nonzero(y[:, None] > y)
    expected = standard(H @ dense_rank_svm(H, LABELLED[i], LABELLED[j], 2.0)) * SCORES.std() + SCORES.mean()
    np.testing.assert_allclose(predict(Retrain(ranker="svm", C=2.0)), expected, atol=1e-6)


def test_the_initial_predictions_are_not_used():
    found = predict(SVM)
    other = predict(SVM, scores=np.random.default_rng(0).normal(size=120))
    np.testing.assert_allclose(standard(other), standard(found), atol=1e-9)


def test_learns_from_values_and_from_pairs():
    assert pairwise_accuracy(predict(SVM), JUDGING) > 0.85
    assert pairwise_accuracy(predict(SVM, labels=COMPARED), JUDGING) > 0.8


def test_values_come_in_the_units_of_the_labels():
    found = predict(SVM, task="regression")
    residual = found[JUDGING.index] - JUDGING.values
    assert 1 - np.mean(residual**2) / np.var(JUDGING.values) > 0.6
    other = predict(SVM, task="regression", labels=Values(LABELLED, 50 * TRUTH[LABELLED] + 9))
    np.testing.assert_allclose(other, 50 * found + 9, rtol=1e-6)


def test_a_ranker_that_learned_nothing_predicts_the_mean():
    """Views without a relation to the labels get slope zero where folds say that scores point the wrong way."""
    rng = np.random.default_rng(4)
    spreads = []
    for _ in range(6):
        views = {"junk": rng.normal(size=(120, 3))}
        found = predict(SVM, task="regression", views=views)
        spreads.append(found.std())
        assert np.abs(found - TRUTH[LABELLED].mean()).max() < 3 * TRUTH.std()
    assert min(spreads) < 1e-12


def test_classes():
    chances, views, truth = class_problem()
    known, unseen = np.flatnonzero(np.arange(150) < 60), np.arange(60, 150)
    found = predict(SVM, labels=Values(known, truth[known]), scores=chances, views=views, task="classification")
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.mean(found[unseen].argmax(axis=1) == truth[unseen]) > 0.8


def test_the_network_is_taken_where_it_validates_better():
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    labels, views = Values(np.arange(200), np.abs(x[:200, 0])), {"bent": x}
    prepared = prepare(labels=labels, scores=rng.normal(size=400), views=views)
    fit = Retrain(shapes=((2, 20),)).fit(prepared, labels)
    assert fit.params["ranker"] == "network"
    assert fit.notes[0].startswith("The rank network ranked held-out labels best")
    assert np.isnan(fit.steps[-1].weights).all()
    assert pairwise_accuracy(fit.columns[200:, 0], np.abs(x[200:, 0])) > 0.85
    again = Retrain(shapes=((2, 20),)).fit(prepared, labels)
    np.testing.assert_array_equal(again.columns, fit.columns)


def test_the_paper_s_network_can_be_asked_for(monkeypatch):
    """The search itself is tested with the rankers; here it is that this method asks for it, with its seed."""
    pytest.importorskip("torch")
    asked = []
    small = RankNet(shapes=((2, 5),), max_epochs=1)
    monkeypatch.setattr("tupi.rankers.paper_network", lambda seed: asked.append(seed) or small)
    Retrain(ranker="network", network="paper").fit(prepare(), KNOWN)
    assert asked == [0] * len(asked) != []
    with pytest.raises(InputError, match="network: found 'large'; accepted: small, paper"):
        Retrain(network="large")


def test_without_torch_the_rank_svm_is_taken(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert Retrain().fit(prepare(), KNOWN).params["ranker"] == "svm"


def test_too_few_labels_for_a_network():
    pytest.importorskip("torch")
    few = Values(LABELLED[:3], TRUTH[LABELLED[:3]])
    fit = Retrain().fit(prepare(labels=few), few)
    assert fit.params["ranker"] == "svm"
    assert np.isfinite(fit.columns).all()


def test_bad_settings():
    with pytest.raises(InputError, match=r"ranker: found 'tree'; accepted: svm, network, or None"):
        Retrain(ranker="tree")
    with pytest.raises(InputError, match="C: found 0"):
        Retrain(C=0)


def test_needs_labels():
    with pytest.raises(InputError, match=r"method 'retrain' is fitted to labels"):
        SVM.fit(prepare(labels=None, views=VIEWS), None)
