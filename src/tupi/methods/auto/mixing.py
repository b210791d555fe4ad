"""Trees, mixed into what else was learned of values and classes, as far as labels that were left out say.

With g for what all hypotheses or the process of classes say, new predictions are (1 - s) g + s trees. How large s is
follows from the errors that both make on labels which they did not see, see `tupi.methods.auto.guard.mean_shares`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tupi.methods.auto import trees
from tupi.methods.auto.fused import Chances, Fused
from tupi.methods.auto.guard import mean_shares, shares_by
from tupi.methods.auto.process import FOLDS, LeftOut

LEAST_FOR_TREES = 40  # labels: fewer grow trees that say little
EXPECTED_OF_TREES, LEAST_OF_TREES = 0.35, 0.03  # their share before any label, and that below which they are left out
Positions = NDArray[np.int64]
Array = NDArray[np.float64]


def with_trees(fused: Fused, z: Array) -> Fused:
    """Return predictions, all and left-out ones, combined with those of trees, if there are labels enough.

    Parameters
    ----------
    fused : Fused
        What values made of all hypotheses.
    z : ndarray of shape (m,)
        The labels.
    """
    if len(z) < LEAST_FOR_TREES or not fused.labelled.views or fused.weights is not None:
        return fused
    columns = fused.seen_by_trees(fused.labelled)
    # As for hypotheses, a group is judged as one without any label would be.
    dealt = np.arange(len(z)) if fused.groups is None or fused.groups.max() < 2 else fused.groups
    judged = fused.left_out, of_trees(trees.left_out(columns, z, dealt % FOLDS))
    share = float(mean_shares(np.array([z - one.held_out[:, 0] for one in judged]), EXPECTED_OF_TREES)[1])
    if share < LEAST_OF_TREES:  # all items would have to meet all trees for next to nothing
        return fused
    return replace(
        fused,
        left_out=combined_left_out(judged, z, EXPECTED_OF_TREES),
        plain_share=(1 - share) * fused.plain_share,
        forest=trees.grow(columns, z),
        forest_share=share,
    )


def with_class_trees(fused: Fused, classes: Positions, chances: Chances) -> Fused:
    """Return what is said of classes, and of labels left out, combined with trees, if there are labels enough.

    The rule is that of `with_trees`. The error of a label is a vector, which has an entry for each class, in shares of
    the class; a label still counts as one. How much of trees is taken where a label is judged is chosen by all others.

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
    errors = np.array([members - chances.frequency - unit * one for one in (process, forests)]) / np.linalg.norm(unit)
    each = np.einsum("aic,bic->abi", errors, errors)
    total = each.sum(axis=2)
    share = float(shares_by(total, m, EXPECTED_OF_TREES)[1])
    if share < LEAST_OF_TREES:
        return fused
    own = shares_by(total[:, :, None] - each, m - 1, EXPECTED_OF_TREES)[1][:, None]
    forest = trees.grow(columns, sizes, classes=classes, n_classes=len(unit))
    return replace(
        fused,
        left_out=replace(fused.left_out, held_out=process + own * (forests - process)),
        forest=replace(forest, values=forest.values - level),
        forest_share=share,
    )


def of_trees(held_out: Array) -> LeftOut:
    """Return predictions of labels by trees that did not see them.

    Trees that say something of one label saw others, and pull what they say towards these: a difference between two
    left-out labels comes out too small, which is on the safe side.
    """
    each = np.repeat(held_out[:, None], len(held_out), axis=1)
    return LeftOut(held_out[:, None], each - each.T, each)


def combined_left_out(judged: Sequence[LeftOut], z: Array, expected: float, sure: Array | None = None) -> LeftOut:
    """Return left-out predictions of the combination, each by shares that its own label had no part in.

    These are chosen by the other labels, of which no prediction saw this one either; a pair meets the mean of two. If
    labels have weights, errors count ``sure`` times.
    """
    errors = np.array([(z[:, None] - one.twice) * (1.0 if sure is None else sure[:, None]) for one in judged])
    for one in errors:
        np.fill_diagonal(one, np.nan)
    shares = mean_shares(errors, expected)
    pairs = 0.5 * (shares[:, :, None] + shares[:, None])
    return LeftOut(
        np.einsum("am,amc->mc", shares, np.array([one.held_out for one in judged])),
        np.einsum("aij,aij->ij", pairs, np.array([one.differences for one in judged])),
        np.einsum("aj,aij->ij", shares, np.array([one.twice for one in judged])),
    )
