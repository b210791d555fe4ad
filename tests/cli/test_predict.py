"""`tupi predict`: new items from files, as from Python."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tests.conftest import make_problem_arrays
from tupi.cli import tupi as command

SEEN = 80


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a saved run, and files of items that came later."""
    path = tmp_path_factory.mktemp("predict")
    truth, scores, views = make_problem_arrays()
    ids = [f"item{k:03d}" for k in range(len(truth))]
    kind = np.where(truth > 0, "high", "low")
    for day, rows in (("monday", slice(0, SEEN)), ("tuesday", slice(SEEN, None))):
        pd.DataFrame({"id": ids[rows], "score": scores[rows]}).to_csv(path / f"{day}.csv", index=False)
        near = pd.DataFrame(views["near"][rows], columns=["p", "q"]).assign(kind=kind[rows], id=ids[rows])
        near.sample(frac=1, random_state=0).to_csv(path / f"{day}_near.csv", index=False)
        np.save(path / f"{day}_bent.npy", views["bent"][rows])
    pd.DataFrame({"id": ids, "truth": truth}).iloc[:30].to_csv(path / "labels.csv", index=False)
    made = run(
        *("denoise", path / "monday.csv", "--features", f"near={path / 'monday_near.csv'}", "--quiet"),
        *("--features", f"bent={path / 'monday_bent.npy'}", "--labels", path / "labels.csv"),
        *("--out", path / "better.csv", "--save", path / "run.npz"),
    )
    assert made.exit_code == 0, made.output
    return path


def test_new_items_from_files_are_those_from_python(folder):
    views = ["--features", f"near={folder / 'tuesday_near.csv'}", "--features", f"bent={folder / 'tuesday_bent.npy'}"]
    done = run("predict", folder / "run.npz", folder / "tuesday.csv", *views, "--out", folder / "new.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("40 new items")
    written = pd.read_csv(folder / "new.csv", index_col="id")
    assert list(written.columns) == ["initial", "prediction", "familiar"]
    scores = pd.read_csv(folder / "tuesday.csv", index_col="id")["score"]
    near = pd.read_csv(folder / "tuesday_near.csv", index_col="id")
    expected = tupi.load(folder / "run.npz").predict(
        scores, {"near": near, "bent": np.load(folder / "tuesday_bent.npy")}
    )
    pd.testing.assert_series_equal(written["prediction"], expected, check_names=False, rtol=1e-9)
    assert not np.allclose(expected, scores)


def test_items_without_views_keep_their_scores(folder):
    told = run("predict", folder / "run.npz", folder / "tuesday.csv", "--out", folder / "own.csv", "--json")
    assert json.loads(told.stdout)["unfamiliar"] == 40
    written = pd.read_csv(folder / "own.csv")
    np.testing.assert_array_equal(written["prediction"], written["initial"])


@pytest.mark.parametrize(("n", "said"), [(1, ["1 new item went", "is unlike", "keeps"]), (2, ["2 new items", "keep "])])
def test_one_item_is_spoken_of_as_one(folder, n, said):
    pd.read_csv(folder / "tuesday.csv").head(n).to_csv(folder / "few.csv", index=False)
    told = run("predict", folder / "run.npz", folder / "few.csv", "--out", folder / "few_own.csv").stdout
    assert all(words in told for words in said)


def test_what_is_wrong_gets_one_line(folder):
    start = ("predict", folder / "run.npz", folder / "tuesday.csv")
    for words, said in (
        ((*start, "--out", folder / "run.npz"), "is one of the input files"),
        ((*start, "--features", f"far={folder / 'tuesday_bent.npy'}", "--out", folder / "x.csv"), "found a view 'far'"),
        (("predict", folder / "none.npz", folder / "tuesday.csv", "--out", folder / "x.csv"), "there is no file"),
    ):
        failed = run(*words)
        assert failed.exit_code == 2
        assert failed.stderr.count("\n") == 1
        assert said in failed.stderr
        assert not failed.stderr.endswith("..\n")


def test_the_time_that_many_items_take_is_told_beforehand(folder, monkeypatch):
    """Some of the items are tried, and what all of them become is the same."""
    said = []
    monkeypatch.setattr("tupi.cli.predict.MANY", 10)
    monkeypatch.setattr("tupi.cli.predict.TRIED", 20)
    monkeypatch.setattr("tupi.cli.progress.ProgressBar.expect", lambda self, *words: said.append(words))
    views = ["--features", f"near={folder / 'tuesday_near.csv'}", "--features", f"bent={folder / 'tuesday_bent.npy'}"]
    done = run("predict", folder / "run.npz", folder / "tuesday.csv", *views, "--out", folder / "timed.csv")
    assert done.exit_code == 0, done.output
    (sentence, seconds), written = said
    assert sentence == "Predicting 40 items"
    assert 0 < seconds < 60
    assert written == ("Writing", 0.0)
    assert (folder / "timed.csv").read_text() == (folder / "new.csv").read_text()
