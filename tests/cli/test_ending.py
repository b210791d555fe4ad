"""How `tupi denoise` ends: what changed, whether labels confirm it, and what to do."""

import re
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import tupi
from tupi.cli.group import tupi as command
from tupi.results.summary import next_step


@pytest.fixture
def files(tmp_path, monkeypatch, small):
    _, scores, views = small
    monkeypatch.chdir(tmp_path)
    np.save("scores.npy", scores)
    np.save("view.npy", next(iter(views.values())))
    return ["denoise", "scores.npy", "--features", "v=view.npy", "--out", "b.npy"]


def test_the_last_three_lines_are_what_a_person_needs(files):
    outcome = CliRunner().invoke(command, files)
    last = outcome.stdout.rstrip().splitlines()[-3:]
    assert [line.split(":")[0] for line in last] == ["What changed", "Labels", "What next"]
    assert last[1].startswith("Labels: there were no labels")
    assert "label about 30 items" in last[2]


def test_the_report_names_its_files_and_the_command(files):
    outcome = CliRunner().invoke(command, [*files, "--report", "a report.html"])
    assert outcome.exit_code == 0
    text = re.sub("</?span>", "", Path("a report.html").read_text())  # by which the command breaks between options
    cells = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', text)
    typed = "tupi denoise scores.npy --features v=view.npy --out b.npy --report &#x27;a report.html&#x27;"
    assert {("scores", "scores.npy"), ("view v", "view.npy"), ("written to", "b.npy"), ("command", typed)} <= set(cells)


def test_what_to_do_follows_from_what_the_labels_say(small):
    truth, scores, views = small
    result = tupi.denoise(scores, views, labels=tupi.Values(np.arange(30), truth[:30]))
    good = replace(result.evidence, low=0.01, high=0.1, accepted=True)

    class Told:
        task = "ranking"
        binary = False
        initial = scores
        changed = True
        evidence = good
        params: ClassVar[dict] = {}

    assert next_step(Told) == "use the new scores."
    Told.evidence = replace(good, low=-0.1, high=-0.01)
    assert next_step(Told).startswith("keep the scores that you have, or try another method")
    Told.evidence = replace(good, low=-0.1)
    assert "with care" in next_step(Told)
    Told.evidence = replace(good, low=np.nan)
    assert next_step(Told).startswith("add about 8 labels of items drawn at random")
    Told.evidence, Told.changed = good, False
    assert next_step(Told).startswith("keep the scores that you have;")
