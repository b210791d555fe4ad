"""From labels of any kind to an answer: which of them are used, what is fitted to them, and who judges it.

Three experts may speak. The process (`tupi.methods.auto.process`, or for comparisons `tupi.methods.auto.preferences`)
stands on the label-free answer and the graph. Beside it stands what wins on ordinary tables, where items form no
clusters. The *plain* process has the views' own kernels only, and much is expected of them: y = b0 f + constant + a
linear and a smooth function of the views + noise. Its linear part is ridge regression on [f, H] with a penalty by
marginal likelihood, started from f. Neither graph nor label-free answer has a part in it. The third expert are trees
(`tupi.methods.auto.trees`), which take part with labels enough to grow them.

Left-out labels say how much of each to take (`tupi.methods.auto.guard.mean_shares`); before any label, less of both the
fewer of f's deviations from its neighbours are signal, since there the process with its graph is at home.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from tupi.embedding.relevance import evenly
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Pairs, labelled_items
from tupi.methods.auto import trees
from tupi.methods.auto.answers import Answer, ComparisonAnswer, RankingAnswer, RegressionAnswer, standardised
from tupi.methods.auto.class_answers import CLASS_SHIFT, BinaryAnswer, ClassAnswer, label_free_chances
from tupi.methods.auto.fused import Chances, Fused, Linear, Process, expected
from tupi.methods.auto.guard import mean_shares
from tupi.methods.auto.items import Scale
from tupi.methods.auto.kernels import Features, Kernels, kernels, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.preferences import Answers, fit_preferences, left_out_comparisons
from tupi.methods.auto.process import (
    CHOOSING_LABELS,
    FEW,
    FOLDS,
    JITTER,
    PRIOR_SD,
    LeftOut,
    LogPrior,
    Model,
    judged_apart,
    labelled_model,
    posterior,
    slope,
)

MAX_LABELS = 2000  # more are thinned out: systems of so many equations still take seconds
MAX_ENTRIES = 1 << 27  # of a kernel between all items and the labelled ones: half a gigabyte
MAX_JUDGED = 500  # comparisons that judge the gain
REVERSAL = 7.0  # log odds by which the labels must say so: whoever reverses a ranking had better be sure
LEAST_SLOPE = 0.25  # of the expected one: what labels that say so with less certainty are allowed
LEAST_LABELS = 8  # fewer tell nothing of which expert errs less
LOG_PRIOR_F = -2.0  # log variance of f's slope around the expected one
LOG_PRIOR_LINEAR, LOG_PRIOR_SMOOTH = -1.0, -2.0  # of related views: expected to explain 37 and 14 per cent
UNRELATED = -1.0  # added to both for unrelated ones
MOST_SHARE, LEAST_SHARE = 0.5, 0.05  # expected share of the expert if all of f's deviations are signal, and if none is
LEAST_FOR_TREES = 40  # labels: fewer grow trees that say little
LEAST_OF_TREES = 0.03  # share below which trees are left out
Positions = NDArray[np.int64]
Array = NDArray[np.float64]


def fitted(base: LabelFree, labels: Labels, scale: Scale) -> Answer:
    """Fit the process to labels of any kind."""
    most = most_labels(base.home.n)
    if scale.groups is not None:
        labels = relative_labels(labels, scale.groups)
    if isinstance(labels, Pairs):
        return _from_pairs(base, labels, scale, most)
    place = np.empty(base.home.n, np.int64)
    place[base.order] = np.arange(base.home.n)
    # Thinned out evenly over their values; equal values in the order of the items' content.
    by_value = np.lexsort([place[labels.index], labels.values])
    used = by_value[evenly(len(by_value), most)]
    used = used[np.argsort(place[labels.index[used]])]
    rows, values = labels.index[used], labels.values[used]
    weights = None if labels.weights is None else labels.weights[used]
    labelled = pick_features(base, rows)
    if scale.task == "classification" and len(scale.scale) > 1:
        chances = label_free_chances(base, scale)
        z = (np.eye(len(chances.unit))[values.astype(np.int64)] - chances.frequency) / chances.unit
        fused = fit_values(base, labelled, z, chances, CLASS_SHIFT, weights=weights)
        return ClassAnswer(base, scale, fused, len(values), rows, values.astype(np.int64), chances)
    z = standardised(values, weights)[:, None]
    kinds = {"regression": RegressionAnswer, "ranking": RankingAnswer, "classification": BinaryAnswer}
    kind: Any = kinds[scale.task]
    groups = None if labels.groups is None else np.unique(labels.groups[used], return_inverse=True)[1]
    levels = scale.groups is None or scale.groups.levels
    fused = with_experts(base, fit_values(base, labelled, z, groups=groups, levels=levels, weights=weights), z)
    found: Answer = kind(base, scale, fused, len(values), rows, values)
    return found


def _who(labels: Pairs, order: Positions) -> tuple[NDArray[Any] | None, Positions | None]:
    """Return names and numbers of who compared; what values imply is said by one who is nobody else."""
    if labels.raters is None and labels.implied is None:
        return None, None
    who = np.full(len(order), "") if labels.raters is None else labels.raters[order]
    implied = np.zeros(len(order), bool) if labels.implied is None else labels.implied[order]
    names, numbers = np.unique(who, return_inverse=True)
    return np.append(names, "values") if implied.any() else names, np.where(implied, len(names), numbers)


def _from_pairs(base: LabelFree, labels: Pairs, scale: Scale, most: int) -> Answer:
    place = np.empty(base.home.n, np.int64)
    place[base.order] = np.arange(base.home.n)
    higher, lower = place[labels.higher], place[labels.lower]
    order = np.lexsort([lower, higher])
    if len(labelled_items(labels)) > most:
        order = order[evenly(len(order), most // 2)]
    higher, lower = higher[order], lower[order]
    compared = np.unique(np.concatenate([higher, lower]))
    higher, lower = np.searchsorted(compared, higher), np.searchsorted(compared, lower)
    rows = base.order[compared]
    groups = None if scale.groups is None else np.unique(scale.groups.numbers[rows], return_inverse=True)[1]
    weights = None if labels.weights is None else labels.weights[order]
    names, raters = _who(labels, order)
    answers = Answers.of(higher, lower, weights, raters)
    fused = fit_pairs(base, pick_features(base, rows), answers, groups)
    return ComparisonAnswer(base, scale, fused, len(higher), rows, higher, lower, names)


def most_labels(n: int) -> int:
    """Return how many labelled items are used at most."""
    return min(MAX_LABELS, max(200, MAX_ENTRIES // n))


def fit_values(
    problem: LabelFree,
    labelled: Features,
    z: Array,
    mean: Chances | None = None,
    constant: float = 1.0,
    groups: Positions | None = None,
    levels: bool = True,
    weights: Array | None = None,
) -> Fused:
    """Fit the process to values.

    Parameters
    ----------
    problem : LabelFree
        The problem without labels.
    labelled : Features
        Labelled items.
    z : ndarray of shape (m, c)
        Their labels, mean 0 and deviation 1.
    mean : Chances, optional
        The mean function; by default the label-free answer with the slope that is expected.
    constant : float
        Prior variance of a shift.
    groups : ndarray of shape (m,), optional
        The group of each labelled item, by which labels are left out.
    levels : bool
        Whether the labels of all groups share one shift; otherwise each group has its own.
    weights : ndarray of shape (m,), optional
        As how many answers each label counts.
    """
    found = kernels(problem, labelled)
    columns, shared = found.of_columns(labelled), found.within()
    answers = columns[:, 0].T
    some = evenly(len(z), int(CHOOSING_LABELS / z.shape[1] ** (1 / 3)))  # outputs agree on variances

    def fitted(columns: Array, residuals: Array) -> tuple[Model, Array, Any]:
        model = labelled_model(columns, shared, found.prior, constant, None if levels else groups, weights)
        v = model.among(some).most_likely(residuals[some])
        return model, v, posterior(model, v, residuals)

    function = expected(problem.columns[:, 0], answers) if mean is None else mean
    residuals = z - function(labelled.base)
    model, v, after = fitted(columns, residuals)
    if isinstance(function, Linear) and (against := _against(answers, v[0], after.duals)).any():
        held, held_columns = _held(found, columns, against)
        held_mean = Linear(np.where(against[:, None], LEAST_SLOPE, 1.0) * function.coefficients)
        rest = z - held_mean(labelled.base)
        held_model, v_held, held_after = fitted(held_columns, rest)
        odds = held_model.among(some).minus_log_posterior(np.log(v_held), rest[some])[0]
        odds -= model.among(some).minus_log_posterior(np.log(v), residuals[some])[0]
        if len(z) < FEW or odds < REVERSAL:
            found, columns, function, residuals = held, held_columns, held_mean, rest
            model, v, after = held_model, v_held, held_after
    process = Process(function, found.columns, 0, columns, v[:-1], after.duals, constant if levels else 0.0)
    left_out = judged_apart(model, after, z, z - residuals, groups)
    nothing = np.empty(0, np.int64)
    inverses, noise = list(after.inverses), float(v[-1])
    return Fused(found, process, inverses, noise, left_out, np.empty(0), nothing, groups=groups, weights=weights)


def fit_pairs(problem: LabelFree, labelled: Features, answers: Answers, groups: Positions | None = None) -> Fused:
    """Fit the process to comparisons among the labelled items, within which they are numbered."""
    found = kernels(problem, labelled)
    columns, shared = found.of_columns(labelled), found.within()
    label_free = columns[:, 0].T
    function = expected(problem.columns[:, 0], label_free)
    mean = function(labelled.base)[:, 0]
    after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    against = _against(label_free, after.v[0], after.dual[:, None])
    if against.any() and (len(mean) < FEW or _odds_of_reversal(mean, answers.higher, answers.lower) < REVERSAL):
        found, columns = _held(found, columns, against)
        function, mean = Linear(LEAST_SLOPE * function.coefficients), LEAST_SLOPE * mean
        after = fit_preferences(columns[0], shared, found.prior, mean, answers)
    K = Model(columns, shared, JITTER * np.eye(len(mean)), found.prior).covariance(after.v, 0)
    judged = evenly(len(answers.higher), MAX_JUDGED)
    process = Process(function, found.columns, 0, columns, after.v, after.dual[:, None], 0.0)
    differences = left_out_comparisons(after, K, judged)
    return Fused(
        found,
        process,
        [after.middle],
        0.0,
        LeftOut.nothing(),
        differences,
        judged,
        groups=groups,
        answers=after.answers,
    )


def _against(answers: Array, variance: float, duals: Array) -> NDArray[np.bool_]:
    """Return for which outputs the slope of the label-free answer came out too low, or negative."""
    hoped = np.array([slope(one) for one in answers.T])
    return hoped + variance * np.einsum("ij,ij->j", answers, duals) < LEAST_SLOPE * hoped


def _odds_of_reversal(answer: Array, higher: Positions, lower: Positions) -> float:
    """Return the log odds of comparisons that contradict the label-free answer against a coin.

    Comparisons of the same item are not independent, so that they count as at most as many as there are items.
    """
    wrong = np.mean(answer[higher] < answer[lower])
    if wrong <= 0.5:
        return 0.0
    return float(min(len(higher), len(answer)) * (np.log(2) - entr(wrong) - entr(1 - wrong)))


def _held(found: Kernels, columns: Array, outputs: NDArray[np.bool_]) -> tuple[Kernels, Array]:
    """Return the kernels without that of the label-free answer, for some outputs: its slope is then fixed."""
    made, at_labels = found.columns.copy(), columns.copy()
    made[outputs, 0] = at_labels[outputs, 0] = 0.0
    return replace(found, columns=made), at_labels


def with_experts(problem: LabelFree, fused: Fused, z: Array) -> Fused:
    """Return the process's predictions, all and left-out ones, combined with those of the other experts.

    Parameters
    ----------
    problem : LabelFree
        The problem without labels.
    fused : Fused
        The process fitted to values, one output.
    z : ndarray of shape (m, 1)
        The labels.
    """
    if len(z) < LEAST_LABELS or not fused.labelled.views:
        return fused
    plain, left_out = fit_plain(problem, fused, z)
    judged = [fused.left_out, left_out]
    fused = replace(fused, plain=plain)
    if len(z) >= LEAST_FOR_TREES and fused.weights is None:
        columns = fused.seen_by_trees(fused.labelled)
        # As for the process, a group is judged as one without any label would be.
        dealt = np.arange(len(z)) if fused.groups is None or fused.groups.max() < 2 else fused.groups
        judged.append(of_trees(trees.left_out(columns, z[:, 0], dealt % FOLDS)))
    hoped = LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * problem.share.c
    sure = np.ones(len(z)) if fused.weights is None else np.sqrt(fused.weights)  # by so much an error counts more
    shares = mean_shares(np.array([sure * (z[:, 0] - one.held_out[:, 0]) for one in judged]), hoped)
    if len(judged) > 2 and shares[2] < LEAST_OF_TREES:  # all items would have to meet all trees for next to nothing
        judged.pop()
        shares = mean_shares(np.array([sure * (z[:, 0] - one.held_out[:, 0]) for one in judged]), hoped)
    forest = trees.grow(columns, z[:, 0]) if len(judged) > 2 else None
    return replace(
        fused,
        left_out=combined_left_out(judged, z, hoped, sure),
        plain_share=float(shares[1]),
        forest=forest,
        forest_share=float(shares[2]) if forest else 0.0,
    )


def of_trees(held_out: Array) -> LeftOut:
    """Return predictions of labels by trees that did not see them.

    Trees that say something of one label saw others, and pull what they say towards these: a difference between two
    left-out labels comes out too small, which is on the safe side.
    """
    each = np.repeat(held_out[:, None], len(held_out), axis=1)
    return LeftOut(held_out[:, None], each - each.T, each)


def fit_plain(problem: LabelFree, fused: Fused, z: Array) -> tuple[Process, LeftOut]:
    """Return the plain process, and what it says of labelled items without their labels."""
    labelled, first = fused.labelled, len(fused.kernels.tables)
    prior = [LOG_PRIOR_F]
    for views, less in ((problem.layout.related, 0.0), (problem.layout.rest, UNRELATED)):
        prior.extend([LOG_PRIOR_LINEAR + less, LOG_PRIOR_SMOOTH + less] if views else [])
    columns = problem.unit(problem.only(0))[:, None]
    at_labels = np.einsum("cqk,nck->cqn", columns, labelled.base)
    shared = fused.kernels.within()[first:]
    expected_of = LogPrior(np.array(prior), np.full(len(prior), PRIOR_SD))
    constant = fused.process.constant  # none: each group has its own
    model = labelled_model(
        at_labels, shared, expected_of, groups=None if constant else fused.groups, weights=fused.weights
    )
    mean = expected(columns[:, 0], at_labels[:, 0].T)
    residuals = z - mean(labelled.base)
    some = evenly(len(z), CHOOSING_LABELS)
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    plain = Process(mean, columns, first, at_labels, v[:-1], after.duals, constant)
    return plain, judged_apart(model, after, z, z - residuals, fused.groups)


def combined_left_out(judged: Sequence[LeftOut], z: Array, expected: float, sure: Array | None = None) -> LeftOut:
    """Return left-out predictions of the combination, each by shares that its own label had no part in.

    These are chosen by the other labels, of which no prediction saw this one either; a pair meets the mean of two.
    """
    errors = np.array([(z - one.twice) * (1.0 if sure is None else sure[:, None]) for one in judged])
    for one in errors:
        np.fill_diagonal(one, np.nan)
    shares = mean_shares(errors, expected)
    pairs = 0.5 * (shares[:, :, None] + shares[:, None])
    return LeftOut(
        np.einsum("am,amc->mc", shares, np.array([one.held_out for one in judged])),
        np.einsum("aij,aij->ij", pairs, np.array([one.differences for one in judged])),
        np.einsum("aj,aij->ij", shares, np.array([one.twice for one in judged])),
    )
