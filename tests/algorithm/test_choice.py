"""The rule by which labels choose among trajectories, against the rule as it is said."""

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory, Vote, choose, follow
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values, subset
from tupi.inputs.problem import make_problem

TRUTH, SCORES, VIEWS = make_problem_arrays(60)
ITEMS = np.arange(0, 60, 5)
KNOWN = Values(ITEMS, TRUTH[ITEMS])
T = 6


def prepare():
    return Prepared(make_problem(SCORES, VIEWS, KNOWN))


def trajectories_of(prepared, n=4, seed=0):
    """Return trajectories of steps that get better and worse by chance, and often stay as good."""
    rng = np.random.default_rng(seed)

    def steps():
        f = prepared.f
        for t in range(T + 1):
            yield Step(t, f, np.ones(3) / 3, np.full(3, np.nan))
            f = f + 0.2 * rng.normal(size=f.shape) if rng.uniform() < 0.6 else f

    return [Trajectory(InMemory(prepared), ahead=iter(list(steps()))) for _ in range(n)]


def accuracy(values, labels):
    """Return the share of pairs in order, one by one."""
    right = [
        np.sign(values[i] - values[j]) * np.sign(a - b) / 2 + 0.5
        for i, a in zip(labels.index, labels.values, strict=True)
        for j, b in zip(labels.index, labels.values, strict=True)
        if a > b
    ]
    return np.mean(right)


def by_the_rule(trajectories, labels, patience):
    """Return how far each trajectory is looked at, and the best setting and step, by looking at all of them."""
    looked, best = [], (-1.0, 0, 0)
    for k, trajectory in enumerate(trajectories):
        top, since, count = -1.0, 0, 0
        for t, values in enumerate(trajectory.labelled):
            found, count = accuracy(values, labels), t + 1
            since = 0 if found > top + 1e-12 else since + 1
            top = max(top, found)
            if found > best[0] + 1e-12:
                best = (found, k, t)
            if since >= patience:
                break
        looked.append(count)
    return looked, best[1:]


@pytest.mark.parametrize("patience", [1, 2, 10])
@pytest.mark.parametrize("seed", range(8))
def test_labels_choose_by_the_rule(patience, seed):
    prepared = prepare()
    whole = trajectories_of(prepared, seed=seed)
    follow(whole)
    local = Values(np.arange(len(ITEMS)), KNOWN.values)
    looked, best = by_the_rule(whole, local, patience)
    grown = trajectories_of(prepared, seed=seed)
    choice = choose(range(len(grown)), lambda k: grown[k], prepared, KNOWN, patience)
    assert (choice.setting, choice.t, choice.tried) == (*best, len(grown))
    assert [len(trajectory.steps) for trajectory in grown] == looked
    assert choice.scores == pytest.approx(
        [accuracy(values, local) for values in grown[choice.setting].labelled], abs=1e-12
    )
    assert Vote(whole, local, "ranking", patience).best == best  # also when everything is known already


def test_several_votes_follow_as_far_as_any_wants():
    prepared = prepare()
    some = [subset(KNOWN, ITEMS[part]) for part in (slice(None), slice(0, 7), slice(5, None))]
    sets = [Values(labels.index // 5, labels.values) for labels in some]
    whole = trajectories_of(prepared, seed=3)
    follow(whole)
    alone = [by_the_rule(whole, labels, 2) for labels in sets]
    grown = trajectories_of(prepared, seed=3)
    votes = [Vote(grown, labels, "ranking", 2) for labels in sets]
    follow(grown, votes)
    assert [vote.best for vote in votes] == [best for _, best in alone]
    assert [[len(scores) for scores in vote.scores] for vote in votes] == [looked for looked, _ in alone]
    assert [len(one.steps) for one in grown] == np.max([looked for looked, _ in alone], axis=0).tolist()


def test_a_watcher_sees_new_steps_and_ends_the_search():
    prepared = prepare()
    trajectories, seen, added = trajectories_of(prepared, seed=1), [], []

    def watch(step):
        seen.append(step.t)
        return len(seen) == 6  # the second of four in the second round

    local = Values(np.arange(len(ITEMS)), KNOWN.values)
    vote, other = (Vote(each, local, "ranking", 5) for each in (trajectories, trajectories_of(prepared, seed=1)))
    follow(trajectories, [vote], watch)
    assert seen == [0, 0, 0, 0, 1, 1]
    assert [len(scores) for scores in vote.scores] == [2, 1, 1, 1]  # not the step that ended the search
    assert [len(trajectory.steps) for trajectory in trajectories] == [2] * 4
    seen.clear()
    follow(other._trajectories, [other], watch, added.append)
    assert added == [[0, 1, 2, 3]] * 2
    assert [len(scores) for scores in other.scores] == [2] * 4  # what may be saved counts whole
    follow(trajectories[:1], watch=lambda step: seen.append(step.t))
    assert seen[6:] == list(range(2, T + 1))  # what is known is not shown again


def test_a_search_that_is_stopped_at_once_keeps_the_initial_predictions():
    prepared = prepare()
    grown = trajectories_of(prepared)
    choice = choose(range(4), lambda k: grown[k], prepared, KNOWN, 2, watch=lambda step: True)
    assert (choice.setting, choice.t) == (0, 0)
    assert choice.scores == pytest.approx([accuracy(SCORES[ITEMS], Values(np.arange(12), KNOWN.values))])


@pytest.mark.parametrize("n", [1, 4])
def test_the_step_that_ends_a_search_is_not_looked_at(n):
    prepared = prepare()
    grown = trajectories_of(prepared, n)
    choice = choose(range(n), lambda k: grown[k], prepared, KNOWN, 5, watch=lambda step: step.t == 1)
    assert (choice.t, len(choice.scores), len(grown[0].labelled)) == (0, 1, 2)
    (one,) = trajectories_of(prepared, 1)
    stopped = choose(range(1), lambda k: one, prepared, KNOWN, 5, watch=lambda step: True)
    assert (stopped.t, len(stopped.scores)) == (0, 1)
