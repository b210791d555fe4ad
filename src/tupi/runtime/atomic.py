"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tupi.runtime.system import is_running, try_lock

#: A file that is being written: hidden, and named after its process, so that it is known for what it is later.
UNFINISHED = ".unfinished"
TEMPORARY = re.compile(r"\.tupi-(?P<process>\d+)-\w+(\.\w*)?")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path in the same folder that takes the place of ``path`` on success, and vanishes on failure.

    A link stays a link: the file that it leads to is replaced. A process that is killed leaves its temporary file
    behind; the next one to write to that folder removes it.
    """
    path = Path(os.path.realpath(path))
    remove_abandoned(path.parent)
    suffix = path.suffix if re.fullmatch(r"\.\w{1,20}", path.suffix) else ""
    handle, name = tempfile.mkstemp(prefix=f".tupi-{os.getpid()}-", suffix=suffix, dir=path.parent)
    temporary = Path(name)
    try:
        try_lock(handle)  # held until it is closed or the process is gone
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes files private; outputs get the usual permissions
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


@contextmanager
def filling(folder: Path, pattern: str) -> Iterator[None]:
    """Mark a folder as unfinished while files of a pattern are written to it; on failure these are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".tupi-{os.getpid()}-", suffix=UNFINISHED, dir=folder)
    try:
        try_lock(handle)  # held until it is closed or the process is gone
        yield
    except BaseException:
        _empty(folder, pattern, Path(name))
        raise
    finally:
        os.close(handle)
    Path(name).unlink()


def is_free(folder: Path, pattern: str) -> bool:
    """Return whether a folder is new or empty, once what a killed process left of files of a pattern is gone."""
    if not folder.exists():
        return True
    for marker in folder.glob(f".tupi-*{UNFINISHED}"):
        if _is_abandoned(marker):
            _empty(folder, pattern, marker)
    remove_abandoned(folder)
    return folder.is_dir() and not any(folder.iterdir())


def _empty(folder: Path, pattern: str, marker: Path) -> None:
    for part in folder.glob(pattern):
        part.unlink(missing_ok=True)
    marker.unlink(missing_ok=True)  # last: until then, whatever is left belongs to nothing that is whole


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes that are gone."""
    with suppress(OSError):  # a folder that cannot be read has other problems, which the caller will meet
        for entry in os.scandir(folder):
            if not entry.name.endswith(UNFINISHED) and _is_abandoned(Path(entry.path)):
                with suppress(OSError):
                    os.unlink(entry.path)


def _is_abandoned(path: Path) -> bool:
    """Return whether a file is temporary, and whoever wrote it is gone.

    The name alone does not tell: a process of that number may be another one, or run on another machine that shares
    the folder. Whoever writes a file has it locked.
    """
    match = TEMPORARY.fullmatch(path.name)
    if match is None or is_running(int(match["process"])):
        return False
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return try_lock(handle)
    finally:
        os.close(handle)


def write_atomically(path: Path, content: bytes) -> Path:
    """Write bytes to a file, whole or not at all, and return its path."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return path
