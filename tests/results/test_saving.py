"""Saved results: those of every format are read, and damaged ones get a sentence."""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tupi
from tupi.results import saving
from tupi.runtime.errors import InputError

SAVED = Path(__file__).parent / "saved"
EXAMPLE = SAVED / "format1_values.npz"
FACTS = {  # the first predictions, what the labels were, and the classes, as they were when each file was written
    "format1_values": ([0.158, 0.112, -2.791], "label", None),
    "format1_comparisons": ([0.16054374, 0.12903828, -2.77823158], "comparison", None),
    "format1_unlabelled": ([0.158, 0.112, -2.791], None, None),
    "format1_classes": ([0.61456937, 0.1158162, 0.26961443], "label", ("cat", "dog", "owl")),
}


def test_no_format_lacks_its_files():
    assert {path.stem for path in SAVED.glob("*.npz")} == set(FACTS)
    assert {int(name.removeprefix("format").partition("_")[0]) for name in FACTS} == set(range(1, saving.FORMAT + 1))


@pytest.mark.parametrize("name", FACTS)
def test_results_of_every_format_are_read(name, tmp_path):
    first, noun, classes = FACTS[name]
    result = tupi.load(SAVED / f"{name}.npz")
    np.testing.assert_allclose(result.predictions.ravel()[:3], first, atol=1e-8)
    assert result.classes == classes
    assert (result.evidence and result.evidence.noun) == noun
    assert list(result.dependence.index) == ["color", "größe"]
    assert len(result.to_frame()) == 24
    again = tupi.load(result.save(tmp_path / "again.npz"))
    np.testing.assert_array_equal(again.predictions, result.predictions)


def outcome_of(path):
    """Return what came of loading: "read", or the sentence."""
    try:
        tupi.load(path)
    except InputError as refusal:
        return str(refusal)
    return "read"


def test_damaged_results_get_a_sentence(tmp_path):
    whole, path = EXAMPLE.read_bytes(), tmp_path / "damaged.npz"
    rng = np.random.default_rng(0)
    refused = 0
    for case in range(300):
        damaged = bytearray(whole[: rng.integers(len(whole))] if case % 5 == 0 else whole)
        for place in rng.integers(len(damaged), size=rng.integers(1, 4)) if damaged else ():
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        said = outcome_of(path)
        assert said == "read" or (said.startswith("path: 'damaged.npz' ") and "\n" not in said), said
        refused += said != "read"
    assert refused > 250


def rewritten(path, **changes):
    """Write the example with some of its arrays replaced; None leaves one out."""
    with np.load(EXAMPLE) as file:
        arrays = dict(file) | changes
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"initial": None}, "it lacks 'initial'"),
        ({"weights": None}, "it lacks 'weights'"),
        ({"initial": np.zeros(23)}, "predictions of other items"),
        ({"initial": np.array(["a"] * 24)}, "predictions that are no numbers"),
        ({"index": np.arange(5)}, "ids of other items"),
        ({"uncertainty": np.zeros(5)}, "uncertainty of other items"),
        ({"meta": np.array("[" * 100_000)}, "recursion"),
        ({"history": np.array("{}")}, "not a result"),
        ({"history": np.array('{"columns": [1, 2], "index": [0], "data": [[1]]}')}, "not a result"),
    ],
)
def test_parts_that_do_not_belong_together(changes, said, tmp_path):
    assert said in outcome_of(rewritten(tmp_path / "other.npz", **changes))


def test_an_unknown_task(tmp_path):
    with np.load(EXAMPLE) as file:
        meta = json.loads(str(file["meta"])) | {"task": "guessing"}
    assert "unknown task" in outcome_of(rewritten(tmp_path / "other.npz", meta=np.array(json.dumps(meta))))


def test_a_file_that_would_fill_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, predictions=np.zeros(10**6), meta=np.array("{}"))
    monkeypatch.setattr(saving, "UNPACKED", 10**6)
    assert "would unpack to 8,0" in outcome_of(path)


def test_an_array_that_says_it_is_huge(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**50,)})
    path = tmp_path / "huge.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("predictions.npy", header.getvalue())
    assert "is not a result saved by tupi" in outcome_of(path)


def test_an_encrypted_file(tmp_path):
    content = bytearray(EXAMPLE.read_bytes())
    place = content.find(b"PK\x01\x02")
    while place >= 0:  # the flag in each entry of the directory, and in what it points to
        (local,) = struct.unpack_from("<I", content, place + 42)
        content[place + 8] |= 1
        content[local + 6] |= 1
        place = content.find(b"PK\x01\x02", place + 1)
    (tmp_path / "locked.npz").write_bytes(content)
    assert "encrypted" in outcome_of(tmp_path / "locked.npz")
