import importlib.util

import numpy as np
import pytest

from tests.methods.rows import KNOWN, LABELLED, SCORES, TRUTH, class_problem, predict, prepare, stacked, standard
from tupi.inputs.labels import Pairs, Values
from tupi.methods import boost
from tupi.methods.boost import Boost
from tupi.runtime.errors import InputError

HAS = importlib.util.find_spec("lightgbm") is not None
ENGINES = ["scikit-learn", *(["LightGBM"] if HAS else [])]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    monkeypatch.setattr(boost, "_with_lightgbm", lambda: request.param == "LightGBM")
    return request.param


def slow(X, y, n_trees, rate, smallest):
    """Return stumps that each explain the most of what the others left: boosting from its definition."""
    left, stumps = y.copy(), []
    for _ in range(n_trees):
        best = (np.inf,)
        for column in range(X.shape[1]):
            for cut in np.unique(X[:, column])[:-1]:
                side = X[:, column] <= cut
                if smallest <= side.sum() <= len(y) - smallest:
                    means = left[side].mean(), left[~side].mean()
                    error = np.sum((left - np.where(side, *means)) ** 2)
                    best = min(best, (error, column, cut, *means))
        _, column, cut, low, high = best
        stumps.append((column, cut, rate * low, rate * high))
        left -= np.where(X[:, column] <= cut, rate * low, rate * high)
    return stumps


@pytest.mark.parametrize("engine", ["LightGBM"] if HAS else [], indirect=True)
def test_stumps_are_those_of_the_definition(engine):
    """On labelled items; elsewhere cuts between two values may fall on either side of a third."""
    X = np.column_stack([standard(SCORES), stacked()]).astype(np.float32)[LABELLED]
    z = standard(TRUTH[LABELLED])
    slope = np.mean(X[:, 0] * z - X[:, 0].mean() * z) / X[:, 0].var()
    start = z.mean() + slope * (X[:, 0] - X[:, 0].mean())
    stumps = slow(X, z - start, 5, 0.3, 5)
    expected = start + sum(np.where(X[:, c] <= cut, low, high) for c, cut, low, high in stumps)
    settings = {"n_estimators": 5, "learning_rate": 0.3, "max_leaf_nodes": 2}
    found = predict(Boost(**settings), task="regression")[LABELLED]
    np.testing.assert_allclose(standard(found), standard(expected), atol=1e-4)


def test_it_starts_from_the_predictions(engine):
    """Trees that add next to nothing leave the order of f."""
    found = predict(Boost(n_estimators=1, learning_rate=1e-9))
    assert np.corrcoef(found, SCORES)[0, 1] > 0.999999


def test_it_learns_what_the_predictions_lack(engine):
    prepared = prepare()
    fit = Boost().fit(prepared, KNOWN)
    unseen = np.setdiff1d(np.arange(len(TRUTH)), LABELLED)
    before, after = (np.corrcoef(f[unseen], TRUTH[unseen])[0, 1] for f in (SCORES, fit.columns[:, 0]))
    assert after > before
    assert engine in fit.notes[0]
    weights = dict(zip(prepared.problem.names, fit.steps[-1].weights, strict=True))
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["near"] > weights["junk"]


def test_classes(engine):
    chances, views, truth = class_problem()
    labels, unseen = Values(np.arange(40), truth[:40]), slice(40, None)
    found = predict(Boost(), labels=labels, scores=chances, views=views, task="classification")
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    before, after = (np.mean(p[unseen].argmax(axis=1) == truth[unseen]) for p in (chances, found))
    assert after > before


def test_pairs_do_not_apply():
    with pytest.raises(InputError, match=r"labels: found pairs, and method 'boost' is fitted to values"):
        predict(Boost(), labels=Pairs(np.array([0, 1]), np.array([2, 3])))


@pytest.mark.parametrize(
    ("name", "value"), [("n_estimators", 0), ("learning_rate", -1.0), ("max_leaf_nodes", 1), ("min_samples_leaf", 0.5)]
)
def test_settings_are_checked(name, value):
    with pytest.raises(InputError, match=f"{name}: found {value}"):
        Boost(**{name: value})
