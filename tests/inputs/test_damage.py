"""Readers under damage: whatever is wrong with a file, one sentence says so, and no file unpacks without bound."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from tupi.inputs.features import as_matrix
from tupi.inputs.files import read_arrays, read_table, unpacking
from tupi.runtime.errors import InputError

HEADER = 128  # bytes of an NPY header


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def archive(entries, compression=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return bytearray(buffer.getvalue())


def refused(read, path):
    """Return the sentence that refuses a file; None if it was read. Anything but a sentence fails the test."""
    try:
        read(path)
    except InputError as problem:
        said = str(problem)
    else:
        return None
    assert "\n" not in said
    assert path.name in said
    return said


@pytest.mark.parametrize("read", [read_arrays, lambda path: as_matrix("x", path)], ids=["files", "sources"])
def test_each_bad_byte_in_an_npy_header(tmp_path, read):
    whole, path = npy(np.arange(12.0).reshape(4, 3)), tmp_path / "a.npy"
    rng = np.random.default_rng(0)
    refusals = 0
    for place in range(HEADER):
        for byte in (0x00, 0x27, 0x28, 0xFF, int(rng.integers(256))):
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refusals += refused(read, path) is not None
    assert refusals > HEADER


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bad_bytes_in_an_archive(tmp_path, compression):
    whole, path = archive({"a.npy": npy(np.arange(50.0))}, compression), tmp_path / "a.npz"
    rng = np.random.default_rng(1)
    refusals = 0
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] = rng.integers(256)
        path.write_bytes(damaged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refusals += refused(read_arrays, path) is not None
    assert refusals > 50


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "csv.gz"])
def test_bad_bytes_in_a_table(tmp_path, kind):
    frame = pd.DataFrame({"a": np.arange(30.0), "b": [f"x{k % 3}" for k in range(30)]})
    path = tmp_path / f"t.{kind}"
    write = {"parquet": frame.to_parquet, "xlsx": frame.to_excel, "csv.gz": frame.to_csv}[kind]
    write(path, index=False)
    whole = path.read_bytes()
    rng = np.random.default_rng(2)
    refusals = 0
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged[: rng.integers(len(whole) // 2, len(whole) + 1)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refusals += refused(read_table, path) is not None
    assert refusals > 20


def test_an_encrypted_archive(tmp_path):
    content = archive({"a.npy": npy(np.arange(5.0))})
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + flags] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    assert "is encrypted; accepted: a file without a password" in refused(read_arrays, tmp_path / "a.npz")


def test_records_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(5, [("x", float), ("y", int)]))
    np.savez(tmp_path / "a.npz", np.zeros(5, [("x", float), ("y", int)]))
    for name in ("a.npy", "a.npz"):
        assert "holds records with fields x, y" in refused(read_arrays, tmp_path / name)


def test_arrays_that_say_they_are_larger_than_they_are(tmp_path):
    header = npy(np.zeros(3)).replace(b"(3,)", b"(9876543210123,)"[:16])[: HEADER + 24]
    (tmp_path / "a.npz").write_bytes(archive({"a.npy": header}))
    (tmp_path / "a.npy").write_bytes(header)
    assert refused(read_arrays, tmp_path / "a.npz")
    assert refused(read_arrays, tmp_path / "a.npy")
    whole = npy(np.zeros((100, 3)))
    (tmp_path / "b.npy").write_bytes(whole[:-8])
    with pytest.raises(InputError, match=r"'b\.npy' is shorter than its header says"):
        as_matrix("x", tmp_path / "b.npy")


@pytest.mark.parametrize("name", ["a.npz", "t.xlsx"])
def test_bombs_are_refused_before_they_unpack(tmp_path, monkeypatch, name):
    monkeypatch.setattr(unpacking, "LARGE", 1 << 20)
    content = npy(np.zeros(1 << 20)) if name == "a.npz" else b"0" * (1 << 23)
    (tmp_path / name).write_bytes(archive({"a.npy": content}))
    monkeypatch.setattr(zipfile.ZipFile, "open", None)  # nothing is unpacked
    said = refused(read_arrays if name == "a.npz" else read_table, tmp_path / name)
    assert "unpacks to more than" in said
    assert "accepted: less, or the unpacked file" in said
