"""Trees as an expert of `auto`: a forest of extremely randomised trees, as tables of nodes.

A tree divides the labelled items in two, and each part again, until parts are small; what it says of an item is the
mean label of the part that the item falls into. Each division looks at some columns, draws one threshold for each
between the least and the greatest value there, and takes the one that leaves the least variance within both parts
(Geurts, Ernst and Wehenkel, 2006). A forest is the mean of many trees. It extrapolates nothing, and finds thresholds
and products of columns that no sum of smooth functions knows.

Classes are as many outputs as there are classes: each label is one in that of its own class, and zero in all others.
The same trees serve all of them, and a division leaves the least variance in the sum over outputs.

The forest is a function of one item, and a few tables: it is saved, sent to workers and explained like all the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.computing import compiled, in_order

TREES = 60
LEAST_FOR_TREES = 40  # labels: fewer grow trees that say little of values and classes, and none are mixed in
LEAST_FOR_ORDER = 8  # the same where only the order counts, which few labels tell; less is expected of so few
EXPECTED_OF_TREES, LEAST_OF_TREES = 0.35, 0.03  # their share before any label, and that below which they are left out
LEAST_LEAF = 2  # labelled items in a part, at least
LOOKED_AT = 0.5  # share of the columns that a division looks at
MOST_LOOKED_AT = 50  # and at most so many: a forest on 2,000 labels would take seconds otherwise
AT_ONCE = 256  # items whose columns stay in the cache while all trees look at them
LEAF = -1  # stands for the column of a node that is not divided
Array = NDArray[np.float64]
Columns = NDArray[np.float32]
Levels = tuple[NDArray[np.uint32], NDArray[np.float32], NDArray[np.uint32], NDArray[np.int32]]  # as `_levels` has them
Nodes = tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]  # as `Forest` has them


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as tables of nodes, one tree after the other.

    Attributes
    ----------
    signs : ndarray of float32, shape (d,)
        By what the columns of an item are multiplied before trees look at them: one or minus one.
    divided : ndarray of int32, shape (nodes,)
        The column that divides a node's items, or `LEAF`.
    thresholds : ndarray of float32, shape (nodes,)
        Items whose value is at most this go to the left.
    left : ndarray of int32, shape (nodes,)
        The left part; the right one is the next node.
    values : ndarray of float64, shape (nodes,) or (nodes, c)
        The mean label; of classes, for each of them.
    roots : ndarray of int32, shape (trees,)
        Where each tree begins.
    """

    signs: NDArray[np.float32]
    divided: NDArray[np.int32]
    thresholds: NDArray[np.float32]
    left: NDArray[np.int32]
    values: Array
    roots: NDArray[np.int32]

    def __post_init__(self) -> None:
        """Complain about nodes that lead nowhere or back, as in a file that somebody changed."""
        n = len(self.divided)
        inner = np.flatnonzero(self.divided != LEAF)
        alike = all(len(one) == n for one in (self.thresholds, self.left, self.values))
        if not alike or not len(self.roots) or self.roots.min() < 0 or self.roots.max() >= n:
            raise ValueError("trees without nodes")
        if (self.left[inner] <= inner).any() or (self.left[inner] >= n - 1).any():
            raise ValueError("nodes that lead nowhere")
        if (self.divided[inner] < 0).any() or (self.divided[inner] >= len(self.signs)).any():
            raise ValueError("nodes of other columns")

    def __call__(self, *items: NDArray[np.floating]) -> Array:
        """Return what the forest says of items, given all their columns, or parts of them that stand side by side."""
        ends = np.cumsum([0, *(part.shape[1] for part in items)])
        if ends[-1] != len(self.signs):
            raise ValueError("items with other columns")
        values = self.values.reshape(len(self.values), -1)
        found = np.zeros((len(items[0]), values.shape[1]))
        some, at = np.empty((AT_ONCE, len(self.signs)), np.float32), np.empty(AT_ONCE, np.uint32)
        roots = self.roots.astype(np.uint32)
        for start in range(0, len(found), AT_ONCE):
            rows = slice(start, min(start + AT_ONCE, len(found)))
            for part, first, last in zip(items, ends, ends[1:], strict=False):
                to = some[: rows.stop - start, first:last]
                np.multiply(part[rows], self.signs[first:last], out=to, casting="same_kind")
            _say(some, self._levels, values, roots, at, found[rows])
        return (found / len(self.roots)).reshape(-1, *self.values.shape[1:])

    @cached_property
    def _levels(self) -> Levels:
        """Nodes as `_say` wants them, where whoever is at a leaf stays there, and how many levels each tree has.

        That way all items go down together, level by level: to ask each of them whether it has arrived takes longer.
        Numbers have no sign: otherwise each would be asked whether it counts from the end, which takes as long again.
        """
        leaf = self.divided == LEAF
        levels = np.zeros(len(leaf), np.int32)
        _count(self.divided, self.left, levels)
        return (
            np.where(leaf, 0, self.divided).astype(np.uint32),
            np.where(leaf, np.inf, self.thresholds).astype(np.float32),
            np.where(leaf, np.arange(len(leaf)), self.left).astype(np.uint32),
            levels[self.roots],
        )

    def weights(self, items: Columns, labelled: Columns) -> Array:
        """Return by how much each label counts in what is said of items, rows of which sum to one."""
        here, there = np.empty(len(items), np.int32), np.empty(len(labelled), np.int32)
        shares = np.zeros((len(items), len(labelled)))
        for root in self.roots:
            for some, leaves in ((items, here), (labelled, there)):
                _fall(self._checked(some), self._nodes, root, leaves)
            together = here[:, None] == there
            shares += together / np.maximum(together.sum(axis=1, keepdims=True), 1)
        return shares / len(self.roots)

    @property
    def _nodes(self) -> Nodes:
        return self.signs, self.divided, self.thresholds, self.left

    def _checked(self, items: Columns) -> Columns:
        """Return the columns as compiled code reads them, which does not ask whether they are there."""
        if items.shape[1] != len(self.signs):
            raise ValueError("items with other columns")
        return np.ascontiguousarray(items, np.float32)


def grow(
    items: Columns, labels: Array, seed: int = 0, classes: NDArray[np.int64] | None = None, n_classes: int = 1
) -> Forest:
    """Return a forest.

    What is drawn depends on the content of columns, and on the order neither of columns nor of items; nor does it
    matter which way a column, or the labels, point, or in which units a column is: more items change these.

    Parameters
    ----------
    items : ndarray of shape (m, d)
        Columns of the labelled items.
    labels : ndarray of shape (m,)
        Their labels; of classes, the size of each in the output of its class.
    seed : int
        Of what is drawn.
    classes : ndarray of shape (m,), optional
        The class of each label.
    n_classes : int
        How many classes there are.
    """
    ascending = _standard(np.sort(items.astype(np.float64), axis=0))
    squares = ascending * ascending  # powers by `**` take many times as long
    cubes, fourths = squares * ascending, squares * squares
    skew = np.sum(cubes + cubes[::-1], axis=0)  # both ways, so that mirror images round alike
    signs = np.where(skew < 0, -1, 1).astype(np.float32)
    tails = np.sum(fourths + fourths[::-1], axis=0)
    order = np.lexsort([tails, np.abs(skew)])
    looked_at = max(1, min(int(np.ceil(LOOKED_AT * len(order))), MOST_LOOKED_AT))
    most = TREES * (2 * len(items) // LEAST_LEAF + 1)
    divided, left = np.full(most, LEAF, np.int32), np.zeros(most, np.int32)
    thresholds, values, roots = np.zeros(most, np.float32), np.zeros((most, n_classes)), np.zeros(TREES, np.int32)
    outputs = np.zeros(len(items), np.int64) if classes is None else classes
    X = np.ascontiguousarray((signs * items).T[order], np.float32)
    rng = np.random.default_rng(seed)
    # Numbers without a sign, see `Forest._levels`.
    numbers = np.arange(len(order), dtype=np.uint64), np.empty(len(items), np.uint64)
    room = *numbers, *np.empty((2, 2 * len(items) + 1), np.int64), np.empty((2, n_classes))
    n = _grow(X, labels, outputs, rng, looked_at, LEAST_LEAF, divided, thresholds, left, values, roots, room)
    divided = np.where(divided == LEAF, LEAF, order[divided]).astype(np.int32)[:n]
    said = values[:n, 0] if classes is None else values[:n]
    return Forest(signs, divided, thresholds[:n], left[:n], said.copy(), roots)


def left_out(
    items: Columns,
    labels: Array,
    fold: NDArray[np.int64],
    classes: NDArray[np.int64] | None = None,
    n_classes: int = 1,
) -> Array:
    """Return what forests that grew on the other folds say of each label, see `grow`."""
    found = np.empty(len(labels) if classes is None else (len(labels), n_classes))
    folds = [fold == k for k in range(fold.max() + 1)]

    def without(own: NDArray[np.bool_]) -> Forest:
        return grow(items[~own], labels[~own], 1, None if classes is None else classes[~own], n_classes)

    for own, forest in zip(folds, in_order(without, folds), strict=True):
        found[own] = forest(items[own])
    return found


def _standard(ascending: Array) -> Array:
    """Return ascending columns with mean 0 and deviation 1; constant ones are 0. Mirror images round alike."""
    found = ascending - 0.5 * np.mean(ascending + ascending[::-1], axis=0)
    squares = found * found
    spread = np.sqrt(0.5 * np.mean(squares + squares[::-1], axis=0))
    return found / np.where(spread > 0, spread, 1.0)


@compiled()
def _grow(
    X: Columns,
    labels: Array,
    outputs: NDArray[np.int64],
    rng: np.random.Generator,
    looked_at: int,
    least: int,
    divided: NDArray[np.int32],
    thresholds: NDArray[np.float32],
    left: NDArray[np.int32],
    values: Array,
    roots: NDArray[np.int32],
    room: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], Array],
) -> int:
    """Fill in the nodes of all trees; return how many there are.

    ``room`` is memory to work in, which comes from outside because it takes half a second to compile how to get it: all
    columns in ascending order, rows, where the rows of each node of a tree start and end, and sums of labels by output,
    in a node and in its left part.
    """
    d, m = X.shape  # a column at a time, which stays in the cache while it is looked at
    n = 0
    which, rows, starts, ends, sums = room
    n_outputs = values.shape[1]
    for tree in range(len(roots)):
        for i in range(m):
            rows[i] = i
        first = n
        roots[tree] = first
        starts[0], ends[0] = 0, m
        n += 1
        node = first
        while node < n:
            start, end = starts[node - first], ends[node - first]
            size = end - start
            square, explained = 0.0, 0.0
            sums[0] = 0.0
            for i in range(start, end):
                sums[0, outputs[rows[i]]] += labels[rows[i]]
                square += labels[rows[i]] ** 2
            for output in range(n_outputs):
                values[node, output] = sums[0, output] / size
                explained += sums[0, output] ** 2 / size
            best, column, threshold = -1.0, which[0], np.float32(0.0)
            if size >= 2 * least and square - explained > 1e-12:
                remaining, looked = d, 0
                while remaining > 0 and looked < looked_at:
                    # A column that has not been drawn at this node; constant ones do not count as looked at.
                    k = np.uint64(rng.random() * remaining)
                    remaining -= 1
                    which[k], which[remaining] = which[remaining], which[k]
                    c = which[remaining]
                    low = high = X[c, rows[start]]
                    for i in range(start + 1, end):
                        value = X[c, rows[i]]
                        low, high = min(low, value), max(high, value)
                    if not high > low:
                        continue
                    looked += 1
                    cut = np.float32(low + rng.random() * (high - low))
                    if cut >= high:
                        cut = low
                    count, gain = 0, 0.0
                    if n_outputs == 1:
                        part = 0.0
                        for i in range(start, end):
                            under = X[c, rows[i]] <= cut  # no branch: nobody could guess which way it goes
                            count += under
                            part += labels[rows[i]] * under
                        sums[1, 0] = part
                    else:
                        sums[1] = 0.0
                        for i in range(start, end):
                            under = X[c, rows[i]] <= cut
                            count += under
                            sums[1, outputs[rows[i]]] += labels[rows[i]] * under
                    if count < least or size - count < least:
                        continue
                    # The variance within both parts is least where this is greatest.
                    for output in range(n_outputs):
                        part = sums[1, output]
                        gain += part * part / count + (sums[0, output] - part) ** 2 / (size - count)
                    if gain > best + 1e-10 * square:  # else rounding would choose between equal divisions
                        best, column, threshold = gain, c, cut
            if best >= 0:
                middle = start
                for i in range(start, end):
                    if X[column, rows[i]] <= threshold:
                        rows[i], rows[middle] = rows[middle], rows[i]
                        middle += 1
                divided[node], thresholds[node] = column, threshold
                left[node] = n
                starts[n - first], ends[n - first] = start, middle
                starts[n + 1 - first], ends[n + 1 - first] = middle, end
                n += 2
            node += 1
    return n


@compiled()
def _say(
    X: Columns,
    nodes: Levels,
    values: Array,
    roots: NDArray[np.uint32],
    at: NDArray[np.uint32],
    found: Array,
) -> None:
    """Add up what all trees say of each item; ``at`` is room for the nodes at which they are."""
    divided, thresholds, left, levels = nodes
    for tree in range(len(roots)):
        for i in range(len(found)):
            at[i] = roots[tree]
        for _ in range(levels[tree]):
            for i in range(len(found)):
                node = at[i]
                at[i] = left[node] + np.uint32(X[i, divided[node]] > thresholds[node])
        for i in range(len(found)):
            for k in range(values.shape[1]):
                found[i, k] += values[at[i], k]


@compiled()
def _count(divided: NDArray[np.int32], left: NDArray[np.int32], levels: NDArray[np.int32]) -> None:
    """Write down how many levels there are below each node; parts come after the node that is divided."""
    for node in range(len(divided) - 1, -1, -1):
        if divided[node] >= 0:
            levels[node] = 1 + max(levels[left[node]], levels[left[node] + 1])


@compiled()
def _fall(X: Columns, nodes: Nodes, root: int, found: NDArray[np.int32]) -> None:
    """Write down the node at which each item ends in a tree."""
    signs, divided, thresholds, left = nodes
    for i in range(len(X)):
        node = root
        while divided[node] >= 0:
            node = left[node] + (signs[divided[node]] * X[i, divided[node]] > thresholds[node])
        found[i] = node
