"""What documents and scripts say about themselves is so."""

import importlib
import math
import pkgutil
import re
import runpy
import shlex
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import tupi
from tests import run_readme
from tupi.cli.group import tupi as command
from tupi.judging.catalogue import ALL_METRICS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.name for path in ROOT.glob("docs/*.md"))
EXAMPLE = re.compile(r"^(<!-- not run: .+ -->\n)?```(python|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def examples(page):
    """Return the language and text of a page's examples, but for those that say why they do not run."""
    found = EXAMPLE.findall((ROOT / "docs" / page).read_text())
    return [(language, text) for excuse, language, text in found if not excuse]


@pytest.mark.parametrize("page", [page for page in PAGES if examples(page)])
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    """From top to bottom: Python shares its names, and commands read the files that Python wrote."""
    if any("import torch" in text for _, text in examples(page)):
        pytest.importorskip("torch", reason="PyTorch, which the extra torch installs, is missing")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for language, text in examples(page):
        if language == "python":
            exec(compile(text, page, "exec"), names)
            continue
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "tupi", line
            outcome = CliRunner().invoke(command, words[1:])
            assert outcome.exit_code == 0, outcome.output


def test_the_failure_that_is_described_still_happens():
    """Otherwise docs/distrust.md has to tell of another."""
    names = {}
    exec(examples("distrust.md")[0][1], names)
    before, after = (
        tupi.pairwise_accuracy(f, names["quality"]) for f in (names["scores"], names["result"].predictions)
    )
    assert after < before - 0.1


def test_the_reference_lists_what_people_may_use():
    page = (ROOT / "docs" / "api.md").read_text()
    for name in set(tupi.__all__) - {"methods"}:
        assert re.search(rf"^::: tupi\.(?:[a-z_.]+\.)?{name}$", page, re.MULTILINE), name


def test_the_site_is_whole_and_asks_no_other_machine_for_anything(tmp_path):
    """A broken link, a page that nothing leads to, or a docstring that cannot be read makes the build fail."""
    config = pytest.importorskip("mkdocs.config").load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    build = pytest.importorskip("mkdocs.commands.build").build
    build(config)
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.html")}
    assert {Path(page).stem for page in PAGES} <= {Path(page).stem for page in pages}
    for name, text in pages.items():
        fetched = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=[\"']?([^\"' >]+)", text)
        fetched += re.findall(r"<link[^>]*\srel=[\"']?(?:stylesheet|preload|preconnect)[^>]*", text)
        assert [url for url in fetched if "//" in url] == [], name


def test_the_readmes_examples_that_run_are_those_that_the_script_names(monkeypatch):
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: ran.append(command[-1]))
    assert run_readme.main() == 0
    blocks = run_readme.BLOCK.findall((ROOT / "README.md").read_text())
    expected = [text for language, text in blocks if language == "python" or text.startswith("tupi ")]
    assert len(ran) == len(expected) > 1
    assert run_readme.__doc__.endswith("each ```python block, and each ```bash block that begins with `tupi`.")


def test_the_links_of_the_readme_lead_somewhere():
    """Those of the site's pages are checked when it is built."""
    links = re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text())
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_a_changelog_without_a_release_speaks_of_no_earlier_one():
    text = (ROOT / "CHANGELOG.md").read_text()
    if text.count("\n## ") == 1:  # Unreleased alone
        assert "no longer" not in text


def test_the_picture_of_the_folders_is_up_to_date():
    page = (ROOT / "docs" / "architecture.md").read_text()
    draw = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))
    again = "run: python docs/draw_architecture.py"
    assert draw["redrawn"](page) == page, again
    assert draw["picture"]() == draw["PICTURE"].read_text(), again
    assert "pictures/architecture.svg" in page


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", *(f"docs/{p.name}" for p in ROOT.glob("docs/*.md"))])
def test_documents_name_files_and_functions_that_exist(page):
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)
    folders = "|".join(path.parent.name for path in (ROOT / "src" / "tupi").glob("*/__init__.py"))
    for path in re.findall(rf"`((?:{folders})/[\w/]*(?:\.py)?)[`:]", text):
        assert (ROOT / "src" / "tupi" / path).exists(), path
    for path in re.findall(r"\b((?:tests|experiments|benchmarks|docs|examples)/[\w/]+\.(?:py|md))\b", text):
        assert (ROOT / path).exists(), path
    for name in re.findall(rf"`(?:tupi\.)?((?:{folders})\.(?!py`)[\w.]*\w)`", text):
        pkgutil.resolve_name(f"tupi.{name}")  # complains about what does not exist


def test_the_paper_map_names_tests_that_exist():
    tests = ""
    for path, name in re.findall(
        r"`(tests/[\w/]+\.py)?(?:::(test_\w+))?`", (ROOT / "docs" / "paper_map.md").read_text()
    ):
        tests = (ROOT / path).read_text() if path else tests
        assert f"def {name}" in tests, name


def test_the_examples_of_tasks_and_metrics_run(capsys):
    blocks = [text for language, text in run_readme.BLOCK.findall((ROOT / "docs" / "tasks.md").read_text())]
    found: dict = {}
    for text in blocks:
        exec(compile(text, "docs/tasks.md", "exec"), found)
    said = capsys.readouterr().out
    for words in (
        "RMSE",
        "('no', 'yes')",
        "at least 0.111 and are taken for 'yes'",
        "log loss went from",
        "worst_error",
    ):
        assert words in said


def test_the_table_of_metrics_lists_all_of_them():
    listed = re.findall(r"^\| `([\w@]+)`", (ROOT / "docs" / "tasks.md").read_text(), flags=re.MULTILINE)
    assert {re.sub(r"@\d+", "@k", key) for key in listed} == {metric.key for metric in ALL_METRICS}


def constants():
    """Yield the file, the names and the values of each row of the table of constants of the default method."""
    page = (ROOT / "docs" / "auto_inside.md").read_text()
    file = None
    for line in page[page.index("## Constants") :].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`(\w+)`", cells[0])
        if heading := re.match(r"\*\*(?:`(.+)`|elsewhere)\*\*", cells[0]):
            file = heading[1]
        elif len(cells) == 3 and names:
            yield file or re.findall(r"`([\w/]+\.py)`", cells[2])[-1], names, cells[1]


def numbers(value):
    """Return the numbers that a constant holds, in their order."""
    if isinstance(value, (int, float)):
        return [float(value)]
    parts = value.values() if isinstance(value, dict) else vars(value).values() if hasattr(value, "__dict__") else value
    return [number for part in parts for number in numbers(part)]


@pytest.mark.parametrize(
    ("file", "names", "said"), list(constants()), ids=lambda one: one if isinstance(one, str) else None
)
def test_the_constants_of_the_default_are_those_of_the_code(file, names, said):
    module = importlib.import_module(f"tupi.{file.removesuffix('.py').replace('/', '.')}")
    found = [numbers(getattr(module, name)) for name in names]
    if " to " in said:  # of many, the ends
        found = [[round(ends[0], 2), round(ends[-1], 1)] if len(ends) > 4 else ends for ends in found]
    found = [number for several in found for number in several]
    said = said.replace("2²⁷", str(1 << 27)).replace("log 999", str(math.log(999)))
    words = re.findall(r"-?[\d.]+(?:/\d+)?", re.sub(r"(\d),(?=\d{3})", r"\1", said))
    told = [float(Fraction(word)) for word in words]
    assert told == pytest.approx(found), said
