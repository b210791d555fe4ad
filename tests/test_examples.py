"""Examples that need nothing but the package do what they say."""

import re
import subprocess
import sys
from pathlib import Path

import tupi

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *words):
    """Run an example and return the lines that it prints."""
    ran = subprocess.run([sys.executable, EXAMPLES / name, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_results_of_queries_that_nobody_judged_are_in_a_better_order(tmp_path):
    evidence, others = run("search.py", tmp_path / "search.png")
    assert "NDCG@10 within groups went from" in evidence
    before, after = map(float, re.findall(r"0\.\d+", others))
    assert after > before + 0.1
    assert (tmp_path / "search.png").stat().st_size > 10_000


def test_a_classifier_gains_by_what_it_never_saw(tmp_path):
    evidence, before, after, decided = run("classifier.py", tmp_path / "classifier.png")
    assert "log loss went from" in evidence
    old, new = (
        dict(zip(("loss", "area"), map(float, re.findall(r"0\.\d+", line)), strict=True)) for line in (before, after)
    )
    assert new["loss"] < old["loss"] / 2
    assert new["area"] > old["area"] + 0.1
    assert "are taken for 'malignant'" in decided
    assert (tmp_path / "classifier.png").stat().st_size > 10_000


def test_a_result_goes_from_day_to_day(tmp_path):
    monday, tuesday, unchanged, changed, wednesday = run("production.py", tmp_path)
    for line in (monday, tuesday):
        before, after = map(float, re.findall(r"0\.\d+", line))
        assert after > before + 0.03
    assert "look like the 600" in unchanged
    assert "differ from the 600 that the result was made on in view sensor" in changed
    initial, by_monday, taught = map(float, re.findall(r"0\.\d+", wednesday))
    assert initial < by_monday < taught
    assert len(tupi.load(tmp_path / "run.npz").predictions) == 0
