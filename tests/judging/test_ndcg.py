import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score

import tupi
from tupi.inputs.groups import as_groups
from tupi.inputs.problem import make_problem
from tupi.judging.catalogue import metric_for
from tupi.judging.evidence import gain_of
from tupi.judging.ndcg import ndcg_of_groups
from tupi.judging.whole import Ndcg


def test_it_is_that_of_scikit_learn_with_exponential_gains_averaged_over_queries():
    rng = np.random.default_rng(0)
    queries, relevance = rng.integers(0, 30, 500), rng.integers(0, 4, 500).astype(float)
    scores = (relevance + 3 * rng.normal(size=500)).round()  # with ties
    each = []
    for query in np.unique(queries):
        own = queries == query
        if len(set(relevance[own])) > 1:
            each.append(ndcg_score([2 ** relevance[own] - 1], [scores[own]], k=10))
    assert tupi.ndcg(scores, relevance, queries) == pytest.approx(np.mean(each), abs=1e-12)


def test_unknown_relevance_and_queries_without_a_choice_do_not_count():
    found = tupi.ndcg([3, 2, 1, 9, 5, 4], [1, 0, np.nan, 0, 2, 2], list("aaaabb"), k=1)
    assert found == tupi.ndcg([3, 2, 9], [1, 0, 0]) * 0 + tupi.ndcg([3, 2, 9], [1, 0, 0], k=1)
    assert found == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2], [0, -1]), "relevance: found -1"),
        (([1, 2], [0, 1, 2]), r"relevance: found shape \(3,\) for 2 scores"),
        (([1, 2], [1, 1]), "relevance: no query has items of different relevance"),
        (([1, 2], [0, 1], None, 0), "k: found 0"),
        (([1, np.nan], [0, 1]), "scores"),
    ],
)
def test_bad_arguments_get_a_sentence(arguments, words):
    with pytest.raises(tupi.InputError, match=words):
        tupi.ndcg(*arguments)


def test_metrics_of_lists_are_means_over_groups():
    rng = np.random.default_rng(0)
    n, groups = 90, np.repeat(np.arange(9), 10)
    grades = rng.integers(0, 3, n)
    grades[groups == 4] = 1  # ranks nothing
    scores, new = grades + rng.normal(size=(2, n)) * [[2.0], [1.0]]
    labels = as_groups(groups, n, None).of(tupi.Values(np.arange(n), grades.astype(float)))
    found = gain_of(Ndcg(5), [[(np.arange(n), new)]], scores, labels)
    assert found.before == pytest.approx(tupi.ndcg(scores, grades, groups, k=5), abs=1e-12)
    assert found.after == pytest.approx(tupi.ndcg(new, grades, groups, k=5), abs=1e-12)
    each = ndcg_of_groups(new, grades, groups, 5) - ndcg_of_groups(scores, grades, groups, 5)
    each = each[~np.isnan(each)]
    assert found.error == pytest.approx(each.std(ddof=1) / np.sqrt(len(each)))


@pytest.mark.parametrize("metric", ["map", lambda truth, said: average_precision_score(truth, said)])
def test_average_precision_and_functions_of_ones_own_are_within_groups(metric):
    rng = np.random.default_rng(1)
    n, groups = 60, np.repeat(np.arange(6), 10)
    relevant = (rng.random(n) < 0.4).astype(float)
    scores = relevant + rng.normal(size=n) + 5 * groups
    problem = make_problem(scores, [rng.normal(size=(n, 2))], relevant, groups=groups)
    found = metric_for(metric, problem).score(scores, problem.labels)
    each = [average_precision_score(*both) for both in zip(np.split(relevant, 6), np.split(scores, 6), strict=True)]
    assert found == pytest.approx(np.mean(each))


def test_one_group_does_not_say_how_sure_a_mean_over_groups_is():
    labels = as_groups(np.zeros(10, int), 10, None).of(tupi.Values(np.arange(10), np.arange(10.0)))
    assert Ndcg(5).error(np.zeros(10), labels) == np.inf


def test_ten_places_count_unless_said_otherwise():
    """Only the eleventh of twelve is relevant."""
    scores, grades = np.arange(12.0)[::-1], (np.arange(12) == 10).astype(float)
    assert tupi.ndcg(scores, grades) == 0.0
    assert ndcg_of_groups(scores, grades, np.zeros(12, np.int64)).tolist() == [0.0]
    assert tupi.ndcg(scores, grades, k=11) == pytest.approx(1 / np.log2(12))
    assert tupi.ndcg(scores[9:], grades[9:], k=1) == 0.0
    assert len(ndcg_of_groups(scores[:0], grades[:0], np.zeros(0, np.int64))) == 0


def test_grades_from_0_to_50_at_whole_places():
    assert tupi.ndcg([2, 1], [50, 0]) == 1.0
    for grade in (51, -0.5):
        with pytest.raises(tupi.InputError, match=f"relevance: found {grade}; accepted: grades from 0 to 50"):
            tupi.ndcg([2, 1, 0], [1, grade, -9])
    for k in (1.5, None):
        with pytest.raises(tupi.InputError, match="k: found"):
            tupi.ndcg([2, 1], [1, 0], k=k)


def test_ndcg_by_hand():
    """Grades 1, 0, 2 in this order are worth 1 + 0 + 3 / 2, of 3 + 1 / log2(3)."""
    best = 3 + 1 / np.log2(3)
    assert tupi.ndcg([3, 2, 1], [1, 0, 2]) == pytest.approx((1 + 3 / 2) / best)
    assert tupi.ndcg([3, 2, 1], [1, 0, 2], k=2) == pytest.approx(1 / best)
    assert tupi.ndcg([3, 2, 3], [1, 0, 2]) == pytest.approx((1 + 3) / 2 * (1 + 1 / np.log2(3)) / best)


def test_a_query_with_one_item_ranks_nothing():
    each = ndcg_of_groups(np.array([3.0, 2.0, 1.0]), np.array([2.0, 1.0, 0.0]), np.array([0, 1, 1]))
    np.testing.assert_array_equal(each, [np.nan, 1.0])


def test_a_group_with_one_label_does_not_count():
    labels = tupi.Values(np.arange(3), np.array([2.0, 1.0, 0.0]), groups=np.array([0, 1, 1]))
    np.testing.assert_array_equal(Ndcg(5).weights(labels), [0, 0.5, 0.5])
    np.testing.assert_array_equal(Ndcg(5).shares(np.array([1.0, 2.0, 3.0])[::-1], labels), [0, 0.5, 0.5])
