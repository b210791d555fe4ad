"""Files: every format there and back, rows joined by ids, and a sentence for each thing that cannot be read."""

import numpy as np
import pandas as pd
import pytest

import tupi
from tupi.inputs.files import read_arrays, read_inputs, read_table, read_two
from tupi.inputs.problem import make_problem
from tupi.results.writing import write_result, write_table
from tupi.runtime.errors import InputError

TABLES = (".csv", ".tsv", ".parquet")
N = 30


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": [f"item {k:02d}" for k in range(N)],
            "a": rng.normal(size=N) * 10.0 ** rng.integers(-300, 300, size=N),
            "b": rng.integers(-5, 5, size=N),
        }
    )


def put(path, frame):
    return write_table(frame, path)


def make_result(index=None, classes=None):
    rng = np.random.default_rng(1)
    shape = (N, len(classes)) if classes else (N,)
    return tupi.Denoised(
        predictions=rng.normal(size=shape),
        initial=rng.normal(size=shape),
        weights=pd.DataFrame({"v": [1.0]}),
        dependence=pd.DataFrame({"before": [0.1], "after": [0.2], "p_value": [0.5]}, index=["v"]),
        evidence=None,
        method="tupi",
        params={},
        history=pd.DataFrame({"energy_start": [0.0]}),
        task="classification" if classes else "ranking",
        index=index,
        classes=classes,
    )


# Formats


@pytest.mark.parametrize("suffix", [*TABLES, ".CSV"])
def test_tables_come_back_exactly(tmp_path, frame, suffix):
    back = read_table(put(tmp_path / f"t{suffix}", frame))
    assert list(back.columns) == list(frame.columns)
    assert list(back["id"]) == list(frame["id"])
    np.testing.assert_array_equal(back["a"], frame["a"])  # to the last bit, text files included
    np.testing.assert_array_equal(back["b"], frame["b"])


@pytest.mark.parametrize("ids", [None, "text", "number"])
@pytest.mark.parametrize("suffix", TABLES)
def test_results_as_tables(tmp_path, suffix, ids):
    index = {
        None: None,
        "text": pd.Index([f"0{k}" for k in range(N)], name="image"),
        "number": pd.RangeIndex(N, name="image"),
    }[ids]
    result = make_result(index)
    path = write_result(result, tmp_path / f"out{suffix}")
    back = read_table(path)
    np.testing.assert_array_equal(back["prediction"], result.predictions)
    np.testing.assert_array_equal(back["initial"], result.initial)
    assert ("image" in back) == (ids is not None)
    read = read_inputs(path, {}, score=["prediction"], id_column=None if ids is None else "image")
    np.testing.assert_array_equal(read.predictions, result.predictions)
    if ids == "text":
        assert list(read.predictions.index) == list(index)


def test_results_as_arrays(tmp_path):
    result = make_result(pd.Index([f"i{k}" for k in range(N)]), classes=("cat", "dog"))
    (array,) = read_arrays(write_result(result, tmp_path / "out.npy")).values()
    np.testing.assert_array_equal(array, result.predictions)
    arrays = read_arrays(write_result(result, tmp_path / "out.NPZ"))
    assert set(arrays) == {"initial", "prediction", "id", "classes"}
    np.testing.assert_array_equal(arrays["prediction"], result.predictions)
    assert list(arrays["id"]) == list(result.index)
    assert len(list(tmp_path.iterdir())) == 2  # and no temporary file is left


def test_an_id_column_called_like_a_result_keeps_both(tmp_path):
    result = make_result(pd.Index([f"i{k}" for k in range(N)], name="initial"))
    back = read_table(write_result(result, tmp_path / "out.csv"))
    assert list(back["initial_id"]) == list(result.index)
    np.testing.assert_array_equal(back["initial"], result.initial)


def test_class_scores_as_a_table(tmp_path):
    result = make_result(classes=("cat", "dog"))
    back = read_table(write_result(result, tmp_path / "out.csv"))
    np.testing.assert_array_equal(back[["prediction_cat", "prediction_dog"]], result.predictions)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npy", ".npz"])
def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"out{suffix}"
    path.write_bytes(b"old")

    def half(target, *args, **kwargs):
        if hasattr(target, "write"):
            target.write(b"half")
        else:
            target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", lambda self, target, **kwargs: half(target))
    monkeypatch.setattr(pd.DataFrame, "to_parquet", lambda self, target, **kwargs: half(target))
    monkeypatch.setattr(np, "save", half)
    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(KeyboardInterrupt):
        write_result(make_result(), path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# What cannot be read


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.doc", b"x", "suffix '.doc'; accepted: .csv, .tsv, .txt, .csv.gz"),
        ("t.csv", None, "no such file"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\n\n", "is empty"),
        ("t.csv", b"id,score\n", "no rows"),
        ("t.csv", b"id,score\na,1\nb,2,3\n", "cannot be read as a table"),
        ("t.csv", b"id,score\na,1,9\nb,2,9\n", "more fields than the first line"),
        ("t.csv", b"id,id\na,1\n", "'id' occurs more than once"),
        ("t.csv", b"id,\na,1\n", "column 2 has no name"),
        ("t.csv", b"0.5,1.5\n1,2\n", "first line holds numbers only (0.5, 1.5)"),
        ("t.parquet", b"PAR1 nonsense", "not a Parquet file"),
    ],
)
def test_unreadable_tables(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_table(tmp_path / name)
    assert words in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("name", ["t.npy", "t.npz"])
@pytest.mark.parametrize("content", [b"nonsense", b"PK\x03\x04 nonsense", b"\x93NUMPY\x01\x00"])
def test_unreadable_arrays(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=r"nothing readable|not what its suffix says"):
        read_arrays(tmp_path / name)


def test_arrays_of_objects_and_wrong_suffixes(tmp_path):
    np.save(tmp_path / "o.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not of Python objects"):
        read_arrays(tmp_path / "o.npy")
    with (tmp_path / "really_npz.npy").open("wb") as file:
        np.savez(file, a=np.zeros(3))
    with pytest.raises(InputError, match="not what its suffix says"):
        read_arrays(tmp_path / "really_npz.npy")
    np.savez(tmp_path / "none.npz")
    with pytest.raises(InputError, match="holds no arrays"):
        read_arrays(tmp_path / "none.npz")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


def test_a_damaged_archive(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.arange(1000.0))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[60:120] = bytes(60)
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match="nothing readable"):
        read_arrays(tmp_path / "a.npz")


def test_parquet_without_pyarrow(tmp_path, monkeypatch, frame):
    path = put(tmp_path / "t.parquet", frame)

    def missing(*args, **kwargs):
        raise ImportError("Missing optional dependency 'pyarrow'.\nUse pip or conda")

    monkeypatch.setattr(pd, "read_parquet", missing)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", missing)
    with pytest.raises(InputError, match=r"pip install 'tupi\[parquet\]'"):
        read_table(path)
    with pytest.raises(InputError, match=r"pip install 'tupi\[parquet\]'"):
        write_table(frame, tmp_path / "u.parquet")
    assert not (tmp_path / "u.parquet").exists()


def test_a_header_of_column_numbers_is_a_header(tmp_path):
    pd.DataFrame(np.ones((5, 3))).to_csv(tmp_path / "t.csv", index=False)
    assert read_table(tmp_path / "t.csv").shape == (5, 3)


# Ids


def split_files(folder, frame, suffix=".csv", shuffled=True, id_column="id"):
    """Write scores, features and labels of the same items, each in its own order."""
    rng = np.random.default_rng(3)
    frame = frame.rename(columns={"id": id_column})
    orders = [rng.permutation(N) if shuffled else np.arange(N) for _ in range(2)]
    scores = put(folder / f"scores{suffix}", frame[[id_column, "a"]])
    features = put(folder / f"features{suffix}", frame.iloc[orders[0]][["b", id_column]])
    labels = put(folder / f"labels{suffix}", frame.iloc[orders[1][:12]][[id_column, "b"]])
    return scores, features, labels


@pytest.mark.parametrize("suffix", TABLES)
@pytest.mark.parametrize("wanted", [None, "id"])
def test_rows_are_joined_by_id(tmp_path, frame, suffix, wanted):
    scores, features, labels = split_files(tmp_path, frame, suffix)
    read = read_inputs(scores, {"v": features}, labels, id_column=wanted)
    assert read.id_column == "id"
    assert read.score_columns == ("a",)
    assert read.by_order == ()
    assert read.sentence == "Predictions from 'a'; ids from 'id'."
    np.testing.assert_array_equal(read.predictions, frame["a"])
    np.testing.assert_array_equal(read.features["v"]["b"], frame["b"])
    assert list(read.features["v"].columns) == ["b"]
    np.testing.assert_array_equal(read.labels.values.astype(float), frame["b"][read.labels.index])


def test_a_text_column_that_all_tables_share_is_the_id(tmp_path, frame):
    scores, features, labels = split_files(tmp_path, frame, id_column="image")
    assert read_inputs(scores, {"v": features}, labels).id_column == "image"


def test_two_text_columns_that_all_tables_share_need_a_choice(tmp_path, frame):
    twice = frame.rename(columns={"id": "image"}).assign(place=frame["id"])
    scores = put(tmp_path / "scores.csv", twice[["image", "place", "a"]])
    features = put(tmp_path / "features.csv", twice[["image", "place", "b"]])
    with pytest.raises(InputError, match="--id: columns 'image', 'place' could all hold the ids"):
        read_inputs(scores, {"v": features})


def test_numeric_ids_stay_what_they_are(tmp_path):
    codes = pd.DataFrame({"id": [f"{k:03d}" for k in range(N)], "x": range(N)})
    scores = put(tmp_path / "s.csv", codes)
    features = put(tmp_path / "f.csv", codes.iloc[::-1])
    read = read_inputs(scores, {"v": features})
    assert read.predictions.index[7] == "007"  # not 7
    np.testing.assert_array_equal(read.features["v"]["x"], np.arange(N))
    plain = pd.DataFrame({"id": range(N), "x": range(N)})
    mixed = read_inputs(put(tmp_path / "s2.csv", plain), {"v": put(tmp_path / "f2.parquet", plain.iloc[::-1])})
    assert mixed.predictions.index.dtype.kind == "i"
    np.testing.assert_array_equal(mixed.features["v"]["x"], np.arange(N))


def test_the_id_na_is_an_id(tmp_path):
    countries = pd.DataFrame({"id": ["NA", "null", "", *"abcdefgh"], "x": range(11)})
    with pytest.raises(InputError, match="row 2 has no id in column 'id'"):
        read_inputs(put(tmp_path / "s.csv", countries), {})
    read = read_inputs(put(tmp_path / "s.csv", countries.drop(2)), {})
    assert list(read.predictions.index[:2]) == ["NA", "null"]


def test_an_index_that_pandas_wrote_is_an_id(tmp_path, frame):
    indexed = frame.set_index("id").rename_axis(None)
    indexed[["a"]].to_csv(tmp_path / "s.csv")
    indexed[["b"]].iloc[::-1].to_parquet(tmp_path / "f.parquet")
    read = read_inputs(tmp_path / "s.csv", {"v": tmp_path / "f.parquet"})
    np.testing.assert_array_equal(read.features["v"]["b"], frame["b"])
    assert read.predictions.index.name == "id"


def test_ids_that_do_not_match_are_named(tmp_path, frame):
    scores, features, labels = split_files(tmp_path, frame)
    put(features, frame.iloc[5:][["id", "b"]])
    with pytest.warns(UserWarning, match=r"5 of 30 items have no row here \(first: item 00, item 01, item 02, \.\.\."):
        read = read_inputs(scores, {"v": features})
    assert list(read.features["v"]["b"].isna()) == [True] * 5 + [False] * 25
    put(features, pd.concat([frame[["id", "b"]], pd.DataFrame({"id": ["other"], "b": [1]})]))
    with pytest.warns(UserWarning, match=r"features v .* 1 id\(s\) are not among those of .*\(first: other\)"):
        read = read_inputs(scores, {"v": features})
    np.testing.assert_array_equal(read.features["v"]["b"], frame["b"])
    put(labels, pd.DataFrame({"id": ["item 01", "stranger"], "b": [1, 2]}))
    with pytest.warns(UserWarning, match=r"labels .* 1 id\(s\) are not among those of .*\(first: stranger\)"):
        read = read_inputs(scores, {}, labels)
    assert (list(read.labels.index), list(read.labels.values)) == ([1], [1])
    put(labels, pd.DataFrame({"id": ["stranger", "other"], "b": [1, 2]}))
    with pytest.raises(InputError, match=r"labels .*: none of its ids .*\(first: stranger, other\)"):
        read_inputs(scores, {}, labels)


@pytest.mark.parametrize("which", ["scores", "features", "labels"])
def test_duplicate_ids(tmp_path, frame, which):
    paths = dict(zip(("scores", "features", "labels"), split_files(tmp_path, frame), strict=True))
    table = read_table(paths[which])
    put(paths[which], pd.concat([table, table.iloc[:1]]))
    first = table["id"][0]
    with pytest.raises(InputError, match=rf"1 id\(s\) in column 'id' occur more than once \(first: {first}\)"):
        read_inputs(paths["scores"], {"v": paths["features"]}, paths["labels"])


def test_ids_in_some_tables_only(tmp_path, frame):
    scores = put(tmp_path / "s.csv", frame[["id", "a"]])
    features = put(tmp_path / "f.csv", frame[["b"]])
    with pytest.raises(InputError, match="has a column 'id', and not all other tables do"):
        read_inputs(scores, {"v": features})
    read = read_inputs(scores, {"v": features}, id_column="id")  # who names the column means it
    assert read.by_order == ("v",)
    assert read.sentence == "Predictions from 'a'; ids from 'id'; matched by row order: v."
    np.save(tmp_path / "s.npy", frame["a"])
    put(features, frame[["id", "b"]])
    with pytest.raises(InputError, match="has a column 'id' that matches nothing elsewhere"):
        read_inputs(tmp_path / "s.npy", {"v": features})


def test_a_shared_number_column_is_never_a_feature_by_accident(tmp_path, frame):
    numbered = frame.drop(columns="id").assign(number=range(N))
    scores = put(tmp_path / "s.csv", numbered[["number", "a"]])
    features = put(tmp_path / "f.csv", numbered[["number", "b"]].iloc[::-1])
    with pytest.raises(InputError, match="2 columns that could be the scores"):
        read_inputs(scores, {"v": features})
    with pytest.raises(InputError, match="--id number if it holds ids"):
        read_inputs(scores, {"v": features}, score=["a"])
    read = read_inputs(scores, {"v": features}, id_column="number")
    np.testing.assert_array_equal(read.features["v"]["b"], frame["b"])


def test_misspelt_columns_get_the_nearest_name(tmp_path, frame):
    scores, features, labels = split_files(tmp_path, frame, id_column="image")
    for options in ({"id_column": "imege"}, {"score": ["imag"]}, {"label": "imagee"}):
        with pytest.raises(InputError, match="Did you mean 'image'"):
            read_inputs(scores, {"v": features}, labels, **options)


# Rows in order, arrays and views


def test_rows_in_order_must_be_as_many(tmp_path, frame):
    scores = put(tmp_path / "s.csv", frame[["a"]])
    np.save(tmp_path / "f.npy", np.ones((N, 2)))
    read = read_inputs(scores, {"v": tmp_path / "f.npy"})
    assert (read.id_column, read.by_order) == (None, ("v",))
    np.save(tmp_path / "f.npy", np.ones((N + 1, 2)))
    with pytest.raises(InputError, match=f"has {N + 1} rows for {N} items"):
        read_inputs(scores, {"v": tmp_path / "f.npy"})
    with pytest.raises(InputError, match=f"has {N - 1} rows for {N} items"):
        read_inputs(scores, {"v": put(tmp_path / "f.csv", frame[["b"]].iloc[1:])})


def test_arrays_in_an_archive_are_views(tmp_path):
    np.save(tmp_path / "s.npy", np.arange(N))
    np.savez(tmp_path / "f.npz", x=np.zeros((N, 2)), y=np.ones((N, 3)))
    np.savez(tmp_path / "one.npz", x=np.zeros((N, 2)))
    archive = str(tmp_path / "f.npz")
    read = read_inputs(tmp_path / "s.npy", {"all": archive, "two": f"{archive}:y", "one": str(tmp_path / "one.npz")})
    assert {name: view.shape[1] for name, view in read.features.items()} == {"all.x": 2, "all.y": 3, "two": 3, "one": 2}
    with pytest.raises(InputError, match="no array 'z'; accepted: x, y"):
        read_inputs(tmp_path / "s.npy", {"v": f"{archive}:z"})
    with pytest.raises(InputError, match="holds 2 arrays"):
        read_inputs(archive, {})
    with pytest.raises(InputError, match=r"two views are called 'all\.x'"):
        read_inputs(tmp_path / "s.npy", {"all": archive, "all.x": f"{archive}:y"})
    with pytest.raises(InputError, match=r"suffix '\.csv:a'"):
        read_inputs(f"{tmp_path / 's.csv'}:a", {})


def test_options_that_need_columns(tmp_path):
    np.save(tmp_path / "s.npy", np.arange(N))
    for options in ({"id_column": "id"}, {"score": ["a"]}):
        with pytest.raises(InputError, match=r"s\.npy has no columns"):
            read_inputs(tmp_path / "s.npy", {}, **options)
    with pytest.raises(InputError, match=r"--label: .*s\.npy has no columns"):
        read_inputs(tmp_path / "s.npy", {}, tmp_path / "s.npy", label="a")


# Labels


def test_labels_one_per_row(tmp_path, frame):
    np.save(tmp_path / "s.npy", frame["a"])
    known = np.where(np.arange(N) % 3 == 0, np.arange(N), np.nan)
    (tmp_path / "l.csv").write_text("value\n" + "".join("\n" if np.isnan(v) else f"{v}\n" for v in known))
    np.save(tmp_path / "l.npy", known)
    np.savez(tmp_path / "l.npz", known)
    for name in ("l.csv", "l.npy", "l.npz"):
        read = read_inputs(tmp_path / "s.npy", {}, tmp_path / name)
        np.testing.assert_array_equal(read.labels.astype(float), known)
        assert read.by_order == ("labels",)
    np.save(tmp_path / "l.npy", known[1:])
    with pytest.raises(InputError, match=r"labels \(.*l\.npy\): has 29 rows for 30 items"):
        read_inputs(tmp_path / "s.npy", {}, tmp_path / "l.npy")


def test_labels_with_ids_and_unknown_values(tmp_path, frame):
    scores = put(tmp_path / "s.csv", frame[["id", "a"]])
    table = pd.DataFrame({"id": ["item 09", "item 02", "item 05"], "value": [1.5, None, 2.5], "by": ["x", "y", "z"]})
    labels = put(tmp_path / "l.csv", table)
    with pytest.raises(InputError, match="2 columns that could be the values"):
        read_inputs(scores, {}, labels)
    read = read_inputs(scores, {}, labels, label="value")
    assert list(read.labels.index) == [9, 5]
    assert list(read.labels.values) == [1.5, 2.5]


def test_pairs_by_id_and_by_row(tmp_path, frame):
    scores = put(tmp_path / "s.csv", frame[["id", "a"]])
    pairs = put(tmp_path / "p.csv", pd.DataFrame({"higher": ["item 03", "item 04"], "lower": ["item 01", "item 00"]}))
    read = read_inputs(scores, {}, pairs)
    assert (list(read.labels.higher), list(read.labels.lower)) == ([3, 4], [1, 0])
    np.save(tmp_path / "s.npy", frame["a"])
    rows = put(tmp_path / "r.tsv", pd.DataFrame({"higher": [3, 4], "lower": [1, 0]}))
    np.savez(tmp_path / "r.npz", higher=[3, 4], lower=[1, 0])
    for path in (rows, tmp_path / "r.npz"):
        read = read_inputs(tmp_path / "s.npy", {}, path)
        assert (list(read.labels.higher), list(read.labels.lower)) == ([3, 4], [1, 0])
    with (
        pytest.warns(UserWarning, match="nobody"),
        pytest.raises(InputError, match=r"each pair has an id .*\(first: nobody\)"),
    ):
        read_inputs(scores, {}, put(pairs, pd.DataFrame({"higher": ["nobody"], "lower": ["item 00"]})))


def test_classes_are_meant_by_name(tmp_path):
    """Columns called 1, 2, 3 hold classes 1, 2, 3, and not the columns with those numbers."""
    rng = np.random.default_rng(0)
    scores = put(tmp_path / "s.csv", pd.DataFrame(rng.random((N, 3)), columns=["1", "2", "x"]).assign(id=range(N)))
    labels = put(tmp_path / "l.csv", pd.DataFrame({"id": [0, 1, 2, 3], "class": ["2", "1", None, "x"]}))
    read = read_inputs(scores, {"v": scores}, labels, task="classification")
    assert read.score_columns == ("1", "2", "x")
    assert list(read.labels.index) == [0, 1, 3]
    assert list(read.labels.values) == ["2", "1", "x"]
    numbered = put(tmp_path / "n.csv", pd.DataFrame({"id": [0, 1, 2], "class": [2, None, 1]}))
    read = read_inputs(scores, {"v": scores}, numbered, task="classification")
    assert list(make_problem(read.predictions, read.features, read.labels, "classification").labels.values) == [1, 0]
    some = read_inputs(scores, {}, score=["1", "x"], task="classification")
    assert list(some.predictions.columns) == ["1", "x"]


# Two sets of features


def test_two_sets_of_features_in_one_order(tmp_path, frame):
    x = put(tmp_path / "x.csv", frame[["id", "a"]])
    y = put(tmp_path / "y.parquet", frame[["id", "b"]].iloc[::-1])
    both = read_two(x, y)
    assert both.id_column == "id"
    np.testing.assert_array_equal(both.x["a"], frame["a"])
    np.testing.assert_array_equal(both.y["b"], frame["b"])
    np.save(tmp_path / "z.npy", frame["b"])
    both = read_two(tmp_path / "z.npy", x)
    np.testing.assert_array_equal(both.x, frame["b"])
    np.testing.assert_array_equal(both.y["a"], frame["a"])
    assert read_two(tmp_path / "z.npy", tmp_path / "z.npy").id_column is None
    with pytest.raises(InputError, match="have no columns"):
        read_two(tmp_path / "z.npy", tmp_path / "z.npy", "id")


# Which table is at fault


def renamed(path, **names):
    return put(path, read_table(path).rename(columns=names))


@pytest.mark.parametrize("id_column", [None, "image"])
@pytest.mark.parametrize("with_features", [True, False])
def test_labels_with_another_id_column_are_named(tmp_path, frame, id_column, with_features):
    scores, features, labels = split_files(tmp_path, frame)
    for path in (scores, features):
        renamed(path, id="image")
    renamed(labels, id="photo")
    views = {"v": features} if with_features else {}
    with pytest.raises(InputError, match=r"labels \(.*\): has no column 'image', .* but 'photo', "):
        read_inputs(scores, views, labels, id_column)


def test_labels_in_row_order_are_not_mistaken_when_ids_stand_beside_them(tmp_path, frame):
    scores = put(tmp_path / "s.csv", frame[["id", "a"]])
    table = frame[["id", "b"]].rename(columns={"id": "photo"}).iloc[::-1]
    labels = put(tmp_path / "l.csv", table)
    with pytest.raises(InputError, match=r"labels \(.*\): has no column 'id'"):
        read_inputs(scores, {}, labels, "id", label="b")
    read = read_inputs(scores, {}, put(labels, frame[["b"]].assign(note="x")), "id", label="b")
    np.testing.assert_array_equal(read.labels.astype(float), frame["b"])


def test_text_columns_are_no_scores(tmp_path, frame):
    table = frame[["id", "a"]].assign(title="A title", day="2020-01-01")
    features = put(tmp_path / "f.csv", frame[["id", "b"]])
    read = read_inputs(put(tmp_path / "s.csv", table), {"v": features})
    assert read.score_columns == ("a",)
    dated = table.assign(day=pd.Timestamp("2020-01-01"))
    assert read_inputs(put(tmp_path / "s.parquet", dated), {"v": features}).score_columns == ("a",)
    with pytest.raises(InputError, match="has no column of numbers beside the ids 'id'"):
        read_inputs(put(tmp_path / "t.csv", table.drop(columns="a")), {"v": features})


def test_a_slip_makes_no_text_of_a_class(tmp_path, frame):
    table = frame[["id", "a", "b"]].astype({"b": object})
    table.loc[4, "b"] = "-"
    read = read_inputs(put(tmp_path / "s.csv", table), {"v": tmp_path / "s.csv"}, task="classification")
    assert read.score_columns == ("a", "b")
    with pytest.raises(InputError, match=r"1 value\(s\) are NaN or infinite \(first at item 4\)"):
        make_problem(read.predictions, np.ones((N, 1)), task="classification")
