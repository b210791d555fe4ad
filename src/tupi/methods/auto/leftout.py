"""What a Gaussian process says of labels that it does not see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.methods.auto.process import Model, Posterior, left_out, left_out_twice, posterior

CHOOSING_LABELS = 400  # that set the variances; more would hardly change what is likely
FEW = 20  # fewer labelled items than that cannot say that higher scores mean less
FOLDS = 5  # of the labels, each judged under variances that the others chose
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of labelled items without their labels.

    Attributes
    ----------
    held_out : ndarray of shape (m, c)
        Predictions of each without its label.
    differences : ndarray of shape (m, m)
        For one output: predicted differences within pairs whose labels were both left out.
    twice : ndarray of shape (m, m)
        For one output: entry (i, j) is the prediction of i without the labels of i and j, under variances that j had no
        part in. It judges the process by i without any help of j.
    """

    held_out: Array
    differences: Array
    twice: Array


def judged_apart(model: Model, after: Posterior, z: Array, mean: Array) -> LeftOut:
    """Return predictions of values that are left out.

    They are exact for given variances, see `tupi.methods.auto.process`. But variances that saw a value make too much of
    it, by about half a point of pairwise accuracy with 100 labels. So values are dealt into folds by their size, and
    each fold meets variances that the other folds chose; a pair of two folds meets both. Fewer than `FEW` labels say
    too little about variances, and more than `CHOOSING_LABELS` say enough, for this to matter.

    Parameters
    ----------
    model : Model
        The process at the labelled items.
    after : Posterior
        Given all labels.
    z, mean : ndarray of shape (m, c)
        The labels, and the mean function.
    """
    m, c = z.shape

    def without(after: Posterior) -> tuple[Array, Array]:
        held_out = np.column_stack([left_out(z[:, j], after.duals[:, j], after.inverses[j]) for j in range(c)])
        twice = left_out_twice(z[:, 0], after.duals[:, 0], after.inverses[0]) if c == 1 else np.empty((0, 0))
        return held_out, twice

    held_out, twice = without(after)
    differences = twice - twice.T
    if not FEW <= m <= CHOOSING_LABELS:
        return LeftOut(held_out, differences, twice)
    differences, twice = np.zeros_like(differences), twice.copy()
    fold = dealt(z[:, 0])
    for k in range(FOLDS):
        own, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        v = model.among(others).most_likely((z - mean)[others])
        values, both = without(posterior(model, v, z - mean))
        held_out[own] = values[own]
        if c == 1:
            twice[:, own] = both[:, own]
            differences[own] += 0.5 * (both[own] - both.T[own])
            differences[:, own] += 0.5 * (both - both.T)[:, own]
    return LeftOut(held_out, differences, twice)


def dealt(z: Array) -> NDArray[np.int64]:
    """Return the fold of each value: dealt like cards in order of size, so that all folds are alike."""
    fold = np.empty(len(z), np.int64)
    fold[np.argsort(z, kind="stable")] = np.arange(len(z)) % FOLDS
    return fold
