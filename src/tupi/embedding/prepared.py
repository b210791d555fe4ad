"""A problem made ready, and the way back to predictions.

Predictions are standardised, and views embedded once in whatever ways methods ask for. Columns that a method has
denoised come back in the input's scale, by task. Normalised HSIC sees neither the scale of f nor a smooth one-to-one
change of it. For ranking that does not matter. For values the paper's recipe (store means and scales, normalise,
denoise, restore) brings back the scale but not the shape, and errors grow after a few steps. Two changes make both
tasks safe; `experiments/tasks.py` measures them:

- regression: the denoised column says who is alike, the initial one what values are like. The initial column is
  regressed on the denoised one by a monotone function, and the mean of this and the initial column is returned;
- classification: probabilities are denoised as centred logarithms and come back through a softmax, so that rows are
  probabilities again and a class that was nearly impossible does not get a share by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import softmax

from tupi.embedding.embedding import Embedding, EmbeddingOptions, embed, exact_kernel, gaussian_features
from tupi.embedding.gaussian import GaussianFeatures
from tupi.embedding.neighbors import shared_distances
from tupi.inputs.labels import Labels
from tupi.inputs.problem import Problem
from tupi.runtime.computing import must_compile

Progress = Callable[[str], None]
Array = NDArray[np.float64]
Veto = Callable[[Problem, Labels, NDArray[np.int64], Array], str | None]


def silent(message: str) -> None:
    """Ignore a progress message."""


class Prepared:
    """A problem with everything that its methods share, computed on first use.

    Only items with at least one view take part; the others keep their prediction.

    Parameters
    ----------
    problem : Problem
        The checked input.
    random_state : int
        Seed for whatever is drawn.
    progress : callable, optional
        Called with a sentence whenever something long begins.
    memory_limit : int, optional
        Bytes that may be used: embedded views of more than half of that go to a temporary file, and so does every f(t)
        of a path.

    Attributes
    ----------
    items : ndarray of int
        The items that take part.
    f : ndarray of shape (n_items, c)
        Their predictions, one column per class (one for ranking and regression), standardised.
    order : ndarray of int
        The order of ``items`` in which views are embedded: by their predictions, so that passes over the embedding
        find neighbours alike, unless views are read from files, which have an order of their own.
    scale, shift : ndarray of shape (c,)
        How to undo that: ``f * scale + shift``.
    features : callable
        Makes the features of a view from a sample of its rows; problems with views in common may share them.
    veto : callable, optional
        What a guard asks before new predictions come back, see `tupi.judging.evidence.speaks_against`; None unless a
        metric was asked for.
    """

    features: Callable[[NDArray[np.float64], EmbeddingOptions], GaussianFeatures] = staticmethod(gaussian_features)

    def __init__(
        self,
        problem: Problem,
        random_state: int = 0,
        progress: Progress = silent,
        memory_limit: int | None = None,
    ) -> None:
        self.problem, self.random_state, self.progress = problem, random_state, progress
        self.memory_limit = memory_limit
        self.veto: Veto | None = None
        self.items: NDArray[np.int64] = np.flatnonzero(problem.covered)
        self.f: NDArray[np.float64]
        self.f, self.scale, self.shift = standardize(problem.columns, problem.covered)
        on_disk = any(view.on_disk for view in problem.views)
        self.order: NDArray[np.int64] = (
            np.arange(len(self.items)) if on_disk else np.argsort(self.f[:, 0], kind="stable")
        )
        self._cache: dict[Any, Any] = {}

    def relabelled(self, problem: Problem) -> Prepared:
        """Return the same for a problem that differs by its labels alone.

        Trajectories know the labelled items, and are kept under their settings; what has a name depends on no labels.
        """
        other = copy(self)
        other.problem = problem
        other._cache = {
            key: value
            for key, value in self._cache.items()
            if isinstance(key[0] if isinstance(key, tuple) else key, str)
        }
        return other

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what was computed under this key, computing it the first time."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def has(self, key: Any) -> bool:
        """Return whether something was computed under this key."""
        return key in self._cache

    def embedding(self, options: EmbeddingOptions) -> Embedding:
        """Return the factors of all views for the items that take part, in `order`."""

        def say(name: str) -> None:
            self.progress(f"Embedding view {name}")
            if options.kernel == "diffusion":
                must_compile(shared_distances, self.progress)

        return self.once(
            ("embedding", options),
            lambda: embed(
                self.problem.views,
                options,
                self.items[self.order],
                say,
                None if self.memory_limit is None else self.memory_limit // 2,
                self.features,
            ),
        )

    def kernels(self, options: EmbeddingOptions) -> list[NDArray[np.float64]]:
        """Return the whole kernel matrices of all views, for the exact engine, in `order`."""
        items = self.items[self.order]
        grid = np.ix_(items, items)
        return self.once(("kernels", options), lambda: [exact_kernel(v, options)[grid] for v in self.problem.views])


def standardize(
    columns: NDArray[np.float64], items: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return columns with mean 0 and deviation 1, and how to undo it: ``columns * scale + shift``.

    Only the rows ``items`` count and are returned; None takes all. A column that does not vary becomes zero exactly.
    Magnitudes from 1e-300 to 1e300 are safe.
    """
    rows = columns if items is None else columns[items]
    unit = np.abs(rows).max(axis=0)
    unit[unit == 0] = 1.0
    scaled = rows / unit
    deviation = scaled.std(axis=0)
    # The mean of equal numbers may differ from them in the last digit, which would then count as all there is.
    constant = (scaled == scaled[0]).all(axis=0) | (deviation == 0)
    center = np.where(constant, scaled[0], scaled.mean(axis=0))
    deviation[constant] = 1.0
    return np.where(constant, 0.0, (scaled - center) / deviation), deviation * unit, center * unit


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
