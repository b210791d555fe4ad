"""The paper's rule of termination, by scores that are made by hand.

"We set the maximum T value at 50 and monitored the progress of validation accuracy: we terminate iteration immediately
whenever the validation accuracy did not increase from the previous iteration."
"""

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import LAM_GRID, Tupi

LABELLED = 11  # items 0 to 10 are worth 0 to 10: 55 pairs


def ranking_with(right):
    """Return a ranking of the labelled items that has exactly so many of the 55 pairs in order."""
    order = list(range(LABELLED - 1, -1, -1))  # none in order
    while right:
        for k in range(LABELLED - 1):
            if right and order[k] > order[k + 1]:
                order[k], order[k + 1] = order[k + 1], order[k]
                right -= 1
    scores = np.empty(LABELLED)
    scores[order] = np.arange(LABELLED)
    return scores


def pairs_in_order(scores):
    return sum(scores[i] < scores[j] for i in range(LABELLED) for j in range(i + 1, LABELLED))


def fit_along(monkeypatch, path, others=(0,), **params):
    """Fit `tupi` where the first setting's steps have so many pairs in order, and all others those of ``others``."""
    _, scores, views = make_problem_arrays(40)
    scores[:LABELLED] = ranking_with(path[0])
    prepared = Prepared(make_problem(scores, views, Values(np.arange(LABELLED), np.arange(LABELLED, dtype=float))))
    made = {}

    def trajectory(self, prepared):
        rights = path if self.lam == LAM_GRID[0] else (path[0], *others)

        def steps():
            for t, right in enumerate(rights[: self.n_iter + 1]):
                f = prepared.f.copy()
                f[:LABELLED, 0] = ranking_with(right)
                yield Step(t, f, np.ones(len(views)) / len(views), np.full(len(views), np.nan))

        made[self.lam] = Trajectory(InMemory(prepared), ahead=steps())
        return made[self.lam]

    monkeypatch.setattr(Tupi, "trajectory", trajectory)
    fit = Tupi(sigma_w2=0.1, **params).fit(prepared, prepared.problem.labels)
    return fit, made[LAM_GRID[0]]


@pytest.mark.parametrize("right", [0, 1, 27, 54, 55])
def test_a_ranking_has_as_many_pairs_in_order_as_it_was_made_for(right):
    assert pairs_in_order(ranking_with(right)) == right


@pytest.mark.parametrize(
    ("path", "looked", "best"),
    [
        ((30, 35, 34, 50), 3, 1),  # one step back is the end, whatever would have come
        ((30, 35, 35, 50), 3, 1),  # so is one that is merely as good
        ((30, 30, 50), 2, 0),
        ((30, 29, 50), 2, 0),
        ((30, 31, 32, 33, 32, 50), 5, 3),
    ],
)
def test_the_iteration_ends_at_the_first_step_that_does_not_score_better(monkeypatch, path, looked, best):
    fit, trajectory = fit_along(monkeypatch, path)
    assert len(trajectory.steps) == looked
    assert (fit.params["n_iter"], len(fit.steps)) == (best, best + 1)
    assert pairs_in_order(fit.columns[:LABELLED, 0]) == max(path[:looked])
    np.testing.assert_allclose(fit.scores, np.array(path[: best + 1]) / 55)


def test_more_patience_is_another_rule(monkeypatch):
    fit, trajectory = fit_along(monkeypatch, (30, 35, 34, 50, 49, 48, 55), patience=2)
    assert (len(trajectory.steps), fit.params["n_iter"]) == (6, 3)


def test_at_most_fifty_steps_are_taken(monkeypatch):
    fit, trajectory = fit_along(monkeypatch, tuple(range(0, 56)))
    assert (len(trajectory.steps), fit.params["n_iter"]) == (51, 50)


def test_the_best_step_of_all_settings_is_returned(monkeypatch):
    fit, _ = fit_along(monkeypatch, (30, 35, 34), others=(40, 39))
    assert (fit.params["lam"], fit.params["n_iter"]) == (LAM_GRID[1], 1)
    fit, _ = fit_along(monkeypatch, (30, 40, 34), others=(40, 39))
    assert fit.params["lam"] == LAM_GRID[0]  # of equal scores the more cautious setting's
