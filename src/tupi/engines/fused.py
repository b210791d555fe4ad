"""The fused engine: grid tables and one compiled pass; float32 storage, float64 sums over parts of the items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.dependence import KernelMoments
from tupi.energy import Objective, Vector
from tupi.engines.passes import BLOCK, descend, part_bounds
from tupi.engines.table import Table, grid_points
from tupi.kernels.embedding import Embedding
from tupi.kernels.storage import aligned

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
        gram, mean = self.table.gram(self.tally)
        norms = np.einsum("gi,gi->g", self.table.phi - mean, self.table.phi - mean)
        return KernelMoments(
            len(self.x), float(np.sum(gram**2)), float(np.trace(gram)), float(self.tally[0] @ norms**2)
        )


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
        self._engine, self._lams, self._extra = engine, lams, extra
        self._tables = [state.table for state in states]
        runs, points, R = len(states), states[0].table.points, engine.embedding.width
        self._x = np.array([state.x for state in states])
        self._anchor_x = self._x.copy()
        self._velocity, self._before = (np.zeros(self._x.shape, np.float32) for _ in range(2))
        self._gradient, self._new_velocity = (np.empty(self._x.shape, np.float32) for _ in range(2))
        self._new_x = np.empty_like(self._x)
        r = max(table.phi.shape[1] for table in self._tables)
        self._anchor = aligned((runs, points, r))
        self._H, self._h = aligned((runs, points, R + r)), np.zeros((runs, points))
        self._sums, self._new_sums = (np.zeros((runs, points, R + r)) for _ in range(2))
        self._tally, self._new_tally = np.array([state.tally for state in states]), np.zeros((runs, 3, points))
        self._per_column = np.zeros((runs, R + r))
        self._per_column[:, :R] = per_column
        for m, (state, table) in enumerate(zip(states, self._tables, strict=True)):
            gram, mean = table.gram(state.tally)
            own = table.phi - mean
            self._anchor[m, :, : own.shape[1]] = own
            self._sums[m, :, :R] = state.sums
            self._sums[m, :, R : R + own.shape[1]] = table.spread(own, state.tally)
            self._per_column[m, R:] = 1.0 / np.linalg.norm(gram)
        self._room = engine.room(runs, points, R + r)
        self._room_for_one = self._room if runs == 1 else engine.room(1, points, R + r)
        # The gradient of what is added, where the runs stand and where they try to go.
        self._push, self._new_push = (
            np.zeros((runs, 0 if extra is None else self._x.shape[1]), np.float32) for _ in range(2)
        )
        self._new_x[:], self._new_sums[:], self._new_tally[:] = self._x, self._sums, self._tally
        self.energies: Vector = np.array([self._evaluate(m) for m in range(runs)])
        self._push[:] = self._new_push
        self._new_energies = self.energies.copy()

    def _evaluate(self, m: int) -> float:
        """Return the energy where a run tries to go, and prepare its gradient there."""
        energy = self._tabulate(m, self._new_sums[m], self._new_tally[m])
        if self._extra is None:
            return energy
        more, self._new_push[m] = self._extra(self._tables[m].prediction(self._new_x[m]))
        return energy + more

    def _tabulate(self, m: int, S: Matrix, tally: Matrix) -> float:
        """Write the tables of the gradient where these sums were taken; return the energy there."""
        table = self._tables[m]
        gram, mean = table.gram(tally)
        N = np.linalg.norm(gram)
        products = S.T @ table.phi
        weighted = self._per_column[m][:, None] * products
        J = np.sum(weighted * products) / N
        self._H[m] = (table.slopes * (-2.0 / N)) @ weighted.T
        self._h[m] = table.quadratic_slope(mean, gram * (2.0 * J / N**2))
        return float(1.0 + self._lams[m] - J)

    def _pass(self, runs: slice, x: Matrix, lengths: Vector, momenta: Vector, keep: bool = True) -> Matrix:
        """Go over the items; leave new positions, sums and tallies; return the products."""
        self._new_sums[runs], self._new_tally[runs] = 0.0, 0.0
        products = np.zeros((len(x), 3))
        gradient = self._gradient if keep else np.empty_like(self._gradient)
        velocity = self._new_velocity if keep else np.empty_like(self._new_velocity)
        push = self._push[runs] if keep else self._push[runs, :0]
        for first, U in self._engine.embedding.blocks():
            descend(
                U, first, x, self._velocity[runs], self._before[runs], self._anchor_x[runs], self._anchor[runs],
                self._H[runs], self._h[runs], push, lengths, momenta, gradient[runs], self._new_x[runs], velocity[runs],
                self._new_sums[runs], self._new_tally[runs], products, *(self._room if keep else self._room_for_one),
            )  # fmt: skip
        return products

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient, in one read of the embedding."""
        per_unit = np.array([table.per_unit for table in self._tables])
        products = self._pass(slice(None), self._x, lengths * per_unit, momenta)
        products[:, 1] /= per_unit
        for m in range(len(self._tables)):
            self._new_energies[m] = self._evaluate(m)
        return self._new_energies.copy(), products

    def shorten(self, run: int, length: float) -> float:
        """Try another length from the same point without momentum."""
        only = slice(run, run + 1)
        step = -length * self._tables[run].per_unit * self._gradient[run].astype(np.float64)
        self._new_velocity[run] = step
        self._pass(only, (self._x[run] + step)[None], np.zeros(1), np.zeros(1), keep=False)
        self._new_energies[run] = self._evaluate(run)
        return float(self._new_energies[run])

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to."""
        everyone = len(runs) == len(self._x)
        which = slice(None) if everyone else np.array(runs, dtype=np.int64)
        for name in ("x", "velocity", "sums", "tally", "push"):
            here, there = f"_{name}", f"_new_{name}"
            if everyone:  # no copy: the arrays trade places
                mine, new = getattr(self, here), getattr(self, there)
                setattr(self, here, new)
                setattr(self, there, mine)
            else:
                getattr(self, here)[which] = getattr(self, there)[which]
        self._before[which] = self._gradient[which]
        self.energies[which] = self._new_energies[which]
        for m in set(range(len(self._x))) - set(runs):
            self._tabulate(m, self._sums[m], self._tally[m])

    def finish(self) -> list[FusedState]:
        """Return the states that were reached, standardised; without a read unless a grid has to be laid anew."""
        R = self._engine.embedding.width
        return [
            self._engine.settle(x.copy(), table.standardized(x), sums[:, :R].copy(), tally.copy())
            for x, table, sums, tally in zip(self._x, self._tables, self._sums, self._tally, strict=True)
        ]


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

    def room(self, runs: int, points: int, width: int) -> tuple[Array32, Array32]:
        """Return memory for `descend` to work in."""
        parts = len(part_bounds(self.embedding.rows_per_block)) - 1
        return aligned((parts, runs, points, width), clear=False), aligned((parts, BLOCK, width))

    def begin(self, f: Vector) -> FusedState:
        """Return the state at the initial predictions."""
        return self._laid(f)

    def _laid(self, f: Vector) -> FusedState:
        """Return the state at f on a new grid: one read of the embedding."""
        table = Table.covering(f, self.points, self.sigma2, self.rank)
        x, R = table.position(f), self.embedding.width
        sums, tally = np.zeros((1, self.points, R)), np.zeros((1, 3, self.points))
        nothing, none32 = np.zeros((1, len(f))), np.zeros((1, len(f)), np.float32)
        zero = np.zeros(1)
        partial, work = self.room(1, self.points, R)
        H, h = np.zeros((1, self.points, R), np.float32), np.zeros((1, self.points))
        for first, U in self.embedding.blocks():
            descend(
                U, first, x[None], none32, none32, nothing, np.zeros((1, self.points, 0), np.float32),
                H, h, none32[:, :0], zero, zero, none32.copy(), nothing.copy(), none32.copy(), sums, tally,
                np.zeros((1, 3)), partial, work,
            )  # fmt: skip
        return FusedState(x, table, sums[0], tally[0], self._dependence(table, sums[0], tally[0]))

    def settle(self, x: Vector, table: Table, sums: Matrix, tally: Matrix) -> FusedState:
        """Return the state at these positions, on a new grid if they have come too close to its ends."""
        if not table.covers(x):
            return self._laid(table.prediction(x))
        return FusedState(x, table, sums, tally, self._dependence(table, sums, tally))

    def _dependence(self, table: Table, sums: Matrix, tally: Matrix) -> Vector:
        products = sums.T @ table.phi
        per_view = np.add.reduceat(np.einsum("ij,ij->i", products, products), self.embedding.offsets[:-1])
        return per_view / np.linalg.norm(table.gram(tally)[0])

    def descent(
        self, states: list[FusedState], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> FusedDescent:
        """Return the energies of the step that begins at these states, each plus ``extra``."""
        widths = np.diff(self.embedding.offsets)
        per_column = np.zeros((len(states), self.embedding.width))
        for m, (w, lam) in enumerate(zip(weights, lams, strict=True)):
            per_column[m, : widths.sum()] = np.repeat(lam * w, widths)
        return FusedDescent(self, states, per_column, lams, extra)
