"""While something is compiled, whoever waits is told so."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tupi.runtime import computing

# Prints, for each function of the package that is compiled, what was said last.
CODE = """
import sys
import numpy as np
from numba.core import event
import tupi

said = ["nothing"]

class Listener(event.Listener):
    def on_start(self, happened):
        function = happened.data["dispatcher"].py_func
        if function.__module__.startswith("tupi."):
            print(function.__qualname__, said[-1], sep=": ")

    def on_end(self, happened):
        pass

event.register("numba:compile", Listener())
rng = np.random.default_rng(0)
truth = rng.normal(size=60)
views = {"p": np.column_stack([truth, truth**2]) + 0.2 * rng.normal(size=(60, 2))}
settings = {"n_iter": 1} if sys.argv[1] == "tupi" else {}
result = tupi.denoise(truth + rng.normal(size=60), views, method=sys.argv[1], progress=said.append, **settings)
print("done", *result.predictions)
"""


def compiled(method, folder=None, **variables):
    """Return what was compiled, with what was said then, and the predictions."""
    found = subprocess.run(
        [sys.executable, "-c", CODE, method],
        env={**os.environ, **({} if folder is None else {"NUMBA_CACHE_DIR": str(folder)}), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, last = found.stdout.splitlines()
    done, *predictions = last.split()
    assert done == "done"
    return lines, [float(value) for value in predictions]


def test_a_cold_start_says_that_it_compiles_and_a_warm_one_compiles_nothing(tmp_path):
    lines, _ = compiled("auto", tmp_path)
    assert lines
    assert {line.split(": ")[1] for line in lines} == {"Compiling, only this first time"}
    assert compiled("auto", tmp_path)[0] == []


@pytest.mark.slow
def test_a_cold_start_of_tupi_says_that_it_compiles_also_for_a_processor_without_fast_vectors(tmp_path):
    lines, predictions = compiled("tupi", tmp_path, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="")
    assert any(line.startswith("descend_parts") for line in lines)
    assert {line.split(": ")[1] for line in lines} == {"Compiling, only this first time"}
    assert predictions == pytest.approx(compiled("tupi")[1], abs=1e-4)


@pytest.mark.parametrize(("entries", "spread"), [(computing.SMALL - 1, False), (computing.SMALL, True)])
def test_only_work_that_is_large_is_spread_over_threads(entries, spread, monkeypatch):
    monkeypatch.setattr(computing, "_most_threads", lambda: 3)
    ranges = []

    def work(begin, end):
        ranges.append((begin, end, threading.current_thread() is threading.main_thread()))

    computing.on_threads(work, 10, entries)
    if spread:
        assert sorted(ranges) == [(0, 3, True), (3, 6, False), (6, 10, False)]
    else:
        assert ranges == [(0, 10, True)]


def test_what_fails_on_a_thread_fails_when_all_have_ended(monkeypatch):
    monkeypatch.setattr(computing, "_most_threads", lambda: 2)
    ended = []

    def fail(begin, end):
        time.sleep(0.05 * begin)
        ended.append(begin)
        raise ValueError(f"from {begin}")

    with pytest.raises(ValueError, match="from 0"):
        computing.on_threads(fail, 2, computing.SMALL)
    assert sorted(ended) == [0, 1]
    with pytest.raises(ValueError, match="from 1"):
        computing.on_threads(lambda begin, _: fail(begin, _) if begin else None, 2, computing.SMALL)
