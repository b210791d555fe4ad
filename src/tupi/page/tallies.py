"""Answers counted as they come, so that another one costs the same however many there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Self

from tupi.page.answers import Answer, Said, Told

SIGNS = {"left": 1, "right": -1, "equal": 0}
Votes = dict[tuple[int, int], int]


class Counted(ABC):
    """Answers of one kind.

    Attributes
    ----------
    verdicts : dict of str to Counter
        How often each rater said what.
    n_decided : int
        How many pairs, or items, are known from the answers.
    """

    n_decided: int

    def __init__(self, answers: Iterable[Said] = ()) -> None:
        self.verdicts: dict[str, Counter[str]] = defaultdict(Counter)
        self._seen: list[Said] = []
        self._take(answers)

    @property
    def n(self) -> int:
        """How many answers there are."""
        return len(self._seen)

    def follow(self, answers: Sequence[Said]) -> Self:
        """Return the tally of these answers: this one with the new answers, or another one if some were undone."""
        n = len(self._seen)
        if n > len(answers) or (n and self._seen[-1] is not answers[n - 1]):
            return type(self)(answers)
        self._take(answers[n:])
        return self

    def _take(self, answers: Iterable[Said]) -> None:
        for answer in answers:
            self._seen.append(answer)
            self.verdicts[answer.rater][answer.verdict] += 1
            self._add(answer)

    @abstractmethod
    def _add(self, answer: Said) -> None:
        """Count one more answer."""


class Tally(Counted):
    """Answers about pairs.

    Attributes
    ----------
    votes : dict of (int, int) to int
        Per pair (lower position first) how many more raters put the first item higher than the second. Each rater has
        one vote per pair: the last answer. Skipping is no vote.
    chosen : set of (int, int)
        Pairs with an answer that was not drawn at random.
    skipped : dict of str to set of (int, int)
        The pairs that each rater skipped.
    n_votes, n_random : int
        How many answers are votes, and how many of those were drawn at random.
    n_decided : int
        How many pairs have a majority.
    """

    def __init__(self, answers: Iterable[Said] = ()) -> None:
        self.votes: Votes = {}
        self.chosen: set[tuple[int, int]] = set()
        self.skipped: dict[str, set[tuple[int, int]]] = defaultdict(set)
        self.n_votes = self.n_random = self.n_decided = 0
        self._said: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        super().__init__(answers)

    def _add(self, answer: Said) -> None:
        assert isinstance(answer, Answer)
        pair = min(answer.left, answer.right), max(answer.left, answer.right)
        if answer.verdict not in SIGNS:
            self.skipped[answer.rater].add(pair)
            return
        self.n_votes += 1
        if answer.drawn == "random":
            self.n_random += 1
        else:
            self.chosen.add(pair)
        sign = SIGNS[answer.verdict] if answer.left == pair[0] else -SIGNS[answer.verdict]
        said = self._said[pair]
        before = self.votes.get(pair, 0)
        after = self.votes[pair] = before + sign - said.get(answer.rater, 0)
        self.n_decided += bool(after) - bool(before)
        said[answer.rater] = sign


class ItemTally(Counted):
    """Answers about single items.

    Attributes
    ----------
    said : dict of int to dict of str to object
        What each rater said of each item, the last time; an item that everybody skipped is not among them.
    skipped : dict of str to set of int
        The items that each rater skipped.
    """

    def __init__(self, answers: Iterable[Said] = ()) -> None:
        self.said: dict[int, dict[str, Any]] = {}
        self.skipped: dict[str, set[int]] = defaultdict(set)
        super().__init__(answers)

    @property
    def n_decided(self) -> int:  # type: ignore[override]
        """How many items somebody said something of."""
        return len(self.said)

    def _add(self, answer: Said) -> None:
        assert isinstance(answer, Told)
        if answer.value is None:
            self.skipped[answer.rater].add(answer.item)
        else:
            self.said.setdefault(answer.item, {})[answer.rater] = answer.value
