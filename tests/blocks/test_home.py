import numpy as np
import pytest

from tupi.blocks import home as blocks
from tupi.blocks.home import Memory, Slice
from tupi.inputs.views import View

N = 30
RNG = np.random.default_rng(0)
WHOLE, HOLED = RNG.normal(size=(N, 3)), RNG.normal(size=(N, 2))
MISSING = np.array([0, 4, 5, 17, 29])
HOLED[MISSING] = np.nan
VIEWS = [View("whole", WHOLE), View("holed", HOLED)]
ITEMS = np.delete(np.arange(N), [2, 11])  # some rows of the views are no items


@pytest.fixture
def homes(monkeypatch):
    """The same items in one block, and in several, of which the last is smaller."""
    one = Memory(VIEWS, ITEMS)
    monkeypatch.setattr(blocks, "BLOCK", 5)
    many = Memory(VIEWS, ITEMS)
    assert one.bounds.tolist() == [0, 28]
    assert many.bounds.tolist() == [0, 5, 10, 15, 20, 25, 28]
    return one, many


def standard(view):
    """Return the rows of all items, standardised over all rows; zero where they are missing."""
    found = (view - np.nanmean(view, axis=0)) / np.nanstd(view, axis=0)
    return np.nan_to_num(found)[ITEMS]


def columns_of(rows):
    return np.hstack([rows.view(0)[0], rows.view(1)[0]])


def presence(rows):
    return np.column_stack([rows.has(number) for number in (0, 1)])


def products(rows, kept, *, power):
    return (columns_of(rows) ** power).T @ kept


def rows_and_kept(rows, kept, *, factor):
    return [columns_of(rows), factor * kept, rows.has(1)]


def test_a_block_gives_standardised_rows_and_who_has_them(homes):
    for home in homes:
        np.testing.assert_allclose(home.joined(home.each(columns_of)), np.hstack([standard(WHOLE), standard(HOLED)]))
        expected = np.column_stack([np.ones(28, bool), ~np.isin(ITEMS, MISSING)])
        np.testing.assert_array_equal(home.joined(home.each(presence)), expected)


def test_a_view_says_who_lacks_it():
    columns, has = Slice(VIEWS, np.array([3, 4, 6])).view(1)
    assert has.tolist() == [True, False, True]
    assert (columns[1] == 0).all()
    assert (columns[[0, 2]] != 0).all()


def test_rows_that_are_not_neighbours_are_read_one_by_one():
    """A slice from first to last would have as many rows only if none were left out between them."""
    rows = Slice(VIEWS, np.array([1, 3, 6]))
    np.testing.assert_array_equal(rows.view(0)[0], VIEWS[0].rows(np.array([1, 3, 6])))
    np.testing.assert_array_equal(rows.some(np.array([2, 0])).view(0)[0], VIEWS[0].rows(np.array([6, 1])))


@pytest.mark.parametrize("items", [[3, 3, 6, 6], [3, 5, 4, 6]], ids=["repeated", "out of order"])
def test_rows_come_as_they_were_asked_for(items):
    np.testing.assert_array_equal(Slice(VIEWS, np.array(items)).view(0)[0], VIEWS[0].rows(np.array(items)))


def test_many_blocks_give_the_same_as_one(homes):
    f = RNG.normal(size=(28, 2))
    one, many = (home.joined(home.each(_moved, home.dealt(f), by=2.0)) for home in homes)
    np.testing.assert_array_equal(one, many)


def _moved(rows, f, *, by):
    return f + by * rows.view(0)[0][:, :2]


def test_sums_are_plain_sums(homes):
    f = RNG.normal(size=(28, 2))
    expected = np.hstack([standard(WHOLE), standard(HOLED)]) ** 2
    for home in homes:
        np.testing.assert_allclose(home.summed(products, home.dealt(f), power=2), expected.T @ f, atol=1e-12)


@pytest.mark.parametrize("items", [[20, 3, 3, 0, 27, 11], [26, 25], list(range(28)), [7]])
def test_picked_rows_come_in_the_order_asked_for(homes, items):
    f = RNG.normal(size=(28, 1))
    items = np.array(items)
    everything = np.hstack([standard(WHOLE), standard(HOLED)])
    for home in homes:
        columns, kept, has = home.picked(items, rows_and_kept, home.dealt(f), factor=3.0)
        np.testing.assert_allclose(columns, everything[items])
        np.testing.assert_array_equal(kept, 3 * f[items])
        np.testing.assert_array_equal(has, ~np.isin(ITEMS[items], MISSING))


def test_dealt_columns_come_back_joined(homes):
    f = RNG.normal(size=(28, 2))
    for home in homes:
        np.testing.assert_array_equal(home.joined(home.dealt(f)), f)
        assert home.n == 28
        assert home.n_views == 2


def test_many_items_are_dealt_into_some_blocks():
    """As many as keep all cores busy, none larger than what fits into memory."""
    view = View("v", np.arange(400_000.0)[:, None])
    for n, size in ((400_000, 400_000 // blocks.BLOCKS), (9000, blocks.BLOCK), (100, 100)):
        home = Memory([view], np.arange(n))
        assert np.diff(home.bounds).max() == size
        assert home.n == n
    huge = Memory([], np.arange(blocks.LARGEST * (blocks.BLOCKS + 1)))
    assert np.diff(huge.bounds).max() == blocks.LARGEST
