"""What a ranker learns from: the items' values, or ordered pairs of items."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tupi.inputs.labels import Pairs
from tupi.inputs.numbers import as_numbers
from tupi.judging.folds import shuffled_ends
from tupi.judging.metrics import pairwise_accuracy
from tupi.rankers.rank_loss import PairLoss, RankLoss, ValueLoss
from tupi.runtime.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ValueTargets:
    """One value per row: an item ranks above all items of lower value."""

    y: Floats

    @property
    def n_pairs(self) -> int:
        """The number of ordered pairs; none may be left after a split."""
        return self.loss().n_pairs

    @property
    def labelled(self) -> Integers:
        """The rows that carry a label."""
        return np.arange(len(self.y))

    def loss(self) -> RankLoss:
        """Return the pair loss of these targets."""
        return ValueLoss(self.y)

    def accuracy(self, scores: Floats) -> float:
        """Return the fraction of ordered pairs that `scores` ranks right."""
        return float(pairwise_accuracy(scores, self.y))

    def split(self, held_out: NDArray[np.bool_]) -> tuple[Integers, "Targets", Integers, "Targets"]:
        """Return training rows and their targets, then validation rows and theirs."""
        train, validate = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        return train, ValueTargets(self.y[train]), validate, ValueTargets(self.y[validate])

    def hold_out(self, rng: np.random.Generator, size: int) -> Integers:
        """Choose rows to validate on: one at random from each of `size` consecutive ranges of value."""
        order = np.lexsort((rng.random(len(self.y)), self.y))
        edges = np.arange(size + 1) * len(order) // size
        return order[rng.integers(edges[:-1], edges[1:])]

    def folds(self, rng: np.random.Generator, n_folds: int) -> list[Integers]:
        """Part the rows at random into folds that cover the range of values alike."""
        order = np.lexsort((rng.random(len(self.y)), self.y))
        n_deals = -(-len(order) // n_folds)
        fold = np.concatenate([rng.permutation(n_folds) for _ in range(n_deals)])[: len(order)]
        return [order[fold == k] for k in range(n_folds)]

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Integers, Integers]:
        """Draw pairs uniformly, with replacement, without listing them."""
        order = np.argsort(self.y, kind="stable")
        ordered = self.y[order]
        n_lower = np.searchsorted(ordered, ordered, side="left")  # the lower items are a prefix of the order
        last = np.cumsum(n_lower)
        higher = np.searchsorted(last, rng.integers(last[-1], size=size), side="right")
        lower = rng.integers(n_lower[higher])
        return order[higher], order[lower]


@dataclass(frozen=True)
class PairTargets:
    """Ordered pairs of rows: row ``higher[p]`` ranks above row ``lower[p]``."""

    higher: Integers
    lower: Integers

    @property
    def n_pairs(self) -> int:
        """The number of pairs; none may be left after a split."""
        return len(self.higher)

    @property
    def labelled(self) -> Integers:
        """The rows that carry a label."""
        return np.unique(np.concatenate([self.higher, self.lower]))

    def loss(self) -> RankLoss:
        """Return the pair loss of these targets."""
        return PairLoss(self.higher, self.lower)

    def accuracy(self, scores: Floats) -> float:
        """Return the fraction of the pairs that `scores` ranks right; ties count half."""
        return float(pairwise_accuracy(scores, Pairs(self.higher, self.lower)))

    def split(self, held_out: NDArray[np.bool_]) -> tuple[Integers, "Targets", Integers, "Targets"]:
        """Return training rows and their targets, then validation rows and theirs.

        Pairs with one end on either side are left out of both. They could not judge: a training item that a
        ranker memorised as low loses to unseen items, and the ranker would be credited for it.
        """
        train, validate = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        return train, self._among(~held_out), validate, self._among(held_out)

    def _among(self, rows: NDArray[np.bool_]) -> "PairTargets":
        """Return the pairs with both ends in `rows`, numbered within them."""
        kept, position = rows[self.higher] & rows[self.lower], np.cumsum(rows) - 1
        return PairTargets(position[self.higher[kept]], position[self.lower[kept]])

    def hold_out(self, rng: np.random.Generator, size: int) -> Integers:
        """Choose rows to validate on: the ends of pairs drawn at random."""
        return shuffled_ends(self.higher, self.lower, rng)[:size]

    def folds(self, rng: np.random.Generator, n_folds: int) -> list[Integers]:
        """Part the labelled rows at random, compared items together where possible."""
        return np.array_split(shuffled_ends(self.higher, self.lower, rng), n_folds)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Integers, Integers]:
        """Draw pairs uniformly, with replacement."""
        chosen = rng.integers(len(self.higher), size=size)
        return self.higher[chosen], self.lower[chosen]


Targets = ValueTargets | PairTargets


def check_targets(n_items: int, y: ArrayLike | None, pairs: Any, suffix: str = "") -> Targets:
    """Validate the labels of `n_items` rows, given as values `y` or as `pairs`, exactly one of the two.

    Parameters
    ----------
    n_items : int
        Number of rows of the feature matrix.
    y : array of shape (n_items,) or None
        Values.
    pairs : tuple (higher, lower) of integer arrays, or None
        Row numbers.
    suffix : str
        Ending of the arguments' names, for messages (``"_val"`` for validation labels).
    """
    y_name, pairs_name = f"y{suffix}", f"pairs{suffix}"
    accepted = f"give either {y_name}=values or {pairs_name}=(higher, lower)."
    if y is None and pairs is None:
        # scikit-learn's own checks look for the first words of this sentence.
        raise InputError(
            f"A ranker requires {y_name} to be passed, but the target {y_name} is None, "
            f"and so is {pairs_name}: {accepted}"
        )
    if y is not None and pairs is not None:
        raise InputError(f"{y_name} and {pairs_name} were both found: {accepted}")
    if y is not None:
        return _check_values(n_items, y, y_name)
    return _check_pairs(n_items, pairs, pairs_name)


def _check_values(n_items: int, y: ArrayLike, name: str) -> ValueTargets:
    values = as_numbers(name, y).astype(np.float64)
    if values.shape != (n_items,):
        raise InputError(f"{name} must have shape ({n_items},), one value per row: found {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or infinity: give finite values, and only rows that have one.")
    if np.all(values == values[0]):
        raise InputError(f"{name} holds one value only, {values[0]:g}: ranking takes at least 2 distinct ones.")
    return ValueTargets(values)


def _check_pairs(n_items: int, pairs: Any, name: str) -> PairTargets:
    if not isinstance(pairs, tuple | list) or len(pairs) != 2:
        raise InputError(f"{name} must be two arrays (higher, lower): found {type(pairs).__name__}.")
    ends = [np.asarray(end) for end in pairs]
    if ends[0].ndim != 1 or ends[0].shape != ends[1].shape or not len(ends[0]):
        raise InputError(
            f"{name} must be two arrays of one length, at least 1: found {ends[0].shape} and {ends[1].shape}."
        )
    for end in ends:
        if not np.issubdtype(end.dtype, np.integer):
            raise InputError(f"{name} must hold row numbers (integers): found dtype {end.dtype}.")
        if end.min() < 0 or end.max() >= n_items:
            raise InputError(f"{name} must hold row numbers from 0 to {n_items - 1}: found {end.min()} to {end.max()}.")
    higher, lower = (np.ascontiguousarray(end, dtype=np.int64) for end in ends)
    if np.any(higher == lower):
        raise InputError(f"{name} pairs row {higher[higher == lower][0]} with itself: name two rows.")
    return PairTargets(higher, lower)
