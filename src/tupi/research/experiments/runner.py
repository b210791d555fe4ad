"""Working through cells on all cores: what is stored already is not computed again."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from multiprocessing.synchronize import Event
from typing import Any

from tupi.research.experiments.experiment import Experiment
from tupi.research.experiments.protocol import Protocol, initial_scores, initial_settings
from tupi.research.experiments.sources import dataset_of
from tupi.research.experiments.store import Cell, Store
from tupi.runtime.computing import available_cores, one_blas_thread
from tupi.runtime.system import leave_with_parent

INITIAL_SECONDS = 3.5  # about how long f^I takes: a rank SVM and five shapes of a network
STOPPED: list[Event] = []  # in a process of a pool: what says that the run was interrupted
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

#: Called with the work done so far and all work, both in expected seconds on one core, the number of workers, and what
#: has just been finished.
Report = Callable[[float, float, int, str], None]


@dataclass(frozen=True, eq=False)
class Job:
    """A cell that is not in the store."""

    cell: Cell
    protocol: Protocol
    experiment: Experiment | None  # None for f^I
    settings: dict[str, Any]
    seconds: float


class CellsFailedError(RuntimeError):
    """Some cells could not be computed; all others are in the store."""


def run(
    experiments: Sequence[Experiment],
    store: Store,
    datasets: Sequence[str],
    seeds: Sequence[int],
    workers: int | None = None,
    report: Report = lambda done, total, workers, what: None,
) -> None:
    """Compute and store all cells that are missing: first f^I, then the experiments, then what must run alone.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to compute.
    store : Store
        Where finished cells are, and go.
    datasets, seeds : sequence of str, of int
        Which cells.
    workers : int, optional
        Processes, each with one thread; None for one per core. One works in this process.
    report : callable
        Told of each finished cell.

    Raises
    ------
    CellsFailedError
        After everything else is done.
    """
    for dataset in datasets:
        dataset_of(dataset)  # here, where a missing file is one error and not one per worker
    jobs = missing(experiments, store, datasets, seeds)
    total = sum(job.seconds for job in jobs)
    workers = workers or available_cores()
    done, failures = 0.0, []
    report(done, total, workers, "")
    # The experiments read what the first stage writes; what measures time has the machine to itself.
    initial = [job for job in jobs if job.experiment is None]
    shared = [job for job in jobs if job.experiment is not None and job.experiment.parallel]
    alone = [job for job in jobs if job.experiment is not None and not job.experiment.parallel]
    with _pool(min(workers, max(len(initial), len(shared)))) as pool:
        for job, failure in chain(
            _finished(initial, store, pool), _finished(shared, store, pool), _finished(alone, store, None)
        ):
            done += job.seconds
            if failure:
                failures.append(f"{job.cell}: {failure}")
            report(done, total, workers if job not in alone else 1, str(job.cell))
    if failures:
        raise CellsFailedError(f"{len(failures)} of {len(jobs)} cells failed; the first is {failures[0]}")


def missing(
    experiments: Sequence[Experiment], store: Store, datasets: Sequence[str], seeds: Sequence[int]
) -> list[Job]:
    """Return the cells that are not in the store, those of f^I that they read first."""
    jobs: dict[Cell, Job] = {}
    initial: dict[Cell, Job] = {}
    for experiment in experiments:
        for cell in experiment.cells(datasets, seeds):
            settings = experiment.settings(cell.dataset)
            if store.read(cell, settings) is not None:
                continue
            jobs[cell] = Job(cell, experiment.protocol, experiment, settings, experiment.seconds(cell.dataset))
            for needed in experiment.needs(cell):
                if needed not in initial:
                    made = initial_settings(cell.dataset, experiment.protocol)
                    initial[needed] = Job(needed, experiment.protocol, None, made, INITIAL_SECONDS)
    wanted = [job for cell, job in initial.items() if store.read(cell, job.settings) is None]
    return [*wanted, *jobs.values()]


def records(
    experiment: Experiment, store: Store, datasets: Sequence[str], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the stored records of an experiment; cells that are missing have none."""
    found = (store.read(cell, experiment.settings(cell.dataset)) for cell in experiment.cells(datasets, seeds))
    return [record for record in found if record is not None]


def _work(job: Job, store: Store) -> str:
    """Compute and store a cell; return why it failed, or nothing."""
    start = time.process_time()  # of one thread: what others compute meanwhile does not count
    try:
        result = (
            initial_scores(job.cell, job.protocol)
            if job.experiment is None
            else job.experiment.compute(job.cell, store)
        )
    except Exception as reason:  # whatever it is, the other cells go on
        return f"{type(reason).__name__}: {reason}"
    store.write(job.cell, job.settings, time.process_time() - start, result)
    return ""


def _finished(jobs: Sequence[Job], store: Store, pool: ProcessPoolExecutor | None) -> Iterator[tuple[Job, str]]:
    """Yield jobs as they are finished, with why they failed if they did; without a pool they run here.

    A pool is given the jobs of a seed together: its trials share graphs and kernels of their views. f^I shares nothing.
    What takes longest begins first, so that no process is left with a long rest while the others have nothing to do.
    """
    seeds = by_seed(jobs)
    if pool is None:
        for job in chain.from_iterable(seeds):
            yield job, _work(job, store)
        return
    together = seeds if any(job.experiment is not None for job in jobs) else [[job] for job in jobs]
    together.sort(key=lambda some: -sum(job.seconds for job in some))
    futures = {pool.submit(_work_through, some, store): some for some in together}
    for future in as_completed(futures):
        yield from zip(futures[future], future.result(), strict=True)


def by_seed(jobs: Sequence[Job]) -> list[list[Job]]:
    """Return the jobs of each seed of a dataset, those of a trial one after the other: they share what they compute."""
    seeds: dict[object, dict[str, list[Job]]] = {}
    for job in jobs:
        trials = seeds.setdefault((job.protocol, job.cell.dataset, job.cell.seed), {})
        trials.setdefault(job.cell.target, []).append(job)
    return [list(chain.from_iterable(trials.values())) for trials in seeds.values()]


def _work_through(jobs: Sequence[Job], store: Store) -> list[str]:
    """Work on jobs one after the other; after an interrupt, whoever would read the rest is gone."""
    return [_work(job, store) for job in jobs if not STOPPED or not STOPPED[0].is_set()]


@contextmanager
def _pool(workers: int) -> Iterator[ProcessPoolExecutor | None]:
    """Give processes with one thread each: cells are many, and threads within one only get in the way."""
    if workers <= 1:
        yield None
        return
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    # Started anew, not forked: a fork would keep the parent's threads of compiled code, which are not there.
    context = multiprocessing.get_context("spawn")
    stopped = context.Event()
    pool = ProcessPoolExecutor(workers, context, initializer=_start_process, initargs=(stopped, os.getpid()))
    try:
        yield pool
    except BaseException:
        stopped.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _start_process(stopped: Event, parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears of it, and lets running cells finish
    STOPPED[:] = [stopped]
    one_blas_thread()
    leave_with_parent(parent)
