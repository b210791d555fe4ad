"""Timing side by side, memory of a process, and figures with their limits."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numba
from threadpoolctl import threadpool_limits

from tupi.runtime.computing import at_most, threads_for

ROOT = Path(__file__).resolve().parents[1]
PAUSE = 0.05  # seconds: threads of BLAS spin for a while after their last product, which would slow the next contestant
LARGE = 10**9  # entries, for `threads_for`: never one thread because the pass is small
Call = Callable[[], object]
Clock = Callable[[], float]
Context = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True)
class Contestant:
    """Something to time: a call, and what must hold around it, which is not timed."""

    call: Call
    context: Context = nullcontext


@dataclass(frozen=True)
class Times:
    """Seconds of repeated calls."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The typical time."""
        return statistics.median(self.seconds)

    @property
    def least(self) -> float:
        """The time on a machine that nobody else uses, nearly."""
        return min(self.seconds)

    def summary(self) -> dict[str, float]:
        """Return what is written down."""
        return {"median": self.median, "minimum": self.least, "repeats": len(self.seconds)}


def side_by_side(
    contestants: dict[str, Contestant], rounds: int, calls: int = 1, clock: Clock = time.perf_counter
) -> dict[str, Times]:
    """Time contestants in turns, so that whatever else the machine does hits them alike.

    Parameters
    ----------
    contestants : dict of str to Contestant
        What to time.
    rounds : int
        How many turns each gets; every other round goes backwards.
    calls : int
        Calls per turn.
    clock : callable
        What gives the seconds.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds):
        for name in list(contestants)[:: -1 if turn % 2 else 1]:
            with contestants[name].context():
                time.sleep(PAUSE)
                for _ in range(calls):
                    start = clock()
                    contestants[name].call()
                    seconds[name].append(clock() - start)
    return {name: Times(tuple(values)) for name, values in seconds.items()}


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    Attributes
    ----------
    part : str
        Which part of the benchmark.
    name : str
        What it is.
    value : float
        The figure, from medians.
    best : float or None
        The same from the fastest repeats.
    limit : float or None
        What it must not pass; None for figures that are only shown.
    sense : {"at most", "at least"}
        On which side of the limit.
    form : str
        How values are shown.
    """

    part: str
    name: str
    value: float
    limit: float | None = None
    sense: str = "at most"
    best: float | None = None
    form: str = "{:.3g}"

    @property
    def holds(self) -> bool | None:
        """Whether the limit is kept."""
        if self.limit is None:
            return None
        return self.value <= self.limit if self.sense == "at most" else self.value >= self.limit

    def record(self) -> dict[str, Any]:
        """Return what is written down."""
        return asdict(self) | {"holds": self.holds}


def ratio(part: str, name: str, one: Times, other: Times, limit: float, sense: str, form: str = "{:.3g} x") -> Figure:
    """Return how many times longer one takes than the other."""
    return Figure(part, name, one.median / other.median, limit, sense, one.least / other.least, form)


@dataclass
class Part:
    """What one part of the benchmark found: figures for the table, and whatever they came from."""

    figures: list[Figure] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def compiled(threads: int) -> Context:
    """Return the context of the engine's passes: compiled code on so many threads, BLAS on one."""
    return lambda: threads_for(threads, LARGE)


def matrices(threads: int) -> Context:
    """Return the context of numpy's matrix products: BLAS on so many threads."""
    return lambda: threadpool_limits(threads)


@contextmanager
def all_threads(threads: int) -> Iterator[None]:
    """Let compiled code and BLAS use so many threads; complain if there are fewer."""
    if threads > numba.config.NUMBA_NUM_THREADS:
        raise SystemExit(
            f"--threads: found {threads}; accepted: at most {numba.config.NUMBA_NUM_THREADS}, the number of cores, or "
            "that of NUMBA_NUM_THREADS if it is set."
        )
    with at_most(threads), threadpool_limits(threads):
        yield


def memory() -> tuple[int, int]:
    """Return this process's memory now and at its peak, in bytes.

    The peak is the kernel's for this program: `ru_maxrss` also counts the process that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmRSS"].split()[0]) * 1024, int(lines["VmHWM"].split()[0]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return peak, peak


def answer_or(main: Callable[[], None], call: Callable[..., Any]) -> None:
    """Print what a call gives to whoever asked `in_new_process`; in a process that a person started, run ``main``."""
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(call(**json.loads(sys.argv[1]))))
    else:
        main()


def in_new_process(module: str, threads: int, options: dict[str, Any]) -> Any:
    """Run a module with options and a number of threads in a process of its own; return the JSON that it prints."""
    count = str(threads)
    names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    finished = subprocess.run(
        [sys.executable, "-m", module, json.dumps(options | {"threads": threads})],
        cwd=ROOT,
        env=os.environ | dict.fromkeys(names, count),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise RuntimeError(f"{module} {options} ended with code {finished.returncode}")
    return json.loads(finished.stdout.splitlines()[-1])
