"""How far predictions may move without labels: what several views together take for error in them.

Along T the gains of Algorithm 1 rise and then fall below zero: the iteration must end before it converges. Labels say
when; without them the views do. `tupi.methods.auto.signal` estimates which share nu of the variance of f is error, from
how much more of f the views explain the more of them are looked at. Were f the truth plus an error of that share, then
the truth would lie where 1 - corr(f^I, f)^2 = nu. This distance, which `moved` measures, is where steps end, with four
changes that were found on the seeds that `tupi.research.experiments.unlabelled` names:

- With one kernel per view, steps pull towards what single views say. Where these explain f nearly as well as all views
  together, as feature sets of pictures do, the path leads past nu before it turns away from the truth, and steps go 1.5
  times as far. Where each alone says little, as another attribute's scores do, they go less far: by the square of what
  single views explain on average, as a share of 0.8 times what all explain together.
- Three views and more that explain at least half of f may always move it by a hundredth of its variance. The estimate
  of nu is no finer than that, and so short a way costs little where it leads astray.
- Of one view or two, columns take the place of views. They were made together, and the law that nu rests on holds less
  well: nu is up to 0.02 where nothing is error. Steps go as far as nu is above that.
- Where views explain one another much better than they explain f, they may tell of something else. Steps then go a
  tenth of the way.

lam and T follow from the distance: steps are small (lam = 0.1), and larger (lam = 0.3) where the way is long. A path
under one lam is nearly that under another with lam * T in place of T, and lam * T is at most 7.5.

Of rankings only the order counts. Their scores may have outliers, items at twenty deviations from all others, by which
variances and correlations are then set; ranks have none, and take the place of scores in all that is said above.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.joint_graph import side_by_side
from tupi.embedding.prepared import Prepared, standardize
from tupi.embedding.relevance import evenly, normal_quantiles
from tupi.methods.auto.signal import POOL, Columns, explained, signal_share, tells_of

SHORT_LAM, LONG_LAM = 0.1, 0.3
LONG_WAY = 0.1  # of the variance: from here on steps are larger
FARTHEST = 7.5  # lam times T
MOST_STEPS = 75
DOUBTFUL_SHARE = 0.1  # of the error that is taken back where views may tell of something else
PAST = 1.5  # times nu, where single views explain nearly as much as all of them
NEARLY = 0.8  # of what all views explain
LEAST_WAY, LEAST_EXPLAINED = 0.01, 0.5  # of the variance
FAINT = 0.02  # nu of columns where nothing is error
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
    if not found.explained > 0 or found.coarse:  # nothing is, there was nothing to compare, or nobody can tell
        return 0.0
    error = (1.0 - found.kept) * (1.0 - found.explained)
    if not (found.credible or tells_of(f, views, NEIGHBORS, found.explained)):
        return DOUBTFUL_SHARE * error
    if len(views) < 3:
        return max(0.0, error - FAINT)
    way = error if joint else error * _seen_alone(f, views, found.explained)
    return max(way, LEAST_WAY) if found.explained >= LEAST_EXPLAINED else way


def _seen_alone(f: Array, views: Sequence[Columns], together: float) -> float:
    """Return how many times the error steps go with one kernel per view, given what all views explain together."""
    alone = float(np.mean([np.mean(explained(f, view, NEIGHBORS)) for view in views]))
    return PAST * min(1.0, alone / (NEARLY * together)) ** 2


def lam_of(reach: float) -> float:
    """Return lam by which steps go so far."""
    return LONG_LAM if reach > LONG_WAY else SHORT_LAM


def most_steps(lam: float) -> int:
    """Return T at the most."""
    return int(np.clip(round(FARTHEST / lam), 1, MOST_STEPS))


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
