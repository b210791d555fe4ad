"""The fused engine: grid tables and one compiled pass; float32 storage, float64 sums over parts of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.energy import Objective, Vector
from tupi.algorithm.engines.landscape import Landscape, column_weights, dependence
from tupi.algorithm.engines.passes import descend, part_bounds
from tupi.algorithm.engines.table import Table, features_on_grids, grid_points
from tupi.algorithm.engines.workspace import Workspace
from tupi.embedding.embedding import Embedding
from tupi.runtime.storage import aligned, aligned_copy

Matrix = NDArray[np.float64]


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
    workspace : Workspace
        Where large arrays come from; the engine's again when this has finished.
    """

    def __init__(
        self,
        engine: FusedEngine,
        states: list[FusedState],
        per_column: Matrix,
        lams: list[float],
        extra: Objective | None,
        workspace: Workspace,
    ) -> None:
        self._engine, self._extra, self._workspace = engine, extra, workspace
        self._tables = [state.table for state in states]
        self._land = Landscape(
            self._tables,
            [state.sums for state in states],
            [state.tally for state in states],
            per_column,
            lams,
            workspace,
        )
        runs, shape = len(states), (len(states), len(states[0].x))
        self._x, self._anchor_x, self._new_x = (
            workspace.array(name, shape, np.float64) for name in ("x", "anchor x", "new x")
        )
        self._velocity, self._new_velocity, self._before, self._gradient = (
            workspace.array(name, shape) for name in ("velocity", "new velocity", "before", "gradient")
        )
        np.stack([state.x for state in states], out=self._x)
        self._anchor_x[:], self._velocity[:], self._before[:] = self._x, 0.0, 0.0
        self._room = workspace.array("room", engine.room(*self._land.H.shape))
        # The gradient of what is added, where the runs stand and where they try to go.
        self._push, self._new_push = (
            np.zeros((runs, 0 if extra is None else self._x.shape[1]), np.float32) for _ in range(2)
        )
        self.energies: Vector = self._land.energies + self._added(range(runs), self._x)
        self._push[:] = self._new_push
        self._new_energies = self.energies.copy()

    def _added(self, runs: Sequence[int], x: Matrix) -> Vector:
        """Return what is added to the energies of these runs at x, and prepare its gradient there."""
        more = np.zeros(len(runs))
        if self._extra is not None:
            for i, m in enumerate(runs):
                more[i], self._new_push[m] = self._extra(self._tables[m].prediction(x[m]))
        return more

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient, in one read of the embedding."""
        land = self._land
        per_unit = np.array([table.per_unit for table in self._tables])
        products = np.empty((len(per_unit), 3))
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
        self._new_energies[list(runs)] = self._land.evaluate(runs) + self._added(runs, self._new_x)

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum, in one read of the embedding."""
        which, land = np.array(runs), self._land
        scales = np.array([length * self._tables[m].per_unit for m, length in zip(runs, lengths, strict=True)])
        step = -scales[:, None] * self._gradient[which]
        x = self._x[which] + step
        none32, none = np.zeros(x.shape, np.float32), np.zeros(len(which))
        anchor, H = aligned_copy(land.anchor[which]), aligned_copy(land.H[which])
        sums, tally = np.empty_like(land.new_sums[which]), np.empty_like(land.new_tally[which])
        room = aligned(self._engine.room(*H.shape), clear=False)
        for first, U in self._engine.embedding.blocks():
            descend(
                U, first, x, none32, none32, self._anchor_x[which], anchor, H, land.h[which], none32[:, :0], none, none,
                np.empty_like(none32), np.empty_like(x), np.empty_like(none32), sums, tally,
                np.empty((len(which), 3)), room,
            )  # fmt: skip
        self._new_x[which], self._new_velocity[which] = x, step
        land.new_sums[which], land.new_tally[which] = sums, tally
        self._evaluate(runs)
        return self._new_energies[which]

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to."""
        everyone = len(runs) == len(self._x)
        which = slice(None) if everyone else np.array(runs, dtype=np.int64)
        for here, there in (
            ("_x", "_new_x"),
            ("_velocity", "_new_velocity"),
            ("_push", "_new_push"),
            ("_before", "_gradient"),
        ):
            if everyone:  # no copy: the arrays trade places
                mine, new = getattr(self, here), getattr(self, there)
                setattr(self, here, new)
                setattr(self, there, mine)
            else:
                getattr(self, here)[which] = getattr(self, there)[which]
        self.energies[which] = self._new_energies[which]
        self._land.accept(runs)

    def finish(self) -> list[FusedState]:
        """Return the states that were reached, standardised; without a read unless a grid has to be laid anew."""
        R, land, engine, first = self._engine.embedding.width, self._land, self._engine, self._tables[0]

        def settle(m: int) -> FusedState:
            x = self._x[m].copy()
            table = self._tables[m].standardized(centers[m], scales[m], features[m])
            if not table.covers(x):
                return engine.lay(table.prediction(x))
            return engine.state(x, table, land.sums[m, :, :R].copy(), land.tally[m].copy())

        centers, scales = self._x.mean(axis=1), np.array([x.std() for x in self._x])
        features = features_on_grids(scales, first.points, first.sigma2, first.rank)
        states = [settle(m) for m in range(len(self._x))]
        self._engine.take_back(self._workspace)
        return states


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
        self.points = grid_points(f, sigma2, len(f))
        self._first: tuple[Vector, FusedState] | None = None
        self._spare: list[Workspace] = []  # at most one; whoever takes it has it alone

    def room(self, runs: int, points: int, width: int) -> tuple[int, int, int, int]:
        """Return the shape of what `descend` works in."""
        return len(part_bounds(self.embedding.rows_per_block)) - 1, runs, points, width

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
        sums, tally = np.empty((1, self.points, R)), np.empty((1, 3, self.points))
        nothing, none32 = np.zeros((1, len(f))), np.zeros((1, len(f)), np.float32)
        zero = np.zeros(1)
        room = aligned(self.room(1, self.points, R), clear=False)
        H, h = np.zeros((1, self.points, R), np.float32), np.zeros((1, self.points))
        for first, U in self.embedding.blocks():
            descend(
                U, first, x[None], none32, none32, nothing, np.zeros((1, self.points, 0), np.float32),
                H, h, none32[:, :0], zero, zero, none32.copy(), nothing.copy(), none32.copy(), sums, tally,
                np.empty((1, 3)), room,
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
        workspace = self._spare.pop() if self._spare else Workspace()
        return FusedDescent(self, states, per_column, lams, extra, workspace)

    def take_back(self, workspace: Workspace) -> None:
        """Keep the memory of a descent that has finished for the next."""
        self._spare = [workspace]
