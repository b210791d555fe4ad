"""What comes back without labels, and how sure probabilities of classes may be there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tupi.blocks.home import Rows
from tupi.methods.auto.items import Scale
from tupi.methods.auto.labelfree import LabelFree, with_one

SHIFTS, LONGEST_SHIFT = 25, 1.0  # Newton's steps to the means of classes, most often four, and the longest of them
SURER, MOST_APART = 1 / 3, 16.0  # power of how much further apart classes lie, of at most so much, see `_surer`
LEAST_OF_CLASS = 6  # items that tell how a class varies
Array = NDArray[np.float64]


def without_labels(base: LabelFree, scale: Scale) -> Array:
    """Return how what comes back without labels is made of [1, base columns]."""
    # Averages vary less than scores. For regression f's units stay, and so do those of class scores.
    if scale.task == "ranking":
        return base.unit(base.careful)
    return as_sure_as_before(base, scale) if scale.probabilities and base.moves else base.careful


def as_sure_as_before(base: LabelFree, scale: Scale) -> Array:
    """Return the coefficients of the label-free answer, with probabilities as sure, and classes as likely, as before.

    Logarithms of probabilities that were averaged over alike items vary less, although they are nearer to the truth,
    and a class may become rarer by averaging alone. Without labels the initial probabilities say how sure to be: the
    answer's logarithms get their deviation, and a shift for each class that restores its mean; and they become surer as
    far as classes lie further apart, see `_surer`, which leaves the means of two classes as they are, and those of
    several nearly so.
    """
    coefficients = base.careful
    spreads = [spread_of(one, base, scale) for one in (base.only(0), coefficients)]
    # A column and its mirror image together have mean 0.
    before, after = (np.hypot(mean, deviation) if scale.two else deviation for mean, deviation in spreads)
    stretch, surer = before / after if after > 1e-12 else 1.0, _surer(base, coefficients, scale)
    # Of several classes, shifts that restore means of surer probabilities would change which of them is most likely.
    early, late = (surer, 1.0) if scale.two else (1.0, surer)
    stretch *= early
    shift = np.zeros(2 if scale.two else len(scale.scale))
    for _ in range(SHIFTS):
        total = base.home.summed(
            _frequencies, base.base, answer=coefficients, scale=scale, stretch=stretch, shift=shift
        )
        wanted, found, slopes = total[0], total[1], total[2:]
        # Newton's step. Shifts sum to zero: what rounding says of the direction in which nothing changes is left out.
        step = np.linalg.pinv(slopes, rcond=1e-9, hermitian=True) @ (wanted - found)
        # Where nearly all probabilities are 0 or 1 the slopes are small, and whole steps would lead away for good.
        shift = shift + step / max(1.0, np.abs(step).max() / LONGEST_SHIFT)
        if np.abs(wanted - found).max() < 1e-10 * base.home.n:
            break
    stretched = coefficients * late * stretch
    stretched[:, 0] += (late * (stretch * scale.shift + shift[-len(scale.scale) :]) - scale.shift) / scale.scale
    return stretched


def _surer(base: LabelFree, coefficients: Array, scale: Scale) -> float:
    """Return by how much the answer's logarithms may exceed the initial ones, given how far they set classes apart.

    If logarithms of probabilities are normal within classes, they are as sure as they should be when the squared
    distance between classes equals the variance within them. So of two predictions whose classes lie r times as far
    apart, measured in that variance, one may be r times as sure for the other's reasons. Classes are those that the
    answer says itself, which makes r too large, so that only its cube root is taken.
    """
    sums = base.home.summed(_within, base.base, answer=coefficients, scale=scale)
    before, after = (_apart(one) for one in sums)
    ratio = after / before if before > 1e-12 and after > 1e-12 else 1.0
    return float(np.clip(ratio, 1.0, MOST_APART) ** SURER)


def _within(rows: Rows, base: Array, *, answer: Array, scale: Scale) -> Array:
    """Return for initial and new logarithms: by new class, how many, their sums, and the sum of their squares."""
    old, new = (
        scale.both(one * scale.scale + scale.shift)
        for one in (base[:, :, 0], np.einsum("ck,nck->nc", answer, with_one(base)))
    )
    member = np.eye(new.shape[1])[new.argmax(axis=1)]
    return np.array(
        [
            np.column_stack([member.sum(axis=0), member.T @ one, member.T @ (one**2).sum(axis=1)])
            for one in (logs - logs.mean(axis=1, keepdims=True) for logs in (old, new))
        ]
    )


def _apart(sums: Array) -> float:
    """Return how far classes lie apart, in their variance: the mean of what each says of itself, over the latter."""
    used = np.flatnonzero(sums[:, 0] >= LEAST_OF_CLASS)
    counts, means = sums[used, 0], sums[used, 1:-1] / sums[used, :1]
    within = np.sum(sums[used, -1] - counts * (means**2).sum(axis=1)) / max(counts.sum(), 1.0)
    itself = means[np.arange(len(used)), used].mean() if len(used) else 0.0
    return float(itself / within) if within > 1e-12 else 0.0


def _frequencies(rows: Rows, base: Array, *, answer: Array, scale: Scale, stretch: float, shift: Array) -> Array:
    """Return sums of initial and of new probabilities, and the derivatives of the latter by the shifts, row by row."""
    old = scale.predictions(base[:, :, 0])
    logs = np.einsum("ck,nck->nc", answer, with_one(base)) * scale.scale + scale.shift
    new = softmax(stretch * scale.both(logs) + shift, axis=1)
    return np.vstack([old.sum(axis=0), new.sum(axis=0), np.diag(new.sum(axis=0)) - new.T @ new])


def spread_of(coefficients: Array, problem: LabelFree, scale: Scale) -> tuple[float, float]:
    """Return the mean and the deviation of all entries of a column that is made of base columns, as predictions."""
    mean = np.einsum("ck,ck->c", coefficients, problem.moments[:, 0])
    square = np.einsum("ck,ckl,cl->c", coefficients, problem.moments, coefficients)
    means = mean * scale.scale + scale.shift
    squares = square * scale.scale**2 + 2 * mean * scale.scale * scale.shift + scale.shift**2
    return float(means.mean()), float(np.sqrt(max(squares.mean() - means.mean() ** 2, 0.0)))
