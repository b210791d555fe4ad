"""The rank SVM against scipy's minimum of the objective as it is written."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from tupi.judging.metrics import pairwise_accuracy
from tupi.rankers import RankSVM, RankSVMCV
from tupi.rankers.rank_loss import ValueLoss
from tupi.rankers.rank_svm import minimise
from tupi.runtime.errors import InputError


def items(seed=0, n=40, d=6, levels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.logspace(-2, 2, d) + np.arange(d)
    y = (X / np.logspace(-2, 2, d)) @ rng.normal(size=d) + rng.normal(size=n)
    return X, y if levels is None else np.digitize(y, np.quantile(y, np.linspace(0, 1, levels + 1)[1:-1]))


def all_pairs(y):
    return np.nonzero(np.subtract.outer(y, y) > 0)


def naive_objective(w, X, y, C):
    """1/2 ||w||^2 + C * mean over pairs of label e:rankloss, on standardised columns, one pair at a time."""
    Z = (X - X.mean(0)) / X.std(0)
    losses = [max(0, 1 - (Z[i] - Z[j]) @ w) ** 2 for i in range(len(y)) for j in range(len(y)) if y[i] > y[j]]
    return w @ w / 2 + C * np.mean(losses)


@parametrize_with_checks([RankSVM(), RankSVMCV(C_grid=(0.1, 1.0), cv=3)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_reaches_the_minimum_that_scipy_finds_on_the_naive_objective(levels, C):
    X, y = items(n=25, d=4, levels=levels)
    model = RankSVM(C=C, tol=1e-12).fit(X, y)
    w = model.coef_ * X.std(0)
    assert model.objective_ == pytest.approx(naive_objective(w, X, y, C), rel=1e-10)
    found = minimize(naive_objective, np.zeros(4), (X, y, C), method="BFGS", options={"gtol": 1e-7})
    assert model.objective_ == pytest.approx(found.fun, rel=1e-8)
    np.testing.assert_allclose(w, found.x, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e4])
def test_tol_bounds_the_relative_excess_of_the_objective(C, tol):
    X, y = items(n=60, d=100)
    best = RankSVM(C=C, tol=1e-10).fit(X, y).objective_
    assert best - 1e-12 <= RankSVM(C=C, tol=tol).fit(X, y).objective_ <= best * (1 + 1.01 * tol)


@pytest.mark.parametrize("levels", [None, 4])
def test_values_and_all_their_pairs_agree(levels):
    X, y = items(levels=levels)
    by_value = RankSVM(tol=1e-12).fit(X, y)
    by_pair = RankSVM(tol=1e-12).fit(X, pairs=all_pairs(y))
    np.testing.assert_allclose(by_pair.coef_, by_value.coef_, rtol=1e-6, atol=1e-9)
    assert by_pair.objective_ == pytest.approx(by_value.objective_, rel=1e-10)
    assert by_value.score(X, y) == by_value.score(X, pairs=all_pairs(y)) == pairwise_accuracy(by_value.predict(X), y)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_invariant_to_order_of_items_and_to_scale_of_columns(seed):
    X, y = items(seed, levels=5)
    rng = np.random.default_rng(seed)
    shuffled, scale, shift = (
        rng.permutation(len(y)),
        rng.uniform(0.1, 10, X.shape[1]),
        rng.normal(size=X.shape[1]),
    )
    scores = RankSVM(tol=1e-12).fit(X, y).predict(X)
    again = RankSVM(tol=1e-12).fit((X * scale + shift)[shuffled], y[shuffled]).predict(X * scale + shift)
    np.testing.assert_allclose(again, scores, atol=1e-6)


def test_reversed_values_give_reversed_scores():
    X, y = items()
    forward, backward = RankSVM(tol=1e-12).fit(X, y), RankSVM(tol=1e-12).fit(X, -y)
    np.testing.assert_allclose(backward.coef_, -forward.coef_, rtol=1e-5)


def test_equal_values_form_no_pair():
    X, _ = items(n=30)
    tied = np.where(np.arange(30) < 15, 0.0, 1.0)
    higher, lower = np.repeat(np.arange(15, 30), 15), np.tile(np.arange(15), 15)
    by_value, by_pair = RankSVM(tol=1e-12).fit(X, tied), RankSVM(tol=1e-12).fit(X, pairs=(higher, lower))
    np.testing.assert_allclose(by_value.coef_, by_pair.coef_, rtol=1e-6)


def test_constant_columns_get_no_weight():
    X, y = items(d=3)
    padded = np.column_stack([X, np.full(len(X), 0.1), np.zeros(len(X))])
    model, plain = RankSVM().fit(padded, y), RankSVM().fit(X, y)
    np.testing.assert_allclose(model.coef_[:3], plain.coef_, rtol=1e-10)
    np.testing.assert_allclose(model.coef_[3:], 0, atol=1e-12)


def test_a_global_wish_for_data_frames_changes_nothing():
    X, y = items()
    with config_context(transform_output="pandas"):
        scores = RankSVMCV(C_grid=(1.0,)).fit(X, y).predict(X)
    np.testing.assert_array_equal(scores, RankSVM().fit(X, y).predict(X))


def test_features_without_any_information_give_constant_scores():
    model = RankSVM().fit(np.ones((5, 2)), np.arange(5))
    np.testing.assert_array_equal(model.predict(np.ones((3, 2))), 0)


@pytest.mark.parametrize("C", [1e-8, 1e6])
def test_extreme_settings_and_more_columns_than_items(C):
    X, y = items(n=30, d=200)
    model = RankSVM(C=C).fit(X, y)
    assert 0 < model.objective_ < C  # C is the objective of w = 0
    assert model.score(X, y) > 0.9


def test_warm_start_changes_nothing_but_the_work():
    X, y = items(n=80, d=30)
    Z = (X - X.mean(0)) / X.std(0)
    cold = minimise(Z, ValueLoss(y), 100.0, np.zeros(30), 1e-12, 100)
    warm = minimise(Z, ValueLoss(y), 100.0, cold.w, 1e-6, 100)
    assert warm.n_iter == 0
    np.testing.assert_array_equal(warm.w, cold.w)


def test_stopping_early_warns():
    X, y = items(n=60, d=40)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert RankSVM(C=1e4, max_iter=1).fit(X, y).n_iter_ == 1


def test_cv_chooses_by_the_validation_items_alone():
    X, y = items(n=120, d=30)
    model = RankSVMCV().fit(X[:50], y[:50], X_val=X[50:], y_val=y[50:])
    accuracy = [RankSVM(C=C).fit(X[:50], y[:50]).score(X[50:], y[50:]) for C in model.C_grid]
    np.testing.assert_allclose(model.validation_accuracy_, accuracy, atol=2e-3)
    best = int(np.argmax(model.validation_accuracy_))
    assert model.C_grid[best] == model.C_
    np.testing.assert_array_equal(model.coef_, RankSVM(C=model.C_).fit(X[:50], y[:50]).coef_)


def test_cv_takes_validation_pairs_as_well_as_values():
    X, y = items(n=60)
    by_value = RankSVMCV().fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
    by_pair = RankSVMCV().fit(X[:40], pairs=all_pairs(y[:40]), X_val=X[40:], pairs_val=all_pairs(y[40:]))
    np.testing.assert_allclose(by_pair.validation_accuracy_, by_value.validation_accuracy_, atol=0.01)


def test_folds_do_not_reward_memory():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 200)), rng.normal(size=60)  # nothing to learn, everything to memorise
    for labels in ({"y": y}, {"pairs": all_pairs(y)}):
        model = RankSVMCV(C_grid=(1.0, 100.0)).fit(X, **labels)
        assert model.score(X, y) > 0.95
        assert (np.abs(model.validation_accuracy_ - 0.5) < 0.12).all()


def test_same_seed_same_folds():
    X, y = items(levels=6)
    first, second, other = (RankSVMCV(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.validation_accuracy_, second.validation_accuracy_)
    assert (first.validation_accuracy_ != other.validation_accuracy_).any()


def test_clone_and_parameters():
    model = RankSVMCV(C_grid=(0.5, 5.0), cv=3, random_state=7)
    assert clone(model).get_params() == model.get_params()
    assert RankSVM(C=3).set_params(C=4).C == 4
    with pytest.raises(NotFittedError):
        RankSVM().predict([[1.0]])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RankSVM(C=0), "C must be a finite number above 0: found 0"),
        (RankSVM(C=np.inf), "C must be"),
        (RankSVM(C="1"), "C must be"),
        (RankSVM(tol=-1), "tol must be"),
        (RankSVM(max_iter=1.5), "max_iter must be a whole number"),
        (RankSVMCV(C_grid=()), "C_grid must be a sequence"),
        (RankSVMCV(C_grid=3.0), "C_grid must be a sequence"),
        (RankSVMCV(C_grid=(1.0, -1.0)), "C_grid must be a finite number above 0: found -1"),
        (RankSVMCV(cv=1), "cv must be from 2 to the 40 labelled items: found 1"),
        (RankSVMCV(cv=41), "cv must be"),
        (RankSVMCV(cv="5"), "cv must be"),
        (RankSVMCV(cv=40), "No ordered pair is left"),
    ],
)
def test_bad_settings_get_a_sentence(model, words):
    with pytest.raises(InputError, match=words):
        model.fit(*items())


def test_bad_input_gets_a_sentence():
    X, y = items()
    with pytest.raises(InputError, match="requires y"):
        RankSVM().fit(X)
    with pytest.raises(InputError, match="X_val must be given"):
        RankSVMCV().fit(X, y, y_val=y)
    with pytest.raises(InputError, match="y_val"):
        RankSVMCV().fit(X, y, X_val=X)
    with pytest.raises(ValueError, match="NaN"):
        RankSVM().fit(np.where(X > 0, X, np.nan), y)
    with pytest.raises(ValueError, match="features"):
        RankSVM().fit(X, y).predict(X[:, 1:])
