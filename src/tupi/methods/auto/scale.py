"""What predictions are, and which of their columns are worked on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.restoring import in_scale
from tupi.inputs.groups import Groups
from tupi.inputs.problem import Problem

MOST_LOG_ODDS = np.log(999)  # of two classes: whoever says 1e-15 does not know it, and would outweigh everyone else
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scale:
    """What predictions are, and how standardised columns become predictions.

    Attributes
    ----------
    task : str
        What they are for.
    scale, shift : ndarray of shape (c,)
        ``columns * scale + shift`` are predictions, or centred logarithms of probabilities. Of two classes only the
        second has a column, half its log odds: that of the first is the mirror image.
    probabilities : bool
        Whether they are class probabilities.
    groups : Groups, optional
        The group of each item, if rankings are within groups.
    """

    task: str
    scale: Array
    shift: Array
    probabilities: bool
    groups: Groups | None = None

    @classmethod
    def of(cls, problem: Problem, scale: Array, shift: Array, groups: Groups | None = None) -> Scale:
        """Return that of a problem, given how all its standardised columns become predictions."""
        given = problem.are_probabilities
        one = slice(1, None) if given and len(scale) == 2 else slice(None)
        return cls(problem.task, scale[one], shift[one], given, groups)

    @property
    def two(self) -> bool:
        """Whether they are probabilities of two classes."""
        return self.probabilities and len(self.scale) == 1

    def worked_on(self, columns: Array) -> Array:
        """Return which of all standardised columns are worked on; log odds only as far as anybody can know them."""
        if not self.two:
            return columns
        ends = (np.array([-0.5, 0.5]) * MOST_LOG_ODDS - self.shift) / self.scale
        return np.clip(columns[:, 1:], *ends)

    def standardized(self, columns: Array) -> Array:
        """Return the columns that are worked on, of `tupi.inputs.problem.Problem.columns`."""
        return self.worked_on((columns - self._all(self.shift, -1)) / self._all(self.scale, 1))

    def both(self, columns: Array) -> Array:
        """Return all columns, given those that are worked on."""
        return np.hstack([-columns, columns]) if self.two else columns

    def predictions(self, columns: Array) -> Array:
        """Return what columns that are worked on stand for, in the input's scale."""
        return in_scale(self.both(columns), self._all(self.scale, 1), self._all(self.shift, -1), self.probabilities)

    def _all(self, values: Array, sign: int) -> Array:
        """Return a figure of each column, given those of the columns that are worked on."""
        return np.append(sign * values, values) if self.two else values
