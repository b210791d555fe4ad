"""The energies of several runs as functions of sums over the grid, wherever the items are that were summed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.energy import Vector
from tupi.algorithm.engines.table import Table, spread
from tupi.algorithm.engines.tabulate import tabulate
from tupi.algorithm.engines.workspace import Workspace
from tupi.embedding.embedding import padded
from tupi.embedding.hsic import KernelMoments, alignment

Matrix = NDArray[np.float64]


def dependence(table: Table, sums: Matrix, tally: Matrix, offsets: NDArray[np.int64]) -> Vector:
    """Return the normalised HSIC of the predictions with each view, whose columns begin at ``offsets``."""
    return alignment(sums.T @ table.phi, offsets, table.gram(tally)[0])


def moments(table: Table, tally: Matrix, n: int) -> KernelMoments:
    """Return what a test of independence asks of the predictions' kernel."""
    gram, mean = table.gram(tally)
    norms = np.einsum("gi,gi->g", table.phi - mean, table.phi - mean)
    return KernelMoments(n, float(np.sum(gram**2)), float(np.trace(gram)), float(tally[0] @ norms**2))


def column_weights(weights: Sequence[Vector], lams: Sequence[float], offsets: NDArray[np.int64], width: int) -> Matrix:
    """Return lam w_i(t) of each column's view, for each run; columns that fill up have none."""
    widths = np.diff(offsets)
    per_column = np.zeros((len(weights), width))
    for m, (w, lam) in enumerate(zip(weights, lams, strict=True)):
        per_column[m, : widths.sum()] = np.repeat(lam * w, widths)
    return per_column


class Landscape:
    """The energies of one step for several runs, from sums over the grid where each stands and where it tries to go.

    Parameters
    ----------
    tables : list of Table
        Features of the predictions on each run's grid.
    sums : list of ndarray of shape (G, R)
        sum_k hat_g(x_k) U_k where the runs begin.
    tallies : list of ndarray of shape (3, G)
        Sums of hat functions and of their products there.
    per_column : ndarray of shape (runs, R)
        lam w_i(t) of each column's view.
    lams : list of float
        lambda of each run.
    workspace : Workspace
        Where large arrays come from.

    Attributes
    ----------
    anchor : ndarray of shape (runs, G, r), float32
        Centred features of the predictions at f(t), which follow an item's row.
    H, h : ndarray of shape (runs, G, R + r), float32, and (runs, G)
        The tables of the gradient, see `tupi.algorithm.engines.passes.descend`.
    sums, new_sums, tally, new_tally : ndarray
        Sums where the runs stand, and where they try to go, with those of the anchor's columns.
    energies, new_energies : ndarray of shape (runs,)
        The energy there.
    """

    def __init__(
        self,
        tables: list[Table],
        sums: list[Matrix],
        tallies: list[Matrix],
        per_column: Matrix,
        lams: list[float],
        workspace: Workspace,
    ) -> None:
        self.tables, self._lams = tables, np.array(lams, np.float64)
        runs, points, R = len(tables), tables[0].points, sums[0].shape[1]
        most = max(table.phi.shape[1] for table in tables)
        r = padded(most)
        self.anchor = workspace.array("anchor", (runs, points, r))
        self.H = workspace.array("H", (runs, points, R + r))
        self.sums, self.new_sums = (workspace.array(name, self.H.shape, np.float64) for name in ("sums", "new sums"))
        self.h = np.zeros((runs, points))
        self.tally, self.new_tally = np.array(tallies), np.array(tallies)
        self._per_column = np.zeros((runs, R + r))
        self._per_column[:, :R] = per_column
        self._phi, self._exact = np.zeros((runs, points, most)), np.zeros((2, runs, points, most))
        self._transposed = np.zeros((runs, most, points))
        self._slopes = np.zeros((runs, points, most), np.float32)
        for m, table in enumerate(tables):
            gram, mean = table.gram(tallies[m])
            own = table.phi - mean
            k = own.shape[1]
            self._phi[m, :, :k], self._transposed[m, :k], self._slopes[m, :, :k] = table.phi, table.phi.T, table.slopes
            self._exact[0, m, :, :k], self._exact[1, m, :, :k] = table.exact
            self.anchor[m, :, :k], self.anchor[m, :, k:] = own, 0.0
            self.sums[m, :, :R], self.sums[m, :, R + k :] = sums[m], 0.0
            self.sums[m, :, R : R + k] = spread(own, tallies[m])
            self._per_column[m, R:] = 1.0 / np.linalg.norm(gram)
        self.energies: Vector = self._tabulate(range(runs), self.sums, self.tally)
        self.new_energies: Vector = self.energies.copy()

    def evaluate(self, runs: Sequence[int]) -> Vector:
        """Write the tables of the gradient where runs try to go; return their energies there."""
        energies = self._tabulate(runs, self.new_sums, self.new_tally)
        self.new_energies[list(runs)] = energies
        return energies

    def _tabulate(self, runs: Sequence[int], S: Matrix, tally: Matrix) -> Vector:
        which = np.array(runs, np.int64)
        exact_phi, exact_slopes = self._exact
        J = tabulate(
            which, S, tally, self._transposed, self._phi, self._slopes, exact_phi, exact_slopes, self._per_column,
            self.H, self.h,
        )  # fmt: skip
        return 1.0 + self._lams[which] - J

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to; the tables of the others are those where they stand."""
        if len(runs) == len(self.tables):  # no copy: the arrays trade places
            self.sums, self.new_sums = self.new_sums, self.sums
            self.tally, self.new_tally = self.new_tally, self.tally
        else:
            which = np.array(runs, dtype=np.int64)
            self.sums[which], self.tally[which] = self.new_sums[which], self.new_tally[which]
        self.energies[list(runs)] = self.new_energies[list(runs)]
        if others := [m for m in range(len(self.tables)) if m not in runs]:
            self._tabulate(others, self.sums, self.tally)
