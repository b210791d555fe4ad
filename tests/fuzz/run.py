"""Many calls drawn from seeds: prints those of which something came that must not, and a count.

    python -m tests.fuzz.run [--cases 10000] [--seed 0] [--minutes 40]

It ends after so many minutes, if these are given, and says which seed would have been next. A failure is repeated with
``--cases 1 --seed`` and its number.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from tests.fuzz.cases import drawn
from tests.fuzz.outcomes import problem_with


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    began, kinds, refused, failed = time.monotonic(), Counter[str](), 0, 0
    for seed in range(given.seed, given.seed + given.cases):
        if time.monotonic() - began > 60 * given.minutes:
            print(f"out of time; the next one is --seed {seed}")
            break
        case = drawn(seed)
        kinds[case.kind] += 1
        wrong = problem_with(case)
        refused += case.refusal is not None
        if wrong is not None:
            failed += 1
            print(f"--- seed {seed}, {case.kind}: {wrong}", flush=True)
        if kinds.total() % 10_000 == 0:
            print(f"{kinds.total():,} cases, up to seed {seed}: {refused:,} refused, {failed} failed", flush=True)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    print(f"{kinds.total():,} cases in {time.monotonic() - began:.0f} s: {counts}")
    print(f"{refused:,} were refused with a sentence, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
