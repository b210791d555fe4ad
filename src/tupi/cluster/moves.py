"""What a worker does with a block while runs of Algorithm 1 move: the compiled pass, between folding and summing."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.engines.passes import descend, part_bounds
from tupi.cluster.blocks import Block
from tupi.runtime.storage import aligned
from tupi.runtime.threads import at_most

PASSES = threading.Lock()  # one compiled pass at a time in a process: it uses all of the worker's threads
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Tables:
    """What the gradient is looked up in, see `tupi.algorithm.engines.landscape.Landscape`."""

    anchor: Array
    H: Array
    h: Array


@dataclass(frozen=True, eq=False)
class Sums:
    """What the client needs to know of the items, for each run; blocks are added.

    Attributes
    ----------
    S, tally, products : ndarray
        See `tupi.algorithm.engines.passes.descend`.
    powers : ndarray of shape (runs, 3)
        Sums of the powers 0 to 2 of positions, counted from the middle of the grid.
    ends : ndarray of shape (runs, 2)
        The smallest and the largest position.
    """

    S: Array
    tally: Array
    products: Array
    powers: Array
    ends: Array

    def __sizeof__(self) -> int:
        """Return the bytes that it takes."""
        return int(self.S.nbytes + self.tally.nbytes)

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.S + other.S,
            self.tally + other.tally,
            self.products + other.products,
            self.powers + other.powers,
            np.column_stack(
                [np.minimum(self.ends[:, 0], other.ends[:, 0]), np.maximum(self.ends[:, 1], other.ends[:, 1])]
            ),
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """Where the items of a block are and where they try to go, for several runs.

    Attributes
    ----------
    anchor_x : ndarray of shape (runs, items)
        Positions at f(t).
    x : ndarray of shape (runs, items)
        Positions.
    step : ndarray of shape (runs, items), float32, or None
        The move that is tried; None before the first.
    gradient : ndarray of shape (runs, items), float32, or None
        At x.
    sums : Sums
        At x + step.
    """

    anchor_x: Array
    x: Array
    step: Array | None = None
    gradient: Array | None = None
    sums: Sums | None = None

    def __sizeof__(self) -> int:
        """Return the bytes that it takes."""
        arrays = (self.anchor_x, self.x, self.step, self.gradient)
        return sum({id(each): each.nbytes for each in arrays if each is not None}.values())

    def reached(self, run: int, moved: bool) -> Array:
        """Return the positions of a run, after the move or before it."""
        if not moved:
            return self.x[run]
        assert self.step is not None
        return self.x[run] + self.step[run]


Place = tuple[Trial, int, bool]  # where a run stands: a trial, its row, and whether the move was made


@contextmanager
def _alone() -> Iterator[None]:
    from distributed import get_worker  # an extra, and this module is imported without it

    with PASSES:
        try:
            threads = get_worker().state.nthreads
        except ValueError:  # not on a worker, as in a test of this function
            threads = 1
        with at_most(threads):
            yield


def _pass(
    block: Block,
    x: Array,
    velocity: Array,
    before: Array,
    anchor_x: Array,
    tables: Tables,
    lengths: Array,
    momenta: Array,
) -> tuple[Array, Array, Sums]:
    """Run `descend` on a block; return the move, the gradient, and the sums after the move."""
    runs, points, width = tables.H.shape
    R = block.codes.shape[1]
    H = aligned(tables.H.shape)
    H[:] = tables.H
    H[:, :, :R] *= block.slope.astype(np.float32)
    h = tables.h + tables.H[:, :, :R] @ block.offset
    step, gradient, new_x = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32), np.empty(x.shape)
    S, tally, products = np.empty((runs, points, width)), np.empty((runs, 3, points)), np.empty((runs, 3))
    parts = len(part_bounds(x.shape[1])) - 1
    room = aligned((parts, runs, points, width), clear=False)
    nothing = np.zeros((runs, 0), np.float32)
    # Arrays that came over the network may be read-only, for which the pass would have to be compiled once more.
    codes, x, velocity, before, anchor_x, anchor = (
        np.require(each, requirements=("C", "W"))
        for each in (block.codes, x, velocity, before, anchor_x, tables.anchor)
    )
    with _alone():
        descend(
            codes, 0, x, velocity, before, anchor_x, anchor, H, h, nothing, np.array(lengths), np.array(momenta),
            gradient, new_x, step, S, tally, products, room,
        )  # fmt: skip
    S[:, :, :R] *= block.slope
    S[:, :, :R] += tally[:, 0, :, None] * block.offset
    d = new_x - 0.5 * (points - 1)
    powers = np.column_stack([np.full(runs, x.shape[1]), d.sum(axis=1), (d * d).sum(axis=1)])
    ends = np.column_stack([new_x.min(axis=1, initial=np.inf), new_x.max(axis=1, initial=-np.inf)])
    return step, gradient, Sums(S, tally, products, powers, ends)


def broadcast(tables: Any) -> Any:
    """Return what it is given: a task of its own, so that workers pass it on and anyone can compute it again."""
    return tables


def started(places: Sequence[Place]) -> Trial:
    """Return the trial that begins a step of several runs."""
    x = np.array([trial.reached(run, moved) for trial, run, moved in places])
    return Trial(x, x)


def laid(block: Block, standard: tuple[float, float, float], low: float, per_unit: float, points: int) -> Trial:
    """Return the trial at the initial predictions, on a grid."""
    x = (block.standard(*standard) - low) * per_unit
    return _summed(block, x, points)


def laid_anew(block: Block, place: Place, slope: float, shift: float, points: int) -> Trial:
    """Return the trial where a run stands, on another grid."""
    trial, run, moved = place
    return _summed(block, trial.reached(run, moved) * slope + shift, points)


def _summed(block: Block, x: Array, points: int) -> Trial:
    R = block.codes.shape[1]
    tables = Tables(np.zeros((1, points, 0), np.float32), np.zeros((1, points, R), np.float32), np.zeros((1, points)))
    x = x[None]
    return Trial(x, x, sums=_sums_at(block, x, x, tables))


def _sums_at(block: Block, x: Array, anchor_x: Array, tables: Tables) -> Sums:
    nothing, zero = np.zeros(x.shape, np.float32), np.zeros(len(x))
    return _pass(block, x, nothing, nothing, anchor_x, tables, zero, zero)[2]


def moved(
    block: Block, trial: Trial, tables: Tables, accepted: Sequence[bool], lengths: Array, momenta: Array
) -> Trial:
    """Return the next trial: moves that were accepted are made, and momentum * last move - length * gradient is tried.

    A run whose move was not accepted has come to its end in this step; only where it stands still counts.
    """
    last, before = trial.step, trial.gradient
    if last is None or before is None:
        x, last = trial.x, np.zeros(trial.x.shape, np.float32)
        before = last
    else:
        x = trial.x + np.where(np.array(accepted)[:, None], last, np.float32(0.0))
    step, gradient, sums = _pass(block, x, last, before, trial.anchor_x, tables, lengths, momenta)
    return Trial(trial.anchor_x, x, step, gradient, sums)


def shortened(block: Block, trial: Trial, tables: Tables, runs: Sequence[int], lengths: Array) -> Trial:
    """Return the trial in which some runs try other lengths from the same points without momentum.

    Its sums are those of these runs only.
    """
    assert trial.step is not None
    assert trial.gradient is not None
    which = np.array(runs)
    step = trial.step.copy()
    step[which] = -np.array(lengths)[:, None] * trial.gradient[which]
    some = Tables(tables.anchor[which], tables.H[which], tables.h[which])
    sums = _sums_at(block, trial.x[which] + step[which], trial.anchor_x[which], some)
    return replace(trial, step=step, sums=sums)


def sums_of(trial: Trial) -> Sums:
    """Return the sums of a trial."""
    assert trial.sums is not None
    return trial.sums


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of parts, in their order."""
    return functools.reduce(lambda a, b: a + b, parts)


def values_at(places: Sequence[Place], items: Array) -> Array:
    """Return the positions of some items of a block, one row per run."""
    return np.array([trial.reached(run, moved)[items] for trial, run, moved in places])
