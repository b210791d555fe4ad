from itertools import pairwise

import numpy as np
import pytest

from tupi.embedding import anchors
from tupi.embedding.anchor_loops import LANES
from tupi.embedding.anchors import (
    NEAREST,
    WIDTH,
    AnchorGraph,
    GraphKernel,
    Near,
    Points,
    equal_below,
    mirrored,
    nearest,
    one_view,
    place_anchors,
)

N, A, OFFSETS = 50, 35, np.array([0, 2, 3, 6])
RNG = np.random.default_rng(0)


def some_points(n=N, seed=0, missing=0.0):
    """Return points of three views, some of which are missing."""
    rng = np.random.default_rng(seed)
    present = rng.random((n, 3)) >= missing
    return Points(rng.normal(size=(n, 6)) * np.repeat(present, np.diff(OFFSETS), axis=1), present, OFFSETS)


def some_anchors(seed=1, missing=0.0):
    points = some_points(A, seed, missing)
    return Points(points.columns, points.present, OFFSETS)


def dense(near, a=A):
    """Return Z as a whole matrix."""
    Z = np.zeros((len(near.numbers), a))
    for i, (numbers, weights) in enumerate(zip(near.numbers, near.weights, strict=True)):
        for number, weight in zip(numbers, weights, strict=True):
            Z[i, number] += weight
    return Z


NEAR = some_anchors().near_and_reach(some_points())[0]
Z = dense(NEAR)
LAM = Z.sum(axis=0)
W = Z @ np.diag(1 / LAM) @ Z.T
GRAPH = AnchorGraph(LAM, Z.T @ Z)


def slow_distances(points, anchors):
    """Return mean squared distances over shared views times the number of views, one pair at a time."""
    found = np.full((len(points.columns), len(anchors.columns)), np.inf)
    for i, (x, here) in enumerate(zip(points.columns, points.present, strict=True)):
        for j, (y, there) in enumerate(zip(anchors.columns, anchors.present, strict=True)):
            each = [np.sum((x[a:b] - y[a:b]) ** 2) for a, b in pairwise(OFFSETS)]
            shared = [d for d, both in zip(each, here & there, strict=True) if both]
            if shared:
                found[i, j] = 3 * np.mean(shared)
    return found


@pytest.mark.parametrize(("missing_here", "missing_there"), [(0.0, 0.0), (0.4, 0.0), (0.0, 0.4), (0.6, 0.6)])
def test_distances_are_over_the_views_that_both_have(missing_here, missing_there):
    points, there = some_points(missing=missing_here), some_anchors(missing=missing_there)
    expected = slow_distances(points, there)
    assert np.isinf(expected).any() == (missing_there > 0)  # that case is among those tried
    np.testing.assert_allclose(there.distances(points), expected, atol=1e-12)


def test_distances_keep_single_precision():
    points = some_points(missing=0.4)
    single = Points(points.columns.astype(np.float32), points.present, OFFSETS)
    there = some_anchors(missing=0.4)
    found = Points(there.columns.astype(np.float32), there.present, OFFSETS).distances(single)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, slow_distances(points, there), rtol=1e-4, atol=1e-5)


def test_nearest_are_those_that_sorting_finds():
    distances = np.round(RNG.random((40, 60)), 1)  # with many ties, of which the first counts
    expected = np.argsort(distances, axis=1, kind="stable")[:, :7]
    near, found = nearest(distances, 7, 2.0**-33)
    np.testing.assert_array_equal(near, expected)
    np.testing.assert_allclose(found, np.take_along_axis(distances, expected, axis=1), atol=2.0**-33)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("lacking", [0.0, 0.5, 0.95])
def test_nearest_among_many_are_those_that_sorting_finds(kind, lacking):
    """Of so many entries, most are left aside by a bound, which ties and entries that are infinite must not spoil."""
    distances = np.round(RNG.random((20, 2 * LANES + 45)), 2).astype(kind)
    distances[RNG.random(distances.shape) < lacking] = np.inf
    expected = np.argsort(distances, axis=1, kind="stable")[:, :30]
    near, found = nearest(distances, 30, equal_below(distances))
    ordered = np.take_along_axis(distances, expected, axis=1)
    np.testing.assert_allclose(found, ordered, atol=2.0**-16)
    np.testing.assert_array_equal(near, np.where(np.isfinite(ordered), expected, 0))


def test_nearest_anchors_are_the_same_in_pieces(monkeypatch):
    points, there = some_points(missing=0.4), some_anchors(missing=0.4)
    whole, far = there.near_and_reach(points)
    monkeypatch.setattr(anchors, "IN_CACHE", 7 * A)
    pieces, reach = there.near_and_reach(points)
    np.testing.assert_array_equal(pieces.numbers, whole.numbers)
    np.testing.assert_array_equal(pieces.weights, whole.weights)
    np.testing.assert_array_equal(reach, far)


def test_nearest_of_few_finite_entries_leave_infinite_places():
    near, found = nearest(np.array([[np.inf, 2.0, np.inf, 1.0]]), 3, 2.0**-33)
    assert near[0, :2].tolist() == [3, 1]
    assert found[0].tolist() == [1.0, 2.0, np.inf]


@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_weights_are_gaussian_and_sum_to_one(missing):
    points, there = some_points(missing=missing), some_anchors(missing=missing)
    distances = slow_distances(points, there)
    expected = np.zeros((N, A))
    for i, row in enumerate(distances):
        chosen = [j for j in np.argsort(row, kind="stable")[:NEAREST] if np.isfinite(row[j])]
        if chosen:
            expected[i, chosen] = np.exp(-row[chosen] / (WIDTH * row[chosen].max()))
            expected[i] /= expected[i].sum()
    found = there.near_and_reach(points)[0]
    assert found.weights.dtype == np.float32
    np.testing.assert_allclose(dense(found), expected, atol=1e-6)
    np.testing.assert_array_equal(found.alone, expected.sum(axis=1) == 0)


def test_an_item_that_shares_no_view_has_no_weights():
    """Nor does it add anything to a sum, or get anything from a table."""
    present = np.array([[True, False, False], [False, True, True]])
    points = Points(RNG.normal(size=(2, 6)) * np.repeat(present, np.diff(OFFSETS), axis=1), present, OFFSETS)
    lacking = Points(points.columns[1:], points.present[1:], OFFSETS)
    near = lacking.near_and_reach(points)[0]
    assert near.alone.tolist() == [True, False]
    np.testing.assert_array_equal(near.weights, [[0.0], [1.0]])
    np.testing.assert_array_equal(near.gather(np.ones((1, 2))), [[0, 0], [1, 1]])
    np.testing.assert_array_equal(near.scatter(np.ones((2, 1)), 1), [[1]])
    assert near.own(np.ones(1))[0] == 0


def test_anchors_that_coincide_with_a_point_count_alike():
    there = Points(np.zeros((4, 1)), np.ones((4, 1), bool), np.array([0, 1]))
    np.testing.assert_allclose(there.near_and_reach(one_view(np.zeros((1, 1))))[0].weights, 0.25)


def test_likeness_is_symmetric_and_its_rows_sum_to_one():
    """Of the rows that the code gives; the equation has it for whatever rows sum to one."""
    np.testing.assert_allclose(W, W.T, atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-6)
    assert (W >= 0).all()


def test_sums_over_items_equal_dense_products():
    columns, table = RNG.normal(size=(N, 3)), RNG.normal(size=(A, 4))
    square = RNG.normal(size=(A, A)).astype(np.float32)
    square = square + square.T  # as all tables are
    np.testing.assert_allclose(NEAR.gather(table), Z @ table, atol=1e-12)
    np.testing.assert_allclose(NEAR.scatter(columns, A), Z.T @ columns, atol=1e-12)
    np.testing.assert_allclose(mirrored(NEAR.shared(A)), Z.T @ Z, atol=1e-6)  # products of two float32 weights
    np.testing.assert_allclose(NEAR.diagonal(square), np.diag(Z @ square @ Z.T), atol=1e-6)
    np.testing.assert_allclose(NEAR.own(LAM), np.diag(W), atol=1e-12)


def test_some_items_are_rows_of_z():
    chosen = np.array([7, 3, 3])
    np.testing.assert_array_equal(dense(NEAR[chosen]), Z[chosen])


@pytest.mark.parametrize("c", [1.0, 10.0, 100.0])
def test_the_low_pass_solves_its_equation(c):
    f = RNG.normal(size=(N, 2))
    expected = np.linalg.solve(np.eye(N) + c * (np.eye(N) - W), f)
    found = f / (1 + c) + NEAR.gather(GRAPH.low_pass(NEAR.scatter(f, A), c))
    np.testing.assert_allclose(found, expected, atol=2e-5)  # single precision


@pytest.mark.parametrize("c", [1.0, 10.0, 100.0])
def test_the_kernel_is_the_low_pass_twice_without_its_identity(c):
    low = np.linalg.inv(np.eye(N) + c * (np.eye(N) - W))
    expected = low @ low - np.eye(N) / (1 + c) ** 2
    kernel = GRAPH.kernel(c)
    table = kernel.table
    np.testing.assert_allclose(Z @ table @ Z.T, expected, atol=5e-5 * np.abs(expected).max())
    np.testing.assert_allclose(NEAR.diagonal(table), np.diag(expected), atol=5e-5 * np.abs(expected).max())
    np.testing.assert_allclose(table, table.T, rtol=1e-6)
    np.testing.assert_allclose(kernel.times(Z.T[:, :3]), table @ Z.T[:, :3], atol=5e-5 * np.abs(table).max())
    np.testing.assert_allclose(kernel.scaled(3.0).times(Z.T), 3 * kernel.times(Z.T), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(kernel.scaled(3.0).table, 3 * table, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("a", [300, 1200])
def test_a_column_is_the_same_whatever_others_are_asked_for(a):
    """Bit by bit: what was computed for some labels stays when others come, and a fresh run must give the same."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(a, a)) / np.sqrt(a)
    factor = np.asfortranarray(np.linalg.cholesky(A @ A.T + np.eye(a)), np.float32)
    kernel = GraphKernel(factor, rng.uniform(0.5, 1.0, a).astype(np.float32), 10.0)
    columns = (rng.random((a, 60)) * (rng.random((a, 60)) < 0.05)).astype(np.float32)
    together = kernel.times(columns)
    for some in (np.arange(10), np.arange(20, 33), np.array([5]), np.array([59, 3, 40])):
        np.testing.assert_array_equal(kernel.times(columns[:, some]), together[:, some])


def test_the_kernel_to_items_is_computed_once(monkeypatch):
    kernel, asked = GRAPH.kernel(10.0), []
    times = GraphKernel.times
    monkeypatch.setattr(
        GraphKernel, "times", lambda self, columns: asked.append(columns.shape[1]) or times(self, columns)
    )
    expected = kernel.table @ dense(NEAR).T
    some = np.array([3, 1, 4, 1])
    for chosen in (some, np.arange(8), some[:2], np.arange(0)):
        np.testing.assert_allclose(kernel.to(NEAR[chosen]), expected[:, chosen], atol=1e-5)
    assert asked == [4, 5]  # of two equal ones in one call both are computed
    monkeypatch.setattr(anchors, "REMEMBERED", 10)
    kernel.to(NEAR[np.arange(6, 12)])
    assert asked[2:] == [4]
    assert len(kernel._known) == 6


def test_an_anchor_that_is_nobodys_changes_nothing():
    """It would be divided by its size, which is zero."""
    more = AnchorGraph(np.append(LAM, 0.0), np.pad(GRAPH.shared, (0, 1)))
    sums = np.append(Z.T @ RNG.normal(size=(N, 2)), np.zeros((1, 2)), axis=0)
    np.testing.assert_allclose(more.low_pass(sums, 10.0)[:-1], GRAPH.low_pass(sums[:-1], 10.0), atol=1e-6)
    np.testing.assert_array_equal(more.low_pass(sums, 10.0)[-1], 0)
    np.testing.assert_allclose(more.kernel(10.0).table[:-1, :-1], GRAPH.kernel(10.0).table, atol=1e-5)


def test_of_few_items_each_is_an_anchor():
    points = some_points(missing=0.4)
    found = place_anchors(points, N)
    np.testing.assert_array_equal(found.columns, points.columns)
    np.testing.assert_array_equal(found.present, points.present)
    np.testing.assert_array_equal(found.offsets, OFFSETS)


def test_of_many_items_means_are_anchors(monkeypatch):
    """K-means from the first points, a view's mean being over the members that have it; the same every time."""
    monkeypatch.setattr(anchors, "MOST", 8)
    points = some_points(200, missing=0.3)
    found, again = (place_anchors(points, 200) for _ in range(2))
    np.testing.assert_array_equal(found.columns, again.columns)
    columns, present = points.columns[:8].copy(), points.present[:8].copy()
    for _ in range(anchors.ROUNDS):
        home = slow_distances(points, Points(columns, present, OFFSETS)).argmin(axis=1)
        for j in range(8):
            for view, (a, b) in enumerate(pairwise(OFFSETS)):
                members = (home == j) & points.present[:, view]
                if members.any():
                    columns[j, a:b], present[j, view] = points.columns[members, a:b].mean(axis=0), True
    np.testing.assert_allclose(found.columns, columns, atol=1e-9)
    np.testing.assert_array_equal(found.present, present)


def test_an_anchor_that_nobody_is_nearest_to_stays_where_it_was(monkeypatch):
    """Of several anchors in one place the first has all items there; whole numbers leave nothing to rounding."""
    monkeypatch.setattr(anchors, "MOST", 8)
    kinds = RNG.integers(-3, 4, size=(3, 6)).astype(float)[np.arange(90) % 3]
    found = place_anchors(Points(kinds, np.ones((90, 3), bool), OFFSETS), 90)
    np.testing.assert_array_equal(found.columns, kinds[:8])
    assert found.present.all()


def test_anchors_are_placed_by_a_sample_of_more_items(monkeypatch):
    """A sample no larger than the number of anchors is still not all there is."""
    monkeypatch.setattr(anchors, "MOST", 8)
    assert place_anchors(some_points(20), 5000).columns.shape == (8, 6)


def test_sums_of_blocks_add_up_to_those_of_all():
    parts = [Near(NEAR.numbers[rows], NEAR.weights[rows]) for rows in (slice(0, 20), slice(20, N))]
    np.testing.assert_allclose(sum(part.shared(A) for part in parts), NEAR.shared(A), atol=1e-12)


def test_a_mirrored_table_has_the_lower_triangle_on_both_sides():
    for size in (3, 256, 300, 700):
        table = np.random.default_rng(size).normal(size=(size, size))
        for one in (table, np.asfortranarray(table)):
            np.testing.assert_array_equal(mirrored(one), np.tril(one) + np.tril(one, -1).T)
