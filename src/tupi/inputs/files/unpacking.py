"""Files as bytes: packed ones are unpacked on the way, up to a bound, and whatever is wrong with one is a sentence."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from tupi.runtime.errors import InputError

GZIP = b"\x1f\x8b"
LARGE, TIMES = 1 << 30, 100  # a file may unpack to this many bytes, or to this many times its size if that is more


@contextmanager
def refusing(called: Path | str, otherwise: str) -> Iterator[None]:
    """Make one sentence of whatever a reader says about a damaged file.

    Libraries that read files raise errors of many kinds, some of their own and some by accident (tokenize.TokenError,
    lzma.LZMAError, OverflowError, NotImplementedError, ...), so that all are caught here.

    Parameters
    ----------
    called : Path or str
        The file.
    otherwise : str
        What is said of it.
    """
    try:
        yield
    except (InputError, FileNotFoundError, PermissionError):
        raise
    except MemoryError:
        raise InputError(f"{called}: says that it holds more than fits into memory; it {otherwise}") from None
    except Exception:
        raise InputError(f"{called}: {otherwise}") from None


def most_bytes(path: Path) -> int:
    """Return how many bytes a file may unpack to."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(max(LARGE, TIMES * path.stat().st_size), memory)


def too_large(path: Path, limit: int) -> InputError:
    """Return the complaint about a file that unpacks to too much."""
    return InputError(
        f"{path}: unpacks to more than {limit / 1e9:.1f} GB, {limit // max(path.stat().st_size, 1)} times its size; "
        "accepted: less, or the unpacked file."
    )


def check_archive(path: Path) -> None:
    """Complain about a zip archive that is damaged or encrypted, or that unpacks to too much, before unpacking it."""
    limit = most_bytes(path)
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError(f"{path}: is encrypted; accepted: a file without a password.")
    if sum(entry.file_size for entry in entries) > limit:
        raise too_large(path, limit)


class _Bounded(io.RawIOBase):
    """A stream that complains as soon as it has given more than a number of bytes."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path, self._left = stream, path, most_bytes(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count: int = self._stream.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise too_large(self._path, most_bytes(self._path))
        return count

    def close(self) -> None:
        self._stream.close()
        super().close()


def is_packed(path: Path) -> bool:
    """Return whether a file is packed by gzip, whatever it is called."""
    with path.open("rb") as file:
        return file.read(2) == GZIP


def opened(path: Path) -> BinaryIO:
    """Open a file for reading; one packed by gzip gives what it unpacks to."""
    if is_packed(path):
        return io.BufferedReader(_Bounded(gzip.open(path, "rb"), path), 1 << 16)
    return path.open("rb")
