"""Sentences on a terminal break between words; a file or another program gets each as one line."""

import io

import pytest

from tupi.cli import printing
from tupi.cli.group import _end

LONG = "The predictions of these items were compared with views that the predictor-in-question never saw, and stayed."


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")


def test_sentences_break_between_words(narrow, monkeypatch):
    for kind, whole in ((Terminal, False), (io.StringIO, True)):
        monkeypatch.setattr("sys.stdout", kind())
        printing.say(LONG)
        lines = printing.Console().file.getvalue().splitlines()
        assert (len(lines) == 1) is whole
        assert " ".join(line.strip() for line in lines) == LONG
        assert whole or max(map(len, lines)) <= 40


def test_errors_break_between_words(narrow, monkeypatch):
    for kind, whole in ((Terminal, False), (io.StringIO, True)):
        monkeypatch.setattr("sys.stderr", stderr := kind())
        with pytest.raises(SystemExit):
            _end(LONG, 2)
        lines = stderr.getvalue().splitlines()
        assert (len(lines) == 1) is whole
        assert " ".join(lines) == f"tupi: {LONG}"
