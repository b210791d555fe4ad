"""Values, and what they make of many explicit hypotheses at once.

A hypothesis says three things of labels y with mean 0 and deviation 1:

- how well predictions follow them: y = b l + rest, where l is the label-free answer or f itself, and b the slope that a
  correlation of `CORRELATIONS` gives. Where predictions are values in the units of the labels, it is likelier that y is
  l and a rest, with neither a slope nor a height to learn: these would take many labels;
- how much of the rest the views explain (`EXPLAINED`); what remains is noise;
- by what they explain it, a *family* of kernels: averages over few or many alike items, both, both together with the
  views' own columns, or these columns alone, as in ridge regression that starts from f.

Given a hypothesis, labels are normal with a known covariance K, so that all of the following has a closed form: how
likely the labels are, what is expected of any other item, and what would be expected of a labelled one without its
label. What is said of an item is the mean over hypotheses, each of which counts as much as it was expected to and as it
makes the labels likely. Few labels leave many hypotheses standing, and their mean is careful; many labels leave a
few. A strong predictor has a small rest, so that views move it little.

A label that is left out has no part in what its prediction counts: the weight of a hypothesis without label i is its
weight divided by the density of that label given the others, N(y_i; mean, variance), which the inverse of K has too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import logsumexp

from tupi.embedding.relevance import evenly
from tupi.methods.auto.items import slope
from tupi.methods.auto.process import JITTER, LeftOut, without_groups

CORRELATIONS = (0.95, 0.8, 0.5, 0.2)  # of labels with the predictions
# How likely each is before any label, for the label-free answer; for f, all are alike.
OF_ANSWER = (2 / 9, 4 / 9, 2 / 9, 1 / 9)
REVERSED, REVERSAL = (-0.8, -0.5), 7.0  # the same for a predictor the wrong way round, which is e^7 times less likely
FEW = 20  # fewer labels than that cannot say that higher scores mean less
EXPLAINED = (0.15, 0.4, 0.7, 0.9, 0.97, 0.99)  # shares of the rest that views explain
# The same for columns alone. One may be the sum of others, but few labels cannot tell, and are spared the last share.
EXPLAINED_BY_COLUMNS = (0.15, 0.4, 0.7, 0.9, 0.98, 0.9995)
HOW_LIKELY = (0.3, 0.3, 0.2, 0.1, 0.05, 0.05)  # each of these before any label: most views explain some of it
AS_THEY_ARE = 0.8  # how likely it is that predictions in the labels' units need neither a slope nor a height
SLOPE_OF_UNITS, SHIFT_OF_UNITS = 0.02, 0.01  # variances of what they need all the same: a slope, in b squared, a shift
# In deviations of the labels. Predictions with more are surely in other units, and numbers of that size leave rounding.
MOST_OF_UNITS = 1e6
LEAST_REST = 0.02  # of the labels' variance
SLOPE_VARIANCE, LEAST_SLOPE_VARIANCE = 0.05, 0.02  # of b, in b squared and besides: it is not known exactly
# Families, as shares of what they explain: of each kernel of the graph, each column, and each pair of a linear and a
# smooth kernel of related views and of the rest.
ONE_WIDTH, ITS_COLUMNS, BOTH_WIDTHS, OF_VIEWS, OF_REST = 0.25, 0.05, 0.135, 0.018, 0.0025
LINEAR = (1.0, 0.6)  # of what the views' own columns explain, the share of the linear kernel
REST_OF_VIEWS = 0.4  # by so much less is expected of unrelated views than of related ones
LEAST_TRUST = 0.05  # share of their variance that smoothed columns keep where the sign says that nothing is error
LEAST_LABELS = 5  # fewer say nothing of the views' own columns beside averages
MOST_PLAIN, LEAST_PLAIN = 0.5, 0.05  # how likely these are if all of f's deviations are signal, and if none is
MOST_TRIED, HOPELESS = 120, 12.0  # labels that first rule out what is so many times less likely, in log odds
CHOOSING_LABELS, FEWER = 400, 3  # labels that weigh hypotheses at most, and how many of these more labels are told
LEAST_SHARE = 1e-3  # hypotheses below this share of the likeliest are left out
Array = NDArray[np.float64]
Positions = NDArray[np.int64]
Sums = tuple[Array, Array, Array]  # see `_added`


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Some hypotheses, and how much each counts.

    Attributes
    ----------
    slopes : ndarray of shape (h, q)
        Slopes of the columns in the mean function; all but one are 0.
    variances : ndarray of shape (h, q + p)
        Of columns and shared kernels.
    noise : ndarray of shape (h,)
        Of a value.
    logs : ndarray of shape (h,)
        Logarithms of how much each counts; before any label, of how likely it is.
    plain : ndarray of bool, shape (h,)
        Which of them know the views' own columns alone.
    heights, shifts : ndarray of shape (h,), optional
        Of the mean function on average over the labelled items, and the variance by which all labels may be higher.
        In files of earlier versions they are 0 and 1 for all.
    subset, of_subset : ndarray of shape (h,), optional
        Which columns lead, see `tupi.methods.auto.subsets`, and the variance of their kernel; -1 and 0 if none do.
    """

    slopes: Array
    variances: Array
    noise: Array
    logs: Array
    plain: NDArray[np.bool_]
    heights: Array = field(default_factory=lambda: np.empty(0))
    shifts: Array = field(default_factory=lambda: np.empty(0))
    subset: Positions = field(default_factory=lambda: np.empty(0, np.int64))
    of_subset: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        if not len(self.shifts):
            object.__setattr__(self, "heights", np.zeros(len(self.logs)))
            object.__setattr__(self, "shifts", np.ones(len(self.logs)))
        if not len(self.subset):
            object.__setattr__(self, "subset", np.full(len(self.logs), -1))
            object.__setattr__(self, "of_subset", np.zeros(len(self.logs)))

    def __getitem__(self, chosen: Positions) -> Hypotheses:
        """Return some of them."""
        return Hypotheses(*(getattr(self, one.name)[chosen] for one in fields(self)))

    def beside(self, others: Hypotheses) -> Hypotheses:
        """Return these and others."""
        return Hypotheses(
            *(np.concatenate([getattr(one, each.name) for one in (self, others)]) for each in fields(self))
        )

    def less_likely(self, factor: float) -> Hypotheses:
        """Return the same, each of which counts by a factor less."""
        return replace(self, logs=self.logs + np.log(factor))

    @property
    def shares(self) -> Array:
        """How much each counts; they sum to one."""
        return np.asarray(np.exp(self.logs - logsumexp(self.logs)))

    @property
    def evidence(self) -> float:
        """The logarithm of how likely they make the labels, all together."""
        return float(logsumexp(self.logs))

    def of_nothing(self, size: Array) -> Hypotheses:
        """Return those with the same mean functions whose views explain nothing; ``size`` has variances of kernels."""
        along = np.pad(self.slopes != 0, ((0, 0), (0, len(size) - self.slopes.shape[1])))
        unsure = np.where(along, self.variances, 0.0)
        rest = self.noise + (self.variances - unsure) @ size + self.of_subset  # families have no part along that column
        each = np.column_stack([self.slopes, self.heights, self.shifts, rest]).round(9)
        first, which = np.unique(each, axis=0, return_index=True, return_inverse=True)[1:]
        logs = np.array([logsumexp(self.logs[which.ravel() == k]) for k in range(len(first))])
        made = Hypotheses(self.slopes, unsure, rest, self.logs, self.plain, self.heights, self.shifts)[first]
        return replace(made, logs=logs)

    def standing(self, most: int | None = None) -> Positions:
        """Return the positions of the likeliest ones, as far as they count for anything."""
        order = np.argsort(-self.logs, kind="stable")[:most]
        return np.sort(order[self.logs[order] > self.logs.max() + np.log(LEAST_SHARE)])


class AtLabels(NamedTuple):
    """Labelled items and their values.

    Attributes
    ----------
    columns : ndarray of shape (q, m)
        Rank-one kernels: the label-free answer, f through the views, and f itself at the end.
    shared : ndarray of shape (p, m, m)
        The other kernels.
    fixed : ndarray of shape (m, m)
        The covariance of unknown constants.
    sure : ndarray of shape (m,)
        As how many answers each value counts: by so much its noise is less.
    z : ndarray of shape (m,)
        The values, mean 0 and deviation 1.
    subsets : list of ndarray of shape (m, d)
        Columns that may lead.
    """

    columns: Array
    shared: Array
    fixed: Array
    sure: Array
    z: Array
    subsets: Sequence[Array] = ()

    def among(self, some: Positions) -> AtLabels:
        """Return some of the labels."""
        square = np.ix_(some, some)
        shared = self.shared[:, some][:, :, some]
        subsets = [X[some] for X in self.subsets]
        return AtLabels(self.columns[:, some], shared, self.fixed[square], self.sure[some], self.z[some], subsets)

    def mean(self, slopes: Array, height: float = 0.0) -> Array:
        """Return the mean function of a hypothesis."""
        return height + slopes @ (self.columns - self.columns.mean(axis=1, keepdims=True))

    def covariance(self, variances: Array, noise: float, shift: float = 1.0) -> Array:
        """Return the covariance of the values under a hypothesis."""
        q = len(self.columns)
        found = (self.columns.T * variances[:q]) @ self.columns + shift * self.fixed
        if len(self.shared):
            found += (variances[q:] @ self.shared.reshape(len(self.shared), -1)).reshape(found.shape)
        found.flat[:: len(found) + 1] += noise / self.sure + JITTER
        return np.asarray(found)

    def told(self, one: Hypotheses) -> Iterator[tuple[float, Array, Array]]:
        """Yield for each hypothesis how much it counts after the labels, K^-1, and K^-1 times the residuals."""
        each = zip(one.slopes, one.variances, one.noise, one.logs, one.heights, one.shifts, strict=True)
        for number, (slopes, variances, noise, before, height, shift) in enumerate(each):
            K = self.covariance(variances, noise, shift)
            if one.subset[number] >= 0:
                X = self.subsets[one.subset[number]]
                K += one.of_subset[number] * X @ X.T
            factor, wrong = dpotrf(K, lower=True)
            if wrong:
                raise np.linalg.LinAlgError("the covariance of the labels is not positive definite")
            inverse = dpotri(factor, lower=True)[0]
            inverse = inverse + inverse.T  # what is above the diagonal is zero, as `dpotrf` leaves it
            inverse.flat[:: len(inverse) + 1] *= 0.5
            residuals = self.z - self.mean(slopes, height)
            dual = inverse @ residuals
            yield before - 0.5 * residuals @ dual - np.log(np.diag(factor)).sum(), inverse, dual


def expected_of_columns(trust: float) -> float:
    """Return how much the views' own columns are expected to count, given the share of error, see `hypotheses`."""
    return LEAST_PLAIN + (MOST_PLAIN - LEAST_PLAIN) * (1 - trust)


def hypotheses(
    columns: Array,
    trust: float,
    tables: int,
    related: bool,
    rest: bool,
    lines: Sequence[tuple[float, float]] | None = None,
    of_f: Sequence[float] = (1.0,),
) -> Hypotheses:
    """Return all hypotheses before any label.

    Parameters
    ----------
    columns : ndarray of shape (q, m)
        Columns at the labelled items, see `AtLabels`.
    trust : float
        The share of error in what sets f apart from averages over alike items.
    tables : int
        How many kernels of the graph there are: those of few and of many alike items, or none.
    related, rest : bool
        Whether there are related views and others, with two kernels each.
    lines : sequence of tuple, optional
        For values in the units of the predictions: slope and height by which the label-free answer, and f, both with
        mean 0 and deviation 1 over all items, would be the labels themselves.
    of_f : sequence of float
        How likely labels follow f in the form of each of the last columns, which are all f itself.
    """
    q, m = columns.shape
    size = np.array([*np.mean(columns**2, axis=1), *np.ones(tables + 2 * related + 2 * rest)])

    def family(graph: tuple[float, ...], of_columns: float, views: float, others: float, linear: float) -> Array:
        smoothed = [of_columns * (trust + LEAST_TRUST)] * max(q - 2 - len(of_f), 0)
        v = [0.0, of_columns, *smoothed, *[0.0] * len(of_f)][:q]
        v += graph[:tables]
        v += [2 * views * linear, 2 * views * (1 - linear)] * related
        v += [2 * others * linear, 2 * others * (1 - linear)] * rest
        found = np.array(v)
        return found / max(found @ size, 1e-12)

    plain = [family((0.0, 0.0), 0.0, 1.0, REST_OF_VIEWS, linear) for linear in LINEAR]
    narrow = family((ONE_WIDTH, 0.0), ITS_COLUMNS, OF_VIEWS, OF_REST, 0.5)
    wide = family((0.0, ONE_WIDTH), ITS_COLUMNS, OF_VIEWS, OF_REST, 0.5)
    both = family((BOTH_WIDTHS, BOTH_WIDTHS), BOTH_WIDTHS, OF_VIEWS, OF_REST, 0.5)
    among_alike = [narrow, wide, both, 0.5 * both + 0.25 * (plain[0] + plain[1])] if tables else []
    expected = expected_of_columns(trust) * (m >= LEAST_LABELS) if tables else 1.0
    # If all that sets f apart from averages is error, alike items may share any part of what is true beside.
    found, of_averages = [], [(1 - trust) * one + trust / len(HOW_LIKELY) for one in HOW_LIKELY]
    for number, explains in enumerate([*among_alike, *plain]):
        is_plain = number >= len(among_alike)
        likely = expected / len(plain) if is_plain else (1 - expected) / len(among_alike)
        followed = list(enumerate(of_f, q - len(of_f))) if is_plain else [(0, 1.0)]
        shares = (EXPLAINED_BY_COLUMNS, HOW_LIKELY) if is_plain else (EXPLAINED, of_averages)
        explained = list(zip(*shares, strict=True))[: -1 if is_plain and m < FEW else None]
        for column, in_this_form in followed if likely else []:
            means = _means(columns[column], is_plain, None if lines is None else lines[is_plain])
            for mean, (share, expected_share) in product(means if in_this_form else [], explained):
                slopes, v = np.zeros(q), share * mean.rest * explains
                slopes[column] = mean.slope
                v[column] += mean.unsure
                before = np.log(likely * in_this_form * mean.chance * expected_share)
                found.append((slopes, v, (1 - share) * mean.rest, before, is_plain, mean.height, mean.shift))
    return Hypotheses(*map(np.array, zip(*found, strict=True)))


class _MeanFunction(NamedTuple):
    """What a hypothesis expects of labels before it has seen any.

    Its slope for a column and its height at the labelled items on average; the variance of all that is not this line;
    the variances of the slope and of a shift of all labels; how likely it is.
    """

    slope: float
    height: float
    rest: float
    unsure: float
    shift: float
    chance: float


def _means(column: Array, of_f: bool, line: tuple[float, float] | None) -> list[_MeanFunction]:
    """Return mean functions along one column: the label-free answer's, or that of f."""
    chances = [1 / len(CORRELATIONS)] * len(CORRELATIONS) if of_f else OF_ANSWER
    turned = [(rho, np.exp(-REVERSAL) / len(REVERSED)) for rho in REVERSED] if len(column) >= FEW else []
    in_units = 0.0 if line is None else AS_THEY_ARE
    found = []
    for rho, chance in [*zip(CORRELATIONS, chances, strict=True), *turned]:
        b = np.sign(rho) * slope(column, abs(rho))
        rest = max(1 - b**2 * column.var(), LEAST_REST)
        unsure = SLOPE_VARIANCE * b**2 + LEAST_SLOPE_VARIANCE
        found.append(_MeanFunction(b, 0.0, rest, unsure, 1.0, (1 - in_units) * chance))
    b, height = (np.inf, 0.0) if line is None else (line[0], line[1] + line[0] * column.mean())
    if abs(b) <= MOST_OF_UNITS and abs(height) <= MOST_OF_UNITS:
        unsure = SLOPE_OF_UNITS * b**2
        for rho, chance in zip(CORRELATIONS, chances, strict=True):
            found.append(_MeanFunction(b, height, 1 - rho**2, unsure, SHIFT_OF_UNITS, in_units * chance))
    return found


def averaged(
    known: AtLabels, tried: Hypotheses, groups: Positions | None = None
) -> tuple[Hypotheses, Array, LeftOut, float]:
    """Return what labels leave of hypotheses, K^-1 times the residuals under each, and predictions of labels left out.

    Parameters
    ----------
    known : AtLabels
        The labels.
    tried : Hypotheses
        As they are before any label.
    groups : ndarray of shape (m,), optional
        The group of each label. Labels are then left out by whole groups.

    Returns
    -------
    Hypotheses
        Those that count for anything, and how much.
    ndarray of shape (h, m)
        K^-1 times the residuals.
    LeftOut
        Predictions of labels by all hypotheses together. A label that is left out has no part in how much each counts,
        but for more than `CHOOSING_LABELS` labels, none of which says much.
    float
        The evidence of the same mean functions without anything that views explain.
    """
    m = len(known.z)
    weighing = known.among(evenly(m, CHOOSING_LABELS)) if m > CHOOSING_LABELS else known
    size = np.append(np.mean(known.columns**2, axis=1), np.ones(len(known.shared)))
    nothing = float(logsumexp([log for log, _, _ in weighing.told(tried.of_nothing(size))]))
    if m > MOST_TRIED:  # with some of the labels, to save time
        logs = np.array([log for log, _, _ in known.among(evenly(m, MOST_TRIED)).told(tried)])
        tried = tried[np.flatnonzero(logs > logs.max() - HOPELESS)]
    settled = m > CHOOSING_LABELS
    if settled:
        tried = replace(tried, logs=np.array([log for log, _, _ in weighing.told(tried)]))
        tried = tried[tried.standing(FEWER)]
    after: list[float] = []
    duals: list[Array] = []
    one: Sums = (np.array(-np.inf), np.zeros(()), np.zeros(()))
    two = one
    for before, (log, inverse, dual) in zip(tried.logs, known.told(tried), strict=True):
        after.append(before if settled else log)
        duals.append(dual)
        without = _without_two(dual, inverse) if groups is None else without_groups(dual, inverse, groups)
        of_one, of_two = (after[-1] - (0.0 if settled else density) for density in without[1:])
        one = _added(one, np.broadcast_to(of_one, m), known.z - np.diag(without[0]))
        two = _added(two, np.broadcast_to(of_two, (m, m)), known.z[:, None] - without[0])
    held_out, twice = one[2] / one[1], two[2] / two[1]
    np.fill_diagonal(twice, held_out)
    told = replace(tried, logs=np.array(after))
    kept = told.standing()
    return told[kept], np.array(duals)[kept], LeftOut(held_out[:, None], twice - twice.T, twice), nothing


def _added(sums: Sums, log: Array, values: Array) -> Sums:
    """Return sums of weights and of weighted values with one more of each, entry by entry.

    Weights are known by their logarithms, and are counted in units of the largest one so far, whose logarithm comes
    first.
    """
    largest, total, weighted = sums
    most = np.maximum(largest, log)
    before, now = np.exp(largest - most), np.exp(log - most)
    return most, total * before + now, weighted * before + now * values


def _without_two(dual: Array, inverse: Array) -> tuple[Array, Array, Array]:
    """Return errors of predictions without two labels, and log densities of one and of two labels given the others.

    Entry (i, j) of the errors is that of i without the labels of i and j, by the 2 x 2 block of K^-1; entries (i, i)
    are without i alone. Densities lack a constant that all hypotheses share.
    """
    diagonal = np.diag(inverse)
    determinant = np.outer(diagonal, diagonal) - inverse**2
    np.fill_diagonal(determinant, 1.0)
    errors = (diagonal[None, :] * dual[:, None] - inverse * dual[None, :]) / determinant
    np.fill_diagonal(errors, dual / diagonal)
    single = 0.5 * np.log(diagonal) - 0.5 * dual**2 / diagonal
    own = diagonal[:, None] * errors**2
    squares = own + own.T + 2 * inverse * errors * errors.T
    return errors, single, 0.5 * np.log(np.maximum(determinant, 1e-300)) - 0.5 * squares
