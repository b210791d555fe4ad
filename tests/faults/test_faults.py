"""Commands on a machine that fails them: a full disk, files that cannot be read, too little memory, and signals."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.faults.signals import COMMANDS, RUN, Counts, contents, prepare, try_moment, write_inputs

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits and signals are those of Unix")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults") / "inputs"
    folder.mkdir()
    write_inputs(folder)
    return folder


def run(words: list[str], folder: Path, limit: Callable[[], None] | None = None) -> tuple[int, str]:
    done = subprocess.run([*RUN, *words], cwd=folder, capture_output=True, text=True, check=False, preexec_fn=limit)
    return done.returncode, done.stderr


def full_disk() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as on a full disk, writing fails and nobody is killed
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))


@pytest.mark.parametrize("name", ["denoise", "predict", "compare"])
def test_a_full_disk_leaves_what_was_there_before(inputs: Path, name: str) -> None:
    words, outputs = COMMANDS[name]
    for path in outputs:
        (inputs / path).write_bytes(b"earlier")
    before = contents(inputs)
    code, said = run(words, inputs, full_disk)
    after = contents(inputs)
    for path in outputs:
        (inputs / path).unlink()
    assert (code, said) == (2, "tupi: file too large.\n")
    changed = {path for path in after if after[path] != before.get(path)}
    # A table of two methods is small enough; everything else is as it was, and nothing half-written is beside it.
    assert changed <= ({"b.csv"} if name == "compare" else set())


@pytest.mark.parametrize("what", ["scores.csv", "near.csv", "far.npy", "labels.csv"])
def test_a_file_that_is_a_folder_is_named(inputs: Path, tmp_path: Path, what: str) -> None:
    for name in ("scores.csv", "near.csv", "far.npy", "labels.csv"):
        (tmp_path / name).write_bytes((inputs / name).read_bytes())
    (tmp_path / what).unlink()
    (tmp_path / what).mkdir()
    code, said = run(COMMANDS["denoise"][0], tmp_path)
    assert code == 2
    assert said.startswith("tupi: ")
    assert said.count("\n") == 1
    assert what in said
    assert not list(tmp_path.glob("b.*"))


def test_too_little_memory_is_one_line(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "scores.npy", rng.normal(size=100_000))
    np.save(tmp_path / "wide.npy", rng.normal(size=(100_000, 60)))

    def little() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (250 * 2**20, 250 * 2**20))

    words = ["denoise", "scores.npy", "--features", "w=wide.npy", "--out", "b.npy", "--quiet"]
    assert run(words, tmp_path, little) == (2, "tupi: not enough memory for so many items.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scores.npy", "wide.npy"]


@pytest.mark.parametrize(
    ("name", "moments"),
    [
        # Seconds, and whether they count from the first file that is being written.
        ("denoise", [(0.0, True), (0.01, True), (0.4, False)]),
        ("predict", [(0.0, True), (0.3, False)]),
        ("serve", [(3.0, False)]),
    ],
)
def test_a_few_moments_of_those_that_signals_draws(inputs: Path, name: str, moments: list[tuple[float, bool]]) -> None:
    before, whole, _ = prepare(name, inputs.parent)
    counts = Counts()
    for moment in moments:
        for by in (signal.SIGKILL, signal.SIGINT):
            assert try_moment(name, before, whole, moment, by, counts) == [], (moment, by)
    assert counts.ends.total() == 2 * len(moments)
