"""What every method must do, as checks of one method on one case: `CHECKS`.

A case is a small problem of one task with one kind of labels. A method either answers it or refuses it with a sentence.
Whoever refuses a case must refuse it likewise after each of the changes below, so that every check says something of
every case.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

import tupi
from tupi.embedding.prepared import Prepared, standardize
from tupi.inputs.labels import subset
from tupi.inputs.problem import TASKS, make_problem
from tupi.methods import METHODS, Method
from tupi.methods.base import Fit

N, N_LABELLED = 64, 24
LABELS = ("none", "values", "pairs")
SHOWN = np.flatnonzero(np.arange(N) % 4)  # items whose labels a fit may use where others are left out
SENTENCE = re.compile(r"^[\w.]+: .*\baccept(ed|s)\b.*\.$", re.DOTALL)  # which argument, and what is accepted
# Of a deviation: what another order of sums in single precision, and descents that stop by it, may change. Steps of
# `tupi` under lam = 6 carry it to 1.01e-5; in double precision (engine "reference") it stays below 1e-12.
TOLERANCE = 2e-5
QUICK = {  # settings with which slow methods do the same in less time
    "tupi": {"n_iter": 8},
    "tupi-joint": {"n_iter": 4, "kernel": "gaussian"},
    "tupi+coconut": {"n_iter": 4, "sigma_w2": 0.1, "n_neighbors_c": 10},
    "retrain": {"ranker": "svm"},
    "trees": {"n_estimators": 20},
    "boost": {"n_estimators": 20},
}


@dataclass(frozen=True, eq=False)
class Case:
    """A problem as people give it."""

    task: str
    scores: np.ndarray
    views: dict[str, np.ndarray]
    labels: tupi.Values | tupi.Pairs | None

    def problem(self) -> Any:
        """Return the checked problem."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # constant views are dropped with a warning
            return make_problem(self.scores, self.views, self.labels, self.task)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions with the fit that they are from, or the sentence of a refusal."""

    predictions: np.ndarray | None = None
    fit: Fit | None = None
    refusal: str | None = None


def settings(name: str) -> Method:
    """Return a method by its name, with settings that are quick enough for many fits."""
    return METHODS[name](**QUICK.get(name, {}))


@cache
def make_case(task: str, labels: str, single: bool) -> Case:
    """Return the case of a task and a kind of labels; ``single``: views of one column each."""
    rng = np.random.default_rng(3)
    truth, shown = rng.normal(size=N), np.sort(rng.permutation(N)[:N_LABELLED])
    views = {
        "near": truth[:, None] + 0.4 * rng.normal(size=(N, 2)),
        "bent": np.column_stack([np.cos(2 * truth), truth**2]) + 0.2 * rng.normal(size=(N, 2)),
        "junk": rng.normal(size=(N, 3)),
    }
    if single:
        views = {name: view[:, 0] for name, view in views.items()}
    scores = truth + 0.8 * rng.normal(size=N)
    values = tupi.Values(shown, truth[shown])
    if task == "classification":
        classes = np.digitize(truth, [-0.5, 0.5])
        scores = np.exp(np.eye(3)[classes] + rng.normal(size=(N, 3)))
        scores /= scores.sum(axis=1, keepdims=True)
        values = tupi.Values(shown, classes[shown])
    first, second = rng.permuted(np.tile(shown, (30, 1)), axis=1)[:, :2].T
    first, second = np.unique(np.sort(np.column_stack([first, second]), axis=1), axis=0).T
    up = truth[first] > truth[second]
    pairs = tupi.Pairs(np.where(up, first, second), np.where(up, second, first))
    return Case(task, scores, views, {"none": None, "values": values, "pairs": pairs}[labels])


def case_for(method: Method, task: str, labels: str) -> Case:
    """Return the case in the form that the method takes views in; only Kim's takes single columns."""
    return make_case(task, labels, method.name == "kim")


def solve(method: Method, case: Case, use: tupi.Values | tupi.Pairs | None = None) -> Outcome:
    """Return what a method makes of a case, with all its labels or with those to use."""
    try:
        prepared = Prepared(case.problem(), random_state=0)
        fit = method.fit(prepared, prepared.problem.labels if use is None else use)
        return Outcome(fit.predictions(prepared), fit)
    except tupi.InputError as refusal:
        return Outcome(refusal=str(refusal))


@cache
def solved(method: Method, case: Case) -> Outcome:
    """Return `solve` of an unchanged case, which all checks start from."""
    return solve(method, case)


def same(found: Outcome, expected: Outcome, items: Any = slice(None)) -> None:
    """Complain unless both refuse with the same sentence, or both answer alike."""
    assert found.refusal == expected.refusal
    if expected.predictions is not None:
        spread = TOLERANCE * expected.predictions.std()
        np.testing.assert_allclose(found.predictions, expected.predictions[items], rtol=0, atol=spread)


def answers_or_refuses(method: Method, case: Case) -> None:
    """The answer has the predictions' shape and is finite, or a sentence says what is accepted."""
    found = solved(method, case)
    if found.refusal is not None:
        assert SENTENCE.match(found.refusal), found.refusal
        return
    assert found.predictions.shape == case.scores.shape
    assert np.isfinite(found.predictions).all()
    if case.task == "classification":
        assert (found.predictions >= 0).all()
        np.testing.assert_allclose(found.predictions.sum(axis=1), 1.0, atol=1e-9)


def same_seed_same_result(method: Method, case: Case) -> None:
    """A second fit gives the very same numbers, and leaves the arrays that people gave as they were."""
    given = {"scores": case.scores, **case.views, **({} if case.labels is None else vars(case.labels))}
    given = {name: array for name, array in given.items() if array is not None}
    before = {name: array.copy() for name, array in given.items()}
    expected, found = solved(method, case), solve(method, case)
    assert found.refusal == expected.refusal
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    for name, array in given.items():
        np.testing.assert_array_equal(array, before[name])


def order_of_items(method: Method, case: Case) -> None:
    """Items in another order give the same predictions in that order."""
    order = np.random.default_rng(1).permutation(N)
    place = np.argsort(order)
    labels = case.labels
    if isinstance(labels, tupi.Values):
        labels = tupi.Values(place[labels.index], labels.values)
    elif labels is not None:
        labels = tupi.Pairs(place[labels.higher], place[labels.lower])
    views = {name: view[order] for name, view in case.views.items()}
    same(solve(method, Case(case.task, case.scores[order], views, labels)), solved(method, case), order)


def order_of_views(method: Method, case: Case) -> None:
    """Views in another order give the same predictions."""
    same(solve(method, replace(case, views=dict(reversed(case.views.items())))), solved(method, case))


def constant_view(method: Method, case: Case) -> None:
    """A view that is the same for all items changes nothing."""
    constant = np.full_like(case.views["junk"], 7.0)
    same(solve(method, replace(case, views={"flat": constant, **case.views})), solved(method, case))


def missing_views(method: Method, case: Case) -> None:
    """Items may lack some views; those that lack all keep their prediction."""
    bare = np.array([2, 40])
    views = {name: view.copy() for name, view in case.views.items()}
    views["near"][10:20] = np.nan
    for view in views.values():
        view[bare] = np.nan
    found = solve(method, replace(case, views=views))
    assert found.refusal == solved(method, case).refusal
    if found.predictions is not None:
        assert np.isfinite(found.predictions).all()
        np.testing.assert_allclose(found.predictions[bare], case.scores[bare], rtol=1e-12)


def copy_of_a_view(method: Method, case: Case) -> None:
    """A copy of a view changes nothing, or weighs as much as the view itself."""
    found = solve(method, replace(case, views={**case.views, "again": case.views["near"].copy()}))
    expected = solved(method, case)
    assert found.refusal == expected.refusal
    if found.predictions is not None and not np.array_equal(found.predictions, expected.predictions):
        assert np.isfinite(found.predictions).all()
        weights = found.fit.steps[-1].weights
        np.testing.assert_allclose(weights[-1], weights[0], atol=TOLERANCE)


def fewer_labels(method: Method, case: Case) -> None:
    """A fit to some of the labels is what it would be if there were no others."""
    few = _some_labels(case)
    same(solve(method, case, few), solve(method, replace(case, labels=few)))


def labels_left_out(method: Method, case: Case) -> None:
    """What labels say that a fit may not use has no influence on it, since they are going to judge it."""
    few = _some_labels(case)
    same(solve(method, replace(case, labels=_contradicted(case.labels, few)), few), solve(method, case, few))


def _some_labels(case: Case) -> tupi.Values | tupi.Pairs | None:
    return None if case.labels is None else subset(case.labels, SHOWN)


def _contradicted(
    labels: tupi.Values | tupi.Pairs | None, few: tupi.Values | tupi.Pairs | None
) -> tupi.Values | tupi.Pairs | None:
    """Return the labels with the opposite of those that are not among the few."""
    if labels is None:
        return None
    if isinstance(labels, tupi.Values):
        left_out = ~np.isin(labels.index, few.index)
        opposite = labels.values.min() + labels.values.max() - labels.values
        return tupi.Values(labels.index, np.where(left_out, opposite, labels.values))
    left_out = ~(np.isin(labels.higher, SHOWN) & np.isin(labels.lower, SHOWN))
    higher, lower = labels.higher, labels.lower
    return tupi.Pairs(np.where(left_out, lower, higher), np.where(left_out, higher, lower))


def scale_of_scores(method: Method, case: Case) -> None:
    """For ranking, scores mean the same in other units."""
    found, expected = solve(method, replace(case, scores=1000.0 * case.scores + 5.0)), solved(method, case)
    assert found.refusal == expected.refusal
    if expected.predictions is not None:
        new, old = (standardize(one.predictions[:, None])[0] for one in (found, expected))
        np.testing.assert_allclose(new, old, atol=TOLERANCE)


CHECKS: dict[str, Callable[[Method, Case], None]] = {
    check.__name__: check
    for check in (
        answers_or_refuses,
        same_seed_same_result,
        order_of_items,
        order_of_views,
        constant_view,
        missing_views,
        copy_of_a_view,
        fewer_labels,
        labels_left_out,
        scale_of_scores,
    )
}


def cells(check: str) -> list[tuple[str, str]]:
    """Return the tasks and kinds of labels that a check is about."""
    tasks = ("ranking",) if check == "scale_of_scores" else TASKS
    return [(task, labels) for task in tasks for labels in LABELS]
