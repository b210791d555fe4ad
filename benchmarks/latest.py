"""What the page loses by fitting to the latest answers alone while people answer, and what it saves.

    python -m benchmarks.latest [--n 1800] [--answers 800]

Answers are about pairs drawn at random, and one in ten is wrong. The page fits to as many of the latest ones as are
about `tupi.page.knowledge.MOST_LIVE` items. The accuracy is that of `auto` on pairs of all items. The memory is that of
the process with the latest fit (Linux only).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.page import write_files
from tupi.inputs.files import InputFiles
from tupi.inputs.labels import Pairs
from tupi.inputs.problem import make_problem
from tupi.page.answers import PairAnswer
from tupi.page.fits import Fits
from tupi.page.knowledge import MOST_LIVE, Knowledge, Tally, known_from
from tupi.page.source import read_source
from tupi.page.trails import Locked
from tupi.runtime.computing import one_blas_thread

WRONG = 0.1  # of the answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=1800)
    parser.add_argument("--answers", type=int, default=800)
    given = parser.parse_args()
    true = np.random.default_rng(0).normal(size=(given.n, 5))[:, 0]  # what `write_files` hides in scores and views
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), given.n)
        features = {f"view{k}": f"{folder}/view{k}.npy" for k in range(5)}
        source = read_source(InputFiles(f"{folder}/scores.npy", features, None))
    problem = make_problem(source.predictions, source.features, None, source.task, source.impute, source.groups)
    one_blas_thread()
    fits = Fits(Locked(problem))
    rng = np.random.default_rng(1)
    answers = []
    for k in range(given.answers):
        i, j = (int(item) for item in rng.choice(given.n, 2, replace=False))
        verdict = "left" if (true[i] > true[j]) != (rng.random() < WRONG) else "right"
        answers.append(PairAnswer(str(k), "somebody", i, j, verdict, drawn="random"))
    first, second = rng.integers(given.n, size=(2, 200_000))

    def accuracy(scores: np.ndarray) -> float:
        apart = first != second
        return float(np.mean((scores[first] > scores[second])[apart] == (true[first] > true[second])[apart]))

    print(f"{given.n:,} items, scores as they came in: accuracy {accuracy(problem.initial):.1%}")
    fits.result("auto", Knowledge(None))  # what depends on no labels is there before anybody answers
    tally = Tally(answers)
    for most in (100, MOST_LIVE // 2, MOST_LIVE, 2 * MOST_LIVE, given.n):
        known = known_from(None, tally.latest(most))
        assert isinstance(known.labels, Pairs)
        began = time.perf_counter()
        result = fits.result("auto", known)
        seconds = time.perf_counter() - began
        items = len(np.unique([known.labels.higher, known.labels.lower]))
        told = f"{known.words}, about {items} items"
        size = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
        print(f"{told:45s} accuracy {accuracy(result.predictions):.1%}, {seconds:5.1f} s, {size:4.0f} MB")


if __name__ == "__main__":
    main()
