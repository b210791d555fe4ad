"""Whoever follows CONTRIBUTING.md has a new method in one file and one line."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import tupi
from tests.methods.battery import CHECKS, case_for, cells, make_case
from tupi.methods import METHODS

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
SECTION = TEXT.partition("## A new method")[2]


@pytest.fixture
def example(tmp_path, monkeypatch):
    """Write the file and the line that the text shows, and return the class that is a method from then on."""
    (name,) = re.findall(r"`src/tupi/methods/(\w+)\.py`", SECTION)
    (code,) = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    (line,) = re.findall(r"^    (\w+),$", re.sub(r"```.*?```", "", SECTION, flags=re.DOTALL), re.MULTILINE)
    path = tmp_path / f"{name}.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(f"tupi.methods.{name}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    kind = getattr(module, line)
    monkeypatch.setitem(METHODS, kind.name, kind)
    return kind


def test_the_example_is_found_by_its_name(example):
    assert example.name in tupi.methods()
    case = make_case("ranking", "values", single=False)
    result = tupi.denoise(case.scores, case.views, case.labels, method=example.name)
    assert result.method == example.name
    with pytest.raises(tupi.InputError, match="alpha: found -1; accepted"):
        tupi.denoise(case.scores, case.views, method=example.name, alpha=-1)


@pytest.mark.parametrize("check", CHECKS)
def test_the_example_passes_the_battery(example, check):
    for task, labels in cells(check):
        CHECKS[check](example(), case_for(example(), task, labels))


def test_every_folder_is_in_the_table():
    folders = {path.parent.name for path in Path(tupi.__file__).parent.glob("*/__init__.py")}
    assert {name for name in folders if f"`{name}/`" not in TEXT} == set()
