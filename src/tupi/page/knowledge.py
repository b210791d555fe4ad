"""What is known about the items: labels from a file, and answers, as one set of labels.

Answers are counted as they come, so that another one costs the same however many there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.groups import Groups, pairs_within
from tupi.inputs.labels import Labels, Pairs, Values, amount, counted, entries, ranks_something
from tupi.page.answers import PairAnswer, Said, Told

SIGNS = {"left": 1, "right": -1, "equal": 0}
Votes = dict[tuple[int, int], int]
Table = NDArray[np.int64]  # of shape (3, k): the lower and the higher position of pairs, and their votes
MAX_VALUES, MAX_VALUE_PAIRS = 500, 2_000  # more comparisons say little more, and slow each judgement down
# Items that the answers behind a result are about while people answer. Time grows with the cube of this number and
# memory with its square, and more answers say little more: `benchmarks/latest.py` prints how little.
MOST_LIVE = 400


class Counted(ABC):
    """Answers of one kind.

    Attributes
    ----------
    verdicts : dict of str to Counter
        How often each rater said what.
    n_decided : int
        How many pairs, or items, are known from the answers.
    left_out : int
        How many of them are not told here, see `latest`.
    """

    n_decided: int
    left_out = 0

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

    @abstractmethod
    def latest(self, most: int) -> Self:
        """Return what was first said most lately, about at most so many items; itself if that is everything."""


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
        assert isinstance(answer, PairAnswer)
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

    def latest(self, most: int) -> Self:
        """Return the pairs that were first asked about most lately, of at most so many items; itself if that is all."""
        pairs = _latest(self.votes, most)
        if len(pairs) == len(self.votes):
            return self
        other = copy(self)
        other.votes = {pair: self.votes[pair] for pair in pairs}
        other.left_out = self.n_decided - sum(1 for vote in other.votes.values() if vote)
        return other


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

    def latest(self, most: int) -> Self:
        """Return the items that were first asked about most lately, at most so many; itself if that is all."""
        items = _latest({(item,): None for item in self.said}, most)
        if len(items) == len(self.said):
            return self
        other = copy(self)
        other.said = {item: self.said[item] for (item,) in items}
        other.left_out = len(self.said) - len(items)
        return other


def _latest(asked: dict[Any, Any], most: int) -> list[Any]:
    """Return the last of what was asked, each thing the items that it is about, of at most so many items in all."""
    items: set[int] = set()
    found = []
    for one in reversed(asked):
        items.update(one)
        if len(items) > most:
            break
        found.append(one)
    return found[::-1]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a method may be fitted to, and what may judge it.

    Attributes
    ----------
    labels : Values, Pairs or None
        All labels together, for a method.
    judges : Pairs or None
        The answers about pairs that were drawn at random. Pairs that were chosen are the hard ones, where rankings
        disagree, and so tell nothing about a gain in all pairs.
    implied : Pairs or None
        The comparisons that values from a file imply, if there are answers beside them. They judge as well: that
        somebody answered a question makes the values no worse as judges than they were before it.
    n_values : int
        How many values these come from.
    n_answers : int
        How many pairs the answers rank, those that are left out included; none if these are about single items.
    words : str
        Where the labels come from, as counts.
    left_out : int
        How many answers there are beside those in ``labels``.
    """

    labels: Labels | None
    judges: Pairs | None = None
    n_answers: int = 0
    words: str = "no labels"
    implied: Pairs | None = None
    n_values: int = 0
    left_out: int = 0


NOTHING = Knowledge(None)


def known_from(
    given: Labels | None, answers: Sequence[PairAnswer] | Tally, random_state: int = 0, groups: Groups | None = None
) -> Knowledge:
    """Return what is known from labels that were given and from answers about pairs, which are within groups."""
    tally = answers if isinstance(answers, Tally) else Tally(answers)
    table = _table(tally.votes)
    pairs = _ranked(table)
    n_answers = tally.left_out + (0 if pairs is None else len(pairs.higher))
    words = [] if given is None else [counted(given)]
    words += [_answers(n_answers, tally.left_out)] if n_answers else []
    judges = _ranked(table[:, np.array([pair not in tally.chosen for pair in tally.votes], dtype=bool)])
    labels = pairs if given is None else _merged(given, table, random_state)
    implied, n_values = None, 0
    if isinstance(given, Values) and n_answers:
        implied, n_values = value_pairs(given, random_state), len(given.index)
    if groups is not None:
        labels = None if labels is None else groups.of(labels)
        judges, implied = (
            None if one is None else replace(one, groups=groups.numbers[one.higher]) for one in (judges, implied)
        )
    said = " and ".join(words) or NOTHING.words
    return Knowledge(labels, judges, n_answers, said, implied, n_values, tally.left_out)


def known_of_items(given: Values | None, answered: Mapping[int, Any], left_out: int = 0) -> Knowledge:
    """Return what is known from labels that were given and from answers about single items, which take their place.

    Items that are asked about are drawn at random, so all of these labels may judge, as any others. ``left_out`` says
    how many more items there are answers about.
    """
    if not answered:
        return NOTHING if given is None else Knowledge(given, words=counted(given))
    index = np.fromiter(answered, np.int64, len(answered))
    values = np.array([*answered.values()])
    words = [_answers(len(index) + left_out, left_out)]
    if given is not None:
        old = ~np.isin(given.index, index)
        index, values = np.concatenate([given.index[old], index]), np.concatenate([given.values[old], values])
        words.insert(0, counted(given))
    labels = Values(index, values)
    return Knowledge(labels if ranks_something(labels) else None, words=" and ".join(words), left_out=left_out)


def _answers(count: int, left_out: int) -> str:
    """Return in words how many answers there are, and how many of them count here."""
    return f"the latest {count - left_out:,} of {amount(count, 'answer')}" if left_out else amount(count, "answer")


def thinned(known: Knowledge, most: int, random_state: int = 0) -> Knowledge:
    """Return what is known with at most so many comparisons, drawn at random; what judges is among them."""
    labels, judges = known.labels, known.judges
    if not isinstance(labels, Pairs) or len(labels.higher) <= most:
        return known
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(labels.higher))[:most])
    some = entries(labels, drawn)
    assert isinstance(some, Pairs)
    if judges is not None:
        pairs = set(zip(some.higher.tolist(), some.lower.tolist(), strict=True))
        kept = np.array([pair in pairs for pair in zip(judges.higher.tolist(), judges.lower.tolist(), strict=True)])
        left = entries(judges, kept)
        judges = left if kept.any() and isinstance(left, Pairs) else None
    return replace(known, labels=some, judges=judges)


def _table(votes: Votes) -> Table:
    """Return pairs and their votes as three rows: this is asked at every answer, and there may be thousands."""
    ends = np.fromiter(chain.from_iterable(votes), np.int64, 2 * len(votes)).reshape(-1, 2)
    return np.vstack([ends.T, np.fromiter(votes.values(), np.int64, len(votes))])


def _ranked(table: Table) -> Pairs | None:
    """Return what the majority says; pairs without a majority, and those said to be equal, are left out."""
    first, second, vote = table[:, table[2] != 0]
    if not len(vote):
        return None
    return Pairs(np.where(vote > 0, first, second), np.where(vote > 0, second, first))


def _merged(known: Labels, table: Table, random_state: int) -> Labels:
    """Return labels from a file and answers together.

    Known values become comparisons, since values and comparisons cannot be told to a method at once; of many, some are
    drawn. A comparison from the file has one vote, like a rater.
    """
    if not table[2].any():
        return known
    pairs = value_pairs(known, random_state) if isinstance(known, Values) else known
    both = np.hstack([table, _one_vote_each(pairs)])
    n = int(both[:2].max()) + 1
    _, at, place = np.unique(both[0] * n + both[1], return_index=True, return_inverse=True)
    votes = np.bincount(place, weights=both[2]).astype(np.int64)
    order = np.argsort(at)  # as they came: answers first
    found = _ranked(np.vstack([both[:2, at], votes])[:, order])
    return known if found is None else found


@lru_cache(maxsize=2)  # asked at every answer, about the same labels
def _one_vote_each(pairs: Pairs) -> Table:
    ends = np.unique(np.vstack([pairs.higher, pairs.lower]), axis=1)  # what stands there twice counts once
    return np.vstack([np.sort(ends, axis=0), np.where(ends[0] < ends[1], 1, -1)])


@lru_cache(maxsize=2)
def value_pairs(values: Values, random_state: int = 0) -> Pairs:
    """Return the comparisons that known values imply."""
    rng = np.random.default_rng(random_state)
    if values.groups is not None:
        pairs = pairs_within(values)
        drawn = np.sort(rng.permutation(len(pairs.higher))[:MAX_VALUE_PAIRS])
        return Pairs(pairs.higher[drawn], pairs.lower[drawn])
    some = np.sort(rng.permutation(len(values.index))[:MAX_VALUES])
    index, known = values.index[some], values.values[some]
    first, second = np.triu_indices(len(some), 1)
    sign = np.sign(known[first] - known[second])
    first, second = np.where(sign > 0, first, second)[sign != 0], np.where(sign > 0, second, first)[sign != 0]
    drawn = np.sort(rng.permutation(len(first))[:MAX_VALUE_PAIRS])
    return Pairs(index[first[drawn]], index[second[drawn]])
