"""The fused engine against the reference on real data, where it is at hand."""

import os

import numpy as np
import pytest
from scipy.stats import spearmanr

from tupi.algorithm.trajectory import follow
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi
from tupi.rankers import RankSVM
from tupi.research.datasets import load_mfeat, load_osr, load_pubfig, load_sarcos

pytestmark = pytest.mark.skipif("TUPI_DATA" not in os.environ, reason="TUPI_DATA names no folder with real data")
SETTING = {"lam": 0.3, "sigma_w2": 0.1, "n_iter": 12}


def predicted(X, y):
    train = np.random.default_rng(0).permutation(len(X))[:200]
    return RankSVM().fit(X[train], y[train]).predict(X)


def mfeat():
    data = load_mfeat()
    truth = next(iter(data.targets.values()))
    views = dict(data.views)
    return predicted(views.pop("kar"), truth), views


def attributes(data):
    X = np.hstack(list(data.views.values()))
    first, *others = [predicted(X, y) for y in data.targets.values()]
    return first, {str(k): other[:, None] for k, other in enumerate(others)}


def sarcos():
    data = load_sarcos()
    return predicted(data.g, next(iter(data.targets.values()))), data.extras


PROBLEMS = {
    "mfeat": mfeat,
    "pubfig": lambda: attributes(load_pubfig()),
    "osr": lambda: attributes(load_osr()),
    "sarcos": sarcos,
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_fused_and_reference_take_the_same_path(name):
    prepared = Prepared(make_problem(*PROBLEMS[name]()))
    trajectories = [Tupi(engine=engine, **SETTING).trajectory(prepared) for engine in ("fused", "reference")]
    follow(trajectories)
    fused, reference = (trajectory.steps[-1] for trajectory in trajectories)
    assert spearmanr(fused.f[:, 0], reference.f[:, 0])[0] >= 0.9999
    assert fused.energies[-1] == pytest.approx(reference.energies[-1], rel=1e-3)
