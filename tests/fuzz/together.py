"""The same call in threads and in processes gives the same bits, and a thousand calls take no more memory than some.

    python -m tests.fuzz.together [--threads 8] [--processes 4] [--calls 1000]

Processes are forked, and spawned. Results come with what they predict of items that come later. Memory is what the
process holds after a tenth of the calls, and after all of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np

import tupi
from tests.conftest import make_problem_arrays

METHODS = ("auto", "tupi", "coconut", "ridge", "trees", "knn")
FLAT = 0.05


def bits(method: str) -> bytes:
    """Return the predictions of a small problem, and of items that come later, bit by bit."""
    truth, scores, views = make_problem_arrays(60)
    params = {"n_iter": 3} if method == "tupi" else {}
    result = tupi.denoise(scores, views, tupi.Values(range(20), truth[:20]), method, **params)
    found: bytes = result.predictions.tobytes()
    if result.model is None:
        return found
    later = {name: values[:7] + 0.1 for name, values in views.items()}
    return found + np.asarray(result.predict(scores[:7] + 0.1, later)).tobytes()


def in_threads(n: int) -> bool:
    """Return whether as many threads as given get the same bits as one alone, for all methods at once."""
    alone = {method: bits(method) for method in METHODS}
    asked = [METHODS[k % len(METHODS)] for k in range(2 * n)]
    with ThreadPoolExecutor(n) as pool:
        return all(found == alone[method] for method, found in zip(asked, pool.map(bits, asked), strict=True))


def in_processes(n: int, start: str) -> bool:
    """Return whether processes that are started in a way, "spawn" or "fork", get the same bits as this one."""
    alone = [bits(method) for method in METHODS]
    with ProcessPoolExecutor(n, multiprocessing.get_context(start)) as pool:
        found = list(pool.map(bits, METHODS * n))
    return found == alone * n


def growth(calls: int) -> float:
    """Return by which share the memory grows between a tenth of some calls and all of them."""
    rng = np.random.default_rng(0)
    sizes = []
    for call in range(calls):
        bits(METHODS[int(rng.integers(len(METHODS)))])
        if call + 1 in (calls // 10, calls):
            sizes.append(int(Path("/proc/self/statm").read_text().split()[1]))
    return sizes[-1] / sizes[0] - 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--calls", type=int, default=1000)
    given = parser.parse_args()
    ways = {
        f"{given.processes} forked processes": lambda: in_processes(given.processes, "fork"),
        f"{given.threads} threads": lambda: in_threads(given.threads),
        f"{given.processes} spawned processes": lambda: in_processes(given.processes, "spawn"),
    }
    good = True
    for where, is_same in ways.items():
        same = is_same()
        good = good and same
        print(f"{where}: {'the same bits' if same else 'OTHER BITS'}", flush=True)
    grown = growth(given.calls)
    print(f"{given.calls:,} calls: memory {100 * grown:+.1f}%")
    return 0 if good and grown <= FLAT else 1


if __name__ == "__main__":
    raise SystemExit(main())
