import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import kmeans_plusplus

from tupi.blocks.home import Memory
from tupi.embedding.embedding import EmbeddingOptions, embed, exact_kernel
from tupi.embedding.gaussian import (
    PredictionKernel,
    basis_points,
    first_centers,
    in_canonical_order,
    inverse_root,
    kernel_matrix,
    normalized_factor,
    sample_view,
    sample_views,
    squared_bandwidth,
)
from tupi.embedding.graphs import diffusion_features, diffusion_matrix, nearest_rows, normalized_adjacency
from tupi.inputs.views import View

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) * [1.0, 2.0, 0.5]


def all_distances(Z):
    return cdist(Z, Z).ravel()  # all n^2 pairs, an item with itself too


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("std-squared", 2 * np.std(all_distances(X) ** 2)),
        ("std", 2 * np.std(all_distances(X))),
        ("std-as-sigma", (2 * np.std(all_distances(X))) ** 2),
        ("median", np.median(cdist(X, X)[np.triu_indices(80, 1)]) ** 2),
        (1.25, 1.25),
    ],
)
def test_bandwidth_rules(rule, expected):
    assert squared_bandwidth(X - X.mean(axis=0), rule) == pytest.approx(expected, rel=1e-10)


def test_std_squared_is_the_same_for_more_columns_than_rows():
    wide = RNG.normal(size=(10, 40))
    assert squared_bandwidth(wide, "std-squared") == pytest.approx(2 * np.std(all_distances(wide) ** 2))


def test_median_of_mostly_equal_rows_has_a_value():
    Z = np.zeros((20, 2))
    Z[:3] = RNG.normal(size=(3, 2))
    assert squared_bandwidth(Z, "median") > 0


def test_kernel_matrix_is_the_formula():
    expected = [[np.exp(-np.sum((x - y) ** 2) / 1.7) for y in X[:5]] for x in X]
    np.testing.assert_allclose(kernel_matrix(X, X[:5], 1.7), expected, rtol=1e-12)


def test_basis_does_not_depend_on_order_copies_or_rotation():
    shuffle = RNG.permutation(len(X))
    rotation = np.linalg.qr(RNG.normal(size=(3, 3)))[0]
    base = basis_points(in_canonical_order(X), 8)
    for other, back in ((X[shuffle], np.eye(3)), (np.vstack([X, X]), np.eye(3)), (X @ rotation, rotation.T)):
        points = basis_points(in_canonical_order(other), 8) @ back
        order = np.lexsort(base.T)
        np.testing.assert_allclose(points[np.lexsort(points.T.round(6))], base[order], atol=1e-8)


def test_basis_of_one_dimension_is_a_grid():
    points = basis_points(np.array([[3.0], [1.0], [2.0]]), 5)
    np.testing.assert_allclose(points[:, 0], [1, 1.5, 2, 2.5, 3])


def test_sample_is_spread_over_the_canonical_order():
    view = View("a", X)
    everyone, picked = sample_view(view), sample_view(view, size=10)
    np.testing.assert_allclose(everyone, in_canonical_order(view.rows(slice(None))))
    np.testing.assert_allclose(picked, everyone[np.linspace(0, 79, 10).astype(int)])
    shuffle = RNG.permutation(80)
    np.testing.assert_allclose(sample_view(View("a", X[shuffle]), size=10), picked, atol=1e-12)
    np.testing.assert_allclose(sample_views(Memory((view,), shuffle), 10)[0], picked, atol=1e-12)


def test_tied_norms_are_ordered_by_value():
    Z = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    np.testing.assert_array_equal(in_canonical_order(Z), in_canonical_order(Z[::-1]))


def test_nystrom_with_all_points_is_exact():
    phi = kernel_matrix(X, X, 3.0) @ inverse_root(X, 3.0)
    np.testing.assert_allclose(phi @ phi.T, kernel_matrix(X, X, 3.0), atol=1e-6)


def test_inverse_root_survives_a_singular_kernel():
    grid = np.linspace(-3, 3, 50)[:, None]  # condition number of K_BB about 1e18
    root = inverse_root(grid, 5.0)
    assert root.shape[1] < 30
    K = kernel_matrix(grid, grid, 5.0)
    np.testing.assert_allclose(K @ root @ root.T @ K, K, atol=1e-8)


def test_prediction_kernel_and_its_slope():
    f = RNG.normal(size=50)
    kernel = PredictionKernel(f, 2.0)
    phi, slopes = kernel.features_and_slopes(f)
    np.testing.assert_allclose(phi @ phi.T, kernel_matrix(f[:, None], f[:, None], 2.0), atol=1e-8)
    np.testing.assert_allclose(phi, kernel.features(f), atol=1e-9)
    h = 1e-5
    np.testing.assert_allclose(slopes, (kernel.features(f + h) - kernel.features(f - h)) / (2 * h), atol=1e-6)


def test_prediction_kernel_stays_accurate_with_an_outlier():
    f = np.append(RNG.normal(size=50), 60.0)
    phi = PredictionKernel(f, 1.0).features(f)
    np.testing.assert_allclose(phi @ phi.T, kernel_matrix(f[:, None], f[:, None], 1.0), atol=1e-4)


def test_neighbours_exclude_the_item_itself():
    near = nearest_rows(X, 5)
    expected = np.argsort(cdist(X, X) + 1e9 * np.eye(80), axis=1)[:, :5]
    np.testing.assert_array_equal(near.indices, expected)
    assert (np.diff(near.distances, axis=1) >= 0).all()


def test_diffusion_kernel_is_the_heat_kernel():
    from scipy.linalg import expm

    laplacian = np.eye(80) - normalized_adjacency(X).toarray()
    np.testing.assert_allclose(diffusion_matrix(X, time=5.0), expm(-5.0 * laplacian), atol=1e-10)


def test_diffusion_features_are_the_leading_part():
    exact = diffusion_matrix(X)
    errors = []
    for rank in (10, 40, 80):
        phi = diffusion_features(X, rank)
        assert phi.shape == (80, rank)
        errors.append(np.linalg.norm(phi @ phi.T - exact))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8


def embed_view(view, **options):
    return embed([view], EmbeddingOptions(**options)).view(0).astype(float)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_embedding_is_centred_and_normalised(kernel):
    options = EmbeddingOptions(kernel=kernel, rank=20)
    embedding = embed([View("a", X), View("b", RNG.normal(size=(80, 1)))], options)
    for i in range(2):
        phi = embedding.view(i)
        np.testing.assert_allclose(phi.mean(axis=0), 0, atol=1e-7)
        assert np.linalg.norm(phi.T @ phi) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_embedding_converges_to_the_exact_kernel(kernel):
    view = View("a", X)
    exact = exact_kernel(view, EmbeddingOptions(kernel=kernel))
    assert np.linalg.norm(exact) == pytest.approx(1)
    errors = []
    for rank in (5, 20, 80):
        phi = embed_view(view, kernel=kernel, rank=rank, spared=0.0, dtype="float64")
        errors.append(np.linalg.norm(phi @ phi.T - exact))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


def test_missing_rows_are_zero_and_the_others_as_if_alone():
    values = X.copy()
    values[::4] = np.nan
    phi = embed_view(View("a", values), rank=10)
    alone = embed_view(View("a", X[~np.isnan(values[:, 0])]), rank=10)
    assert not phi[::4].any()
    np.testing.assert_allclose(phi[~np.isnan(values[:, 0])], alone, atol=1e-6)


def whole_embedding(view, rank):
    """All rows at once in float64: Nystroem features (label ``e:kapprox``), centred and scaled."""
    rows = view.rows(np.flatnonzero(view.present))
    sample = in_canonical_order(rows)
    sigma2, basis = squared_bandwidth(sample, "std-as-sigma"), basis_points(sample, rank)
    everywhere = np.zeros((view.n, view.n))
    phi = normalized_factor(kernel_matrix(rows, basis, sigma2) @ inverse_root(basis, sigma2))
    everywhere[np.ix_(view.present, view.present)] = phi @ phi.T
    return everywhere


def test_embedding_in_blocks_is_the_one_of_all_rows_at_once(monkeypatch):
    monkeypatch.setattr("tupi.embedding.embedding.BLOCK", 13)  # several blocks, the last one shorter
    holes = RNG.normal(size=(80, 4))
    holes[5:20] = np.nan
    views = [View("a", X), View("b", holes)]
    items = RNG.permutation(80)[:70]
    everyone = embed(views, EmbeddingOptions(rank=12, spared=0.0, dtype="float64"))
    few = embed(views, EmbeddingOptions(rank=12))
    on_disk = embed(views, EmbeddingOptions(rank=12), limit=0)
    assert len(on_disk.blocks) > 1
    assert few.width % 16 == 0
    for i, view in enumerate(views):
        expected = whole_embedding(view, 12)
        np.testing.assert_allclose(everyone.view(i) @ everyone.view(i).T, expected, atol=1e-10)
        phi = few.view(i).astype(float)
        assert np.linalg.norm(phi @ phi.T - expected) ** 2 < 1e-4
    rows = np.vstack([block.rows for block in on_disk.blocks])
    np.testing.assert_allclose(rows[:, : few.offsets[-1]], few.factors, atol=1e-6)
    assert [len(block.rows) for block in on_disk.blocks] == np.diff(on_disk.home.bounds).tolist()
    some = embed(views, EmbeddingOptions(rank=12, spared=0.0, dtype="float64"), items)
    assert some.n == 70


@pytest.mark.parametrize("seed", range(5))
def test_k_means_starts_where_that_of_scikit_learn_starts(seed):
    X = np.random.default_rng(seed).normal(size=(200 + 100 * seed, 1 + 4 * seed))
    np.testing.assert_array_equal(
        first_centers(X, 5 + 9 * seed, seed), kmeans_plusplus(X, 5 + 9 * seed, random_state=seed)[1]
    )
