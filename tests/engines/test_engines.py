"""Energies, gradients and engines, each against something slower and simpler."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.denoiser import denoise_steps
from tupi.energy import view_weights
from tupi.engines.exact import ExactEngine
from tupi.engines.fused import FusedEngine
from tupi.engines.lowrank import LowRankEngine
from tupi.engines.passes import gradient as gradient_pass
from tupi.engines.passes import grid_sums, hat_counts
from tupi.kernels.embedding import Embedding, EmbeddingOptions, embed, exact_kernel, normalized_factor
from tupi.optimizers import gradient_descent, lbfgs
from tupi.views import View

SIGMA2 = 1.7
LAM = 0.6


def make_engines(n=60, kernel="gaussian", rank=50, seed=0):
    _, scores, views = make_problem_arrays(n, seed)
    f = (scores - scores.mean()) / scores.std()
    options = EmbeddingOptions(kernel=kernel, rank=rank)
    views = [View(name, values) for name, values in views.items()]
    embedding = embed(views, options)
    kernels = [exact_kernel(view, options) for view in views]
    return f, {
        "exact": ExactEngine(kernels, SIGMA2),
        "reference": LowRankEngine(embedding, SIGMA2),
        "fused": FusedEngine(embedding, f, SIGMA2),
    }


def naive_energy(f, f_t, weights, kernels):
    """The energy straight from its definition (label ``e:denoisingalgorithm``), with explicit matrices."""
    n = len(f)
    C = np.eye(n) - np.ones((n, n)) / n

    def point(g):
        K = C @ np.exp(-((g[:, None] - g[None, :]) ** 2) / SIGMA2) @ C
        return K / np.sqrt(np.trace(K @ K))

    def squared_distance(A, B):
        return 1 - np.trace(A @ B)

    pull = sum(w * squared_distance(point(f), K) for w, K in zip(weights, kernels, strict=True))
    return squared_distance(point(f), point(f_t)) + LAM * pull


WEIGHTS = np.array([0.5, 0.3, 0.2])


def test_exact_energy_is_the_definition():
    f, engines = make_engines(40)
    moved = f + 0.1 * np.random.default_rng(1).normal(size=len(f))
    energy, _ = engines["exact"].objective(f, WEIGHTS, LAM)(moved)
    assert energy == pytest.approx(naive_energy(moved, f, WEIGHTS, engines["exact"].kernels), abs=1e-12)


def test_low_rank_energy_is_the_definition_on_its_own_kernels():
    f, engines = make_engines(40, rank=10)
    moved = f + 0.1 * np.random.default_rng(1).normal(size=len(f))
    embedding = engines["reference"].embedding
    kernels = [embedding.view(i) @ embedding.view(i).T for i in range(3)]
    energy, _ = engines["reference"].objective(f, WEIGHTS, LAM)(moved)
    assert energy == pytest.approx(naive_energy(moved, f, WEIGHTS, kernels), abs=1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
@pytest.mark.parametrize("engine", ["exact", "reference"])
def test_gradient_is_the_finite_difference(engine, kernel):
    f, engines = make_engines(50, kernel, rank=20)
    objective = engines[engine].objective(f, WEIGHTS, LAM)
    point = f + 0.3 * np.random.default_rng(2).normal(size=len(f))
    _, gradient = objective(point)
    h = 1e-4
    numeric = np.empty_like(point)
    for k in range(len(point)):
        e = np.zeros_like(point)
        e[k] = h
        # fourth order, so that the truncation error is far below the tolerance
        numeric[k] = (
            8 * (objective(point + e)[0] - objective(point - e)[0])
            - (objective(point + 2 * e)[0] - objective(point - 2 * e)[0])
        ) / (12 * h)
    assert np.linalg.norm(gradient - numeric) < 1e-6 * np.linalg.norm(numeric)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_fused_engine_agrees_with_the_reference(kernel):
    f, engines = make_engines(300, kernel)
    moved = f + 0.2 * np.random.default_rng(3).normal(size=len(f))
    # Up to the columns that the fused engine leaves out; dependence is a cosine, so the scale is that of one.
    np.testing.assert_allclose(engines["fused"].dependence(f), engines["reference"].dependence(f), atol=2e-4)
    energy, gradient = engines["fused"].objective(f, WEIGHTS, LAM)(moved)
    expected_energy, expected = engines["reference"].objective(f, WEIGHTS, LAM)(moved)
    assert energy == pytest.approx(expected_energy, abs=2e-4)
    assert np.linalg.norm(gradient - expected) < 2e-2 * np.linalg.norm(expected)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_low_rank_converges_to_exact_as_the_rank_grows(kernel):
    differences = []
    for rank in (5, 20, 120):
        f, engines = make_engines(120, kernel, rank)
        ends = [list(denoise_steps(engines[e], f, 0.3, 0.1, 5))[-1].f for e in ("exact", "reference")]
        differences.append(1 - np.corrcoef(*ends)[0, 1])
    assert differences[0] > differences[1] > differences[2]
    assert differences[2] < 1e-5


def test_weights_are_the_formula_and_pick_one_view_in_the_limit():
    dependence = np.array([0.3, 0.1, 0.25])
    expected = np.exp(-(1 - dependence) / 0.05)
    np.testing.assert_allclose(view_weights(dependence, 0.05), expected / expected.sum())
    np.testing.assert_allclose(view_weights(dependence, 1e-9), [1, 0, 0])
    np.testing.assert_allclose(view_weights(dependence, 1e9), 1 / 3, rtol=1e-6)


@pytest.mark.parametrize("engine", ["exact", "reference", "fused"])
@pytest.mark.parametrize("optimizer", ["bb", "lbfgs", "gradient"])
def test_energy_never_rises_within_a_step(engine, optimizer):
    f, engines = make_engines(80)
    for step in denoise_steps(engines[engine], f, 0.5, 0.1, 4, optimizer, inner_iter=8):
        assert (np.diff(step.energies) <= 0).all()
        assert step.t == 0 or step.energies[-1] < step.energies[0]


def test_minimisation_reaches_a_stationary_point():
    f, engines = make_engines(60)
    objective = engines["exact"].objective(f, WEIGHTS, LAM)
    end, energies = lbfgs(objective, f, 500)
    assert np.linalg.norm(objective(end)[1]) < 2e-3 * np.linalg.norm(objective(f)[1])
    _, slow_energies = gradient_descent(objective, f, 3000)
    assert energies[-1] <= slow_energies[-1] + 1e-4  # plain descent needs far more steps and is not better


@pytest.mark.parametrize("n", [3000, 25_000])  # one part, and several
def test_one_fused_gradient_step_is_the_separate_passes(n):
    rng = np.random.default_rng(0)
    f = rng.normal(size=n)
    f = (f - f.mean()) / f.std()
    factors = normalized_factor(rng.normal(size=(n, 6)) + f[:, None])
    embedding = Embedding(("a", "b"), np.hstack([factors, normalized_factor(factors[:, :3] ** 2)]), np.array([0, 6, 9]))
    engine, reference = FusedEngine(embedding, f, SIGMA2), LowRankEngine(embedding, SIGMA2)
    weights = np.array([0.7, 0.3])
    objective, expected = engine.objective(f, weights, LAM), reference.objective(f, weights, LAM)
    start = f + 0.1 * rng.normal(size=n)
    energy, gradient = objective(start)
    length = 0.05 * np.sqrt(n) / np.linalg.norm(gradient)
    moved = objective.move(start, length)
    np.testing.assert_allclose(moved[0], gradient, atol=1e-12)
    np.testing.assert_allclose(moved[1], start - length * gradient, atol=1e-9)
    assert moved[2] == pytest.approx(objective(moved[1] + 0.0)[0], abs=1e-7)
    reference_energy, reference_gradient = expected(start)
    assert energy == pytest.approx(reference_energy, abs=2e-3 * reference_energy)
    assert np.linalg.norm(gradient - reference_gradient) < 2e-2 * np.linalg.norm(reference_gradient)
    assert expected.move(start, length)[2] == pytest.approx(moved[2], abs=2e-3 * reference_energy)


def naive_grid_sums(U, x, points):
    S = np.zeros((points, U.shape[1]))
    for k in range(len(x)):
        for g in range(points):
            S[g] += max(0.0, 1.0 - abs(min(max(x[k], 0.0), points - 1) - g)) * U[k]
    return S


def test_passes_are_the_sums_that_they_say():
    rng = np.random.default_rng(1)
    U = rng.normal(size=(200, 5)).astype(np.float32)
    x = rng.uniform(-1, 11, size=200)  # some beyond the grid, on either side
    np.testing.assert_allclose(grid_sums(U, x, 11), naive_grid_sums(U, x, 11), atol=1e-5)
    counts, bands = hat_counts(x, 11)
    hats = np.array([[max(0.0, 1.0 - abs(min(max(v, 0.0), 10.0) - g)) for g in range(11)] for v in x])
    np.testing.assert_allclose(counts, hats.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(bands[0], (hats**2).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(bands[1][:-1], (hats[:, :-1] * hats[:, 1:]).sum(axis=0), atol=1e-12)
    H, h = rng.normal(size=(11, 5)).astype(np.float32), rng.normal(size=11)
    inside = (x > 0) & (x < 10)
    expected = np.where(inside, np.einsum("kj,kg,gj->k", U, hats, H) + hats @ h, 0.0)
    np.testing.assert_allclose(gradient_pass(U, x, H, h), expected, atol=1e-5)


def test_passes_do_not_depend_on_the_number_of_threads():
    code = (
        "import numpy as np, numba, sys;"
        "from tupi.engines.passes import grid_sums;"
        "rng = np.random.default_rng(0);"
        "U = rng.normal(size=(20000, 7)).astype(np.float32); x = np.sort(rng.uniform(0, 50, 20000));"
        "print(grid_sums(U, x, 51).tobytes().hex()[:4000])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_fused_engine_stores_no_wasted_columns(kernel):
    _, engines = make_engines(300, kernel)
    embedding, engine = engines["reference"].embedding, engines["fused"]
    assert engine.n_columns < embedding.factors.shape[1]
    back = np.argsort(engine.order)
    for i in range(3):
        phi, kept = embedding.view(i), engine.U[back, engine.offsets[i] : engine.offsets[i + 1]].astype(float)
        assert np.linalg.norm(kept.T @ kept) ** 2 >= 1 - 1e-4
        assert np.linalg.norm(phi @ phi.T - kept @ kept.T) ** 2 <= 1.001e-4
