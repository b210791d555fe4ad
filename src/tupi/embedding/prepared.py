"""A problem made ready: views embedded once, in whatever ways its methods ask for."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.embedding import Embedding, EmbeddingOptions, embed, exact_kernel
from tupi.embedding.neighbors import shared_distances
from tupi.inputs.labels import Labels
from tupi.inputs.problem import Problem, standardize
from tupi.runtime.compiling import COMPILING, is_compiled

Progress = Callable[[str], None]
Veto = Callable[[Problem, Labels, NDArray[np.int64], NDArray[np.float64]], str | None]


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
    veto : callable, optional
        What a guard asks before new predictions come back, see `tupi.judging.veto.Veto`; None unless a metric was asked
        for.
    """

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
            if options.kernel == "diffusion" and not is_compiled(shared_distances):
                self.progress(COMPILING)

        return self.once(
            ("embedding", options),
            lambda: embed(
                self.problem.views,
                options,
                self.items[self.order],
                say,
                None if self.memory_limit is None else self.memory_limit // 2,
            ),
        )

    def kernels(self, options: EmbeddingOptions) -> list[NDArray[np.float64]]:
        """Return the whole kernel matrices of all views, for the exact engine, in `order`."""
        items = self.items[self.order]
        grid = np.ix_(items, items)
        return self.once(("kernels", options), lambda: [exact_kernel(v, options)[grid] for v in self.problem.views])
