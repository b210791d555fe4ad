import numpy as np
import pytest
from scipy.stats import rankdata

from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly, ranks
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of

TRUTH, SCORES, VIEWS = make_problem_arrays(400)


def sort(scores=SCORES, views=None):
    """Return what is said about the views, and the problem."""
    prepared = Prepared(make_problem(scores, VIEWS if views is None else views))
    return label_free_of(prepared), prepared


def names(numbers, prepared):
    return [prepared.problem.names[view] for view in numbers]


def points(found, views):
    """Return views side by side, as the method sees them, of all items."""
    return found.home.each(lambda rows: found.layout.points(rows, views))[0]


def test_junk_is_told_apart():
    found, prepared = sort()
    assert names(found.layout.related, prepared) == ["near", "bent"]
    assert names(found.layout.rest, prepared) == ["junk"]
    assert found.relations.copies == []


def test_columns_are_standardised():
    found, _ = sort()
    near = VIEWS["near"]
    expected = (near - near.mean(axis=0)) / near.std(axis=0) / np.sqrt(2)
    np.testing.assert_allclose(points(found, (0,)).columns, expected)


def test_junk_views_rarely_pass():
    rng = np.random.default_rng(0)
    views = {f"junk{k}": rng.normal(size=(400, 3)) for k in range(40)}
    assert len(sort(views=views)[0].layout.related) == 0


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
    found, prepared = sort(views=views)
    assert names(found.layout.related, prepared) == ["bent", "wide"]
    assert names(found.relations.copies, prepared) == ["f", "monotone", "turned", "turned again"]
    assert points(found, (4,)).columns.shape == (400, 2)  # without the copy of f
    np.testing.assert_array_equal(found.layout.offsets((2, 4)), [0, 3, 5])


def test_a_view_may_be_related_through_another():
    """One that knows the error of `near` only says nothing of f alone, and a lot together with it."""
    rng = np.random.default_rng(1)
    error = rng.normal(size=400)
    views = {"noisy": (SCORES + error)[:, None] + 0.0, "error": error[:, None]}
    found, prepared = sort(views=views)
    assert names(found.layout.related, prepared) == ["noisy", "error"]
    assert names(found.relations.through, prepared) == ["error"]


def test_the_order_depends_on_content_only():
    shuffle = np.random.default_rng(0).permutation(400)
    order = sort()[0].order
    shuffled = sort(SCORES[shuffle], {name: view[shuffle] for name, view in VIEWS.items()})[0].order
    np.testing.assert_array_equal(shuffle[shuffled], order)


def test_equal_predictions_are_ordered_by_their_features():
    """Whichever way items and views are shuffled."""
    scores = np.round(SCORES)
    shuffle = np.random.default_rng(0).permutation(400)
    order = sort(scores)[0].order
    moved = {name: VIEWS[name][shuffle] for name in reversed(VIEWS)}
    np.testing.assert_array_equal(shuffle[sort(scores[shuffle], moved)[0].order], order)


def test_missing_rows():
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["near"][::3] = np.nan
    found, prepared = sort(views=views)
    assert names(found.layout.related, prepared) == ["near", "bent"]
    near, missing = points(found, (0,)), np.arange(400) % 3 == 0
    np.testing.assert_array_equal(near.present[:, 0], ~missing)
    assert (near.columns[missing] == 0).all()


@pytest.mark.parametrize(("n", "size"), [(5, 10), (100, 7), (10, 10)])
def test_evenly(n, size):
    found = evenly(n, size)
    assert len(found) == min(n, size)
    assert (np.diff(found) > 0).all()
    assert (found[0], found[-1]) == (0, n - 1)


def test_ranks_are_those_of_scipy():
    columns = np.random.default_rng(0).integers(0, 30, size=(100, 3)) / 7
    columns[:, 2] = np.random.default_rng(1).normal(size=100)
    np.testing.assert_array_equal(ranks(columns), rankdata(columns, axis=0))
