import numpy as np
import pytest

from tests.methods.dense import assert_order_free, distance_matrix, fitted, with_gaps
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, VIEWS, class_problem, prepare
from tupi.inputs.labels import Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.knn import Knn
from tupi.runtime.errors import InputError


@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
@pytest.mark.parametrize(("k", "share"), [(1, 1.0), (7, 0.3), (500, 1.0)])
def test_equals_the_mean_over_the_nearest_others(views, k, share):
    near = np.argsort(distance_matrix(list(views.values())), axis=1)[:, : min(k, 119)]
    means = np.array([SCORES[row].mean() for row in near])
    for task in ("ranking", "regression"):
        new = fitted(Knn(n_neighbors=k, share=share), None, views=views, task=task)
        np.testing.assert_allclose(new, (1 - share) * SCORES + share * means, atol=1e-9)


@pytest.mark.parametrize("labels", [KNOWN, COMPARED, None], ids=["values", "pairs", "none"])
@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
def test_improves_and_does_not_depend_on_order(labels, views):
    new = fitted(Knn(), labels, views=views)
    assert pairwise_accuracy(new, JUDGING) > pairwise_accuracy(SCORES, JUDGING)
    assert_order_free(Knn(), labels, views=views)


def test_ones_own_error_does_not_count():
    scores = SCORES.copy()
    scores[17] += 5.0
    before, after = (fitted(Knn(), None, s, task="regression") for s in (SCORES, scores))
    assert after[17] == pytest.approx(before[17])


def test_labels_may_keep_the_predictions():
    prepared = prepare(Values(np.arange(120), SCORES))
    fit = Knn().fit(prepared, prepared.problem.labels)
    np.testing.assert_array_equal(fit.columns, prepared.f)
    assert fit.params["share"] == 0.0


def test_an_item_that_shares_no_view_keeps_its_score():
    left, right = np.random.default_rng(0).normal(size=(2, 30, 2))
    left[0], right[1:] = np.nan, np.nan
    both = {"left": left, "right": right, "other": np.where(np.arange(30)[:, None] < 2, np.nan, left[:, :1])}
    with pytest.warns(UserWarning, match="constant"):  # the view of a single item does not vary
        new = fitted(Knn(), None, SCORES[:30], both)
    assert new[0] == SCORES[0]


def test_classes():
    chances, views, truth = class_problem(300)
    new = fitted(Knn(), None, chances, views, "classification")
    assert np.mean(new.argmax(axis=1) == truth) > np.mean(chances.argmax(axis=1) == truth) + 0.02
    np.testing.assert_allclose(new.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 1.5}, "share: found 1.5"),
        ({"share": 0}, "share: found 0"),
        ({"n_neighbors": 0}, "n_neighbors: found 0"),
    ],
)
def test_bad_settings_get_a_sentence(settings, message):
    with pytest.raises(InputError, match=message):
        Knn(**settings)
