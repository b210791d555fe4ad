"""From labels of any kind to an answer: which of them are used, what is fitted to them, and who judges it.

Values are learned under many hypotheses at once (`tupi.methods.auto.hypotheses`), some of which stand on averages over
alike items and some on the views' own columns alone, which is what wins on ordinary tables. Classes and comparisons are
learned by one process each (`tupi.methods.auto.class_fitting`, `tupi.methods.auto.comparisons`).

If labels are many, trees are mixed in. With g for what all hypotheses say, new predictions are (1 - s) g + s trees. How
large s is follows from the errors that both make on labels which they did not see, see
`tupi.methods.auto.guard.mean_shares`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tupi.embedding.relevance import evenly, normal_quantiles
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Pairs
from tupi.methods.auto import clouds, trees
from tupi.methods.auto.answers import Answer, RankingAnswer, RegressionAnswer
from tupi.methods.auto.class_answers import BinaryAnswer
from tupi.methods.auto.class_fitting import from_classes, world_seen
from tupi.methods.auto.comparisons import from_pairs
from tupi.methods.auto.fused import Average, Fused, Limits, Process
from tupi.methods.auto.guard import mean_shares
from tupi.methods.auto.hypotheses import AtLabels, Hypotheses, averaged, expected_of_columns, hypotheses
from tupi.methods.auto.items import Scale, standardised, units_of
from tupi.methods.auto.kernels import Features, Kernels, expected, kernels, line_of, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.process import CHOOSING_LABELS, FOLDS, LeftOut
from tupi.methods.auto.subsets import with_leading
from tupi.methods.auto.surer import spread_of
from tupi.methods.auto.trees import EXPECTED_OF_TREES, LEAST_FOR_ORDER, LEAST_FOR_TREES, LEAST_OF_TREES

MAX_LABELS = 2000  # more are thinned out: systems of so many equations still take seconds
MAX_ENTRIES = 1 << 27  # of a kernel between all items and the labelled ones: half a gigabyte
LEAST_FOR_SCALES = 5  # labels that tell of a scale
USUAL = 1.1  # times the deviation that is expected of the greatest
PREFERRED = 1.0  # log odds of values as they are
NARROWEST = 0.1  # deviations by which densities of values are estimated, at least
AS_THEY_CAME = 0.5  # how likely values follow the scores of a ranking as they came, rather than their normal scores
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
        return from_pairs(base, labels, scale, most)
    # Thinned out evenly over their values; equal values in the order of the items' content.
    by_value = np.lexsort([base.place[labels.index], labels.values])
    used = by_value[evenly(len(by_value), most)]
    used = used[np.argsort(base.place[labels.index[used]])]
    rows, values = labels.index[used], labels.values[used]
    weights = None if labels.weights is None else labels.weights[used]
    labelled = pick_features(base, rows)
    if scale.task == "classification" and len(scale.scale) > 1:
        return from_classes(base, labelled, values.astype(np.int64), weights, scale, rows)
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
    fused = with_trees(best[2], best[1], scale.task != "regression", base.moves)
    fused = with_clouds(base, fused, best[1])
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
    known = AtLabels(columns[0], shared, together, np.ones(m) if weights is None else weights, z)
    # Zeros and ones are no values that might follow scores along a line, and no normal ones, whose likelihood tells.
    two = len(np.unique(z)) == 2
    as_they_came = 0.0 if two else AS_THEY_CAME
    of_f = (as_they_came, 1 - as_they_came) if problem.scored else (1.0,)
    views = bool(layout.related), bool(layout.rest)
    tried = hypotheses(columns[0], 1 - problem.share.c, len(found.tables), *views, lines, of_f)
    apart = groups if groups is not None and groups.max() > 1 else None
    sides = [tried[np.flatnonzero(tried.plain == plain)] for plain in (False, True)]
    known, sides[1], subsets = with_leading(known, sides[1], layout, labelled)
    said = [averaged(known, side, apart) for side in sides if len(side.logs)]
    parts = [one[:3] for one in said]
    something, nothing = zip(*((one[0].evidence, one[3]) for one in said), strict=True)
    for_views = None if two else float(np.logaddexp.reduce(something) - np.logaddexp.reduce(nothing))
    # Averages that f would not be moved by without labels are no better before any label than the columns are.
    after, duals, left_out = both_sides(parts, known, expected_of_columns(1 - problem.share.c if problem.moves else 0))
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
    if subsets is not None:  # as if the linear kernels of all columns explained what some explain
        v[q + len(found.tables) :: 2] += subsets.variances(after, len(labelled.views))
    inverse = np.asarray(np.linalg.inv(known.covariance(v, noise)), np.float64)
    dual = inverse @ (z[:, None] - function(labelled.base))
    process = Process(function, found.columns, 0, columns, v, dual, constant)
    plain = float(shares @ after.plain)
    return Fused(
        found,
        process,
        [inverse],
        noise,
        left_out,
        groups=groups,
        weights=weights,
        average=average,
        plain_share=plain,
        for_views=for_views,
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
    return after, duals, combined_left_out(judged, known.z, expected, sure=sure)


def with_trees(fused: Fused, z: Array, ranked: bool = False, with_answer: bool = False) -> Fused:
    """Return predictions, all and left-out ones, combined with those of trees, if there are labels enough.

    Parameters
    ----------
    fused : Fused
        What values made of all hypotheses.
    z : ndarray of shape (m,)
        The labels.
    ranked : bool
        Whether only the order of items counts, as it does for rankings and for two classes, whose log odds are a line
        of what is learned. Few labels say less of the size of values than trees need.
    with_answer : bool
        Whether trees also look at the label-free answer. Where views give no reason to move f, it says nothing.
    """
    enough = len(z) >= (LEAST_FOR_ORDER if ranked else LEAST_FOR_TREES)
    if not enough or not fused.labelled.views or fused.weights is not None:
        return fused
    columns = fused.seen_by_trees(fused.labelled, with_answer)
    few = min(1.0, len(z) / LEAST_FOR_TREES)  # less is expected of few labels, and what they say of trees counts less
    prior = EXPECTED_OF_TREES * few, 1 / few
    # As for hypotheses, a group is judged as one without any label would be.
    dealt = np.arange(len(z)) if fused.groups is None or fused.groups.max() < 2 else fused.groups
    judged = fused.left_out, of_trees(trees.left_out(columns, z, dealt % FOLDS))
    share = float(mean_shares(np.array([z - one.held_out[:, 0] for one in judged]), *prior)[1])
    if share < LEAST_OF_TREES:  # all items would have to meet all trees for next to nothing
        return fused
    return replace(
        fused,
        left_out=combined_left_out(judged, z, *prior),
        plain_share=(1 - share) * fused.plain_share,
        forest=trees.grow(columns, z),
        forest_share=share,
    )


def with_clouds(base: LabelFree, fused: Fused, z: Array) -> Fused:
    """Return predictions, all and left-out ones, combined with those of clouds, if labels repeat.

    Parameters
    ----------
    base : LabelFree
        The problem without labels.
    fused : Fused
        What values made of all hypotheses, and of trees.
    z : ndarray of shape (m,)
        The labels.
    """
    values, which = np.unique(z, return_inverse=True)
    apart = fused.weights is not None or fused.groups is not None
    if apart or not clouds.repeat(which) or not fused.labelled.views:
        return fused
    prior = clouds.prior_share(which)
    world = world_seen(base, fused)
    labelled = fused.seen_by_trees(fused.labelled, False)
    told, before = clouds.left_out(world, labelled, which, values[:, None]), fused.left_out
    believed, without = clouds.belief(told, which, values, before.held_out[:, 0])
    said, others = told.said, 1 - told.far[:, None]
    twice = said + others * before.twice
    judged = before, LeftOut(said + others * before.held_out, twice - twice.T, twice)
    share = believed * float(mean_shares(np.array([z - one.held_out[:, 0] for one in judged]), *prior)[1])
    if share < clouds.LEAST_OF_CLOUDS:
        return fused
    return replace(
        fused,
        left_out=combined_left_out(judged, z, *prior, believed=without),
        clouds=clouds.found(world, labelled, which, values[:, None]),
        clouds_share=share,
    )


def of_trees(held_out: Array) -> LeftOut:
    """Return predictions of labels by trees that did not see them.

    Trees that say something of one label saw others, and pull what they say towards these: a difference between two
    left-out labels comes out too small, which is on the safe side.
    """
    each = np.repeat(held_out[:, None], len(held_out), axis=1)
    return LeftOut(held_out[:, None], each - each.T, each)


def combined_left_out(
    judged: Sequence[LeftOut],
    z: Array,
    expected: float,
    weight: float = 1.0,
    sure: Array | None = None,
    believed: Array | float = 1.0,
) -> LeftOut:
    """Return left-out predictions of the combination, each by shares that its own label had no part in.

    These are chosen by the other labels, of which no prediction saw this one either; a pair meets the mean of two. What
    is expected of the shares is as in `tupi.methods.auto.guard.mean_shares`. If labels have weights, errors count
    ``sure`` times. The share of the second is multiplied by what is ``believed`` of it without each label.
    """
    errors = np.array([(z[:, None] - one.twice) * (1.0 if sure is None else sure[:, None]) for one in judged])
    for one in errors:
        np.fill_diagonal(one, np.nan)
    second = believed * mean_shares(errors, expected, weight)[1]
    shares = np.array([1 - second, second])
    pairs = 0.5 * (shares[:, :, None] + shares[:, None])
    return LeftOut(
        np.einsum("am,amc->mc", shares, np.array([one.held_out for one in judged])),
        np.einsum("aij,aij->ij", pairs, np.array([one.differences for one in judged])),
        np.einsum("aj,aij->ij", shares, np.array([one.twice for one in judged])),
    )
