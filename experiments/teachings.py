"""Whether the interval of the gain that Teach shows holds the true gain.

Simulated people answer 10 to 40 questions each, as the page asks them, and always rightly. Then the interval on the
page is compared with what the ranking that it is about gains in all pairs. The problems: a view that tells a lot, one
that tells a little, none that tells anything, and a view that tells of something else than a good predictor does. Where
`auto` leaves the scores as they are, the page says so, and the gain is zero; with fewer than eight answers about random
pairs the page shows no interval, and such teachings are counted apart.

    python experiments/teachings.py [--teachings 200] [--first 0] [--least 10] [--most 40]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tupi
from tupi.page.explorer import CANDIDATE_STEPS
from tupi.page.session import Session
from tupi.page.source import PageSource

N = 200
KINDS = ("a lot", "a little", "nothing", "something else")
PATIENCE = 300.0  # seconds


@dataclass(frozen=True)
class Teaching:
    """What the page said in the end, in points, and what is true."""

    gain: float
    low: float
    high: float
    true: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds the true gain."""
        return self.low <= self.true <= self.high


def problem(kind: str, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return the truth, the scores, and the views."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    truth, other = rng.normal(size=(2, N))
    noise = {"a lot": 1.0, "a little": 0.7, "nothing": 0.8, "something else": 0.3}[kind]
    scores = truth + noise * rng.normal(size=N)
    junk = rng.normal(size=(N, 3))
    told = {
        "a lot": np.column_stack([truth, truth**2]) + 0.3 * rng.normal(size=(N, 2)),
        "a little": truth[:, None] + 1.5 * rng.normal(size=(N, 1)),
        "nothing": rng.normal(size=(N, 2)),
        "something else": (0.4 * truth + other)[:, None] + 0.2 * rng.normal(size=(N, 2)),
    }[kind]
    return truth, scores, {"told": told, "junk": junk}


def teach(kind: str, seed: int, n_answers: int) -> Teaching | None:
    """Open a session, answer its questions, and return what it says; None if it shows no interval yet."""
    truth, scores, views = problem(kind, seed)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(PageSource(scores, views, random_state=seed), Path(folder) / "answers.jsonl")
        try:
            teacher, explorer = session.teacher, session.explorer
            teacher.question("ann")
            settings = explorer.follow_candidates(session.first.kernel)
            # People are slower than machines: when they answer, candidates and the judgement are there.
            _wait(session, lambda: all(len(explorer.trails.known(one)) > CANDIDATE_STEPS for one in settings))
            for k in range(n_answers):
                pair = teacher.question("ann")
                assert pair is not None
                left, right = pair
                teacher.answer("ann", left, right, "left" if truth[left] > truth[right] else "right", str(k))
                _wait(session, lambda: (teacher.gain() or {}).get("current"))
            said = teacher.gain()
            assert said is not None
            before, after = (tupi.pairwise_accuracy(one, truth) for one in (scores, teacher.ranking))
        finally:
            session.close()
    if said["low"] is None:
        return None
    return Teaching(*(100 * one for one in (said["gain"], said["low"], said["high"], after - before)))


def _wait(session: Session, met: Callable[[], object]) -> None:
    end, seen = time.monotonic() + PATIENCE, -1
    while not met():
        if time.monotonic() > end:
            raise TimeoutError(str(session.status()))
        seen = session.signal.wait(seen, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teachings", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first teaching")
    parser.add_argument("--least", type=int, default=10, help="answers of one person, at least")
    parser.add_argument("--most", type=int, default=40, help="and at most")
    args = parser.parse_args()
    found: dict[str, list[Teaching | None]] = defaultdict(list)
    for k in range(args.first, args.first + args.teachings):
        n_answers = int(np.random.default_rng([len(KINDS), k]).integers(args.least, args.most + 1))
        kind = KINDS[k % len(KINDS)]
        found[kind].append(teach(kind, k // len(KINDS), n_answers))
    print("| the view tells | teachings | no interval yet | unchanged | changed | held | true gain | said | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for kind, all_of in [*found.items(), ("together", [one for some in found.values() for one in some])]:
        shown = [one for one in all_of if one is not None]
        changed = [one for one in shown if one.low < one.high]
        held = sum(one.holds for one in changed)
        # Intervals of rankings that stay as they are have no width, and hold the gain because it is zero.
        assert all(one.holds for one in shown if one.low == one.high)
        row = [kind, len(all_of), len(all_of) - len(shown), len(shown) - len(changed), len(changed), held]
        means = [(one.true, one.gain, one.high - one.low) for one in changed] or [(np.nan,) * 3]
        true, gain, width = np.mean(means, axis=0)
        print(f"| {' | '.join(map(str, row))} | {true:+.1f} | {gain:+.1f} | {width:.1f} |")


if __name__ == "__main__":
    main()
