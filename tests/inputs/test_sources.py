"""Views that are larger than memory, against the same numbers in memory."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.features import as_matrix
from tupi.inputs.numbers import as_bytes
from tupi.inputs.sources import ParquetRows, as_source
from tupi.inputs.views import View

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3))


def parquet(path, array, group=70):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame(array, columns=[f"c{j}" for j in range(array.shape[1])])
    frame.to_parquet(path, row_group_size=group, index=False)
    return path


def sources(folder):
    np.save(folder / "x.npy", X)
    yield "npy", as_source("x", folder / "x.npy")
    yield "memory map", as_source("x", np.load(folder / "x.npy", mmap_mode="r"))
    yield "parquet", as_source("x", str(parquet(folder / "x.parquet", X)))
    yield "chunks", as_source("x", iter([X[:100], X[100:101], X[101:]]))


def test_rows_are_those_of_the_array(tmp_path):
    asked = [
        slice(None), slice(10, 300), slice(400, 900), slice(5, 5), np.array([3, 499, 3, 250]), X[:, 0] > 1.0,
        np.array([], np.int64), slice(0, 100, 7), RNG.permutation(500),
    ]  # fmt: skip
    for name, source in sources(tmp_path):
        assert source.shape == (500, 3), name
        assert len(source) == 500
        for rows in asked:
            np.testing.assert_array_equal(source[rows], X[rows], err_msg=f"{name} {rows}")


def test_several_threads_read_the_rows_that_they_ask_for(tmp_path):
    source = as_source("x", parquet(tmp_path / "x.parquet", X, group=50))
    asked = [slice(start, start + 60) for start in range(0, 440, 7)] * 5
    with ThreadPoolExecutor(4) as pool:
        for rows, found in zip(asked, pool.map(source.__getitem__, asked), strict=True):
            np.testing.assert_array_equal(found, X[rows])


def test_views_on_disk_have_the_same_statistics(tmp_path):
    expected = View("x", X).rows(np.arange(50))
    for name, source in sources(tmp_path):
        view = View("x", source)
        assert view.on_disk
        np.testing.assert_allclose(view.rows(np.arange(50)), expected, atol=1e-12, err_msg=name)


def test_denoise_gives_the_same_from_files_and_under_a_limit(tmp_path, monkeypatch):
    _, scores, views = make_problem_arrays(600)
    expected = tupi.denoise(scores, views, method="tupi", lam=0.4, sigma_w2=0.1, n_iter=4)
    for name, values in views.items():
        np.save(tmp_path / f"{name}.npy", values)
    monkeypatch.setattr("tupi.inputs.features.IN_MEMORY", 0)
    paths = {name: tmp_path / f"{name}.npy" for name in views}
    for features, limit in ((paths, None), (paths, "50MB"), (views, "50MB")):
        result = tupi.denoise(scores, features, method="tupi", lam=0.4, sigma_w2=0.1, n_iter=4, memory_limit=limit)
        np.testing.assert_allclose(result.predictions, expected.predictions, atol=1e-4)
        np.testing.assert_allclose(result.weights, expected.weights, atol=1e-5)
        np.testing.assert_allclose(result.dependence, expected.dependence, atol=1e-5)


def test_an_embedding_on_disk_gives_the_same_path(monkeypatch):
    _, scores, views = make_problem_arrays(3000)
    settings = {"method": "tupi", "lam": 0.4, "sigma_w2": 0.1, "n_iter": 5}
    expected = tupi.denoise(scores, views, **settings)
    monkeypatch.setattr("tupi.embedding.embedding.BLOCK", 200)
    monkeypatch.setattr("tupi.inputs.numbers.LEAST_MEMORY", 1)
    result = tupi.denoise(scores, views, memory_limit=200_000, **settings)
    np.testing.assert_allclose(result.predictions, expected.predictions, atol=1e-4)
    with pytest.raises(tupi.InputError, match="only engine 'fused'"):
        tupi.denoise(scores, views, memory_limit=200_000, engine="reference", **settings)


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ("nowhere.npy", "not a file"),
        (iter([]), "without any chunk"),
        (iter([X, X[:, :2]]), "chunk 1, has 2 columns, and the first 3"),
        (iter([np.array(["a"])]), "accepted: real numbers"),
    ],
)
def test_what_cannot_be_read_is_said(values, match):
    with pytest.raises(tupi.InputError, match=match):
        as_matrix("x", values)


def test_files_that_cannot_be_read_are_named(tmp_path):
    cases = {
        "text.csv": ("a,b", "accepted: .npy or .parquet"),
        "broken.npy": ("not numpy", "not an NPY file"),
    }
    for name, (content, match) in cases.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(tupi.InputError, match=match):
            as_matrix("x", tmp_path / name)
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    with pytest.raises(tupi.InputError, match="column by column"):
        as_matrix("x", tmp_path / "columns.npy")
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(tupi.InputError, match=r"accepted: numbers of shape \(n, d\)"):
        as_matrix("x", tmp_path / "cube.npy")
    np.save(tmp_path / "short.npy", X)
    with (tmp_path / "short.npy").open("r+b") as file:
        file.truncate(2000)
    with pytest.raises(tupi.InputError, match="shorter than its header says"):
        View("x", as_matrix("x", tmp_path / "short.npy"))
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "text.parquet")
    with pytest.raises(tupi.InputError, match="column 'a'"):
        as_matrix("x", tmp_path / "text.parquet")


def test_limits_are_sizes():
    assert as_bytes(None) is None
    assert as_bytes("1GB") == as_bytes(" 1000 mb") == as_bytes(1e9) == 10**9
    assert as_bytes("1GiB") == 2**30
    for wrong in ("much", "1XB", "10MB", -5, True, "1..2GB"):
        with pytest.raises(tupi.InputError, match="memory_limit: found"):
            as_bytes(wrong)


def test_parquet_files_follow_one_another_here_and_elsewhere(tmp_path):
    parts = [parquet(tmp_path / f"{k}.parquet", X[a:b]) for k, (a, b) in enumerate(pairwise([0, 200, 201, 500]))]
    whole = ParquetRows("x", parts)
    assert whole.starts.tolist() == [0, 70, 140, 200, 201, 271, 341, 411, 481, 500]
    np.testing.assert_array_equal(whole[:], X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(whole))[190:320], X[190:320])
    np.testing.assert_array_equal(ParquetRows("x", parts, ["c2", "c0"])[150:], X[150:, [2, 0]])
    with pytest.raises(tupi.InputError, match=r"x: 0\.parquet has columns c0, c1, c2; accepted: c0, id"):
        ParquetRows("x", parts, ["c0", "id"])
    narrow = parquet(tmp_path / "narrow.parquet", X[:, :2])
    with pytest.raises(tupi.InputError, match=r"x: narrow\.parquet has columns c0, c1; accepted: c0, c1, c2"):
        ParquetRows("x", [*parts, narrow])


@pytest.mark.parametrize("form", ["csr_matrix", "coo_array", "csc_array"])
def test_sparse_matrices_are_views_like_dense_ones(form, monkeypatch):
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((120, 40)) < 0.1, rng.normal(size=(120, 40)), 0.0)
    scores = dense[:, :5].sum(axis=1) + rng.normal(size=120)
    given = getattr(sparse, form)(dense)
    expected = tupi.denoise(scores, {"counts": dense})
    found = tupi.denoise(scores, {"counts": given})
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    np.testing.assert_allclose(
        found.predict(scores[:3], {"counts": given.tocsr()[:3]}), expected.predict(scores[:3], {"counts": dense[:3]})
    )
    monkeypatch.setattr("tupi.inputs.features.IN_MEMORY", 0)  # rows are read when they are asked for
    np.testing.assert_allclose(tupi.denoise(scores, {"counts": given}).predictions, expected.predictions, atol=1e-9)


def test_sparse_matrices_of_no_numbers_are_refused():
    with pytest.raises(tupi.InputError, match="features"):
        tupi.denoise(np.arange(10.0), sparse.csr_array(np.eye(10) * 1j))
    with pytest.raises(tupi.InputError, match="predictions: found a sparse matrix"):
        tupi.denoise(sparse.csr_array(np.eye(10)), np.eye(10))


@pytest.mark.parametrize("matrix", [sparse.coo_array(np.arange(10.0)), sparse.csr_array((10, 0))])
def test_sparse_arrays_need_rows_and_columns(matrix):
    shape = r"\(10,\)" if matrix.ndim == 1 else r"\(10, 0\)"
    with pytest.raises(
        tupi.InputError, match=rf"view: found a sparse array of shape {shape}; accepted: shape \(n, d\)"
    ):
        as_source("view", matrix)
