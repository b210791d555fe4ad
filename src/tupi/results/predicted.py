"""What `Denoised.predict` says of items that came later, when it is asked for details."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from tupi.inputs.frames import PANDAS, in_library
from tupi.runtime.errors import InputError

NORMAL = 20  # labels as much as which a normal distribution counts in an interval
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of items that came later.

    Attributes
    ----------
    predictions, initial : ndarray of shape (n,) or (n, c)
        The better predictions, and what came in.
    familiar : ndarray of shape (n,)
        How much each item is like those that the result was made of: 1 for one that is as near to them as they are to
        one another, and towards 0 for one that is far from all of them or has no view. Such an item keeps its own
        prediction, to that degree.
    method, task : str
        Those of the result.
    index : pandas.Index or None
        The items' ids.
    classes : tuple or None
        Names of class columns.
    uncertainty, expected, left_out_errors : ndarray or None
        As in `tupi.Denoised`.
    library : str
        The dataframe library that the predictions were of.
    """

    predictions: Array
    initial: Array
    familiar: Array
    method: str
    task: str
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    uncertainty: Array | None = None
    expected: Array | None = None
    left_out_errors: Array | None = None
    library: str = PANDAS

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return bounds between which the label of each item is expected, see `tupi.Denoised.interval`."""
        center = self.expected if self.task == "ranking" else self.predictions
        return interval(level, center, self.uncertainty, self.left_out_errors, self.method)

    def to_frame(self) -> Any:
        """Return a table with one row per item: initial, prediction and familiar, in the library that came in."""
        return in_library(self.table(), self.library)

    def table(self) -> pd.DataFrame:
        """Return what `to_frame` does as a table of pandas, whatever came in."""
        if self.initial.ndim == 1:
            found = {"initial": self.initial, "prediction": self.predictions}
        else:
            names = self.classes or tuple(range(self.initial.shape[1]))
            found = {f"initial_{name}": column for name, column in zip(names, self.initial.T, strict=True)}
            found |= {f"prediction_{name}": column for name, column in zip(names, self.predictions.T, strict=True)}
        return pd.DataFrame(found | {"familiar": self.familiar}, index=self.index)


def interval(
    level: float, center: Array | None, uncertainty: Array | None, left_out_errors: Array | None, method: str
) -> tuple[Array, Array]:
    """Return bounds of labels, or complain that a result does not know how sure it is.

    Parameters
    ----------
    level : float
        The probability of the labels to be between them.
    center, uncertainty : ndarray of shape (n,) or None
        What labels are expected, and their standard deviations.
    left_out_errors : ndarray or None
        Absolute errors of labels that were left out, in units of their uncertainty.
    method : str
        The method that it is a result of.
    """
    if not isinstance(level, (int, float, np.number)) or isinstance(level, bool) or not 0 < level < 1:
        raise InputError(f"level: found {level!r}; accepted: a number between 0 and 1.")
    if left_out_errors is None or uncertainty is None or center is None:
        raise InputError(
            f"interval: found a result of method {method!r} without errors of left-out labels; accepted: one "
            "of 'auto' or 'fuse' for ranking or regression, whose labels are values."
        )
    normal = norm.ppf(0.5 + (np.arange(NORMAL) + 0.5) / (2 * NORMAL))
    reach = np.quantile(np.concatenate([left_out_errors, normal]), level) * uncertainty
    return center - reach, center + reach
