"""What only some systems have, and what is done without it."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tupi.runtime import system


@pytest.mark.parametrize("everything", [True, False])
def test_bytes_are_read_and_written_anywhere_in_a_file(tmp_path, monkeypatch, everything):
    if not everything:
        monkeypatch.delattr(os, "preadv")
        monkeypatch.delattr(os, "pwrite")
    with (tmp_path / "a").open("wb+") as file:
        system.write_at(file.fileno(), memoryview(b"0123456789"), 0)
        system.write_at(file.fileno(), memoryview(b"xy"), 4)
        room = bytearray(5)
        assert system.read_at(file.fileno(), memoryview(room), 3) == 5
        assert bytes(room) == b"3xy67"
        assert system.read_at(file.fileno(), memoryview(room), 8) == 2
        assert bytes(room) == b"89y67"


def test_a_lock_is_one_process_s_and_everyone_s_where_there_are_none(tmp_path, monkeypatch):
    first, second = (os.open(tmp_path / "a", os.O_RDWR | os.O_CREAT) for _ in range(2))
    assert system.try_lock(first)
    assert not system.try_lock(second)
    monkeypatch.setattr(system, "fcntl", None)
    assert system.try_lock(second)
    os.close(first)
    os.close(second)


def test_processes_are_known_to_run():
    assert system.is_running(os.getpid())
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert not system.is_running(done.pid)


PARENT = """
import os, signal
from tupi.research.experiments.runner import _pool
if __name__ == "__main__":
    with _pool(2) as pool:
        print(*{pool.submit(os.getpid).result() for _ in range(4)}, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def is_gone(process):
    """Return whether a process ended; one that nobody has asked about since stays as a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks the system about processes")
def test_workers_of_a_killed_run_end(tmp_path):
    (tmp_path / "parent.py").write_text(PARENT)
    killed = subprocess.run([sys.executable, tmp_path / "parent.py"], capture_output=True, text=True, check=False)
    workers = killed.stdout.split()
    assert workers
    end = time.monotonic() + 20
    while not all(is_gone(worker) for worker in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert all(is_gone(worker) for worker in workers)


INTERRUPTED = """
import sys, time
from pathlib import Path
from tupi.research.experiments import runner
runner._work = lambda job, store: (Path(store).touch(), time.sleep(1.0), "")[-1]
if __name__ == "__main__":
    with runner._pool(2) as pool:
        pool.submit(runner._work_through, range(1000), sys.argv[1])
        while not Path(sys.argv[1]).exists():
            time.sleep(0.01)
        print("interrupted", flush=True)
        raise KeyboardInterrupt
"""


def test_an_interrupted_run_waits_for_the_running_cells_alone(tmp_path):
    """It once waited for all cells of a trial, which takes minutes."""
    (tmp_path / "parent.py").write_text(INTERRUPTED)
    words = [sys.executable, tmp_path / "parent.py", tmp_path / "begun"]
    ended = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)  # all would take 1,000
    assert ended.stdout == "interrupted\n"
    assert "KeyboardInterrupt" in ended.stderr


@pytest.mark.parametrize("gone", [True, False])
def test_a_process_leaves_with_the_one_that_started_it(gone):
    """Also if that one was killed before this one could ask for its number."""
    parent = subprocess.Popen([sys.executable, "-c", ""]) if gone else None
    if parent is not None:
        parent.wait()
    number = os.getpid() if parent is None else parent.pid
    code = f"import time; from tupi.runtime import system; system.leave_with_parent({number}, 0.05); time.sleep(3)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == (1 if gone else 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can say where a thread runs")
def test_a_thread_is_kept_off_the_core_of_whoever_asks(monkeypatch):
    begun, done = threading.Event(), threading.Event()

    def stay():
        begun.set()
        done.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    begun.wait()
    cores = os.sched_getaffinity(0)
    try:
        for here in cores:
            monkeypatch.setattr(system, "_core_of_caller", lambda here=here: here)
            system.keep_off_this_core([thread.native_id])
            assert os.sched_getaffinity(thread.native_id) == (cores - {here} or cores)
        monkeypatch.setattr(system, "_core_of_caller", lambda: None)  # where the system does not tell
        before = os.sched_getaffinity(thread.native_id)
        system.keep_off_this_core([thread.native_id])
        assert os.sched_getaffinity(thread.native_id) == before
    finally:
        done.set()
        thread.join()
    monkeypatch.undo()
    system.keep_off_this_core([thread.native_id])  # which has ended
    assert system._core_of_caller() in range(os.cpu_count())
    assert os.sched_getaffinity(0) == cores
