"""Energies, gradients and engines, each against something slower and simpler."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import Run, _minimize, advance, view_weights
from tupi.algorithm.engines.fused import FusedEngine
from tupi.algorithm.engines.moves import descend
from tupi.algorithm.engines.passes import BLOCK
from tupi.algorithm.engines.plain import ExactEngine, LowRankEngine
from tupi.blocks.home import Memory, Scratch
from tupi.embedding.embedding import Embedding, EmbeddingOptions, embed, exact_kernel
from tupi.embedding.gaussian import normalized_factor
from tupi.inputs.views import View

SIGMA2 = 1.7
LAM = 0.6


def make_engines(n=60, kernel="gaussian", rank=50, seed=0):
    _, scores, views = make_problem_arrays(n, seed)
    f = (scores - scores.mean()) / scores.std()
    options = EmbeddingOptions(kernel=kernel, rank=rank)
    views = [View(name, values) for name, values in views.items()]
    kernels = [exact_kernel(view, options) for view in views]
    return f, {
        "exact": ExactEngine(kernels, SIGMA2),
        "reference": LowRankEngine(embed(views, replace(options, spared=0.0, dtype="float64")), SIGMA2),
        "fused": FusedEngine(embed(views, options), f, SIGMA2),
    }


def steps_of(run):
    """Return f(0), f(1), ..., f(T) of a run."""
    return [advance([run])[0] for _ in range(run.n_iter + 1)]


def evaluate(engine, f, weights, lam, point, extra=None):
    """Return energy and gradient at a point of the step that begins at f, through the engine's own moves."""
    descent = engine.descent([engine.begin(f)], [weights], [lam], extra)
    if isinstance(engine, FusedEngine):
        table = descent._tables[0]
        x = (point - table.low) * table.per_unit
        descent._attempts = [replace(one, x=x[None]) for one in descent._attempts]
        energies, _ = descent.move(np.zeros(1), np.zeros(1))  # sums at the point, and tables from them
        descent.accept([0])
        descent.move(np.zeros(1), np.zeros(1))
        return float(energies[0]), descent._attempts[0].gradient[0].astype(float)
    objective = descent._objectives[0]
    return objective(point)


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
    dependence = [engines[name].begin(f).dependence for name in ("fused", "reference")]
    np.testing.assert_allclose(*dependence, atol=2e-5)
    energy, gradient = evaluate(engines["fused"], f, WEIGHTS, LAM, moved)
    expected_energy, expected = evaluate(engines["reference"], f, WEIGHTS, LAM, moved)
    assert energy == pytest.approx(expected_energy, abs=2e-5)
    assert np.linalg.norm(gradient - expected) < 2e-3 * np.linalg.norm(expected)


def test_what_is_added_to_the_energy_is_added_in_every_engine():
    f, engines = make_engines(300)
    moved = f + 0.1 * np.random.default_rng(3).normal(size=len(f))
    pull = np.random.default_rng(4).uniform(size=len(f)) / 300

    def extra(g):
        return float(pull @ g**2), 2 * pull * g

    for name, tolerance in (("reference", 1e-12), ("fused", 1e-6)):
        energy, gradient = evaluate(engines[name], f, WEIGHTS, LAM, moved)
        more, further = evaluate(engines[name], f, WEIGHTS, LAM, moved, extra)
        assert more - energy == pytest.approx(extra(moved)[0], abs=tolerance)
        np.testing.assert_allclose(further - gradient, extra(moved)[1], atol=tolerance)
    ends = [steps_of(Run(Added(engines[name], extra), f, 0.3, 0.1, 4))[-1].f for name in ("reference", "fused")]
    assert 1 - np.corrcoef(*ends)[0, 1] < 1e-5


class Added:
    """An engine with something added to its energy."""

    def __init__(self, engine, extra):
        self.engine, self.extra = engine, extra

    def begin(self, f):
        return self.engine.begin(f)

    def descent(self, states, weights, lams):
        return self.engine.descent(states, weights, lams, self.extra)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_low_rank_converges_to_exact_as_the_rank_grows(kernel):
    differences = []
    for rank in (5, 20, 120):
        f, engines = make_engines(120, kernel, rank)
        ends = [steps_of(Run(engines[e], f, 0.3, 0.1, 5))[-1].f for e in ("exact", "reference")]
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
@pytest.mark.parametrize("optimizer", ["momentum", "gradient"])
def test_energy_never_rises_within_a_step(engine, optimizer):
    f, engines = make_engines(80)
    for step in steps_of(Run(engines[engine], f, 0.5, 0.1, 4, optimizer, inner_iter=8)):
        assert (np.diff(step.energies) <= 0).all()
        assert step.t == 0 or step.energies[-1] < step.energies[0]


def test_minimisation_reaches_a_stationary_point(monkeypatch):
    monkeypatch.setattr("tupi.algorithm.denoiser.ROUNDING", 0.0)
    f, engines = make_engines(60)
    objective = engines["exact"].objective(f, WEIGHTS, LAM)
    ends = {}
    for optimizer, moves in (("momentum", 1500), ("gradient", 3000)):
        descent = engines["exact"].descent([engines["exact"].begin(f)], [WEIGHTS], [LAM])
        (energies,) = _minimize(descent, [Run(engines["exact"], f, LAM, 0.1, 1, optimizer, moves)])
        ends[optimizer] = energies[-1]
        assert energies[-1] == objective(descent._f[0])[0]
        assert np.linalg.norm(objective(descent._f[0])[1]) < 1e-2 * np.linalg.norm(objective(f)[1])
    assert ends["momentum"] <= ends["gradient"] + 1e-4  # plain descent needs more moves and is not better


def naive_descend(U, x, velocity, anchor_x, anchor, H, h, length, momentum):
    """One move of one run, straight from the formula: hats by definition, sums item by item."""
    points = len(h)

    def hats(values):
        return np.maximum(0.0, 1.0 - np.abs(np.clip(values, 0.0, points - 1)[:, None] - np.arange(points)))

    rows = np.hstack([U, hats(anchor_x) @ anchor])
    inside = (x > 0) & (x < points - 1)
    g = np.where(inside, np.einsum("kj,kg,gj->k", rows, hats(x), H) + hats(x) @ h, 0.0)
    new_velocity = momentum * velocity - length * g
    after = hats(x + new_velocity)
    tally = [after.sum(axis=0), (after**2).sum(axis=0), np.append((after[:, :-1] * after[:, 1:]).sum(axis=0), 0.0)]
    return g, x + new_velocity, new_velocity, after.T @ rows, np.array(tally)


@pytest.mark.parametrize("n", [200, 2 * BLOCK + 1, 40_000])  # less than a block, a few, and several parts
def test_the_pass_is_what_it_says(n):
    rng = np.random.default_rng(1)
    runs, R, r, points = 3, 16, 16, 11
    U = rng.normal(size=(n, R)).astype(np.float32)
    x, anchor_x = rng.uniform(-1, 11, size=(2, runs, n))  # some beyond the grid, on either side
    velocity, before = rng.normal(size=(2, runs, n)).astype(np.float32)
    anchor, H = (rng.normal(size=(runs, points, k)).astype(np.float32) for k in (r, R + r))
    h, lengths, momenta = rng.normal(size=(runs, points)), rng.uniform(0, 0.1, runs), rng.uniform(0, 1, runs)
    gradient, new_velocity = np.empty((2, runs, n), np.float32)
    new_x, S, tally = np.empty((runs, n)), np.zeros((runs, points, R + r)), np.zeros((runs, 3, points))
    products = np.zeros((runs, 3))
    nothing = np.empty((runs, 0), np.float32)
    descend(
        U, x, velocity, before, anchor_x, anchor, H, h, nothing, lengths, momenta, gradient, new_x, new_velocity,
        S=S, tallies=tally, products=products, room={},
    )  # fmt: skip
    for m in range(runs):
        expected = naive_descend(
            U.astype(float), x[m], velocity[m], anchor_x[m], anchor[m].astype(float), H[m].astype(float), h[m],
            lengths[m], momenta[m],
        )  # fmt: skip
        for found, wanted in zip((gradient[m], new_x[m], new_velocity[m]), expected[:3], strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-4)
        np.testing.assert_allclose(S[m], expected[3], atol=1e-4 * np.abs(expected[3]).max())
        np.testing.assert_allclose(tally[m], expected[4], atol=1e-4 * n)
        y = expected[0] - before[m]
        wanted = [expected[0] @ expected[0], velocity[m] @ y, y @ y]
        np.testing.assert_allclose(products[m], wanted, rtol=1e-4, atol=1e-3 * n**0.5)


class Slope:
    """A descent that changes the energies of two runs by so much at each move."""

    def __init__(self, *rises):
        self.energies, self._rises = np.ones(2), np.array(rises)
        self.shortened, self.moves = [], 0

    def move(self, lengths, momenta):
        self.moves += 1
        return self.energies + self._rises * (lengths > 0), np.ones((2, 3))

    def shorten(self, runs, lengths):
        self.shortened.append(list(runs))
        return self.energies[runs] - 1e-3

    def accept(self, runs):
        self.energies[runs] = self.energies[runs] + np.minimum(self._rises[runs], 0.0)


def test_a_rise_within_rounding_ends_the_step_and_a_larger_one_shortens_the_move():
    runs = [Run(None, np.zeros(100), 0.0, 0.1, 1, inner_iter=1) for _ in range(2)]
    for run in runs:
        run.first_length(1.0)
    length, descent = runs[0].length, Slope(1e-9, 1e-2)
    energies = _minimize(descent, runs)
    assert descent.shortened == [[1]]
    assert energies == [[1.0], [1.0, 1.0 - 1e-3]]
    assert runs[0].length == length
    still = Slope(1e-9, 1e-9)
    runs[0].inner_iter = 4
    assert _minimize(still, runs) == [[1.0], [1.0]]
    assert (still.moves, still.shortened) == (1, [])  # nobody is left who could move


def test_a_run_that_has_arrived_may_reject_moves_for_ever():
    run = Run(None, np.zeros(100), LAM, 0.1, 1)
    run.first_length(1.0)
    lengths = [run.rejected() for _ in range(3000)]
    assert lengths[-1] > 0
    run.accepted()
    assert np.isfinite(run.length)
    assert run.length > 0


@pytest.mark.parametrize("length", [1e6, 1e12, 1e30])
def test_a_move_that_is_far_too_long_can_be_shortened(length):
    f, engines = make_engines()
    state = engines["fused"].begin(f)
    descent = engines["fused"].descent([state], [view_weights(state.dependence, 0.1)], [LAM])
    energies, products = descent.move(np.array([length]), np.zeros(1))
    assert not np.isnan(energies).any()
    assert descent.shorten([0], [1e-3 / np.sqrt(products[0, 0])])[0] < descent.energies[0]


def test_many_runs_at_once_are_the_same_as_each_alone():
    f, engines = make_engines(500)
    settings = [(lam, width) for lam in (0.1, 0.5, 2.0) for width in (0.02, 0.3)]
    for name in ("fused", "reference"):
        alone = [steps_of(Run(engines[name], f, *setting, n_iter=4)) for setting in settings]
        runs = [Run(engines[name], f, *setting, n_iter=4) for setting in settings]
        for t in range(5):
            for step, steps in zip(advance(runs), alone, strict=True):
                assert step.t == t
                np.testing.assert_allclose(step.f, steps[t].f, atol=1e-6)
                np.testing.assert_allclose(step.weights, steps[t].weights, atol=1e-7)
                np.testing.assert_allclose(step.energies, steps[t].energies, atol=1e-7)


def test_blocks_of_unequal_length_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    n = 50_000  # several parts; the last block has fewer than the first
    f = np.sort(rng.normal(size=n))
    f = (f - f.mean()) / f.std()
    factor = normalized_factor(np.column_stack([f, f**2]) + rng.normal(size=(n, 2)))
    whole = Embedding.of(("a",), [factor])
    scratch, rows = Scratch(), whole.blocks[0].rows
    home, blocks = Memory((), np.arange(n), 40_000), [scratch(rows[:40_000]), scratch(rows[40_000:])]
    ends = [
        steps_of(Run(FusedEngine(embedding, f, SIGMA2), f, 0.3, 0.1, 2))[-1]
        for embedding in (whole, Embedding(whole.names, whole.offsets, whole.width, home, blocks))
    ]
    np.testing.assert_allclose(ends[0].energies, ends[1].energies, rtol=1e-5)
    np.testing.assert_allclose(ends[0].f, ends[1].f, atol=1e-4)


def test_results_do_not_depend_on_the_number_of_threads():
    code = (
        "import numpy as np, tupi;"
        "rng = np.random.default_rng(0); z = rng.normal(size=(9000, 4));"
        "views = {'a': z + rng.normal(size=z.shape), 'b': z[:, :2] ** 2};"
        "r = tupi.denoise(z[:, 0] + rng.normal(size=9000), views, method='tupi', lam=.3, sigma_w2=.1, n_iter=4);"
        "print(r.predictions.tolist())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for threads in ("1", "2")
    ]
    one, two = (np.array(json.loads(output)) for output in outputs)
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_fused_engine_stores_no_wasted_columns(kernel):
    _, engines = make_engines(300, kernel)
    whole, kept = engines["reference"].embedding, engines["fused"].embedding
    assert kept.offsets[-1] < whole.offsets[-1] or kernel == "diffusion"  # heat spreads over all its columns
    for i in range(3):
        phi, few = whole.view(i), kept.view(i).astype(float)
        assert np.linalg.norm(phi @ phi.T - few @ few.T) ** 2 <= 1e-4
