"""What the page computes after an answer, in CPU seconds: what `auto` makes of the labels, and the gain that they show.

    python -m benchmarks.answers [--n 50000] [--answers 120] [--repeats 5]

Five views of 20 columns; people answered questions about pairs, half of which were drawn at random. Unlike
`benchmarks/page.py` it needs no browser, and CPU time says something on a busy machine, too.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np

from tupi.inputs.problem import make_problem
from tupi.page.answers import PairAnswer
from tupi.page.fits import Fits
from tupi.page.knowledge import known_from
from tupi.page.trails import Locked
from tupi.runtime.computing import one_blas_thread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=50_000)
    parser.add_argument("--answers", type=int, default=120)
    parser.add_argument("--repeats", type=int, default=5)
    words = parser.parse_args()
    one_blas_thread()
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(words.n, 5))
    views = {
        f"view{k}": (hidden[:, :3] @ rng.normal(size=(3, 20)) + rng.normal(size=(words.n, 20))).astype(np.float32)
        for k in range(5)
    }
    problem = make_problem(hidden[:, 0] + rng.normal(size=words.n), views)
    fits = Fits(Locked(replace(problem, labels=None)))
    answers = []
    for k in range(words.answers + words.repeats + 1):
        left, right = (int(item) for item in rng.integers(words.n, size=2))
        verdict = "left" if hidden[left, 0] > hidden[right, 0] else "right"
        answers.append(PairAnswer(str(k), "ann", left, right, verdict, drawn="chosen" if k % 2 else "random"))
    fit, judge = [], []
    for k in range(words.repeats + 1):
        known = known_from(None, answers[: words.answers + k])
        start = time.process_time()
        changed = fits.result("auto", known).changed
        middle = time.process_time()
        fits.evidence("auto", known)
        fit.append(middle - start)
        judge.append(time.process_time() - middle)
    # The first one also prepares what no label changes.
    print(f"{words.n:,} items, {words.answers} answers, predictions {'changed' if changed else 'as they were'}")
    print(f"first answer: {fit[0] + judge[0]:.2f} CPU s")
    print(f"another one: {statistics.median(fit[1:]):.2f} CPU s until its ranking, median of {words.repeats}")
    print(f"             {statistics.median(judge[1:]):.2f} CPU s more until its gain")


if __name__ == "__main__":
    main()
