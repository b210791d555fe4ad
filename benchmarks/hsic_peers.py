"""Part 5: HSIC at n = 10,000 against hyppo, each in a process of its own.

``python -m benchmarks.hsic_peers '{"peer": "tupi", ...}'`` measures one of them and prints what it took.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

import tupi
from benchmarks.gradients import SETTING
from benchmarks.measure import Contestant, Figure, Part, Times, compiled, in_new_process, matrices, memory, side_by_side
from benchmarks.workload import make
from tupi.algorithm.denoiser import advance
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem

COLUMNS, RANK = 64, 50


def low_rank(n: int, threads: int, rounds: int) -> dict[str, Any]:
    """Return seconds of `tupi.hsic` from raw arrays, of value and gradient once embedded, and what memory they took."""
    scores, views = make(n, COLUMNS)
    x = next(iter(views.values()))
    tupi.hsic(x[:1000], scores[:1000], rank=RANK)
    before, _ = memory()

    def from_arrays() -> float:
        return tupi.hsic(x, scores, rank=RANK, normalized=True)

    value = from_arrays()
    extra = memory()[1] - before
    prepared = Prepared(make_problem(scores, {"x": x}))
    run = replace(SETTING, rank=RANK).runs(prepared)[0]
    advance([run])
    descent = run.engine.descent([run.state], [np.ones(1)], [SETTING.lam])
    lengths, momenta = np.array([1e-3]), np.zeros(1)
    times = side_by_side(
        {
            "from arrays": Contestant(from_arrays, matrices(threads)),
            # One move gives gradient and, where it leads, the value.
            "value and gradient": Contestant(lambda: descent.move(lengths, momenta), compiled(threads)),
        },
        rounds,
        calls=3,
    )
    seconds = {name: each.seconds for name, each in times.items()}
    return {"seconds": seconds, "extra": extra, "embedded": memory()[1] - before, "value": value}


def hyppo_statistic(n: int, threads: int) -> dict[str, Any]:
    """Return seconds of hyppo's statistic, and what memory it took."""
    from hyppo.independence import Hsic

    scores, views = make(n, COLUMNS)
    x, y = next(iter(views.values())), scores[:, None]
    Hsic().statistic(x[:200], y[:200])  # compiles
    before, _ = memory()
    with matrices(threads)():
        start = time.perf_counter()
        value = Hsic().statistic(x, y)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "extra": memory()[1] - before, "value": float(value)}


def against_hyppo(threads: int, n: int, rounds: int, skip_hyppo: bool) -> Part:
    """Part 5: from raw arrays; value and gradient once embedded; extra memory."""
    options = {"peer": "tupi", "n": n, "rounds": rounds}
    measured = [in_new_process(__name__, threads, options)]
    hyppo = None
    if not skip_hyppo:
        hyppo = in_new_process(__name__, threads, {"peer": "hyppo", "n": n})
        measured.append(in_new_process(__name__, threads, options))  # before hyppo and after
    names = measured[0]["seconds"]
    times = {name: Times(tuple(s for each in measured for s in each["seconds"][name])) for name in names}
    extra = max(each["extra"] for each in measured)
    figures = [Figure("5", f"low-rank HSIC at n = {n:,}: extra memory", extra / 1e6, 100.0, form="{:.0f} MB")]
    for name, limit in (("from arrays", 100), ("value and gradient", 600)):
        each = times[name]
        figures.append(Figure("5", f"HSIC, {name}", 1e3 * each.median, best=1e3 * each.least, form="{:.2f} ms"))
        if hyppo is not None:
            figures.append(
                Figure("5", f"hyppo's HSIC / {name}", hyppo["seconds"] / each.median, limit, "at least",
                       hyppo["seconds"] / each.least, "{:.0f} x")
            )  # fmt: skip
    if hyppo is not None:
        figures.append(Figure("5", "hyppo's HSIC", hyppo["seconds"], form="{:.1f} s"))
        figures.append(Figure("5", "hyppo's HSIC: extra memory", hyppo["extra"] / 1e9, form="{:.1f} GB"))
    details = {"seconds": {name: each.summary() for name, each in times.items()}, "tupi": measured[0], "hyppo": hyppo}
    return Part(figures, details, ["hyppo was skipped."] if skip_hyppo else [])


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    measure = {"tupi": low_rank, "hyppo": hyppo_statistic}[asked.pop("peer")]
    print(json.dumps(measure(**asked)))
