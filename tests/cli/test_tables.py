"""The command line and tables as people have them: columns chosen, duplicates, one file for all."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tests.conftest import make_problem_arrays
from tupi.cli import tupi as command
from tupi.inputs.files import read_inputs, read_table

TRUTH, SCORES, VIEWS = make_problem_arrays()
N = len(TRUTH)
QUICK = ["--method", "tupi", "--set", "n_iter=2", "--set", "lam=0.3", "--set", "sigma_w2=0.1"]


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def failed(*words):
    outcome = run(*words)
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stderr.startswith("tupi: ")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


@pytest.fixture
def folder(tmp_path, monkeypatch):
    ids = [f"item{k:03d}" for k in range(N)]
    rooms = pd.DataFrame(
        {
            "id": ids,
            "size": [f"{value:.3f}".replace(".", ",") for value in TRUTH],
            "city": [("Bern", "Basel", "Zürich")[k % 3] for k in range(N)],
            "noise": VIEWS["junk"][:, 0],
        }
    )
    rooms.to_csv(tmp_path / "rooms.csv", sep=";", index=False, encoding="cp1252")
    pd.DataFrame({"id": ids, "score": SCORES}).to_csv(tmp_path / "scores.csv", index=False)
    everything = rooms.drop(columns="id").assign(score=SCORES, truth=np.where(np.arange(N) < 30, TRUTH, np.nan))
    everything.to_csv(tmp_path / "all.csv.gz", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_was_understood_is_said(folder):
    words = ("denoise", "scores.csv", "--features", "rooms=rooms.csv", *QUICK, "--out", "b.csv")
    short = run(*words)
    assert "Columns of view rooms by kind: 2 numbers, 1 category (--verbose lists them)." in short.stdout
    outcome = run(*words, "--verbose")
    understood = f"rooms.csv: {N} rows, 4 columns, separated by semicolons, Latin-1 (Windows-1252)."
    assert understood in outcome.stderr
    assert f"scores.csv: {N} rows" in outcome.stderr
    assert understood in short.stderr, "a guess that may be wrong is always said"
    assert "scores.csv" not in short.stderr
    assert "What became of each column" in outcome.stdout
    facts = json.loads(run(*words, "--json").stdout)
    assert [column["kind"] for column in facts["columns"]] == ["number", "category", "number"]
    assert len(facts["read"]) == 2


def test_columns_are_chosen(folder):
    words = ("denoise", "scores.csv", "--features", "rooms=rooms.csv", *QUICK, "--out", "b.csv", "--json")
    for options, left in (
        (["--columns", "rooms=size,city"], ["size", "city"]),
        (["--columns", "size, city"], ["size", "city"]),
        (["--drop", "rooms=noise"], ["size", "city"]),
        (["--columns", "rooms=size", "--columns", "city,noise", "--drop", "noise"], ["size", "city"]),
    ):
        facts = json.loads(run(*words, *options).stdout)
        assert [column["column"] for column in facts["columns"]] == left
    assert "--columns: features rooms (rooms.csv) has no column 'sise'" in failed(*words, "--columns", "rooms=sise")
    assert "no view has a column 'nose'" in failed(*words, "--drop", "nose")
    assert "Did you mean 'noise'" in failed(*words, "--drop", "nose")
    assert "leaves no column" in failed(*words, "--drop", "rooms=size,city,noise")
    assert "found 'rooms='" in failed(*words, "--drop", "rooms=")


def test_one_file_may_hold_everything(folder):
    words = ("--features", "rooms=all.csv.gz", "--labels", "all.csv.gz", "--score", "score", "--label", "truth")
    outcome = run("denoise", "all.csv.gz", *words, *QUICK, "--out", "b.csv", "--json")
    assert outcome.exit_code == 0, outcome.output
    facts = json.loads(outcome.stdout)
    assert facts["matched_by_order"] == []
    read = read_inputs("all.csv.gz", {"rooms": "all.csv.gz"}, "all.csv.gz", score=["score"], label="truth")
    assert list(read.features["rooms"].columns) == ["size", "city", "noise"]  # neither the score nor the label
    assert read.left_out == ("score", "truth")
    assert "no features: 'score', 'truth'" in read.sentence
    expected = tupi.denoise(
        SCORES,
        {"rooms": read.features["rooms"]},
        np.where(np.arange(N) < 30, TRUTH, np.nan),
        method="tupi",
        n_iter=2,
        lam=0.3,
        sigma_w2=0.1,
    )
    np.testing.assert_array_equal(read_table("b.csv")["prediction"], expected.predictions)


@pytest.mark.parametrize("how", ["mean", "first", "last"])
def test_duplicates(folder, how):
    frame = pd.DataFrame({"id": [f"item{k:03d}" for k in range(N)], "x": TRUTH, "city": "a"})
    extra = frame.iloc[:2].assign(x=100.0, city="b")
    pd.concat([frame, extra]).to_csv("twice.csv", index=False)
    words = ("denoise", "scores.csv", "--features", "v=twice.csv", *QUICK, "--out", "b.csv")
    assert "2 id(s) in column 'id' occur more than once (first: item000, item001)" in failed(*words)
    assert "--duplicates mean" in failed(*words)
    assert run(*words, "--duplicates", how).exit_code == 0
    read = read_inputs("scores.csv", {"v": "twice.csv"}, duplicates=how)
    expected = {"mean": (TRUTH[0] + 100) / 2, "first": TRUTH[0], "last": 100.0}[how]
    assert read.features["v"]["x"].iloc[0] == pytest.approx(expected)
    assert read.features["v"]["city"].iloc[0] == ("b" if how == "last" else "a")
    np.testing.assert_allclose(read.features["v"]["x"].iloc[2:], TRUTH[2:])


def test_leading_zeros_get_a_hint(folder):
    pd.DataFrame({"id": [f"{k:05d}" for k in range(N)], "score": SCORES}).to_csv("scores.csv", index=False)
    pd.DataFrame({"id": range(1, N + 1), "x": TRUTH}).to_csv("v.csv", index=False)
    line = failed("denoise", "scores.csv", "--features", "v=v.csv", *QUICK, "--out", "b.csv")
    assert "'1' and '00001' differ only by leading zeros" in line


def test_hsic_has_the_same_options(folder):
    words = ("hsic", "scores.csv", "rooms.csv", "--normalized")
    value = float(run(*words, "--columns", "y=size").stdout)
    assert value == pytest.approx(tupi.hsic(SCORES, np.round(TRUTH, 3), normalized=True), rel=1e-6)
    assert float(run(*words, "--drop", "size,city").stdout) < value
    outcome = run(*words, "--verbose")
    assert "rooms.csv: 120 rows, 4 columns, separated by semicolons" in outcome.stderr
    assert "no view has a column 'sise'" in failed(*words, "--columns", "sise")
    np.save("x.npy", SCORES)
    assert "arrays have no columns" in failed("hsic", "x.npy", "x.npy", "--columns", "size")


def test_scores_and_labels_may_be_text(folder):
    shown = [f"{100 * value:.2f}%" for value in 1 / (1 + np.exp(-SCORES))]
    pd.DataFrame({"id": [f"item{k:03d}" for k in range(N)], "score": shown}).to_csv("scores.csv", index=False)
    values = [f"{value:.2f}".replace(".", ",") if k % 5 else "unknown" for k, value in enumerate(TRUTH[:30])]
    pd.DataFrame({"id": [f"item{k:03d}" for k in range(30)], "value": values}).to_csv(
        "labels.csv", sep=";", index=False
    )
    read = read_inputs("scores.csv", {"rooms": "rooms.csv"}, "labels.csv")
    np.testing.assert_allclose(read.predictions, 1 / (1 + np.exp(-SCORES)), atol=0.0001)
    assert list(read.labels.index) == [k for k in range(30) if k % 5]
    np.testing.assert_allclose(read.labels.values.astype(float), TRUTH[read.labels.index], atol=0.0051)


def test_a_cluster_refuses_what_it_does_not_do(folder):
    line = failed(
        "denoise", "scores.csv", "--features", "v=rooms.csv", "--drop", "city", "--scheduler", "local", "--out", "o"
    )
    assert "--columns, --drop, --duplicates, --group: found with --scheduler" in line


def test_raters_and_weights_are_columns_of_the_labels(folder):
    ids = [f"item{k:03d}" for k in range(30) for _ in range(2)]
    said = np.repeat(TRUTH[:30], 2) + np.tile([0.0, 1.0], 30)
    pd.DataFrame({"id": ids, "value": said, "rater": ["ann", "bob"] * 30}).to_csv("said.csv", index=False)
    words = ("denoise", "scores.csv", "--features", "rooms=rooms.csv", "--out", "b.csv", "--json")
    facts = json.loads(run(*words, "--labels", "said.csv").stdout)
    assert facts["agreement"] == [{"rater": "ann", "other": "bob", "common": 30, "agree": 1.0}]
    assert facts["raters"]["bob"]["answers"] == 30
    inputs = read_inputs("scores.csv", {"rooms": "rooms.csv"}, "said.csv")
    assert inputs.labels.raters.tolist() == ["ann", "bob"] * 30
    pd.DataFrame({"id": ids[::2], "value": said[::2], "weight": 2.0}).to_csv("weighed.csv", index=False)
    assert read_inputs("scores.csv", {"rooms": "rooms.csv"}, "weighed.csv").labels.weights.tolist() == [2.0] * 30
    # Where a table has more, a weight may be anything.
    pd.DataFrame({"id": ids[::2], "value": said[::2], "weight": 2.0, "size": 1.0}).to_csv("more.csv", index=False)
    assert read_inputs("scores.csv", {"rooms": "rooms.csv"}, "more.csv", label="value").labels.weights is None
    pd.DataFrame({"id": ids[::2], "weight": said[::2]}).to_csv("heavy.csv", index=False)
    np.testing.assert_allclose(
        read_inputs("scores.csv", {"rooms": "rooms.csv"}, "heavy.csv").labels.values.astype(float), said[::2]
    )


def test_comparisons_beside_values(folder):
    order = np.argsort(TRUTH[30:60]) + 30
    rows = {"higher": order[15:], "lower": order[:15]}
    frame = pd.DataFrame({side: [f"item{k:03d}" for k in items] for side, items in rows.items()})
    frame.assign(rater="ann").to_csv("pairs.csv", index=False)
    pd.DataFrame({"id": [f"item{k:03d}" for k in range(30)], "value": TRUTH[:30]}).to_csv("values.csv", index=False)
    words = ("denoise", "scores.csv", "--features", "rooms=rooms.csv", "--out", "b.csv")
    outcome = run(*words, "--labels", "values.csv", "--pairs", "pairs.csv", "--json")
    facts = json.loads(outcome.stdout)
    assert "Values and comparisons were given together" in facts["notes"][0]
    assert facts["raters"]["ann"]["answers"] == 15
    assert json.loads(run(*words, "--pairs", "pairs.csv", "--json").stdout)["raters"]["ann"]["answers"] == 15
    assert isinstance(read_inputs("scores.csv", {"rooms": "rooms.csv"}, pairs="pairs.csv").labels, tupi.Pairs)
    by_row = np.where(np.arange(len(TRUTH)) < 30, TRUTH, np.nan)
    np.save("values.npy", by_row)
    values, _ = read_inputs("scores.csv", {"rooms": "rooms.csv"}, "values.npy", pairs="pairs.csv").labels
    np.testing.assert_array_equal(values.values, TRUTH[:30])
    pd.DataFrame({"value": by_row, "weight": 1.0}).to_csv("no_ids.csv", index=False)
    np.save("scores.npy", SCORES)
    np.save("view.npy", VIEWS["junk"])
    assert read_inputs("scores.npy", {"view": "view.npy"}).sentence == "Matched by row order: view."
    with pytest.raises(tupi.InputError, match="and no ids; accepted: a column of ids beside those of values"):
        read_inputs("scores.npy", {"view": "view.npy"}, "no_ids.csv")
    said = failed(*words, "--pairs", "values.csv")
    assert "--pairs: values.csv holds no comparisons; accepted: columns, or arrays, 'higher' and 'lower'" in said
