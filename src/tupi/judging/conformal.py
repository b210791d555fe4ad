"""Bounds of labels, and sets of classes, that hold a given share of them: by labels that were left out.

Each label that was left out has a *score*, which says how far it was from what was predicted without it: its error in
units of its uncertainty, or one minus the probability of its class. A label of a new item is as likely as any of the m
others to have the largest of m + 1 scores, or the k-th largest. So the ceil((m + 1) level)-th smallest score is not
exceeded with a probability of at least ``level``, whatever the distribution of the errors: the rule of conformal
prediction. Here each score is that of a prediction without one label (the jackknife), which gives the level as far as
one label more or less hardly changes what is predicted (Barber, Candès, Ramdas and Tibshirani, 2021).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Array = NDArray[np.float64]


def reach(scores: Array, level: float) -> float:
    """Return what the score of a new label does not exceed with a given probability; infinite if m labels cannot tell.

    Parameters
    ----------
    scores : ndarray of shape (m,)
        Scores of labels that were left out.
    level : float
        The probability.
    """
    rank = int(np.ceil((len(scores) + 1) * level - 1e-9))  # 0.8 times 50 is 40, whatever rounding says
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def reach_of_errors(errors: Array, level: float) -> float:
    """Return `reach`; where too few labels leave it infinite, Student's for normal errors, but at least the largest."""
    found = reach(errors, level)
    if np.isfinite(found) or len(errors) < 2:
        return found
    student = stdtrit(len(errors) - 1, 0.5 + 0.5 * level) * np.sqrt(np.mean(errors**2) * (1 + 1 / len(errors)))
    return float(max(student, errors.max()))


def class_scores(predictions: Array, probabilities: bool) -> Array:
    """Return the score of each class of each item: one minus its probability, or how far it is below the highest.

    Parameters
    ----------
    predictions : ndarray of shape (n, c)
        Of the classes.
    probabilities : bool
        Whether they are probabilities.
    """
    return 1 - predictions if probabilities else predictions.max(axis=1, keepdims=True) - predictions
