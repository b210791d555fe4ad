"""What passes over items are computed with: compiled functions, threads that they run on, and memory for them."""

from __future__ import annotations

import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from tupi.runtime.system import keep_off_this_core

COMPILING = "Compiling, only this first time"
SMALL = 2_000_000
CACHE_LINE = 64
_allowed: ContextVar[int | None] = ContextVar("threads", default=None)
Argument = TypeVar("Argument")
Result = TypeVar("Result")
Array = NDArray[Any]
Room = dict[str, Array]  # arrays by name, see `array_in`


# Compiled functions: how they are made, where their code is kept, and whether it is there already.


def is_compiled(function: Any) -> bool:
    """Return whether a function of numba was called or was compiled by an earlier process.

    Parameters
    ----------
    function : numba.core.dispatcher.Dispatcher
        The function; its compiled code must be cached.
    """
    if function.signatures:
        return True
    code = function.py_func.__code__
    folder, stem = Path(function.stats.cache_path or "."), Path(code.co_filename).stem
    return any(folder.glob(f"{stem}.{function.py_func.__qualname__}-{code.co_firstlineno}.*.nbi"))


def must_compile(function: Any, progress: Callable[[str], None]) -> bool:
    """Return whether a function has to be compiled, and say so before it is: that takes seconds."""
    if is_compiled(function):
        return False
    progress(COMPILING)
    return True


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function when it is first called, and keeps the code for later processes.

    Other threads run meanwhile (see `on_threads`). Nobody calls these functions from C, and the door for that would
    have to be compiled too.

    Parameters
    ----------
    **options : Any
        Of ``numba.njit``, such as ``fastmath``. What is called by compiled functions only has
        ``no_cpython_wrapper=True``, which leaves out the door for calls from Python.
    """
    import numba  # not before it is needed: it takes long to import

    def decorate(function: Callable[..., Any]) -> Any:
        common = {"nogil": True, "no_cfunc_wrapper": True, **options}
        try:
            return numba.njit(cache=True, **common)(function)
        except RuntimeError:  # numba found no folder that it may write to: neither the package's nor the user's
            config: Any = numba.config
            before, folder = config.CACHE_DIR, private_folder()
            if folder is None:
                return numba.njit(**common)(function)
            config.CACHE_DIR = str(folder)
            try:
                return numba.njit(cache=True, **common)(function)
            finally:
                config.CACHE_DIR = before

    return decorate


def private_folder() -> Path | None:
    """Return a folder for compiled code among the temporary files that nobody else can write to; None without one.

    Whoever could write there could run code as this user, so a folder of somebody else is not taken.
    """
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir()) / f"tupi-compiled-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    return folder if found.st_uid == os.getuid() and found.st_mode & 0o170077 == 0o040000 else None


# Threads: how many compiled code and BLAS may use.


@cache
def _blas() -> ThreadpoolController:
    """Return what controls BLAS; looking for the libraries takes milliseconds, so once is enough."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS runs on one thread; entered or not, it holds from the call on."""
    return _blas().limit(limits=1)


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count() -> int:
    """Return how many threads work may be spread over here: all cores, or fewer where somebody said so.

    The environment variable ``NUMBA_NUM_THREADS`` is one way to say so, `at_most` the other.
    """
    return _allowed.get() or _most_threads()


def _most_threads() -> int:
    """Return how many threads there may be at most: numba knows the cores and the environment variable."""
    import numba  # not before it is needed: it takes long to import

    config: Any = numba.config
    return int(config.NUMBA_NUM_THREADS)


@contextmanager
def at_most(threads: int) -> Iterator[int]:
    """Spread work over no more than so many threads, and give how many that leaves; it holds for this thread."""
    token = _allowed.set(max(1, min(threads, thread_count())))
    try:
        yield thread_count()
    finally:
        _allowed.reset(token)


@contextmanager
def threads_for(n_threads: int | None, entries: int) -> Iterator[int]:
    """Run compiled passes on ``n_threads`` threads (None: all cores) and BLAS on one.

    Passes over fewer than `SMALL` entries run on one thread: waking another takes longer than the pass.

    The matrices that BLAS sees between passes are small: there a second thread costs more than it brings, and much
    more on a busy machine.
    """
    with at_most(1 if entries < SMALL else n_threads or available_cores()) as wanted, one_blas_thread():
        yield wanted


def on_threads(work: Callable[[int, int], object], count: int, entries: int) -> None:
    """Call ``work(begin, end)`` for ranges that make up 0 to ``count``, one for each thread that may be used.

    The work is compiled code that lets other threads run (``nogil=True``). These threads are Python's own and not
    those of numba, which take seconds to compile for and make every fork of this process hang or abort.

    Parameters
    ----------
    work : callable
        What to do.
    count : int
        How many things there are to do it for.
    entries : int
        How many numbers are looked at for all of them. Fewer than `SMALL` are left to this thread.
    """
    pieces = 1 if entries < SMALL else max(1, min(thread_count(), count))
    bounds = [k * count // pieces for k in range(pieces + 1)]
    if pieces > 1:
        keep_off_this_core(_pool_threads)
    others = [_pool().submit(work, *bounds[k : k + 2]) for k in range(1, pieces)]
    try:
        work(bounds[0], bounds[1])
    finally:
        failures = [other.exception() for other in others]  # which waits for all of them
    for failure in filter(None, failures):
        raise failure


_pool_threads: list[int] = []  # the system's numbers of the threads in `_pool`


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that stay for the next pass."""

    def register() -> None:
        _pool_threads.append(threading.get_native_id())

    return ThreadPoolExecutor(_most_threads(), thread_name_prefix="tupi", initializer=register)


def _forget_pool() -> None:
    _pool.cache_clear()
    _pool_threads.clear()


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of its parent, and starts its own when it needs them.
    os.register_at_fork(after_in_child=_forget_pool)


def in_order(function: Callable[[Argument], Result], arguments: Sequence[Argument]) -> Iterator[Result]:
    """Yield the function's results in the arguments' order, computed on as many threads as compiled passes use.

    Only a few results exist at a time. BLAS runs on one thread in each.
    """
    workers = 1 if len(arguments) == 1 else thread_count()
    with one_blas_thread():
        if workers == 1:
            yield from map(function, arguments)
            return
        with ThreadPoolExecutor(workers) as pool:
            waiting: deque[Future[Result]] = deque()
            for argument in arguments:
                waiting.append(pool.submit(function, argument))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


# Memory: arrays that begin on a cache line, and what is set aside in a file.


def aligned(shape: tuple[int, ...], dtype: Any = np.float32, clear: bool = True) -> Array:
    """Return an array that begins on a cache line: vector loads that straddle two lines take twice as long."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = (np.zeros if clear else np.empty)(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def aligned_copy(array: Array) -> Array:
    """Return a copy that begins on a cache line."""
    copy = aligned(array.shape, array.dtype, clear=False)
    copy[...] = array
    return copy


def array_in(room: Room, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    """Return an array with anything in it: the last one with this name in a room, if it fits.

    A room is memory that one step leaves to the next: fresh memory costs as much as working in it. Whoever has an array
    has it alone, until the next one with that name is asked for.
    """
    known = room.get(name)
    if known is None or known.shape != shape or known.dtype != dtype:
        known = room[name] = aligned(shape, dtype, clear=False)
    return known


def set_aside(values: Array) -> Array:
    """Return the same values, read-only, from a temporary file without a name: they take no memory until looked at."""
    with tempfile.TemporaryFile(prefix="tupi-") as file:
        file.write(np.ascontiguousarray(values).tobytes())
        file.flush()
        return np.memmap(file, values.dtype, "r", shape=values.shape)
