"""Ends commands at random moments, by SIGKILL and by SIGINT, and looks at what is left.

    python -m tests.faults.signals [--moments 200] [--seed 0] [--only NAME]

Each command runs in a folder of its own in which an earlier run has already written its outputs. A moment is drawn from
the time that the command takes, or, every other time, soon after it began to write a file. Whatever the moment:

- each output is the earlier one or the new one, and whole; so is each cell of `reproduce`, and each answer that
  `serve` called saved is in its file;
- an interrupt ends with exit code 130 and one line, and leaves nothing else in the folder; a kill may leave a temporary
  file or a checkpoint, and the same command, run again, ends well, with the same outputs, and removes it;
- no process is left after a few seconds.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pandas as pd

RUN = [sys.executable, "-c", "from tupi.cli import main; main()"]
N = 400
SAID_BEFORE = 3  # lines by which `serve` says what it reads, where answers are saved, and how to end it
LONGEST = 300  # seconds until a command that was interrupted is called hanging: machines are shared
VIEWS = ["--features", "near=near.csv", "--features", "far=far.npy"]
LABELS = ["--labels", "labels.csv"]
TUPI = ["--method", "tupi", "--set", "n_iter=3", "--set", "lam=0.3", "--set", "sigma_w2=0.1"]
TABLES = ["scores.parquet", "--id", "id", "--features", "near=near.parquet"]
COMMANDS: dict[str, tuple[list[str], list[str]]] = {  # words, and what they write
    "denoise": (
        ["denoise", "scores.csv", *VIEWS, *LABELS, "--out", "b.csv", "--report", "b.html", "--save", "b.npz"],
        ["b.csv", "b.html", "b.npz"],
    ),
    "denoise by tupi": (["denoise", "scores.csv", *VIEWS, *TUPI, "--out", "b.parquet"], ["b.parquet"]),
    "denoise on Dask": (
        ["denoise", *TABLES, *TUPI, "--scheduler", "local", "--checkpoint", "ck", "--out", "parts"],
        ["parts"],
    ),
    "predict": (["predict", "run.npz", "scores.csv", *VIEWS, "--out", "b.csv"], ["b.csv"]),
    "compare": (
        ["compare", "scores.csv", *VIEWS, *LABELS, "--methods", "ridge,knn", "--out", "b.csv", "--plot", "b.html"],
        ["b.csv", "b.html"],
    ),
    "hsic": (["hsic", "near.csv", "far.npy"], []),
    "demo": (["demo", "--out", "shown"], ["shown"]),
    "reproduce": (["reproduce", "table1", "--seeds", "1", "--data", "mfeat", "--workers", "2", "--out", "paper"], []),
    "serve": (["serve", "scores.csv", *VIEWS, "--no-browser"], []),
}
ENDLESS = {"reproduce": 25.0, "serve": 12.0}  # seconds from which moments are drawn: neither runs to its end


@dataclass
class Counts:
    """What came of moments: how runs ended, how many ran again, answers that were called saved, and problems."""

    ends: Counter[str] = field(default_factory=Counter)
    again: int = 0
    saved: int = 0
    problems: int = 0


def write_inputs(folder: Path) -> None:
    """Write the files that all commands read."""
    rng = np.random.default_rng(0)
    truth, ids = rng.normal(size=N), [f"i{k}" for k in range(N)]
    near = pd.DataFrame({"p": truth + rng.normal(size=N), "kind": np.where(truth > 0, "x", "y")})
    scores = pd.DataFrame({"id": ids, "score": truth + rng.normal(size=N)})
    scores.to_csv(folder / "scores.csv", index=False)
    scores.to_parquet(folder / "scores.parquet", index=False)
    near.assign(id=ids).to_csv(folder / "near.csv", index=False)
    near[["p"]].assign(q=rng.normal(size=N), id=ids).to_parquet(folder / "near.parquet", index=False)
    np.save(folder / "far.npy", rng.normal(size=(N, 3)))
    pd.DataFrame({"id": ids[:40], "value": truth[:40]}).to_csv(folder / "labels.csv", index=False)
    words = ["denoise", "scores.csv", *VIEWS, *LABELS, "--out", "first.csv", "--save", "run.npz", "--quiet"]
    subprocess.run([*RUN, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files in a folder, by name."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def of(outputs: list[str], files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that a command promises."""
    return {name: text for name, text in files.items() if name.split("/")[0] in outputs and "/." not in name}


def is_same(text: bytes, other: bytes | None) -> bool:
    """Return whether two files hold the same, but for the seconds that each method took in a table of `compare`."""
    if text == other or other is None or not (text.startswith(b"method,") and other.startswith(b"method,")):
        return text == other
    one, two = (pd.read_csv(io.BytesIO(table)).drop(columns="seconds") for table in (text, other))
    return text.endswith(b"\n") and one.equals(two)


def all_same(files: dict[str, bytes], others: dict[str, bytes]) -> bool:
    """Return whether the same files hold the same."""
    return files.keys() == others.keys() and all(is_same(files[path], others[path]) for path in files)


class Running:
    """A command on its way, in a session of its own."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.folder, self.began = folder, time.monotonic()
        self.errors = (folder.parent / "errors").open("w+")
        self.process = subprocess.Popen(
            [*RUN, *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            start_new_session=True,
            # A shell has commands in the background ignore interrupts, and what they start would ignore them, too.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def wait(self, moment: float, for_a_file: bool) -> None:
        """Wait for a moment, counted from the start or from the first file that is being written."""
        while for_a_file and self.process.poll() is None:
            if any(name.startswith(".tupi-") for _, _, names in os.walk(self.folder) for name in names):
                break
            time.sleep(0.001)
        else:
            moment -= time.monotonic() - self.began
        end = time.monotonic() + moment
        while self.process.poll() is None and time.monotonic() < end:
            time.sleep(min(0.01, max(0.0, end - time.monotonic())))

    def end(self, by: signal.Signals) -> tuple[int, str]:
        """Send a signal to the command alone, as a supervisor does; return its exit code and what it said."""
        self.process.send_signal(by)
        try:
            self.process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            self.process.kill()  # which its exit code tells, where no kill was meant
            self.process.wait()  # what it left behind may keep its output open, and is found by `left`
        with self.errors:
            self.errors.seek(0)
            return self.process.returncode, self.errors.read()

    def left(self, patience: float = 10.0) -> list[int]:
        """Return the processes of the command that are there after some seconds."""
        end = time.monotonic() + patience
        while (found := _session(self.process.pid)) and time.monotonic() < end:
            time.sleep(0.05)
        return found


def _session(leader: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # ended while we looked
                if os.getsid(int(entry.name)) == leader and ") Z " not in (entry / "stat").read_text():
                    found.append(int(entry.name))
    return found


def answering(running: Running, until: float) -> set[str]:
    """Answer questions of a server until a moment; return the keys of answers that were called saved."""
    saved: set[str] = set()
    assert running.process.stdout is not None
    line = running.process.stdout.readline()
    found = re.match(r"Open (http://[^/]+)/\?token=(\S+)", line)
    if found is None:
        return saved
    with suppress(httpx.HTTPError), httpx.Client(base_url=found[1], headers={"X-Tupi-Token": found[2]}) as client:
        for number in range(10_000):
            if time.monotonic() - running.began > until:
                break
            key = f"{running.process.pid}:{number}"
            words = {"rater": "ann", "key": key, "left": number % 7, "right": 7 + number % 11, "answer": "left"}
            if client.post("/api/answer", json=words).status_code == 200:
                saved.add(key)
    return saved


def is_cell(text: bytes) -> bool:
    """Return whether a finished cell of `reproduce` is whole."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def draw(rng: np.random.Generator, name: str, took: float) -> tuple[float, bool]:
    """Return a moment: seconds, and whether they count from the first file that is being written."""
    writes = bool(COMMANDS[name][1]) and rng.random() < 0.5
    return rng.uniform(0, 0.03 if writes else took), writes


def try_moment(
    name: str,
    before: Path,
    whole: dict[str, bytes],
    moment: tuple[float, bool],
    by: signal.Signals,
    counts: Counts,
) -> list[str]:
    """End a command once; count what came of it, and return what is wrong."""
    (words, outputs), (after, for_a_file) = COMMANDS[name], moment
    problems: list[str] = []
    saved: set[str] = set()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        shutil.copytree(before, folder)
        first = contents(folder)
        running = Running(words, folder)
        try:
            if name == "serve":
                saved = answering(running, after)
            running.wait(after, for_a_file)
            code, said = running.end(by)
        finally:
            left = running.left()
            for one in left:
                os.kill(one, signal.SIGKILL)
        now = contents(folder)
        ended = {0: "done before", 130: "interrupted", -signal.SIGKILL: "killed"}.get(code, f"exit code {code}")
        if left:
            problems.append(f"{len(left)} process(es) left")
        if code == -signal.SIGINT and "tupi/" not in said:
            ended, code = "interrupted before tupi began", 0  # while Python started, which answers in its own way
        if code not in (0, 130 if by == signal.SIGINT else -signal.SIGKILL):
            problems.append(f"exit code {code}: {said[-300:]}")
        lines = said.strip().splitlines() or [""]
        if code == 130 and (
            not lines[-1].startswith("tupi: interrupted") or len(lines) > (SAID_BEFORE if name == "serve" else 0) + 1
        ):
            problems.append(f"said {said[-300:]!r}")
        for path, text in of(outputs, now).items():
            if not is_same(text, whole.get(path)) and text != first.get(path):
                problems.append(f"{path} is neither the earlier nor the new one, of {len(text)} bytes")
        problems += [f"{path} is half a cell" for path in now if "/cells/" in path and not is_cell(now[path])]
        if name == "serve":
            lines = now.get("answers.jsonl", b"").splitlines()
            kept = {json.loads(line).get("key") for line in lines if line.endswith(b"}")}
            if saved - kept:
                problems.append(f"{len(saved - kept)} answers lost")
        others = [path for path in now if path not in first and not path.startswith(("paper/", "ck/", "answers.jsonl"))]
        others = [path for path in others if path not in of(outputs, now)]
        if others and by == signal.SIGINT:
            problems.append(f"left {', '.join(others)}")
        marked = any("/." in path for path in now)  # a folder that is not marked, and has parts, is whole
        if name == "denoise on Dask" and of(outputs, now) and not marked and not all_same(of(outputs, now), whole):
            problems.append(f"half of {', '.join(of(outputs, now))} looks like the whole")
        done = name == "denoise on Dask" and all_same(of(outputs, now), whole) and not marked  # refused a second time
        if (others or "ck/" in " ".join(now)) and name not in ENDLESS and not done:
            again = subprocess.run([*RUN, *words], cwd=folder, capture_output=True, text=True, check=False)
            then, counts.again = contents(folder), counts.again + 1
            if again.returncode or not all_same(of(outputs, then), whole) or any(".tupi-" in path for path in then):
                problems.append(f"the next run: exit code {again.returncode}, {again.stderr[-300:]}, {sorted(then)}")
    counts.ends[ended] += 1
    counts.saved += len(saved)
    counts.problems += len(problems)
    return problems


def prepare(name: str, folder: Path) -> tuple[Path, dict[str, bytes], float]:
    """Run a command to its end; return a folder with earlier outputs, the whole new ones, and the seconds it took."""
    words, outputs = COMMANDS[name]
    before = folder / name.replace(" ", "-")
    shutil.copytree(folder / "inputs", before)
    if name in ENDLESS:
        return before, {}, ENDLESS[name]
    began = time.monotonic()
    subprocess.run([*RUN, *words], cwd=before, check=True, capture_output=True)
    took, whole = time.monotonic() - began, of(outputs, contents(before))
    for path in whole:  # what an earlier run wrote: other bytes, and the same names
        if "/" not in path:
            (before / path).write_bytes(b"earlier")
    for path in ("parts", "ck", "shown"):
        shutil.rmtree(before / path, ignore_errors=True)
    return before, whole, took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(COMMANDS), action="append")
    given = parser.parse_args()
    names, rng = given.only or list(COMMANDS), np.random.default_rng(given.seed)
    counts = {name: Counts() for name in names}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "inputs").mkdir()
        write_inputs(folder / "inputs")
        prepared = {name: prepare(name, folder) for name in names}
        print(", ".join(f"{name} takes {took:.1f} s" for name, (_, _, took) in prepared.items()), flush=True)
        for number in range(given.moments):
            name, by = names[number % len(names)], (signal.SIGKILL, signal.SIGINT)[number // len(names) % 2]
            moment = draw(rng, name, prepared[name][2])
            problems = try_moment(name, prepared[name][0], prepared[name][1], moment, by, counts[name])
            for problem in problems:
                print(f"  {name}, {by.name} at {moment[0]:.3f} s, file {moment[1]}: {problem}", flush=True)
            if (number + 1) % 25 == 0 or number + 1 == given.moments:
                total = sum((one.ends for one in counts.values()), Counter[str]())
                wrong = sum(one.problems for one in counts.values())
                print(f"{number + 1} moments: {_list(total)}; {wrong} problems", flush=True)
    for name, one in counts.items():
        more = f"; {one.again} run again" if one.again else ""
        more += f"; {one.saved:,} answers called saved" if one.saved else ""
        print(f"{name}: {_list(one.ends)}{more}; {one.problems} problems")
    return 1 if any(one.problems for one in counts.values()) else 0


def _list(ends: Counter[str]) -> str:
    return ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))


if __name__ == "__main__":
    raise SystemExit(main())
