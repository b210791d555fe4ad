import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.methods.rows import KNOWN, LABELLED, TRUTH, VIEWS, predict, prepare, stacked
from tupi.methods import supervised
from tupi.methods.base import nearest_shares
from tupi.methods.gp import GP
from tupi.methods.ridge import Ridge
from tupi.methods.supervised import known_items, predict_all, stacked_views, view_columns

scores = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-5, 5))


@given(scores)
def test_nearest_shares(rows):
    """A point of the simplex is nearest if no other one lies on the scores' side: checked at its corners."""
    nearest = nearest_shares(rows)
    np.testing.assert_allclose(nearest.sum(axis=1), 1)
    assert (nearest >= 0).all()
    for row, point in zip(rows, nearest, strict=True):
        for corner in np.eye(len(row)):
            assert (row - point) @ (corner - point) <= 1e-9
        assert point[row.argmax()] == point.max()


def test_probabilities_stay_as_they_are():
    rows = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(nearest_shares(rows), rows, atol=1e-15)


def test_views_side_by_side_are_equally_long():
    prepared = prepare()
    H = stacked_views(prepared, slice(None))
    np.testing.assert_allclose(H, stacked(), atol=1e-12)
    lengths = [np.mean(np.sum(H[:, columns] ** 2, axis=1)) for columns in view_columns(prepared)]
    np.testing.assert_allclose(lengths, 1 / 3)


@pytest.mark.parametrize("method", [Ridge(), GP()], ids=["ridge", "gp"])
def test_views_that_are_not_kept_give_the_same(method, monkeypatch):
    expected = predict(method)
    monkeypatch.setattr(supervised, "CACHED_ENTRIES", 0)
    monkeypatch.setattr(supervised, "BLOCK", 7)
    np.testing.assert_allclose(predict(method), expected, atol=1e-10)


def test_constant_columns_of_a_view_are_left_out():
    views = {"near": np.column_stack([VIEWS["near"], np.ones(120)]), "junk": VIEWS["junk"]}
    prepared = prepare(views=views)
    assert stacked_views(prepared, slice(None)).shape == (120, 6)
    assert view_columns(prepared) == [slice(0, 2), slice(2, 6)]


def test_blocks_come_back_in_order(monkeypatch):
    monkeypatch.setattr(supervised, "BLOCK", 50)
    prepared = prepare()
    np.testing.assert_array_equal(predict_all(prepared, lambda f, H: f[:, 0]), prepared.f[:, 0])


def test_labelled_items_are_counted_among_those_with_features():
    views = {"near": VIEWS["near"].copy()}
    views["near"][[0, LABELLED[3]]] = np.nan
    prepared = prepare(views=views)
    known = known_items(Ridge(), prepared, KNOWN)
    items = prepared.items[known.rows]
    np.testing.assert_array_equal(items, np.setdiff1d(LABELLED, [0, LABELLED[3]]))
    np.testing.assert_array_equal(known.values, TRUTH[items])
