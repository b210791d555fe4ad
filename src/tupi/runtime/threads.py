"""How many threads compiled code and BLAS may use."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import TypeVar

import numba
from threadpoolctl import ThreadpoolController

SMALL = 2_000_000
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


@contextmanager
def threads_for(n_threads: int | None, entries: int) -> Iterator[int]:
    """Run compiled passes on ``n_threads`` threads (None: all cores) and BLAS on one.

    Passes over fewer than `SMALL` entries run on one thread: waking another takes longer than the pass.

    The matrices that BLAS sees between passes are small: there a second thread costs more than it brings, and much
    more on a busy machine.
    """
    before = numba.get_num_threads()
    wanted = 1 if entries < SMALL else min(n_threads or available_cores(), before)
    numba.set_num_threads(wanted)
    try:
        with one_blas_thread():
            yield wanted
    finally:
        numba.set_num_threads(before)


def in_order(function: Callable[[Argument], Result], arguments: Sequence[Argument]) -> Iterator[Result]:
    """Yield the function's results in the arguments' order, computed on as many threads as compiled passes use.

    Only a few results exist at a time. BLAS runs on one thread in each.
    """
    workers = numba.get_num_threads()
    with one_blas_thread():
        if workers == 1 or len(arguments) == 1:
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
