"""How far predictions may move without labels: what several views together take for error in them.

Along T the gains of Algorithm 1 rise and then fall below zero: the iteration must end before it converges. Labels say
when; without them the views do. `tupi.methods.auto.signal` estimates which share nu of the variance of f is error, from
how much more of f the views explain the more of them are looked at. Were f the truth plus an error of that share, then
the truth would lie where 1 - corr(f^I, f)^2 = nu. Steps go that far where the sign is clear: the views explain f nearly
as well as one another, and much of what they do not explain looks like error. Elsewhere they go a tenth of the way,
since nu is an estimate, and to go too far costs more than to stop early.

With one kernel per view, steps pull towards what single views say. Where these explain f nearly as well as all views
together, as feature sets of pictures do, they lead all the way; where each alone says little, as another attribute's
scores do, only the part of the way that they see: the mean of what they explain over what all explain together.

Of rankings only the order counts. Their scores may have outliers, items at twenty deviations from all others, by which
variances and correlations are then set; ranks have none, and take the place of scores in all that is said above.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.joint_graph import side_by_side
from tupi.embedding.prepared import Prepared, standardize
from tupi.embedding.relevance import evenly, normal_quantiles
from tupi.methods.auto.signal import POOL, explained, signal_share

DOUBTFUL_SHARE = 0.1  # of the error that is taken back where the sign is not clear
FARTHEST = 40  # steps
NEIGHBORS = 10  # by which views explain predictions
Array = NDArray[np.float64]


def compared(prepared: Prepared, f: Array) -> Array:
    """Return columns as they are compared: for rankings normal scores, standardised; else themselves."""
    return standardize(normal_quantiles(f))[0] if prepared.problem.task == "ranking" else f


def reach_of(prepared: Prepared, joint: bool = False) -> float:
    """Return how far predictions may move, as `moved` measures it; ``joint`` says whether views form one kernel."""
    rows = evenly(len(prepared.items), POOL)
    points = side_by_side(prepared.problem.views, prepared.items[rows])
    views = [points.columns[:, start:stop] for start, stop in itertools.pairwise(points.offsets)]
    f = compared(prepared, prepared.f[rows])
    found = signal_share(f, views, NEIGHBORS, 0.0)
    if not found.explained > 0:  # nothing is, or there was nothing to compare
        return 0.0
    share = 1.0 if found.credible else DOUBTFUL_SHARE
    if not joint:
        alone = [float(np.mean(explained(f, view, NEIGHBORS))) for view in views]
        share *= min(1.0, float(np.mean(alone)) / found.explained)
    return share * (1.0 - found.kept) * (1.0 - found.explained)


def moved(initial: Array, f: Array) -> float:
    """Return 1 - corr^2 between columns, on average over those that vary; both are standardised."""
    varying = initial.any(axis=0)
    correlations = np.einsum("ij,ij->j", initial[:, varying], f[:, varying]) / len(f)
    return float(np.mean(1.0 - correlations**2)) if varying.any() else 0.0


def why_so_far(reach: float) -> str:
    """Return the sentence that says what ended the steps."""
    if reach <= 0.0:
        return "The views give no reason to take any part of the predictions for error."
    return f"Without labels the predictions move by at most {reach:.1%} of their variance, which views take for error."
