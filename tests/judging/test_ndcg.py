import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import tupi


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
