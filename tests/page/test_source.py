"""Scripts and commands that repeat what a page shows read files as the page did."""

import ast
import shlex

from tupi.inputs.files import InputFiles
from tupi.page.source import PageSource

CHOICES = {"columns": ("gist=a,b",), "drop": ("c", "gist=d"), "duplicates": "mean"}
ORIGIN = InputFiles("scores.csv", {"gist": "gist.csv"}, score=("s",), **CHOICES)


def test_the_command_chooses_the_same_columns_and_rows():
    words = shlex.split(PageSource([], {}, origin=ORIGIN).command(None, "auto", {}))
    given = [(words[k], words[k + 1]) for k in range(3, len(words), 2)]
    for expected in (
        ("--columns", "gist=a,b"),
        ("--drop", "c"),
        ("--drop", "gist=d"),
        ("--duplicates", "mean"),
        ("--score", "s"),
    ):
        assert expected in given


def test_the_script_chooses_the_same_columns_and_rows():
    script = ast.parse(PageSource([], {}, origin=ORIGIN).python(None, "auto", {}))
    calls = [node for node in ast.walk(script) if isinstance(node, ast.Call)]
    (reading,) = (call for call in calls if getattr(call.func, "attr", "") == "read_inputs")
    found = {word.arg: ast.literal_eval(word.value) for word in reading.keywords}
    assert {name: found[name] for name in CHOICES} == CHOICES
