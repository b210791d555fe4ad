"""A real cluster of two processes, shared by the tests of this folder; and data with missing views."""

import numpy as np
import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="2GB", dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def make_items(n=30_000, seed=0, missing=True):
    """Return truth, noisy scores and two views; some items lack a view, a few both."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    views = {"a": z + 0.5 * rng.normal(size=z.shape), "b": np.hstack([np.cos(2 * z), rng.normal(size=(n, 2))])}
    if missing:
        views["a"][5::37] = np.nan
        views["b"][5::74] = np.nan
    return z[:, 0], z[:, 0] + rng.normal(size=n), views


def apart(found, expected):
    """Return the relative distance of two predictions."""
    return np.linalg.norm(found - expected) / np.linalg.norm(expected - expected.mean())
