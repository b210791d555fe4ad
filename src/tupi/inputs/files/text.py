"""Text tables as people have them: which encoding, which separator, which names."""

from __future__ import annotations

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tupi.inputs.files.unpacking import is_packed, opened, refusing
from tupi.runtime.errors import InputError

UNNAMED = "Unnamed: 0"  # what pandas calls a first column without a name, such as an index that it wrote itself
# Before pandas 3.1, numbers were read to the last bit only on request; since then always, and asking is deprecated.
EXACT = {"float_precision": "round_trip"} if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1) else {}
HEAD, CHUNK, LINES = 1 << 16, 1 << 20, 50  # bytes, bytes and lines that are looked at
BLANKS = r"\s+"
CANDIDATES = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", BLANKS: "blanks"}
MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
OTHERS = {
    b"PK\x03\x04": "an Excel file or another zip archive; accepted: its own suffix, .xlsx or .npz",
    b"\xd0\xcf\x11\xe0": "an old or encrypted Excel file; accepted: .xlsx without a password, or .csv",
    b"PAR1": "a Parquet file; accepted: its own suffix, .parquet",
    b"\x93NUMPY": "an array of numpy; accepted: its own suffix, .npy",
    b"%PDF": "a PDF; accepted: a table",
}
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True)
class TextFile:
    """A text table and how it is to be read.

    Attributes
    ----------
    path : Path
        The file.
    encoding, separator : str
        How characters and fields are written.
    skipped : int
        Lines before the one with the names: one where Excel has written ``sep=;``.
    """

    path: Path
    encoding: str
    separator: str
    skipped: int = 0

    @classmethod
    def of(cls, path: Path) -> TextFile:
        """Find out how a file is to be read."""
        with refusing(path, "cannot be unpacked; accepted: a whole gzip file, or the unpacked table."):
            encoding = _encoding(path)
            with opened(path) as file:
                head = file.read(HEAD).decode(encoding, "replace")
        text = head.lstrip("\ufeff")
        if text.lstrip()[:14].lower().startswith(("<!doctype html", "<html")):
            raise InputError(f"{path}: is a web page; accepted: the table itself, such as its download as CSV.")
        lines = text.splitlines()[: LINES + 1]
        if len(head) >= HEAD // 2 and len(lines) > 2:
            lines = lines[:-1]  # cut off somewhere
        if lines and (said := re.fullmatch(r"sep=(.)", lines[0].strip('" '))):
            return cls(path, encoding, said[1], 1)
        return cls(path, encoding, _separator(path, lines))

    @property
    def sentence(self) -> str:
        """How it was read."""
        names = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "Latin-1 (Windows-1252)"}
        packed = "packed by gzip, " if is_packed(self.path) else ""
        encoding = names.get(self.encoding, self.encoding.upper())
        return f"{packed}separated by {NAMES.get(self.separator, repr(self.separator))}, {encoding}"

    def read(self) -> pd.DataFrame:
        """Return the table with unique names of columns, and rows numbered from 0."""
        header = self._header()
        # In a table of one column an empty line is a missing value; elsewhere it is only an empty line.
        frame = self._parse(skip_blank_lines=len(header) > 1, **EXACT)
        if not isinstance(frame.index, pd.RangeIndex):  # pandas takes surplus fields for an index
            raise InputError(f"{self.path}: rows have more fields than the first line has names.")
        frame.columns = pd.Index(header)
        if len(header) > 1 and not header[-1] and frame.iloc[:, -1].isna().all():
            frame = frame.iloc[:, :-1]  # each line ends with a separator
        self._check_names(list(frame.columns))
        frame.columns = pd.Index([name or UNNAMED for name in frame.columns])
        return frame

    def raw(self, position: int) -> pd.Series:
        """Return a column as text, exactly as the file has it; empty where it has nothing."""
        # Columns are found by position: pandas calls a column without a name by a name of its own.
        several = len(self._header()) > 1
        text = self._parse(usecols=[position], dtype=str, keep_default_na=False, skip_blank_lines=several)
        return text.iloc[:, 0].str.strip()

    def _header(self) -> list[str]:
        first = self._parse(header=None, nrows=1, dtype=str, keep_default_na=False)
        return [str(name).strip() for name in first.iloc[0]]

    def _check_names(self, names: list[str]) -> None:
        """Complain where the first line holds no names."""
        for k, name in enumerate(names):
            if not name and k > 0:
                raise InputError(
                    f"{self.path}: column {k + 1} has no name; accepted: a first line with a name per column."
                )
            if names.index(name) < k:
                raise InputError(f"{self.path}: column {name!r} occurs more than once; accepted: unique names.")
        numbered = names == [str(k) for k in range(len(names))]  # as pandas writes the columns of an array
        if not numbered and all(_is_number(name) for name in names):
            raise InputError(
                f"{self.path}: the first line holds numbers only ({', '.join(names[:3])}), so the columns have no "
                "names; accepted: a first line with names."
            )

    def _parse(self, **options: Any) -> pd.DataFrame:
        with refusing(self.path, "cannot be read as a table."):
            try:
                with opened(self.path) as file:
                    frame = pd.read_csv(
                        file,
                        sep=self.separator,
                        encoding=self.encoding,
                        encoding_errors="replace" if self.encoding == "cp1252" else "strict",
                        skiprows=self.skipped,
                        skipinitialspace=True,
                        low_memory=False,
                        **options,
                    )
            except InputError:
                raise
            except pd.errors.EmptyDataError:
                raise InputError(f"{self.path}: is empty.") from None
            except (pd.errors.ParserError, ValueError) as problem:
                said = " ".join(str(problem).split())
                raise InputError(f"{self.path}: cannot be read as a table ({said}).") from None
        return frame


def _encoding(path: Path) -> str:
    """Return how characters are written: by the mark at the beginning, or as UTF-8 if that fits, or as Windows does."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened(path) as file:
        start = file.read(HEAD)
        for mark, what in OTHERS.items():
            if start.startswith(mark):
                raise InputError(f"{path}: is {what}.")
        for mark, encoding in MARKS.items():
            if start.startswith(mark):
                return encoding
        if CONTROL.search(start):
            return _without_mark(path, start)
        chunk = start
        while chunk:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as problem:
                _check_not_damaged(path, chunk, problem.start)
                return "cp1252"
            chunk = file.read(CHUNK)
    return "utf-8"


def _without_mark(path: Path, start: bytes) -> str:
    """Return which of the two byte orders of UTF-16 has its zeros where these are; complain if none has."""
    zeros = np.frombuffer(start[: len(start) // 2 * 2], np.uint8).reshape(-1, 2) == 0
    for column, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if zeros[:, column].mean() > 0.5 and not zeros[:, 1 - column].any():
            return encoding
    raise InputError(f"{path}: holds bytes that are no text; accepted: a table as text, or its own suffix.")


def _check_not_damaged(path: Path, chunk: bytes, place: int) -> None:
    """Complain about text that is UTF-8 but for a few bytes: as anything else it would be misread without a word."""
    read = chunk.decode("utf-8", "replace")
    broken = read.count("\ufffd")
    if sum(character > "\x7f" for character in read) > 3 * broken:
        raise InputError(
            f"{path}: is UTF-8 text but for {broken} byte(s), one near {chunk[max(0, place - 10) : place + 10]!r}; "
            "accepted: UTF-8, UTF-16 or Latin-1 throughout."
        )


def _separator(path: Path, lines: list[str]) -> str:
    """Return what separates fields: what gives all lines as many fields as the first, a comma or the suffix first."""
    usual = "\t" if ".tsv" in "".join(path.suffixes).lower() else ","
    filled = [line for line in lines if line.strip()]
    if not filled:
        return usual
    counts = {mark: _fields(filled, mark) for mark in dict.fromkeys((usual, *CANDIDATES))}
    for mark, fields in counts.items():
        if fields[0] > 1 and len(set(fields)) == 1:
            return mark
    if ".txt" in "".join(path.suffixes).lower():
        blanks = [len(line.split()) for line in filled]
        if blanks[0] > 1 and len(set(blanks)) == 1:
            return BLANKS
    # Lines of different lengths: the separator that the names have, so that the complaint is about the right thing.
    most = max(counts, key=lambda mark: counts[mark][0])
    return most if counts[most][0] > 1 else usual


def _fields(lines: list[str], mark: str) -> list[int]:
    try:
        return [len(row) for row in csv.reader(io.StringIO("\n".join(lines)), delimiter=mark) if row]
    except csv.Error:
        return [1]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
