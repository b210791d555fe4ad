"""The default method with 50 labels on many items: seconds, CPU seconds, peak memory, gain in pairwise accuracy.

    python -m benchmarks.auto [--items 50000,200000,1000000] [--threads 2]

Five views of 50 columns in float32. Each call runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import numpy as np

import tupi
from benchmarks.measure import in_new_process, memory
from benchmarks.workload import HIDDEN, N_VIEWS
from tupi.runtime.threads import available_cores, thread_count

COLUMNS, N_LABELS, N_JUDGING = 50, 50, 5_000


def one_call(n: int, threads: int) -> dict[str, Any]:
    """Return what one call takes and gains; how many threads there are was settled with the process."""
    assert thread_count() == threads
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n, HIDDEN)).astype(np.float32)
    views = {
        f"view{k}": np.tanh(hidden @ rng.normal(size=(HIDDEN, COLUMNS)).astype(np.float32))
        + 0.5 * rng.standard_normal((n, COLUMNS), np.float32)
        for k in range(N_VIEWS)
    }
    truth = np.sin(hidden[:, 0]) + hidden[:, 1]
    scores = truth + rng.normal(size=n)
    chosen = rng.permutation(n)[: N_LABELS + N_JUDGING]
    known, judging = chosen[:N_LABELS], chosen[N_LABELS:]
    start, used = time.perf_counter(), time.process_time()
    result = tupi.denoise(scores, views, labels=tupi.Values(known, truth[known]))
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    before, after = (tupi.pairwise_accuracy(f[judging], truth[judging]) for f in (scores, result.predictions))
    return {"seconds": seconds, "cpu": cpu, "peak": memory()[1], "gain": 100 * (after - before)}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", default="50000,200000,1000000", help="how many")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()))
    args = parser.parse_args()
    print("    items  seconds  CPU s  peak GB  gain, points")
    for n in map(int, args.items.split(",")):
        found = in_new_process(__spec__.name, args.threads, {"n": n})
        figures = f"{found['seconds']:7.1f}  {found['cpu']:5.1f}  {found['peak'] / 1e9:7.2f}  {found['gain']:+12.2f}"
        print(f"{n:9,}  {figures}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(one_call(**json.loads(sys.argv[1]))))
    else:
        main()
