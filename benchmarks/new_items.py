"""Results that live, by method "auto" with 50 labels on 250 columns: new items, saved models, more labels, more items.

    python -m benchmarks.new_items [--items 50000] [--threads 2]
    python -m benchmarks.new_items --dask 10000000
    python -m benchmarks.new_items --saved 1000000

Wall time and CPU time: milliseconds to predict 1,000 new items (the median of many calls), the size of a file without
its items, seconds to take in ten more labels, and those to take in a tenth more items beside those of a fresh run. How
alike these two rank the items stands beside how alike fresh runs are that differ in something else: in one item, or in
the units of the scores. With ``--dask`` so many new items are predicted block by block on a local cluster of Dask, in
as many processes as there are threads; a block is read when it is due, and gone when it is predicted. With ``--saved``
so many items are denoised, and the result is saved and loaded.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import tupi
from benchmarks.measure import answer_or, in_new_process, memory
from benchmarks.workload import HIDDEN, N_VIEWS, make, truth
from tupi.runtime.computing import available_cores, thread_count

COLUMNS, N_LABELS, MORE_LABELS, NEW, CALLS = 50, 50, 10, 1000, 30
FEW, LARGE = 20_000, 50_000  # items of the result that predicts on Dask, and of a block there


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
    # Items are drawn by numbers that are computed from their scores: in other units, other items are drawn.
    scores_of_all, views_of_all = some(0, n + n // 10)
    elsewhere = tupi.denoise(3 * scores_of_all, views_of_all, labels=known)
    unseen = slice(N_LABELS, n + n // 10)
    right = [tupi.pairwise_accuracy(one.predictions[unseen], truth[unseen]) for one in (grown, fresh)]
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
        "of fresh runs in other units": [rank_correlation(elsewhere, fresh)],
        "accuracy of update and fresh, %": [100 * figure for figure in right],
    }


def on_dask(new: int, threads: int) -> dict[str, Any]:
    """Return what it takes to predict many new items on Dask, by a result of few."""
    import dask.array as da
    from distributed import Client, LocalCluster

    scores, views = make(FEW, COLUMNS, "float32")
    result = tupi.denoise(scores, views, labels=tupi.Values(range(N_LABELS), truth(N_LABELS)))
    assert result.params["weight"] > 0  # otherwise new items keep their predictions, which takes no time
    chunks = (da.core.normalize_chunks(LARGE, (new,))[0], (1 + N_VIEWS * COLUMNS,))
    items = da.map_blocks(rows_of, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))
    later = {name: items[:, 1 + k * COLUMNS : 1 + (k + 1) * COLUMNS] for k, name in enumerate(views)}
    with (
        LocalCluster(n_workers=threads, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        before = client.run(time.process_time).values()
        took, _, total = seconds(lambda: float(result.predict(items[:, 0], later).sum().compute()))
        used = sum(client.run(time.process_time).values()) - sum(before)
        workers = [peak for _, peak in client.run(memory).values()]
    assert np.isfinite(total)
    return {
        "predict on Dask, s": [took, used],
        "peak memory of a worker, GB": [max(workers) / 1e9],
        "of the process that calls, GB": [memory()[1] / 1e9],
    }


def rows_of(block_info: Any) -> Any:
    """Return the items of a block: scores, and all views side by side, as if read from a file."""
    first, last = block_info[None]["array-location"][0]
    return np.roll(tile(), first // LARGE, axis=0)[: last - first]


@cache
def tile() -> Any:
    """Return items that are read again and again: to make others for each block would take as long as to predict."""
    scores, views = make(LARGE, COLUMNS, "float32", seed=1)
    return np.column_stack([scores.astype(np.float32), *views.values()])


def saved(items: int, threads: int) -> dict[str, Any]:
    """Return the size of a file of many items, with these and without, and how long it takes to load."""
    assert thread_count() == threads
    scores, views = make(items, COLUMNS, "float32")
    result = tupi.denoise(scores, views, labels=tupi.Values(range(N_LABELS), truth(N_LABELS)))
    with tempfile.TemporaryDirectory() as folder:
        alone = result.save(Path(folder) / "model.npz", items=False)
        whole = result.save(Path(folder) / "result.npz")
        wall, used, again = seconds(lambda: tupi.load(alone))
        some = scores[:NEW], {name: view[:NEW] for name, view in views.items()}
        assert np.allclose(again.predict(*some), result.predict(*some))
        sizes = alone.stat().st_size, whole.stat().st_size
    return {
        "file without items, MB": [sizes[0] / 1e6],
        "file with items, MB": [sizes[1] / 1e6],
        "to load the former, s": [wall, used],
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
    parser.add_argument("--dask", type=int, help="so many new items on Dask, and nothing else")
    parser.add_argument("--saved", type=int, help="the file of so many items, and nothing else")
    args = parser.parse_args()
    options = {"new": args.dask} if args.dask else {"items": args.saved} if args.saved else {"n": args.items}
    found = in_new_process(__spec__.name, args.threads, options)
    print(f"{next(iter(options.values())):,} items                        wall      CPU")
    for name, values in found.items():
        print(f"{name:32s}" + "".join(f"{value:9.4g}" for value in values))


def asked(**given):
    """Return the figures of one kind of call."""
    return (on_dask if "new" in given else saved if "items" in given else figures)(**given)


if __name__ == "__main__":
    answer_or(main, asked)
