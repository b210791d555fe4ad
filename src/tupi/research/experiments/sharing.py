"""What trials of a dataset under one seed have in common, computed once for all of them.

Experiments repeat themselves: several of them denoise the same f^I with the same views, and trials of other targets
have the same views, or most of them. Cells of one trial are computed one after the other in the same process, and find
there what the cells before them left. Nothing is shared that depends on more than what its key names, so that a cell
has the same result alone; `tests/research/experiments/test_sharing.py` compares both.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.embedding import EmbeddingOptions, gaussian_features
from tupi.embedding.gaussian import GaussianFeatures
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import Problem

#: What depends on the views and on which items are labelled, and neither on f^I nor on what the labels say.
ABOUT_VIEWS = ("neighbors", "graph", "graphs by view", "labelled kernel")
MOST_FEATURES = 128  # kept at once; those of a seed's trials are fewer


class Common:
    """Features of views by what the views hold, and whatever else trials with the same views share."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}
        self._features: OrderedDict[tuple[bytes, EmbeddingOptions], GaussianFeatures] = OrderedDict()

    def features(self, sample: NDArray[np.float64], options: EmbeddingOptions) -> GaussianFeatures:
        """Return the features that are found from a sample of a view's rows."""
        rows = np.ascontiguousarray(sample)
        key = blake2b(rows.data, person=str(rows.shape).encode()[:16]).digest(), options
        if key not in self._features:
            self._features[key] = gaussian_features(sample, options)
        self._features.move_to_end(key)
        while len(self._features) > MOST_FEATURES:
            self._features.popitem(last=False)
        return self._features[key]


class Sharing(Prepared):
    """A problem made ready, which takes from others what depends on its views alone.

    Parameters
    ----------
    problem : Problem
        The checked input.
    common : Common
        What is shared.
    views : hashable, optional
        A name for all its views and the labelled items, the same for problems that have the same ones. None: no other
        problem has, and features of single views are all that is shared.
    """

    def __init__(self, problem: Problem, common: Common, views: Hashable = None) -> None:
        super().__init__(problem)
        self.features = common.features
        self._common, self._views = common, views

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what was computed under this key, here or, if it is about the views alone, anywhere."""
        if self._views is None or not (isinstance(key, tuple) and key[0] in ABOUT_VIEWS):
            return super().once(key, compute)
        shared = (self._views, key)
        if shared not in self._common.known:
            self._common.known[shared] = compute()
        return self._common.known[shared]

    def forget(self) -> None:
        """Let go of all that was computed for this problem alone; what is asked for again is computed again.

        Trajectories know their problem, which keeps them. Such a circle would stay in memory until Python happens to
        look for circles, and Python looks by the number of objects, of which there are few, and not by their size.
        """
        self._cache.clear()


class Latest:
    """The last thing of each kind that was made in this process."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Hashable, Any]] = {}

    def of(
        self, kind: str, key: Hashable, make: Callable[[], Any], forget: Callable[[Any], None] = lambda old: None
    ) -> Any:
        """Return the last thing of a kind if it was made under this key; else make it, and keep it instead.

        ``forget`` is called with the one that was kept before, so that it can let go of what it holds.
        """
        if kind not in self._kept or self._kept[kind][0] != key:
            if kind in self._kept:  # before the new one is made: both may be large
                forget(self._kept.pop(kind)[1])
            self._kept[kind] = key, make()
        return self._kept[kind][1]


LATEST = Latest()
