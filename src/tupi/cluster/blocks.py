"""A block of items as a worker keeps it: the embedding of its views in 16 bits per number, and its predictions.

Sixteen bits hold a column of a block to 1/65,534 of its range, which moves the result by about 1e-5 of its deviation
(`tests/scale` and `benchmarks/scale.py` measure it), and halve memory, network and spilled files. The compiled pass
takes the integers as they are: what they have to be multiplied by goes into the tables, which are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.basis import LEADING
from tupi.embedding.embedding import GaussianFeatures, Moments, padded
from tupi.inputs.checks import present_rows
from tupi.inputs.statistics import standardized
from tupi.inputs.views import BLOCK
from tupi.runtime.storage import aligned
from tupi.runtime.threads import one_blas_thread

MOST = 32767  # the largest 16-bit number that is used
MISSING = -32768  # stands for a row that lacks the view until centres are known
BINS = 1 << 17
BEND = 10.0  # up to 1 / BEND deviations bins of predictions are equally wide, beyond they widen with the distance
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ViewMap:
    """From rows of a view as they come in to features."""

    features: GaussianFeatures
    standard: tuple[Array, Array, Array]
    scaling: str

    def __call__(self, X: Array) -> Array:
        """Return the features of some rows."""
        return self.features(standardized(np.array(X, np.float64, order="C"), *self.standard, self.scaling))


@dataclass(frozen=True, eq=False)
class Block:
    """One block of items.

    Attributes
    ----------
    initial : ndarray of shape (rows,)
        Predictions of all its items.
    items : ndarray of shape (items,), int32
        The rows that take part, having at least one view, in the order of their predictions: passes are fastest if
        neighbours have similar ones.
    codes : ndarray of shape (items, R), int16
        The embedding of those, in this order: U = codes * slope + offset.
    slope, offset : ndarray of shape (R,)
        See there.
    moments : list of Moments
        Sums of each view's features.
    """

    initial: Array
    items: Array
    codes: Array
    slope: Array
    offset: Array
    moments: list[Moments]

    def __sizeof__(self) -> int:
        """Return the bytes that it takes, by which Dask decides what to spill."""
        return int(self.initial.nbytes + self.items.nbytes + self.codes.nbytes)

    @property
    def taking_part(self) -> Array:
        """Predictions of the items that take part."""
        return np.asarray(self.initial[self.items])

    def standard(self, unit: float, mean: float, deviation: float) -> Array:
        """Return those predictions standardised."""
        return (self.taking_part / unit - mean) / deviation


def embed(scores: Array, *views: Array, maps: Sequence[ViewMap]) -> Block:
    """Return the block of some rows, not yet centred and normalised."""
    present = [present_rows(X) for X in views]
    covered = np.logical_or.reduce(present)
    items = np.flatnonzero(covered)
    complete = all(here.all() for here in present)
    offsets = np.cumsum([0, *(each.features.width for each in maps)])
    phi = np.zeros((len(items), padded(int(offsets[-1]))), np.float32)
    moments = [Moments(each.features.width) for each in maps]
    with one_blas_thread():
        for start in range(0, len(items), BLOCK):
            chosen = items[start : start + BLOCK]
            for i, (X, here) in enumerate(zip(views, present, strict=True)):
                target = phi[start : start + BLOCK, offsets[i] : offsets[i + 1]]
                if complete:
                    target[:] = features = maps[i](X[start : start + BLOCK])
                else:
                    has = here[chosen]
                    target[:] = np.nan
                    target[has] = features = maps[i](X[chosen[has]])
                moments[i].take(features)
    initial = np.asarray(scores, np.float64).reshape(len(scores))
    order = np.argsort(initial[items], kind="stable")
    return Block(initial, items[order].astype(np.int32), *_coded(phi, order), moments)


def _coded(phi: Array, order: Array) -> tuple[Array, Array, Array]:
    """Return 16-bit codes of columns, rows in some order, the step of a code, and what 0 stands for."""
    low, high = np.full(phi.shape[1], np.inf), np.full(phi.shape[1], -np.inf)
    for start in range(0, len(phi), BLOCK):
        piece = phi[start : start + BLOCK]
        np.fmin(low, np.fmin.reduce(piece, axis=0), out=low)
        np.fmax(high, np.fmax.reduce(piece, axis=0), out=high)
    some = np.isfinite(low)  # otherwise nobody in this block has the view
    middle = np.where(some, 0.5 * (low + high), 0.0).astype(np.float32)
    reach = np.maximum(np.abs(high - middle), np.abs(middle - low))
    step = np.where(some & (reach > 0), reach / MOST, 1.0)
    codes = aligned(phi.shape, np.int16)
    per_unit = (1.0 / step).astype(np.float32)
    for start in range(0, len(phi), BLOCK):
        scaled = phi[order[start : start + BLOCK]] - middle
        scaled *= per_unit
        np.rint(scaled, out=scaled)
        np.nan_to_num(scaled, copy=False, nan=MISSING)
        codes[start : start + BLOCK] = scaled
    return codes, step, middle.astype(np.float64)


def centered(block: Block, center: Array, scale: Array) -> Block:
    """Return the block with U = (features - center) * scale, and 0 for items that lack the view."""
    codes = block.codes
    if block.moments and any(each.count < len(codes) for each in block.moments):
        zero = np.clip(np.rint((center - block.offset) / block.slope), -MOST, MOST).astype(np.int16)
        codes = np.where(codes == MISSING, zero, codes)
    return replace(block, codes=codes, slope=block.slope * scale, offset=(block.offset - center) * scale, moments=[])


def moments_of(block: Block) -> list[Moments]:
    """Return the sums of each view's features."""
    return block.moments


def diagonals(block: Block, offsets: Array) -> Array:
    """Return, for each view, the trace of the block's kernel and the sum of the squares of its diagonal."""
    result = np.zeros((2, len(offsets) - 1))
    for start in range(0, len(block.codes), BLOCK):
        U = block.codes[start : start + BLOCK] * block.slope + block.offset
        norms = np.add.reduceat(U[:, : offsets[-1]] ** 2, offsets[:-1], axis=1)
        result += norms.sum(axis=0), (norms**2).sum(axis=0)
    return result


def content_keys(X: Array, view_standard: tuple[Array, Array, Array], scaling: str) -> Array:
    """Return squared norm and leading values of the rows that are there, by which a sample is drawn."""
    rows = standardized(np.array(X[present_rows(X)], np.float64, order="C"), *view_standard, scaling)
    return np.column_stack([np.einsum("ij,ij->i", rows, rows), rows[:, :LEADING]])


def picked(X: Array, ranks: Array) -> Array:
    """Return some rows, by their number among those that are there."""
    return np.asarray(X[np.flatnonzero(present_rows(X))[ranks]], np.float64)


def standard_scores(block: Block, standard: tuple[float, float, float]) -> Array:
    """Return standardised predictions of the items that take part."""
    return block.standard(*standard)


def bend(f: Any) -> Any:
    """Return predictions on the scale on which bins are equally wide."""
    return np.arcsinh(BEND * f)


def histogram(block: Block, standard: tuple[float, float, float], low: float, high: float) -> Array:
    """Count standardised predictions between two values in bins."""
    place = (bend(block.standard(*standard)) - bend(low)) / (bend(high) - bend(low)) * BINS
    return np.bincount(np.clip(place.astype(np.int64), 0, BINS - 1), minlength=BINS)


def order_statistics(counts: Array, low: float, high: float, ranks: Array) -> Array:
    """Return the values at some ranks (from 0) of those that `histogram` counted; exact to the width of a bin."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    places = np.interp(ranks + 0.5, ends, np.arange(BINS + 1))
    return np.sinh(bend(low) + places / BINS * (bend(high) - bend(low))) / BEND
