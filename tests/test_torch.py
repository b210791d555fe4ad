"""The energy as a loss of torch: equal to numpy's, on all items and on batches, and asked for only when wanted."""

import os
import pickle
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import view_weights
from tupi.algorithm.energy import FactorObjective
from tupi.algorithm.engines.plain import LowRankEngine
from tupi.embedding.embedding import Embedding, EmbeddingOptions, embed
from tupi.embedding.gaussian import PredictionKernel, normalized_factor, squared_bandwidth
from tupi.inputs.problem import make_problem

torch = pytest.importorskip("torch")

TRUTH, SCORES, VIEWS = make_problem_arrays(150)
LAM, SIGMA_W2 = 0.7, 0.05


def standard(f):
    return (f - f.mean()) / f.std()


@pytest.fixture
def engine():
    """The numpy engine on the same views, with whole factors."""
    views = make_problem(SCORES, VIEWS).views
    embedding = embed(views, EmbeddingOptions(spared=0.0, dtype="float64"))
    return LowRankEngine(embedding, squared_bandwidth(np.sort(standard(SCORES))[:, None], "std-as-sigma"))


@pytest.fixture
def loss():
    return tupi.torch.DependenceLoss(SCORES, VIEWS, lam=LAM, sigma_w2=SIGMA_W2)


def with_gradient(loss, f, items=None):
    f = torch.tensor(f, requires_grad=True)
    energy = loss(f, items)
    energy.backward()
    return energy.item(), f.grad.numpy()


@pytest.mark.parametrize("scale", [1.0, 40.0])
def test_energy_and_gradient_are_those_of_numpy(engine, loss, scale):
    f = SCORES + 0.2 * np.random.default_rng(1).normal(size=150)
    mean, deviation = SCORES.mean(), SCORES.std()
    weights = view_weights(engine.dependence(standard(SCORES)), SIGMA_W2)
    energy, gradient = engine.objective(standard(SCORES), weights, LAM)((f - mean) / deviation)
    loss.step(scale * SCORES - 3)
    np.testing.assert_allclose(loss.weights.numpy(), weights, rtol=1e-9)
    found, slopes = with_gradient(loss, scale * f - 3)
    assert found == pytest.approx(energy, abs=1e-9)
    np.testing.assert_allclose(slopes * deviation * scale, gradient, rtol=0, atol=1e-9)
    assert np.abs(gradient).max() > 1e-4


def test_a_batch_has_the_energy_of_its_items_alone(engine, loss):
    items = np.random.default_rng(2).permutation(150)[:60]
    at_step, f = standard(SCORES), standard(SCORES) + 0.1
    kernel = PredictionKernel(at_step, engine.sigma2, engine.rank)
    alone = [normalized_factor(engine.embedding.view(i)[items]) for i in range(3)]
    weights = view_weights(engine.dependence(at_step), SIGMA_W2)
    numpys = FactorObjective(
        kernel, normalized_factor(kernel.features(at_step[items])), Embedding.of((), alone, "float64"), weights, LAM
    )
    energy, gradient = numpys(f[items])
    found, slopes = with_gradient(loss, f[items] * SCORES.std() + SCORES.mean(), torch.from_numpy(items))
    assert found == pytest.approx(energy, abs=1e-9)
    np.testing.assert_allclose(slopes * SCORES.std(), gradient, rtol=0, atol=1e-9)


def test_a_batch_of_everything_in_another_order_is_the_whole(loss):
    order = np.random.default_rng(3).permutation(150)
    f = SCORES**3
    whole, slopes = with_gradient(loss, f)
    shuffled, other = with_gradient(loss, f[order], order)
    assert shuffled == pytest.approx(whole, abs=1e-12)
    np.testing.assert_allclose(other, slopes[order], atol=1e-12)


def test_items_that_lack_views_count_as_in_numpy():
    near = VIEWS["near"].copy()
    near[:50] = np.nan
    bent = VIEWS["bent"].copy()
    bent[40:60] = np.nan  # items 40 to 49 have no view at all
    partly = {"near": near, "bent": bent}
    covered = np.r_[0:40, 50:150]
    problem = make_problem(SCORES[covered], {name: view[covered] for name, view in partly.items()})
    embedding = embed(problem.views, EmbeddingOptions(spared=0.0, dtype="float64"))
    at_step = standard(SCORES[covered])
    engine = LowRankEngine(embedding, squared_bandwidth(np.sort(at_step)[:, None], "std-as-sigma"))
    weights = view_weights(engine.dependence(at_step), SIGMA_W2)
    energy, gradient = engine.objective(at_step, weights, LAM)(at_step**3)
    loss = tupi.torch.DependenceLoss(SCORES, partly, lam=LAM, sigma_w2=SIGMA_W2)
    mean, deviation = SCORES[covered].mean(), SCORES[covered].std()
    found, slopes = with_gradient(loss, ((SCORES - mean) / deviation) ** 3 * deviation + mean)
    assert found == pytest.approx(energy, abs=1e-9)
    np.testing.assert_allclose(slopes[covered] * deviation, gradient, rtol=0, atol=1e-9)
    assert not slopes[40:50].any()
    without, _ = with_gradient(loss, SCORES[:40], np.arange(40))  # no item of this batch has view "near"
    assert np.isfinite(without)


def test_outputs_of_single_precision_give_a_loss_of_single_precision(loss):
    f = torch.tensor(SCORES, dtype=torch.float32, requires_grad=True)
    energy = loss(f)
    energy.backward()
    assert energy.dtype == f.grad.dtype == torch.float32
    assert energy.item() == pytest.approx(loss(torch.tensor(SCORES)).item(), abs=1e-5)


def test_equal_outputs_give_no_nan(loss):
    _, slopes = with_gradient(loss, np.zeros(20), np.arange(20))
    assert np.isfinite(slopes).all()


def test_it_is_a_module_without_parameters_that_travels(loss):
    assert not list(loss.parameters())
    assert not loss.state_dict()
    copy = pickle.loads(pickle.dumps(loss))
    f = torch.tensor(SCORES**3)
    assert copy(f).item() == loss(f).item()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda loss: loss(torch.zeros(150, 1)), "found shape .150, 1. for 150 item"),
        (lambda loss: loss(torch.zeros(3), np.arange(2)), "found shape .3,. for 2 item"),
        (lambda loss: loss.step(np.zeros(150)), "all outputs are equal"),
        (lambda loss: loss.step(np.full(150, np.nan)), "all finite: False"),
        (lambda loss: loss.step(SCORES[:9]), "found shape .9,."),
        (lambda _: tupi.torch.DependenceLoss(SCORES, VIEWS, lam=0), "lam: found 0"),
        (lambda _: tupi.torch.DependenceLoss(SCORES, VIEWS, sigma_w2=None), "sigma_w2: found None"),
        (lambda _: tupi.torch.DependenceLoss(SCORES, VIEWS, prediction_bandwidth="wide"), "prediction_bandwidth"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(loss, call, sentence):
    with pytest.raises(tupi.InputError, match=sentence):
        call(loss)


def test_where_torch_is_missing_the_error_says_what_to_install():
    code = """
import sys
class Missing:
    def find_spec(self, name, *rest):
        if name.split(".")[0] == "torch":
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
import tupi
tupi.torch.DependenceLoss
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == 'ImportError: tupi.torch needs PyTorch: run `pip install "tupi[torch]"`.'


@pytest.mark.skipif("TUPI_DATA" not in os.environ, reason="MFeat is not there")
def test_the_example_tunes_a_network_that_ranks_unseen_items_better():
    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "fine_tune.py"))
    before, after = example["run"](example["load"]("fou"), seed=11)
    assert after > before + 2
