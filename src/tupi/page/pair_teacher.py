"""Questions about two items: which of them is higher."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tupi.inputs.labels import Labels, n_labels
from tupi.judging.metrics import metric_of
from tupi.methods.tupi import Tupi
from tupi.page.answers import VERDICTS, PairAnswer, Said
from tupi.page.explorer import CANDIDATE_STEPS
from tupi.page.knowledge import Counted, Knowledge, Tally, known_from
from tupi.page.pairs import AllPairs, candidate_weights, next_pair, random_pair
from tupi.page.teacher import Question, Teacher


class PairTeacher(Teacher):
    """Asks which of two items is higher; with groups, of two items of one group.

    Parameters
    ----------
    kernel : str
        Kernels of the candidates.
    *common
        See `Teacher`.
    """

    asks: ClassVar[str] = "pairs"
    verdicts: ClassVar[tuple[str, ...]] = VERDICTS
    _tally: Tally

    def __init__(self, kernel: str, *common: Any) -> None:
        self._kernel = kernel
        self._settings: list[Tupi] = []
        super().__init__(*common)
        problem = self._explorer.prepared.problem
        self._pairs = AllPairs(problem.n, None if problem.groups is None else problem.groups.numbers)

    def _empty(self) -> Tally:
        return Tally()

    def _told(self, given: Labels | None, tally: Counted) -> Knowledge:
        assert isinstance(tally, Tally)
        prepared = self._explorer.prepared
        return known_from(given, tally, prepared.random_state, prepared.problem.groups)

    def _first_question(self) -> None:
        self._settings = self._explorer.follow_candidates(self._kernel)

    def _choose(self, rater: str) -> Question | None:
        """Return the next question; half of them are drawn at random, since only those can judge."""
        tally = self._count()
        assert isinstance(tally, Tally)
        others = self._others(rater)
        # What anybody answered is known; what this rater skipped stays skipped.
        taken = tally.votes.keys() | tally.skipped.get(rater, set())
        taken |= {(min(question.items), max(question.items)) for question in others}
        rng = np.random.default_rng([self._explorer.prepared.random_state, tally.n, *rater.encode()])
        n_random = tally.n_random + sum(question.drawn == "random" for question in others)
        at_random = 2 * n_random <= tally.n_votes + len(others)
        if at_random:
            pair = random_pair(self._pairs, taken, rng)
        else:
            pair = next_pair(*self._candidates(), taken, rng, self._pairs)
        return None if pair is None else Question(pair, "random" if at_random else "chosen")

    def _candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return candidate rankings, the initial one first, and how probable each is after the labels so far."""
        problem = self._explorer.prepared.problem
        rows: list[np.ndarray] = [problem.initial]
        scores: list[float | None] = []
        labels = self.labels()
        if self._result is not None and self._result.changed and labels is not None:
            rows.append(self._result.predictions)
            left_out = None if self._evidence is None else self._evidence.after
            seen = left_out is None or not np.isfinite(left_out)
            scores.append(metric_of(problem.task, labels).score(rows[-1], labels) if seen else left_out)
        for setting in self._settings:
            known = self._explorer.trails.known(setting)
            for t in (1, 3, CANDIDATE_STEPS):
                if t < len(known):
                    row = problem.initial.copy()
                    row[self._explorer.prepared.items] = known[t].f[:, 0]
                    rows.append(row)
                    scores.append(self._explorer.score(setting, t))
        items = self._explorer.prepared.items
        table = np.array(rows, dtype=np.float32)
        table = (table - table[:, items].mean(axis=1)[:, None]) / table[:, items].std(axis=1)[:, None]
        if labels is None:
            return table, np.full(len(rows), 1 / len(rows))
        first = metric_of(problem.task, labels).score(problem.initial, labels)
        agreed = np.array([first, *(first if one is None else one for one in scores)])
        return table, candidate_weights(np.clip(agreed, 0, 1), n_labels(labels))

    def answer(self, rater: str, left: int, right: int, verdict: str, key: str) -> None:
        """Save which of two items is higher."""
        with self._lock:
            asked = self._pending.get(rater)
            if asked is not None and asked.items not in ((left, right), (right, left)):
                asked = None
        drawn = "chosen" if asked is None else asked.drawn
        self._save(PairAnswer(key, rater, left, right, verdict, drawn=drawn), asked)

    def _again(self, undone: Said) -> Question:
        assert isinstance(undone, PairAnswer)
        return Question((undone.left, undone.right), undone.drawn)
