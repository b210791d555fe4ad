"""Classes: one Gaussian process learns them; trees and clouds are mixed in as far as labels that were left out say.

How large their shares are follows the rules for values, `tupi.methods.auto.fitting.with_trees` and `with_clouds`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.relevance import evenly
from tupi.methods.auto import clouds, trees
from tupi.methods.auto.class_answers import CLASS_SHIFT, ClassAnswer, label_free_chances
from tupi.methods.auto.fused import Fused, Process
from tupi.methods.auto.guard import shares_by
from tupi.methods.auto.items import Scale
from tupi.methods.auto.kernels import Chances, Features, kernels, pick_features
from tupi.methods.auto.labelfree import LabelFree
from tupi.methods.auto.process import CHOOSING_LABELS, FOLDS, judged_apart, labelled_model, posterior
from tupi.methods.auto.trees import EXPECTED_OF_TREES, LEAST_FOR_TREES, LEAST_OF_TREES

WORLD = "_world"  # under which name the problem without labels keeps it: no label has a part in it
Positions = NDArray[np.int64]
Array = NDArray[np.float64]


def from_classes(
    base: LabelFree, labelled: Features, classes: Positions, weights: Array | None, scale: Scale, rows: Positions
) -> ClassAnswer:
    """Return what is made of labels that are classes, more than two of them.

    Parameters
    ----------
    base, labelled, weights, scale
        See `tupi.methods.auto.fitting`.
    classes, rows : ndarray of shape (m,)
        The labels, and the items that have them.
    """
    chances = label_free_chances(base, scale)
    z = (np.eye(len(chances.unit))[classes] - chances.frequency) / chances.unit
    fused = with_class_trees(fit_classes(base, labelled, z, chances, weights), classes, chances)
    fused = with_class_clouds(base, fused, classes, chances)
    return ClassAnswer(base, scale, fused, len(classes), rows, classes, chances)


def fit_classes(problem: LabelFree, labelled: Features, z: Array, mean: Chances, weights: Array | None = None) -> Fused:
    """Fit the process to classes.

    Ten labels of ten classes leave some without any, and that nobody has seen a class is no sign that it is rare: it
    stays as the label-free answer says.

    Parameters
    ----------
    problem, labelled, weights
        See `tupi.methods.auto.fitting.fit_values`.
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
    left_out = judged_apart(model, after, residuals, before, members)
    return Fused(found, process, list(after.inverses), float(v[-1]), left_out, weights=weights)


def with_class_trees(fused: Fused, classes: Positions, chances: Chances) -> Fused:
    """Return what is said of classes, and of labels left out, combined with trees, if there are labels enough.

    The error of a label is a vector, which has an entry for each class, in shares of the class; a label still counts as
    one. How much of trees is taken where a label is judged is chosen by all others.

    Parameters
    ----------
    fused : Fused
        What classes made of the process.
    classes : ndarray of shape (m,)
        The labels.
    chances : Chances
        Label-free probabilities, whose units are those of the process.
    """
    m, unit = len(classes), chances.unit
    if m < LEAST_FOR_TREES or not fused.labelled.views or fused.weights is not None:
        return fused
    columns, sizes, level = fused.seen_by_trees(fused.labelled), 1 / unit[classes], chances.frequency / unit
    # Dealt like cards, one class after the other in the order in which labels name them: their own order means nothing.
    _, first, which = np.unique(classes, return_index=True, return_inverse=True)
    fold = np.empty(m, np.int64)
    fold[np.argsort(first[which], kind="stable")] = np.arange(m) % FOLDS
    members = np.eye(len(unit))[classes]
    process = fused.left_out.held_out
    # Without its only label a class is as it is without labels, for trees as for the process.
    told = members.sum(axis=0) - members > 0
    forests = np.where(told, trees.left_out(columns, sizes, fold, classes, len(unit)) - level, process)
    share, mixed = _mixed(process, forests, members, chances, EXPECTED_OF_TREES)
    if share < LEAST_OF_TREES:
        return fused
    forest = trees.grow(columns, sizes, classes=classes, n_classes=len(unit))
    return replace(
        fused,
        left_out=replace(fused.left_out, held_out=mixed),
        forest=replace(forest, values=forest.values - level),
        forest_share=share,
    )


def with_class_clouds(base: LabelFree, fused: Fused, classes: Positions, chances: Chances) -> Fused:
    """Return what is said of classes, and of labels left out, combined with a cloud for each class that was labelled.

    Parameters
    ----------
    base : LabelFree
        The problem without labels.
    fused, classes, chances
        See `with_class_trees`.
    """
    there, which = np.unique(classes, return_inverse=True)
    if not clouds.repeat(which) or not fused.labelled.views or fused.weights is not None:
        return fused
    members, prior = np.eye(len(chances.unit))[classes], clouds.prior_share(which)
    values = (np.eye(len(chances.unit))[there] - chances.frequency) / chances.unit
    world = world_seen(base, fused)
    labelled = fused.seen_by_trees(fused.labelled, False)
    told, before = clouds.left_out(world, labelled, which, values), fused.left_out.held_out
    share, mixed = _mixed(before, told.said + (1 - told.far[:, None]) * before, members, chances, *prior)
    if share < clouds.LEAST_OF_CLOUDS:
        return fused
    return replace(
        fused,
        left_out=replace(fused.left_out, held_out=mixed),
        clouds=clouds.found(world, labelled, which, values),
        clouds_share=share,
    )


def world_seen(base: LabelFree, fused: Fused) -> clouds.World:
    """Return how all items lie by the columns that clouds look at; labels that come one by one find it at hand."""
    if WORLD not in vars(base):
        some = pick_features(base, base.evenly(clouds.LOOKED_AT))
        vars(base)[WORLD] = clouds.world_of(fused.seen_by_trees(some, with_answer=False))
    found: clouds.World = vars(base)[WORLD]
    return found


def _mixed(
    first: Array, second: Array, members: Array, chances: Chances, expected: float, weight: float = 1.0
) -> tuple[float, Array]:
    """Return the share of the second of two predictions of labels left out, and both together.

    Each label meets shares that all others chose. What is expected of the shares is as in
    `tupi.methods.auto.guard.mean_shares`, and ``members`` tells the class of each label.
    """
    unit, m = chances.unit, len(members)
    errors = np.array([members - chances.frequency - unit * one for one in (first, second)]) / np.linalg.norm(unit)
    each = np.einsum("aic,bic->abi", errors, errors)
    total = each.sum(axis=2)
    own = shares_by(total[:, :, None] - each, m - 1, expected, weight)[1][:, None]
    return float(shares_by(total, m, expected, weight)[1]), first + own * (second - first)
