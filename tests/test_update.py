"""Results that go on: more labels, and more items."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import tupi
from tests.conftest import make_problem_arrays
from tupi.embedding.anchors import GraphKernel
from tupi.methods.auto import answers, auto, growth, labelfree
from tupi.runtime.errors import InputError

TRUTH, SCORES, VIEWS = make_problem_arrays(300)


def values(first, last):
    return tupi.Values(np.arange(first, last), TRUTH[first:last])


@pytest.mark.parametrize("start", [None, values(0, 20)])
def test_more_labels_give_what_a_fresh_run_gives(start):
    result = tupi.denoise(SCORES, VIEWS, start).update(labels=values(10, 40))
    labels = values(10, 40) if start is None else values(0, 40)
    fresh = tupi.denoise(SCORES, VIEWS, labels)
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)
    np.testing.assert_allclose(result.uncertainty, fresh.uncertainty, atol=1e-9)
    np.testing.assert_array_equal(result.suggest(), fresh.suggest())
    assert result.evidence == fresh.evidence
    again = result.update(labels=values(40, 41))  # one will do
    fresh = tupi.denoise(SCORES, VIEWS, values(int(labels.index[0]), 41))
    np.testing.assert_allclose(again.predictions, fresh.predictions, atol=1e-9)


def test_a_new_value_takes_the_place_of_an_old_one():
    wrong = tupi.Values(np.arange(30), -TRUTH[:30])
    result = tupi.denoise(SCORES, VIEWS, wrong).update(labels=values(0, 30))
    np.testing.assert_allclose(result.predictions, tupi.denoise(SCORES, VIEWS, values(0, 30)).predictions, atol=1e-9)


def test_nothing_is_embedded_again(monkeypatch):
    result = tupi.denoise(SCORES, VIEWS)
    monkeypatch.setattr(auto, "label_free", lambda *arguments: pytest.fail("computed again"))
    assert result.update(labels=values(0, 20)).evidence.n_labels == 20


def test_comparisons_are_added_up():
    pairs = np.random.default_rng(0).permutation(300).reshape(3, 2, 50)
    first, second, _ = (np.where(TRUTH[one[0]] > TRUTH[one[1]], one, one[::-1]) for one in pairs)
    result = tupi.denoise(SCORES, VIEWS, tupi.Pairs(*first)).update(labels=tupi.Pairs(*second))
    fresh = tupi.denoise(SCORES, VIEWS, tupi.Pairs(*np.hstack([first, second])))
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)
    assert "values count as" in result.update(labels=values(0, 10)).notes[0]
    assert result.update(labels=tupi.Pairs(*first[::-1, :1])).evidence.n_labels == 101  # who contradicts counts too


def test_other_methods_take_more_labels_too():
    result = tupi.denoise(SCORES, VIEWS, values(0, 20), method="ridge").update(labels=values(20, 40))
    fresh = tupi.denoise(SCORES, VIEWS, values(0, 40), method="ridge")
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)


@pytest.mark.parametrize("method", ["tupi", "coconut", "kim"])
def test_methods_that_choose_by_labels_choose_by_the_new_ones(method):
    """What they computed on the way knew the items that were labelled before."""
    settings = {"lam": 0.3, "sigma_w2": 0.1, "n_iter": 3} if method == "tupi" else {}
    rows = slice(0, 60)
    arguments = SCORES[rows], {"far": VIEWS["near"][rows, :1]} if method == "kim" else some(rows, VIEWS)
    result = tupi.denoise(*arguments, values(0, 15), method=method, **settings).update(labels=values(15, 40))
    fresh = tupi.denoise(*arguments, values(0, 40), method=method, **settings)
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)
    pd.testing.assert_frame_equal(result.history, fresh.history)
    assert result.evidence == fresh.evidence


def test_classes_by_name():
    names = ["low", "high"]
    chances = pd.DataFrame(np.column_stack([1 / (1 + np.exp(SCORES)), 1 / (1 + np.exp(-SCORES))]), columns=names)
    classes = [names[int(one)] for one in TRUTH > 0]
    first, more = (tupi.Values(np.arange(*rows), classes[slice(*rows)]) for rows in ((0, 20), (20, 40)))
    result = tupi.denoise(chances, VIEWS, first, task="classification").update(labels=more)
    fresh = tupi.denoise(chances, VIEWS, tupi.Values(np.arange(40), classes[:40]), task="classification")
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)


def test_refusals():
    with pytest.raises(InputError, match="update: found nothing new"):
        tupi.denoise(SCORES, VIEWS).update()


@pytest.mark.parametrize("start", [None, values(0, 20)])
def test_labels_too_small_to_be_summed_are_refused(start):
    with pytest.raises(InputError, match=r"labels: the largest magnitude is 1e-309"):
        tupi.denoise(SCORES, VIEWS, start, task="regression").update(
            labels=tupi.Values(range(30), 1e-309 * np.arange(-29.0, 1.0) / 29)
        )


def some(rows, views):
    return {name: columns[rows] for name, columns in views.items()}


@pytest.mark.parametrize("method", ["auto", "knn"])
def test_more_items_of_a_small_problem_give_what_a_fresh_run_gives(method):
    labels = None if method == "knn" else values(0, 40)
    result = tupi.denoise(SCORES[:250], some(slice(0, 250), VIEWS), labels, method=method)
    grown = result.update(predictions=SCORES[250:], features=some(slice(250, 300), VIEWS))
    fresh = tupi.denoise(SCORES, VIEWS, labels, method=method)
    np.testing.assert_allclose(grown.predictions, fresh.predictions, atol=1e-9)
    np.testing.assert_array_equal(grown.initial, SCORES)


def test_more_items_go_on_from_what_is_known(monkeypatch):
    truth, scores, views = make_problem_arrays(2600)
    del views["junk"]
    first, later = slice(0, 2400), slice(2400, 2600)
    result = tupi.denoise(scores[first], some(first, views), tupi.Values(np.arange(40), truth[:40]))
    fresh = tupi.denoise(scores, views, tupi.Values(np.arange(40), truth[:40]))
    for name in ("make_space", "view_relations", "signal_share"):
        monkeypatch.setattr(labelfree, name, lambda *arguments: pytest.fail("computed again"))
    lacking = some(later, views) | {"bent": views["bent"][later].copy()}
    lacking["bent"][0] = np.nan
    grown = result.update(
        predictions=scores[later], features=lacking, labels=tupi.Values([2500, 2501], truth[2500:2502])
    )
    assert spearmanr(grown.predictions, fresh.predictions)[0] > 0.998
    assert grown.evidence.n_labels == 42
    new = grown.predict(scores[later], some(later, views))
    assert np.corrcoef(new, grown.predictions[later])[0, 1] > 0.99
    again = grown.update(
        labels=tupi.Values([2502], truth[[2502]]), predictions=scores[:9], features=some(slice(0, 9), views)
    )
    assert again.predictions.shape == (2609,)
    monkeypatch.undo()
    monkeypatch.setattr(growth, "MOST_GROWTH", 1.01)  # so many that anchors are placed anew
    whole = result.update(predictions=scores[later], features=some(later, views))
    np.testing.assert_allclose(whole.predictions, fresh.predictions, atol=1e-9)


@pytest.mark.parametrize("columns", [1, 2])
def test_more_items_with_probabilities_of_two_classes(columns):
    """The label-free answer got both columns, where it works on one."""
    truth, scores, views = make_problem_arrays(2600)
    chances = 1 / (1 + np.exp(-scores))
    chances = chances if columns == 1 else np.column_stack([1 - chances, chances])
    labels = tupi.Values(np.arange(40), (truth[:40] > 0).astype(int))
    first, later = slice(0, 2400), slice(2400, 2600)
    result = tupi.denoise(chances[first], some(first, views), labels, task="classification")
    grown = result.update(predictions=chances[later], features=some(later, views)).predictions
    fresh = tupi.denoise(chances, views, labels, task="classification").predictions
    assert grown.shape == fresh.shape
    assert spearmanr(grown.reshape(2600, -1)[:, -1], fresh.reshape(2600, -1)[:, -1])[0] > 0.998


def test_more_items_without_any_view_keep_their_predictions():
    _, scores, views = make_problem_arrays(2600)
    first, later = slice(0, 2400), slice(2400, 2600)
    result = tupi.denoise(scores[first], some(first, views))
    nothing = {name: np.full_like(view, np.nan) for name, view in some(later, views).items()}
    grown = result.update(predictions=scores[later], features=nothing)
    np.testing.assert_array_equal(grown.predictions, np.append(result.predictions, scores[later]))


@pytest.mark.parametrize("start", [None, values(0, 20)])
def test_more_labels_do_not_read_the_views_of_all_items_again(monkeypatch, start):
    result = tupi.denoise(SCORES, VIEWS, start)
    limited = tupi.denoise(SCORES, VIEWS, start, memory_limit="1GB")  # nothing is kept beside what was counted
    expected = limited.update(labels=values(20, 30)).predictions
    monkeypatch.setattr(answers, "answered", lambda *_, **__: pytest.fail("read again"))
    np.testing.assert_array_equal(result.update(labels=values(20, 30)).predictions, expected)


def test_what_is_known_of_earlier_labels_is_not_computed_again(monkeypatch):
    result = tupi.denoise(SCORES, VIEWS, values(0, 20))
    expected = tupi.denoise(SCORES, VIEWS, values(0, 30)).predictions
    asked, times = [], GraphKernel.times
    monkeypatch.setattr(GraphKernel, "times", lambda self, Z: asked.append(Z.shape[1]) or times(self, Z))
    monkeypatch.setattr(labelfree, "laid_out", lambda *_, **__: pytest.fail("read again"))
    np.testing.assert_allclose(result.update(labels=values(20, 30)).predictions, expected, atol=1e-9)
    assert asked == [10, 10]  # two kernels, and ten new labels


def test_ids_of_more_items():
    ids = pd.Index([f"i{k}" for k in range(300)])
    result = tupi.denoise(pd.Series(SCORES[:280], ids[:280]), some(slice(0, 280), VIEWS))
    more = some(slice(280, 300), VIEWS)
    grown = result.update(
        predictions=pd.Series(SCORES[280:], ids[280:]), features=more, labels=pd.Series(TRUTH, ids)[::9]
    )
    assert grown.to_frame().index.equals(ids)
    assert grown.evidence.n_labels == 34
    for predictions, said in (
        (SCORES[280:], "some items have ids and others have none"),
        (pd.Series(SCORES[280:], ids[279:299]), "the id 'i279' is that of an earlier item"),
    ):
        with pytest.raises(InputError, match=said):
            result.update(predictions=predictions, features=more)
    with pytest.raises(InputError, match="found no features of more items"):
        result.update(predictions=SCORES)


def test_the_metric_that_was_asked_for_is_told_again():
    """It was forgotten, and the gain was told in the first metric of the task."""
    truth, scores, views = make_problem_arrays(200, seed=3)
    first = tupi.denoise(scores, views, labels=tupi.Values(range(30), truth[:30]), task="regression", metric="mae")
    more = first.update(labels=tupi.Values(range(30, 40), truth[30:40]))
    assert first.evidence.metric == more.evidence.metric == "MAE"


def test_one_more_item_changes_next_to_nothing():
    """With another sample, and so other anchors, the correlation is 0.99994."""
    truth, scores, views = make_problem_arrays(2600)
    del views["junk"]  # whose p-value is at the level of the test
    labels = tupi.Values(np.arange(40), truth[:40])
    whole = tupi.denoise(scores, views, labels).predictions
    less = tupi.denoise(scores[:-1], some(slice(0, 2599), views), labels).predictions
    assert spearmanr(less, whole[:-1])[0] > 0.99999


def test_labels_that_come_later_know_what_the_predictions_are_called():
    chance = pd.Series(1 / (1 + np.exp(-2 * SCORES)), name="bad")  # by the order of names, "good" would be positive
    labels = tupi.Values(np.arange(60), np.where(TRUTH[:60] > 0, "bad", "good"))
    fresh = tupi.denoise(chance, VIEWS, labels, task="classification")
    result = tupi.denoise(chance, VIEWS, task="classification").update(labels=labels)
    assert result.classes == fresh.classes == ("good", "bad")
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)
    assert result.evidence == fresh.evidence
