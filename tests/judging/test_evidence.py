"""How a gain is judged: by labels that the fit did not see, and with an interval that knows what varies together."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import t

from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.judging.evidence import Gain, gain_of, shares_of, stated
from tupi.judging.folds import judge
from tupi.judging.metrics import COMPARISONS, Metric, PairwiseAccuracyOfValues, RSquared, pairwise_accuracy
from tupi.methods.base import Fit, Method
from tupi.methods.ridge import Ridge

TRUTH, SCORES, VIEWS = make_problem_arrays(120)
KNOWN = Values(np.arange(40), TRUTH[:40])


@dataclass(frozen=True, kw_only=True)
class Memory(Method):
    """A method that returns each label that it is shown, zero elsewhere, and remembers what it was shown."""

    name: ClassVar[str] = "memory"

    shown: list = field(default_factory=list)

    def fit(self, prepared, labels, watch=None):
        self.shown.append(labels)
        columns = np.zeros((len(prepared.items), 1))
        if isinstance(labels, Values):
            columns[labels.index, 0] = labels.values
        else:
            np.add.at(columns[:, 0], labels.higher, 1)
            np.add.at(columns[:, 0], labels.lower, -1)
        return Fit(columns, {}, [], [])


@dataclass(frozen=True, kw_only=True)
class Better(Method):
    """A method that knows the truth to some degree, whatever the labels."""

    name: ClassVar[str] = "better"

    scores: tuple = ()

    def fit(self, prepared, labels, watch=None):
        return Fit(np.array(self.scores)[:, None], {}, [], [])


def judged(method, prepared, *arguments, **options):
    return judge(
        method.predictor(prepared), prepared.problem, *arguments, random_state=prepared.random_state, **options
    )


def prepare(labels=KNOWN, task="ranking", seed=0):
    return Prepared(make_problem(SCORES, VIEWS, labels, task), seed)


def all_pairs(n):
    i, j = np.nonzero(TRUTH[:n, None] > TRUTH[:n])
    return Pairs(i, j)


@pytest.mark.parametrize("labels", [KNOWN, all_pairs(20)], ids=["values", "pairs"])
def test_a_method_that_only_remembers_does_no_better_than_chance(labels):
    method = Memory()
    found = judged(method, prepare(labels), labels, True)
    assert found.after == pytest.approx(0.5)
    sizes = {len(shown.values) if isinstance(shown, Values) else len(shown.higher) for shown in method.shown}
    whole = 40 if isinstance(labels, Values) else len(labels.higher)
    assert max(sizes) < whole


def test_each_value_judges_in_each_repeat_by_a_fit_that_was_not_shown_it():
    method = Memory()
    judged(method, prepare(), KNOWN, True, n_repeats=3)
    assert len(method.shown) == 15
    hidden = np.concatenate([np.setdiff1d(KNOWN.index, shown.index) for shown in method.shown])
    np.testing.assert_array_equal(np.bincount(hidden), np.full(40, 3))


def test_scores_are_those_of_the_held_out_pairs():
    """A method that does not look at labels: its scores over all folds, counted pair by pair."""
    prepared, method = prepare(), Memory()
    judged(method, prepared, KNOWN, True, n_repeats=2)
    better = TRUTH + 0.2 * np.random.default_rng(0).normal(size=120)
    found = judged(Better(scores=tuple(better)), prepared, KNOWN, True, n_repeats=2)
    right, pairs = np.zeros(2), 0
    for shown in method.shown:
        held = np.setdiff1d(KNOWN.index, shown.index)
        for i in held:
            for j in held:
                if TRUTH[i] > TRUTH[j]:
                    right += [SCORES[i] > SCORES[j], better[i] > better[j]]
                    pairs += 1
    np.testing.assert_allclose([found.before, found.after], right / pairs)
    assert found.low < found.gain < found.high


def test_the_interval_covers_the_gain_of_a_fixed_improvement():
    """Over many draws of labels, about 95 of 100 intervals hold the gain over all items."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=2000)
    scores, better = truth + rng.normal(size=2000), truth + 0.7 * rng.normal(size=2000)
    problem = make_problem(scores, {"view": rng.normal(size=(2000, 1))}, Values(np.arange(60), truth[:60]))
    prepared = Prepared(problem)
    gain = pairwise_accuracy(better, truth) - pairwise_accuracy(scores, truth)
    covered = []
    for _ in range(100):
        items = rng.permutation(2000)[:60]
        found = judged(Better(scores=tuple(better)), prepared, Values(items, truth[items]), True, n_repeats=2)
        covered.append(found.low <= gain <= found.high)
    assert 0.88 <= np.mean(covered) <= 1.0


def test_same_seed_same_folds_for_all_methods():
    first, second = Memory(), Memory()
    for method in (first, second):
        judged(method, prepare(), KNOWN, True)
    for one, other in zip(first.shown, second.shown, strict=True):
        np.testing.assert_array_equal(one.index, other.index)
    third = Memory()
    judged(third, prepare(seed=1), KNOWN, True)
    assert any(not np.array_equal(a.index, b.index) for a, b in zip(first.shown, third.shown, strict=True))


def test_values_of_a_calibrated_fit_come_back_as_they_are():
    """Regression to the labels' units is not mixed with the initial predictions."""
    labels = Values(np.arange(40), 100 * TRUTH[:40] + 500)
    prepared = prepare(labels, "regression")
    found = Ridge().fit(prepared, labels).predictions(prepared)
    assert abs(found.mean() - 500) < 50
    evidence = judged(Ridge(), prepared, labels, True)
    assert evidence.metric == "R²"
    assert evidence.after > 0.6 > evidence.before


def test_labels_that_leave_nothing_to_judge_by():
    labels = Pairs(np.arange(1, 10), np.zeros(9, int))  # all share item 0: it is always on one side
    found = judged(Memory(), prepare(labels), labels, True)
    assert np.isnan(found.gain)
    assert "no fold of the 9 comparisons leaves comparisons" in found.sentence


class SquaredError(Metric[Values]):
    """A metric that a test adds: the lower, the better."""

    name, tasks, kind, higher_is_better = "squared error", ("regression",), Values, False

    def shares(self, predictions, labels, held=slice(None)):
        return (predictions[labels.index[held]] - labels.values[held]) ** 2


def test_a_label_that_judges_twice_counts_once():
    """Comparison 0 judges a right and a wrong ranking, comparison 1 a right one, comparison 2 none."""
    labels = Pairs(np.array([1, 2, 3]), np.array([0, 1, 2]))
    up = np.arange(4.0)
    rounds = [[(np.array([0, 1]), up)], [(np.array([0]), -up)]]
    used, *_ = shares_of(COMPARISONS, rounds, np.zeros(4), labels)
    gain = gain_of(COMPARISONS, rounds, np.zeros(4), labels)
    assert (gain.before, gain.after) == (0.5, 0.75)
    assert used.higher.tolist() == [1, 2]
    assert gain.error == COMPARISONS.error(np.array([0.0, 0.5]), used)


def test_values_under_ranking_count_by_their_pairs():
    """Of three values held out two are equal: two pairs, both of item 0; the other round has one pair."""
    labels = Values(np.arange(4), np.array([2.0, 1, 1, 3]))
    scores, better = np.array([0.0, 1, -1, 1]), np.array([2.0, 1, 1, 3])
    rounds = [[(np.array([0, 1, 2]), better)], [(np.array([0, 3]), better)]]
    _, before, _, weights = shares_of(PairwiseAccuracyOfValues(), rounds, scores, labels)
    np.testing.assert_array_equal(weights, [3, 1, 1, 1])
    np.testing.assert_array_equal(before, [2, 0, 1, 1])
    gain = gain_of(PairwiseAccuracyOfValues(), rounds, scores, labels)
    assert gain.before == 4 / 6
    assert gain.after == 1.0
    assert gain.error == pytest.approx(2 * np.std([1 / 3, 1, 0, 0]) / 2)


def test_less_of_what_should_be_low_is_a_gain():
    labels = Values(np.arange(30), TRUTH[:30])
    rounds = [[(np.arange(30), TRUTH)]]
    error, determined = (gain_of(metric, rounds, SCORES, labels) for metric in (SquaredError(), RSquared()))
    assert error.before > error.after == 0
    assert SquaredError().gain(error.before, error.after) == pytest.approx(error.before)
    variance = np.var(TRUTH[:30])
    assert error.before == pytest.approx(variance * (determined.after - determined.before))
    assert error.error == pytest.approx(variance * determined.error)


@pytest.mark.parametrize("count", [8, 40])
def test_intervals_of_a_gain_are_student_s_and_wider_than_what_the_labels_show(count):
    """Eight labels that all agree do not know the gain for certain, as an interval of no width said."""
    labels = Values(np.arange(count), np.arange(count, dtype=float))
    for task, gain in (("ranking", Gain(0.7, 0.8, 0.02)), ("regression", Gain(0.2, 0.6, 0.05))):
        unseen, unit = (0.1, 0.0) if task == "ranking" else (0.35, 2.0)
        error = np.sqrt(gain.error**2 + (unseen**2 + (unit * (gain.after - gain.before)) ** 2) / count)
        found = stated(gain, labels, task, True)
        assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, count - 1) * error)
        assert (found.high + found.low) / 2 == pytest.approx(gain.after - gain.before)
    sure = stated(Gain(0.7, 0.7, 0.0), labels, "ranking", True)
    assert sure.low < 0 < sure.high
    same = stated(Gain(0.7, 0.7, 0.0), labels, "ranking", False, same=True)
    assert same.low == same.high == 0
