"""The energy, its gradient and the weights, against their definitions on explicit matrices."""

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import view_weights
from tupi.algorithm.energy import FactorObjective, MatrixObjective, both, factor_alignment
from tupi.embedding.embedding import EmbeddingOptions, embed
from tupi.embedding.gaussian import PredictionKernel, normalized_factor
from tupi.inputs.views import View

SIGMA2, LAM, N = 1.7, 0.6, 25
WEIGHTS = np.array([0.5, 0.3, 0.2])


def problem():
    """Return f(t), a point near it, and the views' factors."""
    _, scores, views = make_problem_arrays(N)
    f = (scores - scores.mean()) / scores.std()
    embedding = embed(
        [View(name, values) for name, values in views.items()], EmbeddingOptions(rank=8, spared=0.0, dtype="float64")
    )
    return f, f + 0.3 * np.random.default_rng(1).normal(size=N), embedding


def point(K):
    """Return a kernel matrix centred and divided by its norm."""
    C = np.eye(len(K)) - 1 / len(K)
    K = C @ K @ C
    return K / np.sqrt(np.trace(K @ K))


def gaussian(f):
    return np.exp(-((f[:, None] - f) ** 2) / SIGMA2)


def slopes(energy, f, h=1e-4):
    """Return the gradient by differences of fourth order."""
    found = []
    for e in h * np.eye(len(f)):
        found.append((8 * (energy(f + e) - energy(f - e)) - (energy(f + 2 * e) - energy(f - 2 * e))) / (12 * h))
    return np.array(found)


def views_of(embedding):
    return [embedding.view(k) @ embedding.view(k).T for k in range(3)]


def test_the_energy_on_matrices_is_the_definition_and_its_gradient_the_slope():
    f, moved, embedding = problem()
    target = point(gaussian(f)) + LAM * sum(w * K for w, K in zip(WEIGHTS, views_of(embedding), strict=True))
    energy, gradient = MatrixObjective(SIGMA2, target, LAM)(moved)

    def defined(g):
        away = [1 - np.trace(point(gaussian(g)) @ K) for K in (point(gaussian(f)), *views_of(embedding))]
        return away[0] + LAM * WEIGHTS @ away[1:]

    assert energy == pytest.approx(defined(moved), abs=1e-9)
    np.testing.assert_allclose(gradient, slopes(defined, moved), atol=1e-8)


def test_the_energy_on_factors_is_the_definition_and_its_gradient_the_slope():
    f, moved, embedding = problem()
    kernel = PredictionKernel(np.concatenate([f, moved]), SIGMA2)
    anchor = normalized_factor(kernel.features(f))
    energy, gradient = FactorObjective(kernel, anchor, embedding, WEIGHTS, LAM)(moved)

    def defined(g):
        K = point(kernel.features(g) @ kernel.features(g).T)
        away = [1 - np.trace(K @ other) for other in (anchor @ anchor.T, *views_of(embedding))]
        return away[0] + LAM * WEIGHTS @ away[1:]

    assert energy == pytest.approx(defined(moved), abs=1e-9)
    np.testing.assert_allclose(gradient, slopes(defined, moved), atol=1e-8)


def test_the_alignment_of_factors_is_that_of_their_matrices():
    f, _, embedding = problem()
    Z = PredictionKernel(f, SIGMA2).features(f)
    Z = Z - Z.mean(axis=0)
    expected = [np.trace(point(Z @ Z.T) @ K) for K in views_of(embedding)]
    np.testing.assert_allclose(factor_alignment(Z, embedding), expected, rtol=1e-9)


def test_two_energies_are_added():
    one, other = (lambda f: (1.0, 2 * f)), (lambda f: (0.25, f**2))
    energy, gradient = both(one, other)(np.array([3.0, 5.0]))
    assert energy == 1.25
    np.testing.assert_array_equal(gradient, [15.0, 35.0])
    assert both(one, None) is one


def test_weights_are_the_formula():
    dependence, news = np.array([0.3, 0.1, 0.25]), np.array([0.9, 0.5, 0.0])
    plain, careful = np.exp(-(1 - dependence) / 0.05), news * np.exp(-(1 - news * dependence) / 0.05)
    np.testing.assert_allclose(view_weights(dependence, 0.05), plain / plain.sum())
    np.testing.assert_allclose(view_weights(dependence, 0.05, news), careful / careful.sum())
    np.testing.assert_allclose(view_weights(dependence, 1e-9), [1, 0, 0])
    np.testing.assert_allclose(view_weights(dependence, 0.05, np.zeros(3)), 1 / 3)
