"""What workers do with blocks, each against something slower and simpler; no cluster needed."""

from itertools import pairwise

import numpy as np
import pytest

from tests.algorithm.engines.test_engines import naive_descend
from tests.cluster.conftest import make_items
from tupi.cluster import blocks as on_workers
from tupi.cluster import moves
from tupi.cluster.contents import contents_of
from tupi.cluster.reading import Rows, as_rows, common_bounds
from tupi.embedding.embedding import EmbeddingOptions, GaussianFeatures, Moments
from tupi.inputs.checks import Gaps, present_rows
from tupi.inputs.statistics import Statistics, standardized
from tupi.runtime.errors import InputError


def embedded(views, scores, cuts):
    """Return the blocks of some views, as the client puts them together."""
    options = EmbeddingOptions()
    names = list(views)
    maps = []
    for name in names:
        X = views[name][present_rows(views[name])]
        standard = Statistics.of(X).standard
        features = GaussianFeatures(standardized(X[:500].copy(), *standard), options)
        maps.append(on_workers.ViewMap(features, standard, options.scaling))
    found = [on_workers.embed(scores[a:b], *(views[name][a:b] for name in names), maps=maps) for a, b in pairwise(cuts)]
    sums = [Moments(each.features.width) for each in maps]
    for block in found:
        for one, part in zip(sums, block.moments, strict=True):
            one.add(part)
    offsets = np.cumsum([0, *(each.features.width for each in maps)])
    center, scale = np.zeros(found[0].codes.shape[1]), np.ones(found[0].codes.shape[1])
    for i, one in enumerate(sums):
        center[offsets[i] : offsets[i + 1]], scale[offsets[i] : offsets[i + 1]] = one.normalization()
    return [on_workers.centered(block, center, scale) for block in found], maps, offsets


def test_blocks_hold_the_normalised_factor():
    _, scores, views = make_items(3000)
    cuts = [0, 700, 2100, 3000]
    found, maps, offsets = embedded(views, scores, cuts)
    U = np.concatenate([block.codes * block.slope + block.offset for block in found])
    covered = ~(np.isnan(views["a"]).all(axis=1) & np.isnan(views["b"]).all(axis=1))
    items = np.concatenate([start + block.items for start, block in zip(cuts[:-1], found, strict=True)])
    assert sorted(items) == np.flatnonzero(covered).tolist()
    assert len(items) < 3000
    assert all((np.diff(block.taking_part) >= 0).all() for block in found)  # in the order of their predictions
    for i, each in enumerate(maps):
        X = list(views.values())[i][items]
        here = ~np.isnan(X).all(axis=1)
        phi = each(X[here])
        phi -= phi.mean(axis=0)
        phi /= np.sqrt(np.linalg.norm(phi.T @ phi))
        mine = U[:, offsets[i] : offsets[i + 1]]
        step = np.ptp(phi, axis=0) / 65_534
        assert (np.abs(mine[here] - phi) <= 0.51 * step + 1e-6 * np.abs(phi).max(axis=0)).all()
        assert (np.abs(mine[~here]) <= 0.51 * step).all()  # an item without the view is where the centre is
    diagonals = sum(on_workers.diagonals(block, offsets) for block in found)
    norms = np.add.reduceat(U[:, : offsets[-1]] ** 2, offsets[:-1], axis=1)
    np.testing.assert_allclose(diagonals, [norms.sum(axis=0), (norms**2).sum(axis=0)], rtol=1e-9)


def test_a_move_is_the_pass_on_the_decoded_rows_and_blocks_add_up():
    _, scores, views = make_items(2000)
    found, _, _ = embedded(views, scores, [0, 700, 2000])
    rng = np.random.default_rng(1)
    runs, points, r, R = 2, 11, 16, found[0].codes.shape[1]
    tables = moves.Tables(
        rng.normal(size=(runs, points, r)).astype(np.float32),
        rng.normal(size=(runs, points, R + r)).astype(np.float32),
        rng.normal(size=(runs, points)),
    )
    lengths, momenta, accepted = np.array([0.05, 0.1]), np.array([0.5, 0.0]), [True, False]
    expected = [0.0] * runs
    sums = []
    for block in found:
        n = len(block.codes)
        x, anchor_x = rng.uniform(0.5, 9.5, size=(2, runs, n))
        step, gradient = rng.normal(scale=0.1, size=(2, runs, n)).astype(np.float32)
        trial = moves.moved(block, moves.Trial(anchor_x, x, step, gradient), tables, accepted, lengths, momenta)
        sums.append(moves.sums_of(trial))
        U = block.codes * block.slope + block.offset
        for m in range(runs):
            here = x[m] + step[m] if accepted[m] else x[m]
            g, new_x, _, S, _ = naive_descend(
                U, here, step[m], anchor_x[m], tables.anchor[m], tables.H[m], tables.h[m], lengths[m], momenta[m]
            )
            np.testing.assert_allclose(trial.gradient[m], g, atol=1e-4)
            np.testing.assert_allclose(trial.reached(m, True), new_x, atol=1e-5)
            np.testing.assert_allclose(trial.reached(m, False), here, atol=1e-12)
            np.testing.assert_allclose(sums[-1].S[m], S, atol=1e-4 * np.abs(S).max())
            centred = new_x - 5.0
            np.testing.assert_allclose(sums[-1].powers[m], [np.sum(centred**p) for p in range(3)], rtol=1e-4, atol=1e-2)
            np.testing.assert_allclose(sums[-1].ends[m], [new_x.min(), new_x.max()], atol=1e-5)
            expected[m] = expected[m] + S
        shorter = moves.shortened(block, trial, tables, [1], [0.02])
        np.testing.assert_allclose(shorter.reached(1, True), trial.x[1] - 0.02 * trial.gradient[1], atol=1e-6)
        np.testing.assert_array_equal(shorter.reached(0, True), trial.reached(0, True))
        assert moves.sums_of(shorter).S.shape[0] == 1
    whole = moves.added(sums)
    for m in range(runs):
        np.testing.assert_allclose(whole.S[m], expected[m], atol=1e-4 * np.abs(expected[m]).max())
    assert whole.powers[0, 0] == sum(len(block.codes) for block in found)


@pytest.mark.parametrize("spread", [1.0, 1e6])
def test_order_statistics_come_from_counts(spread):
    f = np.random.default_rng(0).normal(size=50_001)
    f[:20] *= spread  # far outliers must not coarsen the rest
    f = (f - f.mean()) / f.std()
    block = on_workers.Block(f, np.arange(len(f)), np.zeros((len(f), 0), np.int16), np.zeros(0), np.zeros(0), [])
    low, high = f.min(), f.max()
    counts = on_workers.histogram(block, (1.0, 0.0, 1.0), low, high)
    ranks = np.linspace(0, len(f) - 1, 1000).astype(int)
    found = on_workers.order_statistics(counts, low, high, ranks)
    np.testing.assert_allclose(found, np.sort(f)[ranks], atol=2e-4, rtol=1e-3)


def contents(scores, view):
    return contents_of(np.asarray(scores)[:, None], view, first=100, picks=[np.arange(2)])[0]


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
        return Rows((n, d), np.array(starts), False, lambda bounds: [])

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
