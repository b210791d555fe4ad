"""Queries from files: a column of groups, and LETOR files."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tests.methods.test_groups import known, queries
from tupi.cli import tupi as command
from tupi.inputs.files import read_inputs
from tupi.inputs.files.reading import read


def run(*arguments):
    return CliRunner().invoke(command, [str(one) for one in arguments])


@pytest.fixture
def folder(tmp_path):
    """Write scores with their query, and a LETOR file of one view with the truth as its grades."""
    groups, truth, scores, views = queries()
    names = [f"q{k}" for k in groups]
    pd.DataFrame({"query": names, "score": scores}).to_csv(tmp_path / "scores.csv", index=False)
    lines = (
        f"{grade:.17g} qid:{name} 1:{a:.17g} 3:{b:.17g} # doc\n"
        for grade, name, (a, b) in zip(truth, names, views["near"], strict=True)
    )
    (tmp_path / "letor.txt").write_text("# results\n" + "".join(lines))
    labels = known(groups, truth)
    some = np.full(len(truth), np.nan)
    some[labels.index] = labels.values
    pd.DataFrame({"grade": some}).to_csv(tmp_path / "judged.csv", index=False)
    return tmp_path


def test_groups_of_a_column_and_of_a_letor_file_are_those_of_python(folder):
    groups, truth, scores, views = queries()
    near = np.insert(views["near"], 1, 0.0, axis=1)
    expected = tupi.denoise(scores, {"near": near}, known(groups, truth), groups=groups)
    for more in (["--group", "query"], []):  # without it, the queries are those of the LETOR file
        sources = [folder / "scores.csv", "--score", "score", "--features", f"near={folder / 'letor.txt'}"]
        found = run("denoise", *sources, "--labels", folder / "judged.csv", *more, "--out", folder / "o.csv", "--json")
        assert found.exit_code == 0, found.output
        table = pd.read_csv(folder / "o.csv")
        np.testing.assert_allclose(table["prediction"], expected.predictions, rtol=1e-9)
        assert table["group"].tolist() == [f"q{k}" for k in groups]
        assert "within groups" in json.loads(found.stdout)["evidence"]["sentence"]


def test_relevance_is_no_feature_and_is_the_label(folder):
    groups, truth, _, _ = queries()
    letor = str(folder / "letor.txt")
    inputs = read_inputs(folder / "scores.csv", {"near": letor}, letor, group="query")
    assert list(inputs.features["near"].columns) == ["1", "2", "3"]
    np.testing.assert_array_equal(inputs.labels.astype(float), truth)
    assert inputs.groups.tolist() == [f"q{k}" for k in groups]
    assert "groups from 'query'" in inputs.sentence


def test_groups_may_be_in_the_features_and_are_matched_by_id(tmp_path):
    pd.DataFrame({"id": list("abcd"), "score": [1, 2, 3, 4]}).to_csv(tmp_path / "s.csv", index=False)
    table = pd.DataFrame({"id": list("dcba"), "query": ["y", "y", "x", "x"], "size": [1, 5, 2, 0]})
    table.to_csv(tmp_path / "f.csv", index=False)
    inputs = read_inputs(tmp_path / "s.csv", {"f": tmp_path / "f.csv"}, group="query")
    assert inputs.groups.tolist() == ["x", "x", "y", "y"]
    assert list(inputs.features["f"].columns) == ["size"]


def test_a_broken_line_of_a_letor_file_is_named(tmp_path):
    (tmp_path / "l.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:half\n")
    with pytest.raises(tupi.InputError, match=r"line 2 is not one of a LETOR file; accepted: .*2 qid:10"):
        read(tmp_path / "l.txt")


def test_an_unknown_column_of_groups_is_a_sentence(folder):
    arguments = [folder / "scores.csv", "--features", f"near={folder / 'letor.txt'}", "--out", folder / "o.csv"]
    found = run("denoise", *arguments, "--group", "querry")
    assert found.exit_code == 2
    assert "has no column 'querry'" in found.output
    assert "query" in found.output


def test_comparisons_in_a_file_may_be_tied_and_have_weights(tmp_path):
    pd.DataFrame({"id": list("abcd"), "score": [1, 2, 3, 4]}).to_csv(tmp_path / "s.csv", index=False)
    pd.DataFrame({"id": list("abcd"), "size": [1, 5, 2, 0]}).to_csv(tmp_path / "f.csv", index=False)
    answers = pd.DataFrame(
        {"higher": list("azc"), "lower": list("bab"), "weight": [2, 9, 3], "tied": [False, True, True]}
    )
    answers.to_csv(tmp_path / "l.csv", index=False)
    with pytest.warns(UserWarning, match="left out"):
        labels = read_inputs(tmp_path / "s.csv", {"f": tmp_path / "f.csv"}, tmp_path / "l.csv").labels
    assert labels.higher.tolist() == [0, 2]
    assert labels.weights.tolist() == [2, 3]
    assert labels.tied.tolist() == [False, True]
