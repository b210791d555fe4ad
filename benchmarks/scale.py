"""The engine `dask` against the fused engine, from the same Parquet files on the same cores.

::

    python benchmarks/scale.py --items 1000000
    python benchmarks/scale.py --items 10000000 --workers 2 --memory 3GB
    TUPI_DATA=folder python benchmarks/scale.py --real

Files with two views of 16 dimensions are made under ``--folder`` and removed afterwards. Each engine runs in a process
of its own. Printed: seconds of each phase, the peak memory of each worker, whether a worker was restarted, how far the
predictions are apart. ``docs/scale.md`` explains the figures.
"""

import argparse
import json
import logging
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

DIMENSIONS, GROUP = 16, 250_000
SETTINGS = {"method": "tupi", "lam": 0.3, "sigma_w2": 0.1}


def make_files(folder: Path, n: int) -> None:
    """Write predictions and two views, a group of rows at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    names = [f"c{j}" for j in range(DIMENSIONS)]
    schemas = {
        "scores": pa.schema([("score", pa.float64())]),
        **{view: pa.schema([(name, pa.float32()) for name in names]) for view in "ab"},
    }
    files = {name: parquet.ParquetWriter(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
    for start in range(0, n, GROUP):
        rng = np.random.default_rng([start, n])
        rows = min(GROUP, n - start)
        truth = rng.normal(size=(rows, 4))
        views = {view: rng.normal(size=(rows, DIMENSIONS)).astype(np.float32) for view in "ab"}
        views["a"][:, :4] += 2 * truth
        views["b"][:, :4] += 2 * np.cos(2 * truth)
        columns = {"scores": [truth[:, 0] + rng.normal(size=rows)], **{view: list(X.T) for view, X in views.items()}}
        for name, file in files.items():
            file.write_table(pa.table(dict(zip(schemas[name].names, columns[name], strict=True))))
    for file in files.values():
        file.close()


def run_fused(folder: Path, steps: int) -> dict:
    """Denoise with the fused engine, views from files."""
    import pandas as pd

    import tupi

    clock = Clock(time.process_time)
    scores = pd.read_parquet(folder / "scores.parquet")["score"].to_numpy()
    views = {view: folder / f"{view}.parquet" for view in "ab"}
    result = tupi.denoise(scores, views, n_iter=steps, progress=clock.say, callback=clock.step, **SETTINGS)
    clock.say("end")
    np.save(folder / "fused.npy", result.predictions)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"engine": "fused", **clock.total, "phases": clock.phases, "peak_gb": [round(peak, 2)]}


def run_dask(folder: Path, steps: int, workers: int, memory: str) -> dict:
    """Denoise with the engine `dask` on a local cluster of processes."""
    from distributed import Client, LocalCluster

    import tupi

    views = {view: str(folder / f"{view}.parquet") for view in "ab"}
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address="127.0.0.1:0",
            local_directory=str(folder / "spill"),
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        before = set(client.run(_process).values())
        with Peaks(before, folder / "spill") as peaks:
            clock = Clock(lambda: time.process_time() + peaks.cpu())
            result = tupi.denoise(
                str(folder / "scores.parquet"),
                views,
                n_iter=steps,
                progress=clock.say,
                callback=clock.step,
                client=client,
                **SETTINGS,
            )
            clock.say("writing")
            result.to_parquet(folder / "out")
            clock.say("end")
        after = set(client.run(_process).values())
        np.save(folder / "dask.npy", result.compute())
    return {
        "engine": "dask",
        **clock.total,
        "phases": clock.phases,
        "peak_gb": [round(peak / 1e9, 2) for peak in peaks.highest.values()],
        "restarted": len(before - after),
        "spilled_gb": round(peaks.spilled / 1e9, 2),
    }


def _process() -> int:
    import os

    return os.getpid()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # it was there a moment ago
        return 0


class Clock:
    """Seconds and CPU seconds of each phase, as the progress sentences name them; steps are one phase.

    On a machine that others use too, CPU seconds are the figure to compare.
    """

    def __init__(self, cpu: Callable[[], float]) -> None:
        self._cpu = cpu
        self.start = self.last = np.array([time.perf_counter(), cpu()])
        self.phases: dict[str, list[float]] = {}
        self.name = "start"

    def say(self, sentence: str) -> None:
        """Begin a phase."""
        now = np.array([time.perf_counter(), self._cpu()])
        self.phases[self.name] = np.round(self.phases.get(self.name, 0.0) + now - self.last, 2).tolist()
        self.last, self.name = now, " ".join(sentence.split()[:2])

    def step(self, step: object) -> None:
        """See a step of Algorithm 1; those after the first are the steady state."""
        if self.name != "steps":
            self.say("steps")

    @property
    def total(self) -> dict[str, float]:
        """All seconds, and CPU seconds."""
        seconds, cpu = np.round(self.last - self.start, 1).tolist()
        return {"seconds": seconds, "cpu_seconds": cpu}


class Peaks:
    """The highest resident memory of some processes and the most in a folder, looked at ten times a second."""

    def __init__(self, processes: set[int], folder: Path) -> None:
        self.highest = dict.fromkeys(processes, 0)
        self.spilled, self._folder = 0, folder
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        import psutil

        while not self._done.wait(0.1):
            for process in self.highest:
                try:
                    rss = psutil.Process(process).memory_info().rss
                except psutil.NoSuchProcess:
                    continue
                self.highest[process] = max(self.highest[process], rss)
            self.spilled = max(self.spilled, sum(map(_size, self._folder.glob("**/storage/*"))))

    def cpu(self) -> float:
        """Return the CPU seconds of those that live."""
        import psutil

        times = [psutil.Process(process).cpu_times() for process in self.highest if psutil.pid_exists(process)]
        return sum(one.user + one.system for one in times)

    def __enter__(self) -> "Peaks":
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._done.set()
        self._thread.join()


def run_real(steps: int) -> None:
    """Print how far the engines are apart on MFeat and SARCOS, on a local cluster of threads."""
    import tupi
    from tupi.research.datasets import load_mfeat, load_sarcos

    for load in (load_mfeat, load_sarcos):
        data = load()
        truth = np.asarray(next(iter(data.targets.values())), float)
        scores = truth + truth.std() * np.random.default_rng(0).normal(size=len(truth))
        views = {name: np.asarray(X) for name, X in data.views.items()}
        fused = tupi.denoise(scores, views, n_iter=steps, **SETTINGS).predictions
        dask = tupi.denoise(scores, views, n_iter=steps, engine="dask", **SETTINGS).compute()
        print(json.dumps({"data": data.name, "items": len(truth), **apart(fused, dask)}))


def apart(fused: np.ndarray, dask: np.ndarray) -> dict:
    """Return how far two results are apart."""
    from scipy.stats import spearmanr

    return {
        "relative": float(np.linalg.norm(dask - fused) / np.linalg.norm(fused - fused.mean())),
        "spearman": float(spearmanr(fused, dask)[0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--folder", type=Path, help="for files; a temporary one by default")
    parser.add_argument("--engine", choices=["fused", "dask"], help="run one engine on files that are there")
    parser.add_argument("--real", action="store_true", help="agreement on MFeat and SARCOS, found through TUPI_DATA")
    args = parser.parse_args()
    if args.real:
        run_real(args.steps)
        return
    if args.engine is not None:
        run = (args.folder, args.steps)
        found = run_fused(*run) if args.engine == "fused" else run_dask(*run, args.workers, args.memory)
        print(json.dumps(found))
        return
    folder = Path(tempfile.mkdtemp(prefix="tupi-scale-", dir=args.folder))
    try:
        make_files(folder, args.items)
        found = []
        for engine in ("dask", "fused"):
            command = [sys.executable, __file__, "--engine", engine, "--folder", str(folder)]
            for option in ("steps", "workers", "memory"):
                command += [f"--{option}", str(getattr(args, option))]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append(json.loads(output.splitlines()[-1]))
            print(json.dumps(found[-1]), flush=True)
        dask, fused = found
        ratios = {f"{name} ratio": round(dask[name] / fused[name], 2) for name in ("seconds", "cpu_seconds")}
        print(
            json.dumps(
                {
                    "items": args.items,
                    **ratios,
                    **apart(*(np.load(folder / f"{name}.npy") for name in ("fused", "dask"))),
                }
            )
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
