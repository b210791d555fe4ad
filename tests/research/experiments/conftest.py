import numpy as np
import pytest
import scipy.io

from tupi.inputs.labels import Values
from tupi.research.experiments import sources
from tupi.research.experiments.protocol import Protocol, Trial
from tupi.research.experiments.store import Store

N = 140


@pytest.fixture
def protocol():
    """The protocol on few items, and without a network, which takes seconds."""
    return Protocol(n_train=50, n_valid=30, rankers=("svm",))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cells")


@pytest.fixture
def fresh():
    """Forget datasets that were read: each test has files of its own."""
    for cached in (sources.dataset_of, sources.digest_of):
        cached.cache_clear()
    yield
    for cached in (sources.dataset_of, sources.digest_of):
        cached.cache_clear()


@pytest.fixture
def data_folder(tmp_path, monkeypatch, fresh):
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("TUPI_DATA", str(folder))
    monkeypatch.setenv("TUPI_CACHE", str(tmp_path / "cache"))
    return folder


def write_mfeat(folder, seed=0):
    """Write six feature sets of digits, each a noisy picture of the same hidden position."""
    rng = np.random.default_rng(seed)
    digits = np.repeat(np.arange(10), N // 10)
    hidden = rng.normal(size=(10, 6))[digits] + 0.6 * rng.normal(size=(N, 6)) + digits[:, None] / 4
    widths = {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}
    views = {k: hidden @ rng.normal(size=(6, d)) + 2.0 * rng.normal(size=(N, d)) for k, d in widths.items()}
    np.savez(folder / "mfeat.npz", y=digits, **views)


@pytest.fixture
def mfeat(data_folder):
    write_mfeat(data_folder)
    return data_folder


def as_cell(values, shape):
    """Return values as savemat writes a MATLAB cell array of that shape."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells.reshape(shape)


@pytest.fixture
def shoes(data_folder):
    """A small file in the published layout of Shoes: ten kinds, ten attributes ordered kind by kind."""
    rng = np.random.default_rng(0)
    kinds = np.arange(N) % 10
    looks = rng.normal(size=(10, 990))[kinds] + 3.0 * rng.normal(size=(N, 990))
    content = {
        "feat": looks,
        "class_labels": (kinds[:, None] + 1).astype(float),
        "orders": rng.permuted(np.tile(np.arange(1.0, 11.0), (10, 1)), axis=1),
        "im_names": as_cell([f"img_womens_boots_{i}.jpg" for i in range(N)], (1, N)),
    }
    scipy.io.savemat(data_folder / "shoes_attributes.mat", content)
    return data_folder


@pytest.fixture
def trial():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=150)
    views = {
        "a": truth[:, None] + 0.5 * rng.normal(size=(150, 3)),
        "b": np.cos(truth)[:, None] + rng.normal(size=(150, 2)),
        "c": truth[:, None] ** 3 + rng.normal(size=(150, 1)),
    }
    index = np.arange(150)
    labels, judging = (Values(part, truth[part]) for part in (index[:50], index[50:]))
    return Trial(truth + 0.8 * rng.normal(size=150), views, labels, judging, truth, seed=4)
