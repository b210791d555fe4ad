"""The demonstration, on few digits: honest figures, and files that repeat it."""

import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner

import tupi
from tupi.cli import tupi as command
from tupi.inputs.files import read_table
from tupi.research.datasets import Dataset, load_digits
from tupi.research.demo import N_TRAINING, N_TUNING, SEED, run_demo


@pytest.fixture(scope="module")
def few_digits():
    """Return three views of 400 digits, of which 150 remain to judge."""
    digits = load_digits("fou")
    return Dataset(
        name="few digits",
        views={name: digits.views[name][:400] for name in ("fou", "kar", "pro")},
        targets={"digit": digits.targets["digit"][:400]},
        baseline=("fou",),
        note="",
        real=False,
    )


@pytest.fixture(scope="module")
def parts():
    return []


@pytest.fixture(scope="module")
def demo(few_digits, tmp_path_factory, parts):
    return run_demo(tmp_path_factory.mktemp("demo") / "new" / "folder", data=few_digits, part=parts.append)


def test_each_view_takes_its_turn(demo, few_digits, parts):
    """The files are a part of their own: the bar said of the report that the last view was at work."""
    assert parts == [*few_digits.views, "files"]
    assert [trial.view for trial in demo.trials] == list(few_digits.views)
    for trial in demo.trials:
        assert trial.view not in trial.result.dependence.index
        assert len(trial.result.dependence) == 2


def test_accuracy_is_that_of_labels_that_nobody_used(demo, few_digits):
    judging = np.random.default_rng(SEED).permutation(400)[N_TRAINING + N_TUNING :]
    truth = few_digits.targets["digit"][judging]
    for trial in demo.trials:
        assert trial.before == tupi.pairwise_accuracy(trial.result.initial[judging], truth)
        assert trial.after == tupi.pairwise_accuracy(trial.result.predictions[judging], truth)
        assert trial.before > 0.6  # the ranker learned something
    assert demo.n_judging == len(judging) == 150


def test_the_files(demo):
    table = read_table(demo.files["accuracy"])
    np.testing.assert_array_equal(table["after"], demo.table["after"])
    shown = demo.trials[0].result
    np.testing.assert_array_equal(tupi.load(demo.files["result"]).predictions, shown.predictions)
    np.testing.assert_array_equal(read_table(demo.files["predictions"])["prediction"], shown.predictions)
    assert demo.files["report"].stat().st_size > 10_000


def test_the_printed_command_repeats_it(demo):
    words = shlex.split(demo.command)
    assert words[0] == "tupi"
    outcome = CliRunner().invoke(command, [*words[1:], "--quiet"])
    assert outcome.exit_code == 0, outcome.stderr
    again = read_table(words[words.index("--out") + 1])
    np.testing.assert_array_equal(again["prediction"], demo.trials[0].result.predictions)


def test_the_command_prints_the_table(demo, monkeypatch):
    monkeypatch.setattr("tupi.research.demo.run_demo", lambda *args: demo)
    outcome = CliRunner().invoke(command, ["demo"])
    assert outcome.exit_code == 0, outcome.stderr
    for words in ("fou", "kar", "pro", "mean", "150 items", f"{100 * demo.trials[1].after:.1f}%", demo.command):
        assert words in outcome.stdout
    for words in ("3 weak rankers sorted 400 pictures", "tossing a coin gets 50%", f"Open {demo.files['report']} in a"):
        assert words in outcome.stdout
    assert CliRunner().invoke(command, ["demo", "--quiet"]).output == ""


def test_the_command_as_json(few_digits, tmp_path, monkeypatch):
    monkeypatch.setattr("tupi.research.demo.load_digits", lambda baseline: few_digits)
    outcome = CliRunner().invoke(command, ["demo", "--out", str(tmp_path / "out"), "--no-report", "--json"])
    assert outcome.exit_code == 0, outcome.stderr
    assert not (tmp_path / "out" / "report.html").exists()
    facts = json.loads(outcome.stdout)
    assert set(facts["accuracy"]) == {"fou", "kar", "pro"}
    assert set(facts["accuracy"]["fou"]) == {"before", "after", "gain"}
    assert facts["n_judging"] == 150


@pytest.mark.slow
def test_the_whole_demonstration_gains(tmp_path):
    table = run_demo(tmp_path, report=False).table.set_index("view")
    assert len(table) == 6
    assert table["gain"].mean() > 0.01
    assert table["gain"].min() > -0.01
