"""The page and its pictures, and the command that makes them."""

import re

import pytest
from click.testing import CliRunner

from tupi.cli.group import tupi as command
from tupi.methods.coconut import Coconut
from tupi.methods.kim import Kim
from tupi.methods.tupi import Tupi
from tupi.research.experiments import catalog, protocol
from tupi.research.experiments.accuracy import Accuracy
from tupi.research.experiments.catalog import EXPERIMENTS, experiments_of
from tupi.research.experiments.results import seeds_of, write_page
from tupi.research.experiments.runner import run
from tupi.research.experiments.scaling import Scaling
from tupi.research.experiments.significance import Significance
from tupi.research.experiments.surface import Surface
from tupi.research.experiments.table1 import Table1
from tupi.runtime.errors import InputError

FEW = Tupi(lam=0.4, sigma_w2=0.1, n_iter=3, rank=20)
METHODS = (("kim", Kim(lam=0.3, sigma2=0.3)), ("coconut", Coconut(lam=1.0, n_neighbors=5)), ("tupi", FEW))


def test_every_table_and_figure_has_its_name():
    assert list(EXPERIMENTS) == [
        "table1", "table2", "accuracy", "significance", "surface", "combination", "unlabelled", "readings",
        "invdyn", "remarks", "networks", "scaling",
    ]  # fmt: skip
    assert len(experiments_of(["all"])) == len({one for some in EXPERIMENTS.values() for one in some})
    assert [type(one).__name__ for one in experiments_of(["scaling", "unlabelled"])] == ["Unlabelled", "Scaling"]
    for name, some in EXPERIMENTS.items():  # the page names the command that makes each section
        assert {one.command or one.name for one in some} == {name}
    with pytest.raises(InputError, match=r"WHAT: found 'tabel1'.*Did you mean 'table1'"):
        experiments_of(["tabel1"])


@pytest.fixture
def page(shoes, store, protocol, tmp_path):
    """A page of several experiments on the small file of Shoes."""
    experiments = [
        Accuracy(protocol, methods=METHODS),
        Significance(protocol, methods=METHODS),
        Surface(protocol, FEW, (-1.0, 0.0), (-1.0, 0.0), 2, ((0.1, 0.3), (1.0, 0.3)), 4),
        Scaling(sizes=(("fused", (200, 400)),), n_views=2, n_columns=3),
    ]
    run(experiments, store, ["shoes"], range(2), 1)
    return write_page(experiments, store, ["shoes"], range(2), tmp_path / "out")


def test_page_holds_each_section_with_its_pictures(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, flags=re.M)
    assert headings == [
        "Words", "Protocol", "What is reproduced, and what is not",
        "Figures of accuracy, f^I by rank SVM alone", "Table of significance, f^I by rank SVM alone",
        "Hyperparameter surface, and accuracy along T, f^I by rank SVM alone", "Scaling",
    ]  # fmt: skip
    drawn = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert drawn == ["pictures/accuracy-svm-shoes.png", "pictures/surface-svm-shoes.png", "pictures/scaling.png"]
    for name in drawn:
        assert (page.parent / name).read_bytes().startswith(b"\x89PNG")
    assert text.count("*Why they differ.*") == 3
    assert "Not yet run on the real archive." in text
    assert "nan" not in text


def test_tables_have_a_row_per_attribute_and_as_many_cells_as_columns(page):
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.M):
        assert len({line.count("|") for line in block.splitlines()}) == 1
    assert len(re.findall(r"^\| (?:Shoes )?shiny \|", text, flags=re.M)) == 2
    significance = next(line for line in text.splitlines() if line.startswith("| Shoes shiny"))
    assert re.fullmatch(r"\| Shoes shiny \|( [+0-] \|)+", significance)
    against = next(line for line in text.splitlines() if line.startswith("| `tupi` against f^I |"))
    assert re.fullmatch(
        r"\| `tupi` against f\^I \| 10 \| [+-]\d\.\d\d \(\d\.\d\d\) \| \d+% \| \d+% \| 100% \| 0% \| \d+ of 10 \|",
        against,
    )
    assert re.search(r"- `tupi` improves f\^I on \d+ of 10 targets and degrades it on \d+; significantly on \d+", text)


def test_page_shows_what_there_is_of_an_unfinished_run(mfeat, store, protocol, tmp_path):
    table = Table1(protocol, method=FEW, n_random=1)
    page = write_page([table], store, ["mfeat"], [0], tmp_path / "out")
    assert re.findall("^## (.*)", page.read_text(encoding="utf-8"), flags=re.M) == ["Words", "Protocol"]
    run([table], store, ["mfeat"], [0], 1)
    text = write_page([table], store, ["mfeat"], [0, 1], tmp_path / "out").read_text(encoding="utf-8")
    assert "*6 cells, 1 seed," in text
    assert "on one core, by `tupi reproduce table1 --seeds 2`.*" in text
    assert re.search(r"\*All cells of this page took \d+\.\d minutes on one core, and f\^I \d+\.\d more\.", text)


@pytest.fixture
def small_catalog(monkeypatch, protocol):
    monkeypatch.setattr(catalog, "EXPERIMENTS", {"table1": (Table1(protocol, method=FEW, n_random=1),)})


def test_command_writes_the_page_and_resumes(mfeat, small_catalog, tmp_path):
    out = tmp_path / "made"
    arguments = ["reproduce", "table1", "--seeds", "1", "--data", "mfeat", "--workers", "1", "--out", str(out)]
    first = CliRunner().invoke(command, arguments)
    assert first.exit_code == 0, first.output
    assert first.stdout == f"{out / 'results.md'}\n"
    assert "| **fou (F2)** |" in (out / "results.md").read_text(encoding="utf-8")
    stamps = {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")}
    assert len(stamps) == 12
    assert CliRunner().invoke(command, arguments).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (out / "cells").rglob("*.json")} == stamps


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["tabel1"], "tupi: WHAT: found 'tabel1'; accepted: table1, table2,"),
        (["table1", "--data", "mnist"], "tupi: data: found 'mnist'; accepted: mfeat, pubfig,"),
        (["table1", "--data", "osr"], "tupi: --data: found osr; table1 is about mfeat."),
        (["table1", "--seeds", "0"], "tupi: Invalid value for '--seeds'"),
    ],
)
def test_command_answers_bad_input_in_one_line(mfeat, arguments, sentence, tmp_path):
    found = CliRunner().invoke(command, ["reproduce", *arguments, "--out", str(tmp_path / "made")])
    assert found.exit_code == 2
    assert found.stderr.startswith(sentence)
    assert len(found.stderr.splitlines()) == 1
    assert not (tmp_path / "made").exists()


def test_help_shows_examples():
    text = CliRunner().invoke(command, ["reproduce", "--help"]).output
    assert "tupi reproduce table1 --seeds 1" in text
    assert "TUPI_DATA" in text


def test_without_pytorch_the_rank_svm_makes_the_predictions_and_the_page_says_so(
    mfeat, monkeypatch, tmp_path, small_catalog
):
    monkeypatch.setattr("tupi.research.experiments.results.PROTOCOL", protocol.SVM_ONLY)
    real = __import__("importlib.util").util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "torch" else real(name, *rest))
    out = tmp_path / "made"
    arguments = ["table1", "--seeds", "1", "--workers", "1", "--data", "mfeat", "--out", str(out)]
    found = CliRunner().invoke(command, ["reproduce", *arguments])
    assert found.exit_code == 0
    assert "PyTorch is not installed: f^I is the rank SVM" in found.stderr
    assert "a rank SVM (PyTorch is not installed" in (out / "results.md").read_text(encoding="utf-8")


def test_the_page_says_how_many_seeds_each_dataset_has():
    def cells(dataset, n):
        return [{"cell": {"dataset": dataset, "target": "a", "seed": seed}} for seed in range(n)]

    assert seeds_of(cells("osr", 1)) == "1 seed"
    assert seeds_of([*cells("osr", 3), *cells("mfeat", 3)]) == "3 seeds"
    assert seeds_of([*cells("osr", 3), *cells("sarcos", 2)]) == "seeds: OSR 3, InvDyn 2"


def test_titles_say_how_the_predictions_were_made():
    assert protocol.SVM_ONLY.reading == "f^I by rank SVM alone"
    assert protocol.COMPARISONS.reading == "f^I by rank SVM alone from 200 comparisons"
    assert protocol.Protocol(rankers=("svm", "network")).reading == "f^I by rank SVM or rank network"
    # Without PyTorch the protocol of the paper has no network, and is that of the rank SVM alone.
    assert len({one.reading for one in protocol.PROTOCOLS}) == len(set(protocol.PROTOCOLS)) >= 6
