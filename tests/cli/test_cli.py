"""The command line: the same result as from Python, summaries, and one line for each thing that is wrong."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tupi
from tupi.cli import tupi as command
from tupi.cli.progress import ProgressBar
from tupi.inputs.files import read_table

TWO_VIEWS = ("denoise", "scores.csv", "--features", "near=near.csv", "--features", "bent=bent.npy")
FEW_STEPS = ["--method", "tupi", "--set", "n_iter=2", "--set", "lam=0.3", "--set", "sigma_w2=0.1"]
PARAMS = {"method": "tupi", "n_iter": 2, "lam": 0.3, "sigma_w2": 0.1}


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words])


def failed(*words):
    """Run a command that must fail on bad input, and return its one line."""
    outcome = run(*words)
    assert outcome.exit_code == 2, outcome.output
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("tupi: ")
    assert outcome.stderr.count("\n") == 1
    return outcome.stderr


@pytest.fixture
def folder(tmp_path, small, monkeypatch):
    """Return a folder with predictions, two views and labels of 120 items, as the working directory."""
    truth, scores, views = small
    ids = [f"item{k:03d}" for k in range(len(truth))]
    pd.DataFrame({"id": ids, "score": scores}).to_csv(tmp_path / "scores.csv", index=False)
    near = pd.DataFrame(views["near"], columns=["p", "q"])
    near.assign(id=ids).to_csv(tmp_path / "near.csv", index=False)
    np.save(tmp_path / "bent.npy", views["bent"])
    pd.DataFrame({"id": ids, "truth": truth}).iloc[:30].to_csv(tmp_path / "labels.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edit(path, change):
    """Rewrite a table after a change to its frame."""
    frame = read_table(path)
    frame = change(frame)
    frame.to_csv(path, index=False)


# What it does


def test_the_same_as_from_python(folder, small):
    _, scores, views = small
    outcome = run(*TWO_VIEWS, "--out", "b.csv", *FEW_STEPS)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.stderr == ""
    table = read_table(folder / "b.csv")
    direct = tupi.denoise(scores, {"near": views["near"], "bent": views["bent"]}, **PARAMS)
    np.testing.assert_array_equal(table["prediction"], direct.predictions)
    np.testing.assert_array_equal(table["initial"], scores)
    assert list(table["id"]) == [f"item{k:03d}" for k in range(len(scores))]
    for words in ("near", "bent", "ids from 'id'", "matched by row order: bent", "Wrote b.csv"):
        assert words in outcome.stdout


def test_rows_in_another_order_change_nothing(folder):
    words = ("denoise", "scores.csv", "--features", "near=near.csv", "--labels", "labels.csv", *FEW_STEPS)
    assert run(*words, "--out", "in_order.csv").exit_code == 0
    edit("near.csv", lambda frame: frame.sample(frac=1, random_state=0))
    edit("labels.csv", lambda frame: frame.sample(frac=1, random_state=1))
    assert run(*words, "--out", "shuffled.csv").exit_code == 0
    assert (folder / "in_order.csv").read_text() == (folder / "shuffled.csv").read_text()


def test_the_json_summary_says_what_views_are_worth(folder):
    outcome = run(*TWO_VIEWS, "--labels", "labels.csv", "--out", "b.csv", "--json", "--quiet")
    assert outcome.exit_code == 0, outcome.stderr
    gains = json.loads(outcome.stdout)["view_gains"]
    assert set(gains) == {"near", "bent"}
    assert set(gains["near"]) == {"gain", "low", "high", "kind"}


def test_the_json_summary(folder):
    words = (*TWO_VIEWS, "--labels", "labels.csv", *FEW_STEPS)
    outcome = run(*words, "--out", "b.parquet", "--save", "run.npz", "--report", "r.html", "--json", "--quiet")
    assert outcome.exit_code == 0, outcome.stderr
    facts = json.loads(outcome.stdout)
    assert facts["n"] == 120
    assert facts["method"] == "tupi"
    assert facts["params"]["lam"] == 0.3
    assert set(facts["weights"]) == set(facts["dependence"]) == {"near", "bent"}
    assert facts["view_gains"] is None  # fits to folds of the labels without each view would take long
    assert facts["evidence"]["n_labels"] == 30
    assert facts["id"] == "id"
    assert facts["matched_by_order"] == ["bent"]
    assert facts["outputs"] == {"out": "b.parquet", "save": "run.npz", "report": "r.html"}
    saved = tupi.load(folder / "run.npz")
    np.testing.assert_array_equal(read_table(folder / "b.parquet")["prediction"], saved.predictions)
    assert facts["evidence"]["after"] == saved.evidence.after
    assert "<html" in (folder / "r.html").read_text(encoding="utf-8")[:2000].lower()


def test_json_has_null_where_there_is_no_number(folder):
    edit("labels.csv", lambda frame: frame.iloc[:3])  # too few to judge by
    words = ("denoise", "scores.csv", "--features", "near=near.csv", "--labels", "labels.csv")
    outcome = run(*words, *FEW_STEPS, "--out", "b.csv", "--json")
    assert json.loads(outcome.stdout, parse_constant=pytest.fail)["evidence"]["before"] is None


def test_quiet_is_quiet(folder):
    outcome = run("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.tsv", *FEW_STEPS, "--quiet")
    assert (outcome.exit_code, outcome.output) == (0, "")
    assert len(read_table(folder / "b.tsv")) == 120


def test_a_constant_view_is_dropped_with_a_warning(folder):
    np.save("flat.npy", np.ones((120, 2)))
    words = ("denoise", "scores.csv", "--features", "near=near.csv", "--features", "flat=flat.npy", *FEW_STEPS)
    outcome = run(*words, "--out", "b.csv", "--json")
    assert outcome.exit_code == 0
    assert outcome.stderr == "tupi: warning: View 'flat' is constant over the items and was dropped.\n"
    assert json.loads(outcome.stdout)["warnings"] == ["View 'flat' is constant over the items and was dropped."]


@pytest.mark.parametrize("kind", ["float16", "float32", "int8", "bool", "fortran", "huge", "tiny"])
def test_arrays_of_all_kinds_work(folder, small, kind):
    _, scores, views = small
    array = {
        "fortran": lambda: np.asfortranarray(views["near"]),
        "huge": lambda: views["near"] * 1e299,
        "tiny": lambda: views["near"] * 1e-299,
        "bool": lambda: views["near"] > 0,
        "int8": lambda: np.round(10 * views["near"]).astype("int8"),
    }.get(kind, lambda: views["near"].astype(kind))()
    np.save("near.npy", array)
    np.save("scores.npy", scores * {"huge": 1e299, "tiny": 1e-299}.get(kind, 1.0))
    outcome = run("denoise", "scores.npy", "--features", "near=near.npy", "--out", "b.npy", *FEW_STEPS)
    assert outcome.exit_code == 0, outcome.stderr
    assert np.isfinite(np.load("b.npy")).all()


def test_missing_rows_and_imputed_values(folder):
    edit("near.csv", lambda frame: frame.assign(p=frame["p"].mask(frame.index < 5)))
    words = ("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.csv", *FEW_STEPS)
    assert "lacks 5 single value(s)" in failed(*words)
    assert run(*words, "--impute", "median").exit_code == 0
    edit("near.csv", lambda frame: frame.assign(q=frame["q"].mask(frame.index < 5)))  # now these rows are empty
    assert run(*words).exit_code == 0
    table = read_table("b.csv")
    assert (table["prediction"] == table["initial"]).head(5).all()


def test_classification_with_class_names(folder, small):
    _, scores, _ = small
    pd.DataFrame({"id": read_table("scores.csv")["id"], "low": -scores, "high": scores}).to_csv("c.csv", index=False)
    edit("labels.csv", lambda frame: frame.assign(truth=np.where(frame["truth"] > 0, "high", "low")))
    words = ("denoise", "c.csv", "--features", "near=near.csv", "--labels", "labels.csv", "--task", "classification")
    outcome = run(*words, "--out", "b.csv", *FEW_STEPS)
    assert outcome.exit_code == 0, outcome.stderr
    table = read_table("b.csv")
    assert list(table.columns) == ["id", "initial_low", "initial_high", "prediction_low", "prediction_high"]
    edit("labels.csv", lambda frame: frame.assign(truth=frame["truth"].where(frame.index > 0, "medium")))
    assert "found class 'medium'; accepted: low, high" in failed(*words, "--out", "b.csv")


def test_hsic(folder, small):
    _, scores, views = small
    exact = tupi.hsic(scores, views["near"], normalized=True)
    outcome = run("hsic", "scores.csv", "near.csv", "--normalized")
    assert float(outcome.stdout) == pytest.approx(exact, rel=1e-9)
    edit("near.csv", lambda frame: frame.iloc[::-1])  # joined by id
    assert run("hsic", "scores.csv", "near.csv", "--normalized").stdout == outcome.stdout
    words = ("--estimator", "unbiased", "--rank", "30", "--bandwidth", "median", "--json")
    facts = json.loads(run("hsic", "bent.npy", "near.csv", *words).stdout)
    expected = tupi.hsic(views["bent"], views["near"][::-1], estimator="unbiased", rank=30, bandwidth="median")
    assert facts["hsic"] == pytest.approx(expected, rel=1e-9)
    assert "Did you mean 'median'" in failed("hsic", "bent.npy", "near.csv", "--bandwidth", "medan")
    assert "as many rows" in failed("hsic", "bent.npy", save("short.npy", np.arange(50.0)))
    assert "bent.npy" in failed("hsic", "bent.npy", "bent.npy", "--id", "id")


def test_hsic_can_do_what_it_recommends(folder):
    edit("near.csv", lambda frame: frame.assign(q=frame["q"].where(frame.index != 4)))
    line = failed("hsic", "bent.npy", "near.csv")
    assert (
        'y lacks 1 single value(s), in 1 row(s) (4) and 1 column(s); accepted: complete rows, or impute="median"'
        in line
    )
    outcome = run("hsic", "bent.npy", "near.csv", "--impute", "median", "--json")
    assert outcome.exit_code == 0, outcome.stderr
    near = read_table("near.csv")[["p", "q"]]
    filled = near.fillna(near.median())
    assert json.loads(outcome.stdout)["hsic"] == pytest.approx(tupi.hsic(np.load("bent.npy"), filled), rel=1e-9)


@pytest.mark.parametrize("name", ["denoise", "demo", "hsic"])
def test_help_shows_an_example(name):
    outcome = run(name, "--help")
    assert outcome.exit_code == 0
    assert f"  tupi {name} " in outcome.stdout.split("Example")[1]


def test_help_version_and_no_command():
    assert run("--version").stdout == f"tupi {tupi.__version__}\n"
    assert run().exit_code == 0
    assert run().stdout == run("--help").stdout


# Bad input


def save(path, array):
    np.save(path, array)
    return path


def change_scores(change):
    return lambda: edit("scores.csv", lambda frame: frame.assign(score=change(frame["score"].copy())))


def with_first(value):
    def change(column):
        column.iloc[4] = value
        return column

    return change_scores(change)


def pairs(higher, lower):
    def write():
        pd.DataFrame({"higher": higher, "lower": lower}).to_csv("labels.csv", index=False)

    return write


def labels(change):
    return lambda: edit("labels.csv", change)


BAD = {
    "missing scores": (lambda: os.unlink("scores.csv"), [], "scores.csv: no such file"),
    "NaN score": (with_first(np.nan), [], "1 value(s) are NaN or infinite (first at item 4)"),
    "infinite score": (with_first(np.inf), [], "1 value(s) are NaN or infinite"),
    "text score": (
        change_scores(lambda c: c.astype(object).where(c.index != 4, "oops")),
        [],
        "values that are not numbers",
    ),
    "constant scores": (change_scores(lambda c: c * 0 + 0.1), [], "all are equal"),
    "few items": (
        lambda: [edit(f, lambda t: t.iloc[:9]) for f in ("scores.csv", "near.csv", "labels.csv")],
        [],
        "found 9 item(s)",
    ),
    "constant views": (lambda: edit("near.csv", lambda t: t.assign(p=1, q=2)), [], "every view is constant"),
    "other length": (lambda: save("n.npy", np.ones((7, 2))), ["--features", "n=n.npy"], "has 7 rows for 120 items"),
    "duplicate ids": (lambda: edit("scores.csv", lambda t: t.assign(id="x")), [], "occur more than once (first: x)"),
    "unmatched ids": (
        lambda: edit("near.csv", lambda t: t.assign(id=t["id"].str.upper())),
        [],
        "none of its ids is among those of scores.csv (first: ITEM",
    ),
    "pair out of range": (pairs(["item001"], ["item999"]), [], "first: item999"),
    "an item compared with itself": (pairs(["item001"], ["item001"]), [], "item 1 is compared with itself"),
    "equal labels": (labels(lambda t: t.assign(truth=1)), [], "1 distinct value(s)"),
    "empty labels": (labels(lambda t: t.assign(truth=None)), [], "0 distinct value(s)"),
    "text labels": (labels(lambda t: t.assign(truth=["a", "b"] * 15)), [], "found text such as 'a'"),
    "unknown label id": (
        labels(lambda t: t.assign(id="zzz" + t["id"])),
        [],
        "first: zzzitem000, zzzitem001",
    ),
    "unknown method": (lambda: None, ["--method", "tuppi"], "Did you mean 'tupi'?"),
    "unknown parameter": (lambda: None, ["--method", "tupi", "--set", "lamb=1"], "Did you mean 'lam'?"),
    "Dask without a scheduler": (
        lambda: None,
        ["--method", "tupi", "--set", "engine=dask"],
        "--set engine=dask: found without --scheduler",
    ),
    "parameter of another method": (
        lambda: None,
        ["--set", "n_iter=20"],
        "n_iter: method 'auto' has no such parameter; it belongs to methods 'tupi'",
    ),
    "memory limit": (
        lambda: None,
        ["--memory-limit", "1GB", "--method", "knn"],
        "with method 'knn', which keeps its graphs in memory",
    ),
    "labels by other ids": (
        labels(lambda t: t.rename(columns={"id": "photo"})),
        [],
        "labels (labels.csv): has no column 'id', by which tables are joined, but 'photo', 'truth'",
    ),
    "labels by other ids than --id": (
        labels(lambda t: t.rename(columns={"id": "photo"})),
        ["--id", "id"],
        "labels (labels.csv): has no column 'id', by which tables are joined, but 'photo', 'truth'",
    ),
    "reserved parameter": (lambda: None, ["--set", "task=ranking"], "no such parameter"),
    "bad value": (lambda: None, ["--method", "tupi", "--set", "lam=-1"], "lam: found -1"),
    "not a setting": (lambda: None, ["--set", "lam"], "such as lam=0.3"),
    "set twice": (lambda: None, ["--set", "lam=1", "--set", "lam=2"], "'lam' is set more than once"),
    "no name": (lambda: None, ["--features", "bent.npy"], "such as gist=gist.npy"),
    "name twice": (lambda: None, ["--features", "near=bent.npy"], "two views are called 'near'"),
    "unknown task": (lambda: None, ["--task", "rank"], "'ranking', 'regression', 'classification'"),
    "bad seed": (lambda: None, ["--seed", "-1"], "--seed"),
    "unknown option": (lambda: None, ["--feature", "a=b"], "--features"),
    "unknown file type": (lambda: None, ["--features", "x=x.mat"], "suffix '.mat'"),
    "output type": (lambda: None, ["--out", "b.xlsx"], "--out: b.xlsx has the suffix '.xlsx'"),
    "output folder": (lambda: None, ["--out", "no/b.csv"], "--out: there is no folder no"),
    "output is a folder": (lambda: os.mkdir("d.csv"), ["--out", "d.csv"], "--out: d.csv is a folder"),
    "output is an input": (lambda: None, ["--out", "near.csv"], "is one of the input files"),
    "outputs are one": (lambda: None, ["--out", "b.npz", "--save", "b.npz"], "--save: b.npz is also --out"),
    "report type": (lambda: None, ["--report", "r.pdf"], "--report: r.pdf has the suffix '.pdf'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line(folder, case):
    prepare, options, words = BAD[case]
    prepare()
    line = failed(
        "denoise", "scores.csv", "--features", "near=near.csv", "--labels", "labels.csv", "--out", "b.csv", *options
    )
    assert words in line
    assert not (folder / "b.csv").exists()


def test_commands_that_lack_something(folder):
    assert "SCORES" in failed("denoise")
    assert "--features" in failed("denoise", "scores.csv", "--out", "b.csv")
    assert "--out" in failed("denoise", "scores.csv", "--features", "near=near.csv")
    assert "No such command 'denoize'. Did you mean denoise? tupi --help lists what there is." in failed("denoize")
    assert "No such command 'xyz'. tupi --help lists what there is." in failed("xyz")
    assert "Missing argument 'SCORES'. tupi denoise --help lists what there is." in failed("denoise")
    assert "--help" not in failed("denoise", "s.csv", "--features", "a=a.npy", "--out", "b.csv", "--task", "sorting")
    assert "--bogus" in failed("--bogus")


# Files that appear whole or not at all


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (OSError(28, "No space left on device"), 2, "no space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 2, "not enough memory"),
        (RuntimeError("can't start new thread"), 2, "not enough memory"),
    ],
)
def test_a_failure_while_writing_leaves_the_old_file(folder, monkeypatch, problem, code, words):
    (folder / "b.csv").write_text("old")
    before = sorted(folder.iterdir())

    def half(self, path, **kwargs):
        path.write_text("half")
        raise problem

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    outcome = run("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.csv", *FEW_STEPS)
    assert outcome.exit_code == code
    assert outcome.stderr.startswith("tupi: ")
    assert outcome.stderr.count("\n") == 1
    assert words in outcome.stderr
    assert (folder / "b.csv").read_text() == "old"
    assert sorted(folder.iterdir()) == before


def test_an_interrupt_of_compiled_code_is_an_interrupt(folder, monkeypatch):
    def interrupted(*args, **kwargs):
        try:
            raise SystemError("a function returned a result with an exception set") from KeyboardInterrupt()
        except SystemError as first:
            raise SystemError("another function returned a result with an exception set") from first

    monkeypatch.setattr("tupi.denoise", interrupted)
    outcome = run("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.csv")
    assert (outcome.exit_code, outcome.stderr.count("\n")) == (130, 1)
    assert outcome.stderr.startswith("tupi: interrupted")


def test_reports_without_plotly_fail_before_the_work_begins(folder, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    line = failed("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.csv", "--report", "r.html")
    assert "pip install 'tupi[report]'" in line
    assert not (folder / "b.csv").exists()
    line = failed("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.parquet")
    assert "pip install 'tupi[parquet]'" in line


# As a process of its own


def start(*words):
    program = [sys.executable, "-c", "from tupi.cli import main; main()", *words]
    return subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)


def test_the_program_ends_with_a_code_and_a_line(folder):
    good = start("denoise", "scores.csv", "--features", "near=near.csv", "--out", "b.csv", *FEW_STEPS, "--quiet")
    assert (good.returncode, good.stdout, good.stderr) == (0, "", "")
    bad = start("denoise", "scores.csv", "--features", "near=nowhere.csv", "--out", "c.csv")
    assert (bad.returncode, bad.stdout, bad.stderr) == (2, "", "tupi: nowhere.csv: no such file.\n")
    assert not (folder / "c.csv").exists()


def test_an_unreadable_file_is_a_sentence(folder, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refuse)
    assert failed("hsic", "bent.npy", "near.csv") == "tupi: near.csv: permission denied.\n"


# The progress bar


class Terminal:
    """A stderr that says it is a terminal, and remembers what was written."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


def test_the_progress_bar_shows_sentences_and_steps(monkeypatch, small):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    _, scores, views = small
    with ProgressBar(parts=1) as bar:
        bar.part("first")
        tupi.denoise(scores, {"near": views["near"]}, progress=bar.say, callback=bar.step, **PARAMS)
        bar.say("Writing")
    assert "first: Writing" in terminal.text


@pytest.mark.parametrize(("show", "terminal"), [(False, True), (True, False)])
def test_no_progress_bar_when_quiet_or_redirected(monkeypatch, show, terminal):
    stream = Terminal()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressBar(show=show) as bar:
        bar.part("first")
        bar.say("Reading")
        bar.step(tupi.Step(0, np.zeros(3), np.ones(1), np.ones(1)))
    assert stream.text == ""
