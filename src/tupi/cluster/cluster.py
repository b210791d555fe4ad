"""The cluster that does the work: whether a call is one for it, and which one it is.

It is one that is there, or a local one that lives as long as the call. Dask is imported only if it is needed.
"""

from __future__ import annotations

import importlib.util
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tupi.inputs.numbers import as_bytes, check_positive
from tupi.runtime.errors import InputError


@dataclass(frozen=True)
class ClusterOptions:
    """Where and how to compute.

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, the address of a scheduler, or None for a local cluster that ends with the call.
    checkpoint : str or Path, optional
        A folder that client and workers see, in which to save where the run stands, and from which to go on.
    checkpoint_every : int
        Steps between two checkpoints.
    memory_limit : str or int, optional
        Of the local cluster.
    """

    client: Any = None
    checkpoint: str | Path | None = None
    checkpoint_every: int = 5
    memory_limit: str | int | None = None

    def __post_init__(self) -> None:
        check_positive("checkpoint_every", self.checkpoint_every, whole=True, least=1, optional=False)


@contextmanager
def connected(client: Any, memory_limit: str | int | None = None) -> Iterator[Any]:
    """Give a client: the one that was given, one for an address, or one of a local cluster that ends with the block.

    The local cluster runs in threads of this process: nothing has to be started, guarded or sent, and nothing stays
    behind. What exceeds the memory limit is spilled to a temporary folder (set TMPDIR to say where).

    Parameters
    ----------
    client : distributed.Client, str or None
        A client, the address of a scheduler, or None for a local cluster.
    memory_limit : str or int, optional
        Of the local cluster, such as ``"4GB"``.
    """
    import dask
    import psutil  # type: ignore[import-untyped]
    from distributed import Client, LocalCluster

    if isinstance(client, Client):
        yield client
        return
    if isinstance(client, str):
        try:
            remote = Client(client, set_as_default=False, timeout="10s")
        except (OSError, ValueError) as problem:
            raise InputError(f"client: no scheduler answers at {client!r} ({problem}).") from None
        try:
            yield remote  # and stay connected: the result's predictions are there
        except BaseException:
            remote.close()
            raise
        return
    if client is not None:
        raise InputError(
            f"client: found {type(client).__name__}; accepted: a distributed.Client, a scheduler's address, or None."
        )
    # A worker in this process counts all of the process's memory as its own. What is there already is not to be held
    # against it, and it must never pause: nothing else in the process would make room, so it would wait for ever.
    limit = as_bytes(memory_limit)
    allowed = "auto" if limit is None else limit + psutil.Process().memory_info().rss
    with (
        dask.config.set({"distributed.worker.memory.pause": False}),
        tempfile.TemporaryDirectory(prefix="tupi-") as folder,
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,  # passes use several threads by themselves, and must not be called from several
            processes=False,
            memory_limit=allowed,
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster, set_as_default=False) as local,
    ):
        yield local


def described(client: Any) -> str:
    """Return a sentence about a cluster: how many workers, and where to watch them."""
    info = client.scheduler_info(n_workers=-1)
    workers = len(info["workers"])
    watched = importlib.util.find_spec("bokeh") is not None
    return f"{workers} worker{'s' * (workers != 1)}" + (f", dashboard {client.dashboard_link}" if watched else "")


def check_installed() -> None:
    """Complain if Dask is missing."""
    for package in ("dask", "distributed"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"engine: 'dask' needs {package}: pip install 'tupi[distributed]'.")


def broadcast(thing: Any) -> Any:
    """Return what it is given: a task of its own, so that workers pass it on and anyone can compute it again."""
    return thing
