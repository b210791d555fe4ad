"""Whether the interval of the gain that Teach shows holds the true gain.

Simulated people answer twenty questions each, as the page asks them, and always rightly. Then the interval on the page
is compared with what the ranking that it is about gains in all pairs. The problems: a view that tells a lot, one that
tells a little, none that tells anything, and a view that tells of something else than a good predictor does. Where
`auto` leaves the scores as they are, the page says so, and the gain is zero.

    python experiments/teachings.py [--teachings 100] [--answers 20]
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
from tupi.page.source import Source

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


def teach(kind: str, seed: int, n_answers: int) -> Teaching:
    """Open a session, answer its questions, and return what it says."""
    truth, scores, views = problem(kind, seed)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Source(scores, views, random_state=seed), Path(folder) / "answers.jsonl")
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
        raise ValueError(said["sentence"])
    return Teaching(*(100 * one for one in (said["gain"], said["low"], said["high"], after - before)))


def _wait(session: Session, met: Callable[[], object]) -> None:
    end, seen = time.monotonic() + PATIENCE, -1
    while not met():
        if time.monotonic() > end:
            raise TimeoutError(str(session.status()))
        seen = session.signal.wait(seen, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--teachings", type=int, default=100)
    parser.add_argument("--answers", type=int, default=20)
    args = parser.parse_args()
    found: dict[str, list[Teaching]] = defaultdict(list)
    for k in range(args.teachings):
        kind = KINDS[k % len(KINDS)]
        found[kind].append(teach(kind, k // len(KINDS), args.answers))
    print(
        f"{'the view tells':<16}{'teachings':>10}{'held':>6}{'unchanged':>11}{'true gain':>11}{'said':>8}{'width':>8}"
    )
    for kind, all_of in [*found.items(), ("together", [one for some in found.values() for one in some])]:
        true, gain = (np.mean([getattr(one, name) for one in all_of]) for name in ("true", "gain"))
        width = np.mean([one.high - one.low for one in all_of])
        held = sum(one.holds for one in all_of)
        unchanged = sum(one.low == one.high for one in all_of)
        print(f"{kind:<16}{len(all_of):>10}{held:>6}{unchanged:>11}{true:>+11.1f}{gain:>+8.1f}{width:>8.1f}")


if __name__ == "__main__":
    main()
