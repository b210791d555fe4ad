"""What is known about the items: labels from a file, and answers, as one set of labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def known_from(given: Labels | None, answers: Sequence[Answer], random_state: int = 0) -> Known:
    """Return what is known from labels that were given and from answers."""
    votes = count_votes(answers)
    pairs = as_pairs(votes)
    n_answers = 0 if pairs is None else len(pairs.higher)
    words = [] if given is None else [counted(given)]
    words += [amount(n_answers, "answer")] if n_answers else []
    chosen = {_key(answer) for answer in answers if answer.verdict in SIGNS and answer.drawn != "random"}
    judges = as_pairs({pair: vote for pair, vote in votes.items() if pair not in chosen})
    return Known(merge(given, votes, random_state), judges, n_answers, " and ".join(words) or NOTHING.words)


def _key(answer: Answer) -> tuple[int, int]:
    return min(answer.left, answer.right), max(answer.left, answer.right)


def count_votes(answers: Iterable[Answer]) -> Votes:
    """Return per pair (lower position first) how many more raters put the first item higher than the second.

    Each rater has one vote per pair: the last answer. Skipping is no vote.
    """
    votes: dict[tuple[int, int], dict[str, int]] = defaultdict(dict)
    for answer in answers:
        if answer.verdict in SIGNS:
            first, second = _key(answer)
            sign = SIGNS[answer.verdict]
            votes[first, second][answer.rater] = sign if answer.left == first else -sign
    return {pair: sum(of.values()) for pair, of in votes.items()}


def as_pairs(votes: Votes) -> Pairs | None:
    """Return what the majority says; pairs without a majority, and those said to be equal, are left out."""
    decided = [(i, j) if vote > 0 else (j, i) for (i, j), vote in votes.items() if vote]
    if not decided:
        return None
    higher, lower = np.array(decided, dtype=np.int64).T
    return Pairs(higher, lower)


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
