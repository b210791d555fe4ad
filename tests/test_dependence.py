import numpy as np
import pytest

import tupi
from tupi.dependence import independence_p_value
from tupi.kernels.bandwidth import squared_bandwidth
from tupi.kernels.gaussian import kernel_matrix, nystrom_features

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.column_stack([X[:, 0] ** 2, RNG.normal(size=30)])


def standard(Z):
    return (Z - Z.mean(axis=0)) / Z.std(axis=0)


def kernels(bandwidth):
    return [kernel_matrix(standard(Z), standard(Z), squared_bandwidth(standard(Z), bandwidth)) for Z in (X, Y)]


def naive_biased(K, L):
    n = len(K)
    C = np.eye(n) - np.ones((n, n)) / n
    return np.trace(K @ C @ L @ C)


def naive_unbiased(K, L):
    """Song et al. (2012), equation 5, with explicit sums over distinct items."""
    n = len(K)
    first = sum(K[i, j] * L[i, j] for i in range(n) for j in range(n) if i != j)
    sum_k = sum(K[i, j] for i in range(n) for j in range(n) if i != j)
    sum_l = sum(L[i, j] for i in range(n) for j in range(n) if i != j)
    cross = sum(K[i, j] * L[i, q] for i in range(n) for j in range(n) for q in range(n) if j != i and q != i)
    return (first + sum_k * sum_l / ((n - 1) * (n - 2)) - 2 * cross / (n - 2)) / (n * (n - 3))


@pytest.mark.parametrize("bandwidth", ["std-squared", "std", "std-as-sigma", "median", 2.5])
def test_exact_values_equal_the_trace_formula(bandwidth):
    K, L = kernels(bandwidth)
    assert tupi.hsic(X, Y, bandwidth=bandwidth) == pytest.approx(naive_biased(K, L), rel=1e-10)
    expected = naive_biased(K, L) / np.sqrt(naive_biased(K, K) * naive_biased(L, L))
    assert tupi.hsic(X, Y, normalized=True, bandwidth=bandwidth) == pytest.approx(expected, rel=1e-10)


def test_unbiased_equals_explicit_sums():
    K, L = kernels("median")
    value = tupi.hsic(X, Y, estimator="unbiased", bandwidth="median")
    assert value == pytest.approx(naive_unbiased(K, L), rel=1e-10)


def test_agrees_with_hyppo_on_the_same_kernels():
    from hyppo.independence import Hsic

    K, L = kernels("median")
    K, L = 1 - K, 1 - L  # what hyppo itself makes of kernels before it goes on
    root = Hsic(compute_kernel=None, bias=True).statistic(K, L)  # hyppo takes the root of the biased statistic
    assert tupi.hsic(X, Y, normalized=True, bandwidth="median") == pytest.approx(root**2, rel=1e-8)
    unbiased = Hsic(compute_kernel=None, bias=False).statistic(K, L)
    ours = tupi.hsic(X, Y, normalized=True, estimator="unbiased", bandwidth="median")
    assert ours == pytest.approx(unbiased, rel=1e-8)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("normalized", [False, True])
def test_low_rank_converges_to_exact(estimator, normalized):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    y = x[:, :1] + 0.5 * rng.normal(size=(400, 1))
    exact = tupi.hsic(x, y, normalized, estimator)
    errors = [abs(tupi.hsic(x, y, normalized, estimator, rank=rank) / exact - 1) for rank in (10, 50, 400)]
    assert errors[2] < 1e-6
    assert errors[1] < 0.01
    assert errors[2] <= errors[1] <= errors[0]


def test_unbiased_is_unbiased_under_independence():
    rng = np.random.default_rng(2)
    values = [tupi.hsic(rng.normal(size=30), rng.normal(size=30), estimator="unbiased") for _ in range(400)]
    assert abs(np.mean(values)) < 3 * np.std(values) / 20
    biased = [tupi.hsic(rng.normal(size=30), rng.normal(size=30)) for _ in range(10)]
    assert min(biased) > 0


def permuted_p_value(phi, psi, rounds=1000):
    rng = np.random.default_rng(3)
    observed = np.sum((phi.T @ psi) ** 2)
    null = [np.sum((phi[rng.permutation(len(phi))].T @ psi) ** 2) for _ in range(rounds)]
    return np.array(null), np.mean(np.array(null) >= observed)


def factors(n, strength, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    y = strength * x[:, :1] + rng.normal(size=(n, 1))
    out = [nystrom_features(z, z[:20], 3.0) for z in (x, y)]
    return [phi - phi.mean(axis=0) for phi in out]


@pytest.mark.parametrize(("strength", "seed"), [(0.0, 0), (0.15, 1), (0.3, 2), (0.0, 3)])
def test_p_value_agrees_with_permutations(strength, seed):
    phi, psi = factors(100, strength, seed)
    _, sampled = permuted_p_value(phi, psi)
    assert independence_p_value(phi, psi) == pytest.approx(sampled, abs=0.03)


def test_p_values_are_uniform_under_independence():
    values = np.array([independence_p_value(*factors(60, 0.0, seed)) for seed in range(200)])
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(values < level) - level) < 3 * np.sqrt(level * (1 - level) / 200)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": X, "y": Y[:20]}, "20 rows, and 30 in x"),
        ({"x": X, "y": Y, "estimator": "unbised"}, "Did you mean 'unbiased'"),
        ({"x": X, "y": Y, "rank": 1}, "rank: found 1"),
        ({"x": X, "y": Y, "bandwidth": "medan"}, "Did you mean 'median'"),
        ({"x": X, "y": Y, "bandwidth": -1.0}, "positive number"),
        ({"x": X, "y": np.ones(30)}, "constant"),
        ({"x": X, "y": np.full(30, np.nan)}, "missing"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words):
    with pytest.raises(tupi.InputError) as caught:
        tupi.hsic(**arguments)
    assert words in str(caught.value)
