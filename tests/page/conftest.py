"""A small problem as files and as a session, a running server, and a browser."""

from __future__ import annotations

import json
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from tupi.inputs.files import InputFiles
from tupi.page.demo_files import grey_png
from tupi.page.frames import TYPES
from tupi.page.session import Session
from tupi.page.source import PageSource, read_source

N = 240


def truth() -> np.ndarray:
    """Return what the items are really like; scores are this and noise."""
    return np.random.default_rng(0).normal(size=N)


def decode(frame: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and arrays of one frame."""
    _, size = struct.unpack_from("<II", frame)
    facts = json.loads(frame[8 : 8 + size])
    position, arrays = 8 + size, {}
    for entry in facts.pop("arrays"):
        array = np.frombuffer(frame, TYPES[entry["type"]], entry["length"], position)
        arrays[entry["name"]] = array
        position += array.nbytes + (-array.nbytes % 4)
    return facts, arrays


def write_files(folder: Path, labels: bool = True, pictures: bool = True) -> InputFiles:
    rng = np.random.default_rng(1)
    true = truth()
    ids = [f"item-{k:03d}" for k in range(N)]
    pd.DataFrame({"id": ids, "score": true + rng.normal(size=N)}).to_csv(folder / "scores.csv", index=False)
    np.save(folder / "clean.npy", np.column_stack([true, true**2]) + 0.3 * rng.normal(size=(N, 2)))
    np.save(folder / "junk.npy", rng.normal(size=(N, 3)))
    known = rng.permutation(N)[:30]
    pd.DataFrame({"id": np.array(ids)[known], "value": true[known]}).to_csv(folder / "labels.csv", index=False)
    if pictures:
        (folder / "pictures").mkdir(exist_ok=True)
        for k, value in enumerate(true):
            grey = np.full((4, 4), 128 + 40 * np.tanh(value))
            (folder / "pictures" / f"{ids[k]}.png").write_bytes(grey_png(grey, 8))
    features = {name: str(folder / f"{name}.npy") for name in ("clean", "junk")}
    return InputFiles(str(folder / "scores.csv"), features, str(folder / "labels.csv") if labels else None)


@pytest.fixture
def source(tmp_path: Path) -> PageSource:
    return read_source(write_files(tmp_path), images=tmp_path / "pictures")


@pytest.fixture
def unlabelled(tmp_path: Path) -> PageSource:
    return read_source(write_files(tmp_path, labels=False, pictures=False))


@pytest.fixture
def session(source: PageSource, tmp_path: Path) -> Iterator[Session]:
    session = Session(source, tmp_path / "answers.jsonl")
    yield session
    session.close()


class Served:
    """`tupi serve` in a process of its own, as a person starts it."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.words = folder, words
        self.start()

    def start(self, port: int = 0) -> None:
        self.log, self.seen = (self.folder / "serve.log").open("w+"), 0
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                "from tupi.cli import main; main()",
                "serve",
                *self.words,
                "--no-browser",
                "--port",
                str(port),
            ],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.match(r"Open (http://127\.0\.0\.1:(\d+)/\?token=(\S+))", line)
        assert found is not None, line + (self.folder / "serve.log").read_text()
        self.address, self.port, self.token = found[1], int(found[2]), found[3]

    @property
    def logged(self) -> str:
        return (self.folder / "serve.log").read_text()[self.seen :]

    def forget(self) -> None:
        """Count the log from here."""
        self.seen = len((self.folder / "serve.log").read_text())

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()


def serve_words(origin: InputFiles) -> list[str]:
    words = [origin.scores]
    for name, path in origin.features.items():
        words += ["--features", f"{name}={path}"]
    if origin.labels:
        words += ["--labels", origin.labels]
    return words


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    origin = write_files(tmp_path)
    served = Served(tmp_path, *serve_words(origin), "--images", str(tmp_path / "pictures"))
    yield served
    served.stop()
