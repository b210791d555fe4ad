"""From denoised, standardised columns back to predictions in the input's scale, by task.

Normalised HSIC sees neither the scale of f nor a smooth one-to-one change of it. For ranking that does not matter. For
values the paper's recipe (store means and scales, normalise, denoise, restore) brings back the scale but not the shape,
and errors grow after a few steps. Two changes make both tasks safe; `experiments/tasks.py` measures them:

- regression: the denoised column says who is alike, the initial one what values are like. The initial column is
  regressed on the denoised one by a monotone function, and the mean of this and the initial column is returned;
- classification: probabilities are denoised as centred logarithms and come back through a softmax, so that rows are
  probabilities again and a class that was nearly impossible does not get a share by rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import softmax

from tupi.embedding.prepared import Prepared

Array = NDArray[np.float64]


def restore(prepared: Prepared, f: Array, calibrated: bool = False, items: NDArray[np.int64] | None = None) -> Array:
    """Return predictions for all items, or for some, from denoised columns of the items that take part.

    Parameters
    ----------
    prepared : Prepared
        The problem; ``prepared.f`` is where the denoising began.
    f : ndarray of shape (n_items, c)
        Denoised columns, standardised.
    calibrated : bool
        For regression: whether the columns are values already, and not merely say who is alike.
    items : ndarray of int, optional
        The items whose predictions are wanted; None for all. The others are not touched unless the task needs them.
    """
    problem = prepared.problem
    initial = problem.initial if items is None else problem.initial[items]
    if not len(initial) or np.array_equal(f, prepared.f):
        return initial
    if items is None:
        places, rows = prepared.items, np.arange(len(f))
    else:
        rows = np.searchsorted(prepared.items, items)
        takes_part = prepared.items.take(rows, mode="clip") == items
        places, rows = np.flatnonzero(takes_part), rows[takes_part]
    columns = in_scale(f[rows], prepared.scale, prepared.shift, problem.are_probabilities)
    if problem.relative:
        columns += problem.group_means[prepared.items[rows]]
    if problem.task == "regression" and not calibrated:
        columns[:, 0] = _toward(problem.initial[prepared.items], f[:, 0])[rows]
    result = initial.copy()
    result[places] = columns.reshape(len(columns), *initial.shape[1:])
    return result


def in_scale(columns: Array, scale: Array, shift: Array, probabilities: bool) -> Array:
    """Return standardised columns in the input's scale; those of logarithms of probabilities as probabilities."""
    found = columns * scale + shift
    return np.asarray(softmax(found, axis=1)) if probabilities else found


def _toward(initial: Array, denoised: Array) -> Array:
    """Return the mean of the initial column and its monotone regression on the denoised one."""
    order = np.argsort(denoised, kind="stable")
    fitted = np.empty_like(initial)
    fitted[order] = isotonic_regression(initial[order]).x
    return 0.5 * (initial + fitted)
