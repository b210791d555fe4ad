"""How far predictions may move without labels: what several views together take for error in them.

Along T the gains of Algorithm 1 rise and then fall below zero: the iteration must end before it converges. Labels say
when; without them the views do. `tupi.methods.auto.signal` estimates which share nu of the variance of f is error, from
how much more of f the views explain the more of them are looked at. Were f the truth plus an error of that share, then
the truth would lie where 1 - corr(f^I, f)^2 = nu. Steps go half of that way, since nu is an estimate, and to go too far
costs more than to stop early.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.joint_graph import side_by_side
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.methods.auto.signal import POOL, signal_share

SHARE = 0.5  # of the error, that is taken back
FARTHEST = 30  # steps
NEIGHBORS = 10  # by which views explain predictions


def reach_of(prepared: Prepared) -> float:
    """Return how far predictions may move, as `moved` measures it."""
    rows = evenly(len(prepared.items), POOL)
    points = side_by_side(prepared.problem.views, prepared.items[rows])
    views = [points.columns[:, start:stop] for start, stop in itertools.pairwise(points.offsets)]
    found = signal_share(prepared.f[rows], views, NEIGHBORS, 0.0)
    return 0.0 if np.isnan(found.explained) else SHARE * (1.0 - found.c) * (1.0 - found.explained)


def moved(initial: NDArray[np.float64], f: NDArray[np.float64]) -> float:
    """Return 1 - corr^2 between columns, on average over those that vary; both are standardised."""
    varying = initial.any(axis=0)
    correlations = np.einsum("ij,ij->j", initial[:, varying], f[:, varying]) / len(f)
    return float(np.mean(1.0 - correlations**2)) if varying.any() else 0.0


def why_so_far(reach: float) -> str:
    """Return the sentence that says what ended the steps."""
    if reach <= 0.0:
        return "The views give no reason to take any part of the predictions for error."
    return f"Without labels the predictions move by at most {reach:.1%} of their variance, half of their likely error."
