"""From labels of any kind to an answer: which of them are used, what is fitted to them, and who judges it.

Values are learned under many hypotheses at once (`tupi.methods.auto.hypotheses`), some of which stand on averages over
alike items and some on the views' own columns alone, which is what wins on ordinary tables. Classes and comparisons are
learned by one process each (`tupi.methods.auto.process`, `tupi.methods.auto.preferences`). If labels are many, trees
are mixed in for values and classes (`tupi.methods.auto.mixing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from tupi.embedding.relevance import evenly, normal_quantiles
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Pairs, labelled_items
from tupi.methods.auto.answers import Answer, ComparisonAnswer, RankingAnswer, RegressionAnswer
from tupi.methods.auto.class_answers import (
    CLASS_SHIFT,
    BinaryAnswer,
    ClassAnswer,
    label_free_chances,
)
from tupi.methods.auto.fused import Average, Chances, Fused, Limits, Linear, Process, expected, line_of
from tupi.methods.auto.guard import mean_shares
from tupi.methods.auto.hypotheses import (
    FEW,
    REVERSAL,
    AtLabels,
    Hypotheses,
    averaged,
    expected_of_columns,
    hypotheses,
)
from tupi.methods.auto.items import Scale
from tupi.methods.auto.kernels import Features, Kernels, kernels, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.mixing import combined_left_out, with_class_trees, with_trees
from tupi.methods.auto.preferences import Answers, fit_preferences, left_out_comparisons
from tupi.methods.auto.process import (
    CHOOSING_LABELS,
    JITTER,
    LeftOut,
    PriorProcess,
    judged_apart,
    labelled_model,
    posterior,
    slope,
    standardised,
    units_of,
)
from tupi.methods.auto.subsets import subsets_of, with_subsets
from tupi.methods.auto.surer import spread_of

MAX_LABELS = 2000  # more are thinned out: systems of so many equations still take seconds
MAX_ENTRIES = 1 << 27  # of a kernel between all items and the labelled ones: half a gigabyte
MAX_JUDGED = 500  # comparisons that judge the gain
LEAST_SLOPE = 0.25  # of the expected one: what labels that say so with less certainty are allowed
LEAST_FOR_SCALES = 5  # labels that tell of a scale
USUAL = 1.1  # times the deviation that is expected of the greatest
PREFERRED = 1.0  # log odds of values as they are
NARROWEST = 0.1  # deviations by which densities of values are estimated, at least
BEYOND = 0.25  # of the labels' range, by which values may be beyond it that neither labels nor predictions have
LEAST_NOISE = 0.005  # of the labels' variance, for how sure predictions are: kernels are never quite right
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
        fused = with_class_trees(fit_classes(base, labelled, z, chances, weights), values.astype(np.int64), chances)
        return ClassAnswer(base, scale, fused, len(values), rows, values.astype(np.int64), chances)
    groups = None if labels.groups is None else np.unique(labels.groups[used], return_inverse=True)[1]
    levels = scale.groups is None or scale.groups.levels
    best: tuple[float, Array, Fused] | None = None
    found = kernels(base, labelled, with_f=True)
    lines = None
    if scale.task == "regression":
        level, deviation = units_of(values, weights)
        spreads = (spread_of(one, base, scale) for one in (base.answer, base.only(0)))
        lines = [(spread / deviation, (mean - level) / deviation) for mean, spread in spreads]
    for z, stretched in scales_of(values, weights)[: None if scale.task == "ranking" else 1]:
        fused = fit_values(base, labelled, z, groups, levels, weights, found, lines)
        assert fused.average is not None
        likely = fused.average.hypotheses.evidence + stretched
        if best is None or likely > best[0]:
            best = likely, z, fused
    assert best is not None
    fused = with_trees(best[2], best[1])
    if lines is not None:
        fused = replace(fused, limits=limits_of(base, best[1], lines[1]))
    if scale.task == "ranking":
        return RankingAnswer(base, scale, fused, len(values), rows, values, best[1])
    kind: Any = RegressionAnswer if scale.task == "regression" else BinaryAnswer
    answer: Answer = kind(base, scale, fused, len(values), rows, values)
    return answer


def limits_of(base: LabelFree, z: Array, line: tuple[float, float]) -> Limits:
    """Return how far from labels and from the initial predictions anything is said to be.

    ``line`` has slope and height by which f, with mean 0 and deviation 1, would be the labels z.
    """
    own = line[0] * base.unit(base.only(0))
    own[:, 0] += line[1]
    beyond = BEYOND * (z.max() - z.min())
    return Limits(float(z.min() - beyond), float(z.max() + beyond), own)


def scales_of(values: Array, weights: Array | None = None) -> list[tuple[Array, float]]:
    """Return scales on which a ranking may learn values, mean 0 and deviation 1, and the log of how they stretch them.

    Only the order counts in the end. Among prices, a few that are many times the others would be nearly all that a
    process sees. So where the greatest deviation exceeds what a normal distribution has, the sum of values and of their
    normal scores is a second scale. Values of density p(y) become ones of density p(y) / stretch, so that likelihoods
    on both scales can be compared once the logarithms of the stretches are added; p is estimated by Gaussian kernels.
    """
    z, m = standardised(values, weights), len(values)
    found = [(z, PREFERRED)]
    if weights is None and m >= LEAST_FOR_SCALES and np.abs(z).max() > USUAL * ndtri(1 - 0.5 / m):
        scores = normal_quantiles(values[:, None])[:, 0]
        spread = (z + scores).std()
        # Half of the values may be the same; narrow kernels would then make any stretch look likely.
        width = 1.06 * np.clip(np.subtract(*np.quantile(z, [0.75, 0.25])) / 1.34, NARROWEST, 1.0) * m**-0.2
        some = evenly(m, CHOOSING_LABELS)
        density = np.mean(np.exp(-0.5 * ((z[some, None] - z) / width) ** 2), axis=1) / (width * np.sqrt(2 * np.pi))
        stretch = (1 + density * np.sqrt(2 * np.pi) * np.exp(0.5 * scores[some] ** 2)) / spread
        found.append(((z + scores) / spread, float(np.log(stretch).sum())))
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
    groups: Positions | None = None,
    levels: bool = True,
    weights: Array | None = None,
    found: Kernels | None = None,
    lines: Sequence[tuple[float, float]] | None = None,
) -> Fused:
    """Return what values make of all hypotheses together.

    Parameters
    ----------
    problem : LabelFree
        The problem without labels.
    labelled : Features
        Labelled items.
    z : ndarray of shape (m,)
        Their labels, mean 0 and deviation 1.
    groups : ndarray of shape (m,), optional
        The group of each labelled item, by which labels are left out.
    levels : bool
        Whether the labels of all groups share one shift; otherwise each group has its own.
    weights : ndarray of shape (m,), optional
        As how many answers each label counts.
    found : Kernels, optional
        The kernels to the labelled items with f as last column, if they are at hand.
    lines : sequence of tuple, optional
        For labels in the units of the predictions, see `tupi.methods.auto.hypotheses.hypotheses`.
    """
    found = kernels(problem, labelled, with_f=True) if found is None else found
    columns, shared, m = found.of_columns(labelled), found.within(), len(z)
    together = np.ones((m, m)) if levels or groups is None else np.equal.outer(groups, groups).astype(float)
    layout, q = problem.layout, columns.shape[1]
    subsets = subsets_of(layout, labelled)
    leading = [] if subsets is None else [subsets.of(labelled, one) for one in range(len(subsets.where))]
    known = AtLabels(columns[0], shared, together, np.ones(m) if weights is None else weights, z, leading)
    tried = hypotheses(
        columns[0], 1 - problem.share.c, len(found.tables), bool(layout.related), bool(layout.rest), lines
    )
    apart = groups if groups is not None and groups.max() > 1 else None
    sides = [tried[np.flatnonzero(tried.plain == plain)] for plain in (False, True)]
    if subsets is not None and len(sides[1].logs):
        sides[1] = with_subsets(known, sides[1], subsets)
    parts = [averaged(known, side, apart) for side in sides if len(side.logs)]
    after, duals, left_out = both_sides(parts, known, expected_of_columns(1 - problem.share.c))
    shares, constant = after.shares, 1.0 if levels else 0.0
    # Columns and the shift are linear in the base columns; so is the mean function.
    slopes = np.einsum("h,hq,qm,hm->q", shares, after.variances[:, :q], columns[0], duals, optimize=True)
    line = line_of(shares @ after.slopes, found.columns, columns).coefficients + np.einsum(
        "q,cqk->ck", slopes, found.columns
    )
    line[:, 0] += shares @ (after.heights + constant * after.shifts * duals.sum(axis=1))
    of_kernels = np.einsum("h,hp,hm->pm", shares, after.variances[:, q:], duals)
    led = [] if subsets is None else subsets.slopes(labelled, after, duals)
    average = Average(line, [one[:, None] for one in of_kernels], after, led, subsets)
    # One process with the mean of all variances says how sure that is.
    function = expected(problem.columns[:, 0], columns[:, 0].T)
    v, noise = shares @ after.variances, float(shares @ after.noise) + LEAST_NOISE
    for block in range(len(labelled.views)) if subsets is not None else ():
        of = (after.subset >= 0) & (subsets.where[after.subset, 0] == block)
        v[q + len(found.tables) + 2 * block] += shares[of] @ after.of_subset[of]  # the linear kernel of these views
    model = labelled_model(columns, shared, found.prior, groups=None if levels else groups, weights=weights)
    one = posterior(model, np.append(v, noise), (z - function(labelled.base)[:, 0])[:, None])
    process = Process(function, found.columns, 0, columns, v, one.duals, constant)
    nothing = np.empty(0, np.int64)
    return Fused(
        found,
        process,
        list(one.inverses),
        noise,
        left_out,
        np.empty(0),
        nothing,
        groups=groups,
        weights=weights,
        average=average,
        plain_share=float(shares @ after.plain),
    )


def both_sides(
    parts: Sequence[tuple[Hypotheses, Array, LeftOut]], known: AtLabels, expected: float
) -> tuple[Hypotheses, Array, LeftOut]:
    """Return what is said by hypotheses of alike items and by those of the views' own columns, as one.

    Labels that were left out say how much of either to take. How likely both make the labels says less of that: where
    averages are trusted, few labels hardly make them less likely, although they err.

    Parameters
    ----------
    parts : sequence of tuple
        What `averaged` returned for one or both.
    known : AtLabels
        The labels.
    expected : float
        The share of the columns before any label.
    """
    if len(parts) == 1:
        return parts[0]
    sure = np.sqrt(known.sure)
    judged = [left_out for _, _, left_out in parts]
    shares = mean_shares(np.array([sure * (known.z - one.held_out[:, 0]) for one in judged]), expected)
    evidence = float(np.logaddexp.reduce([one.evidence for one, _, _ in parts]))
    logs = [
        one.logs - one.evidence + np.log(share) + evidence for share, (one, _, _) in zip(shares, parts, strict=True)
    ]
    first, second = (one for one, _, _ in parts)
    after = replace(first.beside(second), logs=np.concatenate(logs))
    duals = np.concatenate([one for _, one, _ in parts])
    return after, duals, combined_left_out(judged, known.z, expected, sure)


def fit_classes(problem: LabelFree, labelled: Features, z: Array, mean: Chances, weights: Array | None = None) -> Fused:
    """Fit the process to classes.

    Ten labels of ten classes leave some without any, and that nobody has seen a class is no sign that it is rare: it
    stays as the label-free answer says.

    Parameters
    ----------
    problem, labelled, weights
        See `fit_values`.
    z : ndarray of shape (m, c)
        Indicators of their classes, in deviations of these.
    mean : Chances
        The mean function.
    """
    found = kernels(problem, labelled)
    columns, before, members = found.of_columns(labelled), mean(labelled.base), z > 0
    residuals = np.where(members.any(axis=0), z - before, 0.0)
    model = labelled_model(columns, found.within(), found.prior, CLASS_SHIFT, weights=weights)
    some = evenly(len(z), int(CHOOSING_LABELS / z.shape[1] ** (1 / 3)))  # outputs agree on variances
    v = model.among(some).most_likely(residuals[some])
    after = posterior(model, v, residuals)
    process = Process(mean, found.columns, 0, columns, v[:-1], after.duals, CLASS_SHIFT)
    left_out, nothing = judged_apart(model, after, residuals, before, members), np.empty(0, np.int64)
    inverses, noise = list(after.inverses), float(v[-1])
    return Fused(found, process, inverses, noise, left_out, np.empty(0), nothing, weights=weights)


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
    K = PriorProcess(columns, shared, JITTER * np.eye(len(mean)), found.prior).covariance(after.v, 0)
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
