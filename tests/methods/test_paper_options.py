"""What the paper says in passing, by name: its recipe for values and probabilities, and its two norms of kernels."""

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.algorithm.engines.plain import ExactEngine
from tupi.algorithm.trajectory import follow
from tupi.embedding.gaussian import normalized_kernel
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi

SETTING = {"lam": 0.5, "sigma_w2": 0.3, "n_iter": 3}


def denoised(column, views):
    """Return Algorithm 1's last step for one column, standardised."""
    prepared = Prepared(make_problem(column, views))
    trajectory = Tupi(**SETTING).trajectory(prepared)
    follow([trajectory])
    return trajectory.steps[-1].f[:, 0]


def test_values_come_back_with_their_mean_and_scale():
    """Store the scales and means, normalise and denoise, then restore the scales and means."""
    _, scores, views = make_problem_arrays(120)
    values = 40.0 + 7.0 * scores
    by_hand = denoised(values, views) * values.std() + values.mean()
    found = tupi.denoise(values, views, method="tupi", task="regression", restore="paper", **SETTING)
    np.testing.assert_allclose(found.predictions, by_hand, rtol=1e-9)
    assert found.predictions.mean() == pytest.approx(values.mean())
    assert found.predictions.std() == pytest.approx(values.std())
    safe = tupi.denoise(values, views, method="tupi", task="regression", **SETTING)
    assert not np.allclose(safe.predictions, by_hand)


def nearest_probabilities(row):
    """Return the nearest point whose entries are not negative and sum to one, by bisection."""
    low, high = row.min() - 1.0, row.max()
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(row - low, 0)


def test_probabilities_are_denoised_as_they_are_and_come_back_as_probabilities():
    _, scores, views = make_problem_arrays(120)
    raw = np.column_stack([scores, -scores, np.cos(scores)])
    shares = np.exp(raw) / np.exp(raw).sum(axis=1, keepdims=True)
    columns = [denoised(column, views) * column.std() + column.mean() for column in shares.T]
    by_hand = np.array([nearest_probabilities(row) for row in np.column_stack(columns)])
    assert by_hand.min() >= 0
    found = tupi.denoise(shares, views, method="tupi", task="classification", restore="paper", **SETTING)
    np.testing.assert_allclose(found.predictions, by_hand, atol=5e-6)  # zero comes back as one in a million
    safe = tupi.denoise(shares, views, method="tupi", task="classification", **SETTING)
    assert np.abs(safe.predictions - by_hand).max() > 0.01


def test_for_rankings_both_recipes_are_the_same():
    _, scores, views = make_problem_arrays(80)
    one, other = (tupi.denoise(scores, views, method="tupi", restore=how, **SETTING) for how in ("safe", "paper"))
    np.testing.assert_array_equal(one.predictions, other.predictions)


def test_the_norm_of_the_main_text_and_of_the_supplement():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    K = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2))
    C = np.eye(30) - 1 / 30
    np.testing.assert_allclose(normalized_kernel(K), C @ K @ C / np.linalg.norm(C @ K @ C, "fro"))
    np.testing.assert_allclose(normalized_kernel(K, "main"), C @ K @ C / np.linalg.norm(K @ C, "fro"))


@pytest.mark.parametrize("normalization", ["main", "supplement"])
def test_the_energy_is_the_paper_s_by_either_norm(normalization):
    rng = np.random.default_rng(1)
    n, sigma2, lam = 25, 2.0, 0.7
    C = np.eye(n) - 1 / n

    def point(X):
        """Return K C / ||K C||_F or K C / ||C K C||_F as printed."""
        K = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / sigma2)
        return K @ C / np.linalg.norm(K @ C if normalization == "main" else C @ K @ C)

    views = [rng.normal(size=(n, 2)) for _ in range(3)]
    f0, f = rng.normal(size=(2, n))
    weights = np.array([0.5, 0.3, 0.2])

    def energy(f):
        def distance(A, B):
            return 1 - np.trace(A @ B)

        K_f = point(f[:, None])
        pull = sum(w * distance(K_f, point(H)) for w, H in zip(weights, views, strict=True))
        return distance(K_f, point(f0[:, None])) + lam * pull

    kernels = [np.exp(-np.sum((H[:, None] - H[None]) ** 2, axis=2) / sigma2) for H in views]
    engine = ExactEngine([normalized_kernel(K, normalization) for K in kernels], sigma2, normalization)
    value, gradient = engine.objective(f0, weights, lam)(f)
    assert value == pytest.approx(energy(f), rel=1e-10)
    for k in range(n):
        step = 1e-5 * np.eye(n)[k]
        assert gradient[k] == pytest.approx((energy(f + step) - energy(f - step)) / 2e-5, abs=1e-8)
    np.testing.assert_allclose(
        engine.dependence(f), [np.trace(point(f[:, None]) @ point(H)) for H in views], rtol=1e-10
    )


def test_the_main_text_s_norm_can_be_asked_for_and_is_another_path():
    truth, scores, views = make_problem_arrays(80)
    one, other = (
        tupi.denoise(scores, views, method="tupi", engine="exact", normalization=name, **SETTING)
        for name in ("supplement", "main")
    )
    assert not np.allclose(one.predictions, other.predictions)
    before = tupi.pairwise_accuracy(truth, scores)
    assert min(tupi.pairwise_accuracy(truth, each.predictions) for each in (one, other)) > before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normalization": "main"}, "normalization: found 'main' with engine 'fused'"),
        ({"normalization": "none"}, "normalization: found 'none'; accepted: supplement, main"),
        ({"restore": "papers"}, "restore: found 'papers'; accepted: safe, paper"),
    ],
)
def test_what_is_not_offered_gets_a_sentence(settings, message):
    with pytest.raises(tupi.InputError, match=message):
        Tupi(**settings)
