import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import content_order, evenly, relations, sort_views
from tupi.inputs.problem import make_problem

TRUTH, SCORES, VIEWS = make_problem_arrays(400)


def sort(scores=SCORES, views=None):
    prepared = Prepared(make_problem(scores, VIEWS if views is None else views))
    order = content_order(prepared)
    return sort_views(prepared, order, relations(prepared, order, prepared.f[order])), order, prepared


def names(blocks, prepared):
    return [prepared.problem.names[block.view] for block in blocks]


def test_junk_is_told_apart():
    found, _, prepared = sort()
    assert names(found.related, prepared) == ["near", "bent"]
    assert names(found.rest, prepared) == ["junk"]
    assert found.copies == []


def test_blocks_are_standardised_rows_in_order():
    found, order, _ = sort()
    near = VIEWS["near"]
    expected = (near - near.mean(axis=0)) / near.std(axis=0) / np.sqrt(2)
    np.testing.assert_allclose(found.related[0].columns, expected[order])


def test_junk_views_rarely_pass():
    rng = np.random.default_rng(0)
    views = {f"junk{k}": rng.normal(size=(400, 3)) for k in range(40)}
    assert len(sort(views=views)[0].related) == 0


def test_copies_of_the_predictions_and_of_one_another_are_dropped():
    bent = VIEWS["bent"] / VIEWS["bent"].std(axis=0)
    views = {
        "f": SCORES[:, None],
        "monotone": -np.exp(SCORES)[:, None],
        "bent": bent,
        "turned": bent[:, ::-1],
        "wide": np.hstack([VIEWS["near"], SCORES[:, None]]),
        "turned again": 3 * bent @ np.abs(np.eye(3)),
    }
    found, _, prepared = sort(views=views)
    assert names(found.related, prepared) == ["bent", "wide"]
    assert [prepared.problem.names[k] for k in found.copies] == ["f", "monotone", "turned", "turned again"]
    assert found.related[1].columns.shape == (400, 2)  # without the copy of f


def test_a_view_may_be_related_through_another():
    """One that knows the error of `near` only says nothing of f alone, and a lot together with it."""
    rng = np.random.default_rng(1)
    error = rng.normal(size=400)
    views = {"noisy": (SCORES + error)[:, None] + 0.0, "error": error[:, None]}
    found, _, prepared = sort(views=views)
    assert names(found.related, prepared) == ["noisy", "error"]


def test_the_order_depends_on_content_only():
    shuffle = np.random.default_rng(0).permutation(400)
    _, order, _ = sort()
    _, shuffled, _ = sort(SCORES[shuffle], {name: view[shuffle] for name, view in VIEWS.items()})
    np.testing.assert_array_equal(shuffle[shuffled], order)


def test_missing_rows():
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["near"][::3] = np.nan
    found, order, prepared = sort(views=views)
    assert names(found.related, prepared) == ["near", "bent"]
    np.testing.assert_array_equal(found.related[0].present, order % 3 != 0)
    assert (found.related[0].columns[order % 3 == 0] == 0).all()


@pytest.mark.parametrize(("n", "size"), [(5, 10), (100, 7), (10, 10)])
def test_evenly(n, size):
    found = evenly(n, size)
    assert len(found) == min(n, size)
    assert (np.diff(found) > 0).all()
    assert (found[0], found[-1]) == (0, n - 1)
