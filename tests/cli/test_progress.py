"""How long a run still takes, as the terminal says it."""

from __future__ import annotations

import numpy as np
import pytest
from rich.progress import Progress

import tupi
from tupi.cli.progress import DONE, PartsLeft, ProgressBar, TimeLeft
from tupi.runtime.computing import COMPILING


@pytest.fixture
def timed(monkeypatch):
    """Return a bar, and a clock by which it goes."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar, clock = ProgressBar(), [0.0]
    bar._bar = Progress(get_time=lambda: clock[0], disable=True)
    return bar, clock


def test_the_time_left_follows_from_the_share_that_is_done(timed):
    bar, clock = timed
    with bar:
        (task,) = bar._bar.tasks
        for seconds, sentence, expected in (
            (0, "Testing which views depend on the predictions", ""),  # from here on it is timed
            (10, "Placing anchors", "about 90 s left,"),  # a tenth is done after ten seconds
            (40, None, "about 60 s left,"),
            (41, "Something of which nothing is known", "about 59 s left,"),
            (48, "Averaging over alike items", "about 52 s left,"),
            (99, "Writing", "about 2 s left,"),
            (102, None, "nearly done,"),
        ):
            clock[0] = seconds
            if sentence is not None:
                bar.say(sentence)
            assert str(TimeLeft().render(task)).replace("2 min", "90 s") == expected


def test_files_have_shares_of_their_own(timed):
    """What a method's parts take says nothing of the files before it."""
    bar, clock = timed
    with bar:
        (task,) = bar._bar.tasks
        bar.read("scores.csv", 0.0)
        clock[0] = 6
        bar.read("big/gist.csv", 0.25)  # a quarter took six seconds
        assert str(TimeLeft().render(task)) == "about 18 s of reading left,"
        assert task.description == "Reading gist.csv"
        clock[0] = 24
        bar.say("Testing which views depend on the predictions")
        assert str(TimeLeft().render(task)) == ""
        clock[0] = 25
        bar.say("Placing anchors")  # a tenth took one second
        assert str(TimeLeft().render(task)) == "about 9 s left,"


def test_work_that_was_timed_beforehand_tells_the_time_left(timed):
    bar, clock = timed
    with bar:
        (task,) = bar._bar.tasks
        bar.read("scores.csv", 0.0)
        clock[0] = 5
        bar.expect("Predicting 200,000 items", 12.0)
        assert str(TimeLeft().render(task)) == "about 12 s left,"
        clock[0] = 9
        assert str(TimeLeft().render(task)) == "about 8 s left,"
        clock[0] = 18
        bar.expect("Writing", 0.0)
        assert str(TimeLeft().render(task)) == "nearly done,"


def test_steps_of_the_paper_tell_the_time_left(timed):
    bar, clock = timed
    with bar:
        bar.say("Embedding view gist")
        for t in range(26):  # halfway from .12 to .67 after 39.5 s
            clock[0] = 39.5 * t / 25
            bar.step(tupi.Step(t, np.zeros(3), np.ones(1), np.ones(1)))
        assert str(TimeLeft().render(bar._bar.tasks[0])) == "about 60 s left,"


@pytest.mark.parametrize("method", ["auto", "tupi"])
def test_all_that_is_said_of_a_run_is_known(method):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    said: list[str] = []
    views = {"a": truth[:, None] + rng.normal(size=(60, 2)), "b": rng.normal(size=(60, 2))}
    known = tupi.Values(range(20), truth[:20])
    tupi.denoise(truth + rng.normal(size=60), views, known, method=method, progress=said.append)
    assert len(said) >= 3
    assert [one for one in said if one != COMPILING and not one.startswith(tuple(DONE))] == []


def test_parts_tell_the_time_left_once_one_is_done(monkeypatch):
    """While the first of several methods ran, the bar said "-:--:-- left"."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    bar, clock = ProgressBar(parts=4), [0.0]
    columns = [type(column) for column in bar._bar.columns]
    assert PartsLeft in columns
    assert TimeLeft not in columns
    bar._bar = Progress(get_time=lambda: clock[0], disable=True)
    with bar:
        (task,) = bar._bar.tasks
        for seconds, part, expected in (
            (0, "auto", ""),
            (10, "ridge", "about 30 s left,"),
            (20, "gp", "about 20 s left,"),
        ):
            clock[0] = seconds
            bar.part(part)
            assert str(PartsLeft().render(task)) == expected
        clock[0] = 35
        assert str(PartsLeft().render(task)) == "about 5 s left,"
        clock[0] = 41
        assert str(PartsLeft().render(task)) == "nearly done,"
