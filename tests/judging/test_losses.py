"""Metrics beside the first of each task, by figures that are made by hand, and which of them fit a problem."""

import numpy as np
import pytest

from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import SMALLEST_PROBABILITY, make_problem
from tupi.judging.catalogue import (
    UNITS,
    AbsoluteError,
    AreaUnderCurve,
    BalancedAccuracy,
    Brier,
    CalibrationError,
    LogLoss,
    SquaredError,
    metric_for,
    usual_beside,
)
from tupi.judging.whole import AveragePrecision, Ndcg, Own
from tupi.runtime.errors import InputError

VIEWS = {"view": np.arange(20.0)[:, None] ** 2}
RISING = np.arange(20.0)
FOUR = np.array([[0.5, 0.5], [0.75, 0.25], [0.25, 0.75], [0.0, 1.0]])
BOTH = Values(np.arange(4), np.array([0, 0, 1, 0]))


def problem(task="ranking", initial=RISING, labels=None):
    return make_problem(initial, VIEWS, labels, task)


def test_errors_by_hand():
    said, labels = np.array([1.0, 4, 0]), Values(np.arange(3), np.array([0.0, 1, 0]))
    assert AbsoluteError().score(said, labels) == pytest.approx(4 / 3)
    assert SquaredError().score(said, labels) == pytest.approx(np.sqrt(10 / 3))
    assert SquaredError().average(np.array([2.0, 36]), np.array([2.0, 4])) == pytest.approx(np.sqrt(5))
    # The root of 10 / 3 changes by one over twice the root of what the mean changes by.
    parts = SquaredError().parts(np.array([2.0, 18, 0]), np.full(3, 2.0))
    np.testing.assert_allclose(parts, np.array([1, 9, 0]) / (2 * np.sqrt(10 / 3)))
    np.testing.assert_array_equal(SquaredError().parts(np.zeros(3), np.ones(3)), 0)
    small = SquaredError().parts(np.full(2, 0.01), np.ones(2))
    np.testing.assert_allclose(small, 0.05)
    assert AbsoluteError.bounds == SquaredError.bounds == (0, np.inf)
    assert not AbsoluteError.higher_is_better


def test_probabilities_by_hand():
    assert LogLoss().score(FOUR, BOTH) == pytest.approx(
        -np.mean(np.log([0.5, 0.75, 0.75, SMALLEST_PROBABILITY]))
    )  # an impossible class that came counts as a millionth
    assert LogLoss().score(FOUR, Values([3], np.array([1]))) == 0.0
    assert LogLoss().shares(np.array([[-0.5, 1.5]]), Values(np.arange(1), np.array([1]))) == 0.0
    assert Brier().score(FOUR, BOTH) == pytest.approx((1 / 4 + 1 / 16 + 1 / 16 + 1) / 4)
    three = np.array([[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]])
    assert Brier().shares(three, Values(np.arange(2), np.array([1, 1]))).tolist() == [0.25 + 0.5625 + 0.0625, 0]
    assert LogLoss.bounds == (0, pytest.approx(-np.log(SMALLEST_PROBABILITY)))
    assert Brier.bounds == (0, 2)
    for metric in (LogLoss, Brier, CalibrationError):
        assert metric.of_probabilities
        assert not metric.higher_is_better


def test_calibration_by_hand():
    """19 labels are one bin and 20 are two, in which 0.25 and 0.75 are said, and none and all come true."""
    said = np.repeat([0.25, 0.75], 10)
    came = np.repeat([0, 1], 10)
    both = np.column_stack([1 - said, said])
    assert CalibrationError().of(came, both) == pytest.approx(0.25)
    assert CalibrationError().of(came[1:], both[1:]) == pytest.approx((10 - 9 * 0.25 - 7.5) / 19)
    assert CalibrationError().of(came[:3], both[:3]) == pytest.approx(0.25)  # one bin at least
    three = np.column_stack([0.25 * np.ones(20), np.full(20, 0.625), np.full(20, 0.125)])
    assert CalibrationError().of(np.ones(20), three) == pytest.approx(0.375)
    # 120 labels of 120 probabilities in ten bins of twelve, not in twelve of ten: signs differ within bins of twelve.
    many = (np.arange(120) + 0.5) / 120
    true = (np.arange(120) // 10 % 2).astype(int)
    expected = np.abs((many - true).reshape(10, 12).sum(axis=1)).sum() / 120
    assert CalibrationError().of(true, np.column_stack([1 - many, many])) == pytest.approx(expected)


def test_classes_count_alike_in_balanced_accuracy():
    """Of class 0 two of three are right, and of class 1 the only one."""
    metric, said = BalancedAccuracy(), np.array([[0.6, 0.4], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]])
    assert metric.weights(BOTH).tolist() == pytest.approx([1 / 3, 1 / 3, 1, 1 / 3])
    assert metric.score(said, BOTH) == pytest.approx((2 / 3 + 1) / 2)
    np.testing.assert_allclose(metric.shares(said, BOTH), [1 / 3, 1 / 3, 1, 0])
    np.testing.assert_allclose(metric.parts(metric.shares(said, BOTH), metric.weights(BOTH)), [2 / 3, 2 / 3, 2, 0])
    np.testing.assert_allclose(metric.weights(BOTH, np.array([2, 0])), [1, 1 / 3])


def test_the_area_under_the_curve_is_of_the_positive_class():
    assert AreaUnderCurve().score(FOUR, BOTH) == pytest.approx(2 / 3)  # 0.75 is above 0.5 and 0.25, and below 1
    assert AreaUnderCurve().score(FOUR[:, 1], BOTH) == pytest.approx(2 / 3)
    assert (AreaUnderCurve.unseen, AreaUnderCurve.n_values) == (0.1, 2)


def test_values_in_unknown_units_have_four_digits():
    assert (UNITS.level(1234.56), UNITS.difference(0.012345)) == ("1235", "+0.0123")
    assert (UNITS.factor, UNITS.decimals) == (1.0, 3)


GRADES = Values(np.arange(6), np.array([0.0, 1, 2, 3, 0, 50]))
TWO = Values(np.arange(6), np.array([0.0, 1, 1, 1, 0, 0]))


def test_places_of_ndcg():
    assert metric_for("ndcg", problem(labels=GRADES)).name == "NDCG@10"
    assert metric_for(" NDCG@1 ", problem(labels=GRADES)).k == 1
    for key in ("ndcg@0", "ndcg@", "ndcg@-1"):
        with pytest.raises(InputError, match="a number of places"):
            metric_for(key, problem(labels=GRADES))
    for grade in (-1.0, 51.0):
        wrong = Values(GRADES.index, np.append(GRADES.values[:5], grade))
        with pytest.raises(InputError, match="grades from 0 to 50"):
            metric_for("ndcg@5", problem(labels=wrong))


def test_without_labels_nothing_is_judged_but_what_cannot_fit_is_refused():
    for metric in (None, "pairwise", "ndcg@3", "map", "auc", np.corrcoef):
        assert metric_for(metric, problem()) is None
    for metric in ("rmse", "log_loss"):
        with pytest.raises(InputError, match=f"'{metric}', which does not fit here"):
            metric_for(metric, problem())
    with pytest.raises(InputError, match="'nonsense', which is unknown"):
        metric_for("nonsense", problem())


def test_what_fits_depends_on_the_labels():
    assert isinstance(metric_for("map", problem(labels=TWO)), AveragePrecision)
    assert isinstance(metric_for("auc", problem(labels=TWO)), AreaUnderCurve)
    assert isinstance(
        metric_for(None, problem("regression", labels=TWO)), type(metric_for("r2", problem("regression", labels=TWO)))
    )
    assert isinstance(metric_for(np.dot, problem(labels=TWO)), Own)
    assert isinstance(metric_for("ndcg@3", problem(labels=TWO)), Ndcg)
    pairs = problem(labels=Pairs([0, 1], [2, 3]))
    for key, given in (("map", problem(labels=GRADES)), ("auc", problem(labels=GRADES)), ("map", pairs)):
        with pytest.raises(InputError, match="does not fit here"):
            metric_for(key, given)
    with pytest.raises(InputError, match="found a function, and labels that are comparisons"):
        metric_for(np.dot, pairs)
    with pytest.raises(InputError, match="metric: found float"):
        metric_for(0.5, problem(labels=TWO))


def test_classes_have_metrics_of_two_or_of_probabilities():
    classes = Values(np.arange(6), np.array([0, 1, 0, 1, 1, 0]))
    two = np.column_stack([RISING, 19 - RISING]) / 19
    three = np.column_stack([RISING, 19 - RISING, RISING]) / (19 + RISING)[:, None]
    found = {}
    for name, initial in (("two", two), ("three", three), ("scores", 5 * three)):
        given = problem("classification", initial, classes)
        found[name] = [one.key for one in usual_beside(metric_for(None, given), given)]
    assert found == {
        "two": ["log_loss", "calibration_error", "auc"],
        "three": ["log_loss", "calibration_error"],
        "scores": [],
    }


def test_ndcg_by_hand():
    """Grades 1, 0, 2 in this order: worth 1 + 0 + 3 / 2 of 3 + 1 / log2(3)."""
    labels = Values(np.arange(3), np.array([1.0, 0, 2]))
    best = 3 + 1 / np.log2(3)
    assert Ndcg(3).score(np.array([3.0, 2, 1]), labels) == pytest.approx((1 + 3 / 2) / best)
    assert Ndcg(2).score(np.array([3.0, 2, 1]), labels) == pytest.approx(1 / best)
    assert Ndcg(1).score(np.array([3.0, 2, 1]), labels) == pytest.approx(1 / 3)
    # Equal scores share their places.
    tied = (1 + 3) / 2 * (1 + 1 / np.log2(3))
    assert Ndcg(3).score(np.array([3.0, 2, 3]), labels) == pytest.approx(tied / best)


def jackknife(values, parts):
    without = np.array([np.mean(np.delete(values, np.flatnonzero(parts == part))) for part in np.unique(parts)])
    k = len(without)
    return np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2))


@pytest.mark.parametrize("m", [7, 200, 400])
def test_how_sure_a_score_of_all_labels_is_follows_from_leaving_out_labels(m):
    """One by one, or in 200 parts."""
    said = np.random.default_rng(0).normal(size=m)
    labels, metric = Values(np.arange(m), np.arange(float(m))), Own(lambda truth, said: said.mean(), lambda one: one)
    shares = metric.shares(said, labels)
    assert shares.mean() == pytest.approx(said.mean())
    assert metric.error(shares, labels) == pytest.approx(jackknife(said, np.arange(m) % 200))
    assert (metric.pooled, metric.bounds, metric.higher_is_better) == (True, (-np.inf, np.inf), True)


def test_groups_count_as_one_each_and_not_where_labels_are_equal():
    groups = np.array([0, 0, 1, 1, 1, 2, 2])
    labels = Values(np.arange(7), np.array([0.0, 1, 0, 0, 1, 1, 1]), groups=groups)
    metric = AveragePrecision()
    assert metric.weights(labels).tolist() == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    said = np.array([1.0, 2, 3, 2, 1, 0, 5])  # the only relevant one is first of two, and last of three
    np.testing.assert_allclose(metric.shares(said, labels), [1 / 2, 1 / 2, 1 / 9, 1 / 9, 1 / 9, 0, 0])
    assert metric.score(said, labels) == pytest.approx((1 + 1 / 3) / 2)
    two = Values(labels.index[:5], labels.values[:5], groups=groups[:5])
    gains = np.array([0.5, 0.5, 0, 0, 0])  # group means 1/2 and 0, each 1/4 off their mean
    assert metric.error(gains, two) == pytest.approx(np.sqrt(2 * 2) / 4 / 2)
    one = Values(labels.index[:2], labels.values[:2], groups=groups[:2])
    assert metric.error(gains[:2], one) == np.inf
    assert np.isnan(metric.of(np.zeros(3, bool), said[:3]))


def test_functions_of_ones_own_have_names_and_must_give_a_number():
    labels = Values(np.arange(3), np.arange(3.0))
    assert Own(lambda truth, said: 1.0, np.asarray).name == "metric"
    assert Own(np.dot, np.asarray).name == "dot"
    with pytest.raises(InputError, match="metric: dot gave nan for 3 labels"):
        Own(np.dot, np.asarray).shares(np.array([np.nan, 1, 2]), labels)
    grouped = Values(np.arange(4), np.arange(4.0), groups=np.array([0, 0, 1, 1]))
    with pytest.raises(InputError, match="for 2 labels"):
        Own(np.dot, np.asarray).shares(np.array([1.0, 1, 2, np.inf]), grouped)


def test_labels_that_speak_for_a_score_have_higher_shares():
    """Of a mean over m labels, leaving one out moves the mean by its distance from it over m - 1."""
    said, labels = np.array([0.0, 1, 2, 5]), Values(np.arange(4), np.zeros(4))
    found = Own(lambda truth, given: float(np.mean(given - truth)), lambda given: given).shares(said, labels)
    np.testing.assert_allclose(found, 2 + np.sqrt(4 * 3) * (said - 2) / 3)
