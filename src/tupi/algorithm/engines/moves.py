"""What happens in a block of items while runs of Algorithm 1 move: passes in which the compiled one does the work.

A pass never changes what it is given, so that whoever loses its result can make it again. In one process it may write
to a room that is the block's own, and uses two sets of arrays in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.passes import BLOCK, add_parts, descend_parts
from tupi.blocks.home import Stored, uses_threads
from tupi.embedding.embedding import LANES
from tupi.runtime.computing import Room, aligned_copy, array_in, on_threads

ITEMS_PER_PART = 16_384
MAX_PARTS = 16
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Tables:
    """What the gradient is looked up in, see `tupi.algorithm.engines.landscape.tabulate`."""

    anchor: Array
    H: Array
    h: Array


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over items, for each run; see `descend`. Those of blocks are added."""

    S: Array
    tally: Array
    products: Array

    def __sizeof__(self) -> int:
        """Return the bytes that it takes."""
        return int(self.S.nbytes + self.tally.nbytes)

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.S + other.S, self.tally + other.tally, self.products + other.products)


@dataclass(frozen=True, eq=False)
class Extent:
    """How many items there are, and where, for each run; that of blocks is added.

    Attributes
    ----------
    powers : ndarray of shape (runs, 3)
        Sums of the powers 0 to 2 of values, counted from a middle.
    ends : ndarray of shape (runs, 2)
        The smallest and the largest value.
    """

    powers: Array
    ends: Array

    def __add__(self, other: Extent) -> Extent:
        low, high = np.minimum(self.ends, other.ends), np.maximum(self.ends, other.ends)
        return Extent(self.powers + other.powers, np.column_stack([low[:, 0], high[:, 1]]))


@dataclass(frozen=True, eq=False)
class Attempt:
    """Where the items of a block are and where they try to go, for several runs.

    Attributes
    ----------
    anchor_x, x : ndarray of shape (runs, items)
        Positions at f(t), and where the runs stand.
    new_x : ndarray of shape (runs, items), or None
        Where they try to go; None before the first move.
    step, gradient : ndarray of shape (runs, items), float32, or None
        The move that is tried, and the gradient at x.
    sums : Sums or None
        At new_x.
    turn : int
        Which of two sets of arrays the next move may write to.
    """

    anchor_x: Array
    x: Array
    new_x: Array | None = None
    step: Array | None = None
    gradient: Array | None = None
    sums: Sums | None = None
    turn: int = 0

    def __sizeof__(self) -> int:
        """Return the bytes that it takes."""
        arrays = (self.anchor_x, self.x, self.new_x, self.step, self.gradient)
        return sum({id(each): each.nbytes for each in arrays if each is not None}.values())


def _standing(attempt: Attempt, accepted: Array) -> Array:
    """Return where the runs stand, given which of them made their move."""
    if attempt.new_x is None or not accepted.any():
        return attempt.x
    return attempt.new_x if accepted.all() else np.where(accepted[:, None], attempt.new_x, attempt.x)


def part_bounds(n: int) -> NDArray[np.int64]:
    """Return where each part of n items begins, and n."""
    parts = min(MAX_PARTS, 1 + n // ITEMS_PER_PART)
    return np.arange(parts + 1) * n // parts


def descend(U: Array, *runs_of: Array, S: Array, tallies: Array, products: Array, room: Room) -> None:
    """Take one step of each run: the gradient at x, x moved, and the grid sums at the new x, in one read of U.

    The gradient is g_k = [U_k, anchor(x'_k)] . H(x_k) + h(x_k) + push_k, with H and h interpolated linearly on the
    grid; an item beyond the grid has only the last term. The new velocity is momentum * velocity - length * g, and the
    new x is x plus that. With zero lengths and momenta this gives gradient and sums at x itself.

    Items are split into parts whose number depends on n alone, and parts are added in a fixed order: the result does
    not depend on how many threads there are. Rows are summed in float32 within a part, where a grid point sees a few
    hundred items, and in float64 over parts.

    Parameters
    ----------
    U : ndarray of shape (n, R), float32
        The embedding.
    *runs_of : ndarray
        What each run has, in this order:

        - x, shape (runs, n): predictions in grid units;
        - velocity and before, shape (runs, n), float32: how x was moved last, and the gradient before that;
        - anchor_x, shape (runs, n): where each item's anchor is looked up, x at f(t);
        - anchor, shape (runs, G, r), float32: features of the predictions on the grid, centred;
        - H, shape (runs, G, R + r), float32: the table that multiplies rows;
        - h, shape (runs, G): what depends on the prediction alone;
        - push, shape (runs, n) or (runs, 0), float32: a gradient that was computed elsewhere;
        - lengths and momenta, shape (runs,): of the step;
        - gradient, shape (runs, n), float32: where to write it;
        - new_x, shape (runs, n), and new_velocity, the same in float32: where to write them.
    S : ndarray of shape (runs, G, R + r)
        Where to write sum_k hat_g(x_k) [U_k, anchor(x'_k)] at the new x.
    tallies : ndarray of shape (runs, 3, G)
        The same for sums of hat_g, hat_g^2 and hat_g hat_{g+1}.
    products : ndarray of shape (runs, 3)
        The same for g.g, velocity.(g - before) and (g - before).(g - before).
    room : dict
        Memory to work in, see `tupi.runtime.computing.array_in`.
    """
    anchor, H = runs_of[4], runs_of[5]
    runs, points, r = anchor.shape
    if U.shape[1] % LANES != 0 or r % LANES != 0 or H.shape[2] != U.shape[1] + r:
        raise ValueError("rows of U and anchor need whole numbers of vectors, and H as many columns as both")
    bounds = part_bounds(len(U))
    parts = len(bounds) - 1
    partial = array_in(room, "partial", (parts, runs, points, H.shape[2]))
    touched = np.zeros((parts, runs, 2), np.int64)
    touched[:, :, 0] = 1
    part_products, part_tallies = np.zeros((parts, runs, 3)), np.zeros((parts, runs, 3, points))

    def some_parts(begin: int, end: int) -> None:
        floats = array_in(room, f"rows {begin}", (BLOCK, U.shape[1])), array_in(room, f"own {begin}", (BLOCK, r))
        starts, whole = np.empty(points + 1, np.uint32), np.empty((3, BLOCK), np.uint32)
        descend_parts(
            begin, end, U, bounds, *runs_of, partial, touched, part_tallies, part_products, *floats, starts, whole,
            np.empty((3, BLOCK), np.float32),
        )  # fmt: skip

    on_threads(some_parts, parts, runs * U.size)
    np.sum(part_products, axis=0, out=products)
    np.sum(part_tallies, axis=0, out=tallies)
    on_threads(lambda begin, end: add_parts(partial, touched, S, begin, end), runs * points, partial.size)


def _pass(
    block: Stored,
    x: Array,
    velocity: Array,
    before: Array,
    anchor_x: Array,
    tables: Tables,
    push: Array,
    lengths: Array,
    momenta: Array,
    room: Room,
    turn: int,
) -> Attempt:
    """Run `descend` on a block."""
    runs, points, width = tables.H.shape
    rows, slope, offset, H, h = block.rows, block.slope, block.offset, tables.H, tables.h
    R = rows.shape[1]
    if slope is not None:  # what codes count for goes into the tables, which are small
        H = aligned_copy(H)
        H[:, :, :R] *= slope.astype(np.float32)
        h = h + tables.H[:, :, :R] @ offset
    step, gradient = (array_in(room, f"{name} {turn}", x.shape) for name in ("step", "gradient"))
    new_x = array_in(room, f"x {turn}", x.shape, np.float64)
    S = array_in(room, f"sums {turn}", (runs, points, width), np.float64)
    tally, products = np.empty((runs, 3, points)), np.empty((runs, 3))
    # Arrays that came over a network may be read-only, for which the pass would have to be compiled once more.
    rows, x, velocity, before, anchor_x, anchor, H, h, push, lengths, momenta = (
        each if each.flags.carray else np.require(each, requirements=("C", "W"))
        for each in (rows, x, velocity, before, anchor_x, tables.anchor, H, h, push, lengths, momenta)
    )
    descend(
        rows, x, velocity, before, anchor_x, anchor, H, h, push, lengths, momenta, gradient, new_x, step,
        S=S, tallies=tally, products=products, room=room,
    )  # fmt: skip
    if slope is not None and offset is not None:
        S[:, :, :R] *= slope
        S[:, :, :R] += tally[:, 0, :, None] * offset
    return Attempt(anchor_x, x, new_x, step, gradient, Sums(S, tally, products), 1 - turn)


def _sums_at(block: Stored, x: Array, anchor_x: Array, tables: Tables) -> Sums:
    nothing, zero = np.zeros(x.shape, np.float32), np.zeros(len(x))
    found = _pass(block, x, nothing, nothing, anchor_x, tables, nothing[:, :0], zero, zero, {}, 0).sums
    assert found is not None
    return found


@uses_threads
def laid(rows: None, block: Stored, f: Array, *, low: float, per_unit: float, points: int) -> Attempt:
    """Return the attempt at some predictions, on a grid."""
    return _summed(block, (f - low) * per_unit, points)


@uses_threads
def laid_anew(
    rows: None, block: Stored, attempt: Attempt, *, run: int, slope: float, shift: float, points: int
) -> Attempt:
    """Return the attempt where a run stands, on another grid."""
    return _summed(block, attempt.x[run] * slope + shift, points)


def _summed(block: Stored, position: Array, points: int) -> Attempt:
    R, x = block.rows.shape[1], position[None]
    tables = Tables(np.zeros((1, points, 0), np.float32), np.zeros((1, points, R), np.float32), np.zeros((1, points)))
    return Attempt(x, x, sums=_sums_at(block, x, x, tables))


@uses_threads
def started(rows: None, places: Sequence[tuple[Attempt, int]]) -> Attempt:
    """Return the attempt that begins a step of several runs, of each of which a attempt has the positions in a row."""
    x = np.array([attempt.x[run] for attempt, run in places])
    return Attempt(x, x)


@uses_threads
def moved(
    rows: None,
    block: Stored,
    attempt: Attempt,
    room: Room | None,
    push: Array,
    *,
    tables: Tables,
    accepted: Array,
    lengths: Array,
    momenta: Array,
) -> Attempt:
    """Return the next attempt: accepted moves are made, and momentum * last move - length * gradient is tried.

    A run whose move was not accepted has come to its end in this step; only where it stands still counts.
    """
    last, before, x = attempt.step, attempt.gradient, _standing(attempt, accepted)
    if last is None or before is None:
        last = before = np.zeros(x.shape, np.float32)
    room = {} if room is None else room
    return _pass(block, x, last, before, attempt.anchor_x, tables, push, lengths, momenta, room, attempt.turn)


@uses_threads
def shortened(
    rows: None, block: Stored, attempt: Attempt, *, tables: Tables, runs: Sequence[int], lengths: Array
) -> Attempt:
    """Return the attempt in which some runs try other lengths from the same points without momentum.

    Its sums are those of these runs only.
    """
    assert attempt.step is not None
    assert attempt.new_x is not None
    assert attempt.gradient is not None
    which = np.array(runs)
    step, new_x = attempt.step.copy(), attempt.new_x.copy()
    step[which] = -np.array(lengths)[:, None] * attempt.gradient[which]
    new_x[which] = attempt.x[which] - np.array(lengths)[:, None] * attempt.gradient[which]
    some = Tables(aligned_copy(tables.anchor[which]), aligned_copy(tables.H[which]), tables.h[which])
    return replace(attempt, step=step, new_x=new_x, sums=_sums_at(block, new_x[which], attempt.anchor_x[which], some))


@uses_threads
def settled(rows: None, attempt: Attempt, *, accepted: Array) -> Attempt:
    """Return where the runs stand at the end of a step, without what only a move needs."""
    x = np.array(_standing(attempt, accepted))
    return Attempt(x, x)


@uses_threads
def sums_of(rows: None, attempt: Attempt) -> Sums:
    """Return the sums of a attempt."""
    assert attempt.sums is not None
    return attempt.sums


@uses_threads
def extent_of(rows: None, attempt: Attempt, *, middle: float) -> Extent:
    """Return where the items of a attempt are."""
    return _extent(attempt.x, middle)


@uses_threads
def extent_of_values(rows: None, f: Array) -> Extent:
    """Return where the values of a block are."""
    return _extent(f[None])


def _extent(x: Array, middle: float = 0.0) -> Extent:
    """Return that of values of shape (runs, items)."""
    d = x - middle
    powers = np.column_stack([np.full(len(x), x.shape[1]), d.sum(axis=1), np.einsum("ij,ij->i", d, d)])
    return Extent(powers, np.column_stack([x.min(axis=1, initial=np.inf), x.max(axis=1, initial=-np.inf)]))


@uses_threads
def predicted(rows: None, attempt: Attempt, *, run: int, low: float, per_unit: float) -> Array:
    """Return the predictions of a run."""
    return attempt.x[run] / per_unit + low
