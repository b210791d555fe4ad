"""The engine `dask` against the fused one, on a real cluster of two processes."""

import os
import re
import threading
import urllib.request
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import tupi
from tests.cluster.conftest import apart, make_items

da = pytest.importorskip("dask.array")

SETTINGS = {"method": "tupi", "lam": 0.4, "sigma_w2": 0.1, "n_iter": 4}


def as_dask(views, rows=7000):
    return {name: da.from_array(X, chunks=(rows, -1)) for name, X in views.items()}


def test_same_result_as_the_fused_engine(client):
    _, scores, views = make_items()
    expected = tupi.denoise(scores, views, **SETTINGS)
    seen = []
    found = tupi.denoise(
        da.from_array(scores, chunks=4000),
        as_dask(views),
        client=client,
        callback=lambda s: seen.append(s.t),
        **SETTINGS,
    )
    values = found.compute()
    assert apart(values, expected.predictions) < 1e-4
    assert spearmanr(values, expected.predictions)[0] > 0.9999
    nowhere = np.isnan(views["a"]).all(axis=1) & np.isnan(views["b"]).all(axis=1)
    np.testing.assert_array_equal(values[nowhere], scores[nowhere])
    np.testing.assert_array_equal(found.initial.compute(scheduler="threads"), scores)
    np.testing.assert_allclose(found.weights, expected.weights, atol=1e-5)
    np.testing.assert_allclose(found.history, expected.history, atol=1e-5)
    # Here the width of the predictions' kernel comes from counts on a grid.
    np.testing.assert_allclose(
        found.dependence[["before", "after"]], expected.dependence[["before", "after"]], rtol=2e-3
    )
    assert found.dependence["p_value"].max() < 1e-3
    assert list(found.dependence.index) == ["a", "b"]
    assert seen == [0, 1, 2, 3, 4]
    assert found.params["engine"] == "dask"


@pytest.mark.parametrize("kind", ["values", "pairs"])
def test_labels_choose_and_judge_as_in_memory(client, kind):
    truth, scores, views = make_items(9000)
    index = np.arange(0, 9000, 200)
    labels = tupi.Values(index, truth[index])
    if kind == "pairs":
        order = index[np.argsort(truth[index])]
        labels = tupi.Pairs(order[1::2], order[:-1:2])
    settings = {"method": "tupi", "n_iter": 3}
    expected = tupi.denoise(scores, views, labels=labels, **settings)
    found = tupi.denoise(scores, as_dask(views), labels=labels, client=client, **settings)
    assert apart(found.compute(), expected.predictions) < 1e-4
    assert {k: v for k, v in found.params.items() if k != "engine"} == {
        k: v for k, v in expected.params.items() if k != "engine"
    }
    assert found.evidence == expected.evidence
    assert found.changed == expected.changed
    np.testing.assert_allclose(found.history, expected.history, atol=1e-5)


def test_labels_that_nothing_helps_leave_everything_alone(client):
    _, scores, views = make_items(9000, missing=False)
    index = np.arange(0, 9000, 300)
    found = tupi.denoise(
        scores, as_dask(views), labels=tupi.Values(index, scores[index]), client=client, method="tupi", n_iter=3
    )
    assert not found.changed
    np.testing.assert_array_equal(found.compute(), scores)


def test_every_source_gives_the_same(client, tmp_path):
    zarr, dd = pytest.importorskip("zarr"), pytest.importorskip("dask.dataframe")
    _, scores, views = make_items(20_000, missing=False)
    settings = SETTINGS | {"n_iter": 2}
    expected = tupi.denoise(scores, views, **settings).predictions
    frames = {name: pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]) for name, X in views.items()}
    for name, X in views.items():
        np.save(tmp_path / f"{name}.npy", X)
        (tmp_path / name).mkdir()
        for k in range(3):  # three files of several row groups each
            part = frames[name].iloc[k * 7000 : (k + 1) * 7000]
            part.to_parquet(tmp_path / name / f"part-{k}.parquet", index=False, row_group_size=3000)
        zarr.create_array(str(tmp_path / f"{name}.zarr"), data=X, chunks=(6000, X.shape[1]))
    pd.DataFrame({"score": scores}).to_parquet(tmp_path / "scores.parquet", index=False)
    np.save(tmp_path / "scores.npy", scores)
    table = dd.from_pandas(pd.DataFrame({"score": scores}), npartitions=5)
    cases = {
        "npy": (tmp_path / "scores.npy", {name: tmp_path / f"{name}.npy" for name in views}),
        "parquet": (str(tmp_path / "scores.parquet"), {name: str(tmp_path / name) for name in views}),
        "zarr": (scores, {name: zarr.open_array(str(tmp_path / f"{name}.zarr"), mode="r") for name in views}),
        "zarr path": (scores, {name: tmp_path / f"{name}.zarr" for name in views}),
        "dataframe": (table["score"], {name: dd.from_pandas(frame, npartitions=3) for name, frame in frames.items()}),
        "numpy": (scores, views),
    }
    for name, (predictions, features) in cases.items():
        found = tupi.denoise(predictions, features, client=client, **settings)
        assert apart(found.compute(), expected) < 1e-4, name


def test_parquet_comes_back_in_order(client, tmp_path):
    _, scores, views = make_items()
    found = tupi.denoise(scores, as_dask(views), client=client, **SETTINGS | {"n_iter": 1})
    folder = found.to_parquet(tmp_path / "out")
    table = pd.concat([pd.read_parquet(path) for path in sorted(folder.iterdir())])
    assert len(list(folder.iterdir())) > 1
    np.testing.assert_array_equal(table["initial"], scores)
    np.testing.assert_array_equal(table["prediction"], found.compute())
    frame = found.to_frame().compute(scheduler=client)
    np.testing.assert_array_equal(frame["prediction"], found.compute())
    with pytest.raises(tupi.InputError, match="not empty"):
        found.to_parquet(folder)


def test_a_local_cluster_starts_and_stops(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _, scores, views = make_items(9000)
    before = {thread.name for thread in threading.enumerate() if thread.is_alive()}
    said = []
    found = tupi.denoise(scores, views, engine="dask", progress=said.append, memory_limit="1GB", **SETTINGS)
    assert not {name for name in _alive() - before if "Worker" in name or "scheduler" in name.lower()}
    assert any("1 worker" in sentence for sentence in said)
    expected = tupi.denoise(scores, views, **SETTINGS).predictions
    assert apart(found.compute(), expected) < 1e-4  # from files, after the cluster has ended
    assert os.listdir(tmp_path)
    del found
    assert not [path for path in os.listdir(tmp_path) if path.startswith("tupi-")]


def test_arrays_in_memory_are_sent_without_a_warning(client):
    truth, scores, _ = make_items(800_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tupi.denoise(scores, truth[:, None], client=client, engine="dask", callback=lambda _: True, **SETTINGS)
    assert found.predictions.shape == (800_000,)


def test_the_dashboard_that_is_named_is_there(client):
    _, scores, views = make_items(3000)
    said = []

    def look(sentence):
        link = re.search(r"dashboard (http\S+)", sentence)
        if link:
            with urllib.request.urlopen(link[1], timeout=20) as page:
                said.append((page.status, b"Dask" in page.read()))

    tupi.denoise(scores, views, client=client, progress=look, **SETTINGS)
    assert said
    assert set(said) == {(200, True)}


def test_memory_that_the_process_had_before_does_not_stop_a_local_cluster():
    ballast = np.ones(20_000_000)  # 160 MB, more than the limit
    _, scores, views = make_items(9000)
    found = tupi.denoise(scores, views, engine="dask", memory_limit="50MB", **SETTINGS)
    assert len(found.compute()) == 9000
    assert ballast[0] == 1.0


def _alive():
    return {thread.name for thread in threading.enumerate() if thread.is_alive()}


def test_the_callback_can_stop(client):
    _, scores, views = make_items(9000)
    seen = []

    def stop(step):
        seen.append((len(step.f), step.f.compute()))
        return step.t == 2

    found = tupi.denoise(scores, as_dask(views), client=client, callback=stop, **SETTINGS)
    taking_part = ~(np.isnan(views["a"]).all(axis=1) & np.isnan(views["b"]).all(axis=1))
    for length, f in seen:
        assert length == len(f) == taking_part.sum()
        np.testing.assert_allclose([f.mean(), f.std()], [0, 1], atol=1e-6)
    assert spearmanr(seen[-1][1], found.compute()[taking_part])[0] > 1 - 1e-9
    assert found.params["n_iter"] == len(found.weights) - 1 == 2
    shorter = tupi.denoise(scores, views, **SETTINGS | {"n_iter": 2})
    assert apart(found.compute(), shorter.predictions) < 1e-4


def test_masked_blocks_are_missing(client):
    _, scores, views = make_items(9000)
    rows = slice(100, 200)
    hidden, holes = np.ma.masked_array(views["a"], mask=False), views["a"].copy()
    hidden[rows], holes[rows] = np.ma.masked, np.nan
    expected = tupi.denoise(scores, as_dask({"a": holes, "b": views["b"]}), client=client, **SETTINGS).compute()
    for masked in (da.from_array(hidden, chunks=(2000, -1)), hidden):
        found = tupi.denoise(scores, {"a": masked, "b": da.from_array(views["b"])}, client=client, **SETTINGS)
        assert apart(found.compute(), expected) < 1e-4
    some = da.from_array(np.ma.masked_array(scores, mask=np.arange(9000) == 5000), chunks=3000)
    with pytest.raises(tupi.InputError, match=r"1 value\(s\) are NaN or infinite \(first at item 5000\)"):
        tupi.denoise(some, as_dask(views), client=client, **SETTINGS)


def test_truth_values_are_numbers(client):
    _, scores, views = make_items(9000, missing=False)
    views["b"] = views["b"] > 0
    expected = tupi.denoise(scores, views, **SETTINGS).predictions
    found = tupi.denoise(scores, as_dask(views), client=client, **SETTINGS)
    assert apart(found.compute(), expected) < 1e-4


@pytest.mark.parametrize("where", ["predictions", "view 'b'"])
def test_other_kinds_are_refused_by_type(client, where):
    zarr = pytest.importorskip("zarr")
    _, scores, views = make_items(9000)
    wrong = {
        "complex numbers": da.from_array(scores + 0j),
        "datetime64": da.from_array(scores.astype("datetime64[s]")),
        "complex numbers;": zarr.array(scores + 0j),
        "<U": da.from_array(scores.astype(str)),
        "text such as": scores.astype(str),
    }
    for found, values in wrong.items():
        predictions, b = (values, views["b"]) if where == "predictions" else (scores, values)
        with pytest.raises(tupi.InputError, match=f"{where}: found {found}.*accepted: real numbers"):
            tupi.denoise(predictions, {"a": views["a"], "b": b}, client=client, **SETTINGS)
    with pytest.raises(tupi.InputError, match="labels: found text such as 'x'"):
        tupi.denoise(scores, as_dask(views), labels=["x"] * 9000, client=client, **SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"method": "auto", "task": "clustering"}, "task: found .clustering.; accepted: ranking"),
        ({"method": "auto", "checkpoint": "folder"}, "checkpoint: method 'auto' has no steps"),
        ({"method": "tupi+coconut"}, "'tupi.coconut' does not run with Dask"),
        ({"method": "coconut"}, "'coconut' does not run with Dask.*accepted there: 'auto' and 'tupi'"),
        ({"method": "ridge"}, "take a sample"),
        ({"method": "fuse"}, "'fuse' does not run with Dask"),
        ({"method": "tupi", "kernel": "diffusion"}, "kernel: 'diffusion'"),
        ({"method": "tupi", "joint": True}, "joint: found True"),
        ({"method": "tupi", "engine": "exact"}, "engine: found 'exact'"),
        ({"task": "regression"}, "task: found 'regression'"),
        ({"impute": "median"}, "impute: found 'median'"),
        ({"client": "tcp://127.0.0.1:9"}, "no scheduler answers"),
        ({"client": 3}, "client: found int"),
        ({"labels": np.zeros(3)}, "labels: found 3 entries"),
        ({"checkpoint_every": 0}, "checkpoint_every: found 0"),
    ],
)
def test_what_does_not_run_is_said(client, arguments, match):
    _, scores, views = make_items(9000)
    with pytest.raises(tupi.InputError, match=match):
        tupi.denoise(scores, as_dask(views), **{"client": client, "method": "tupi"} | arguments)


def test_an_engine_is_not_a_parameter_of_the_default():
    _, scores, views = make_items(9000)
    with pytest.raises(tupi.InputError, match=r"engine: method 'auto' has no such parameter; it belongs to .*'tupi'"):
        tupi.denoise(scores, views, engine="dask")


def test_bad_blocks_are_said(client):
    _, scores, views = make_items(9000)
    with pytest.raises(tupi.InputError, match="view 'a' has 9000 rows for 8000 predictions"):
        tupi.denoise(scores[:8000], as_dask(views), client=client, method="tupi")
    views["a"][8500, 1] = np.inf
    with pytest.raises(tupi.InputError, match="view 'a' is infinite at row 8500, column 1"):
        tupi.denoise(scores, as_dask(views), client=client, method="tupi")
    with pytest.raises(tupi.InputError, match="every view is constant"):
        tupi.denoise(scores, {"x": da.ones((9000, 2), chunks=(4000, 2))}, client=client, method="tupi")
    with pytest.raises(tupi.InputError, match="checkpoint: found a folder without Dask"):
        tupi.denoise(scores, {"b": views["b"]}, checkpoint="folder")


@pytest.mark.parametrize("name", ["mfeat", "sarcos"])
def test_real_data(client, name):
    if not os.environ.get("TUPI_DATA") or not (Path(os.environ["TUPI_DATA"]) / f"{name}.npz").exists():
        pytest.skip("TUPI_DATA is not set: the real dataset files are needed")
    from tupi.research import datasets

    data = getattr(datasets, f"load_{name}")()
    truth = np.asarray(next(iter(data.targets.values())), float)
    scores = truth + truth.std() * np.random.default_rng(0).normal(size=len(truth))
    views = {view: np.asarray(X) for view, X in data.views.items()}
    settings = SETTINGS | {"n_iter": 20}
    expected = tupi.denoise(scores, views, **settings).predictions
    found = tupi.denoise(scores, as_dask(views, 500), client=client, **settings).compute()
    assert apart(found, expected) < 1e-4
    assert spearmanr(found, expected)[0] > 0.9999
