import numpy as np
import pytest

import tupi
from tupi.embedding.gaussian import inverse_root, kernel_matrix, squared_bandwidth
from tupi.embedding.relevance import independence_p_value

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
    assert tupi.hsic(X, Y, rank=None, bandwidth=bandwidth) == pytest.approx(naive_biased(K, L), rel=1e-10)
    expected = naive_biased(K, L) / np.sqrt(naive_biased(K, K) * naive_biased(L, L))
    assert tupi.hsic(X, Y, normalized=True, rank=None, bandwidth=bandwidth) == pytest.approx(expected, rel=1e-10)


def test_unbiased_equals_explicit_sums():
    K, L = kernels("median")
    value = tupi.hsic(X, Y, estimator="unbiased", rank=None, bandwidth="median")
    assert value == pytest.approx(naive_unbiased(K, L), rel=1e-10)


def test_agrees_with_hyppo_on_the_same_kernels():
    from hyppo.independence import Hsic

    K, L = kernels("median")
    K, L = 1 - K, 1 - L  # what hyppo itself makes of kernels before it goes on
    root = Hsic(compute_kernel=None, bias=True).statistic(K, L)  # hyppo takes the root of the biased statistic
    assert tupi.hsic(X, Y, normalized=True, rank=None, bandwidth="median") == pytest.approx(root**2, rel=1e-8)
    unbiased = Hsic(compute_kernel=None, bias=False).statistic(K, L)
    ours = tupi.hsic(X, Y, normalized=True, estimator="unbiased", rank=None, bandwidth="median")
    assert ours == pytest.approx(unbiased, rel=1e-8)


@pytest.mark.parametrize("estimator", ["biased", "unbiased"])
@pytest.mark.parametrize("normalized", [False, True])
def test_low_rank_converges_to_exact(estimator, normalized):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    y = x[:, :1] + 0.5 * rng.normal(size=(400, 1))
    exact = tupi.hsic(x, y, normalized, estimator, rank=None)
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
    out = [kernel_matrix(z, z[:20], 3.0) @ inverse_root(z[:20], 3.0) for z in (x, y)]
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


def dependent_views(n, seed=0):
    """Return truth, scores and views of two, one, five and thirty columns; the five are junk."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    views = {
        "two": np.column_stack([np.cos(truth), np.sin(truth)]) + 0.2 * rng.normal(size=(n, 2)),
        "one": truth**2 + 0.3 * rng.normal(size=n),
        "junk": rng.normal(size=(n, 5)),
        "wide": np.tanh(truth[:, None] * rng.normal(size=30)) + rng.normal(size=(n, 30)),
    }
    return truth, truth + rng.normal(size=n), views


@pytest.mark.parametrize(("n", "close"), [(300, 1e-3), (1500, 1e-2)])
@pytest.mark.parametrize("method", ["tupi", "auto"])
@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_the_table_of_a_result_is_hsic_with_its_defaults(n, close, method, task):
    truth, scores, views = dependent_views(n)
    labels = tupi.Values(range(40), truth[:40])
    result = tupi.denoise(scores, views, labels=labels, method=method, task=task)
    assert result.changed
    for when, f in (("before", scores), ("after", result.predictions)):
        expected = [tupi.hsic(view, f, normalized=True) for view in views.values()]
        np.testing.assert_allclose(result.dependence[when], expected, rtol=close)


def test_the_table_is_what_sets_the_weights_of_the_first_step():
    _, scores, views = dependent_views(1500)
    steps = []
    result = tupi.denoise(
        scores, views, method="tupi", lam=0.3, sigma_w2=0.1, n_iter=1, callback=lambda step: steps.append(step) or False
    )
    np.testing.assert_allclose(result.dependence["before"], steps[0].dependence, rtol=1e-3)
    weights = np.exp((result.dependence["before"] - result.dependence["before"].max()) / 0.1)
    np.testing.assert_allclose(result.weights.iloc[0], weights / weights.sum(), rtol=1e-3)


def test_a_class_that_is_the_same_everywhere_depends_on_nothing():
    """The labels are of two classes of five, and the scores of the others become equal but for rounding."""
    rng = np.random.default_rng(5)
    scores, view = rng.normal(size=(60, 5)), rng.normal(size=(60, 2))
    labels = tupi.Values(range(10), [0, 1] * 5)
    result = tupi.denoise(scores, view, labels=labels, method="ridge", task="classification")
    assert 0 < result.dependence["after"].iloc[0] < 0.4  # two classes of five depend on it


def p_values_and_note(scores, views, **arguments):
    result = tupi.denoise(scores, views, **arguments)
    return result.dependence["p_value"], result.notes[0]


def test_p_values_are_those_by_which_views_are_told_apart():
    """A wave that wide kernels do not see: "1 of 1 view depends" once stood beside a p-value of 0.62."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1000)
    view = np.sin(5 * scores) + 0.2 * rng.normal(size=1000)
    p_values, note = p_values_and_note(scores, {"wave": view})
    assert "1 of 1 view depends" in note
    assert p_values["wave"] < 0.01
    p_values, note = p_values_and_note(scores, {"wave": view, "junk": rng.normal(size=(1000, 2))})
    assert "1 of 2 views depends on the predictions. View junk shows no relation" in note
    assert p_values["wave"] < 0.01 < p_values["junk"]
    by_tupi = tupi.denoise(scores, {"wave": view}, method="tupi", n_iter=1).dependence["p_value"]
    assert by_tupi["wave"] == p_values_and_note(scores, {"wave": view})[0]["wave"]


@pytest.mark.parametrize("seed", range(5))
def test_p_values_never_contradict_the_sentence(seed):
    """Views of all strengths around the level: the count is that of p-values below it."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=200)
    views = {f"v{k}": 0.06 * k * scores + rng.normal(size=200) for k in range(8)}
    p_values, note = p_values_and_note(scores, views)
    assert f"{(p_values < 0.01).sum()} of 8 views depend" in note


def test_a_view_that_depends_on_another_one_only_is_said_to():
    rng = np.random.default_rng(1)
    scores, error = rng.normal(size=(2, 400))
    p_values, note = p_values_and_note(scores, {"noisy": scores + error, "error": error})
    assert p_values["noisy"] < 0.01 < p_values["error"]
    assert "1 of 2 views depends on the predictions. View error does not, but depends on a view that does." in note


def test_a_sample_without_a_view_finds_no_dependence():
    scores = np.random.default_rng(2).normal(size=3000)
    rare = np.full((3000, 1), np.nan)
    rare[np.argsort(scores)[[1, 4, 7]]] = [[1.0], [2.0], [4.0]]
    p_values, _ = p_values_and_note(scores, {"rare": rare, "near": scores + 0.1 * np.sin(30 * scores)})
    assert p_values["rare"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": X, "y": Y[:20]}, "20 rows, and 30 in x"),
        ({"x": X, "y": Y, "estimator": "unbised"}, "Did you mean 'unbiased'"),
        ({"x": X, "y": Y, "rank": 1}, "rank: found 1"),
        ({"x": X, "y": Y, "bandwidth": "medan"}, "Did you mean 'median'"),
        ({"x": X, "y": Y, "bandwidth": -1.0}, "a number from 0.001"),
        ({"x": X, "y": np.ones(30)}, "constant"),
        ({"x": X, "y": np.full(30, np.nan)}, "missing"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, words):
    with pytest.raises(tupi.InputError) as caught:
        tupi.hsic(**arguments)
    assert words in str(caught.value)
