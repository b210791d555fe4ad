"""Class labels mean the columns' names where there are names, from Python, from files and after loading."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tupi.cli import tupi as command
from tupi.inputs.classes import class_numbers
from tupi.inputs.files import read_inputs
from tupi.inputs.problem import make_problem

N = 200
RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 5, N)
WIDE = np.eye(5)[CLASSES] + 0.6 * RNG.normal(size=(N, 5))
SHARES = np.exp(np.eye(5)[CLASSES] * 1.2 + 0.9 * RNG.normal(size=(N, 5)))
SHARES /= SHARES.sum(axis=1, keepdims=True)
STARS = pd.DataFrame(SHARES, columns=[1, 2, 3, 4, 5])


def numbers_of(labels, predictions=STARS):
    return list(make_problem(predictions, WIDE, labels, "classification").labels.values)


@pytest.mark.parametrize(
    "convert", [int, float, str, np.int64, lambda k: f"{k}.0"], ids=["int", "float", "str", "numpy", "text of a float"]
)
@pytest.mark.parametrize("names", [[1, 2, 3, 4, 5], list("12345"), [1.0, 2.0, 3.0, 4.0, 5.0]], ids=str)
def test_whole_numbers_match_however_they_are_written(convert, names):
    stars = STARS.set_axis(names, axis=1)
    values = [convert(k + 1) for k in CLASSES[:40]]
    assert numbers_of(tupi.Values(range(40), values), stars) == list(CLASSES[:40])
    everyone = pd.Series([*values, *[None] * (N - 40)], dtype=object)
    assert numbers_of(everyone, stars) == list(CLASSES[:40])


def test_named_stars_are_not_positions():
    """Predictions with columns 1 to 5 and labels 1 to 4 lost 50 points of accuracy while they spoke of a gain."""
    ids = [f"i{k}" for k in range(N)]
    known = pd.Series(CLASSES[:80] + 1, index=ids[:80])
    known = known[known < 5]
    stars, views = STARS.set_axis(ids, axis=0), {"w": pd.DataFrame(WIDE, index=ids)}
    result = tupi.denoise(stars, views, labels=known, task="classification")
    before, after = (np.mean(scores.argmax(axis=1) == CLASSES) for scores in (SHARES, result.predictions))
    assert after > before
    judged = np.flatnonzero(CLASSES[:80] < 4)
    assert result.evidence.before == pytest.approx(np.mean(SHARES[judged].argmax(axis=1) == CLASSES[judged]))


def test_a_class_that_is_no_name_lists_the_names():
    with pytest.raises(tupi.InputError, match="labels: found class 6; accepted: 1, 2, 3, 4, 5"):
        numbers_of(tupi.Values([0, 1], [5, 6]))
    with pytest.raises(tupi.InputError, match="labels: found class 0; accepted: a, b, c, d, e"):
        numbers_of(tupi.Values([0, 1], [0, 1]), STARS.set_axis(list("abcde"), axis=1))


def test_without_names_labels_are_positions():
    assert numbers_of(tupi.Values([0, 1], [1, 4]), SHARES) == [1, 4]
    assert numbers_of(tupi.Values([0, 1], [1, 4]), pd.DataFrame(SHARES)) == [1, 4]
    for two in (SHARES[:, :2], pd.DataFrame(SHARES[:, :2])):
        assert numbers_of(tupi.Values([0, 1], [True, False]), two) == [1, 0]
    with pytest.raises(tupi.InputError, match="found class 5; accepted: column numbers 0 to 4"):
        numbers_of(tupi.Values([0, 1], [1, 5]), SHARES)
    with pytest.raises(tupi.InputError, match="found class 'a'; accepted: column numbers 0 to 4"):
        numbers_of(tupi.Values([0, 1], ["a", "b"]), SHARES)


def test_the_same_object_wins_over_the_same_text():
    names = ["7", "007", "x"]
    assert list(class_numbers(np.array(["007", "7", "x"]), 3, names)) == [1, 0, 2]
    assert list(class_numbers(np.array([7, 7]), 3, names)) == [0, 0]
    with pytest.raises(tupi.InputError, match=r"found class '7\.0', which more than one column could mean"):
        class_numbers(np.array(["7.0"]), 3, names)


@pytest.mark.parametrize("names", [["1", 1, 2, 3, 4], ["a", "a", "b", "c", "d"]], ids=str)
def test_columns_that_labels_cannot_tell_apart_are_refused(names):
    with pytest.raises(tupi.InputError, match=f"predictions: two columns are called '{names[0]}' as text"):
        numbers_of(None, STARS.set_axis(names, axis=1))


def test_the_command_line_means_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ids = np.arange(N)
    STARS.assign(id=ids).to_csv("scores.csv", index=False)
    pd.DataFrame(WIDE).assign(id=ids).to_csv("wide.csv", index=False)
    values = pd.Series(CLASSES[:40] + 1)
    tables = {"whole": values, "gaps": values.where(values != 3), "float": values.astype(float).map("{:.1f}".format)}
    for name, column in tables.items():
        pd.DataFrame({"id": ids[:40], "stars": column}).to_csv(f"{name}.csv", index=False)
        pd.DataFrame({"id": ids[:40], "stars": column}).to_parquet(f"{name}.parquet", index=False)
        for suffix in ("csv", "parquet"):
            read = read_inputs("scores.csv", {"w": "wide.csv"}, f"{name}.{suffix}", task="classification")
            found = make_problem(read.predictions, read.features, read.labels, "classification").labels
            kept = np.flatnonzero(column.notna())
            assert list(found.index) == list(kept)
            assert list(found.values) == list(CLASSES[kept])
    np.save("labels.npy", np.r_[CLASSES[:40] + 1.0, np.full(N - 40, np.nan)])
    read = read_inputs("scores.csv", {"w": "wide.csv"}, "labels.npy", task="classification")
    assert numbers_of(read.labels, read.predictions) == list(CLASSES[:40])
    pd.DataFrame({"id": ids[:2], "stars": [5, 6]}).to_csv("six.csv", index=False)
    words = "denoise scores.csv --features w=wide.csv --labels six.csv --task classification --out out.csv"
    outcome = CliRunner().invoke(command, words.split())
    assert outcome.exit_code == 2
    assert "found class '6'; accepted: 1, 2, 3, 4, 5." in outcome.stderr


def test_a_class_called_na_is_a_class(tmp_path):
    pd.DataFrame(SHARES[:, :2], columns=["NA", "EU"]).assign(id=range(N)).to_csv(tmp_path / "s.csv", index=False)
    (tmp_path / "l.csv").write_text("id,region\n0,NA\n1,EU\n2,\n")
    read = read_inputs(tmp_path / "s.csv", {}, tmp_path / "l.csv", task="classification")
    assert numbers_of(read.labels, read.predictions) == [0, 1]


@pytest.mark.parametrize("names", [[1, 2, 3, 4, 5], list("abcde"), [0, "b", 2.5, "d", 7]], ids=str)
def test_saved_results_keep_the_names(tmp_path, names):
    stars = STARS.set_axis(names, axis=1)
    result = tupi.denoise(stars, WIDE, task="classification", method="tupi", n_iter=1)
    loaded = tupi.load(result.save(tmp_path / "r.npz"))
    assert loaded.classes == result.classes == tuple(names)
    assert [type(name) for name in loaded.classes] == [type(name) for name in names]
    again = pd.DataFrame(loaded.predictions, columns=list(loaded.classes))
    known = tupi.Values(range(5), names)
    assert numbers_of(known, again) == numbers_of(known, stars) == [0, 1, 2, 3, 4]
