"""Ctrl-C ends a command at any moment with one line and exit code 130."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

# Interrupts itself when the named module is imported, as a person might.
DURING = """
import signal, sys
moment = sys.argv[1]
class Interrupt:
    def find_spec(self, name, *rest):
        if name == moment:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from tupi.cli import main
sys.argv[:2] = ["tupi"]
main()
"""


@pytest.mark.parametrize("module", ["click", "tupi.cli.demo", "numpy", "numba", "sklearn"])
def test_an_interrupt_during_imports_is_one_line(tmp_path, module):
    found = subprocess.run(
        [sys.executable, "-c", DURING, module, "demo"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 130, found.stderr
    assert found.stderr.startswith("tupi: interrupted")
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_an_interrupt_that_imports_turn_into_something_else_is_still_one():
    code = DURING.replace(
        "            signal.raise_signal(signal.SIGINT)\n",
        "            try:\n                signal.raise_signal(signal.SIGINT)\n"
        "            except KeyboardInterrupt:\n                raise ImportError('half a module')\n",
    )
    found = subprocess.run([sys.executable, "-c", code, "click", "demo"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "tupi: interrupted.\n")


def test_an_interrupt_that_falls_into_a_deletion_is_repeated():
    """Modules of Cython treat one that comes while they are imported in the same way, and warn of it besides."""
    code = """
import signal, sys, time, types, warnings
class Deleted:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def main_of_the_group(**kwargs):
    thing = Deleted()
    del thing  # Python can only print what is raised there
    warnings.warn("Cython module failed to patch module with custom type", RuntimeWarning)
    time.sleep(30)
sys.modules["tupi.cli.group"] = types.SimpleNamespace(tupi=types.SimpleNamespace(main=main_of_the_group))
from tupi.cli import main
main()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=20)
    assert (found.returncode, found.stderr) == (130, "tupi: interrupted.\n")


def test_interrupts_at_several_moments_leave_nothing_behind(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "scores.npy", rng.normal(size=3000))
    np.save(tmp_path / "a.npy", rng.normal(size=(3000, 20)))
    before = sorted(tmp_path.iterdir())
    command = "from tupi.cli import main; print('begun', flush=True); main()"  # before that, it is Python's to answer
    words = ["denoise", "scores.npy", "--features", "a=a.npy", "--out", "b.npy"]
    for wait in (0.1, 0.6, 1.5):
        running = subprocess.Popen(
            [sys.executable, "-c", command, *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stdout is not None
        assert running.stdout.readline() == "begun\n"
        time.sleep(wait)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        if running.returncode == 0:  # it was done by then
            (tmp_path / "b.npy").unlink()
            continue
        assert (running.returncode, said.count("\n")) == (130, 1), said
        assert said.startswith("tupi: interrupted")
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("interrupted", [True, False])
def test_what_nobody_waits_for_any_more_says_nothing(interrupted):
    """Dask's tasks are then thrown away, and asyncio complains of each that nobody asked how it went."""
    code = f"""
import asyncio, gc
from tupi.cli.scale import nothing_said_of_waiting

async def fails():
    raise ValueError("lost")

async def main():
    task = asyncio.ensure_future(fails())
    await asyncio.sleep(0)

try:
    with nothing_said_of_waiting():
        if {interrupted}:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    pass
asyncio.run(main())
gc.collect()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ("never retrieved" in found.stderr) is not interrupted
