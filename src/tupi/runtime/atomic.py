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


def remove_abandoned(folder: Path) -> None:
    """Remove temporary files of processes that are gone.

    The name alone does not tell: a process of that number may be another one, or run on another machine that shares
    the folder. Whoever writes a file has it locked.
    """
    with suppress(OSError):  # a folder that cannot be read has other problems, which the caller will meet
        for entry in os.scandir(folder):
            match = TEMPORARY.fullmatch(entry.name)
            if match is None or is_running(int(match["process"])):
                continue
            with suppress(OSError):
                handle = os.open(entry.path, os.O_RDWR)
                try:
                    if try_lock(handle):
                        os.unlink(entry.path)
                finally:
                    os.close(handle)


def write_atomically(path: Path, content: bytes) -> Path:
    """Write bytes to a file, whole or not at all, and return its path."""
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    return path
