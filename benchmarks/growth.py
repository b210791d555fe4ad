"""Part 4: time and memory of the whole call from 10,000 to 1,000,000 items; each call in a process of its own.

``python -m benchmarks.growth '{"n": 100000, ...}'`` makes one call and prints what it took.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tupi
from benchmarks.measure import Figure, Part, in_new_process, memory
from benchmarks.workload import N_VIEWS, make, write

COLUMNS, N_ITER = 32, 10
WARM = 12_000  # items of a first call, which loads compiled code: enough for several threads
LIMIT = "1GB"
GB = 1e9


def one_call(n: int, threads: int, folder: str | None = None, memory_limit: str | None = None) -> dict[str, Any]:
    """Return seconds and bytes of one call, on arrays in memory or on files."""
    settings: dict[str, Any] = {"lam": 0.3, "sigma_w2": 0.1, "n_iter": N_ITER, "n_threads": threads}
    if folder is None:
        scores, views = make(WARM, COLUMNS, "float32")
        tupi.denoise(scores, views, method="tupi", **settings)
        scores, views = make(n, COLUMNS, "float32")
    else:
        small, large = Path(folder) / "small", Path(folder) / "large"
        files = [{f"view{k}": each / f"view{k}.npy" for k in range(N_VIEWS)} for each in (small, large)]
        tupi.denoise(np.load(small / "scores.npy"), files[0], method="tupi", memory_limit="50MB", **settings)
        scores, views = np.load(large / "scores.npy"), files[1]
    before, _ = memory()
    start, used = time.perf_counter(), time.process_time()
    tupi.denoise(scores, views, method="tupi", memory_limit=memory_limit, **settings)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    return {"n": n, "seconds": seconds, "cpu": cpu, "before": before, "peak": memory()[1]}


def growth(threads: int, sizes: tuple[int, ...], rounds: int) -> Part:
    """Part 4: sizes in turns, in memory; then the largest one from files under a memory limit."""
    calls = [in_new_process(__name__, threads, {"n": n}) for _ in range(rounds) for n in sizes]
    grown = [_of_size(n, [each for each in calls if each["n"] == n]) for n in sizes]
    with tempfile.TemporaryDirectory(prefix="tupi-bench-") as folder:
        for name, n in (("small", WARM), ("large", sizes[-1])):
            (Path(folder) / name).mkdir()
            write(Path(folder) / name, n, COLUMNS)
        options = {"n": sizes[-1], "folder": folder, "memory_limit": LIMIT}
        limited = in_new_process(__name__, threads, options)
    last, tenth = grown[-1], min(grown, key=lambda each: abs(math.log(10 * each["n"] / sizes[-1])))
    at, of = f"{last['n']:,} items", f"{last['n']:,} / at {tenth['n']:,} items"
    times = last["n"] / tenth["n"]
    figures = [
        Figure("4", f"time at {of}", last["seconds"] / tenth["seconds"], 1.2 * times,
               best=last["least"] / tenth["least"], form="{:.3g} x"),
        Figure("4", f"peak memory at {at}", last["peak"] / GB, 4.0, form="{:.2f} GB"),
        Figure("4", f"peak memory at {at}, from files, memory_limit={LIMIT!r}", limited["peak"] / GB, 1.5,
               form="{:.2f} GB"),
        *(Figure("4", f"whole call at {each['n']:,} items, T = {N_ITER}", each["seconds"], best=each["least"],
                 form="{:.2f} s") for each in grown),
        Figure("4", f"whole call at {at}, from files, memory_limit={LIMIT!r}", limited["seconds"], form="{:.2f} s"),
    ]  # fmt: skip
    return Part(figures, {"in memory": grown, "from files": limited})


def _of_size(n: int, calls: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = [each["seconds"] for each in calls]
    return {
        "n": n,
        "seconds": statistics.median(seconds),
        "least": min(seconds),
        "cpu": min(each["cpu"] for each in calls),
        "before": max(each["before"] for each in calls),
        "peak": max(each["peak"] for each in calls),
    }


def plot(details: dict[str, Any], path: Path) -> None:
    """Draw time and peak memory against the number of items."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    grown, limited = details["in memory"], details["from files"]
    n = [each["n"] for each in grown]
    figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
    for axis, key, unit, label in ((axes[0], "least", 1.0, "seconds"), (axes[1], "peak", GB, "peak memory in GB")):
        axis.loglog(n, [each[key] / unit for each in grown], "o-", label="in memory")
        axis.set(xlabel="items", ylabel=label)
        axis.grid(alpha=0.3)
    first = grown[0]["least"]
    axes[0].loglog(n, [first * each / n[0] for each in n], "k:", lw=1, label="proportional")
    axes[0].loglog(n[-1], limited["seconds"], "s", label=f"from files, {LIMIT}")
    axes[1].loglog(n[-1], limited["peak"] / GB, "s", label=f"from files, {LIMIT}")
    for axis in axes:
        axis.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    print(json.dumps(one_call(**json.loads(sys.argv[1]))))
