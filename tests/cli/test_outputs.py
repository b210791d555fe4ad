"""Where output goes and what is printed: refused before anything is computed, whole, and harmless to a terminal."""

import json
import os
import stat

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tests.conftest import make_problem_arrays
from tupi.cli import tupi as command
from tupi.cli.progress import ProgressBar
from tupi.cli.showing import shown
from tupi.inputs.files import read_table
from tupi.results.writing import write_result, write_table

_, SCORES, VIEWS = make_problem_arrays(20)
IDS = [f"item{k}" for k in range(20)]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs ``tupi denoise`` on twenty items and some more words."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": IDS, "score": SCORES}).to_csv("scores.csv", index=False)
    pd.DataFrame(VIEWS["near"]).assign(id=IDS).to_csv("near.csv", index=False)

    def call(*words, view="near"):
        return CliRunner().invoke(command, ["denoise", "scores.csv", "--features", f"{view}=near.csv", *words])

    return call


@pytest.fixture
def never(monkeypatch):
    """Fail if anything is computed."""

    def denoise(*_, **__):
        raise AssertionError("computed before the output was checked")

    monkeypatch.setattr(tupi, "denoise", denoise)


def refused(outcome):
    assert outcome.exit_code == 2, (outcome.output, outcome.exception)
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


def test_a_link_stays_one_and_leads_to_what_was_written(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name in ("better.csv", "better.npy", "report.html", "run.npz"):
        (tmp_path / name).symlink_to(tmp_path / "elsewhere" / name)
    assert run("--out", "better.csv", "--report", "report.html", "--save", "run.npz").exit_code == 0
    assert run("--out", "better.npy").exit_code == 0
    for name in ("better.csv", "better.npy", "report.html", "run.npz"):
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "elsewhere" / name).stat().st_size


@pytest.mark.usefixtures("never")
def test_a_read_only_file_is_not_replaced(run, tmp_path):
    kept = tmp_path / "kept.csv"
    kept.write_text("precious")
    kept.chmod(stat.S_IRUSR)
    assert "kept.csv is read-only" in refused(run("--out", "kept.csv"))
    (tmp_path / "link.csv").symlink_to(kept)
    assert "kept.csv is read-only" in refused(run("--out", "link.csv"))
    assert kept.read_text() == "precious"


@pytest.mark.usefixtures("never")
def test_links_in_a_circle(run, tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert "a.csv: its links lead in a circle" in refused(run("--out", "a.csv"))
    words = ["denoise", "a.csv", "--features", "near=near.csv", "--out", "c.csv"]
    assert "a.csv: its links lead in a circle" in refused(CliRunner().invoke(command, words))


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("name", ["x" * 248 + ".csv", "ü" * 120 + ".csv", "x" * 256 + ".csv"])
def test_names_that_are_too_long_for_a_temporary_file(run, name):
    assert "bytes" in refused(run("--out", name))


@pytest.mark.usefixtures("never")
@pytest.mark.parametrize("view", ["a\x1b[31mb", "a\udcffb", "a\nb"])
def test_names_of_views_that_cannot_be_printed(run, view):
    assert "cannot be printed" in refused(run("--out", "better.csv", view=view))


@pytest.mark.parametrize("view", ["[/a]", "[bold]x", "[red]y[/red]"])
def test_brackets_in_names_are_no_markup(run, view):
    outcome = run("--out", "better.csv", view=view)
    assert outcome.exit_code == 0, outcome.exception
    assert view in outcome.stdout


def test_brackets_in_a_progress_bar(monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with ProgressBar() as bar:
        bar.say("Embedding view [/a]")
        bar._bar.refresh()
        assert bar._bar.tasks[0].description.endswith("Embedding view [/a]")


def test_escape_codes_are_spelled_out(run):
    assert shown("a\x1b]0;title\x07\u202e\udcff [x] ü") == "a\\x1b]0;title\\x07\\u202e\\udcff [x] ü"
    pd.DataFrame({"id": IDS, "sc\x1b[31more": SCORES}).to_csv("scores.csv", index=False)
    outcome = run("--out", "better.csv")
    assert outcome.exit_code == 0, outcome.exception
    assert "\x1b" not in outcome.output


def test_file_names_that_are_not_utf8(run, tmp_path):
    name = os.fsdecode(b"better\xff.csv")
    for words in ((), ("--json",)):
        outcome = run("--out", name, *words)
        assert outcome.exit_code == 0, outcome.exception
        assert (tmp_path / name).exists()


def result_with(ids):
    """Return a result whose items have some ids."""
    return tupi.denoise(pd.Series(SCORES, pd.Index(ids, name="id")), VIEWS, method="tupi", n_iter=1)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@pytest.mark.parametrize("sign", ["\r", "\n", "\r\n", '"', ",", "\t", ";"])
def test_ids_come_back_whatever_signs_they_hold(sign, suffix, tmp_path):
    ids = [f"item{sign}{k}" for k in range(20)]
    frame = read_table(write_result(result_with(ids), tmp_path / f"better{suffix}"))
    assert list(frame["id"]) == ids


def test_names_of_columns_with_returns(tmp_path):
    path = write_table(pd.DataFrame({"a\rb": [1, 2], "c": [0.1, 0.2]}), tmp_path / "table.csv")
    assert len(path.read_bytes().splitlines()) == 4  # the name is quoted, and broken within the quotes
    assert path.read_bytes().startswith(b'"a\rb"')


def test_ids_that_a_spreadsheet_runs(run, tmp_path):
    ids = ["=1+1", "@x", "+cmd", "-cmd", "-5", "+1e3", *IDS[6:]]
    for name in ("scores.csv", "near.csv"):
        pd.read_csv(name).assign(id=ids).to_csv(name, index=False)
    plain = run("--out", "better.csv")
    assert "4 id(s) in better.csv begin with =, +, - or @" in plain.stderr
    assert list(read_table("better.csv")["id"])[:4] == ids[:4]
    escaped = run("--out", "better.csv", "--escape-formulas", "--json")
    assert "spreadsheet" not in escaped.stderr
    assert json.loads(escaped.stdout)["warnings"] == []
    assert list(read_table("better.csv")["id"])[:6] == ["'=1+1", "'@x", "'+cmd", "'-cmd", "-5", "+1e3"]
    assert "spreadsheet" not in run("--out", "better.npz").stderr
    np.testing.assert_array_equal(np.load(tmp_path / "better.npz")["id"][:4], ids[:4])


def test_escape_codes_in_names_that_an_error_repeats_are_spelled_out(tmp_path):
    done = CliRunner().invoke(
        command, ["denoise", "\x1b[31mno.csv", "--features=a=a.csv", f"--out={tmp_path / 'o.csv'}"]
    )
    assert done.exit_code == 2
    assert "\x1b" not in done.stderr
    assert "\\x1b[31mno.csv" in done.stderr
