"""The default method with 50 labels on many items: seconds, CPU seconds, peak memory, gain in pairwise accuracy.

    python -m benchmarks.auto [--items 50000,200000,1000000] [--threads 2]
    python -m benchmarks.auto --files --items 1000000             # views from NPY files, memory_limit="1GB"
    python -m benchmarks.auto --dask --items 1000000,10000000     # on two workers of one thread each

Five views of 50 columns in float32, made block by block. Each call runs in a process of its own, and is made twice
there: the first also loads libraries and compiled code. With ``--dask`` the views are made on the workers and kept
there as 8-bit integers, a quarter of the memory; up to ``--compared`` items the answer is compared with that of the
same items in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tupi
from benchmarks.measure import answer_or, in_new_process, memory
from benchmarks.workload import HIDDEN, N_VIEWS
from tupi.runtime.computing import available_cores, thread_count

COLUMNS, N_LABELS, N_JUDGING = 50, 50, 5_000
ROWS = 50_000  # made at a time
STEP = 1 / 32  # of 8-bit views
Array = NDArray[Any]


def block(number: int, n: int, kind: str) -> tuple[Array, Array, list[Array]]:
    """Return truth, scores and views of a block of items; the same whoever makes it."""
    rng = np.random.default_rng((0, number))
    rows = min(ROWS, n - number * ROWS)
    hidden = rng.normal(size=(rows, HIDDEN)).astype(np.float32)
    views = []
    for k in range(N_VIEWS):
        loads = np.random.default_rng((1, k)).normal(size=(HIDDEN, COLUMNS)).astype(np.float32)
        view = np.tanh(hidden @ loads) + 0.5 * rng.standard_normal((rows, COLUMNS), np.float32)
        views.append(np.clip(view / STEP, -127, 127).round().astype(np.int8) if kind == "int8" else view)
    truth = (np.sin(hidden[:, 0]) + hidden[:, 1]).astype(np.float64)
    return truth, truth + rng.normal(size=rows), views


def names() -> list[str]:
    """Return the names of the views."""
    return [f"view{k}" for k in range(N_VIEWS)]


def made(n: int, kind: str, folder: Path | None = None) -> tuple[Array, Array, dict[str, Any]]:
    """Return truth, scores and views of all items; views as paths of files, if there is a folder."""
    shape = n, COLUMNS
    views: dict[str, Any] = {
        name: np.empty(shape, kind)
        if folder is None
        else np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, shape)
        for name in names()
    }
    truth, scores = np.empty(n), np.empty(n)
    for number, start in enumerate(range(0, n, ROWS)):
        rows = slice(start, start + ROWS)
        truth[rows], scores[rows], parts = block(number, n, kind)
        for view, part in zip(views.values(), parts, strict=True):
            view[rows] = part
    return truth, scores, views if folder is None else {name: folder / f"{name}.npy" for name in views}


def labelled(n: int, truth: Array) -> tuple[tupi.Values, Array]:
    """Return labels, and items that judge."""
    chosen = np.random.default_rng(2).permutation(n)[: N_LABELS + N_JUDGING]
    return tupi.Values(chosen[:N_LABELS], truth[chosen[:N_LABELS]]), chosen[N_LABELS:]


def gain(predictions: Array, scores: Array, truth: Array, judging: Array) -> float:
    """Return the gain in pairwise accuracy, in points."""
    before, after = (tupi.pairwise_accuracy(f[judging], truth[judging]) for f in (scores, predictions))
    return 100 * (after - before)


def one_call(n: int, threads: int, kind: str = "float32", files: bool = False, out: str = "") -> dict[str, Any]:
    """Return what a call takes and gains; how many threads there are was settled with the process."""
    assert thread_count() == threads
    with tempfile.TemporaryDirectory() as folder:
        if files:  # made by another process, whose memory is its own
            in_new_process(__spec__.name, threads, {"write": folder, "n": n, "kind": kind})
            found = np.load(Path(folder) / "truth.npy"), np.load(Path(folder) / "scores.npy")
            truth, scores, views = *found, {name: Path(folder) / f"{name}.npy" for name in names()}
        else:
            truth, scores, views = made(n, kind)
        labels, judging = labelled(n, truth)
        limit = {"memory_limit": "1GB"} if files else {}
        times = []
        for _ in range(2):
            start, used = time.perf_counter(), time.process_time()
            predictions = tupi.denoise(scores, views, labels=labels, **limit).predictions
            times.append((time.perf_counter() - start, time.process_time() - used))
    if out:
        np.save(out, predictions)
    (first, _), (seconds, cpu) = times
    told = {"first": first, "seconds": seconds, "cpu": cpu, "peak": memory()[1]}
    return told | {"gain": gain(predictions, scores, truth, judging)}


def write(write: str, n: int, kind: str, threads: int) -> dict[str, Any]:
    """Write the views, scores and truth into a folder."""
    truth, scores, _ = made(n, kind, Path(write))
    np.save(Path(write) / "truth.npy", truth)
    np.save(Path(write) / "scores.npy", scores)
    return {}


def on_workers(n: int, threads: int, workers: int, compared: int) -> dict[str, Any]:
    """Return what a call takes and gains whose items are on the workers of a Dask cluster."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster, futures_of, wait

    bounds = list(range(0, n, ROWS))
    sizes = [min(ROWS, n - start) for start in bounds]
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(workers, threads_per_worker=1, memory_limit=0, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        parts = [delayed(block, nout=3, pure=True)(number, n, "int8") for number in range(len(bounds))]

        def joined(pick: Any, shape: tuple[int, ...], kind: str) -> Any:
            blocks = zip(parts, sizes, strict=True)
            return da.concatenate([da.from_delayed(pick(one), (size, *shape), kind) for one, size in blocks])

        truth, scores = joined(lambda one: one[0], (), "f8"), joined(lambda one: one[1], (), "f8")
        views = {name: joined(lambda one, k=k: one[2][k], (COLUMNS,), "i1") for k, name in enumerate(names())}
        truth, scores, *kept = client.persist([truth, scores, *views.values()])
        wait(futures_of([truth, scores, *kept]))
        there = np.asarray(client.gather(client.compute(truth)))
        labels, judging = labelled(n, there)
        used = sum(client.run(time.process_time).values()) + time.process_time()
        start = time.perf_counter()
        result = tupi.denoise(scores, dict(zip(names(), kept, strict=True)), labels=labels, client=client)
        predictions = result.compute()
        seconds = time.perf_counter() - start
        cpu = sum(client.run(time.process_time).values()) + time.process_time() - used
        peaks = {"peak": sum(one[1] for one in client.run(memory).values()), "own": memory()[1]}
        initial = np.asarray(client.gather(client.compute(scores)))
        told = {"seconds": seconds, "cpu": cpu, "gain": gain(predictions, initial, there, judging)} | peaks
        if n <= compared:
            file = Path(folder) / "memory.npy"
            beside = in_new_process(__spec__.name, threads, {"n": n, "kind": "int8", "out": str(file)})
            told |= {"memory": beside, "spearman": spearman(predictions, np.load(file))}
    return told


def spearman(first: Array, second: Array) -> float:
    """Return the correlation of two rankings without ties."""
    ranks = [np.argsort(np.argsort(one)) for one in (first, second)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", default="50000,200000,1000000", help="how many")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()))
    parser.add_argument("--files", action="store_true", help='views from files, under memory_limit="1GB"')
    parser.add_argument("--dask", action="store_true", help="on workers of a Dask cluster")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--compared", type=int, default=1_000_000, help="items up to which Dask is compared with memory"
    )
    args = parser.parse_args()
    sizes = list(map(int, args.items.split(",")))
    if args.dask:
        print("     items  seconds  CPU s  workers' peak GB  own peak GB  gain, points  in memory: seconds  Spearman")
        for n in sizes:
            options = {"n": n, "workers": args.workers, "compared": args.compared}
            found = in_new_process(__spec__.name, args.threads, options)
            line = f"{n:10,}  {found['seconds']:7.1f}  {found['cpu']:5.1f}  {found['peak'] / 1e9:16.2f}"
            line += f"  {found['own'] / 1e9:11.2f}  {found['gain']:+12.2f}"
            if "memory" in found:
                line += f"  {found['memory']['seconds']:18.1f}  {found['spearman']:.8f}"
            print(line, flush=True)
        return
    print("     items  first call, s  seconds  CPU s  peak GB  gain, points  seconds per item, of the first size")
    each = []
    for n in sizes:
        found = in_new_process(__spec__.name, args.threads, {"n": n, "files": args.files})
        each.append(found["seconds"] / n)
        line = f"{n:10,}  {found['first']:13.1f}  {found['seconds']:7.1f}  {found['cpu']:5.1f}"
        print(f"{line}  {found['peak'] / 1e9:7.2f}  {found['gain']:+12.2f}  {each[-1] / each[0]:.2f}", flush=True)


def asked(**given):
    """Return the figures of one call."""
    return (on_workers if "workers" in given else write if "write" in given else one_call)(**given)


if __name__ == "__main__":
    answer_or(main, asked)
