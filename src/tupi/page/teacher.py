"""Questions to people, their answers, and the gain that these show so far."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tupi.inputs.labels import Labels
from tupi.judging.evidence import Evidence
from tupi.page.answers import AnswerFile, Said
from tupi.page.explorer import Explorer
from tupi.page.frames import facts_of
from tupi.page.knowledge import MOST_LIVE, NOTHING, Counted, Knowledge
from tupi.page.lanes import Lane, Piece, Signal
from tupi.results.result import Denoised

MAX_PENDING = 1_000  # raters with an open question
LIVE = "live"


@dataclass(frozen=True)
class Question:
    """The items that a rater is asked about, one or two, and how they were drawn: "random" or "chosen"."""

    items: tuple[int, ...]
    drawn: str


class Teacher(ABC):
    """Asks, saves, and judges.

    Parameters
    ----------
    file : AnswerFile
        Where answers go.
    explorer : Explorer
        Knows candidate rankings.
    labels : Values, Pairs or None
        What was known before the first answer.
    signal : Signal
        Told when answers or the gain changed.
    changed : callable
        Called with what is known from now on, and with what methods are fitted to meanwhile, see `live`.
    """

    asks: ClassVar[str]  # "pairs", "values" or "classes"
    verdicts: ClassVar[tuple[str, ...]]  # what answers are counted by

    def __init__(
        self,
        file: AnswerFile,
        explorer: Explorer,
        labels: Labels | None,
        signal: Signal,
        changed: Callable[[Knowledge, Knowledge], None],
    ) -> None:
        self.file, self._explorer, self._known = file, explorer, labels
        self._signal, self._changed = signal, changed
        self._pending: dict[str, Question] = {}
        self._tally = self._empty()
        self._found: dict[str, Knowledge] = {}  # what the latest answers say, by which labels are used
        self._version = -1  # of the answers that were counted
        self._lock = threading.RLock()
        self._evidence: Evidence | None = None
        self._result: Denoised | None = None  # what `auto` makes of the answers so far
        self._asked = False
        self._changes, self._judged = 0, -1  # how often answers changed, and when the evidence was made
        self._lane = Lane("gain", self._next_judgement)
        self._leave = signal.listen(self._lane.wake)
        changed(self.known(), self.live())

    @abstractmethod
    def _empty(self) -> Counted:
        """Return a tally of no answers."""

    @abstractmethod
    def _told(self, given: Labels | None, tally: Counted) -> Knowledge:
        """Return what is known from labels that were given and from answers."""

    @abstractmethod
    def _choose(self, rater: str) -> Question | None:
        """Return the next question for a rater; None if everything was asked."""

    def close(self) -> None:
        """End the thread and let others use the file."""
        self._leave()
        self._lane.close()
        self.file.close()

    def known(self, use: str = "both") -> Knowledge:
        """Return what is known from the file, from the answers, from both together, or nothing ("none")."""
        if use == "none":
            return NOTHING
        with self._lock:
            tally = self._count()
            if use not in self._found:
                given = self._known if use in ("file", "both") else None
                answers = tally if use in ("answers", "both") else self._empty()
                self._found[use] = self._told(given, answers)
            return self._found[use]

    def live(self) -> Knowledge:
        """Return what methods are fitted to while people answer: labels of the file, and the latest answers.

        A decision is fitted to all answers. Here one result follows another as long as anybody answers, and each must
        be there before the next answers are.
        """
        with self._lock:
            tally = self._count()
            if LIVE not in self._found:
                some = tally.latest(MOST_LIVE)
                self._found[LIVE] = self.known() if some is tally else self._told(self._known, some)
            return self._found[LIVE]

    def _count(self) -> Counted:
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
        """The predictions that the latest judgement is about."""
        with self._lock:
            result = self._result
        return self._explorer.prepared.problem.initial if result is None else result.predictions

    # Asking

    def question(self, rater: str) -> tuple[int, ...] | None:
        """Return the items that a rater is asked about: the same until they are answered."""
        with self._lock:
            if not self._asked:
                self._asked = True
                self._first_question()
                self._lane.wake()
            if rater not in self._pending:
                question = self._choose(rater)
                if question is None:
                    return None
                while len(self._pending) >= MAX_PENDING:
                    self._pending.pop(next(iter(self._pending)))
                self._pending[rater] = question
            return self._pending[rater].items

    def _first_question(self) -> None:  # noqa: B027  (most have nothing to do)
        """Begin with whatever helps to choose questions."""

    def _others(self, rater: str) -> list[Question]:
        """Return what other raters look at now: it is theirs."""
        return [question for who, question in self._pending.items() if who != rater]

    # Answering

    def _save(self, answer: Said, asked: Question | None) -> None:
        """Save an answer; when this returns, a kill cannot lose it."""
        self.file.append(answer)
        with self._lock:
            if asked is not None and self._pending.get(answer.rater) == asked:
                del self._pending[answer.rater]
        self._moved_on()

    def undo(self, rater: str, key: str) -> Said | None:
        """Take a rater's last answer back, and ask the same again."""
        undone = self.file.undo(rater, key)
        if undone is not None:
            with self._lock:
                self._pending[rater] = self._again(undone)
            self._moved_on()
        return undone

    @abstractmethod
    def _again(self, undone: Said) -> Question:
        """Return the question that an answer was to."""

    def _moved_on(self) -> None:
        with self._lock:  # of two answers at once, the later one must be told last
            self._changes += 1
            self._changed(self.known(), self.live())
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
                "mine_by": {verdict: mine[verdict] for verdict in self.verdicts},
                "decided": tally.n_decided,
            }

    # Judging

    def gain(self) -> dict[str, Any] | None:
        """Return the latest judgement, with whether it is about all answers so far."""
        with self._lock:
            if self._evidence is None:
                return None
            return facts_of(self._evidence) | {"current": self._judged == self._changes}

    def _next_judgement(self) -> Piece | None:
        with self._lock:
            now = self._changes
            return (lambda: self._judge(now)) if self._asked and now != self._judged else None

    def _judge(self, now: int) -> None:
        """Decide as `auto` would with the answers so far, and keep its gain."""
        known = self.live()
        result, evidence = None, None
        if known.labels is not None:
            result = self._explorer.fits.result("auto", known)
            evidence = self._explorer.fits.evidence("auto", known)
        with self._lock:
            self._judged, self._evidence, self._result = now, evidence, result
        self._signal.changed()
