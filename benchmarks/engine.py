"""Speed and memory of the engine against its peers, in one run: a table, JSON, and the figures of docs/speed.md.

    python -m benchmarks.engine [--threads 2] [--only 1,3] [--quick] [--out build/bench.json] [--plot] [--docs]

Parts: 1 a gradient step, 2 the whole call, 3 a sweep, 4 growth and memory, 5 HSIC against hyppo, 6 fused against
reference engine on real data (``TUPI_DATA`` names their folder), 7 one thread against several.

What is compared runs in turns, and figures are ratios of medians; those of the fastest repeats are given beside them.
On a machine that does other things as well the second are nearer the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from rich.console import Console
from rich.table import Table

import tupi
from benchmarks import agreement, gradients, growth, hsic_peers, speed_page
from benchmarks.measure import ROOT, Part, all_threads
from tupi.runtime.computing import available_cores

PICTURE, PAGE = ROOT / "docs" / "pictures" / "growth.png", ROOT / "docs" / "speed.md"
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


def parts(args: argparse.Namespace) -> dict[str, Callable[[], Part]]:
    """Return what each part runs."""
    quick, threads = args.quick, args.threads

    @cache
    def subject() -> gradients.Subject:
        clock = time.process_time if args.cpu else time.perf_counter
        return gradients.Subject.of(10_000 if quick else 50_000, threads, clock=clock)

    return {
        "1": lambda: gradients.gradient_step(subject(), 3 if quick else 15),
        "2": lambda: gradients.whole_call(subject(), 2 if quick else 5),
        "3": lambda: gradients.sweep(subject(), 1 if quick else 3, 5 if quick else 20),
        "4": lambda: growth.growth(threads, SIZES[:3] if quick else SIZES, 1 if quick else 3),
        "5": lambda: hsic_peers.against_hyppo(threads, 2_000 if quick else 10_000, 3 if quick else 15, args.skip_hyppo),
        "6": lambda: agreement.engines(threads, 1 if quick else None),
        "7": lambda: agreement.thread_counts(threads, 20_000 if quick else 50_000),
    }


def machine(threads: int) -> dict[str, Any]:
    """Return where figures come from."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return {
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "cores": available_cores(),
        "threads": threads,
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "tupi": tupi.__version__,
    }


def measured(args: argparse.Namespace) -> dict[str, Any]:
    """Run the parts that were asked for and return everything that they found."""
    known = parts(args)
    asked = args.only.split(",") if args.only else list(known)
    if unknown := set(asked) - set(known):
        raise SystemExit(f"--only: found {', '.join(sorted(unknown))}; accepted: {', '.join(known)}.")
    record: dict[str, Any] = {"machine": machine(args.threads), "quick": args.quick, "cpu": args.cpu}
    record |= {"figures": [], "notes": [], "details": {}}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    with all_threads(args.threads):
        for number in asked:
            with console.status(f"Part {number}"):
                part = known[number]()
            record["figures"] += [figure.record() for figure in part.figures]
            record["details"][number] = part.details
            record["notes"] += part.notes
            args.out.write_text(json.dumps(record, indent=1), encoding="utf-8")  # what is known if a later part fails
    return record


def show(record: dict[str, Any]) -> None:
    """Print the table."""
    table = Table("", "part", "median", "fastest", "limit", "holds", box=None)
    for figure in record["figures"]:
        value, best, limit, holds = speed_page.shown(figure)
        style = {"yes": "green", "no": "bold red"}.get(holds, "dim")
        table.add_row(figure["name"], figure["part"], value, best, limit, holds, style=style)
    console = Console(width=120)
    console.print(table)
    for note in record["notes"]:
        console.print(note)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--threads", type=int, default=min(2, available_cores()), help="of everything that is timed")
    parser.add_argument("--only", help="which parts, such as 1,3")
    parser.add_argument("--quick", action="store_true", help="fewer repeats and items: to see whether it runs")
    parser.add_argument("--skip-hyppo", action="store_true", help="which takes half a minute and 6 GB")
    parser.add_argument("--cpu", action="store_true", help="parts 1 to 3 in CPU seconds: on a busy machine, one thread")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench.json", help="where JSON is written")
    parser.add_argument("--plot", action="store_true", help=f"draw {PICTURE.relative_to(ROOT)} from part 4")
    parser.add_argument("--docs", action="store_true", help=f"rewrite the table of {PAGE.relative_to(ROOT)}")
    parser.add_argument(
        "--from", dest="earlier", type=Path, help="JSON of an earlier run, to show instead of measuring"
    )
    args = parser.parse_args()
    if args.cpu and args.threads > 1:
        parser.error("--cpu: threads that wait count as busy; accepted: only with --threads 1.")
    record = json.loads(args.earlier.read_text(encoding="utf-8")) if args.earlier else measured(args)
    show(record)
    if args.plot and "4" in record["details"]:
        growth.plot(record["details"]["4"], PICTURE)
    if args.docs:
        speed_page.rewrite(PAGE, record)


if __name__ == "__main__":
    main()
