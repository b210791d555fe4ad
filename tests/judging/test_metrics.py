"""Each metric against its definition: the score, the shares of the labels and the error of a gain."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tupi
from tupi.inputs.labels import Pairs, Values
from tupi.judging import metrics
from tupi.judging.catalogue import axis_of
from tupi.judging.metrics import (
    COMPARISONS,
    METRICS,
    PER_CENT,
    PLAIN,
    AccuracyOfClasses,
    PairwiseAccuracyOfValues,
    RSquared,
    _add_right_below,
    error_of_groups,
    metric_of,
    usual_metrics,
)

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=40)


def right(first, second):
    return 1.0 if first > second else 0.5 if first == second else 0.0


def brute_force(scores, truth):
    """Return for each item how many of its pairs are ranked right, and how many it has."""
    n = len(scores)
    won, pairs = np.zeros(n), np.zeros(n)
    for i in range(n):
        for j in range(n):
            if truth[i] != truth[j]:
                pairs[i] += 1
                won[i] += right(scores[i], scores[j]) if truth[i] > truth[j] else right(scores[j], scores[i])
    return won, pairs


def problem(metric, rng, n=40, m=25):
    """Return predictions of n items, twice, and m labels of the kind that a metric needs."""
    index = rng.permutation(n)[:m]
    if isinstance(metric, AccuracyOfClasses):
        return rng.normal(size=(2, n, 3)), Values(index, rng.integers(0, 3, m))
    truth = rng.normal(size=n).round(1)
    predictions = truth + rng.normal(size=(2, n)).round(1)
    if metric.kind is Values:
        return predictions, Values(index, truth[index])
    first, second = rng.integers(0, n, (2, 3 * m))
    differ = truth[first] > truth[second]
    return predictions, Pairs(first[differ], second[differ])


@given(ROWS)
def test_pairwise_accuracy_is_exact(rows):
    scores, truth = map(np.array, zip(*rows, strict=True))
    if len(set(truth.tolist())) < 2:
        with pytest.raises(tupi.InputError, match="at least two distinct"):
            tupi.pairwise_accuracy(scores, truth)
    else:
        won, pairs = brute_force(scores, truth)
        assert tupi.pairwise_accuracy(scores, truth) == won.sum() / pairs.sum()


@pytest.mark.parametrize("few", [metrics.FEW, 0], ids=["all pairs", "compiled"])
@given(rows=ROWS)
def test_shares_of_values_are_right_pairs_of_each_item(few, rows):
    scores, truth = map(np.array, zip(*rows, strict=True))
    won, pairs = brute_force(scores, truth)
    labels, metric = Values(np.arange(len(truth)), truth), PairwiseAccuracyOfValues()
    with mock.patch.object(metrics, "FEW", few):
        np.testing.assert_array_equal(metric.shares(scores, labels), won)
    np.testing.assert_array_equal(metric.weights(labels), pairs)


def test_values_held_out_form_pairs_among_themselves():
    rng = np.random.default_rng(0)
    metric = PairwiseAccuracyOfValues()
    (scores, _), labels = problem(metric, rng)
    held = rng.permutation(25)[:9]
    won, pairs = brute_force(scores[labels.index[held]], labels.values[held])
    np.testing.assert_array_equal(metric.shares(scores, labels, held), won)
    np.testing.assert_array_equal(metric.weights(labels, held), pairs)


def test_pairwise_accuracy_of_many_items_needs_no_quadratic_memory():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200_000)
    assert tupi.pairwise_accuracy(truth, truth) == 1.0
    assert tupi.pairwise_accuracy(-truth, truth) == 0.0
    assert tupi.pairwise_accuracy(np.zeros_like(truth), truth) == 0.5


def test_pairwise_accuracy_takes_values_pairs_and_nan():
    scores = np.array([3.0, 1.0, 2.0, 5.0])
    assert tupi.pairwise_accuracy(scores, [1, np.nan, 0, np.nan]) == 1.0
    assert tupi.pairwise_accuracy(scores, Values([0, 2], [0, 1])) == 0.0
    assert tupi.pairwise_accuracy(scores, Pairs([3, 1], [0, 2])) == 0.5


def right_pair(scores, higher, lower):
    return right(scores[higher], scores[lower])


def right_class(scores, item, known):
    return float(max(range(3), key=lambda c: scores[item, c]) == known)


@pytest.mark.parametrize(("metric", "share"), [(COMPARISONS, right_pair), (AccuracyOfClasses(), right_class)])
def test_shares_that_are_right_or_wrong_by_definition(metric, share):
    (scores, _), labels = problem(metric, np.random.default_rng(1))
    parts = (labels.higher, labels.lower) if metric is COMPARISONS else (labels.index, labels.values)
    expected = [share(scores, *one) for one in zip(*parts, strict=True)]
    np.testing.assert_array_equal(metric.shares(scores, labels), expected)
    assert metric.score(scores, labels) == pytest.approx(np.mean(expected))


def test_r_squared_by_definition():
    rng = np.random.default_rng(3)
    metric = RSquared()
    (values, _), labels = problem(metric, rng)
    residual = sum((values[i] - known) ** 2 for i, known in zip(labels.index, labels.values, strict=True))
    spread = sum((known - labels.values.mean()) ** 2 for known in labels.values)
    assert metric.score(values, labels) == pytest.approx(1 - residual / spread)
    assert metric.shares(values, labels)[4] == pytest.approx(
        1 - (values[labels.index[4]] - labels.values[4]) ** 2 / (spread / 25)
    )


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: type(metric).__name__)
def test_shares_of_parts_are_those_of_the_whole_and_average_to_the_score(metric):
    rng = np.random.default_rng(4)
    (scores, _), labels = problem(metric, rng)
    shares, weights = metric.shares(scores, labels), metric.weights(labels)
    assert metric.score(scores, labels) == pytest.approx(shares.sum() / weights.sum())
    assert metric.bounds[0] <= metric.score(scores, labels) <= metric.bounds[1]
    if not isinstance(metric, PairwiseAccuracyOfValues):  # whose pairs are within a part
        some = np.array([7, 2, 11])
        np.testing.assert_allclose(metric.shares(scores, labels, some), shares[some])
        np.testing.assert_array_equal(metric.weights(labels, some), weights[some])


@pytest.mark.parametrize(
    "metric", [RSquared(), AccuracyOfClasses(), PairwiseAccuracyOfValues()], ids=lambda metric: metric.name
)
def test_the_error_of_a_gain_is_that_of_the_bootstrap(metric):
    """Labelled items are drawn again and again; equal copies of an item form no pair with one another."""
    rng = np.random.default_rng(5)
    (old, new), labels = problem(metric, rng, n=150, m=150)
    before, after = (metric.shares(f, labels) for f in (old, new))
    error = metric.error((after - before) / metric.weights(labels), labels)
    gains = []
    for _ in range(600):
        drawn = rng.integers(0, 150, 150)
        again = Values(labels.index[drawn], labels.values[drawn])
        # R² is in units of the variance of the labels, and the error in those of the variance of these.
        unit = np.var(again.values) / np.var(labels.values) if isinstance(metric, RSquared) else 1.0
        gains.append(unit * (metric.score(new, again) - metric.score(old, again)))
    assert error == pytest.approx(np.std(gains), rel=0.15)


def test_error_of_comparisons_that_share_nothing_is_the_usual_one():
    gain = np.random.default_rng(0).normal(size=50)
    error = COMPARISONS.error(gain, Pairs(np.arange(50), np.arange(50, 100)))
    assert error == pytest.approx(gain.std() / np.sqrt(50))


def test_error_of_comparisons_that_share_items():
    """The sum over all pairs of comparisons that have an item in common."""
    rng = np.random.default_rng(1)
    ends = np.array([(i, j) for i in range(8) for j in range(i)])
    gain = rng.normal(size=len(ends))
    centred, total = gain - gain.mean(), 0.0
    for p in range(len(ends)):
        for q in range(len(ends)):
            if set(ends[p]) & set(ends[q]):
                total += centred[p] * centred[q]
    expected = np.sqrt(max(total, 0)) / len(ends)
    assert COMPARISONS.error(gain, Pairs(ends[:, 0], ends[:, 1])) == pytest.approx(expected)


def test_what_is_measured_depends_on_task_and_labels():
    values, pairs = Values(np.array([0, 1]), np.array([0.0, 1.0])), Pairs(np.array([0]), np.array([1]))
    found = {
        (task, type(labels)): metric_of(task, labels)
        for task in ("ranking", "regression")
        for labels in (values, pairs)
    }
    assert isinstance(found["ranking", Values], PairwiseAccuracyOfValues)
    assert isinstance(found["regression", Values], RSquared)
    assert found["ranking", Pairs] is found["regression", Pairs] is COMPARISONS
    assert isinstance(metric_of("classification", values), AccuracyOfClasses)
    assert [metric.name for metric in usual_metrics("regression").values()] == ["R²", "pairwise accuracy"]


def test_words():
    assert PER_CENT.level(0.7126) == "71.3%"
    assert PER_CENT.number(0.7126) == "71.3"
    assert PER_CENT.change(0.5, 0.6, 0.1, -0.012, 0.2) == (
        "50.0% to 60.0% (gain +10.0 points, 95% interval -1.2 to +20.0)"
    )
    assert PLAIN.change(0.5, 0.6, 0.1, -0.012, 0.2) == "0.500 to 0.600 (gain +0.100, 95% interval -0.012 to +0.200)"
    assert [axis_of(name) for name in ("accuracy", "R²", "a function of one's own")] == [
        "accuracy, points",
        "R²",
        "a function of one's own",
    ]


@pytest.mark.parametrize(
    ("words", "value", "said"),
    [
        (PER_CENT, 0.0, "+0.0"),
        (PER_CENT, 0.0003, "+0.03"),
        (PER_CENT, 0.00048, "+0.05"),
        (PER_CENT, -0.0005, "-0.1"),
        (PER_CENT, 0.03, "+3.0"),
        (PLAIN, -0.0002, "-0.0002"),
        (PLAIN, 0.0008, "+0.001"),
    ],
)
def test_a_difference_just_off_zero_does_not_read_as_zero(words, value, said):
    assert words.difference(value) == said


def test_the_error_of_groups_by_hand():
    """Of gains 1, 0, 0, 0 the mean is 1/4; the first group is 1/2 above that in sum, and the second as far below."""
    gains, ones = np.array([1.0, 0, 0, 0]), np.ones(4)
    assert error_of_groups(gains, ones, np.array([3, 3, 7, 7])) == pytest.approx(np.sqrt(2 * (1 / 4 + 1 / 4)) / 4)
    assert error_of_groups(gains, ones, np.array([0, 0, 0, 0])) == error_of_groups(gains, ones, None) == 0.0
    # With weights 3, 1, 1, 1 the mean is 1/2, and three groups are 3/2 above it, 1/2 below and 1 below.
    three = error_of_groups(gains, np.array([3.0, 1, 1, 1]), np.array([0, 1, 2, 2]))
    assert three == pytest.approx(np.sqrt(3 / 2 * (9 / 4 + 1 / 4 + 1)) / 6)


def test_errors_of_a_gain_by_hand():
    gains = np.array([1.0, 0, 0, 1])  # deviation 1/2, so that the mean of four errs by 1/4
    labels = Values(np.arange(4), np.arange(4.0))
    assert RSquared().error(gains, labels) == 0.25
    assert PairwiseAccuracyOfValues().error(gains, labels) == 0.5
    grouped = Values(labels.index, labels.values, groups=np.array([0, 1, 1, 0]))
    # Within a group each has one pair: sums of 1 and -1 about the mean 1/2.
    assert PairwiseAccuracyOfValues().error(gains, grouped) == pytest.approx(np.sqrt(2 * 2) / 4)
    together = Values(np.arange(6), np.arange(6.0), groups=np.array([0, 1, 1, 0, 2, 2]))
    more = np.array([1.0, 0, 0, 1, 0, 0])  # the mean is 1/3, and sums are 4/3, -2/3 and -2/3
    by_groups = np.sqrt(3 / 2 * (16 + 4 + 4) / 9) / 6
    assert PairwiseAccuracyOfValues().error(more, together) == pytest.approx(max(by_groups, 2 * np.std(more) / 6**0.5))


def test_comparisons_of_a_group_vary_together():
    gains, pairs = np.array([1.0, 1, 0, 0]), (np.arange(4), np.arange(4, 8))
    assert COMPARISONS.error(gains, Pairs(*pairs)) == 0.25
    grouped = Pairs(*pairs, groups=np.array([0, 0, 1, 1]))
    assert COMPARISONS.error(gains, grouped) == pytest.approx(np.sqrt(2 * 2) / 4)
    # Two that share an item and go apart cancel: the variance of their sum is not negative.
    assert COMPARISONS.error(np.array([1.0, -1]), Pairs(np.array([0, 0]), np.array([1, 2]))) == 0.0


def test_shares_of_several_rounds_are_averaged_per_label_or_per_pair():
    shares, weights = np.array([1.0, 4]), np.array([2.0, 4])
    assert RSquared().average(shares, weights) == 0.75
    np.testing.assert_array_equal(RSquared().parts(shares, weights), [0.5, 1])
    assert PairwiseAccuracyOfValues().average(shares, weights) == pytest.approx(5 / 6)
    assert RSquared().gain(0.25, 1.0) == 0.75


@pytest.mark.parametrize(
    ("metric", "bounds", "unseen", "unit"),
    [
        (RSquared(), (-np.inf, 1), 0.35, 2),
        (AccuracyOfClasses(), (0, 1), 0.1, 0),
        (PairwiseAccuracyOfValues(), (0, 1), 0.1, 0),
        (COMPARISONS, (0, 1), 0.1, 0),
    ],
    ids=lambda one: getattr(one, "name", None),
)
def test_metrics_have_the_figures_that_were_measured_with(metric, bounds, unseen, unit):
    """See experiments/coverage_of_gains.py."""
    assert (metric.bounds, metric.unseen, metric.uncertain_unit) == (bounds, unseen, unit)
    assert metric.higher_is_better
    assert not metric.pooled
    assert not metric.of_probabilities
    assert metric.n_values is None


def test_metrics_that_say_nothing_have_no_deviation_of_their_own():
    assert (metrics.Metric.unseen, metrics.Metric.uncertain_unit) == (0, 0)


@pytest.mark.parametrize("scores", [[[1.0, 2.0]], [1.0, np.inf], [[1.0, np.nan]]])
def test_scores_are_a_row_of_finite_numbers(scores):
    with pytest.raises(tupi.InputError, match="scores: accepted: a one-dimensional array of finite numbers"):
        tupi.pairwise_accuracy(scores, [1, 2])


def test_a_truth_is_asked_for_and_pairs_may_be_those_within_groups():
    with pytest.raises(tupi.InputError, match="truth: found None"):
        tupi.pairwise_accuracy([1.0, 2.0], None)
    assert tupi.pairwise_accuracy([1.0, 2, 3, 3], [0, 1, 2, 3], ["a", "a", "b", "b"]) == 0.75
    labels = Values(np.arange(4), np.array([0.0, 1, 2, 3]), groups=np.array([0, 0, 1, 1]))
    metric = PairwiseAccuracyOfValues()
    np.testing.assert_array_equal(metric.shares(np.array([1.0, 2, 3, 3]), labels), [1, 1, 0.5, 0.5])
    np.testing.assert_array_equal(metric.weights(labels), [1, 1, 1, 1])


def test_a_gain_is_how_much_better_and_not_how_much_higher():
    higher, lower = PairwiseAccuracyOfValues(), PairwiseAccuracyOfValues()
    lower.higher_is_better = False
    assert (higher.gain(0.25, 1.0), lower.gain(1.0, 0.25)) == (0.75, 0.75)
    np.testing.assert_array_equal(lower.gain(np.array([3.0, 1.0]), np.array([1.0, 2.0])), [2.0, -1.0])


def test_compiled_code_stays_within_its_tree():
    """Six ranks climb to the eighth place of a tree that has eight, numbered from zero: what follows is another's."""
    room, right = np.zeros(9, np.int64), np.zeros(6)
    _add_right_below(np.arange(6), np.arange(6), room[:8], right)
    assert right.tolist() == [0, 1, 2, 3, 4, 5]
    assert room[8] == 0
