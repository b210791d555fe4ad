"""The first minute: what installing, importing and the first call take, beside their limits.

    python -m benchmarks.start                # the start and the first calls
    python -m benchmarks.start --install      # also the environment of `make demo`, in a folder of its own: a minute

Times are the least of several, in processes of their own. Calls are measured in CPU seconds, which a busy machine
changes less than the time on the clock. Before a first call, nothing is compiled.
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
BROUGHT = ("pip", "setuptools", "pkg_resources", "_distutils_hack")  # every environment comes with these

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
    start = time.process_time()
    tupi.denoise(scores, views, labels=labels, method=sys.argv[1])
    seconds.append(time.process_time() - start)
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


def calls_of(method: str) -> tuple[float, float]:
    """Return the CPU seconds of a first call, with nothing compiled, and of the one after it."""
    with tempfile.TemporaryDirectory() as folder:
        first, second = json.loads(python(CALLS, method, NUMBA_CACHE_DIR=folder))
    return first, second


def installation() -> tuple[float, float]:
    """Return the seconds that the environment of `make demo` takes to install, and the MB of its packages."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tupi"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", copy], check=True)
        begin = time.perf_counter()
        subprocess.run(["make", ".venv/.demo"], cwd=copy, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        packages = next((copy / ".venv" / "lib").glob("*/site-packages"))
        size = sum(
            file.stat().st_size
            for entry in packages.iterdir()
            if not entry.name.startswith(BROUGHT)
            for file in (entry.rglob("*") if entry.is_dir() else [entry])
            if file.is_file()
        )
    return seconds, size / 1e6


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--install", action="store_true", help="also install the environment of `make demo`")
    rows = []
    if parser.parse_args().install:
        seconds, size = installation()
        rows += [("`make demo` installs, seconds", seconds, 45), ("`make demo` installs, MB", size, 500)]
    rows += [
        ("`tupi --help`, seconds", start_of(HELP), 0.3),
        ("`import tupi`, seconds", start_of("import tupi"), 0.5),
    ]
    for method in ("auto", "tupi"):
        first, second = calls_of(method)
        rows += [
            (f"first call of `{method}`, CPU seconds", first, None),
            (f"second call of `{method}`, CPU seconds", second, None),
            (f"`{method}`: what the first takes longer", first - second, 5),
        ]
    print("| | found | at most |\n|---|---|---|")
    for name, found, limit in rows:
        print(f"| {name} | {found:.3g} | {'' if limit is None else f'{limit:g}'} |")


if __name__ == "__main__":
    main()
