"""Methods side by side: judged alike, whatever happens to one of them."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from tests.conftest import make_problem_arrays
from tupi.cli.compare import compare as command
from tupi.cli.group import OneLineErrors
from tupi.compare import compare
from tupi.inputs.labels import Pairs, Values
from tupi.methods import METHODS
from tupi.methods.base import Fit, Method
from tupi.methods.gp import GP
from tupi.methods.ridge import Ridge
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

TRUTH, SCORES, VIEWS = make_problem_arrays(120)
KNOWN = Values(np.arange(40), TRUTH[:40])
QUICK = Tupi(lam=0.3, sigma_w2=0.1, n_iter=3)


@dataclass(frozen=True, kw_only=True)
class Spy(Method):
    """A method that gives fixed columns and remembers the labels that it was shown."""

    name: ClassVar[str] = "spy"

    columns: tuple = tuple(-SCORES)
    shown: list = field(default_factory=list)

    def fit(self, prepared, labels, watch=None):
        self.shown.append(labels)
        return Fit(np.array(self.columns)[:, None], {}, [], [])


@dataclass(frozen=True, kw_only=True)
class Broken(Method):
    """A method that fails as it is told."""

    name: ClassVar[str] = "broken"

    problem: Exception

    def fit(self, prepared, labels, watch=None):
        raise self.problem


def test_a_table_of_all_that_was_asked_for():
    found = compare(SCORES, VIEWS, KNOWN, [QUICK, Ridge(), Spy()])
    table = found.table.set_index("method")
    assert set(table.index) == {"tupi", "ridge", "spy"}
    np.testing.assert_allclose(table["after"] - table["before"], table["gain"])
    assert table["gain"].is_monotonic_decreasing
    assert len(set(table["before"])) == 1  # the same held-out pairs for all
    assert (table["seconds"] > 0).all()
    assert table.loc["ridge", "verdict"] == "better"
    assert table.loc["spy", "verdict"] == "worse"
    assert (found.metric, found.n_items, found.n_labels) == ("pairwise accuracy", 120, 40)
    assert "ridge" in repr(found)


def test_labels_that_judge_never_reach_the_fit():
    spies = [Spy(), Spy()]
    compare(SCORES, VIEWS, KNOWN, spies, n_repeats=2)
    for spy in spies:
        full, *folds = spy.shown
        assert len(full.values) == 40
        assert len(folds) == 10
        assert all(len(labels.values) == 32 for labels in folds)
    for one, other in zip(*(spy.shown for spy in spies), strict=True):
        np.testing.assert_array_equal(one.index, other.index)


def test_a_method_that_leaves_everything_is_no_clear_change():
    same = Spy(columns=tuple((SCORES - SCORES.mean()) / SCORES.std()))
    (row,) = compare(SCORES, VIEWS, KNOWN, [same]).table.to_dict(orient="records")
    assert row["verdict"] == "no clear change"
    assert row["gain"] == row["low"] == row["high"] == 0


@pytest.mark.parametrize(
    ("problem", "verdict", "reason"),
    [
        (RuntimeError("no luck"), "failed", "RuntimeError: no luck"),
        (ZeroDivisionError(), "failed", "ZeroDivisionError: "),
        (InputError("views: too wide."), "does not apply", "views: too wide."),
        (ImportError("needs torch"), "does not apply", "needs torch"),
    ],
)
def test_one_method_failing_does_not_end_the_run(problem, verdict, reason):
    begun = []
    found = compare(SCORES, VIEWS, KNOWN, [Broken(problem=problem), Ridge()], n_repeats=1, part=begun.append)
    assert begun == ["broken", "ridge"]
    assert list(found.table["method"]) == ["ridge", "broken"]
    last = found.table.iloc[-1]
    assert (last["verdict"], last["reason"]) == (verdict, reason)
    assert np.isnan(last["gain"])
    assert found.table["reason"].iloc[0] == ""


def test_predictions_that_are_not_finite_are_a_failure():
    bad = Spy(columns=tuple(np.where(np.arange(120) == 7, np.nan, SCORES)))
    row = compare(SCORES, VIEWS, KNOWN, [bad]).table.iloc[0]
    assert (row["verdict"], row["reason"]) == ("failed", "ArithmeticError: some predictions are not finite")


def test_an_interrupt_does_end_the_run():
    with pytest.raises(KeyboardInterrupt):
        compare(SCORES, VIEWS, KNOWN, [Broken(problem=KeyboardInterrupt()), Ridge()])


def test_pairs_leave_out_methods_for_values():
    first, second = np.arange(40), np.arange(40, 80)
    pairs = Pairs(*np.where(TRUTH[first] > TRUTH[second], [first, second], [second, first]))
    found = compare(SCORES, VIEWS, pairs, [GP(), Ridge(alpha=1.0)]).table.set_index("method")
    assert found.loc["gp", "verdict"] == "does not apply"
    assert "method 'gp' is fitted to values" in found.loc["gp", "reason"]
    assert found.loc["ridge", "after"] > 0.5


def test_regression_is_judged_in_its_own_units():
    found = compare(SCORES, VIEWS, Values(np.arange(40), 10 * TRUTH[:40]), [Ridge()], "regression")
    assert found.metric == "R²"
    assert found.table["after"].iloc[0] > 0.6


def test_same_seed_same_result():
    first, second, other = (
        compare(SCORES, VIEWS, KNOWN, [QUICK, Ridge()], n_repeats=2, random_state=seed).table for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(first.drop(columns="seconds"), second.drop(columns="seconds"))
    assert not np.array_equal(first["gain"], other["gain"])


def test_names_of_methods_used_twice():
    found = compare(SCORES, VIEWS, KNOWN, [Ridge(alpha=1.0), Ridge(alpha=100.0)], n_repeats=1)
    assert set(found.table["method"]) == {"ridge", "ridge #2"}


def test_without_a_wish_all_methods_are_tried(monkeypatch):
    tried = []

    def note(method, prepared, labels, watch=None):
        tried.append(method.name)
        raise InputError("not today")

    for kind in METHODS.values():
        monkeypatch.setattr(kind, "fit", note)
    compare(SCORES, VIEWS, KNOWN)
    assert tried == list(METHODS)


@pytest.mark.parametrize(
    ("labels", "methods", "extra", "sentence"),
    [
        (None, ["tupi"], {}, "labels: found None"),
        (Values(np.arange(5), np.arange(5.0)), ["tupi"], {}, "labels: found 5; accepted: at least 8"),
        (KNOWN, ["tupy"], {}, "Did you mean 'tupi'?"),
        (KNOWN, [], {}, "methods: found none"),
        (KNOWN, ["tupi"], {"n_repeats": 0}, "n_repeats: found 0"),
        (KNOWN, ["tupi"], {"task": "sorting"}, "task: found 'sorting'"),
    ],
)
def test_bad_input(labels, methods, extra, sentence):
    with pytest.raises(InputError) as problem:
        compare(SCORES, VIEWS, labels, methods, **extra)
    assert sentence in str(problem.value)


@pytest.fixture(scope="module")
def found():
    return compare(SCORES, VIEWS, KNOWN, [Ridge(), Spy(), Broken(problem=RuntimeError("no luck"))])


def test_csv_holds_the_table(found, tmp_path):
    path = found.to_csv(tmp_path / "table.csv")
    # By default, some versions of pandas round.
    read = pd.read_csv(path, keep_default_na=False, na_values={"gain": ""}, float_precision="round_trip")
    assert list(read["method"]) == list(found.table["method"])
    np.testing.assert_array_equal(read["gain"], found.table["gain"])
    assert "RuntimeError: no luck" in read["reason"].tolist()


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_plot_as_an_image(found, tmp_path, suffix, start):
    pytest.importorskip("matplotlib")
    path = found.plot(tmp_path / f"plot{suffix}")
    assert path.read_bytes().startswith(start)


def addresses(html):
    """Return what elements of a page load or lead to."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.extend(value for name, value in attrs if name in ("src", "href"))
    parser.feed(html)
    parser.close()
    return found


def test_plot_as_a_page_that_opens_offline(found, tmp_path):
    pytest.importorskip("plotly")
    page = found.plot(tmp_path / "plot.html").read_text()
    assert found.plot(tmp_path / "again.html").read_text() == page  # the same input, the same file
    assert "ridge" in page
    assert "gain in pairwise accuracy" in page
    assert addresses(page) == []  # the script itself names some, for maps, which this is not


def test_plot_of_nothing_and_plot_of_an_unknown_kind(found, tmp_path):
    with pytest.raises(InputError, match=r"suffix '.txt'; accepted: .html"):
        found.plot(tmp_path / "plot.txt")
    nothing = compare(SCORES, VIEWS, KNOWN, [Broken(problem=RuntimeError())])
    with pytest.raises(InputError, match="no method could be judged"):
        nothing.plot(tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


# The command


def run(*words):
    group = OneLineErrors(commands={"compare": command})
    return CliRunner().invoke(group, ["compare", *(str(word) for word in words)])


@pytest.fixture
def files(tmp_path, monkeypatch):
    pd.DataFrame({"id": np.arange(120), "score": SCORES}).to_csv(tmp_path / "scores.csv", index=False)
    np.save(tmp_path / "near.npy", VIEWS["near"])
    pd.DataFrame({"id": np.arange(40), "truth": TRUTH[:40]}).to_csv(tmp_path / "labels.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return [
        "scores.csv",
        "--features",
        "near=near.npy",
        "--labels",
        "labels.csv",
        "--methods",
        "tupi",
        "--repeats",
        "1",
    ]


def test_command_prints_a_table_and_writes_files(files, tmp_path):
    outcome = run(*files, "--out", "table.csv", "--plot", "plot.png")
    assert outcome.exit_code == 0, outcome.output
    for words in ("Pairwise accuracy on 40 labels", "tupi", "verdict"):
        assert words in outcome.stdout
    written = pd.read_csv(tmp_path / "table.csv", float_precision="round_trip")
    direct = compare(SCORES, {"near": VIEWS["near"]}, KNOWN, ["tupi"], n_repeats=1)
    np.testing.assert_array_equal(written["gain"], direct.table["gain"])
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_command_prints_json(files):
    outcome = run(*files, "--json")
    facts = json.loads(outcome.stdout, parse_constant=pytest.fail)
    assert facts["n_labels"] == 40
    assert facts["methods"][0]["method"] == "tupi"


def test_command_on_the_demonstration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run("--demo", "--methods", "tupi", "--repeats", "1")
    assert outcome.exit_code == 0, outcome.output
    assert "on 50 labels" in outcome.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "SCORES: found none; accepted: a file, or --demo"),
        (["scores.csv"], "--features: found none"),
        (["scores.csv", "--features", "near=near.npy"], "--labels: found none"),
        (["scores.csv", "--demo"], "--demo: found files beside it"),
        (["--demo", "--methods", "tupy"], "Did you mean 'tupi'?"),
        (["--demo", "--methods", " , "], "--methods: found ' , '"),
        (["--demo", "--out", "table.txt"], "--out: table.txt has the suffix '.txt'"),
        (["--demo", "--plot", "plot.gif"], "--plot: plot.gif has the suffix '.gif'"),
        (["--demo", "--repeats", "0"], "0 is not in the range"),
    ],
)
def test_command_answers_bad_input_with_one_line(files, words, sentence):
    outcome = run(*words)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("tupi: ")
    assert outcome.stderr.count("\n") == 1
    assert sentence in outcome.stderr


def test_command_does_not_write_over_its_input(files):
    assert "is one of the input files" in run(*files, "--out", "labels.csv").stderr
