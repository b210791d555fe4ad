import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tests.methods.dense import distance_matrix, laplacian, weight_matrix, with_gaps
from tests.methods.rows import SCORES, VIEWS, prepare
from tupi.embedding import neighbors as search
from tupi.embedding.anchors import Points
from tupi.embedding.graphs import conjugate_gradients, larger_width_graph, nearest_rows, product_width_graph
from tupi.embedding.joint_graph import graph, joint_points, neighbors
from tupi.embedding.neighbors import nearest_points
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem


def points_of(X, present=None, offsets=None):
    n, d = X.shape
    return Points(
        X,
        np.ones((n, 1), bool) if present is None else present,
        np.array([0, d]) if offsets is None else np.array(offsets),
    )


@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
def test_neighbors_are_the_nearest_by_all_views(views):
    near = neighbors(prepare(None, views=views), 7)
    distances = distance_matrix(list(views.values()))
    np.testing.assert_array_equal(near.indices, np.argsort(distances, axis=1)[:, :7])
    np.testing.assert_allclose(near.distances, np.sort(distances, axis=1)[:, :7], atol=1e-12)


def test_each_view_contributes_the_same_mean_squared_distance():
    points = joint_points(prepare(None))
    squares = np.add.reduceat(points.columns.var(axis=0), points.offsets[:-1])
    np.testing.assert_allclose(squares, 1.0)


@pytest.mark.parametrize("views", [VIEWS, with_gaps(VIEWS)], ids=["complete", "gaps"])
@pytest.mark.parametrize("k", [1, 5, 200])
def test_graph_equals_the_definition(views, k):
    edges = graph(prepare(None, views=views), k)
    W = weight_matrix(list(views.values()), k)
    np.testing.assert_allclose(edges.weights.toarray(), W, atol=1e-12)
    np.testing.assert_allclose(edges.degrees, W.sum(axis=1))
    V = np.random.default_rng(0).normal(size=(120, 2))
    np.testing.assert_allclose(edges.laplacian_times(V), laplacian(W) @ V, atol=1e-12)


@given(seed=st.integers(0, 1000))
def test_quadratic_form_charges_half_the_squared_differences_of_neighbours(seed):
    prepared = prepare(None)
    near, edges = neighbors(prepared, 6), graph(prepared, 6)
    v = np.random.default_rng(seed).normal(size=120)
    s = 2 * near.distances.mean(axis=1, keepdims=True)
    w = np.exp(-(near.distances**2) / s**2)
    charged = 0.5 * np.sum(w * (v[:, None] - v[near.indices]) ** 2)
    assert v @ edges.laplacian_times(v[:, None])[:, 0] == pytest.approx(charged)
    np.testing.assert_allclose(edges.laplacian_times(np.ones((120, 1))), 0, atol=1e-12)


@pytest.mark.parametrize("strength", [0.01, 1.0, 300.0])
def test_smooth_equals_a_dense_solution(strength):
    edges = graph(prepare(None), 8)
    B = np.random.default_rng(0).normal(size=(120, 3))
    dense = np.linalg.solve(np.eye(120) + strength * laplacian(weight_matrix(list(VIEWS.values()), 8)), B)
    np.testing.assert_allclose(edges.smooth(B, strength), dense, atol=1e-8)
    np.testing.assert_allclose(edges.smooth(B, strength, start=B), dense, atol=1e-8)


@pytest.mark.parametrize("alpha", [0.1, 0.9, 0.999])
def test_spread_equals_a_dense_solution(alpha):
    edges = graph(prepare(None), 8)
    W = weight_matrix(list(VIEWS.values()), 8)
    B = np.random.default_rng(0).normal(size=(120, 3))
    dense = np.linalg.solve(np.diag(W.sum(axis=1)) - alpha * W, B)
    np.testing.assert_allclose(edges.spread(B, alpha), dense, atol=1e-8)


def test_items_that_share_no_view_are_no_neighbours():
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    left[:12], right[12:] = np.nan, np.nan
    edges = graph(prepare(None, SCORES[:20], {"left": left, "right": right}), 10)
    assert edges.weights[:12, 12:].sum() == 0
    assert edges.weights[12:, 12:].sum() > 0


def test_isolated_items_keep_what_they_had():
    rng = np.random.default_rng(0)
    left = rng.normal(size=(20, 2))
    lone = np.full((20, 1), np.nan)
    left[:2] = np.nan
    lone[0], lone[1] = 1.0, 2.0
    third = np.full((20, 1), np.nan)
    third[2:4] = [[0.0], [1.0]]
    prepared = prepare(None, SCORES[:20], {"left": left, "lone": lone, "third": third})
    edges = graph(prepared, 3)
    np.testing.assert_allclose(edges.smooth(prepared.f, 5.0)[:2].mean(), prepared.f[:2].mean())
    assert np.isfinite(edges.spread(prepared.f, 0.9)).all()


def test_coinciding_items_have_similarity_one():
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 20)), 5, axis=0)
    edges = graph(prepare(None, SCORES[:30], {"view": X}), 4)
    np.testing.assert_allclose(edges.weights.toarray(), np.kron(np.eye(6), np.ones((5, 5)) - np.eye(5)))


def test_widths_of_both_items_weigh_an_edge():
    X = np.random.default_rng(0).normal(size=(40, 3))
    near = nearest_rows(X, 6)
    squares = cdist(X, X) ** 2
    means, reach = 2 * near.distances.mean(axis=1), near.distances
    listed = np.zeros((40, 40), bool)
    np.put_along_axis(listed, near.indices.astype(int), True, axis=1)
    edges = listed | listed.T
    larger = np.where(edges, np.exp(-squares / np.maximum.outer(means, means) ** 2), 0)
    np.testing.assert_allclose(larger_width_graph(near).weights.toarray(), larger, atol=1e-12)
    product = np.where(edges, np.exp(-squares / np.outer(reach[:, 5], reach[:, 5])), 0)
    found = product_width_graph(near)
    np.testing.assert_allclose(found.weights.toarray(), product, atol=1e-12)
    np.testing.assert_allclose(found.degrees, product.sum(axis=1))


@pytest.mark.parametrize("build", [larger_width_graph, product_width_graph])
def test_copies_among_the_neighbours_are_no_trouble(build):
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)), 5, axis=0)
    np.testing.assert_allclose(build(nearest_rows(X, 4)).weights.toarray(), np.kron(np.eye(6), 1 - np.eye(5)))


def test_smaller_neighbourhoods_share_one_search(monkeypatch):
    calls = []

    def counted(*args):
        calls.append(args)
        return nearest_points(*args)

    monkeypatch.setattr("tupi.embedding.joint_graph.nearest_points", counted)
    prepared = prepare(None)
    wide, narrow = neighbors(prepared, 20), neighbors(prepared, 5)
    assert len(calls) == 1
    np.testing.assert_array_equal(wide.indices[:, :5], narrow.indices)


@pytest.mark.parametrize("d", [3, 30])
def test_tree_and_matrix_search_agree(d):
    X = np.random.default_rng(0).normal(size=(300, d))
    np.testing.assert_array_equal(np.sort(search._tree(X, 6)), np.sort(search._brute(X, 6)))


def clustered(n, d):
    """Return points around 50 centres on a low-dimensional sheet, as real features are."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(50, 8))
    latent = centres[rng.integers(0, 50, n)] + 0.4 * rng.normal(size=(n, 8))
    return latent @ rng.normal(size=(8, d)) + 0.05 * rng.normal(size=(n, d))


@pytest.mark.parametrize("d", [20, 100])
def test_candidates_of_the_inverted_file_hold_nearly_all_neighbours(monkeypatch, d):
    pytest.importorskip("faiss")
    X = clustered(4000, d)
    exact, distances = nearest_points(points_of(X), 10)
    monkeypatch.setattr(search, "EXACT_LIMIT", 1000)
    found, found_distances = nearest_points(points_of(X.astype(np.float32)), 10)
    recall = np.mean([len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True)]) / 10
    assert recall > 0.95
    same = exact[:, 0] == found[:, 0]
    np.testing.assert_allclose(found_distances[same, 0], distances[same, 0], rtol=1e-4)
    assert (np.diff(found_distances, axis=1) >= 0).all()
    assert (found != np.arange(len(X))[:, None]).all()


def test_candidates_serve_items_that_lack_a_view(monkeypatch):
    pytest.importorskip("faiss")
    X, present = clustered(3000, 30), np.ones((3000, 3), bool)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for v, lacking in enumerate(np.split(np.random.default_rng(1).permutation(3000)[:300], 3)):
        present[lacking, v] = False
        X[lacking, 10 * v : 10 * v + 10] = 0.0
    points = points_of(X, present, [0, 10, 20, 30])
    exact, _ = nearest_points(points, 10)
    monkeypatch.setattr(search, "EXACT_LIMIT", 1000)
    found, _ = nearest_points(points, 10)
    hits = np.array([len(np.intersect1d(a, b)) for a, b in zip(exact, found, strict=True)]) / 10
    assert hits.mean() > 0.95
    assert hits[~present.all(axis=1)].mean() > 0.85


def test_without_faiss_many_items_are_searched_exactly_and_it_is_said(monkeypatch):
    X = clustered(500, 30)
    exact = nearest_points(points_of(X), 5)
    monkeypatch.setattr(search, "EXACT_LIMIT", 100)
    monkeypatch.setattr(search, "_faiss", lambda: None)
    said = []
    found = nearest_points(points_of(X), 5, said.append)
    np.testing.assert_array_equal(found[0], exact[0])
    assert "faiss-cpu" in said[0]


def test_many_items_are_kept_in_single_precision(monkeypatch):
    monkeypatch.setattr("tupi.embedding.joint_graph.EXACT_LIMIT", 100)
    assert joint_points(prepare(None)).columns.dtype == np.float32


def test_items_without_any_view_take_no_part():
    views = {name: np.array(view) for name, view in VIEWS.items()}
    for view in views.values():
        view[5] = np.nan
    prepared = Prepared(make_problem(SCORES, views))
    assert len(graph(prepared, 4).degrees) == 119


def test_conjugate_gradients_solve_columns_side_by_side():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(30, 30))
    A = M @ M.T + np.eye(30)
    B = np.column_stack([np.zeros(30), rng.normal(size=30), 1e-8 * rng.normal(size=30)])
    X = conjugate_gradients(lambda V: A @ V, np.diag(A), B)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-6)
    assert (X[:, 0] == 0).all()


def test_conjugate_gradients_may_stop_early_and_solve_one_vector():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(20, 20))
    A = A @ A.T + np.eye(20)
    b = rng.normal(size=20)
    np.testing.assert_allclose(conjugate_gradients(lambda v: A @ v, np.ones(20), b), np.linalg.solve(A, b), atol=1e-7)
    rough = conjugate_gradients(lambda v: A @ v, np.ones(20), b, tol=0.0, max_iter=1)
    np.testing.assert_allclose(rough, b * (b @ b) / (b @ A @ b))


def test_conjugate_gradients_say_when_they_stop_short(monkeypatch):
    monkeypatch.setattr("tupi.embedding.graphs.MAX_ITER", 2)
    A = np.diag(np.arange(1.0, 40.0)) + np.ones((39, 39))
    with pytest.warns(RuntimeWarning, match="stopped after 2 iterations"):
        conjugate_gradients(lambda V: A @ V, np.ones(39), np.ones((39, 1)) * np.arange(39)[:, None])
