"""How many threads compiled code and BLAS may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

SMALL = 2_000_000
_allowed: ContextVar[int | None] = ContextVar("threads", default=None)
Argument = TypeVar("Argument")
Result = TypeVar("Result")


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


def on_threads(work: Callable[[int, int], object], count: int) -> None:
    """Call ``work(begin, end)`` for ranges that make up 0 to ``count``, one for each thread that may be used.

    The work is compiled code that lets other threads run (``nogil=True``). These threads are Python's own and not
    those of numba, which take seconds to compile for and make every fork of this process hang or abort.
    """
    pieces = max(1, min(thread_count(), count))
    bounds = [k * count // pieces for k in range(pieces + 1)]
    others = [_pool().submit(work, *bounds[k : k + 2]) for k in range(1, pieces)]
    try:
        work(bounds[0], bounds[1])
    finally:
        wait(others)
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that stay for the next pass."""
    return ThreadPoolExecutor(_most_threads(), thread_name_prefix="tupi")


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads of its parent, and starts its own when it needs them.
    os.register_at_fork(after_in_child=_pool.cache_clear)


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
