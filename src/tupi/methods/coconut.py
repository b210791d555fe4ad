"""CoConut (Khamis and Lampert), adapted to scores: smoothness on the neighbour graph of the views."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.methods.base import Fit, Method, check_positive
from tupi.methods.coclassify import coclassify
from tupi.methods.columns import from_shares, initial_values
from tupi.methods.sweeps import fit_swept

LAM_GRID = tuple(float(lam) for lam in 10.0 ** np.arange(-1.0, 3.25, 0.5))
CLASS_LAM_GRID = LAM_GRID[:7]  # beyond 100 everything joins the largest class
K_GRID = (10, 5, 20)
DEFAULT_LAM, DEFAULT_K = 1.0, 10
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Coconut(Method):
    """Settings of CoConut.

    Scores minimise ||v - f||^2 + (lam / k) v^T L v (label ``e:adaptcoconut``) with L the Laplacian of
    `tupi.embedding.graphs.own_width_graph`. Class scores minimise the convex relaxation of the original
    co-classification energy (label ``e:orgcoconutsup``), see `tupi.methods.coclassify`.

    Parameters
    ----------
    lam : float, optional
        lambda^C: how smooth the result shall be. None: with labels chosen from 0.1 to 1000 (to 100 for
        classification), without them 1.
    n_neighbors : int, optional
        k^C: neighbours of each item. None: with labels chosen from 5, 10 and 20, without them 10.
    """

    name: ClassVar[str] = "coconut"

    lam: float | None = None
    n_neighbors: int | None = None

    def __post_init__(self) -> None:
        check_positive("lam", self.lam)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1)

    def solutions(self, prepared: Prepared, lams: Sequence[float]) -> Iterator[Array]:
        """Yield the minimiser for each lam, each started from the one before; n_neighbors must be set."""
        assert self.n_neighbors is not None
        edges = graph(prepared, self.n_neighbors)
        if prepared.problem.task == "classification":
            for shares in coclassify(edges, initial_values(prepared), [lam / self.n_neighbors for lam in lams]):
                yield from_shares(prepared, shares)
            return
        columns = prepared.f
        for lam in lams:
            columns = edges.smooth(prepared.f, lam / self.n_neighbors, start=columns)
            yield columns

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Minimise the energy; with labels, for all settings that are left open."""
        ks = K_GRID if labels is not None else (DEFAULT_K,)
        grid = CLASS_LAM_GRID if prepared.problem.task == "classification" else LAM_GRID
        lams = grid if labels is not None else (DEFAULT_LAM,)
        return fit_swept(
            [replace(self, n_neighbors=k) for k in (ks if self.n_neighbors is None else (self.n_neighbors,))],
            "lam",
            lams if self.lam is None else (float(self.lam),),
            lambda setting, values: setting.solutions(prepared, values),
            prepared,
            labels,
            watch,
        )
