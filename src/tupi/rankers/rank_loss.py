"""The squared hinge loss on ordered pairs, its gradient and its Hessian (label ``e:rankloss``).

The loss of scores f is the mean of ``max(0, 1 - (f_i - f_j))^2`` over the ordered pairs (i above j). A pair
is *active* at f when ``f_i - f_j < 1``. With A the 0/1 matrix of active pairs, the Hessian with respect to f
is ``2 (D - A - A^T) / n_pairs``, where D counts each item's active pairs.

When the pairs come from values (every pair with ``y_i > y_j``), being active is a dominance condition in the
plane of (f, y): sweep f in order, keep the swept items in a Fenwick tree over the ranks of y, and each item's
sums over its active partners are one query. That costs n log n, whatever the number of pairs.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.computing import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class LossAt(NamedTuple):
    """The mean pair loss at one vector of scores, with its first and second derivatives there."""

    value: float
    gradient: Floats
    hessian_times: Callable[[Floats], Floats]


class RankLoss(Protocol):
    """A loss that the rank SVM can minimise."""

    n_pairs: int

    def at(self, f: Floats) -> LossAt:
        """Return the loss at the scores `f`."""
        ...


class ValueLoss:
    """Mean squared hinge loss over all pairs with ``y_i > y_j``, in O(n log n) time and O(n) memory.

    Equal values form no pair.

    Parameters
    ----------
    y : array of shape (n,)
        The items' values; only their order matters.
    """

    def __init__(self, y: Floats) -> None:
        distinct, rank, counts = np.unique(y, return_inverse=True, return_counts=True)
        self._rank = rank.astype(np.int64).reshape(-1)
        self._n_ranks = len(distinct)
        self.n_pairs = (len(y) ** 2 - int((counts.astype(np.int64) ** 2).sum())) // 2

    def at(self, f: Floats) -> LossAt:
        """Return the loss at the scores `f`."""
        # The loss ignores a shift of f; centring keeps the sums of f and f^2 free of cancellation.
        centred = f - f.mean()
        order = np.argsort(centred)
        sorted_f, sorted_rank = centred[order], self._rank[order]
        total, sorted_gradient, sorted_degree = _value_loss(sorted_f, sorted_rank, self._n_ranks)
        gradient = np.empty_like(sorted_gradient)
        gradient[order] = sorted_gradient / self.n_pairs

        def hessian_times(v: Floats) -> Floats:
            product = np.empty_like(v)
            product[order] = _value_hessian(sorted_f, sorted_rank, self._n_ranks, sorted_degree, v[order])
            return product / self.n_pairs

        return LossAt(total / self.n_pairs, gradient, hessian_times)


class PairLoss:
    """Mean squared hinge loss over the given pairs, in O(n + pairs).

    Parameters
    ----------
    higher, lower : integer arrays of shape (n_pairs,)
        Item ``higher[p]`` ranks above item ``lower[p]``.
    """

    def __init__(self, higher: Integers, lower: Integers) -> None:
        self._higher, self._lower = higher, lower
        self.n_pairs = len(higher)

    def at(self, f: Floats) -> LossAt:
        """Return the loss at the scores `f`."""
        total, gradient, n_active, higher, lower = _pair_loss(f, self._higher, self._lower)
        higher, lower = higher[:n_active], lower[:n_active]

        def hessian_times(v: Floats) -> Floats:
            return _pair_hessian(v, higher, lower) / self.n_pairs

        return LossAt(total / self.n_pairs, gradient / self.n_pairs, hessian_times)


@compiled()
def _add(tree: Floats, rank: int, row: Floats) -> None:
    """Add `row` to the items of `rank` (from 0) in a Fenwick tree of row vectors."""
    node = rank + 1
    while node < tree.shape[0]:
        for c in range(row.shape[0]):
            tree[node, c] += row[c]
        node += node & -node


@compiled()
def _sum_below(tree: Floats, rank: int, out: Floats) -> None:
    """Write to `out` the sum of the rows whose rank is strictly below `rank`."""
    out[:] = 0.0
    node = rank
    while node > 0:
        for c in range(out.shape[0]):
            out[c] += tree[node, c]
        node -= node & -node


# Both kernels below take items sorted by f and sweep them twice: down, where the items with f_j > f_i - 1
# enter and each item asks for those of lower rank, and up, where the items with f_i < f_j + 1 enter and each
# asks for those of higher rank (mirrored ranks make that a query from below too). Both sweeps test the margin
# by the same floating-point expression, monotone in each score, so that they agree about every single pair.


@compiled()
def _value_loss(f: Floats, rank: Integers, n_ranks: int) -> tuple[float, Floats, Floats]:
    """Return the summed loss, its gradient, and the number of active pairs of each item; f is ascending."""
    n = f.shape[0]
    gradient, degree = np.empty(n), np.empty(n)
    row, below = np.empty(3), np.empty(3)
    total = 0.0
    tree = np.zeros((n_ranks + 1, 3))
    entering = n - 1
    for i in range(n - 1, -1, -1):
        while entering >= 0 and (1.0 - f[i]) + f[entering] > 0.0:
            row[0], row[1], row[2] = 1.0, f[entering], f[entering] * f[entering]
            _add(tree, rank[entering], row)
            entering -= 1
        _sum_below(tree, rank[i], below)
        gap = 1.0 - f[i]
        total += (below[0] * gap + 2.0 * below[1]) * gap + below[2]
        gradient[i] = -2.0 * (below[0] * gap + below[1])
        degree[i] = below[0]
    tree[:] = 0.0
    entering = 0
    for j in range(n):
        while entering < n and (1.0 - f[entering]) + f[j] > 0.0:
            row[0], row[1], row[2] = 1.0, f[entering], 0.0
            _add(tree, n_ranks - 1 - rank[entering], row)
            entering += 1
        _sum_below(tree, n_ranks - 1 - rank[j], below)
        gradient[j] += 2.0 * (below[0] * (1.0 + f[j]) - below[1])
        degree[j] += below[0]
    return total, gradient, degree


@compiled()
def _value_hessian(f: Floats, rank: Integers, n_ranks: int, degree: Floats, v: Floats) -> Floats:
    """Return the summed loss's Hessian times v; f is ascending, and the rest in its order."""
    n = f.shape[0]
    product = np.empty(n)
    row, below = np.empty(1), np.empty(1)
    tree = np.zeros((n_ranks + 1, 1))
    entering = n - 1
    for i in range(n - 1, -1, -1):
        while entering >= 0 and (1.0 - f[i]) + f[entering] > 0.0:
            row[0] = v[entering]
            _add(tree, rank[entering], row)
            entering -= 1
        _sum_below(tree, rank[i], below)
        product[i] = 2.0 * (degree[i] * v[i] - below[0])
    tree[:] = 0.0
    entering = 0
    for j in range(n):
        while entering < n and (1.0 - f[entering]) + f[j] > 0.0:
            row[0] = v[entering]
            _add(tree, n_ranks - 1 - rank[entering], row)
            entering += 1
        _sum_below(tree, n_ranks - 1 - rank[j], below)
        product[j] -= 2.0 * below[0]
    return product


@compiled()
def _pair_loss(f: Floats, higher: Integers, lower: Integers) -> tuple[float, Floats, int, Integers, Integers]:
    """Return the summed loss, its gradient, and the active pairs (their number, then both ends)."""
    gradient = np.zeros(f.shape[0])
    active_higher, active_lower = np.empty_like(higher), np.empty_like(lower)
    total, n_active = 0.0, 0
    for p in range(higher.shape[0]):
        margin = 1.0 - f[higher[p]] + f[lower[p]]
        if margin > 0.0:
            total += margin * margin
            gradient[higher[p]] -= 2.0 * margin
            gradient[lower[p]] += 2.0 * margin
            active_higher[n_active], active_lower[n_active] = higher[p], lower[p]
            n_active += 1
    return total, gradient, n_active, active_higher, active_lower


@compiled()
def _pair_hessian(v: Floats, higher: Integers, lower: Integers) -> Floats:
    """Return the summed loss's Hessian times v, for the active pairs."""
    product = np.zeros(v.shape[0])
    for p in range(higher.shape[0]):
        difference = 2.0 * (v[higher[p]] - v[lower[p]])
        product[higher[p]] += difference
        product[lower[p]] -= difference
    return product
