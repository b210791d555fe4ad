"""From denoised, standardised columns back to predictions in the input's scale, by task."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tupi.prepared import Prepared
from tupi.problem import standardize

Array = NDArray[np.float64]


def restore(prepared: Prepared, f: Array) -> Array:
    """Return predictions for all items from denoised columns of the items that take part.

    Parameters
    ----------
    prepared : Prepared
        The problem; ``prepared.f`` is where the denoising began.
    f : ndarray of shape (n_items, c)
        Denoised columns, standardised.
    """
    problem = prepared.problem
    if np.array_equal(f, prepared.f):
        return problem.initial
    columns = problem.initial.reshape(problem.n, -1)
    _, scale, shift = standardize(columns, problem.covered)
    result = columns.copy()
    result[prepared.items] = f * scale + shift
    return result.reshape(problem.initial.shape)
