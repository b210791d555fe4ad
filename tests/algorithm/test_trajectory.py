"""What trajectories keep, and how far they are computed."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tests.methods.rows import class_problem
from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory, extend
from tupi.embedding.prepared import Prepared, restore
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi

SETTING = Tupi(lam=0.3, sigma_w2=0.1, n_iter=3)
LABELLED = np.array([7, 1, 3, 50, 20])


def prepare(task="ranking", memory_limit=None):
    """Return a problem in which items 0 and 1 lack all views."""
    if task == "classification":
        scores, views, truth = class_problem(120)
    else:
        truth, scores, views = make_problem_arrays()
    for values in views.values():
        values[:2] = np.nan
    problem = make_problem(scores, views, Values(LABELLED, truth[LABELLED]), task)
    return Prepared(problem, memory_limit=memory_limit)


@pytest.mark.parametrize("task", ["ranking", "regression", "classification"])
def test_labelled_items_are_those_of_all_restored_predictions(task):
    prepared = prepare(task)
    trajectory = SETTING.trajectory(prepared)
    for _ in range(3):
        extend([trajectory])
    assert len(trajectory.steps) == len(trajectory.labelled) == 3
    for step, values in zip(trajectory.steps, trajectory.labelled, strict=True):
        np.testing.assert_array_equal(values, restore(prepared, step.f)[np.sort(LABELLED)])
    np.testing.assert_array_equal(trajectory.labelled[0], prepared.problem.initial[np.sort(LABELLED)])


@pytest.mark.parametrize("calibrated", [False, True])
def test_some_items_are_restored_as_among_all(calibrated):
    prepared = prepare("regression")
    f = prepared.f + np.random.default_rng(0).normal(size=prepared.f.shape)
    items = np.array([119, 0, 5, 1, 5])
    np.testing.assert_array_equal(
        restore(prepared, f, calibrated, items), restore(prepared, f, calibrated)[items], strict=True
    )
    assert restore(prepared, f, calibrated, items[:0]).shape == (0,)


def test_trajectories_that_are_known_unequally_far_go_on_together():
    alone = [replace(SETTING, lam=lam).trajectory(prepare()) for lam in (0.1, 0.9)]
    for trajectory in alone:
        while not trajectory.ended:
            extend([trajectory])
    prepared = prepare()
    first, second = (replace(SETTING, lam=lam).trajectory(prepared) for lam in (0.1, 0.9))
    extend([first])
    new = extend([first, second])
    assert [step.t for step in new] == [1, 0]
    extend([first, second])
    extend([first, second])
    assert first.ended
    assert not second.ended
    extend([second])
    assert second.ended
    for trajectory, expected in zip((first, second), alone, strict=True):
        assert [step.t for step in trajectory.steps] == [0, 1, 2, 3]
        for step, one in zip(trajectory.steps, expected.steps, strict=True):
            np.testing.assert_allclose(step.f, one.f, atol=1e-6)
            np.testing.assert_allclose(step.weights, one.weights, atol=1e-6)


def test_predictions_go_to_files_where_memory_is_limited():
    trajectory, limited = (SETTING.trajectory(prepare(memory_limit=limit)) for limit in (None, 10**8))
    for one in (trajectory, limited):
        extend([one])
        extend([one])
    for step, kept in zip(trajectory.steps, limited.steps, strict=True):
        assert isinstance(kept.f, np.memmap)
        assert not isinstance(step.f, np.memmap)
        np.testing.assert_array_equal(kept.f, step.f)


def test_steps_may_come_from_anywhere():
    prepared = prepare()
    steps = [Step(t, prepared.f, np.ones(3) / 3, np.full(3, np.nan)) for t in range(2)]
    trajectory = Trajectory(InMemory(prepared), ahead=iter(steps))
    assert not trajectory.ended  # nobody has looked yet
    assert extend([trajectory]) == steps[:1]
    assert extend([trajectory]) == steps[1:]
    assert not trajectory.ended
    assert extend([trajectory]) == [None]
    assert trajectory.ended
    assert trajectory.steps == steps


def test_of_values_only_the_order_of_steps_counts_unless_they_were_said_to_be_values():
    """Turned around, the best increasing fit is the mean, and what comes back is half way there."""
    prepared = prepare("regression")
    step, initial = Step(1, -prepared.f, np.ones(3) / 3, np.full(3, np.nan)), prepared.problem.initial
    half = 0.5 * (initial + initial[2:].mean())
    half[:2] = initial[:2]  # which lack all views
    np.testing.assert_allclose(InMemory(prepared).labelled([step])[0], half[np.sort(LABELLED)])
    around = 2 * initial[2:].mean() - initial
    around[:2] = initial[:2]
    np.testing.assert_allclose(InMemory(prepared, True).labelled([step])[0], around[np.sort(LABELLED)])


def test_without_labels_there_are_no_labelled_items():
    _, scores, views = make_problem_arrays()
    prepared = Prepared(make_problem(scores, views))
    (found,) = InMemory(prepared).labelled([Step(0, prepared.f, np.ones(3) / 3, np.full(3, np.nan))])
    assert found.shape == (0,)


class Forgetful(InMemory):
    """A shelf that loses the labelled items of a step."""

    def labelled(self, steps):
        return super().labelled(steps)[1:]


def test_a_shelf_that_loses_a_step_is_noticed():
    prepared = prepare()
    steps = [Step(0, prepared.f, np.ones(3) / 3, np.full(3, np.nan))]
    with pytest.raises(ValueError, match="shorter"):
        extend([Trajectory(Forgetful(prepared), ahead=iter(steps))])


@pytest.mark.parametrize("found", ["steps", "labelled", "_exhausted"])
def test_what_is_known_of_a_trajectory_is_not_told_to_it(found):
    with pytest.raises(TypeError):
        Trajectory(InMemory(prepare()), **{found: []})
