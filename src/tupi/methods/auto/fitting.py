"""From labels to what the Gaussian process says of all items, and of labelled ones when their labels are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import entropy

from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.inputs.labels import labelled_items
from tupi.methods.auto.design import Belief, sketches
from tupi.methods.auto.kernels import Kernels, kernels
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.leftout import CHOOSING_LABELS, FEW, judged_apart
from tupi.methods.auto.preferences import fit_preferences, left_out_comparisons
from tupi.methods.auto.process import JITTER, Model, labelled_model, posterior, slope

MAX_LABELS = 2000  # more are thinned out: systems of so many equations still take seconds
MAX_ENTRIES = 1 << 27  # of a kernel between all items and the labelled ones: half a gigabyte
MAX_JUDGED = 500  # comparisons that judge the gain
REVERSAL = 7.0  # log odds by which the labels must say so: whoever reverses a ranking had better be sure
LEAST_SLOPE = 0.25  # of the expected one: what labels that say so with less certainty are allowed
Array = NDArray[np.float64]
Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fused:
    """What the process says.

    Attributes
    ----------
    g : ndarray of shape (n, c)
        Its mean, in deviations of the labels; rows in content order.
    rows : ndarray of int
        The labelled items that were used.
    held_out : ndarray
        For values: predictions of the labelled items, shape (m, c), each without its label.
    differences : ndarray
        For one output: predicted differences within pairs whose labels were both left out; (m, m) for values, (k,) for
        comparisons.
    judged : ndarray of int
        For comparisons: those that ``differences`` belong to.
    belief : Belief
        The process, for uncertainties.
    noise : float
        Variance of the noise of a value; 0 for comparisons, which are of the items themselves.
    twice : ndarray of shape (m, m), optional
        For values and one output: predictions without two labels, see `tupi.methods.auto.leftout.LeftOut`.
    plain_share : float
        Share of the plain process in all predictions, see `tupi.methods.auto.experts`.
    """

    g: Array
    rows: Positions
    held_out: Array
    differences: Array
    judged: Positions
    belief: Belief
    noise: float
    twice: Array | None = None
    plain_share: float = 0.0

    def left_out_deviations(self) -> Array:
        """Return for one output the standard deviation of each value given all others: (K^-1)_ii^-1/2."""
        return np.diag(self.belief.middles[0]) ** -0.5


def most_labels(n: int) -> int:
    """Return how many labelled items are used at most."""
    return min(MAX_LABELS, max(200, MAX_ENTRIES // n))


def fit_values(
    base: LabelFree,
    prepared: Prepared,
    rows: Positions,
    z: Array,
    expected: Array | None = None,
    constant: float = 1.0,
) -> Fused:
    """Fit the process to values.

    Parameters
    ----------
    base : LabelFree
        The problem without labels.
    prepared : Prepared
        The problem.
    rows : ndarray of int
        Labelled items, ascending in content order.
    z : ndarray of shape (m, c)
        Their labels, mean 0 and deviation 1.
    expected : ndarray of shape (n, c), optional
        The mean function; by default the label-free answer with the slope that is expected.
    constant : float
        Prior variance of a shift.
    """
    found = kernels_to(base, prepared, rows)
    mean = expected_by(base.columns[0], rows) if expected is None else expected
    residuals = z - mean[rows]
    columns, shared = found.columns[:, :, rows], found.within()
    c = len(columns)
    # Outputs cost alike and agree on the variances, so each may do with fewer labels.
    some = evenly(len(rows), int(CHOOSING_LABELS / c ** (1 / 3)))
    model = labelled_model(columns, shared, found.prior, constant)
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    if expected is None and (against := _against(base, rows, v[0], after.duals)).any():
        held, held_mean = _held(found, against), np.where(against, LEAST_SLOPE * mean, mean)
        rest = z - held_mean[rows]
        held_model = labelled_model(held.columns[:, :, rows], shared, found.prior, constant)
        v_held = held_model.among(some).most_likely(rest[some])
        odds = held_model.among(some).minus_log_posterior(np.log(v_held), rest[some])[0]
        odds -= model.among(some).minus_log_posterior(np.log(v), residuals[some])[0]
        if len(rows) < FEW or odds < REVERSAL:
            found, mean, v, model = held, held_mean, v_held, held_model
            after = posterior(model, v, rest)
    g = mean + np.column_stack([found.times(v[:-1], after.duals[:, j], j) for j in range(c)])
    g += constant * after.duals.sum(axis=0)
    left_out = judged_apart(model, after, z, mean[rows])
    belief = Belief(base, sketches(base, prepared), found, v[:-1], list(after.inverses), constant)
    nothing = np.empty(0, np.int64)
    return Fused(g, rows, left_out.held_out, left_out.differences, nothing, belief, float(v[-1]), left_out.twice)


def fit_pairs(base: LabelFree, prepared: Prepared, rows: Positions, higher: Positions, lower: Positions) -> Fused:
    """Fit the process to comparisons among the items ``rows``, within which they are numbered."""
    found = kernels_to(base, prepared, rows)
    mean = expected_by(base.columns[0], rows)
    shared = found.within()
    after = fit_preferences(found.columns[0][:, rows], shared, found.prior, mean[rows, 0], higher, lower)
    against = _against(base, rows, after.v[0], after.dual[:, None])
    if against.any() and (len(rows) < FEW or _odds_of_reversal(mean[rows, 0], higher, lower) < REVERSAL):
        found, mean = _held(found, against), LEAST_SLOPE * mean
        after = fit_preferences(found.columns[0][:, rows], shared, found.prior, mean[rows, 0], higher, lower)
    g = mean[:, 0] + found.times(after.v, after.dual, 0)
    K = Model(found.columns[:, :, rows], shared, JITTER * np.eye(len(rows)), found.prior).covariance(after.v, 0)
    judged = evenly(len(higher), MAX_JUDGED)
    differences = left_out_comparisons(after, K, higher, lower, judged)
    belief = Belief(base, sketches(base, prepared), found, after.v, [after.middle], 0.0)
    return Fused(g[:, None], rows, np.empty((0, 1)), differences, judged, belief, 0.0)


def expected_by(columns: Array, rows: Positions) -> Array:
    """Return the mean function of each output: predictions of it with the slope that is expected."""
    return np.column_stack([slope(one[rows]) * (one - one[rows].mean()) for one in columns.T])


def _against(base: LabelFree, rows: Positions, variance: float, duals: Array) -> NDArray[np.bool_]:
    """Return for which outputs the slope of the label-free answer came out too low, or negative."""
    answers = base.columns[0][rows]
    expected = np.array([slope(one) for one in answers.T])
    return expected + variance * np.einsum("ij,ij->j", answers, duals) < LEAST_SLOPE * expected


def _odds_of_reversal(answer: Array, higher: Positions, lower: Positions) -> float:
    """Return the log odds of comparisons that contradict the label-free answer against a coin.

    Comparisons of the same item are not independent, so that they count as at most as many as there are items.
    """
    wrong = np.mean(answer[higher] < answer[lower])
    if wrong <= 0.5:
        return 0.0
    return float(min(len(higher), len(answer)) * (np.log(2) - entropy([wrong, 1 - wrong])))


def _held(found: Kernels, outputs: NDArray[np.bool_]) -> Kernels:
    """Return the kernels without that of the label-free answer, for some outputs: its slope is then fixed."""
    columns = found.columns.copy()
    columns[outputs, 0] = 0.0
    return replace(found, columns=columns)


def kernels_to(base: LabelFree, prepared: Prepared, rows: Positions) -> Kernels:
    """Return the kernels to the labelled items; those to all labels of the problem are computed once.

    Folds that judge a method fit it to some of the labels many times over.
    """
    labels = prepared.problem.labels
    if labels is not None:
        place = np.empty(len(base.order), np.int64)
        place[base.order] = np.arange(len(base.order))
        inside = np.intersect1d(labelled_items(labels), prepared.items)
        everyone = np.sort(place[np.searchsorted(prepared.items, inside)])
        if len(everyone) <= most_labels(len(base.f)) and np.isin(rows, everyone).all():
            whole: Kernels = prepared.once("fused kernels", lambda: kernels(base, everyone, prepared))
            return whole if len(rows) == len(everyone) else whole.chosen(np.searchsorted(everyone, rows))
    return kernels(base, rows, prepared)
