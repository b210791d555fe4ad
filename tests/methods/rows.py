"""What methods that are fitted to labels see, computed here in the plainest way."""

import numpy as np

from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem

TRUTH, SCORES, VIEWS = make_problem_arrays(120)
LABELLED, OTHERS, UNSEEN = np.split(np.random.default_rng(3).permutation(120), [30, 60])
KNOWN = Values(LABELLED, TRUTH[LABELLED])
JUDGING = Values(UNSEEN, TRUTH[UNSEEN])
COMPARED = Pairs(*np.where(TRUTH[LABELLED] > TRUTH[OTHERS], [LABELLED, OTHERS], [OTHERS, LABELLED]))


def prepare(labels=KNOWN, scores=SCORES, views=None, task="ranking", random_state=0):
    return Prepared(make_problem(scores, VIEWS if views is None else views, labels, task), random_state)


def predict(method, **problem):
    """Return a method's predictions of all items, in the input's scale."""
    prepared = prepare(**problem)
    return method.fit(prepared, prepared.problem.labels).predictions(prepared)


def standard(columns):
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def stacked(views=None):
    """Return all views side by side, columns standardised, each view as long as the others."""
    views = VIEWS if views is None else views
    return np.hstack([standard(view) / np.sqrt(view.shape[1] * len(views)) for view in views.values()])


def class_problem(n=150, seed=0):
    """Return class probabilities of three classes, a view that tells more, and the true classes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    scores = np.eye(3)[truth] + 1.2 * rng.normal(size=(n, 3))
    chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    view = np.eye(3)[truth] @ rng.normal(size=(3, 5)) + 0.5 * rng.normal(size=(n, 5))
    return chances, {"view": view}, truth
