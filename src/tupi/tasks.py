"""From denoised, standardised columns back to predictions in the input's scale, by task.

Normalised HSIC cannot see the scale of f, nor any smooth one-to-one change of it. That is fine for ranking. For values
the paper's sentence (store means and scales, normalise, denoise, restore) brings the scale back but not the shape, and
errors grow after a few steps. What is done here instead: the denoised column says who is similar, the initial one what
values are like, so each initial column is regressed on its denoised one by a monotone function (isotonic regression),
and the mean of this and the initial column is returned: whoever is moved is moved half the way.
`experiments/tasks.py` measures both recipes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

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
    result = columns.copy()
    if problem.task == "ranking":
        _, scale, shift = standardize(columns, problem.covered)
        result[prepared.items] = f * scale + shift
    else:
        result[prepared.items] = np.column_stack(
            [_toward(columns[prepared.items, c], f[:, c]) for c in range(f.shape[1])]
        )
        if problem.task == "classification" and _are_probabilities(columns):
            result = np.maximum(result, 0.0)
            result /= result.sum(axis=1, keepdims=True)
    return result.reshape(problem.initial.shape)


def _toward(initial: Array, denoised: Array) -> Array:
    """Return the mean of the initial column and its monotone regression on the denoised one."""
    order = np.argsort(denoised, kind="stable")
    fitted = np.empty_like(initial)
    fitted[order] = isotonic_regression(initial[order])
    return 0.5 * (initial + fitted)


def _are_probabilities(columns: Array) -> bool:
    return bool((columns >= 0).all() and np.allclose(columns.sum(axis=1), 1.0, atol=1e-6))
