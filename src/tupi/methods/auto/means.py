"""What a process says before any label: its mean function, of the base columns of an item."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from tupi.methods.auto.process import slope

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chances:
    """The mean function for classes: label-free probabilities, in deviations of the labels.

    Attributes
    ----------
    answer : ndarray of shape (c, k + 1)
        How the label-free answer is made of one and the base columns.
    scale, shift : ndarray of shape (c,)
        How that becomes logarithms of probabilities, up to a constant.
    frequency, unit : ndarray of shape (c,)
        Expected shares of the classes, and the deviations of indicators of them.
    """

    answer: Array
    scale: Array
    shift: Array
    frequency: Array
    unit: Array

    def shares(self, base: Array) -> Array:
        """Return label-free probabilities of items."""
        return softmax(np.einsum("ck,nck->nc", self.answer, base) * self.scale + self.shift, axis=1)

    def __call__(self, base: Array) -> Array:
        """Return the mean function."""
        return (self.shares(base) - self.frequency) / self.unit


@dataclass(frozen=True, eq=False)
class Linear:
    """The mean function for scores and values: predictions with the slope that is expected.

    Attributes
    ----------
    coefficients : ndarray of shape (c, k + 1)
        How it is made of one and the base columns.
    """

    coefficients: Array

    def __call__(self, base: Array) -> Array:
        """Return the mean function."""
        return np.einsum("ck,nck->nc", self.coefficients, base)


def expected(columns: Array, at_labels: Array) -> Linear:
    """Return the mean function that predicts with the slope that is expected.

    Parameters
    ----------
    columns : ndarray of shape (c, k + 1)
        How the predictions are made of one and the base columns.
    at_labels : ndarray of shape (m, c)
        Their values at the labelled items.
    """
    slopes = np.array([slope(one) for one in at_labels.T])
    coefficients = columns * slopes[:, None]
    coefficients[:, 0] -= slopes * at_labels.mean(axis=0)
    return Linear(coefficients)
