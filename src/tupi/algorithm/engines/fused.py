"""The fused engine: grid tables and one compiled pass over each block; float32 storage, float64 sums over parts.

It is the same wherever the blocks are: positions stay with these, and sums over the grid come here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.energy import Objective, Vector
from tupi.algorithm.engines import moves
from tupi.algorithm.engines.landscape import GridTable, grid_points, spread, standardized, tabulate
from tupi.blocks.home import Kept
from tupi.embedding.embedding import Embedding, padded
from tupi.embedding.gaussian import alignment
from tupi.runtime.computing import Room, array_in

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FusedState:
    """Where a run stands: positions on a grid, the grid, and the sums over items there.

    Attributes
    ----------
    embedding : Embedding
        The items.
    attempts : sequence of Attempt
        Kept with the blocks: the positions of several runs.
    runs, run : int
        How many runs the attempts hold, and the row that is this run's.
    table : GridTable
        Features of the predictions on the grid.
    sums : ndarray of shape (G, R)
        sum_k hat_g(x_k) U_k.
    tally : ndarray of shape (3, G)
        Sums of hat functions and of their products.
    ends : ndarray of shape (2,)
        The smallest and the largest position.
    """

    embedding: Embedding
    attempts: Kept
    runs: int
    run: int
    table: GridTable
    sums: Matrix
    tally: Matrix
    ends: Vector

    @cached_property
    def dependence(self) -> Vector:
        """Normalised HSIC of f(t) with each view."""
        gram, _ = self.table.gram(self.tally)
        return alignment(self.sums.T @ self.table.phi, self.embedding.offsets, gram)

    @property
    def f(self) -> Any:
        """The predictions, with mean 0 and deviation 1, as the home of the items shows a column."""
        where = {"run": self.run, "low": self.table.low, "per_unit": self.table.per_unit}
        return self.embedding.home.column(moves.predicted, self.attempts, **where)


def together(states: Sequence[FusedState]) -> Kept:
    """Return attempts in which these states are the rows."""
    first = states[0]
    rows = [state.run for state in states if state.attempts is first.attempts]
    if rows == list(range(first.runs)) and len(rows) == len(states):
        return first.attempts
    places = [[(state.attempts[b], state.run) for state in states] for b in range(len(first.attempts))]
    return first.embedding.home.each(moves.started, places)


class FusedDescent:
    """The energies of one step for several runs: each move reads the embedding once for all of them.

    Parameters
    ----------
    engine : FusedEngine
        Holds the embedding.
    states : list of FusedState
        Where the runs begin.
    per_column : ndarray of shape (runs, R)
        lam w_i(t) of each column's view.
    lams : list of float
        lambda of each run.
    extra : callable, optional
        f -> (energy, gradient), added to each; for items in this process.
    """

    def __init__(
        self,
        engine: FusedEngine,
        states: list[FusedState],
        per_column: Matrix,
        lams: list[float],
        extra: Objective | None,
    ) -> None:
        self._engine, self._extra, self._home = engine, extra, engine.embedding.home
        self._tables, self._lams = [state.table for state in states], np.array(lams, np.float64)
        self._memory = engine.memory()
        self._lay_tables(states, per_column)
        self._attempts, self._accepted = together(states), np.zeros(len(states), bool)
        # The gradient of what is added, where the runs stand and where they try to go.
        shape, everyone = (len(states), 0 if extra is None else self._home.n), range(len(states))
        self._push, self._new_push = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.energies: Vector = self._tabulated(everyone) + self._added(everyone, "x")
        self._push[:] = self._new_push
        self._new_energies = self.energies.copy()

    def _lay_tables(self, states: list[FusedState], per_column: Matrix) -> None:
        """Make the arrays that energies and gradients are computed in, with a row for each run.

        The item's own features at f(t), centred, follow its row of the embedding: the anchor of the step, shape (runs,
        G, r). Sums over the grid, shape (runs, G, R + r), and the tables of the gradient, of the same shape, have
        columns for both. Sums where runs try to go are those where they stand before the first move.
        """
        room, tables = self._memory[0], self._tables
        runs, points, R = len(tables), tables[0].points, per_column.shape[1]
        most = max(table.phi.shape[1] for table in tables)
        r = padded(most)
        self._anchor = array_in(room, "anchor", (runs, points, r))
        self._H, self._h = array_in(room, "H", (runs, points, R + r)), np.zeros((runs, points))
        self._sums = array_in(room, "sums", self._H.shape, np.float64)
        self._tally = np.array([state.tally for state in states])
        self._new_sums, self._new_tally = self._sums, self._tally
        self._per_column = np.zeros((runs, R + r))
        self._per_column[:, :R] = per_column
        self._phi, self._exact = np.zeros((runs, points, most)), np.zeros((2, runs, points, most))
        self._transposed = np.zeros((runs, most, points))
        self._slopes = np.zeros((runs, points, most), np.float32)
        for m, (table, state) in enumerate(zip(tables, states, strict=True)):
            gram, mean = table.gram(state.tally)
            own = table.phi - mean
            k = own.shape[1]
            self._phi[m, :, :k], self._transposed[m, :k], self._slopes[m, :, :k] = table.phi, table.phi.T, table.slopes
            self._exact[0, m, :, :k], self._exact[1, m, :, :k] = table.exact
            self._anchor[m, :, :k], self._anchor[m, :, k:] = own, 0.0
            self._sums[m, :, :R], self._sums[m, :, R + k :] = state.sums, 0.0
            self._sums[m, :, R : R + k] = spread(own, state.tally)
            self._per_column[m, R:] = 1.0 / np.linalg.norm(gram)

    def _tabulated(self, runs: Sequence[int]) -> Vector:
        """Write the tables of the gradient where runs try to go; return their energies but for what is added."""
        which = np.array(runs, np.int64)
        exact_phi, exact_slopes = self._exact
        J = tabulate(
            which, self._new_sums, self._new_tally, self._transposed, self._phi, self._slopes, exact_phi, exact_slopes,
            self._per_column, self._H, self._h,
        )  # fmt: skip
        return 1.0 + self._lams[which] - J

    def _added(self, runs: Sequence[int], where: str) -> Vector:
        """Return what is added to the energies of these runs at x or new_x, and prepare its gradient there."""
        more = np.zeros(len(runs))
        if self._extra is not None:
            x = np.concatenate([getattr(attempt, where) for attempt in self._home.fetched(self._attempts)], axis=1)
            for i, m in enumerate(runs):
                more[i], self._new_push[m] = self._extra(self._tables[m].prediction(x[m]))
        return more

    def _tried(self, runs: Sequence[int], attempts: Kept) -> moves.Sums:
        """Compute energies and tables where these runs try to go; return the sums over items there."""
        self._attempts = attempts
        found: moves.Sums = self._home.summed(moves.sums_of, attempts)
        which, new = list(runs), (found.S, found.tally)
        if len(which) == len(self._tables):  # no copy: they may be those from before the last `accept`
            self._new_sums, self._new_tally = (np.require(each, requirements=("C", "W")) for each in new)
        else:
            self._new_sums[which], self._new_tally[which] = new
        self._new_energies[which] = self._tabulated(runs) + self._added(runs, "new_x")
        return found

    @property
    def _sent(self) -> moves.Tables:
        return moves.Tables(self._anchor, self._H, self._h)

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient, in one read of the embedding."""
        per_unit = np.array([table.per_unit for table in self._tables])
        push = [self._push[:, a:b] for a, b in itertools.pairwise(self._home.bounds)]
        how = {"accepted": self._accepted, "lengths": lengths * per_unit, "momenta": momenta}
        attempts = self._home.each(
            moves.moved, self._engine.embedding.blocks, self._attempts, self._memory[1], push, tables=self._sent, **how
        )
        products = self._tried(range(len(per_unit)), attempts).products.copy()
        products[:, 1] /= per_unit
        self._accepted = np.zeros(len(per_unit), bool)
        return self._new_energies.copy(), products

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum, in one read of the embedding."""
        scaled = [length * self._tables[m].per_unit for m, length in zip(runs, lengths, strict=True)]
        how = {"tables": self._sent, "runs": list(runs), "lengths": scaled}
        self._tried(runs, self._home.each(moves.shortened, self._engine.embedding.blocks, self._attempts, **how))
        return self._new_energies[list(runs)]

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to, of which blocks are told with the next move; tables of the others come back."""
        which = list(runs)
        self._accepted[which] = True
        self._push[which] = self._new_push[which]
        self.energies[which] = self._new_energies[which]
        if others := [m for m in range(len(self._tables)) if m not in runs]:
            self._new_sums[others], self._new_tally[others] = self._sums[others], self._tally[others]
        self._sums, self._tally = self._new_sums, self._new_tally
        if others:
            self._tabulated(others)

    def finish(self) -> list[FusedState]:
        """Return the states that were reached, standardised; without a read unless a grid has to be laid anew."""
        R, first = self._engine.embedding.width, self._tables[0]
        attempts = self._home.each(moves.settled, self._attempts, accepted=self._accepted)
        middle = 0.5 * (first.points - 1)
        extent: moves.Extent = self._home.summed(moves.extent_of, attempts, middle=middle)
        count, total, squares = extent.powers.T
        centers, scales = middle + total / count, np.sqrt(squares / count - (total / count) ** 2)
        states = []
        for m, table in enumerate(standardized(self._tables, centers, scales)):
            state = FusedState(
                self._engine.embedding,
                attempts,
                len(self._tables),
                m,
                table,
                self._sums[m, :, :R].copy(),
                self._tally[m].copy(),
                extent.ends[m],
            )
            states.append(state if state.table.covers(state.ends) else self._engine.at(state))
        self._engine.take_back(self._memory)
        return states


class FusedEngine:
    """Sums over items through grid tables: O(n R) per gradient, whatever the rank of the predictions' kernel.

    Passes are fastest if neighbouring items have similar predictions.

    Parameters
    ----------
    embedding : Embedding
        The views' factors.
    f : ndarray
        The initial predictions, or just the smallest and the largest of them.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    rank : int
        Grid points of the predictions' kernel, K.
    """

    def __init__(self, embedding: Embedding, f: Vector, sigma2: float, rank: int = 50) -> None:
        self.embedding, self.sigma2, self.rank = embedding, sigma2, rank
        self.points = grid_points(f, sigma2, embedding.home.n)
        self._first: tuple[Any, FusedState] | None = None
        self._spare: list[tuple[Room, Kept]] = []  # at most one; whoever takes it has it alone

    def begin(self, f: Any) -> FusedState:
        """Return the state at the initial predictions; runs that begin at the same ones share it."""
        known = self._first
        if known is None or not (known[0] is f or np.array_equal(known[0], f)):
            home = self.embedding.home
            kept = home.dealt(f)
            table = self._table(home.summed(moves.extent_of_values, kept).ends[0])
            grid = {"low": table.low, "per_unit": table.per_unit, "points": self.points}
            known = self._first = (f, self._state(home.each(moves.laid, self.embedding.blocks, kept, **grid), table))
        return known[1]

    def at(self, state: FusedState) -> FusedState:
        """Return a state, which may be of another engine, on a new grid of this one: one read of the embedding."""
        old = state.table
        table = self._table(old.prediction(state.ends))
        scale = {"slope": table.per_unit / old.per_unit, "shift": (old.low - table.low) * table.per_unit}
        how = scale | {"run": state.run, "points": self.points}
        return self._state(
            self.embedding.home.each(moves.laid_anew, self.embedding.blocks, state.attempts, **how), table
        )

    def _table(self, ends: Vector) -> GridTable:
        return GridTable.covering(ends, self.points, self.sigma2, self.rank)

    def _state(self, attempts: Kept, table: GridTable) -> FusedState:
        home = self.embedding.home
        found: moves.Sums = home.summed(moves.sums_of, attempts)
        ends = home.summed(moves.extent_of, attempts, middle=0.0).ends[0]
        return FusedState(self.embedding, attempts, 1, 0, table, found.S[0], found.tally[0], ends)

    def descent(
        self, states: list[FusedState], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> FusedDescent:
        """Return the energies of the step that begins at these states, each plus ``extra``."""
        self.embedding.home.balance(self.embedding.blocks)
        widths = np.diff(self.embedding.offsets)
        per_column = np.zeros((len(lams), self.embedding.width))  # columns that fill up have no weight
        per_column[:, : widths.sum()] = np.repeat(np.array(lams)[:, None] * np.array(weights), widths, axis=1)
        return FusedDescent(self, states, per_column, lams, extra)

    def memory(self) -> tuple[Room, Kept]:
        """Return memory for a descent, here and with each block."""
        return self._spare.pop() if self._spare else ({}, self.embedding.home.rooms())

    def take_back(self, memory: tuple[Room, Kept]) -> None:
        """Keep the memory of a descent that has finished for the next."""
        self._spare = [memory]
