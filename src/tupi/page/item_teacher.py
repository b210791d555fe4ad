"""Questions about one item: its value, or its class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tupi.inputs.labels import Labels, Values
from tupi.inputs.numbers import MAGNITUDES
from tupi.page.answers import Said, Told
from tupi.page.knowledge import Counted, ItemTally, Knowledge, known_of_items
from tupi.page.teacher import Question, Teacher
from tupi.runtime.errors import InputError


class ItemTeacher(Teacher):
    """Asks what one item is like. Items are drawn at random, so that all answers may judge as well as teach."""

    verdicts: ClassVar[tuple[str, ...]] = ("value", "skip")

    def _empty(self) -> ItemTally:
        return ItemTally()

    @abstractmethod
    def _of(self, said: Sequence[Any]) -> Any:
        """Return the label that several raters' answers about one item make; None if they say nothing."""

    def _told(self, given: Labels | None, tally: Counted) -> Knowledge:
        assert isinstance(tally, ItemTally)
        assert given is None or isinstance(given, Values)
        found = {item: self._of(list(said.values())) for item, said in tally.said.items()}
        known = {item: label for item, label in found.items() if label is not None}
        return known_of_items(given, known, tally.left_out)

    def _choose(self, rater: str) -> Question | None:
        tally = self._count()
        assert isinstance(tally, ItemTally)
        taken = tally.said.keys() | tally.skipped.get(rater, set())
        taken |= {item for question in self._others(rater) for item in question.items}
        if isinstance(self._known, Values):
            taken |= set(self._known.index.tolist())
        items = self._explorer.prepared.items
        rng = np.random.default_rng([self._explorer.prepared.random_state, tally.n, *rater.encode()])
        free = items[~np.isin(items, np.fromiter(taken, np.int64, len(taken)))]
        return Question((int(rng.choice(free)),), "random") if len(free) else None

    def answer(self, rater: str, item: int, value: Any, key: str) -> None:
        """Save what an item is like; None skips it."""
        with self._lock:
            asked = self._pending.get(rater)
            if asked is not None and asked.items != (item,):
                asked = None
        self._save(Told(key, rater, item, None if value is None else self._checked(value)), asked)

    @abstractmethod
    def _checked(self, value: Any) -> float | str:
        """Return a value that can be saved, or complain."""

    def _again(self, undone: Said) -> Question:
        assert isinstance(undone, Told)
        return Question((undone.item,), "random")


class ValueTeacher(ItemTeacher):
    """Asks for the value of an item; of several people's values the mean counts."""

    asks: ClassVar[str] = "values"

    def _of(self, said: Sequence[Any]) -> Any:
        return float(np.mean(said))

    def _checked(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MAGNITUDES[1]:
            most = MAGNITUDES[1]
            raise InputError(f"value: found {str(value)[:40]!r}; accepted: a number from {-most:g} to {most:g}.")
        return float(value)


class ClassTeacher(ItemTeacher):
    """Asks for the class of an item; of several people's the one that most of them say, and in a draw none.

    Parameters
    ----------
    classes : sequence of str
        Names of the classes.
    *common
        See `Teacher`.
    """

    asks: ClassVar[str] = "classes"

    def __init__(self, classes: Sequence[str], *common: Any) -> None:
        self._numbers = {name: number for number, name in enumerate(classes)}
        super().__init__(*common)

    def _of(self, said: Sequence[Any]) -> Any:
        votes = np.bincount([self._numbers[name] for name in said if name in self._numbers], minlength=1)
        return int(votes.argmax()) if np.sum(votes == votes.max()) == 1 else None

    def _checked(self, value: Any) -> str:
        if not isinstance(value, str) or value not in self._numbers:
            raise InputError(f"value: found {str(value)[:40]!r}; accepted: {', '.join(self._numbers)}.")
        return value
