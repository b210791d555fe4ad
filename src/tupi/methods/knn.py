"""Neighbours' scores instead of one's own: nearest neighbours by the views, out of fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.joint_graph import neighbors
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit
from tupi.methods.sweeps import Swept, fit_swept

SHARE_GRID = (0.25, 0.5, 0.75, 1.0)
K_GRID = (15, 5, 30)
DEFAULT_SHARE, DEFAULT_K = 1.0, 15
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Knn(Swept):
    """Settings of nearest neighbours.

    An item's score becomes (1 - share) f + share (mean f of its nearest items by all views together). The item itself
    is not among them, so its own error does not count towards the mean. An item without neighbours keeps its score.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbours of each item. None: with labels chosen from 5, 15 and 30, without them 15.
    share : float, optional
        How much of the neighbours' mean, above 0 and at most 1. None: with labels chosen from quarters, without 1.
    """

    name: ClassVar[str] = "knn"

    n_neighbors: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1)
        check_positive("share", self.share, most=1)

    def solutions(self, prepared: Prepared, shares: Sequence[float]) -> Iterator[Array]:
        """Yield the columns for each share; n_neighbors must be set."""
        assert self.n_neighbors is not None
        averages = neighbors(prepared, self.n_neighbors).averages()
        alone = np.diff(averages.indptr) == 0
        means = np.where(alone[:, None], prepared.f, averages @ prepared.f)
        for share in shares:
            yield (1.0 - share) * prepared.f + share * means

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Average; with labels, under all settings that are left open."""
        ks, shares = ((DEFAULT_K,), (DEFAULT_SHARE,)) if labels is None else (K_GRID, SHARE_GRID)
        return fit_swept(self, ks, "share", shares, prepared, labels, watch)
