"""What workers do with blocks, each against something slower and simpler; no cluster needed."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.algorithm.engines.test_engines import naive_descend
from tests.cluster.conftest import make_items
from tupi.algorithm.engines import moves
from tupi.blocks.home import Memory
from tupi.cluster.coded import coded
from tupi.cluster.dependence import diagonals, histogram, order_statistics
from tupi.cluster.problem import contents_of
from tupi.cluster.reading import BlockedRows, as_rows, common_bounds
from tupi.embedding.embedding import EmbeddingOptions, embed_blocks, gaussian_maps
from tupi.inputs.views import Gaps, Statistics, View, present_rows, standardized
from tupi.runtime.errors import InputError


class Blocks(Memory):
    """Items of this process in blocks like those of workers, in the order of their predictions."""

    def __init__(self, views, scores, cuts):
        covered = np.logical_or.reduce([view.present for view in views])
        self.rows = []
        for a, b in pairwise(cuts):
            items = a + np.flatnonzero(covered[a:b])
            self.rows.append(items[np.argsort(scores[items], kind="stable")])
        super().__init__(views, np.concatenate(self.rows))
        self.bounds = np.cumsum([0, *map(len, self.rows)])


def embedded(views, scores, cuts):
    """Return the blocks of some views as workers keep them, with the home, the maps and the embedding."""
    options = EmbeddingOptions()
    views = [View(name, values) for name, values in views.items()]
    home = Blocks(views, scores, cuts)
    maps = gaussian_maps(home, [view.name for view in views], options)
    return home, maps, embed_blocks(home, [view.name for view in views], maps, options, coded)


def test_blocks_hold_the_normalised_factor():
    _, scores, views = make_items(3000)
    cuts = [0, 700, 2100, 3000]
    home, maps, embedding = embedded(views, scores, cuts)
    offsets = embedding.offsets
    U = np.concatenate([block.rows * block.slope + block.offset for block in embedding.blocks])
    items = np.concatenate(home.rows)
    assert all(block.rows.dtype == np.int16 for block in embedding.blocks)
    assert len(items) == len(U) < 3000
    for i, each in enumerate(maps):
        X = list(views.values())[i]
        standard = Statistics.of(X[present_rows(X)]).standard
        X = X[items]
        here = ~np.isnan(X).all(axis=1)
        phi = each(standardized(X[here].copy(), *standard))
        phi -= phi.mean(axis=0)
        phi /= np.sqrt(np.linalg.norm(phi.T @ phi))
        mine = U[:, offsets[i] : offsets[i + 1]]
        step = np.ptp(phi, axis=0) / 65_534
        assert (np.abs(mine[here] - phi) <= 0.51 * step + 1e-6 * np.abs(phi).max(axis=0)).all()
        assert (np.abs(mine[~here]) <= 0.51 * step).all()  # an item without the view is where the centre is
    found = home.summed(diagonals, embedding.blocks, offsets=offsets)
    norms = np.add.reduceat(U[:, : offsets[-1]] ** 2, offsets[:-1], axis=1)
    np.testing.assert_allclose(found, [norms.sum(axis=0), (norms**2).sum(axis=0)], rtol=1e-9)


@pytest.mark.parametrize("room", [None, {}])
def test_a_move_is_the_pass_on_the_decoded_rows_and_blocks_add_up(room):
    _, scores, views = make_items(2000)
    _, _, embedding = embedded(views, scores, [0, 700, 2000])
    rng = np.random.default_rng(1)
    runs, points, r, R = 2, 11, 16, embedding.width
    tables = moves.Tables(
        rng.normal(size=(runs, points, r)).astype(np.float32),
        rng.normal(size=(runs, points, R + r)).astype(np.float32),
        rng.normal(size=(runs, points)),
    )
    lengths, momenta, accepted = np.array([0.05, 0.1]), np.array([0.5, 0.0]), np.array([True, False])
    how = {"tables": tables, "accepted": accepted, "lengths": lengths, "momenta": momenta}
    none = np.zeros((runs, 0), np.float32)
    expected = [0.0] * runs
    sums = []
    for block in embedding.blocks:
        n = len(block.rows)
        x, anchor_x, new_x = rng.uniform(0.5, 9.5, size=(3, runs, n))
        step, gradient = rng.normal(scale=0.1, size=(2, runs, n)).astype(np.float32)
        attempt = moves.moved(None, block, moves.Attempt(anchor_x, x, new_x, step, gradient), room, none, **how)
        sums.append(replace(moves.sums_of(None, attempt), S=moves.sums_of(None, attempt).S.copy()))
        U = block.rows * block.slope + block.offset
        for m in range(runs):
            here = new_x[m] if accepted[m] else x[m]
            g, there, _, S, _ = naive_descend(
                U, here, step[m], anchor_x[m], tables.anchor[m], tables.H[m], tables.h[m], lengths[m], momenta[m]
            )
            np.testing.assert_allclose(attempt.gradient[m], g, atol=1e-4)
            np.testing.assert_allclose(attempt.new_x[m], there, atol=1e-5)
            np.testing.assert_array_equal(attempt.x[m], here)
            np.testing.assert_allclose(sums[-1].S[m], S, atol=1e-4 * np.abs(S).max())
            expected[m] = expected[m] + S
        shorter = moves.shortened(None, block, attempt, tables=tables, runs=[1], lengths=[0.02])
        np.testing.assert_allclose(shorter.new_x[1], attempt.x[1] - 0.02 * attempt.gradient[1], atol=1e-6)
        np.testing.assert_array_equal(shorter.new_x[0], attempt.new_x[0])
        assert moves.sums_of(None, shorter).S.shape[0] == 1
        end = moves.settled(None, attempt, accepted=~accepted)
        np.testing.assert_array_equal(end.x, [attempt.x[0], attempt.new_x[1]])
        extent = moves.extent_of(None, end, middle=5.0)
        np.testing.assert_allclose(extent.powers, [[np.sum((one - 5.0) ** p) for p in range(3)] for one in end.x])
        np.testing.assert_array_equal(extent.ends, [[one.min(), one.max()] for one in end.x])
    whole = sums[0] + sums[1]
    for m in range(runs):
        np.testing.assert_allclose(whole.S[m], expected[m], atol=1e-4 * np.abs(expected[m]).max())


@pytest.mark.parametrize("spread", [1.0, 1e6])
def test_order_statistics_come_from_counts(spread):
    f = np.random.default_rng(0).normal(size=50_001)
    f[:20] *= spread  # far outliers must not coarsen the rest
    f = (f - f.mean()) / f.std()
    low, high = f.min(), f.max()
    counts = histogram(None, f, low=low, high=high)
    ranks = np.linspace(0, len(f) - 1, 1000).astype(int)
    found = order_statistics(counts, low, high, ranks)
    np.testing.assert_allclose(found, np.sort(f)[ranks], atol=2e-4, rtol=1e-3)


def contents(scores, view):
    return contents_of(np.asarray(scores)[:, None], view, first=100, picks=[np.arange(2)])[0][0]


@pytest.mark.parametrize(
    ("scores", "change", "match"),
    [
        (np.arange(20.0), (3, 0, np.inf), "'x' is infinite at row 103, column 0"),
        (np.arange(20.0), (4, 1, np.nan), r"'x' lacks 1 single value\(s\), in 1 row\(s\) \(104\) and 1 column\(s\)"),
        (np.r_[np.arange(19.0), np.nan], None, r"1 value\(s\) are NaN or infinite \(first at item 119\)"),
        (np.ones(20), None, "are all equal"),
        (np.arange(5.0), None, r"found 5 item\(s\)"),
    ],
)
def test_what_cannot_be_used_is_said(scores, change, match):
    X = np.random.default_rng(0).normal(size=(len(scores), 2))
    if change is not None:
        X[change[0], change[1]] = change[2]
    with pytest.raises(InputError, match=match):
        contents(scores, X).check(["x"])


def test_contents_see_missing_rows():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[[2, 7]] = np.nan
    found = contents(np.arange(30.0), X) + contents(np.arange(30.0), X)
    assert found.gaps == [Gaps()]
    assert (found.present, found.covered, found.n) == ([[28], [28]], [28, 28], 60)
    assert found.views[0].count == 56


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.float32])
def test_contents_are_the_same_for_all_kinds_of_numbers(kind):
    X = np.random.default_rng(0).integers(0, 2, size=(30, 3)).astype(kind)
    scores = np.arange(30.0)
    for found, expected in zip(
        contents(scores, X).views[0].standard, contents(scores, X.astype(float)).views[0].standard, strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_bounds_follow_chunks_and_cover_everything():
    pytest.importorskip("dask")

    def rows(n, d, starts):
        return BlockedRows((n, d), np.array(starts), False, lambda bounds: [])

    fine = rows(1_000_000, 4, range(0, 1_000_001, 1000))
    assert (common_bounds([fine]) % 1000 == 0).all()
    for table in (fine, rows(1_000_000, 4, [0, 1_000_000]), rows(10_000_000, 1000, [0, 10_000_000])):
        bounds = common_bounds([table])
        assert bounds[0] == 0
        assert bounds[-1] == table.shape[0]
        assert (np.diff(bounds) > 0).all()
        assert np.diff(bounds).max() * table.shape[1] * 8 <= 2**27
    assert len(common_bounds([rows(100, 4, [0, 100])])) == 2
    assert len(common_bounds([rows(10**9, 32, [0, 10**9])])) == 1001  # not 4,000: the scheduler would be the limit


def test_paths_that_hold_nothing_are_named(tmp_path):
    pytest.importorskip("dask")
    with pytest.raises(InputError, match="holds no Parquet file"):
        as_rows("view 'x'", tmp_path)
    with pytest.raises(InputError, match="not a file"):
        as_rows("view 'x'", tmp_path / "x.npy")
