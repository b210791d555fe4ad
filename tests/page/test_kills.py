"""Answers that were called saved survive a kill at any write boundary, and a disk that is full."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tupi.page.answers import AnswerFile, PairAnswer

KILLS = 1000


class KilledError(BaseException):
    """What a kill looks like from inside: nothing after it runs."""


class Dying:
    """`os` for the file of answers, which writes some bytes at a time and dies after so many calls."""

    def __init__(self, left: int, rng: np.random.Generator) -> None:
        self.left, self._rng = left, rng

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise KilledError

    def write(self, handle: int, data: bytes) -> int:
        self._count()
        return WRITE(handle, data[: self._rng.integers(1, 60)])

    def fsync(self, handle: int) -> None:
        self._count()
        FSYNC(handle)


WRITE, FSYNC = os.write, os.fsync


class Writing:
    """Somebody who answers and takes answers back until a kill, and what was called saved by then."""

    def __init__(self, path: Path, name: str, saved: dict[str, PairAnswer], undone: set[str]) -> None:
        self.path, self.name, self.saved, self.undone = path, name, saved, undone
        self.file: AnswerFile | None = None
        self.begun, self.undoing = "", False

    def write(self, rng: np.random.Generator) -> None:
        self.file = AnswerFile(self.path, 9)
        for number in range(100):
            self.begun, self.undoing = f"{self.name}-{number}", bool(self.saved) and rng.random() < 0.2
            if self.undoing:
                back = self.file.undo("ann", f"u{self.begun}")
                assert back is not None
                self.undone.add(back.key)
                del self.saved[back.key]
            else:
                answer = PairAnswer(self.begun, "ann", int(rng.integers(4)), int(rng.integers(4, 9)), "left")
                self.file.append(answer)
                self.saved[self.begun] = answer


def test_a_thousand_kills_lose_no_answer_that_was_called_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, rng = tmp_path / "answers.jsonl", np.random.default_rng(0)
    saved: dict[str, PairAnswer] = {}
    undone: set[str] = set()
    for kill in range(KILLS):
        dying = Dying(int(rng.integers(1, 25)), rng)
        monkeypatch.setattr(os, "write", dying.write)
        monkeypatch.setattr(os, "fsync", dying.fsync)
        killed = Writing(path, f"{kill}", saved, undone)
        with pytest.raises(KilledError):
            killed.write(rng)
        monkeypatch.undo()
        if killed.file is not None:
            killed.file.close()
        again = AnswerFile(path, 9)
        found = {answer.key: answer for answer in again.answers}
        again.close()
        # What was in progress may have reached the disk before the kill, or not; nobody was told of it.
        assert set(found) - set(saved) <= {killed.begun}
        assert set(saved) - set(found) <= ({list(saved)[-1]} if killed.undoing else set())
        assert not undone & found.keys()
        saved = found
        if len(saved) > 60:
            path.unlink()
            saved, undone = {}, set()


FULL = """
import resource, signal, sys
from tupi.page.answers import PairAnswer, AnswerFile

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = AnswerFile(sys.argv[1], 9)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
for k in range(100):
    try:
        file.append(PairAnswer(str(k), "ann", 0, 1, "left"))
    except OSError as problem:
        print(problem.strerror)
        break
    print(k)
"""


def test_a_full_disk_ends_with_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=True)
    *saved, said = done.stdout.split("\n")[:-1]
    assert said == "File too large"
    assert 5 < len(saved) < 30
    file = AnswerFile(path, 9)
    assert [answer.key for answer in file.answers] == saved
    file.close()
