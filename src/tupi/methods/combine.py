"""The paper's two combinations of its method with CoConut: one energy, and the better of the two results."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Descent, Engine, State
from tupi.algorithm.energy import Objective, Vector, both
from tupi.algorithm.trajectory import Watch
from tupi.embedding.graphs import Graph
from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.methods.coconut import Coconut
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

LAM_C_GRID = (0.3, 3.0, 10.0)
K_C_GRID = (10, 20)
DEFAULT_LAM_C, DEFAULT_K_C, DEFAULT_STEPS = 1.0, 10, 1


class SmoothEngine:
    """An engine whose energy also charges for differences between neighbours (label ``e:tupicoconutcomb``).

    Parameters
    ----------
    engine : Engine
        Computes O(f; t).
    edges : Graph
        The neighbour graph of the views.
    order : ndarray of int
        The engine's order of the graph's items.
    strength : float
        lam_C / (k_C n). The division by the number of items is ours: O does not grow with it, so that without it
        the same lam_C would mean more and more.
    """

    def __init__(self, engine: Engine, edges: Graph, order: NDArray[np.int64], strength: float) -> None:
        self.engine, self.edges, self.order, self.strength = engine, edges, order, strength

    def smoothness(self, f: Vector) -> tuple[float, Vector]:
        """Return strength f^T L f and its gradient."""
        values = np.empty_like(f)
        values[self.order] = f
        Lf = self.edges.laplacian_times(values[:, None])[self.order, 0]
        return self.strength * float(f @ Lf), 2.0 * self.strength * Lf

    def begin(self, f: Vector) -> State:
        """Return the state at the initial predictions."""
        return self.engine.begin(f)

    def descent(
        self, states: list[Any], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> Descent:
        """Return f -> O(f; t) + strength f^T L f of each run, while it is minimised."""
        return self.engine.descent(states, weights, lams, both(self.smoothness, extra))


@dataclass(frozen=True, kw_only=True)
class TupiCoconut(Tupi):
    """Settings of the first combination: Algorithm 1 on O(f; t) + (lam_c / (n_neighbors_c n)) f^T L f.

    All of `Tupi`'s parameters, and two more. With labels all four that are None are tried together.

    Parameters
    ----------
    lam_c : float, optional
        lambda^C: how smooth the predictions shall be on the graph. None: with labels chosen from 0.3, 3 and 10,
        without them 1, and one step only: each step smooths what the one before has smoothed.
    n_neighbors_c : int, optional
        k^C: neighbours of each item. None: with labels chosen from 10 and 20, without them 10.
    """

    name: ClassVar[str] = "tupi+coconut"

    lam_c: float | None = None
    n_neighbors_c: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("lam_c", self.lam_c)
        check_positive("n_neighbors_c", self.n_neighbors_c, whole=True, least=1)

    def settings(self, labelled: bool) -> list[Tupi]:
        """Return complete settings, cautious ones first."""
        lams = LAM_C_GRID if labelled else (DEFAULT_LAM_C,)
        steps = self.n_iter if labelled else self.n_iter or DEFAULT_STEPS
        ks = K_C_GRID if labelled else (DEFAULT_K_C,)
        return [
            replace(
                self,
                kernel=alone.kernel,
                lam=alone.lam,
                sigma_w2=alone.sigma_w2,
                n_iter=steps or alone.n_iter,
                lam_c=lam,
                n_neighbors_c=k,
            )
            for lam, k, alone in itertools.product(
                lams if self.lam_c is None else (self.lam_c,),
                ks if self.n_neighbors_c is None else (self.n_neighbors_c,),
                super().settings(labelled),
            )
        ]

    def _engine(self, prepared: Prepared, column: int) -> Engine:
        assert self.lam_c is not None
        assert self.n_neighbors_c is not None
        alone = Tupi(**{field.name: getattr(self, field.name) for field in fields(Tupi)})
        key = ("engine", alone.engine_key(), column)  # where the method alone keeps it, so that both share it
        engine = prepared.once(key, partial(alone._engine, prepared, column))
        edges = graph(prepared, self.n_neighbors_c)
        return SmoothEngine(engine, edges, prepared.order, self.lam_c / (self.n_neighbors_c * len(prepared.items)))

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Run Algorithm 1 on the joint energy."""
        fit = super().fit(prepared, labels, watch)
        note = f"The graph's part: lam_c={fit.params['lam_c']:g}, n_neighbors_c={fit.params['n_neighbors_c']}."
        return replace(fit, notes=(*fit.notes, note))


@dataclass(frozen=True, kw_only=True)
class Select(Method):
    """The second combination: `Tupi` or `Coconut`, whichever scores better on the labels; of equal ones the first.

    Each is tuned on the same labels, as in the paper. Folds that judge the choice repeat all of it.
    """

    name: ClassVar[str] = "select"

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Fit both and return the better one."""
        if labels is None:
            raise InputError("labels: found none, and method 'select' chooses by labels; accepted: values or pairs.")
        candidates = {method.name: method.fit(prepared, labels, watch) for method in (Tupi(), Coconut())}
        best = max(candidates, key=lambda name: candidates[name].scores[-1])
        scored = ", ".join(f"{name} {fit.scores[-1]:.3f}" for name, fit in candidates.items())
        fit = candidates[best]
        note = f"{best} was selected by its score on the labels: {scored}."
        return replace(fit, params=fit.params | {"selected": best}, notes=(note, *fit.notes))
