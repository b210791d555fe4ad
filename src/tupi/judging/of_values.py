"""Errors of values, in the units of the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tupi.inputs.labels import Values
from tupi.judging.metrics import ALL, Array, Metric, Positions, Words


@dataclass(frozen=True)
class InUnits(Words):
    """Values in units that nobody knows here, told with four significant digits."""

    def number(self, value: float) -> str:
        """Return a value without what follows it, as in a column of a table."""
        return f"{value:.4g}"

    def difference(self, value: float) -> str:
        """Return a difference."""
        return f"{value:+.3g}"


UNITS = InUnits(1.0, 3, "", "", "~g")


class AbsoluteError(Metric[Values]):
    """The mean absolute error."""

    name = "MAE"
    key = "mae"
    tasks = ("regression",)
    kind = Values
    higher_is_better = False
    bounds = (0.0, np.inf)
    words = UNITS

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return each absolute error."""
        return np.abs(predictions[labels.index[held]] - labels.values[held])


class SquaredError(Metric[Values]):
    """The root of the mean squared error."""

    name = "RMSE"
    key = "rmse"
    tasks = ("regression",)
    kind = Values
    higher_is_better = False
    bounds = (0.0, np.inf)
    words = UNITS

    def shares(self, predictions: Array, labels: Values, held: Positions | slice = ALL) -> Array:
        """Return each squared error."""
        return (predictions[labels.index[held]] - labels.values[held]) ** 2

    def average(self, shares: Array, weights: Array) -> float:
        """Return the root of the mean."""
        return float(np.sqrt(np.mean(shares / weights)))

    def parts(self, shares: Array, weights: Array) -> Array:
        """Return each squared error over twice the root of their mean: the root changes as the mean of these does."""
        return shares / weights / max(2 * self.average(shares, weights), 1e-300)
