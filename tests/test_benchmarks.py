import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import new_items
from benchmarks.gradients import REFERENCE, SETTING, Subject, gradient_step, plain_read, sweep
from benchmarks.load import Memory, judge_memory
from benchmarks.measure import Contestant, Figure, Times, memory, side_by_side
from benchmarks.speed_page import BEGIN, END, rewrite, table
from benchmarks.workload import N_VIEWS, make, write

from tupi.page.knowledge import MOST_LIVE
from tupi.runtime.computing import thread_count

MACHINE = {"cpu": "a", "cores": 2, "threads": 2, "load": 0.1, "python": "3", "numpy": "2", "numba": "0", "tupi": "0"}


@pytest.fixture(scope="module")
def subject():
    return Subject.of(2000, threads=1, columns=16)


def test_a_gradient_step_is_measured_against_everything(subject):
    part = gradient_step(subject, rounds=1)
    assert set(part.details["seconds"]) == {"fused", "read", "numpy sum", "reference", "paper"}
    limited = [figure for figure in part.figures if figure.limit is not None]
    assert [(figure.limit, figure.sense) for figure in limited] == [
        (2.5, "at most"),
        (2.5, "at most"),
        (20, "at least"),
    ]
    assert all(figure.value > 0 and figure.best > 0 for figure in part.figures)
    json.dumps([figure.record() for figure in part.figures])


def test_a_sweep_is_measured_against_one_run(subject):
    part = sweep(subject, rounds=1, n_iter=2)
    assert [figure.limit for figure in part.figures] == [12, None, 12, None]
    assert part.details["seconds"]["sweep"]["repeats"] == 1


def test_the_papers_gradient_is_that_of_the_reference_engine(subject):
    f = subject.prepared.f[subject.prepared.order, 0]
    weights = np.array([0.4, 0.3, 0.15, 0.1, 0.05])
    energy, gradient = subject.paper_gradient(f, weights)(f)
    reference = subject.run(REFERENCE).engine.objective(f, weights, SETTING.lam)
    expected, expected_gradient = reference(f)
    assert energy == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-5 * np.abs(expected_gradient).max())


def test_the_plain_read_reads_everything():
    U = np.random.default_rng(0).normal(size=(100, 32)).astype(np.float32)
    assert plain_read(U) == pytest.approx(U.sum(), rel=1e-4)


def test_contestants_take_turns():
    seen = []
    calls = {name: Contestant(lambda name=name: seen.append(name)) for name in "ab"}
    times = side_by_side(calls, rounds=2, calls=2)
    assert "".join(seen) == "aabbbbaa"
    assert all(len(each.seconds) == 4 for each in times.values())


def test_a_limit_has_a_side():
    assert Figure("1", "x", 2.0, 2.5).holds is True
    assert Figure("1", "x", 2.0, 2.5, "at least").holds is False
    assert Figure("1", "x", 2.0).holds is None
    assert Times((3.0, 1.0, 2.0)).summary() == {"median": 2.0, "minimum": 1.0, "repeats": 3}


def test_files_hold_what_arrays_hold(tmp_path):
    scores, views = make(500, 4, "float32")
    write(tmp_path, 500, 4)
    np.testing.assert_array_equal(np.load(tmp_path / "scores.npy"), scores)
    for k in range(N_VIEWS):
        np.testing.assert_array_equal(np.load(tmp_path / f"view{k}.npy"), views[f"view{k}"])


def test_memory_has_a_peak():
    now, peak = memory()
    assert 0 < now <= peak


def test_only_the_marked_section_is_rewritten(tmp_path):
    page = tmp_path / "speed.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    record = {"machine": MACHINE, "figures": [Figure("1", "step / read", 2.0, 2.5, best=1.9, form="{:.1f} x").record()]}
    rewrite(page, record)
    text = page.read_text()
    assert text == f"before\n{BEGIN}\n{table(record)}\n{END}\nafter\n"
    assert "| step / read | 2.0 x | 1.9 x | at most 2.5 | yes |" in text
    rewrite(page, record)
    assert page.read_text() == text


def test_results_that_live_are_measured():
    found = new_items.figures(400, thread_count())
    assert all(value > 0 for values in found.values() for value in values)
    assert found["rank correlation of these two"][0] > 0.999  # few items are denoised anew
    json.dumps(found)


def test_the_load_finds_the_page_as_it_is():
    """It once waited for ever for what the page had ceased to do unasked."""
    words = ["-m", "benchmarks.load", "--people", "4", "--seconds", "5", "--n", "60"]
    root = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert re.search(r"\d+ answers called saved, 0 lost; 0 errors", found.stdout), found.stdout + found.stderr
    assert "first frame" in found.stdout


def test_memory_is_judged_from_when_all_is_there_that_is_kept(capsys):
    def sizes(*megabytes):
        kept = [(50, 10), (100, 10), (100, MOST_LIVE + 1), (100, MOST_LIVE + 1)]  # steps, and items with answers
        return [Memory(k, 10**6 * size, *more) for k, (size, more) in enumerate(zip(megabytes, kept, strict=True))]

    assert judge_memory(sizes(400, 450, 500, 549), 100, 1000)
    assert "all that is kept was there after 2 s" in capsys.readouterr().out
    assert not judge_memory(sizes(400, 450, 500, 551), 100, 1000)
    assert "memory 500 MB to 551 MB since then: +10.2%: GROWS" in capsys.readouterr().out
    assert not judge_memory(sizes(400, 450, 500, 500)[:2], 100, 1000)
    assert "run it for longer" in capsys.readouterr().out


def test_what_the_latest_answers_tell_is_measured():
    words = ["-m", "benchmarks.latest", "--n", "120", "--answers", "40"]
    root = Path(__file__).parents[1]
    found = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, timeout=300, check=True)
    lines = found.stdout.splitlines()
    assert re.fullmatch(r"120 items, scores as they came in: accuracy \d\d\.\d%", lines[0])
    assert len(lines) == 6
    assert lines[-1].startswith("40 answers, about ")
