"""Which two items to ask about next: those whose answer would tell the most between candidate rankings."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.groups import members

# Pairs to choose from. The best of thousands are all about the same few items: 40 answers on the digits then left
# `auto` at 83% pairwise accuracy, against 85% with random pairs. The best of a handful are as varied as random ones.
POOL = 8
TRIES = 20
SOFTNESS = 0.5  # difference, in deviations, at which a person would follow a ranking about 7 times in 8
SLIP = 0.15  # how often even the best candidate is contradicted
MOST_CONVINCED = 60  # labels: more would leave one candidate alone, and nothing to ask
Array = NDArray[np.floating]
Pair = tuple[int, int]


def candidate_weights(scores: NDArray[np.float64], n_labels: int) -> NDArray[np.float64]:
    """Return how probable each candidate is after so many labels, of which it got the share ``scores`` right."""
    m = min(n_labels, MOST_CONVINCED)
    likely = m * (scores * np.log(1 - SLIP) + (1 - scores) * np.log(SLIP))
    weights = np.exp(likely - likely.max())
    return weights / weights.sum()


def information(candidates: Array, weights: NDArray[np.float64], left: NDArray, right: NDArray) -> NDArray[np.float64]:
    """Return how many bits the answer to each pair is expected to tell about which candidate is right.

    Each candidate expects "left" with a probability that grows with its difference of scores. What tells most is a pair
    about which candidates disagree and each is sure: the entropy of the mean less the mean of the entropies. Pairs that
    are close in all of them tell nothing, however often their order differs.

    Parameters
    ----------
    candidates : ndarray of shape (k, n)
        Scores, each row with deviation one.
    weights : ndarray of shape (k,)
        How probable each candidate is.
    left, right : ndarray of int
        The pairs.
    """
    expected = 1 / (1 + np.exp(-(candidates[:, left] - candidates[:, right]).astype(np.float64) / SOFTNESS))
    return _entropy(weights @ expected) - weights @ _entropy(expected)


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))


class AllPairs:
    """The pairs that may be asked about: all, or those of items of one group.

    Parameters
    ----------
    n : int
        How many items there are.
    groups : ndarray of int, optional
        The group of each item.
    """

    def __init__(self, n: int, groups: NDArray[np.int64] | None = None) -> None:
        self.members = [np.arange(n)] if groups is None else members(groups)
        self._counts = np.array([len(own) * (len(own) - 1) // 2 for own in self.members])

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return int(self._counts.sum())

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return pairs drawn uniformly, in random order; a few may be of an item with itself."""
        if len(self.members) == 1:
            return rng.integers(len(self.members[0]), size=(size, 2))
        chosen = rng.choice(len(self.members), size=size, p=self._counts / self.count)
        return np.array([rng.choice(self.members[group], size=2, replace=False) for group in chosen])

    def left(self, taken: AbstractSet[Pair]) -> list[Pair]:
        """Return all pairs that were not taken, lower position first."""
        return [
            (int(own[i]), int(own[j]))
            for own in self.members
            for i in range(len(own))
            for j in range(i + 1, len(own))
            if (own[i], own[j]) not in taken
        ]


def next_pair(
    candidates: Array,
    weights: NDArray[np.float64],
    taken: AbstractSet[Pair],
    rng: np.random.Generator,
    pairs: AllPairs | None = None,
) -> Pair | None:
    """Return the most informative pair of a random pool, left and right in random order; None if all were taken.

    Parameters
    ----------
    candidates, weights
        As for `information`.
    taken : set of pairs
        Pairs that must not be asked, lower position first.
    rng : Generator
        Draws the pool.
    pairs : AllPairs, optional
        The pairs to draw from; None: all.
    """
    pairs = pairs or AllPairs(candidates.shape[1])
    for _ in range(TRIES):
        pool = pairs.draw(rng, POOL)
        pool = np.array([pair for pair in pool if pair[0] != pair[1] and (pair.min(), pair.max()) not in taken])
        if len(pool):
            best = np.argmax(information(candidates, weights, pool[:, 0], pool[:, 1]))
            return int(pool[best, 0]), int(pool[best, 1])
    return random_pair(pairs, taken, rng)


def random_pair(pairs: AllPairs, taken: AbstractSet[Pair], rng: np.random.Generator) -> Pair | None:
    """Return a pair drawn uniformly from those that were not taken, in random order; None if all were."""
    if len(taken) >= pairs.count:
        return None
    for _ in range(POOL * TRIES):
        i, j = (int(item) for item in pairs.draw(rng, 1)[0])
        if i != j and (min(i, j), max(i, j)) not in taken:
            return i, j
    # Few items, nearly all of whose pairs were asked: list what is left.
    left = pairs.left(taken)
    if not left:
        return None
    i, j = left[rng.integers(len(left))]
    return (i, j) if rng.random() < 0.5 else (j, i)
