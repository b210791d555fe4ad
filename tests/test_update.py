"""Results that go on: more labels, and more items."""

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.labels import both
from tupi.methods.auto import auto
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
    again, fresh = result.update(labels=values(40, 50)), tupi.denoise(SCORES, VIEWS, both(labels, values(40, 50)))
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
    with pytest.raises(InputError, match="labels: found values after pairs"):
        result.update(labels=values(0, 10))


def test_other_methods_take_more_labels_too():
    result = tupi.denoise(SCORES, VIEWS, values(0, 20), method="ridge").update(labels=values(20, 40))
    fresh = tupi.denoise(SCORES, VIEWS, values(0, 40), method="ridge")
    np.testing.assert_allclose(result.predictions, fresh.predictions, atol=1e-9)


def test_refusals():
    with pytest.raises(InputError, match="update: found nothing new"):
        tupi.denoise(SCORES, VIEWS).update()
