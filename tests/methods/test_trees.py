import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from tests.methods.rows import KNOWN, LABELLED, SCORES, TRUTH, class_problem, predict, prepare, stacked, standard
from tupi.inputs.labels import Pairs, Values
from tupi.methods.trees import Trees
from tupi.runtime.errors import InputError


def test_the_forest_of_scikit_learn():
    """Rows are in the order of their labels, no two of which are equal, and columns in the order of their content."""
    X = np.column_stack([standard(SCORES), stacked()]).astype(np.float32)
    rows = LABELLED[np.argsort(TRUTH[LABELLED])]
    X = X[:, np.lexsort(X[rows][::-1])]
    forest = ExtraTreesRegressor(n_estimators=20, random_state=5).fit(X[rows], TRUTH[rows])
    found = predict(Trees(n_estimators=20), task="regression", random_state=5)
    np.testing.assert_allclose(found, forest.predict(X), atol=1e-6)


def test_same_seed_same_result():
    first, second, other = (predict(Trees(n_estimators=10), random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_classes_without_labels_get_no_share():
    chances, views, truth = class_problem()
    known = np.flatnonzero(truth != 2)[:30]
    labels = Values(known, truth[known])
    found = predict(Trees(n_estimators=20), labels=labels, scores=chances, views=views, task="classification")
    assert (found[:, 2] < 1e-5).all()
    two = np.setdiff1d(np.flatnonzero(truth != 2), known)
    before, after = (np.mean(p[two].argmax(axis=1) == truth[two]) for p in (chances, found))
    assert after > before


def test_weights_are_the_importances_of_the_views():
    prepared = prepare()
    fit = Trees().fit(prepared, KNOWN)
    weights = dict(zip(prepared.problem.names, fit.steps[-1].weights, strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["near"] > weights["junk"]


def test_pairs_do_not_apply():
    with pytest.raises(InputError, match=r"labels: found pairs, and method 'trees' is fitted to values"):
        predict(Trees(), labels=Pairs(np.array([0, 1]), np.array([2, 3])))


@pytest.mark.parametrize(
    "settings", [{"n_estimators": 0}, {"min_samples_leaf": 1.5}, {"max_features": 2}, {"max_features": 0}]
)
def test_bad_settings(settings):
    with pytest.raises(InputError, match=f"{next(iter(settings))}: found"):
        Trees(**settings)
