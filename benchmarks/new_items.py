"""Results that live, by method "auto" with 50 labels on 250 columns: new items, saved models, more labels, more items.

    python -m benchmarks.new_items [--items 50000] [--threads 2]
    python -m benchmarks.new_items --dask 10000000

Wall time and CPU time: milliseconds to predict 1,000 new items (the median of many calls), the size of a file without
its items, seconds to take in ten more labels, and those to take in a tenth more items beside those of a fresh run. With
``--dask`` so many new items are made and predicted block by block on a local cluster of Dask.
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
from benchmarks.measure import in_new_process, memory
from benchmarks.workload import HIDDEN, N_VIEWS, make
from tupi.runtime.threads import available_cores, thread_count

COLUMNS, N_LABELS, MORE_LABELS, NEW, CALLS = 50, 50, 10, 1000, 30
FEW, LARGE = 5000, 50_000  # items of the result that predicts on Dask, and of a block there


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
    *labels, taught = seconds(lambda: result.update(labels=added))
    more_labels = seconds(lambda: taught.update(labels=tupi.Values([60], truth[[60]])))[:2]
    new_scores, new_views = some(n, n + n // 10)
    *items, grown = seconds(lambda: result.update(predictions=new_scores, features=new_views))
    *again, fresh = seconds(lambda: tupi.denoise(*some(0, n + n // 10), labels=known))
    almost = tupi.denoise(*some(0, n + n // 10 - 1), labels=known)
    few = n // 100
    less = tupi.denoise(*some(0, n + n // 10 - few), labels=known)
    one, others = some(n + n // 10 - few, n + n // 10)
    slightly = less.update(predictions=one, features=others)
    return {
        "predict 1,000 new items, ms": [1000 * figure for figure in np.median(calls, axis=0)],
        "file without items, MB": [size / 1e6],
        "ten more labels, s": labels,
        "and then one more, s": more_labels,
        "a tenth more items, s": items,
        "fresh run on all of them, s": again,
        "ratio of these two": [items[0] / again[0], items[1] / again[1]],
        "rank correlation of these two": [rank_correlation(grown, fresh)],
        "of the same for 1% more items": [rank_correlation(slightly, fresh)],
        "of fresh runs but for one item": [rank_correlation(almost, fresh)],
    }


def on_dask(new: int, threads: int) -> dict[str, Any]:
    """Return what it takes to predict many new items on Dask, by a result of few: each block is made when it is due."""
    import dask.array as da
    from distributed import Client, LocalCluster

    scores, views = make(FEW, COLUMNS, "float32")
    labels = tupi.Values(range(N_LABELS), scores[:N_LABELS])
    result = tupi.denoise(scores, views, labels=labels)

    def rows(block_info: Any, number: int) -> Any:
        first, last = block_info[None]["array-location"][0]
        found, parts = make(last - first, COLUMNS, "float32", seed=first + 1)
        return found[:, None] if number < 0 else parts[f"view{number}"]

    def lazy(number: int) -> Any:
        chunks = (da.core.normalize_chunks(LARGE, (new,))[0], (COLUMNS if number >= 0 else 1,))
        return da.map_blocks(rows, number=number, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))

    with (
        LocalCluster(n_workers=1, threads_per_worker=threads, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        found = result.predict(lazy(-1)[:, 0], {name: lazy(k) for k, name in enumerate(views)})
        *took, total = seconds(lambda: float(found.sum().compute()))
    assert np.isfinite(total)
    return {"predict on Dask, s": took, "peak memory, GB": [memory()[1] / 1e9]}


def rank_correlation(first: Any, second: Any) -> float:
    """Return Spearman's correlation of two results, as far as they have the same items."""
    n = min(len(first.predictions), len(second.predictions))
    return float(spearmanr(first.predictions[:n], second.predictions[:n])[0])


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.new_items", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=50_000, help="how many")
    parser.add_argument("--threads", type=int, default=min(2, available_cores()))
    parser.add_argument("--dask", type=int, help="so many new items on Dask, and nothing else")
    args = parser.parse_args()
    options = {"n": args.items} if args.dask is None else {"new": args.dask}
    found = in_new_process(__spec__.name, args.threads, options)
    print(f"{args.dask or args.items:,} items                        wall      CPU")
    for name, values in found.items():
        print(f"{name:32s}" + "".join(f"{value:9.4g}" for value in values))


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        asked = json.loads(sys.argv[1])
        print(json.dumps(on_dask(**asked) if "new" in asked else figures(**asked)))
    else:
        main()
