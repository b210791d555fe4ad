"""The fused engine: grid tables and one compiled pass; float32 storage, float64 sums over parts of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.dependence import KernelMoments
from tupi.energy import Objective, Vector
from tupi.engines.landscape import Landscape, column_weights, dependence, moments
from tupi.engines.passes import descend, part_bounds
from tupi.engines.table import Table, grid_points
from tupi.kernels.embedding import Embedding
from tupi.kernels.storage import aligned, aligned_copy
from tupi.threads import in_order

Matrix = NDArray[np.float64]
Array32 = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class FusedState:
    """Where a run stands: positions on a grid, the grid, and the sums over items there."""

    x: Vector
    table: Table
    sums: Matrix  # (G, R): sum_k hat_g(x_k) U_k
    tally: Matrix  # (3, G): sums of hat functions and of their products
    dependence: Vector

    @property
    def f(self) -> Vector:
        """The predictions, with mean 0 and deviation 1."""
        return self.table.prediction(self.x)

    def moments(self) -> KernelMoments:
        """Return what a test of independence asks of the predictions' kernel."""
        return moments(self.table, self.tally, len(self.x))


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
        f -> (energy, gradient), added to each.
    """

    def __init__(
        self,
        engine: FusedEngine,
        states: list[FusedState],
        per_column: Matrix,
        lams: list[float],
        extra: Objective | None = None,
    ) -> None:
        self._engine, self._extra = engine, extra
        self._tables = [state.table for state in states]
        self._land = Landscape(
            self._tables, [state.sums for state in states], [state.tally for state in states], per_column, lams
        )
        self._x = np.array([state.x for state in states])
        self._anchor_x = self._x.copy()
        self._velocity, self._before = (np.zeros(self._x.shape, np.float32) for _ in range(2))
        self._gradient, self._new_velocity = (np.empty(self._x.shape, np.float32) for _ in range(2))
        self._new_x = self._x.copy()
        runs, points, width = self._land.H.shape
        self._room = engine.room(runs, points, width)
        # The gradient of what is added, where the runs stand and where they try to go.
        self._push, self._new_push = (
            np.zeros((runs, 0 if extra is None else self._x.shape[1]), np.float32) for _ in range(2)
        )
        self.energies: Vector = self._land.energies + self._added(range(runs))
        self._push[:] = self._new_push
        self._new_energies = self.energies.copy()

    def _added(self, runs: Sequence[int]) -> Vector:
        """Return what is added to the energy where runs try to go, and prepare its gradient there."""
        more = np.zeros(len(runs))
        if self._extra is not None:
            for i, m in enumerate(runs):
                more[i], self._new_push[m] = self._extra(self._tables[m].prediction(self._new_x[m]))
        return more

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient, in one read of the embedding."""
        land = self._land
        per_unit = np.array([table.per_unit for table in self._tables])
        land.new_sums[:], land.new_tally[:] = 0.0, 0.0
        products = np.zeros((len(per_unit), 3))
        for first, U in self._engine.embedding.blocks():
            descend(
                U, first, self._x, self._velocity, self._before, self._anchor_x, land.anchor, land.H, land.h,
                self._push, lengths * per_unit, momenta, self._gradient, self._new_x, self._new_velocity,
                land.new_sums, land.new_tally, products, self._room,
            )  # fmt: skip
        products[:, 1] /= per_unit
        self._evaluate(range(len(per_unit)))
        return self._new_energies.copy(), products

    def _evaluate(self, runs: Sequence[int]) -> None:
        """Compute energies and tables where these runs try to go."""
        self._new_energies[list(runs)] = self._land.evaluate(runs) + self._added(runs)

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum, in one read of the embedding."""
        which, land = np.array(runs), self._land
        scales = np.array([length * self._tables[m].per_unit for m, length in zip(runs, lengths, strict=True)])
        step = -scales[:, None] * self._gradient[which]
        x = self._x[which] + step
        none32, none = np.zeros(x.shape, np.float32), np.zeros(len(which))
        anchor, H = aligned_copy(land.anchor[which]), aligned_copy(land.H[which])
        sums, tally = np.zeros_like(land.new_sums[which]), np.zeros_like(land.new_tally[which])
        room = self._engine.room(*H.shape)
        for first, U in self._engine.embedding.blocks():
            descend(
                U, first, x, none32, none32, self._anchor_x[which], anchor, H, land.h[which], none32[:, :0], none, none,
                np.empty_like(none32), np.empty_like(x), np.empty_like(none32), sums, tally,
                np.zeros((len(which), 3)), room,
            )  # fmt: skip
        self._new_x[which], self._new_velocity[which] = x, step
        land.new_sums[which], land.new_tally[which] = sums, tally
        self._evaluate(runs)
        return self._new_energies[which]

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to."""
        everyone = len(runs) == len(self._x)
        which = slice(None) if everyone else np.array(runs, dtype=np.int64)
        for name in ("x", "velocity", "push"):
            here, there = f"_{name}", f"_new_{name}"
            if everyone:  # no copy: the arrays trade places
                mine, new = getattr(self, here), getattr(self, there)
                setattr(self, here, new)
                setattr(self, there, mine)
            else:
                getattr(self, here)[which] = getattr(self, there)[which]
        self._before[which] = self._gradient[which]
        self.energies[which] = self._new_energies[which]
        self._land.accept(runs)

    def finish(self) -> list[FusedState]:
        """Return the states that were reached, standardised; without a read unless a grid has to be laid anew."""
        R, land = self._engine.embedding.width, self._land

        def settle(m: int) -> FusedState | Vector:
            x = self._x[m].copy()
            table = self._tables[m].standardized(x)
            if not table.covers(x):
                return table.prediction(x)
            return self._engine.state(x, table, land.sums[m, :, :R].copy(), land.tally[m].copy())

        reached = in_order(settle, range(len(self._x)))
        return [each if isinstance(each, FusedState) else self._engine.lay(each) for each in reached]


class FusedEngine:
    """Sums over items through grid tables: O(n R) per gradient, whatever the rank of the predictions' kernel.

    Passes are fastest if neighbouring items have similar predictions.

    Parameters
    ----------
    embedding : Embedding
        The views' factors.
    f : ndarray of shape (n,)
        The initial predictions, in the embedding's order.
    sigma2 : float
        sigma_f^2, the width of the kernel of the predictions.
    rank : int
        Grid points of the predictions' kernel, K.
    """

    def __init__(self, embedding: Embedding, f: Vector, sigma2: float, rank: int = 50) -> None:
        self.embedding, self.sigma2, self.rank = embedding, sigma2, rank
        self.points = grid_points(f, sigma2)
        self._first: tuple[Vector, FusedState] | None = None

    def room(self, runs: int, points: int, width: int) -> Array32:
        """Return memory for `descend` to work in."""
        parts = len(part_bounds(self.embedding.rows_per_block)) - 1
        return aligned((parts, runs, points, width), clear=False)

    def begin(self, f: Vector) -> FusedState:
        """Return the state at the initial predictions; runs that begin at the same ones share it."""
        known = self._first
        if known is None or not np.array_equal(known[0], f):
            known = self._first = (f, self.lay(f))
        return known[1]

    def lay(self, f: Vector) -> FusedState:
        """Return the state at f on a new grid: one read of the embedding."""
        table = Table.covering(f, self.points, self.sigma2, self.rank)
        x, R = table.position(f), self.embedding.width
        sums, tally = np.zeros((1, self.points, R)), np.zeros((1, 3, self.points))
        nothing, none32 = np.zeros((1, len(f))), np.zeros((1, len(f)), np.float32)
        zero = np.zeros(1)
        room = self.room(1, self.points, R)
        H, h = np.zeros((1, self.points, R), np.float32), np.zeros((1, self.points))
        for first, U in self.embedding.blocks():
            descend(
                U, first, x[None], none32, none32, nothing, np.zeros((1, self.points, 0), np.float32),
                H, h, none32[:, :0], zero, zero, none32.copy(), nothing.copy(), none32.copy(), sums, tally,
                np.zeros((1, 3)), room,
            )  # fmt: skip
        return self.state(x, table, sums[0], tally[0])

    def state(self, x: Vector, table: Table, sums: Matrix, tally: Matrix) -> FusedState:
        """Return the state at these positions on a grid, given the sums there."""
        return FusedState(x, table, sums, tally, dependence(table, sums, tally, self.embedding.offsets))

    def descent(
        self, states: list[FusedState], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> FusedDescent:
        """Return the energies of the step that begins at these states, each plus ``extra``."""
        per_column = column_weights(weights, lams, self.embedding.offsets, self.embedding.width)
        return FusedDescent(self, states, per_column, lams, extra)
