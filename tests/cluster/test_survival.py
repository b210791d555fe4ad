"""Workers and schedulers that die, workers that come, memory that runs out: the answer stays the same."""

import logging
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import tupi
from tests.cluster.conftest import apart, make_items

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
Client, LocalCluster = distributed.Client, distributed.LocalCluster
SETTINGS = {"method": "tupi", "lam": 0.4, "sigma_w2": 0.1, "n_iter": 6}


@contextmanager
def cluster_of_two():
    """Give a client of a cluster that a test may harm."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GB",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def own_cluster():
    """Return a client of such a cluster."""
    with cluster_of_two() as client:
        yield client


def test_killed_and_added_workers_do_not_change_the_answer(own_cluster):
    client = own_cluster
    _, scores, views = make_items()
    expected = tupi.denoise(scores, views, **SETTINGS).predictions
    killed, held = [], {}

    def harm(step):
        if step.t == 2:
            killed.extend(sorted(client.run(os.getpid).values())[:1])
            os.kill(killed[0], signal.SIGKILL)
        if step.t == 3:
            client.cluster.scale(3)
            client.wait_for_workers(3, timeout=60)
        if step.t == 6:
            held.update(client.run(_held))

    found = tupi.denoise(scores, views, client=client, callback=harm, **SETTINGS)
    assert apart(found.compute(), expected) < 1e-4
    assert killed
    assert killed[0] not in client.run(os.getpid).values()
    assert len(held) == 3
    assert min(held.values()) > 0  # whoever came has items


def _held(dask_worker):
    from tupi.cluster.coded import Coded

    return sum(isinstance(value, Coded) for value in dask_worker.data.values())


def test_blocks_that_do_not_fit_are_spilled_and_come_back():
    _, scores, views = make_items(60_000)
    expected = tupi.denoise(scores, views, **SETTINGS).predictions
    spilled = []
    # Each worker may keep 1 MB, which is less than a few of its blocks take.
    limits = {"distributed.worker.memory.target": 0.001, "distributed.worker.memory.spill": 0.9}
    with dask.config.set(limits), cluster_of_two() as client:
        workers = set(client.run(os.getpid).values())
        found = tupi.denoise(
            scores, views, client=client, callback=lambda _: spilled.extend(client.run(_spilled).values()), **SETTINGS
        )
        assert apart(found.compute(), expected) < 1e-4
        assert set(client.run(os.getpid).values()) == workers
    assert max(spilled) > 2e6


def _spilled(dask_worker):
    return dask_worker.data.spilled_total.disk


CODE = """
import os, signal, sys
import tupi
from tests.cluster.conftest import make_items

_, scores, views = make_items(9000)
labels = None if sys.argv[2] == "none" else tupi.Values(range(0, 9000, 200), _[::200])

def end(step):
    if step.t == 5:
        os.kill(os.getpid(), signal.SIGKILL)

tupi.denoise(scores, views, labels=labels, method="tupi", engine="dask", callback=end, checkpoint=sys.argv[1],
             checkpoint_every=2, lam=0.4, sigma_w2=0.1, n_iter=8, patience=8)
"""


@pytest.mark.parametrize("labelled", [False, True])
def test_after_everything_died_a_run_goes_on_where_it_was(tmp_path, labelled):
    folder = tmp_path / "checkpoints"
    command = [sys.executable, "-c", CODE, str(folder), "some" if labelled else "none"]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert sorted(path.name for path in folder.iterdir()) == ["step-00002", "step-00004"]
    (folder / "step-00009").mkdir()  # begun and never finished: it has no state
    truth, scores, views = make_items(9000)
    labels = tupi.Values(range(0, 9000, 200), truth[::200]) if labelled else None
    settings = SETTINGS | {"n_iter": 8, "engine": "dask", "labels": labels, "patience": 8}
    expected = tupi.denoise(scores, views, **settings)
    seen = []
    found = tupi.denoise(
        scores, views, callback=lambda step: seen.append(step.t), checkpoint=folder, checkpoint_every=2, **settings
    )
    assert seen == [5, 6, 7, 8]  # nothing that was finished is done again
    assert any("Resumed after step 4" in note for note in found.notes)
    assert apart(found.compute(), expected.compute()) < 1e-6
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-9)
    np.testing.assert_allclose(found.history, expected.history, atol=1e-9)
    assert found.evidence == expected.evidence
    assert found.params == expected.params
    again = tupi.denoise(scores, views, callback=lambda step: seen.append(step.t), checkpoint=folder, **settings)
    assert len(seen) == 4  # all of it was finished
    assert apart(again.compute(), expected.compute()) < 1e-6
    with pytest.raises(tupi.InputError, match="other inputs or settings"):
        tupi.denoise(scores + 1e-3 * truth, views, checkpoint=folder, **settings)
    with pytest.raises(tupi.InputError, match="other inputs or settings"):
        tupi.denoise(scores, views, checkpoint=folder, **settings | {"lam": 0.5})


def ratings(n=12_000):
    """Return scores and a view in eighths, whose sums are exact in any order."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    scores = np.clip(np.round(8 * (truth + rng.normal(size=n))) / 8, -4, 4)
    return scores, np.round(8 * np.column_stack([np.cos(truth), np.sin(truth)])) / 8


def exchanged(values, n=100):
    """Return the values with some of neighbours exchanged, which no mean or spread can see."""
    found, places = values.copy(), np.arange(1, 40 * n, 40)
    found[places], found[places + 2] = values[places + 2], values[places]
    return found


def test_a_checkpoint_of_other_data_is_refused(client, tmp_path):
    scores, view = ratings()
    labels = tupi.Values(np.arange(0, 12_000, 300), np.arange(40.0))
    settings = SETTINGS | {"n_iter": 1, "client": client, "checkpoint": tmp_path, "checkpoint_every": 1}
    tupi.denoise(scores, {"a": view}, labels=labels, **settings)
    resumed = tupi.denoise(scores, {"a": view}, labels=labels, **settings)
    assert any("Resumed after step 1" in note for note in resumed.notes)
    other = tupi.Values(labels.index, labels.values[::-1].copy())
    for changed in (
        (exchanged(scores), {"a": view}, labels),
        (scores, {"a": exchanged(view)}, labels),
        (scores, {"b": view}, labels),
        (scores, {"a": view}, other),
        (scores, {"a": view}, None),
    ):
        with pytest.raises(tupi.InputError, match="other inputs or settings"):
            tupi.denoise(changed[0], changed[1], labels=changed[2], **settings)


def test_a_checkpoint_of_an_older_version_is_refused(client, tmp_path):
    scores, view = ratings()
    settings = SETTINGS | {"n_iter": 1, "client": client, "checkpoint": tmp_path, "checkpoint_every": 1}
    tupi.denoise(scores, {"a": view}, **settings)
    state = next(tmp_path.glob("step-*/state.npz"))
    with np.load(state) as file:
        arrays = dict(file)
    arrays["meta"] = np.array(str(arrays["meta"]).replace('"format": 5', '"format": 4'))
    np.savez(state, **arrays)
    with pytest.raises(tupi.InputError, match="another version of tupi"):
        tupi.denoise(scores, {"a": view}, **settings)


@pytest.mark.parametrize("harm", ["short block", "other block", "no block", "short state", "empty state"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(client, tmp_path, harm):
    scores, view = ratings()
    settings = SETTINGS | {"n_iter": 3, "client": client, "checkpoint": tmp_path, "checkpoint_every": 1}
    expected = tupi.denoise(scores, {"a": view}, **settings).compute()
    workers = set(client.run(os.getpid).values())
    last = sorted(tmp_path.glob("step-*"))[-1]
    block, state = last / "block-00000.npy", last / "state.npz"
    if harm == "short block":
        np.save(block, np.load(block)[..., :-7])
    elif harm == "other block":
        np.save(block, 1e9 * np.load(block))
    elif harm == "no block":
        block.unlink()
    else:
        state.write_bytes(state.read_bytes()[: 1000 if harm == "short state" else 0])
    found = tupi.denoise(scores, {"a": view}, **settings)
    assert "Checkpoint step-00003 was damaged and left aside." in found.notes
    assert any("Resumed after step 2" in note for note in found.notes)
    np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
    assert set(client.run(os.getpid).values()) == workers


def test_without_a_whole_checkpoint_a_run_begins_again(client, tmp_path):
    scores, view = ratings()
    settings = SETTINGS | {"n_iter": 2, "client": client, "checkpoint": tmp_path, "checkpoint_every": 1}
    expected = tupi.denoise(scores, {"a": view}, **settings).compute()
    for state in tmp_path.glob("step-*/state.npz"):
        state.write_bytes(b"PK")
    found = tupi.denoise(scores, {"a": view}, **settings)
    assert not any("Resumed" in note for note in found.notes)
    np.testing.assert_allclose(found.compute(), expected, atol=1e-12)
