"""Scripts and commands that repeat what a page shows read files as the page did."""

import ast
import shlex

import numpy as np
import pandas as pd

from tupi.inputs.files import InputFiles
from tupi.page.source import MAX_FACTS, PageSource, read_source

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


def test_items_are_told_apart_by_columns_of_their_tables(tmp_path):
    """Whoever was asked for the class of item 2 saw nothing but the number 2, or even the label itself."""
    ids = ["a", "b", "c", "d"]
    frame = pd.DataFrame({"id": ids, "score": [1.0, 2, 3, 4], "truth": [9.0, np.nan, 7, np.nan], "town": list("wxyz")})
    frame.to_csv(tmp_path / "all.csv", index=False)
    rooms = pd.DataFrame({"id": ids[::-1], "price": [4.0, 3.0, 2.0, 1.0], "town": list("dcba")})
    rooms.to_csv(tmp_path / "rooms.csv", index=False)
    wide = pd.DataFrame(np.arange(4 * (MAX_FACTS + 1)).reshape(4, -1)).add_prefix("e").assign(id=ids)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    features = {name: str(tmp_path / f"{name}.csv") for name in ("rooms", "wide")}
    scores = str(tmp_path / "all.csv")
    source = read_source(InputFiles(scores, features, labels=scores, score=("score",), label="truth"))
    assert source.facts.to_dict("list") == {"town": list("wxyz"), "price": [1.0, 2.0, 3.0, 4.0]}
    wide.assign(words=list("abcd")).to_csv(tmp_path / "wide.csv", index=False)
    source = read_source(InputFiles(scores, {"wide": features["wide"]}, score=("score",)))
    assert list(source.facts) == ["truth", "town", *wide.columns[: MAX_FACTS - 2]]
