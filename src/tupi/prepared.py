"""A problem made ready: views embedded once, in whatever ways its methods ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.kernels.embedding import Embedding, EmbeddingOptions, embed, exact_kernel
from tupi.problem import Problem, standardize

Progress = Callable[[str], None]


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

    Attributes
    ----------
    items : ndarray of int
        The items that take part.
    f : ndarray of shape (n_items, c)
        Their predictions, one column per class (one for ranking and regression), standardised.
    scale, shift : ndarray of shape (c,)
        How to undo that: ``f * scale + shift``.
    """

    def __init__(self, problem: Problem, random_state: int = 0, progress: Progress = silent) -> None:
        self.problem, self.random_state, self.progress = problem, random_state, progress
        self.items: NDArray[np.int64] = np.flatnonzero(problem.covered)
        standard, self.scale, self.shift = standardize(problem.columns, problem.covered)
        self.f: NDArray[np.float64] = standard[self.items]
        self._cache: dict[Any, Any] = {}

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what was computed under this key, computing it the first time."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def embedding(self, options: EmbeddingOptions) -> Embedding:
        """Return the factors of all views, restricted to the items that take part."""
        return self.once(
            ("embedding", options),
            lambda: embed(
                self.problem.views, options, self.items, lambda name: self.progress(f"Embedding view {name}")
            ),
        )

    def kernels(self, options: EmbeddingOptions) -> list[NDArray[np.float64]]:
        """Return the whole kernel matrices of all views, for the exact engine."""
        grid = np.ix_(self.items, self.items)
        return self.once(("kernels", options), lambda: [exact_kernel(v, options)[grid] for v in self.problem.views])
