"""What is said of a gain, by figures that are made by hand."""

import numpy as np
import pytest

from tupi.inputs.labels import Pairs, Values, amount
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import metric_for
from tupi.judging.evidence import (
    Evidence,
    Gain,
    gain_of,
    judge_answers,
    judged,
    shares_of,
    speaks_against,
    stated,
    unseen_by,
    worse_losses,
)
from tupi.judging.folds import judge
from tupi.judging.metrics import COMPARISONS, PairwiseAccuracyOfValues, RSquared

TEN = Values(np.arange(10), np.arange(10.0))
VIEW = {"view": np.arange(20.0)[:, None] ** 2}
RISING = np.arange(20.0)
GAIN = Gain(0.7, 0.8, 0.02)


def problem(task="regression", initial=RISING, labels=TEN):
    return make_problem(initial, VIEW, labels, task)


def test_a_gain_goes_where_it_is_better():
    assert Evidence("accuracy", 0.5, 0.75, 0, 1, True, 9, "").gain == 0.25
    assert Evidence("log loss", 0.5, 0.75, 0, 1, True, 9, "", higher_is_better=False).gain == -0.25


def test_only_losses_that_rose_are_told():
    found = {"log loss": (0.5, 0.6), "accuracy": (0.5, 0.6)}
    assert worse_losses(found) == {"log loss": (0.5, 0.6)}
    assert worse_losses({"log loss": (0.5, 0.5), "calibration error": (0.3, 0.2)}) == {}


def test_counts_have_their_nouns():
    assert [amount(count, "label") for count in (0, 1, 2, 1200)] == ["0 labels", "1 label", "2 labels", "1,200 labels"]


def test_the_usual_metrics_in_a_sentence():
    found = Evidence("R²", 0.5, 0.75, 0, 1, True, 9, "", beside={"accuracy": (0.5, 0.625)})
    assert found.others == "On the same labels: accuracy 50.0% to 62.5%."
    assert Evidence("R²", 0.5, 0.75, 0, 1, True, 9, "").others == ""


def test_seven_labels_are_too_few_and_eight_are_not():
    labels = [Values(np.arange(k), np.arange(float(k))) for k in (7, 8)]
    few, enough = (stated(GAIN, one, "ranking", True) for one in labels)
    assert few.sentence == "7 labels are too few to judge the gain by; at least 8 are needed."
    assert np.isnan([few.before, few.after, few.low, few.high]).all()
    assert (enough.before, enough.after, enough.n_labels) == (0.7, 0.8, 8)
    few, enough = (judge(lambda train: RISING, problem("ranking"), one, True) for one in labels)
    assert np.isnan(few.after)
    assert enough.after == 1.0
    assert np.isnan(stated(Gain(0.7, 0.8, np.inf), TEN, "ranking", True).low)


def test_what_comes_back_is_said():
    came, stayed = (stated(GAIN, TEN, "ranking", accepted) for accepted in (True, False))
    assert came.sentence.startswith(
        "On 10 labels, each held out in turn, pairwise accuracy went from 70.0% to 80.0% (gain +10.0 points, 95% "
    )
    assert came.sentence.endswith(").")
    assert "pairwise accuracy would have gone from" in stayed.sentence
    assert stayed.sentence.endswith("The initial predictions were returned unchanged.")
    few = stated(GAIN, Values(np.arange(2), np.arange(2.0)), "ranking", False)
    assert few.sentence.endswith("are needed. The initial predictions were returned unchanged.")


def test_groups_and_comparisons_are_said():
    grouped = Values(TEN.index, TEN.values, groups=np.repeat([0, 1], 5))
    assert ", pairwise accuracy within groups went from" in stated(GAIN, grouped, "ranking", True).sentence
    assert "within groups" not in stated(GAIN, TEN, "ranking", True).sentence
    found = stated(GAIN, Pairs(np.arange(1, 11), np.zeros(10, int)), "ranking", True)
    assert (found.noun, found.sentence[:17]) == ("comparison", "On 10 comparisons")
    assert stated(GAIN, TEN, "ranking", True).noun == "label"


def test_probabilities_that_became_worse_are_told_only_if_they_come_back():
    beside, classes = {"log loss": (0.5, 0.6)}, Values(np.arange(10), np.arange(10) % 2)
    said = "As probabilities they are no better on these labels: log loss went from 0.500 to 0.600."
    assert stated(GAIN, classes, "classification", True, beside=beside).sentence.endswith(" " + said)
    assert said not in stated(GAIN, classes, "classification", False, beside=beside).sentence
    better = stated(GAIN, classes, "classification", True, beside={"log loss": (0.6, 0.5)})
    assert "As probabilities" not in better.sentence
    assert better.beside == {"log loss": (0.6, 0.5)}


def test_the_metric_that_was_asked_for_is_measured():
    assert stated(GAIN, TEN, "regression", True).metric == "R²"
    assert stated(GAIN, TEN, "regression", True, PairwiseAccuracyOfValues()).metric == "pairwise accuracy"
    found = judge(lambda train: RISING, problem(), TEN, True, metric=PairwiseAccuracyOfValues())
    assert found.metric == "pairwise accuracy"
    assert judge(lambda train: RISING, problem(), TEN, True).metric == "R²"


def test_a_method_that_judges_itself():
    """Its own gain stands where it is of the metric that is asked for; otherwise what it predicted is judged."""
    asked, left_out = problem(initial=np.repeat([0.0, 1.0], 10)), (TEN.index, TEN.values)
    usual = metric_for(None, asked)
    told = judged(GAIN, left_out, asked, TEN, True, usual)
    assert (told.metric, told.before, told.after) == ("R²", 0.7, 0.8)
    found = judged(GAIN, left_out, asked, TEN, True, metric_for("pairwise", asked))
    assert (found.metric, found.before, found.after) == ("pairwise accuracy", 0.5, 1.0)
    assert judged(GAIN, None, asked, TEN, True, usual).after == 0.8
    pairs = Pairs(np.arange(1, 11), np.zeros(10, int))
    by_pairs = judged(GAIN, left_out, problem("ranking", labels=pairs), pairs, True, COMPARISONS)
    assert (by_pairs.after, by_pairs.noun) == (0.8, "comparison")


def test_the_usual_metrics_stand_beside():
    """Of 0, ..., 9 predicted as 1 too much: R² is 1 - 1 / 8.25, and the errors are one."""
    found = judge_answers([[(np.arange(10), TEN.values)]], problem(initial=RISING + 1), TEN, True, RSquared())
    assert (found.before, found.after) == pytest.approx((1 - 1 / 8.25, 1))
    assert {name: pytest.approx(one) for name, one in found.beside.items()} == {"RMSE": (1, 0), "MAE": (1, 0)}


@pytest.mark.parametrize(("new", "same"), [(0.0, True), (1e-6, False), (0.3, False)])
def test_only_the_initial_predictions_themselves_are_the_same(new, same):
    answers = [[(np.arange(10), RISING[:10] + new)]]
    found = judge_answers(answers, problem("ranking"), TEN, True, PairwiseAccuracyOfValues())
    assert (found.low == found.high == 0) == same


def test_predictions_without_a_label_take_the_place_of_the_initial_ones():
    held, found = unseen_by(problem(), TEN, np.array([7, 2]), np.array([[70.0], [20.0]]))
    assert held.tolist() == [2, 7]
    np.testing.assert_array_equal(found, [0, 1, 20, 3, 4, 5, 6, 70, 8, 9])
    classes = np.tile([0.75, 0.25], (20, 1))
    classes[19] = 0.5
    labels = Values(np.arange(10), np.arange(10) % 2)
    _, found = unseen_by(problem("classification", classes, labels), labels, np.array([1]), np.array([[0.5, 0.5]]))
    np.testing.assert_array_equal(found, np.vstack([classes[:1], [[0.5, 0.5]], classes[:8]]))


def test_shares_add_up_over_rounds():
    labels = Pairs(np.array([1, 2]), np.array([0, 1]))
    up = np.arange(3.0)
    _, *found = shares_of(COMPARISONS, [[(np.array([0, 1]), up)], [(np.array([0]), up)], []], -up, labels)
    assert [one.tolist() for one in found] == [[0, 0], [2, 1], [2, 1]]


def test_the_gain_over_others():
    old, new = ([[(np.arange(10), sign * TEN.values)]] for sign in (-1, 1))
    found = gain_of(PairwiseAccuracyOfValues(), new, np.zeros(10), TEN, old)
    assert (found.before, found.after) == (0.0, 1.0)
    assert gain_of(PairwiseAccuracyOfValues(), [], np.zeros(10), TEN) is None


def test_what_stays_the_same_is_no_reason_against_it():
    asked = problem()
    assert speaks_against(metric_for("rmse", asked), asked, TEN, TEN.index, RISING[:10, None]) is None
    worse = speaks_against(metric_for("rmse", asked), asked, TEN, TEN.index, 50 - RISING[:10, None])
    assert worse.startswith("But RMSE, which was asked for, went from 0 to 41.4 ")  # of 50 - 2 i, i to 9


def test_how_many_of_the_labels_judged_is_said():
    assert Evidence("accuracy", 0.5, 0.75, 0, 1, True, 1200, "").judges == "1,200 labels"
    assert Evidence("accuracy", 0.5, 0.75, 0, 1, True, 1200, "", n_judging=1100).judges == "1,100 of 1,200 labels"
    everyone, some = (stated(GAIN, TEN, "ranking", True, judging=count) for count in (10, 9))
    assert everyone.n_judging is None
    assert everyone.sentence.startswith("On 10 labels, each held out in turn")
    assert some.n_judging == 9
    assert some.sentence.startswith("On 9 of 10 labels, each held out in turn")
