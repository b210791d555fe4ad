import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tupi.algorithm.points import denoise_point, denoise_points
from tupi.runtime.errors import InputError

rng = np.random.default_rng(0)
ANGLE = rng.uniform(0, 2 * np.pi, 150)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE), np.zeros(150)])
NOISY = CIRCLE + 0.1 * rng.normal(size=(150, 3))


def dense_steps(P, n_iter, k, gamma):
    """Labels e:gaussiankernel to e:impliciteuler with whole matrices."""
    for _ in range(n_iter):
        distances = cdist(P, P)
        np.fill_diagonal(distances, np.inf)
        near = np.argsort(distances, axis=1)[:, :k]
        s = np.array([2 * distances[i, near[i]].mean() for i in range(len(P))])
        W = np.zeros_like(distances)
        for i in range(len(P)):
            for j in near[i]:
                W[i, j] = W[j, i] = np.exp(-(distances[i, j] ** 2) / max(s[i], s[j]) ** 2)
        delta = np.eye(len(P)) - W / W.sum(axis=1, keepdims=True)
        P = np.linalg.solve(np.eye(len(P)) + gamma * delta, P)
    return P


@pytest.mark.parametrize(("n_iter", "k", "gamma"), [(1, 5, 1.0), (4, 10, 0.5), (2, 8, 20.0)])
def test_equals_whole_matrices(n_iter, k, gamma):
    result = denoise_points(NOISY, n_iter, n_neighbors=k, gamma=gamma)
    np.testing.assert_allclose(result.points, dense_steps(NOISY, n_iter, k, gamma), atol=1e-6)


@pytest.mark.parametrize(("sigma2", "gamma"), [(0.05, 1.0), (0.5, 1.0), (0.2, 5.0)])
def test_a_fixed_width_is_the_paper_s_formula_with_all_points_connected(sigma2, gamma):
    P = NOISY
    for _ in range(2):
        W = np.array([[np.exp(-np.sum((p - q) ** 2) / sigma2) for q in P] for p in P])  # with W_ii = 1
        delta = np.eye(len(P)) - np.diag(1 / W.sum(axis=1)) @ W
        P = np.linalg.solve(np.eye(len(P)) + gamma * delta, P)  # P(t+1) - P(t) = -gamma Delta P(t+1)
    found = denoise_points(NOISY, 2, n_neighbors=len(NOISY) - 1, gamma=gamma, sigma2=sigma2)
    np.testing.assert_allclose(found.points, P, atol=1e-6)


def single_point_energy(p, p0, others, lam, sigma2):
    """Label e:impliciteuler as it is printed."""
    W = [np.exp(-np.sum((p0 - q) ** 2) / sigma2) for q in (p0, *others)]
    alpha = [w / sum(W) for w in W[1:]]
    pull = sum(a * np.sum((p - q) ** 2) for a, q in zip(alpha, others, strict=True))
    return np.sum((p - p0) ** 2) + lam * pull


@pytest.mark.parametrize(("lam", "sigma2"), [(0.1, 1.0), (1.0, 8.0), (30.0, 3.0)])
def test_a_single_point_goes_to_the_minimum_of_its_energy(lam, sigma2):
    rng = np.random.default_rng(1)
    p0, others = rng.normal(size=4), rng.normal(size=(5, 4))
    p = denoise_point(p0, others, lam=lam, sigma2=sigma2)
    least = single_point_energy(p, p0, others, lam, sigma2)
    assert least < single_point_energy(p0, p0, others, lam, sigma2)
    for k in range(4):  # the gradient is zero
        ahead, behind = (single_point_energy(p + s * np.eye(4)[k], p0, others, lam, sigma2) for s in (1e-4, -1e-4))
        assert (ahead - behind) / 2e-4 == pytest.approx(0.0, abs=1e-7)
        assert ahead > least < behind
    twice = denoise_point(p, others, lam=lam, sigma2=sigma2)  # weights follow the point
    np.testing.assert_allclose(denoise_point(p0, others, 2, lam=lam, sigma2=sigma2), twice, rtol=1e-12)


def test_a_single_point_takes_its_width_from_the_distances():
    rng = np.random.default_rng(2)
    p0, others = rng.normal(size=3), rng.normal(size=(6, 3))
    width = np.mean([np.sum((q - p0) ** 2) for q in others])
    np.testing.assert_allclose(denoise_point(p0, others), denoise_point(p0, others, sigma2=width))
    np.testing.assert_allclose(denoise_point(p0, np.tile(p0, (2, 1))), p0, rtol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], [[1.0]]), r"others: found shape \(1, 1\) for a point of shape \(2,\)"),
        (([0.0], [[np.nan]]), "point, others: found NaN"),
        (([0.0], [[1.0]], 0), "n_iter: found 0"),
    ],
)
def test_bad_single_points_get_a_sentence(arguments, message):
    with pytest.raises(InputError, match=message):
        denoise_point(*arguments)
    with pytest.raises(InputError, match="lam: found -1"):
        denoise_point([0.0], [[1.0]], lam=-1)


def test_moves_points_towards_the_manifold():
    def error(P):
        return np.sqrt(np.mean((np.linalg.norm(P[:, :2], axis=1) - 1) ** 2 + P[:, 2] ** 2))

    assert error(denoise_points(NOISY).points) < 0.6 * error(NOISY)


@given(seed=st.integers(0, 10_000))
def test_order_rotation_and_scale_of_points_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(150)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shift, scale = rng.normal(size=3), np.exp(rng.normal())
    moved = denoise_points((scale * NOISY @ rotation + shift)[order], 2).points
    expected = scale * denoise_points(NOISY, 2).points @ rotation + shift
    np.testing.assert_allclose(moved, expected[order], atol=1e-6 * scale)


def test_history_says_how_far_points_moved():
    first, second = denoise_points(NOISY, 1), denoise_points(NOISY, 2)
    assert list(second.history.index) == [0, 1, 2]
    moved = np.sqrt(np.mean(np.sum((second.points - first.points) ** 2, axis=1)))
    assert second.history.loc[2, "moved"] == pytest.approx(moved)
    assert (np.diff(second.history["reach"]) < 0).all()


def test_callback_sees_each_step_and_may_stop():
    seen = []
    result = denoise_points(NOISY, 5, callback=lambda t, P: seen.append((t, P)) or t == 2)
    assert [t for t, _ in seen] == [1, 2]
    np.testing.assert_array_equal(result.points, seen[-1][1])
    assert len(result.history) == 3


def test_input_is_left_alone_and_coinciding_points_stay():
    points = np.repeat([[0.0, 0.0], [5.0, 1.0]], 4, axis=0)
    copy = points.copy()
    np.testing.assert_allclose(denoise_points(points, n_neighbors=3).points, points, atol=1e-12)
    np.testing.assert_array_equal(points, copy)


@pytest.mark.parametrize(
    ("points", "settings", "message"),
    [
        (np.zeros(5), {}, r"points: found shape \(5,\)"),
        (np.zeros((2, 2)), {}, "at least 3 rows"),
        ([["a", "b"]] * 4, {}, "points: found text such as 'a', values that are not numbers"),
        (np.where(np.arange(8).reshape(4, 2) == 5, np.nan, 1.0), {}, "points: row 2"),
        (NOISY, {"n_iter": 0}, "n_iter: found 0"),
        (NOISY, {"n_neighbors": 2.5}, "n_neighbors: found 2.5"),
        (NOISY, {"gamma": -1.0}, "gamma: found -1.0"),
        (NOISY, {"gamma": "x"}, "gamma: found 'x'; accepted: a number above 0"),
        (NOISY * 1e200, {}, r"points: the largest magnitude is .*; accepted: at most 1e\+100"),
        (NOISY, {"sigma2": 0.0}, "sigma2: found 0.0"),
    ],
)
def test_bad_input_gets_a_sentence(points, settings, message):
    with pytest.raises(InputError, match=message):
        denoise_points(points, **settings)
