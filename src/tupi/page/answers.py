"""Answers of people, in an append-only file of JSON lines: what was called saved survives a kill."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tupi.runtime.errors import InputError
from tupi.runtime.system import flush_folder, try_lock

VERDICTS = ("left", "right", "equal", "skip")
FORMAT = 1
BEGINNING = b'{"tupi"'  # less than that of a header that a kill cut short could be anybody's
MAX_TEXT = 100  # characters of a rater's name or of a key


@dataclass(frozen=True)
class PairAnswer:
    """What one person said about two items.

    Attributes
    ----------
    key : str
        Chosen by the page, so that an answer that is sent twice counts once.
    rater : str
        Who said it.
    left, right : int
        Positions of the items.
    verdict : {"left", "right", "equal", "skip"}
        Which one is higher.
    time : str
        When, in UTC.
    drawn : {"random", "chosen"}
        How the pair was drawn: uniformly from all pairs, or for what its answer would tell. Where that is not known, it
        counts as chosen.
    """

    key: str
    rater: str
    left: int
    right: int
    verdict: str
    time: str = ""
    drawn: str = "chosen"


@dataclass(frozen=True)
class Told:
    """What one person said of one item.

    Attributes
    ----------
    key, rater, time
        As of a `PairAnswer`.
    item : int
        Position of the item.
    value : float, str or None
        Its value, or its class by name; None if the person skipped it.
    """

    key: str
    rater: str
    item: int
    value: float | str | None
    time: str = ""

    @property
    def verdict(self) -> str:
        """Whether the person said something, for counts."""
        return "skip" if self.value is None else "value"


Said = PairAnswer | Told


class AnswerFile:
    """All answers, in memory and on disk.

    A line is written and flushed to the disk before `append` returns. A last line that a kill cut short was never
    called saved; it is removed when the file is opened again. Undoing appends a line, too. A file that
    anything else wrote is refused and stays as it is.

    Parameters
    ----------
    path : path
        The file; it is made if it is not there.
    n : int
        Number of items.
    names : sequence of str, optional
        The items' ids; without them the file holds row numbers.
    asks : {"pairs", "values", "classes"}
        What answers are about: two items each, or the value or class of one.
    """

    def __init__(self, path: str | Path, n: int, names: list[str] | None = None, asks: str = "pairs") -> None:
        self.path, self._n, self._names, self._asks = Path(path), n, names, asks
        self._positions = None if names is None else {name: k for k, name in enumerate(names)}
        self._lock = threading.Lock()
        self.version = 0  # how often the answers changed since the file was opened
        self._answers: dict[str, Said] = {}
        self._used: set[str] = set()  # keys, those of undone answers and of undoing included
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self._lock_file()
            self._read()
        except BaseException:
            os.close(self._file)
            raise

    def _lock_file(self) -> None:
        if not try_lock(self._file):
            raise InputError(
                f"--answers: {self.path} is in use by another `tupi serve`; accepted: another file, or that page."
            )

    def _read(self) -> None:
        """Read all answers. Nothing is written before all of it is known to be ours."""
        with self.path.open("rb") as file:
            content = file.read()
        header = {"tupi": "answers", "format": FORMAT, "items": self._n, "by": self._by}
        if self._asks != "pairs":
            header["asks"] = self._asks
        whole = content[: content.rfind(b"\n") + 1]
        if whole:
            lines = whole.decode("utf-8", "replace").splitlines()
            self._check_header(self._parse(lines[0], 1))
            for number, line in enumerate(lines[1:], start=2):
                self._replay(self._parse(line, number), number)
        elif content and not (content.startswith(BEGINNING) and _line(header).startswith(content)):
            raise self._unreadable(1)
        if len(whole) < len(content):
            os.ftruncate(self._file, len(whole))
            os.fsync(self._file)
        if not whole:
            self._write(header)
            flush_folder(self.path.parent)

    @property
    def _by(self) -> str:
        return "row" if self._names is None else "id"

    def _parse(self, line: str, number: int) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise self._unreadable(number)
        return entry

    def _unreadable(self, number: int) -> InputError:
        return InputError(
            f"--answers: line {number} of {self.path} is not an answer; accepted: a file that `tupi serve` wrote, "
            "or one that does not exist yet."
        )

    def _check_header(self, header: dict[str, Any]) -> None:
        if header.get("tupi") != "answers":
            raise self._unreadable(1)
        if header.get("format") != FORMAT:
            raise InputError(f"--answers: {self.path} was written by another version of tupi; accepted: a new file.")
        if header.get("by") != self._by or (self._by == "row" and header.get("items") != self._n):
            raise InputError(
                f"--answers: {self.path} is about {header.get('items')} items known by {header.get('by')}, and these "
                f"are {self._n} known by {self._by}; accepted: answers about the same items, or a new file."
            )
        if (asks := header.get("asks", "pairs")) != self._asks:
            raise InputError(
                f"--answers: {self.path} holds answers about {asks}, and this page asks about {self._asks}; accepted: "
                "answers to the same questions, or a new file."
            )

    def _replay(self, entry: dict[str, Any], number: int) -> None:
        try:
            if "undo" in entry:
                self._answers.pop(entry["undo"], None)
            else:
                read = self._compared if self._asks == "pairs" else self._told
                self._answers[str(entry["key"])] = read(entry)
            self._used.add(str(entry["key"]))
        except InputError:
            raise
        except (KeyError, ValueError, TypeError):
            raise self._unreadable(number) from None

    def _compared(self, entry: dict[str, Any]) -> PairAnswer:
        left, right = self._position(entry["left"]), self._position(entry["right"])
        verdict = str(entry["answer"])
        if verdict not in VERDICTS or left == right:
            raise ValueError
        drawn = "random" if entry.get("drawn") == "random" else "chosen"
        return PairAnswer(
            str(entry["key"]), str(entry["rater"]), left, right, verdict, str(entry.get("time", "")), drawn
        )

    def _told(self, entry: dict[str, Any]) -> Told:
        value = entry["value"]
        if value is not None:
            value = float(value) if self._asks == "values" else str(value)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError
        item = self._position(entry["item"])
        return Told(str(entry["key"]), str(entry["rater"]), item, value, str(entry.get("time", "")))

    def _position(self, name: Any) -> int:
        if self._positions is not None:
            if str(name) not in self._positions:
                raise InputError(
                    f"--answers: {self.path} mentions the item {str(name)!r}, which is not among the predictions; "
                    "accepted: answers about the same items, or a new file."
                )
            return self._positions[str(name)]
        position = int(name)
        if not 0 <= position < self._n:
            raise ValueError
        return position

    def _name(self, position: int) -> str | int:
        return position if self._names is None else self._names[position]

    @property
    def answers(self) -> list[Said]:
        """All answers that were not undone, in the order in which they came."""
        with self._lock:
            return list(self._answers.values())

    def snapshot(self) -> tuple[int, list[Said]]:
        """Return how often the answers changed since the file was opened, and all of them."""
        with self._lock:
            return self.version, list(self._answers.values())

    def append(self, answer: Said) -> None:
        """Save an answer; one with a key that was used before is already saved."""
        _check(answer, self._n)
        with self._lock:
            if answer.key in self._used:
                return
            answer = replace(answer, time=answer.time or _now())
            self._write(self._entry(answer))
            self._used.add(answer.key)
            self._answers[answer.key] = answer
            self.version += 1

    def _entry(self, answer: Said) -> dict[str, Any]:
        """Return an answer as a line of the file has it."""
        entry: dict[str, Any] = {"key": answer.key, "time": answer.time, "rater": answer.rater}
        if isinstance(answer, Told):
            return entry | {"item": self._name(answer.item), "value": answer.value}
        left, right = self._name(answer.left), self._name(answer.right)
        return entry | {"left": left, "right": right, "answer": answer.verdict, "drawn": answer.drawn}

    def undo(self, rater: str, key: str) -> Said | None:
        """Take a rater's last answer back and return it; None if there is none, or if the key was used before."""
        _check_text("key", key)
        with self._lock:
            mine = [answer for answer in self._answers.values() if answer.rater == rater]
            if not mine or key in self._used:
                return None
            self._write({"key": key, "time": _now(), "rater": rater, "undo": mine[-1].key})
            self._used.add(key)
            self.version += 1
            return self._answers.pop(mine[-1].key)

    def _write(self, entry: dict[str, Any]) -> None:
        line = _line(entry)
        size = os.fstat(self._file).st_size
        try:
            _write_all(self._file, line, os.write)
            os.fsync(self._file)
        except OSError:
            os.ftruncate(self._file, size)  # a full disk must not leave half a line before the next one
            raise
        if not self._is_there():
            raise InputError(
                f"answers: {self.path.name} was deleted or replaced while it was in use, so nothing more can be saved; "
                "start tupi serve again."
            )

    def _is_there(self) -> bool:
        """Return whether the path still leads to the open file: what is written to a deleted one is lost."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))
        except OSError:
            return False

    def close(self) -> None:
        """Let others use the file."""
        with self._lock:
            os.close(self._file)


def _check(answer: Said, n: int) -> None:
    if isinstance(answer, Told):
        _check_position("item", answer.item, n)
        if isinstance(answer.value, float) and not math.isfinite(answer.value):
            raise InputError(f"value: found {answer.value}; accepted: a finite number.")
    else:
        if answer.verdict not in VERDICTS:
            raise InputError(f"answer: found {answer.verdict!r}; accepted: {', '.join(VERDICTS)}.")
        _check_position("left", answer.left, n)
        _check_position("right", answer.right, n)
        if answer.left == answer.right:
            raise InputError("right: found the same item as left; accepted: two different items.")
    _check_text("rater", answer.rater)
    _check_text("key", answer.key)


def _check_position(name: str, position: int, n: int) -> None:
    if not 0 <= position < n:
        raise InputError(f"{name}: found {position}; accepted: an item from 0 to {n - 1}.")


def _check_text(name: str, text: str) -> None:
    if not 1 <= len(text) <= MAX_TEXT:
        raise InputError(f"{name}: found {len(text)} characters; accepted: 1 to {MAX_TEXT}.")


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True).encode() + b"\n"


def _write_all(file: int, data: bytes, write: Callable[[int, bytes], int]) -> None:
    while data:
        data = data[write(file, data) :]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
