"""Results that live, by method "auto" with 50 labels on 250 columns: new items, saved models, more labels, more items.

    python -m benchmarks.new_items [--items 50000] [--threads 2]

Wall time and CPU time: milliseconds to predict 1,000 new items (the median of many calls), the size of a file without
its items, seconds to take in ten more labels, and those to take in a tenth more items beside those of a fresh run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import tupi
from benchmarks.measure import in_new_process
from benchmarks.workload import HIDDEN, N_VIEWS
from tupi.runtime.threads import available_cores, thread_count

COLUMNS, N_LABELS, MORE_LABELS, NEW, CALLS = 50, 50, 10, 1000, 30


def seconds(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall and CPU seconds of a call, and what it returned."""
    start, used = time.perf_counter(), time.process_time()
    found = call()
    return time.perf_counter() - start, time.process_time() - used, found


def figures(n: int, threads: int) -> dict[str, Any]:
    """Return all figures; how many threads there are was settled with the process."""
    assert thread_count() == threads
    rng = np.random.default_rng(0)
    whole = n + max(n // 10, NEW)
    hidden = rng.normal(size=(whole, HIDDEN)).astype(np.float32)
    views = {
        f"view{k}": np.tanh(hidden @ rng.normal(size=(HIDDEN, COLUMNS)).astype(np.float32))
        + 0.5 * rng.standard_normal((whole, COLUMNS), np.float32)
        for k in range(N_VIEWS)
    }
    truth = np.sin(hidden[:, 0]) + hidden[:, 1]
    scores = truth + rng.normal(size=whole)

    def some(first: int, last: int) -> tuple[Any, Any]:
        return scores[first:last], {name: columns[first:last] for name, columns in views.items()}

    known, more = tupi.Values(range(N_LABELS), truth[:N_LABELS]), slice(N_LABELS, N_LABELS + MORE_LABELS)
    result = tupi.denoise(*some(0, n), labels=known)
    result.predict(*some(n, n + NEW))  # makes what all calls share
    calls = [seconds(lambda: result.predict(*some(n, n + NEW)))[:2] for _ in range(CALLS)]
    with tempfile.TemporaryDirectory() as folder:
        size = result.save(Path(folder) / "model.npz", items=False).stat().st_size
    added = tupi.Values(np.arange(whole)[more], truth[more])
    labels = seconds(lambda: result.update(labels=added))[:2]
    new_scores, new_views = some(n, n + n // 10)
    *items, grown = seconds(lambda: result.update(predictions=new_scores, features=new_views))
    *again, fresh = seconds(lambda: tupi.denoise(*some(0, n + n // 10), labels=known))
    almost = tupi.denoise(*some(0, n + n // 10 - 1), labels=known)
    return {
        "predict 1,000 new items, ms": [1000 * figure for figure in np.median(calls, axis=0)],
        "file without items, MB": [size / 1e6],
        "ten more labels, s": labels,
        "a tenth more items, s": items,
        "fresh run on all of them, s": again,
        "rank correlation of these two": [rank_correlation(grown, fresh)],
        "of fresh runs but for one item": [rank_correlation(almost, fresh)],
    }


def rank_correlation(first: Any, second: Any) -> float:
    """Return Spearman's correlation of two results, as far as they have the same items."""
    n = min(len(first.predictions), len(second.predictions))
    return float(spearmanr(first.predictions[:n], second.predictions[:n])[0])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_items", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=50_000, help="how many")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()))
    args = parser.parse_args()
    found = in_new_process(__spec__.name, args.threads, {"n": args.items})
    print(f"{args.items:,} items                        wall      CPU")
    for name, values in found.items():
        print(f"{name:32s}" + "".join(f"{value:9.4g}" for value in values))


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        print(json.dumps(figures(**json.loads(sys.argv[1]))))
    else:
        main()
