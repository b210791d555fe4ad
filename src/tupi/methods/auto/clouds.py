"""Labels that repeat: items of the same value form a cloud, and an item is likely of the cloud that it lies in.

Ten digits, eight people or five stars give many items the same label. A regression expects an item between the clouds
of one and three to be a two, although it is a one or a three. Here each value that was labelled has a cloud of its
own. Clouds have normal distributions N(m, W) around different middles m and with the same covariance W within; middles
are drawn from N(0, B). All items together have the covariance T = W + B, which is known without labels
(this is probabilistic linear discriminant analysis, Ioffe 2006).

- **Within.** What labels of the same value have as covariance, together with that of differences between nearest items,
  whose directions say much and whose size little.
- **Values that nobody has labelled yet** have clouds, too. Items of them are those of a middle that may be anywhere:
  N(0, W + B). How many there are is said by labels whose value occurs once (Good, 1953): among m labels that all differ
  nothing repeats, and nothing is said here. Of an item in no known cloud the other experts say what they say.
- **Items without labels** take part as far as they are known to be in a cloud, and make its middle surer
  (expectation and maximisation, Dempster, Laird and Rubin 1977).

What is said of an item is the sum of values times the probabilities of their clouds, and of what the other experts say
times the probability of none. It is an explicit function of its columns and a few tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.special import softmax

from tupi.methods.auto.guard import mean_shares_of_mixture
from tupi.runtime.computing import in_order

LOOKED_AT = 1000  # items that say how all items lie, and that take part without labels
DIRECTIONS = 40  # principal directions of these, at most
NEAREST = 5  # items, differences to which say how clouds extend
COUNTED = 5.0  # as how many times the labels all items without labels count together, at most
ROUNDS = 5  # of expectation and maximisation
MOST_NEW = 0.5  # probability that a label has a value that no other label has; beyond it clouds say nothing
LEAST_BETWEEN = 0.3  # variance of middles in each direction, in that within clouds
OF_ALL = 0.02  # share of all items' covariance that is added to that within
EXPECTED_OF_CLOUDS, LEAST_OF_CLOUDS = 0.35, 0.03  # share before any label, and that below which they are left out
ENOUGH = 30  # repeated labels; fewer say less of clouds, and less is expected of them
LEFT_OUT = 10  # parts into which labels are dealt, to be left out in turn
FLAT, TINY = 1e-6, 1e-12  # directions so much smaller than the first are none; added to variances, which may be zero
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Clouds:
    """One cloud of items for each value that was labelled, and one for all others.

    Attributes
    ----------
    middle : ndarray of shape (d,)
        The mean of all items.
    directions : ndarray of shape (d, k)
        By what an item's columns are multiplied, so that clouds are round.
    middles : ndarray of shape (v + 1, k)
        Where the clouds are; the last one is that of values without labels.
    spreads : ndarray of shape (v + 1, k)
        Variances of items, with what is not known of the middles.
    likely : ndarray of shape (v + 1,)
        Logarithms of how likely the clouds are for any item.
    values : ndarray of shape (v, c)
        What is said of items in each cloud but the last.
    """

    middle: Array
    directions: Array
    middles: Array
    spreads: Array
    likely: Array
    values: Array

    def chances(self, items: NDArray[np.floating]) -> Array:
        """Return the probability of each cloud for items, given all their columns."""
        return self.of(items @ self.directions - self.middle @ self.directions)  # that order copies less

    def of(self, Z: Array) -> Array:
        """Return the same, given items in the directions in which clouds are round."""
        distances = (Z * Z) @ (1 / self.spreads).T - 2 * Z @ (self.middles / self.spreads).T
        constant = np.sum(self.middles**2 / self.spreads + np.log(self.spreads), axis=1)
        logs = self.likely - 0.5 * (distances + constant)
        return np.asarray(softmax(logs, axis=1))

    def __call__(self, items: NDArray[np.floating]) -> tuple[Array, Array]:
        """Return what is said of items as far as they are in known clouds, shape (n, c), and how far that is."""
        chances = self.chances(items)
        return chances[:, :-1] @ self.values, 1 - chances[:, -1]

    def weights(self, items: NDArray[np.floating], which: Positions) -> Array:
        """Return by how much each label counts in what is said of items; ``which`` is the cloud of each label."""
        counts = np.bincount(which, minlength=len(self.values))
        return np.asarray(self.chances(items)[:, which] / counts[which])


class World(NamedTuple):
    """How all items lie: their mean, principal directions, and in these some items and two covariances.

    ``total`` is that of all items, and ``within`` half of that of differences between nearest ones.
    """

    middle: Array
    directions: Array
    items: Array
    total: Array
    within: Array


def chance_of_new(which: Positions) -> float:
    """Return the probability that one more label has a value that none had (Good and Turing); never quite 0 or 1."""
    counts = np.bincount(which)
    return float((np.sum(counts == 1) + 0.5) / (counts.sum() + 1))


def repeat(which: Positions) -> bool:
    """Return whether labels repeat, given the number of each label's value, so that clouds have something to say."""
    return chance_of_new(which) <= MOST_NEW


def prior_share(which: Positions) -> tuple[float, float]:
    """Return the share that is expected of clouds, and as how many labels that counts."""
    few = min(1.0, (len(which) - which.max() - 1) / ENOUGH)
    return EXPECTED_OF_CLOUDS * few, 1 / few**2


def world_of(items: NDArray[np.floating]) -> World:
    """Return how all items lie, as some of them tell, given all their columns."""
    columns = items.astype(np.float64)
    middle = columns.mean(axis=0)
    columns -= middle
    _, sizes, vectors = np.linalg.svd(columns, full_matrices=False)
    directions = vectors[: max(1, min(DIRECTIONS, int(np.sum(sizes > FLAT * sizes[0]))))].T
    X = columns @ directions
    total = X.T @ X / len(X) + TINY * np.eye(X.shape[1])
    scaled = X / np.sqrt(np.diag(total))
    squares = np.sum(scaled**2, axis=1)
    apart = squares[:, None] + squares - 2 * scaled @ scaled.T
    np.fill_diagonal(apart, np.inf)
    nearest = min(NEAREST, len(X) - 1)
    near = np.argpartition(apart, nearest - 1, axis=1)[:, :nearest]
    differences = (X[near] - X[:, None]).reshape(-1, X.shape[1])
    within = 0.5 * differences.T @ differences / len(differences) + OF_ALL * total
    return World(middle, directions, X, total, within)


def found(world: World, labelled: NDArray[np.floating], which: Positions, values: Array) -> Clouds:
    """Return the clouds of labels.

    Parameters
    ----------
    world : World
        How all items lie.
    labelled : ndarray of shape (m, d)
        All columns of the labelled items.
    which : ndarray of shape (m,)
        The number of each label's value.
    values : ndarray of shape (v, c)
        What is said of items in the cloud of each value.
    """
    X, L = world.items, (labelled - world.middle) @ world.directions
    m, k = L.shape
    members = np.eye(len(values))[which]
    counts, sums = members.sum(axis=0), members.T @ L
    new, alike = chance_of_new(which), min(1.0, COUNTED * m / len(X))
    likely = np.log(np.append((1 - new) * counts / m, new))
    # Differences between nearest items count as one label in each direction, and labels say how large they are.
    off = L - (sums / counts[:, None])[which]
    free, expected = m - len(values), np.trace(np.linalg.solve(world.total, world.within))
    size = (np.trace(np.linalg.solve(world.total, off.T @ off)) + 2 * expected) / (expected * (free + 2))
    prior = k * size * world.within
    W = (prior + off.T @ off) / (k + free)
    clouds, V = _clouds(world, W, counts, sums, likely, values)
    for _ in range(ROUNDS):
        chances = alike * clouds.of(X @ V)[:, :-1]
        there, together = counts + chances.sum(axis=0), sums + chances.T @ X
        means = together / there[:, None]
        off = L - means[which]
        cross = X.T @ chances @ means
        around = (X.T * chances.sum(axis=1)) @ X - cross - cross.T + (means.T * chances.sum(axis=0)) @ means
        W = (prior + off.T @ off + around) / (k + there.sum())
        clouds, V = _clouds(world, W, there, together, likely, values)
    return clouds


def _clouds(world: World, W: Array, counts: Array, sums: Array, likely: Array, values: Array) -> tuple[Clouds, Array]:
    """Return clouds of the covariance W, given how many items are in each, and their sums; and the directions."""
    ratios, V = eigh(world.total, W)  # V^T W V is the identity, and V^T T V is diagonal
    between = np.maximum(ratios - 1, LEAST_BETWEEN)
    unsure = between / (1 + counts[:, None] * between)
    middles = np.vstack([unsure * (sums @ V), np.zeros(len(between))])
    spreads = 1 + np.vstack([unsure, between])
    return Clouds(world.middle, world.directions @ V, middles, spreads, likely, values), V


class Others(NamedTuple):
    """What clouds of other labels say of each labelled item.

    Attributes
    ----------
    said, far : ndarray of shape (m, c) and (m,)
        See `Clouds.__call__`.
    chances, usual : ndarray of shape (m, v)
        The probability of each value by clouds, and its share among the other labels; 0 for values that these lack.
    new : ndarray of shape (m,)
        The probability that a label has none of their values.
    """

    said: Array
    far: Array
    chances: Array
    usual: Array
    new: Array


def left_out(world: World, labelled: NDArray[np.floating], which: Positions, values: Array) -> Others:
    """Return what clouds of other labels say of each labelled item; labels are left out in `LEFT_OUT` parts."""
    parts = [np.arange(len(which)) % LEFT_OUT == k for k in range(min(LEFT_OUT, len(which)))]
    m, v = len(which), len(values)
    told = Others(np.empty((m, values.shape[1])), np.empty(m), np.zeros((m, v)), np.zeros((m, v)), np.empty(m))

    def without(own: NDArray[np.bool_]) -> tuple[Positions, Array, Array, float]:
        there, again = np.unique(which[~own], return_inverse=True)
        chances = found(world, labelled[~own], again, values[there]).chances(labelled[own])
        return there, chances, np.bincount(again) / len(again), chance_of_new(again)

    for own, (there, chances, usual, new) in zip(parts, in_order(without, parts), strict=True):
        square = np.ix_(own, there)
        told.said[own], told.far[own] = chances[:, :-1] @ values[there], 1 - chances[:, -1]
        told.chances[square], told.usual[square], told.new[own] = chances[:, :-1], usual, new
    return told


def belief(told: Others, which: Positions, values: Array, predicted: Array) -> tuple[float, Array]:
    """Return how far clouds are believed to know which value an item has: 1, or less if labels speak against them.

    Labels may repeat without any clouds: rates of interest do, which come in steps. So it is asked which mixture of
    clouds and of the other experts makes the values of left-out labels likely. To the others a value is as likely as it
    is frequent and near to what they predict, by a normal density. Of two values errors say as much already.

    Parameters
    ----------
    told : Others
        What `left_out` returned.
    which : ndarray of shape (m,)
        The number of each label's value.
    values : ndarray of shape (v,)
        The values.
    predicted : ndarray of shape (m,)
        What the others say of labels that are left out.

    Returns
    -------
    float
        By all labels.
    ndarray of shape (m,)
        By all labels but one.
    """
    if len(values) == 2:
        return 1.0, np.ones(len(which))
    own = np.arange(len(which)), which
    known = told.usual[own] > 0
    nearness = -0.5 * (values - predicted[:, None]) ** 2 / (np.mean((values[which] - predicted) ** 2) + TINY)
    by_others = softmax(np.log(np.maximum(told.usual, TINY)) + nearness, axis=1)
    first = np.where(known, (1 - told.new) * by_others[own], told.new)
    second = np.where(known, told.chances[own], 1 - told.far)
    shares = mean_shares_of_mixture(np.maximum([first, second], TINY), EXPECTED_OF_CLOUDS)
    believed = np.minimum(1.0, shares / EXPECTED_OF_CLOUDS)
    return float(believed[0]), believed[1:]
