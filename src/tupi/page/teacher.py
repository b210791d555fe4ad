"""Questions to people, their answers, and the gain that these show so far."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tupi.inputs.labels import Labels, n_labels
from tupi.judging.evidence import Evidence
from tupi.judging.metrics import metric_of
from tupi.methods.tupi import Tupi
from tupi.page.answers import VERDICTS, Answer, AnswerFile
from tupi.page.explorer import CANDIDATE_STEPS, Explorer
from tupi.page.knowledge import NOTHING, Known, Tally, known_from
from tupi.page.lanes import Lane, Piece
from tupi.page.pairs import Pair, candidate_weights, next_pair, random_pair
from tupi.page.signals import Signal
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

MAX_PENDING = 1_000  # raters with an open question


@dataclass(frozen=True)
class Question:
    """A pair that a rater is asked about, and how it was drawn: "random" or "chosen"."""

    pair: Pair
    drawn: str


class Teacher:
    """Asks, saves, and judges.

    Parameters
    ----------
    file : AnswerFile
        Where answers go.
    explorer : Explorer
        Knows candidate rankings.
    labels : Values, Pairs or None
        What was known before the first answer.
    kernel : str
        Kernels of the candidates.
    signal : Signal
        Told when answers or the gain changed.
    changed : callable
        Called with what is known from now on.
    """

    def __init__(
        self,
        file: AnswerFile,
        explorer: Explorer,
        labels: Labels | None,
        kernel: str,
        signal: Signal,
        changed: Callable[[Known], None],
    ) -> None:
        self.file, self._explorer, self._known, self._kernel = file, explorer, labels, kernel
        self._signal, self._changed = signal, changed
        self._pending: dict[str, Question] = {}
        self._tally = Tally()
        self._found: dict[str, Known] = {}  # what the latest answers say, by which labels are used
        self._version = -1  # of the answers that were counted
        self._settings: list[Tupi] = []
        self._lock = threading.RLock()
        self._evidence: Evidence | None = None
        self._auto: np.ndarray | None = None  # what `auto` makes of the answers so far, if it changes anything
        self._auto_score = 0.0  # how well that agrees with labels that were left out
        self._asked = False
        self._changes, self._judged = 0, -1  # how often answers changed, and when the evidence was made
        self._lane = Lane("gain", self._next_judgement)
        self._leave = signal.listen(self._lane.wake)
        changed(self.known())

    def close(self) -> None:
        """End the thread and let others use the file."""
        self._leave()
        self._lane.close()
        self.file.close()

    @property
    def possible(self) -> bool:
        """Whether pairs can be asked about: class scores have no higher and lower."""
        return self._explorer.prepared.problem.task != "classification"

    def known(self, use: str = "both") -> Known:
        """Return what is known from the file, from the answers, from both together, or nothing ("none")."""
        if use == "none":
            return NOTHING
        with self._lock:
            tally = self._count()
            if use not in self._found:
                given = self._known if use in ("file", "both") else None
                answers = tally if use in ("answers", "both") else Tally()
                self._found[use] = known_from(given, answers, self._explorer.prepared.random_state)
            return self._found[use]

    def _count(self) -> Tally:
        """Return the tally of all answers so far."""
        with self._lock:
            if self._version != self.file.version:
                self._version, answers = self.file.snapshot()
                self._tally = self._tally.follow(answers)
                self._found.clear()
            return self._tally

    def labels(self) -> Labels | None:
        """Return all labels."""
        return self.known().labels

    def uses(self) -> list[str]:
        """Return which labels there are to use, the default first."""
        answered = self._count().n_decided > 0
        if self._known is None:
            return ["answers"] if answered else []
        return ["both", "answers", "file"] if answered else ["file"]

    @property
    def ranking(self) -> np.ndarray:
        """The scores that the latest judgement is about."""
        with self._lock:
            return self._explorer.prepared.problem.initial if self._auto is None else self._auto

    # Asking

    def question(self, rater: str) -> Pair | None:
        """Return the pair that a rater is asked about: the same until it is answered."""
        if not self.possible:
            raise InputError("task: class scores have no higher and lower; accepted: ranking or regression.")
        with self._lock:
            if not self._asked:
                self._asked, self._settings = True, self._explorer.follow_candidates(self._kernel)
                self._lane.wake()
            if rater not in self._pending:
                question = self._choose(rater)
                if question is None:
                    return None
                while len(self._pending) >= MAX_PENDING:
                    self._pending.pop(next(iter(self._pending)))
                self._pending[rater] = question
            return self._pending[rater].pair

    def _choose(self, rater: str) -> Question | None:
        """Return the next question; half of them are drawn at random, since only those can judge."""
        tally = self._count()
        others = [question for who, question in self._pending.items() if who != rater]
        # What anybody answered is known; what this rater skipped stays skipped; what others look at now is theirs.
        taken = tally.votes.keys() | tally.skipped.get(rater, set())
        taken |= {(min(question.pair), max(question.pair)) for question in others}
        seed = self._explorer.prepared.random_state
        rng = np.random.default_rng([seed, tally.n, *rater.encode()])
        n_random = tally.n_random + sum(question.drawn == "random" for question in others)
        at_random = 2 * n_random <= tally.n_votes + len(others)
        if at_random:
            pair = random_pair(self._explorer.prepared.problem.n, taken, rng)
        else:
            pair = next_pair(*self._candidates(), taken, rng)
        return None if pair is None else Question(pair, "random" if at_random else "chosen")

    def _candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Return candidate rankings, the initial one first, and how probable each is after the labels so far."""
        problem = self._explorer.prepared.problem
        rows: list[np.ndarray] = [problem.initial]
        scores: list[float | None] = []
        labels = self.labels()
        if self._auto is not None:
            rows.append(self._auto)
            scores.append(self._auto_score)
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

    # Answering

    def answer(self, rater: str, left: int, right: int, verdict: str, key: str) -> None:
        """Save an answer; when this returns, a kill cannot lose it."""
        with self._lock:
            asked = self._pending.get(rater)
            if asked is not None and asked.pair not in ((left, right), (right, left)):
                asked = None
        drawn = "chosen" if asked is None else asked.drawn
        self.file.append(Answer(key, rater, left, right, verdict, drawn=drawn))
        with self._lock:
            if asked is not None and self._pending.get(rater) == asked:
                del self._pending[rater]
        self._moved_on()

    def undo(self, rater: str, key: str) -> Answer | None:
        """Take a rater's last answer back, and ask the same again."""
        undone = self.file.undo(rater, key)
        if undone is not None:
            with self._lock:
                self._pending[rater] = Question((undone.left, undone.right), undone.drawn)
            self._moved_on()
        return undone

    def _moved_on(self) -> None:
        with self._lock:
            self._changes += 1
        self._changed(self.known())
        self._signal.changed()

    def progress(self, rater: str = "") -> dict[str, Any]:
        """Return how many answers there are, by everybody and by one rater."""
        with self._lock:
            tally = self._count()
            mine = tally.verdicts.get(rater, Counter())
            return {
                "answers": tally.n,
                "raters": sum(1 for said in tally.verdicts.values() if said),
                "mine": mine.total(),
                "mine_by": {verdict: mine[verdict] for verdict in VERDICTS},
                "pairs": tally.n_decided,
            }

    # Judging

    def gain(self) -> dict[str, Any] | None:
        """Return the latest judgement, with whether it is about all answers so far."""
        with self._lock:
            if self._evidence is None:
                return None
            facts = asdict(self._evidence) | {"gain": self._evidence.gain, "current": self._judged == self._changes}
        return plain(facts)

    def _next_judgement(self) -> Piece | None:
        with self._lock:
            now = self._changes
            return (lambda: self._judge(now)) if self._asked and now != self._judged else None

    def _judge(self, now: int) -> None:
        """Decide as `auto` would with the answers so far; keep its gain, and its ranking as one more candidate."""
        known = self.known()
        evidence, changed, agreed = None, None, 0.0
        if known.labels is not None:
            result = self._explorer.fits.result("auto", known)
            if result.changed:
                changed = result.predictions
                agreed = metric_of(result.task, known.labels).score(changed, known.labels)
            evidence = self._explorer.fits.evidence("auto", known)
            if changed is not None and evidence is not None and np.isfinite(evidence.after):
                agreed = evidence.after
        with self._lock:
            self._judged, self._evidence, self._auto, self._auto_score = now, evidence, changed, agreed
        self._signal.changed()
