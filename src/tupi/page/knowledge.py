"""What is known about the items: labels from a file, and answers, as one set of labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np

from tupi.inputs.labels import Labels, Pairs, Values
from tupi.judging.evidence import amount, counted
from tupi.page.answers import Answer

MAX_VALUES, MAX_VALUE_PAIRS = 500, 2_000  # more comparisons say little more, and slow each judgement down
SIGNS = {"left": 1, "right": -1, "equal": 0}
Votes = dict[tuple[int, int], int]


@dataclass(frozen=True, eq=False)
class Known:
    """What a method may be fitted to, and what may judge it.

    Attributes
    ----------
    labels : Values, Pairs or None
        All labels together, for a method.
    judges : Pairs or None
        The answers about pairs that were drawn at random. Pairs that were chosen are the hard ones, where rankings
        disagree, and so tell nothing about a gain in all pairs.
    n_answers : int
        How many pairs the answers rank.
    words : str
        Where the labels come from, as counts.
    """

    labels: Labels | None
    judges: Pairs | None = None
    n_answers: int = 0
    words: str = "no labels"


NOTHING = Known(None)


class Tally:
    """Answers counted as they come, so that another one costs the same however many there are.

    Attributes
    ----------
    votes : dict of (int, int) to int
        Per pair (lower position first) how many more raters put the first item higher than the second. Each rater has
        one vote per pair: the last answer. Skipping is no vote.
    chosen : set of (int, int)
        Pairs with an answer that was not drawn at random.
    skipped : dict of str to set of (int, int)
        The pairs that each rater skipped.
    verdicts : dict of str to Counter
        How often each rater said what.
    n_votes, n_random : int
        How many answers are votes, and how many of those were drawn at random.
    n_decided : int
        How many pairs have a majority.
    """

    def __init__(self, answers: Iterable[Answer] = ()) -> None:
        self.votes: Votes = {}
        self.chosen: set[tuple[int, int]] = set()
        self.skipped: dict[str, set[tuple[int, int]]] = defaultdict(set)
        self.verdicts: dict[str, Counter[str]] = defaultdict(Counter)
        self.n_votes = self.n_random = self.n_decided = 0
        self._said: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
        self._seen: list[Answer] = []
        for answer in answers:
            self._add(answer)

    @property
    def n(self) -> int:
        """How many answers there are."""
        return len(self._seen)

    def follow(self, answers: Sequence[Answer]) -> Tally:
        """Return the tally of these answers: this one with the new answers, or another one if some were undone."""
        n = len(self._seen)
        if n > len(answers) or (n and self._seen[-1] is not answers[n - 1]):
            return Tally(answers)
        for answer in answers[n:]:
            self._add(answer)
        return self

    def _add(self, answer: Answer) -> None:
        self._seen.append(answer)
        self.verdicts[answer.rater][answer.verdict] += 1
        pair = _key(answer)
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


def known_from(given: Labels | None, answers: Sequence[Answer] | Tally, random_state: int = 0) -> Known:
    """Return what is known from labels that were given and from answers."""
    tally = answers if isinstance(answers, Tally) else Tally(answers)
    pairs = as_pairs(tally.votes)
    n_answers = 0 if pairs is None else len(pairs.higher)
    words = [] if given is None else [counted(given)]
    words += [amount(n_answers, "answer")] if n_answers else []
    judges = as_pairs({pair: vote for pair, vote in tally.votes.items() if pair not in tally.chosen})
    labels = pairs if given is None else merge(given, tally.votes, random_state)
    return Known(labels, judges, n_answers, " and ".join(words) or NOTHING.words)


def _key(answer: Answer) -> tuple[int, int]:
    return min(answer.left, answer.right), max(answer.left, answer.right)


def thinned(known: Known, most: int, random_state: int = 0) -> Known:
    """Return what is known with at most so many comparisons, drawn at random; what judges is among them."""
    labels, judges = known.labels, known.judges
    if not isinstance(labels, Pairs) or len(labels.higher) <= most:
        return known
    drawn = np.sort(np.random.default_rng(random_state).permutation(len(labels.higher))[:most])
    some = Pairs(labels.higher[drawn], labels.lower[drawn])
    if judges is not None:
        pairs = set(zip(some.higher.tolist(), some.lower.tolist(), strict=True))
        kept = [pair in pairs for pair in zip(judges.higher.tolist(), judges.lower.tolist(), strict=True)]
        judges = Pairs(judges.higher[kept], judges.lower[kept]) if any(kept) else None
    return replace(known, labels=some, judges=judges)


def as_pairs(votes: Votes) -> Pairs | None:
    """Return what the majority says; pairs without a majority, and those said to be equal, are left out."""
    decided = [(i, j) if vote > 0 else (j, i) for (i, j), vote in votes.items() if vote]
    if not decided:
        return None
    flat = np.fromiter(chain.from_iterable(decided), np.int64, 2 * len(decided))
    return Pairs(flat[::2].copy(), flat[1::2].copy())


def merge(known: Labels | None, votes: Votes, random_state: int = 0) -> Labels | None:
    """Return labels from a file and answers together.

    Known values become comparisons, since values and comparisons cannot be told to a method at once; of many, some are
    drawn. A comparison from the file has one vote, like a rater.
    """
    answered = as_pairs(votes)
    if known is None or answered is None:
        return answered if known is None else known
    pairs = value_pairs(known, random_state) if isinstance(known, Values) else known
    together: Votes = defaultdict(int, votes)
    for i, j in {(int(i), int(j)) for i, j in zip(pairs.higher, pairs.lower, strict=True)}:
        together[min(i, j), max(i, j)] += 1 if i < j else -1
    return as_pairs(together)


@lru_cache(maxsize=2)  # asked at every answer, about the same labels
def value_pairs(values: Values, random_state: int = 0) -> Pairs:
    """Return the comparisons that known values imply."""
    rng = np.random.default_rng(random_state)
    some = np.sort(rng.permutation(len(values.index))[:MAX_VALUES])
    index, known = values.index[some], values.values[some]
    first, second = np.triu_indices(len(some), 1)
    sign = np.sign(known[first] - known[second])
    first, second = np.where(sign > 0, first, second)[sign != 0], np.where(sign > 0, second, first)[sign != 0]
    drawn = np.sort(rng.permutation(len(first))[:MAX_VALUE_PAIRS])
    return Pairs(index[first[drawn]], index[second[drawn]])
