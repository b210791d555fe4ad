"""Passes over the items once labels have been learnt from: functions of one block of items."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.blocks.home import Rows, reads_views
from tupi.embedding.anchors import Near
from tupi.methods.auto.fitting import Fused
from tupi.methods.auto.kernels import Features, features_of
from tupi.methods.auto.labelfree import with_one
from tupi.methods.auto.layout import Layout

ENTRIES = 1 << 20  # of kernels that are computed at once
Array = NDArray[np.float64]


@reads_views
def answered(rows: Rows, base: Array, *near: Near, fused: Fused, layout: Layout, variances: bool = True) -> Array:
    """Return g, the mean function and the posterior variance of each item, shape (items, 2c + 1)."""
    return _answered(features_of(rows, base, near[0] if near else None, layout), fused, variances)


def answered_again(rows: Rows, base: Array, views: list[Any], *near: Near, fused: Fused, variances: bool) -> Array:
    """Return the same, given the views as the process sees them."""
    return _answered(Features(with_one(base), near[0] if near else None, views), fused, variances)


def _answered(items: Features, fused: Fused, variances: bool) -> Array:
    size = max(256, ENTRIES // len(fused.labelled.base))
    found = []
    for start in range(0, len(items.base), size):
        some = items[slice(start, start + size)]
        g, variance = fused(some, variances)
        found.append(np.column_stack([g, fused.process.mean(some.base), variance]))
    return np.concatenate(found)


def told(rows: Rows, base: Array, answers: Array) -> Array:
    """Return sums of products of [1, base columns, g, mean function], shape (c, k + 3, k + 3)."""
    full = _told(base, answers)
    return np.einsum("ijk,ijl->jkl", full, full, optimize=True)


def _told(base: Array, answers: Array) -> Array:
    c = base.shape[1]
    return np.concatenate([with_one(base), answers[:, :c, None], answers[:, c:-1, None]], axis=2)


def mixed(rows: Rows, base: Array, answers: Array, *, coefficients: Array) -> Array:
    """Return columns that are made of [1, base columns, g, mean function]."""
    return np.einsum("ck,nck->nc", coefficients, _told(base, answers))


def based_on(rows: Rows, base: Array, *, coefficients: Array) -> Array:
    """Return columns that are made of [1, base columns]."""
    return np.einsum("ck,nck->nc", coefficients, with_one(base))


def deviations(rows: Rows, answers: Array, *, noise: float, unit: float) -> Array:
    """Return the standard deviation of a label of each item."""
    return np.sqrt(answers[:, -1] + noise) * unit


def in_units(rows: Rows, answers: Array, *, scale: float, shift: float) -> Array:
    """Return what the process expects, in the units of the labels."""
    return answers[:, 0] * scale + shift
