"""The first minute: what installing, importing and the first call take, beside their limits.

    python -m benchmarks.start                # the start and the first calls
    python -m benchmarks.start --install      # also the environment of `make demo`, in a folder of its own: minutes

Starts are the least of several, in processes of their own. Calls are measured on the clock and in CPU seconds, which a
busy machine changes less. Before a first call, nothing is compiled. The environment is all of `.venv`, first as it was
installed and then with the bytecode that Python writes when the demo runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 5

HELP = "import sys; sys.argv[:] = ['tupi', '--help']; from tupi.cli import main; main()"
CALLS = """
import json, sys, time
import numpy as np
import tupi
rng = np.random.default_rng(0)
truth = rng.normal(size=600)
views = {"near": truth[:, None] + rng.normal(size=(600, 4)), "far": rng.normal(size=(600, 4))}
scores, labels = truth + rng.normal(size=600), tupi.Values(np.arange(40), truth[:40])
tupi.denoise  # imports are not what is measured
seconds = []
for _ in range(2):
    clock, cpu = time.perf_counter(), time.process_time()
    tupi.denoise(scores, views, labels=labels, method=sys.argv[1])
    seconds.append((time.perf_counter() - clock, time.process_time() - cpu))
print(json.dumps(seconds))
"""


def python(code: str, *words: str, **variables: str) -> str:
    """Run code in a process of its own and return what it prints."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True, text=True).stdout


def start_of(code: str) -> float:
    """Return the least number of seconds that a process with this code takes."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        python(code)
        times.append(time.perf_counter() - begin)
    return min(times)


def calls_of(method: str) -> tuple[list[float], list[float]]:
    """Return the seconds, on the clock and of CPU, of a first call with nothing compiled and of the one after it."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = json.loads(python(CALLS, method, NUMBA_CACHE_DIR=folder))
    return first, second


def megabytes(folder: Path) -> float:
    """Return the size of all files in a folder."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()) / 1e6


def installation() -> tuple[float, float, float]:
    """Return the seconds that the environment of `make demo` takes to install, and its MB before and after the demo."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tupi"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", copy], check=True)
        begin = time.perf_counter()
        subprocess.run(["make", "--silent", ".venv/.demo"], cwd=copy, env=variables, check=True)
        seconds, installed = time.perf_counter() - begin, megabytes(copy / ".venv")
        subprocess.run(["make", "--silent", "demo"], cwd=copy, env=variables, check=True, stdout=subprocess.DEVNULL)
        return seconds, installed, megabytes(copy / ".venv")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="also install the environment of `make demo`")
    rows: list[tuple[str, float, float | None]] = []
    if parser.parse_args().install:
        seconds, installed, after = installation()
        rows += [
            ("environment of `make demo`: seconds to install", seconds, 45),
            ("environment of `make demo`: MB, installed", installed, 500),
            ("environment of `make demo`: MB, after the demo", after, 500),
        ]
    rows += [
        ("`tupi --help`, seconds", start_of(HELP), 0.3),
        ("`import tupi`, seconds", start_of("import tupi"), 0.5),
    ]
    for method in ("auto", "tupi"):
        first, second = calls_of(method)
        for k, unit in enumerate(("seconds on the clock", "CPU seconds")):
            rows += [
                (f"`{method}`, {unit}: first call", first[k], None),
                (f"`{method}`, {unit}: second call", second[k], None),
                (f"`{method}`, {unit}: first minus second", first[k] - second[k], 5),
            ]
    print("| | found | at most | |\n|---|---|---|---|")
    for name, found, limit in rows:
        verdict = "" if limit is None else "held" if found <= limit else "**missed**"
        print(f"| {name} | {found:.3g} | {'' if limit is None else f'{limit:g}'} | {verdict} |")


if __name__ == "__main__":
    main()
