"""Saved results: those of every format are read, and damaged ones get a sentence."""

import io
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tupi.cli import tupi as commands
from tupi.results import saving
from tupi.runtime.errors import InputError

SAVED = Path(__file__).parent / "saved"
EXAMPLE = SAVED / "format1_values.npz"
FACTS = {  # the first predictions, what the labels were, and the classes, as they were when each file was written
    "format1_values": ([0.158, 0.112, -2.791], "label", None),
    "format1_comparisons": ([0.16054374, 0.12903828, -2.77823158], "comparison", None),
    "format1_unlabelled": ([0.158, 0.112, -2.791], None, None),
    "format1_classes": ([0.61456937, 0.1158162, 0.26961443], "label", ("cat", "dog", "owl")),
    "format2_values": ([-1.33685794, -2.12852428, -0.78832616], "label", None),
    "format2_comparisons": ([-1.68849999, -1.42163009, -0.79159058], "comparison", None),
    "format2_unlabelled": ([-1.72188319, -1.33939597, -0.74146737], None, None),
    "format2_regression": ([-0.80660512, -1.40105159, -0.35582483], "label", None),
    "format2_classes": ([0.94516724, 0.05357073, 0.00126203], "label", ("cat", "dog", "owl")),
    "format2_trees": ([-0.66296707, -0.726299, -0.22349028], "label", None),
    "format2_tupi": ([-1.11317987, -1.11881165, -0.61807622], "label", None),
    "format2_chances": ([0.02383025, 0.02321735, 0.02327877], "label", (0, 1)),
    "format2_groups": ([-0.70474948, -0.79273322, -0.51540678], "label", None),
}
SIXTY = ("trees", "tupi", "chances", "groups")  # kinds with so many items; the others have 24
NEW_VIEWS = {  # of three items that came later
    "color": pd.DataFrame({"shade": ["dark", "dark", "light"], "depth": [0.16, 0.43, -1.62]}),
    "größe": pd.DataFrame({"h": [-0.79, 0.56, -1.84], "w": [0.41, 0.39, -1.06]}),
}
NEW_SCORES = np.array([0.145, 0.157, -0.484])
NEW_PROBABILITIES = np.array([0.5362, 0.5392, 0.3813])
NEW_CHANCES = np.array([[0.1558, 0.566, 0.2782], [0.1516, 0.5642, 0.2842], [0.4594, 0.4743, 0.0663]])
FORESEEN = {  # what each file said of them when it was written
    "format2_values": [-0.04307526, 0.52435467, -2.09088664],
    "format2_comparisons": [0.43638235, 0.6011649, -1.10355791],
    "format2_unlabelled": [0.43141641, 0.55479533, -0.99131044],
    "format2_regression": [0.2145184, 0.6396192, -1.32902714],
    "format2_classes": [0.0423956, 0.6858829, 0.2717215],
    "format2_trees": [1.98068474, 2.20528761, -0.90405519],
    "format2_tupi": [0.16249303, 0.15735215, -0.52724308],
    "format2_chances": [0.97394276, 0.98801949, 0.02382333],
    "format2_groups": [-0.23980035, -0.11583614, -0.8157219],
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
    assert len(result.to_frame()) == (60 if name.endswith(SIXTY) else 24)
    again = tupi.load(result.save(tmp_path / "again.npz"))
    np.testing.assert_array_equal(again.predictions, result.predictions)


@pytest.mark.parametrize("name", FORESEEN)
def test_models_of_every_format_predict_as_they_did(name, tmp_path):
    result = tupi.load(SAVED / f"{name}.npz")
    predictions = {None: NEW_SCORES, (0, 1): NEW_PROBABILITIES}.get(result.classes, NEW_CHANCES)
    given = {"groups": [0, 0, 1]} if name == "format2_groups" else {}
    new = result.predict(predictions, NEW_VIEWS, **given)
    np.testing.assert_allclose(new.ravel()[:3], FORESEEN[name], atol=1e-6)
    again = tupi.load(result.save(tmp_path / "again.npz"))
    np.testing.assert_allclose(again.predict(predictions, NEW_VIEWS, **given), new, atol=1e-9)
    with pytest.raises(InputError, match="update: found a result that was loaded"):
        result.update(labels=[1.0])


def test_results_of_format_1_have_no_model():
    with pytest.raises(InputError, match="saved by this version"):
        tupi.load(EXAMPLE).predict(NEW_SCORES, NEW_VIEWS)


def test_a_file_makes_no_other_classes_than_those_of_models(tmp_path):
    with np.load(EXAMPLE) as file:
        meta = json.loads(str(file["meta"])) | {"model": {"class": "Popen", "fields": {}}}
    said = outcome_of(rewritten(tmp_path / "other.npz", meta=np.array(json.dumps(meta))))
    assert "not a result saved by tupi (it lacks 'Popen')" in said


def test_the_size_of_a_model_does_not_grow_with_the_items(tmp_path):
    rng = np.random.default_rng(0)
    n, labels = 2300, 200  # as many anchors as a million items have, and as many labels as these use
    truth = rng.normal(size=n)
    views = {f"view{k}": (truth[:, None] + rng.normal(size=(n, 50))).astype(np.float32) for k in range(5)}
    result = tupi.denoise(truth + rng.normal(size=n), views, tupi.Values(np.arange(labels), truth[:labels]))
    whole, alone = (result.save(tmp_path / f"{items}.npz", items=items) for items in (True, False))
    assert alone.stat().st_size < 16e6  # half of what is in it is in double precision; that of a million is in single
    assert whole.stat().st_size - alone.stat().st_size < 40 * n
    model = tupi.load(alone)
    assert len(model.predictions) == 0
    assert repr(model).startswith(
        "A model for new items, ranking by method 'auto', saved without its own items\nOn 200"
    )
    with pytest.raises(InputError, match="report: found a result that was saved without its items"):
        model.report(tmp_path / "report.html")
    few = {name: values[:9] for name, values in views.items()}
    np.testing.assert_allclose(model.predict(truth[:9], few), result.predict(truth[:9], few), atol=1e-5)


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


MODEL = SAVED / "format2_values.npz"


def changed_model(path, change):
    """Write a file with a model of which something is changed in the tree of its parts and in its arrays."""
    with np.load(MODEL) as file:
        arrays = dict(file)
    meta = json.loads(str(arrays["meta"]))
    change(meta["model"]["fields"], arrays)
    np.savez(path, **arrays | {"meta": np.array(json.dumps(meta))})
    return path


def cut(*where):
    """Return a change that halves the array in a place of the tree."""

    def change(tree, arrays):
        for name in where:
            tree = tree[name]
        arrays[tree["array"]] = arrays[tree["array"]][: len(arrays[tree["array"]]) // 2]

    return change


def far_anchors(tree, arrays):
    near = tree["stored"]["fields"]["kernels"]["fields"]["labelled"]["fields"]["near"]["fields"]
    arrays[near["numbers"]["array"]][0, 0] = 2**30


@pytest.mark.parametrize(
    "change",
    [
        far_anchors,
        cut("averages"),
        cut("graph", "fields", "sizes"),
        cut("graph", "fields", "shared"),
        lambda tree, arrays: tree.update(space=None),
    ],
)
def test_models_whose_anchors_are_elsewhere_are_not_read(change, tmp_path):
    """Compiled code does not ask whether an anchor is there: these would be read beyond the end of an array."""
    assert "is not a result saved by tupi (" in outcome_of(changed_model(tmp_path / "other.npz", change))


def no_number(tree, arrays):
    arrays[tree["averages"]["array"]][:] = np.nan


@pytest.mark.parametrize(
    "change",
    [
        no_number,
        lambda tree, arrays: tree.update(known=[]),
        lambda tree, arrays: tree.update(usual={"list": []}),
        lambda tree, arrays: tree.update(passes={"list": []}),
    ],
)
def test_models_whose_parts_do_not_belong_together_predict_nothing(change, tmp_path):
    path = changed_model(tmp_path / "other.npz", change)
    with pytest.raises(InputError, match=r"predict: the parts of the model that was loaded .* as `save` wrote it\.$"):
        tupi.load(path).predict(NEW_SCORES, NEW_VIEWS)


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


@pytest.mark.parametrize("name", ["01", "1e3", "-0", "nan", "2020-01-01", "1577836800000"])
def test_names_of_views_that_look_like_something_else_stay(name, tmp_path):
    rng = np.random.default_rng(0)
    view = rng.normal(size=(30, 2))
    result = tupi.denoise(view[:, 0] + rng.normal(size=30), {name: view})
    loaded = tupi.load(result.save(tmp_path / "run.npz"))
    for table in saving.TABLES:
        pd.testing.assert_frame_equal(getattr(loaded, table), getattr(result, table), check_dtype=False)
    assert loaded.weights.columns.tolist() == [name] == loaded.dependence.index.tolist()


@pytest.mark.parametrize("names", [pd.to_datetime(["2020", "2021"]), pd.interval_range(0, 2), [b"x", "y"]])
@pytest.mark.parametrize("binary", [False, True])
def test_classes_of_any_kind_are_saved_as_text(names, binary, tmp_path):
    rng = np.random.default_rng(0)
    f = rng.normal(size=30)
    chance, said = 1 / (1 + np.exp(-f)), np.empty(30, object)
    said[:] = [names[int(one > 0)] for one in f]
    both = pd.DataFrame(np.column_stack([1 - chance, chance]))
    both.columns = pd.Index(list(names), dtype=object)
    given = chance if binary else both
    result = tupi.denoise(given, f[:, None], tupi.Values(range(30), said), task="classification")
    loaded = tupi.load(result.save(tmp_path / "run.npz"))
    assert loaded.classes == tuple(map(str, names))
    np.testing.assert_array_equal(loaded.predict(given[:3], f[:3, None]), result.predict(given[:3], f[:3, None]))


def test_a_result_is_written_as_the_command_writes_it(small, tmp_path, monkeypatch):
    _, scores, views = small
    monkeypatch.chdir(tmp_path)
    names = pd.Index([f"item-{k}" for k in range(len(scores))], name="id")
    pd.DataFrame({"score": scores}, index=names).to_csv("scores.csv")
    view = pd.DataFrame(next(iter(views.values())), index=names).add_prefix("c")
    view.to_csv("view.csv")
    words = ["denoise", "scores.csv", "--features", "v=view.csv", "--out", "there.csv", "--quiet"]
    assert CliRunner().invoke(commands, words).exit_code == 0
    inputs = tupi.read_inputs("scores.csv", {"v": "view.csv"})
    result = tupi.denoise(inputs.predictions, inputs.features, inputs.labels)
    assert result.write("here.csv") == Path("here.csv")
    assert Path("here.csv").read_bytes() == Path("there.csv").read_bytes()
    with pytest.raises(tupi.InputError, match=r"path: .* has the suffix '\.doc'"):
        result.write("here.doc")
    result.save("model.npz", items=False)
    with pytest.raises(tupi.InputError, match="write: found a result that was saved without its items"):
        tupi.load("model.npz").write("here.csv")
