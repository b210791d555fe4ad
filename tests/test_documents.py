"""What documents and scripts say about themselves is so."""

import pkgutil
import re
import runpy
import subprocess
from pathlib import Path

import pytest

from tests import run_readme
from tupi.judging.catalogue import ALL_METRICS

ROOT = Path(__file__).parents[1]


def test_the_readmes_examples_that_run_are_those_that_the_script_names(monkeypatch):
    ran = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: ran.append(command[-1]))
    assert run_readme.main() == 0
    blocks = run_readme.BLOCK.findall((ROOT / "README.md").read_text())
    expected = [text for language, text in blocks if language == "python" or text.startswith("tupi ")]
    assert len(ran) == len(expected) > 2
    assert run_readme.__doc__.endswith("each ```python block, and each ```bash block that begins with `tupi`.")


def test_a_changelog_without_a_release_speaks_of_no_earlier_one():
    text = (ROOT / "CHANGELOG.md").read_text()
    if text.count("\n## ") == 1:  # Unreleased alone
        assert "no longer" not in text


def test_the_picture_of_the_folders_is_up_to_date():
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = runpy.run_path(str(ROOT / "docs" / "draw_architecture.py"))["redrawn"](page)
    assert drawn == page, "run: python docs/draw_architecture.py"
    assert "flowchart TD" in page


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
        "at least 0.1111 and are taken for 'yes'",
        "log loss went from",
        "worst_error",
    ):
        assert words in said


def test_the_table_of_metrics_lists_all_of_them():
    listed = re.findall(r"^\| `([\w@]+)`", (ROOT / "docs" / "tasks.md").read_text(), flags=re.MULTILINE)
    assert {re.sub(r"@\d+", "@k", key) for key in listed} == {metric.key for metric in ALL_METRICS}
