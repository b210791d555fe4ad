"""Algorithm 1 on energies that are made by hand: which moves are made, how long they are, and when a step ends."""

from types import SimpleNamespace

import numpy as np
import pytest

from tupi.algorithm.denoiser import MAX_HALVINGS, Run, _minimize, advance

INITIAL = np.array([1.0, -1, 1, -1])


class Told:
    """A descent whose moves come to energies that are told beforehand, one row for each move."""

    def __init__(self, begin, moves, shortened=(), products=(4.0, 0.5, 5.0)):
        self.energies, self._moves, self._shortened = np.array(begin, float), iter(moves), iter(shortened)
        self._products = np.tile(products, (len(begin), 1))
        self.lengths, self.momenta, self.asked, self.accepted = [], [], [], []

    def move(self, lengths, momenta):
        self.lengths.append(lengths.tolist())
        self.momenta.append(momenta.tolist())
        return np.array(next(self._moves), float), self._products

    def shorten(self, runs, lengths):
        self.asked.append((list(runs), list(lengths)))
        return np.array(next(self._shortened), float)

    def accept(self, runs):
        self.accepted.append(list(runs))


class Bowls:
    """An engine for which each step goes down c x^2 / 2, from x = 1, and f(t) is the initial prediction less t."""

    def __init__(self, dependence=(0.3, 0.1), rises=0.0):
        self.dependence, self.rises = np.array(dependence), rises
        self.asked, self.descents = [], []

    def begin(self, f):
        return SimpleNamespace(f=f + 100, dependence=self.dependence)  # not quite what came in, as from a grid

    def descent(self, states, weights, lams):
        self.asked.append((states, weights, lams))
        k, rises = len(states), np.full(len(states), self.rises)
        down = [np.full(k, 1.0), 1 + rises, *(np.full(k, 0.5 + rises) for _ in range(9))]
        found = Told(np.ones(k), down, ([0.5] * k for _ in range(9)), products=(4.0, 0.0, 0.0))
        found.finish = lambda: [SimpleNamespace(f=s.f - 1, dependence=s.dependence / 2) for s in states]
        self.descents.append(found)
        return found


def moving(length=None, moves=2, optimizer="gradient", n=100):
    """Return a run of some items whose moves have a length; rises of 1e-7 are rounding."""
    found = Run(Bowls(), np.zeros(n), 0.0, 0.1, 3, optimizer, moves)
    found.length = length
    return found


def test_the_first_move_is_a_twentieth_per_item():
    run = moving(n=4)
    assert run.length is None
    run.first_length(9.0)  # a gradient of length 3 over 4 items: root mean square 3/2, and 1/30 of that is 0.05
    assert run.length == pytest.approx(1 / 30)
    run.first_length(0.0)
    assert np.isfinite(run.length)


def test_the_next_length_is_the_inverse_of_the_largest_of_five_curvatures():
    run = moving(0.25)
    run.accepted()
    assert run.length == 0.5  # nothing is known of the curvature: twice as long
    for curvature in (8.0, 2.0, 4.0, 1.0, 1.0):
        run.learn(0.5, 0.5 * curvature)
    run.learn(0.0, 50.0)  # no curvature at all
    run.learn(-1.0, 50.0)
    run.accepted()
    assert run.length == 1 / 8
    run.learn(0.5, 1.5)  # the sixth: the first is forgotten
    run.accepted()
    assert run.length == 1 / 4


def test_a_rejected_length_is_halved_and_stands_for_what_was_learned():
    run = moving(0.4)
    run.learn(1.0, 100.0)
    assert run.rejected() == run.length == 0.2
    run.accepted()
    assert run.length == pytest.approx(0.2)


def test_lengths_begin_where_there_are_none_and_curvature_counts_from_the_second_move_on():
    new, old = moving(optimizer="momentum"), moving(0.25, optimizer="momentum")
    descent = Told([1, 1], [[1, 1], [0.9, 0.8], [0.7, 0.6]])
    falls = _minimize(descent, [new, old])
    assert falls == [[1.0, 0.9, 0.7], [1.0, 0.8, 0.6]]
    first = 0.05 * 10 / 2  # a gradient of squared length 4 over 100 items
    assert descent.lengths == [[0, 0], [first, 0.25], [2 * first, 0.5]]
    assert descent.momenta == [[0, 0], [0.6, 0.6], [0.6, 0.6]]
    assert descent.accepted == [[0, 1], [0, 1]]
    assert new.length == old.length == pytest.approx(0.5 / 5)  # one over the curvature 5 / 0.5 of the second move


def test_a_run_that_cannot_tell_stays_while_the_others_go_on():
    runs = [moving(0.25, optimizer="momentum") for _ in range(2)]
    descent = Told([1, 1], [[1 + 1e-8, 0.9], [0.5, 0.8]])
    assert _minimize(descent, runs) == [[1.0], [1.0, 0.9, 0.8]]
    assert descent.lengths == [[0.25, 0.25], [0, 0.5]]
    assert descent.momenta == [[0.6, 0.6], [0, 0.6]]
    assert descent.accepted == [[1], [1]]
    assert descent.asked == []
    assert [run.length for run in runs] == [0.25, 0.1]


def test_an_energy_that_stays_the_same_is_accepted():
    descent = Told([1, 1], [[1, 1], [1, 0.5]])
    assert _minimize(descent, [moving(0.25), moving(0.25)]) == [[1.0, 1.0, 1.0], [1.0, 1.0, 0.5]]
    assert descent.asked == []


def test_a_rise_is_one_above_the_last_energy():
    """The second run's third energy is above its second one, though below its first ones: it is shortened twice."""
    descent = Told([1, 4], [[0.5, 3], [0.4, 1], [0.3, 2]], [[1.5], [0.5]])
    falls = _minimize(descent, [moving(0.25, 3), moving(0.25, 3)])
    assert falls == [[1.0, 0.5, 0.4, 0.3], [4.0, 3.0, 1.0, 0.5]]
    assert [which for which, _ in descent.asked] == [[1], [1]]
    lengths = [length for _, (length,) in descent.asked]
    assert lengths == pytest.approx([0.05, 0.025])  # halves of one over the curvature, which is 10


def test_what_rises_however_short_the_move_stays_where_it_is():
    assert MAX_HALVINGS == 25
    runs = [moving(1.0), moving(1.0)]
    descent = Told([1, 1], [[2, 0.5], [2, 0.4]], ([2.0] for _ in range(99)))
    assert _minimize(descent, runs) == [[1.0], [1.0, 0.5, 0.4]]
    assert len(descent.asked) == 25
    assert runs[0].length == 0.5**25
    alone = Told([1], [[2], [0.5]], ([2.0] for _ in range(99)))
    assert _minimize(alone, [moving(1.0)]) == [[1.0]]
    assert (len(alone.lengths), alone.accepted) == (1, [])  # nobody is left who could move


def test_each_call_is_one_step_of_the_loop():
    engine = Bowls()
    run = Run(engine, INITIAL, 0.5, 0.1, 3)
    start = advance([run])[0]
    assert (start.t, start.energies, engine.asked) == (0, (), [])
    assert start.f is INITIAL  # exactly what came in
    np.testing.assert_array_equal(start.dependence, [0.3, 0.1])
    by_hand = np.array([1, np.exp(-2.0)]) / (1 + np.exp(-2.0))  # exp of the difference 0.2 over 0.1
    np.testing.assert_allclose(start.weights, by_hand)
    first = advance([run])[0]
    assert first.t == 1
    np.testing.assert_array_equal(first.f, INITIAL + 99)
    np.testing.assert_allclose(first.weights, np.array([1, np.exp(-1.0)]) / (1 + np.exp(-1.0)))
    np.testing.assert_allclose(engine.asked[0][1], [by_hand])  # the weights before the step
    assert engine.asked[0][2] == [0.5]
    assert first.energies == (1.0, 1.0, 0.5, 0.5, 0.5)  # four moves
    assert engine.descents[0].lengths[:2] == [[0], [0.05]]  # a gradient of length 2 over 4 items
    assert advance([run])[0].t == 2


def test_runs_begin_and_go_on_side_by_side():
    engine = Bowls()
    early, late = (Run(engine, INITIAL, lam, 0.1, 3, inner_iter=1) for lam in (0.5, 2.0))
    advance([early])
    steps = advance([late, early])
    assert [step.t for step in steps] == [0, 1]
    assert [lams for _, _, lams in engine.asked] == [[0.5]]
    assert [step.t for step in advance([late, early])] == [1, 2]
    assert engine.asked[1][2] == [2.0, 0.5]


@pytest.mark.parametrize(("rise", "shortened"), [(3.9e-7, False), (4.5e-7, True)])
def test_energies_are_known_up_to_a_ten_millionth_of_the_most_they_can_be(rise, shortened):
    """Which is one plus lambda."""
    engine = Bowls(rises=rise)
    run = Run(engine, INITIAL, 3.0, 0.1, 3, inner_iter=1)
    advance([run, run][:1])
    advance([run])
    assert bool(engine.descents[0].asked) == shortened
    assert run.energies == ((1.0, 0.5) if shortened else (1.0,))


def test_views_count_for_what_they_have_beyond_the_initial_predictions():
    """A copy has nothing, and one that is unrelated has everything, but no more than that."""
    run = Run(Bowls((0.3, 1.2, -0.5)), INITIAL, 0.5, 0.1, 3, discount=True)
    news, merit = np.array([0.7, 0, 1]), np.array([0.21, 0, -0.5])
    careful = news * np.exp(merit / 0.1)
    np.testing.assert_allclose(advance([run])[0].weights, careful / careful.sum())
    after = news * np.exp(merit / 2 / 0.1)  # dependence is half, and what is new stays what it was at first
    np.testing.assert_allclose(advance([run])[0].weights, after / after.sum())


def test_plain_descent_has_no_momentum_and_four_moves_and_discounts_nothing():
    run = Run(Bowls(), INITIAL, 0.5, 0.1, 3)
    assert (run.momentum, run.inner_iter, run.discount) == (0.0, 4, False)
    assert Run(Bowls(), INITIAL, 0.5, 0.1, 3, "momentum").momentum == 0.6


@pytest.mark.parametrize("found", ["t", "state", "energies", "length", "curvatures", "_news"])
def test_where_a_run_stands_is_not_told_to_it(found):
    with pytest.raises(TypeError):
        Run(Bowls(), INITIAL, 0.5, 0.1, 3, **{found: 1})
