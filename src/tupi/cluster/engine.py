"""The engine `dask`: blocks of items on workers, tables and sums on the client; otherwise the fused engine's moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.energy import Objective, Vector
from tupi.algorithm.engines.landscape import Landscape, column_weights, dependence, moments
from tupi.algorithm.engines.table import Table, grid_points
from tupi.algorithm.engines.workspace import Workspace
from tupi.cluster import moves
from tupi.cluster.blocks import Block
from tupi.cluster.moves import Sums, Tables
from tupi.cluster.result import lazy_vector
from tupi.embedding.bandwidth import SAMPLE, squared_bandwidth
from tupi.embedding.hsic import DEFAULTS, KernelMoments
from tupi.runtime.errors import InputError

FAN_IN = 8  # sums that one task adds
Matrix = NDArray[np.float64]
Futures = list[Any]


@dataclass(frozen=True, eq=False)
class Blocks:
    """The embedded views, block by block on the workers.

    Attributes
    ----------
    client : distributed.Client
        The cluster.
    futures : list of Future
        Of each `tupi.cluster.blocks.Block`.
    counts : list of int
        How many items of each take part.
    offsets : ndarray of shape (m + 1,)
        Where each view's columns begin.
    width : int
        Number of columns, with those that fill up.
    standard : tuple of float
        Unit, mean and deviation of the predictions.
    ends : ndarray of shape (2,)
        The smallest and the largest standardised prediction.
    """

    client: Any
    futures: Futures
    counts: list[int]
    offsets: NDArray[np.int64]
    width: int
    standard: tuple[float, float, float]
    ends: Vector

    @property
    def n(self) -> int:
        """How many items take part."""
        return sum(self.counts)

    def each(self, function: Callable[..., Any], *per_block: Sequence[Any], **common: Any) -> Futures:
        """Call a function with each block, with one of each of ``per_block``, and with what is common to all."""
        return self.client.map(function, self.futures, *per_block, pure=False, **common)

    def total(self, parts: Futures) -> Any:
        """Return the sum of what tasks give: workers add a few at a time, always the same ones in the same order."""
        while len(parts) > FAN_IN:
            groups = [parts[k : k + FAN_IN] for k in range(0, len(parts), FAN_IN)]
            parts = self.client.map(moves.added, groups, pure=False)
        return moves.added(self.client.gather(parts))

    def sums(self, trials: Futures) -> Sums:
        """Return the sums of trials over all blocks."""
        return self.total(self.client.map(moves.sums_of, trials, pure=False))

    def spread(self, known: frozenset[str]) -> frozenset[str]:
        """Give workers that were not known a share of the blocks; return who is there now."""
        workers = frozenset(self.client.scheduler_info(n_workers=-1)["workers"])
        if known and workers - known:
            self._share(sorted(workers))
        return workers

    def _share(self, workers: Sequence[str]) -> None:
        """Move blocks from who has most to who has fewest, until all have as many.

        Dask's own rebalancing looks at memory, and would leave a new worker idle as long as the others are not full.
        """
        held: dict[str, list[int]] = {worker: [] for worker in workers}
        for b, owners in enumerate(self.client.who_has(self.futures).values()):
            if owners and owners[0] in held:
                held[owners[0]].append(b)
        while True:
            few, many = (choose(held, key=lambda worker: len(held[worker])) for choose in (min, max))
            if len(held[many]) - len(held[few]) < 2:
                return
            b = held[many].pop()
            held[few].append(b)
            self.futures[b] = self.client.submit(
                moves.broadcast, self.futures[b], workers=[few], allow_other_workers=True, pure=False
            )


@dataclass(frozen=True, eq=False)
class DaskState:
    """Where a run stands.

    Attributes
    ----------
    blocks : Blocks
        The items.
    trials : list of Future
        Of the trials that hold the positions, block by block.
    rows, run : int
        How many runs the trials hold, and the row that is this run's.
    moved : bool
        Whether the trial's move was made.
    table : Table
        Features of the predictions on the grid.
    sums, tally : ndarray
        Sums over all items, see `tupi.algorithm.engines.fused.FusedState`.
    powers, ends : ndarray
        See `tupi.cluster.moves.Sums`.
    """

    blocks: Blocks
    trials: Futures
    rows: int
    run: int
    moved: bool
    table: Table
    sums: Matrix
    tally: Matrix
    powers: Vector
    ends: Vector

    @property
    def dependence(self) -> Vector:
        """Normalised HSIC of f(t) with each view."""
        return dependence(self.table, self.sums, self.tally, self.blocks.offsets)

    @property
    def places(self) -> list[tuple[Any, int, bool]]:
        """Where the run stands in each block."""
        return [(trial, self.run, self.moved) for trial in self.trials]

    @property
    def f(self) -> Any:
        """The predictions of the items that take part, with mean 0 and deviation 1, where they are."""
        return LazyPredictions(self)

    def moments(self) -> KernelMoments:
        """Return what a test of independence asks of the predictions' kernel."""
        return moments(self.table, self.tally, self.blocks.n)

    def width_rule(self) -> float:
        """Return `tupi.embedding.bandwidth.squared_bandwidth` of the predictions by the rule of `tupi.hsic`.

        The rule looks at predictions that are evenly spread in their order; the grid knows where those are.
        """
        counts = self.tally[0]
        ranks = np.linspace(0, self.blocks.n - 1, min(self.blocks.n, SAMPLE)).astype(int)
        # An item between two grid points is shared by both: a point's count lies half a cell to either side of it.
        x = np.interp(ranks + 0.5, np.append(0.0, np.cumsum(counts)), np.arange(len(counts) + 1) - 0.5)
        x[[0, -1]] = self.ends
        return squared_bandwidth(x[:, None], DEFAULTS.bandwidth) / self.table.per_unit**2


class LazyPredictions:
    """f(t) of the items that take part, as a callback sees it: nothing is computed or sent until it is asked for.

    While it is held, so are the positions on the workers.
    """

    def __init__(self, state: DaskState) -> None:
        self.state = state

    def __len__(self) -> int:
        """Return how many items take part."""
        return self.state.blocks.n

    def to_dask(self) -> Any:
        """Return a Dask array."""
        state = self.state
        parts = list(zip(state.blocks.futures, state.places, strict=True))
        return lazy_vector(predicted, parts, state.blocks.counts, state.table.low, state.table.per_unit)

    def compute(self) -> Vector:
        """Return all of it in memory."""
        return self.to_dask().compute(scheduler=self.state.blocks.client)


def predicted(part: tuple[Block, moves.Place], low: float, per_unit: float) -> Vector:
    """Return the predictions of a block's items that take part, in their own order."""
    block, (trial, run, moved) = part
    return (trial.reached(run, moved) / per_unit + low)[np.argsort(block.items)]


def gathered(states: Sequence[DaskState]) -> Futures:
    """Return trials in which these states are the rows."""
    first = states[0]
    rows = [(state.run, state.moved) for state in states if state.trials is first.trials]
    if rows == [(m, False) for m in range(first.rows)] and len(rows) == len(states):
        return first.trials
    places = [list(each) for each in zip(*(state.places for state in states), strict=True)]
    return first.blocks.client.map(moves.started, places, pure=False)


class DaskDescent:
    """The energies of one step for several runs, see `tupi.algorithm.denoiser.Descent`.

    Each move reads all blocks once.
    """

    def __init__(self, engine: DaskEngine, states: list[DaskState], per_column: Matrix, lams: list[float]) -> None:
        self._engine, self._blocks = engine, engine.blocks
        self._tables = [state.table for state in states]
        self._land = Landscape(
            self._tables,
            [state.sums for state in states],
            [state.tally for state in states],
            per_column,
            lams,
            Workspace(),
        )
        self._trials: Futures = gathered(states)
        self._accepted = [False] * len(states)
        self._powers = np.array([state.powers for state in states])
        self._ends = np.array([state.ends for state in states])
        self._new_powers, self._new_ends = self._powers.copy(), self._ends.copy()
        self._sent: Any = None
        self.energies: Vector = self._land.energies.copy()

    def _try(self, runs: list[int], trials: Futures) -> Sums:
        self._trials = trials
        found = self._blocks.sums(trials)
        self._land.new_sums[runs], self._land.new_tally[runs] = found.S, found.tally
        self._new_powers[runs], self._new_ends[runs] = found.powers, found.ends
        return found

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient."""
        per_unit = np.array([table.per_unit for table in self._tables])
        tables = Tables(self._land.anchor, self._land.H, self._land.h)
        self._sent = self._blocks.client.submit(moves.broadcast, tables, pure=False)
        found = self._try(
            list(range(len(self._tables))),
            self._blocks.each(
                moves.moved,
                self._trials,
                tables=self._sent,
                accepted=self._accepted,
                lengths=lengths * per_unit,
                momenta=momenta,
            ),
        )
        self._accepted = [False] * len(self._tables)
        products = found.products.copy()
        products[:, 1] /= per_unit
        energies = self._land.evaluate(range(len(self._tables)))
        return energies, products

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum."""
        scaled = [length * self._tables[m].per_unit for m, length in zip(runs, lengths, strict=True)]
        which = list(runs)
        self._try(
            which,
            self._blocks.each(moves.shortened, self._trials, tables=self._sent, runs=which, lengths=scaled),
        )
        return self._land.evaluate(which)

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to; workers are told with the next move."""
        self._land.accept(runs)
        self.energies = self._land.energies.copy()
        for m in runs:
            self._accepted[m] = True
            self._powers[m], self._ends[m] = self._new_powers[m], self._new_ends[m]

    def finish(self) -> list[DaskState]:
        """Return the states that were reached, standardised."""
        R, runs = self._blocks.width, len(self._tables)
        places = [[(trial, m, self._accepted[m]) for m in range(runs)] for trial in self._trials]
        reached = self._blocks.client.map(moves.started, places, pure=False)  # without what only a move needs
        return [
            self._engine.settle(
                DaskState(
                    self._blocks,
                    reached,
                    runs,
                    m,
                    False,
                    _standardized(table, self._powers[m]),
                    self._land.sums[m, :, :R].copy(),
                    self._land.tally[m].copy(),
                    self._powers[m].copy(),
                    self._ends[m].copy(),
                )
            )
            for m, table in enumerate(self._tables)
        ]


def _standardized(table: Table, powers: Vector) -> Table:
    mean = powers[1] / powers[0]
    deviation = np.sqrt(powers[2] / powers[0] - mean**2)
    center = 0.5 * (table.points - 1) + mean
    return table.standardized(center, deviation)


class DaskEngine:
    """Sums over items on the workers of a cluster, see `tupi.algorithm.denoiser.Engine`.

    Parameters
    ----------
    blocks : Blocks
        The views' factors.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    rank : int
        Grid points of the predictions' kernel, K.
    """

    def __init__(self, blocks: Blocks, sigma2: float, rank: int = 50) -> None:
        self.blocks, self.sigma2, self.rank = blocks, sigma2, rank
        self.points = grid_points(blocks.ends, sigma2, blocks.n)
        self._workers: frozenset[str] = blocks.spread(frozenset())
        self._first: DaskState | None = None

    def begin(self, f: Any = None) -> DaskState:
        """Return the state at the initial predictions, the same for all runs."""
        if self._first is None:
            table = Table.covering(self.blocks.ends, self.points, self.sigma2, self.rank)
            trials = self.blocks.each(
                moves.laid, standard=self.blocks.standard, low=table.low, per_unit=table.per_unit, points=self.points
            )
            self._first = self._state(trials, table)
        return self._first

    def _state(self, trials: Futures, table: Table) -> DaskState:
        found = self.blocks.sums(trials)
        return DaskState(
            self.blocks, trials, 1, 0, False, table, found.S[0], found.tally[0], found.powers[0], found.ends[0]
        )

    def at(self, state: DaskState) -> DaskState:
        """Return a state of another engine on a new grid of this one."""
        old = state.table
        table = Table.covering(old.prediction(state.ends), self.points, self.sigma2, self.rank)
        slope = table.per_unit / old.per_unit
        trials = self.blocks.each(
            moves.laid_anew,
            state.places,
            slope=slope,
            shift=(old.low - table.low) * table.per_unit,
            points=self.points,
        )
        return self._state(trials, table)

    def settle(self, state: DaskState) -> DaskState:
        """Return the state, on a new grid if the positions have come too close to the ends of the old one."""
        return state if state.table.covers(state.ends) else self.at(state)

    def descent(
        self, states: list[DaskState], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> DaskDescent:
        """Return the energies of the step that begins at these states."""
        if extra is not None:
            raise InputError("engine: 'dask' cannot add to the energy; accepted: 'fused'.")
        self._workers = self.blocks.spread(self._workers)
        per_column = column_weights(weights, lams, self.blocks.offsets, self.blocks.width)
        return DaskDescent(self, states, per_column, lams)
