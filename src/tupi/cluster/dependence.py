"""Widths of kernels and dependence of items on a cluster, from counts: nobody there has all predictions in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.engines.fused import FusedEngine, FusedState
from tupi.algorithm.engines.landscape import GridTable
from tupi.blocks.home import Home, Kept, Stored
from tupi.embedding.embedding import Embedding
from tupi.embedding.gaussian import CONTENT_LIMIT, DISTANCES, squared_bandwidth
from tupi.embedding.hsic import DEFAULTS, dependence_table
from tupi.embedding.relevance import KernelMoments, p_value
from tupi.inputs.views import BLOCK

STATISTICS = 200_000  # order statistics of the predictions that stand for all of them
BINS = 1 << 17
BEND = 10.0  # up to 1 / BEND deviations bins of predictions are equally wide, beyond they widen with the distance
Array = NDArray[Any]


def prediction_width(home: Home, f: Kept, ends: Array, rule: str | float) -> float:
    """Return sigma_f^2 by a rule of `tupi.embedding.gaussian`, as it is found from sorted predictions in memory."""
    if not isinstance(rule, str):
        return rule
    if home.n <= CONTENT_LIMIT:
        return squared_bandwidth(np.sort(home.joined(f))[:, None], rule)
    low, high = map(float, ends)
    counts = home.summed(histogram, f, low=low, high=high)
    ranks = np.linspace(0, home.n - 1, STATISTICS if rule == "std-squared" else DISTANCES).astype(int)
    return squared_bandwidth(order_statistics(counts, low, high, ranks)[:, None], rule)


def bend(f: Any) -> Any:
    """Return predictions on the scale on which bins are equally wide."""
    return np.arcsinh(BEND * f)


def histogram(rows: None, f: Array, *, low: float, high: float) -> Array:
    """Count standardised predictions between two values in bins."""
    place = (bend(f) - bend(low)) / (bend(high) - bend(low)) * BINS
    return np.bincount(np.clip(place.astype(np.int64), 0, BINS - 1), minlength=BINS)


def order_statistics(counts: Array, low: float, high: float, ranks: Array) -> Array:
    """Return the values at some ranks (from 0) of those that `histogram` counted; exact to the width of a bin."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.interp(ranks + 0.5, ends, np.arange(BINS + 1))
    return np.sinh(bend(low) + places / BINS * (bend(high) - bend(low))) / BEND


def measured(initial: FusedState, final: FusedState | None) -> pd.DataFrame:
    """Return normalised HSIC of each view with the predictions before and after, by the views' kernels of the run.

    The p-value is of all items, times the number of views: a sample of them by content would take a sort of all.
    """
    embedding = initial.embedding
    found = embedding.home.summed(diagonals, embedding.blocks, offsets=embedding.offsets)
    views = [KernelMoments(embedding.n, 1.0, *each) for each in found.T]
    before = _again(embedding, initial)
    after = before if final is None else _again(embedding, final)
    own = moments(before.table, before.tally, embedding.n)
    p_values = [
        min(1.0, len(views) * p_value(float(d), own, view)) for d, view in zip(before.dependence, views, strict=True)
    ]
    return dependence_table(embedding.names, before.dependence, after.dependence, p_values)


def diagonals(rows: None, block: Stored, *, offsets: Array) -> Array:
    """Return, for each view, the trace of the block's kernel and the sum of the squares of its diagonal."""
    result = np.zeros((2, len(offsets) - 1))
    for start in range(0, len(block.rows), BLOCK):
        U = block.rows[start : start + BLOCK] * block.slope + block.offset
        norms = np.add.reduceat(U[:, : offsets[-1]] ** 2, offsets[:-1], axis=1)
        result += norms.sum(axis=0), (norms**2).sum(axis=0)
    return result


def moments(table: GridTable, tally: Array, n: int) -> KernelMoments:
    """Return what a test of independence asks of the predictions' kernel."""
    gram, mean = table.gram(tally)
    norms = np.einsum("gi,gi->g", table.phi - mean, table.phi - mean)
    return KernelMoments(n, float(np.sum(gram**2)), float(np.trace(gram)), float(tally[0] @ norms**2))


def _again(embedding: Embedding, state: FusedState) -> FusedState:
    """Return a state under the width that `tupi.hsic` takes, so that figures of different methods compare."""
    return FusedEngine(embedding, state.table.prediction(state.ends), width_on_grid(state)).at(state)


def width_on_grid(state: FusedState) -> float:
    """Return `tupi.embedding.gaussian.squared_bandwidth` of the predictions by the rule of `tupi.hsic`.

    The rule looks at predictions that are evenly spread in their order; the grid knows where those are.
    """
    counts, n = state.tally[0], state.embedding.n
    ranks = np.linspace(0, n - 1, min(n, DISTANCES)).astype(int)
    # An item between two grid points is shared by both: a point's count lies half a cell to either side of it.
    x = np.interp(ranks + 0.5, np.append(0.0, np.cumsum(counts)), np.arange(len(counts) + 1) - 0.5)
    x[[0, -1]] = state.ends
    return squared_bandwidth(x[:, None], DEFAULTS.bandwidth) / state.table.per_unit**2
