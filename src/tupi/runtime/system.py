"""The one door to what only some operating systems have."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_seeking = threading.Lock()


def try_lock(file: int) -> bool:
    """Lock an open file for this process alone until it is closed; return whether nobody else has it.

    Where the system knows no such locks everyone gets one.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def is_running(process: int) -> bool:
    """Return whether there is a process of this number; where that cannot be asked, the answer is yes."""
    if sys.platform == "win32":  # there, os.kill ends a process whatever the signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


def read_at(file: int, into: memoryview, offset: int) -> int:
    """Read bytes of a file from an offset on, and return how many: as many as there is room for, or fewer at its end.

    Threads may read the same file at a time.
    """
    room, done = into, 0
    while room:
        if hasattr(os, "preadv"):
            count = os.preadv(file, [room], offset + done)
        else:
            with _seeking:
                os.lseek(file, offset + done, os.SEEK_SET)
                content = os.read(file, len(room))
            count = len(content)
            room[:count] = content
        if count == 0:
            break
        room, done = room[count:], done + count
    return done


def write_at(file: int, data: memoryview, offset: int) -> None:
    """Write all bytes to a file from an offset on."""
    while data:
        if hasattr(os, "pwrite"):
            count = os.pwrite(file, data, offset)
        else:
            with _seeking:
                os.lseek(file, offset, os.SEEK_SET)
                count = os.write(file, data)
        data, offset = data[count:], offset + count


def flush_folder(folder: Path) -> None:
    """Have the disk know the names of new files in a folder, where folders can be opened."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def give_memory_back() -> None:
    """Return freed memory to the system, where the C library is one that keeps it for each thread that ever used it."""
    trim = _c_function("malloc_trim")  # glibc has it
    if trim is not None:
        trim(0)


def leave_with_parent(parent: int, every: float = 1.0) -> None:
    """Have this process end soon after the one that started it, which may be killed and then tells nobody.

    Parameters
    ----------
    parent : int
        The number of that process, from itself: it may be gone before this one asks for it.
    every : float
        Seconds between two looks.
    """

    def watch() -> None:
        while os.getppid() == parent:  # whose parent is gone gets another one
            time.sleep(every)
        os._exit(1)

    threading.Thread(target=watch, name="tupi-parent", daemon=True).start()


def keep_off_this_core(threads: Sequence[int]) -> None:
    """Ask that threads of this process run on other cores than the one on which the caller is about to work.

    Some systems wake a thread on the core of whoever wakes it, and notice after milliseconds that another core is idle:
    then two threads take longer than one. Where the system cannot be asked, or there is one core only, nothing happens.

    Parameters
    ----------
    threads : sequence of int
        Their numbers, as ``threading.get_native_id`` gives them; those that have ended are passed over.
    """
    if not threads or (this_core := _core_of_caller()) is None:
        return
    with suppress(OSError):  # not everybody may ask, and a thread may have ended
        others = os.sched_getaffinity(0) - {this_core}
        for thread in threads:
            if others and os.sched_getaffinity(thread) != others:
                os.sched_setaffinity(thread, others)


def _core_of_caller() -> int | None:
    """Return the core that the caller runs on, where the system tells."""
    asked = _c_function("sched_getcpu")
    return None if asked is None else int(asked())


@cache
def _c_function(name: str) -> Any:
    """Return a function of Linux's C library, which may lack it; it takes longer to find than to call."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
