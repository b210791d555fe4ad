"""The paper's method: denoising on the manifold of kernels by statistical dependence (Algorithm 1)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from tupi.denoiser import Engine, Step, denoise_steps
from tupi.engines import ENGINES
from tupi.engines.exact import ExactEngine
from tupi.engines.fused import FusedEngine
from tupi.engines.lowrank import LowRankEngine
from tupi.errors import InputError, nearest
from tupi.kernels.bandwidth import check_bandwidth, squared_bandwidth
from tupi.kernels.embedding import EmbeddingOptions
from tupi.labels import Labels
from tupi.methods.base import Fit, Method, check_positive
from tupi.optimizers import OPTIMIZERS
from tupi.paths import Path, Stopped, Watch
from tupi.prepared import Prepared
from tupi.threads import threads_for
from tupi.tuning import choose

LAM_GRID = (0.1, 0.4, 1.5)
SIGMA_W2_GRID = (0.01, 0.05, 0.3)
EXACT_LIMIT = 20_000  # items: three n x n matrices of doubles are then 10 GB


@dataclass(frozen=True, kw_only=True)
class Tupi(Method):
    """Settings of the paper's method; names follow the paper.

    Parameters
    ----------
    lam : float, optional
        lambda: how strongly each step pulls towards the views. None: chosen with labels, 0.3 without.
    sigma_w2 : float, optional
        sigma_w^2: how evenly the views are weighted; small picks the most dependent one. None: chosen with labels,
        0.1 without.
    n_iter : int, optional
        T: the number of steps; with labels at most so many, and the best of them is returned. None: 50 with labels, 20
        without.
    kernel : {"gaussian", "diffusion"}
        Kernels of the views.
    rank : int
        K: basis points per view.
    bandwidth : str or float
        Width rule of the views' Gaussian kernels, see `tupi.kernels.bandwidth`.
    prediction_bandwidth : str or float
        Width rule of the predictions' kernel.
    scaling : {"columns", "view"}
        Whether columns of a view are scaled each or all together.
    n_neighbors, time : int, float
        Graph and duration of diffusion kernels.
    engine : {"fused", "reference", "exact"}
        How sums over items are computed: compiled, numpy, or whole n x n matrices.
    optimizer : {"bb", "lbfgs", "gradient"}
        How each step's energy is minimised: Barzilai and Borwein's steps, quasi-Newton, or the paper's plain descent.
    inner_iter : int
        Points that each minimisation may accept.
    patience : int
        With labels: leave a path when the score has not increased for so many steps; the paper's rule is 1.
    n_threads : int, optional
        Threads to use; None for all cores that this process may use.
    """

    name: ClassVar[str] = "tupi"

    lam: float | None = None
    sigma_w2: float | None = None
    n_iter: int | None = None
    kernel: str = "gaussian"
    rank: int = 50
    bandwidth: str | float = "std-as-sigma"
    prediction_bandwidth: str | float = "std"
    scaling: str = "columns"
    n_neighbors: int = 10
    time: float = 5.0
    engine: str = "fused"
    optimizer: str = "bb"
    inner_iter: int = 6
    patience: int = 1
    n_threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("lam", "sigma_w2"):
            check_positive(name, getattr(self, name))
        for name in ("n_iter", "inner_iter", "patience", "n_threads"):
            check_positive(name, getattr(self, name), whole=True, least=1)
        for name in ("inner_iter", "patience"):
            if getattr(self, name) is None:
                raise InputError(f"{name}: found None; accepted: a whole number of at least 1.")
        check_bandwidth(self.prediction_bandwidth, "prediction_bandwidth")
        for name, value, known in (
            ("engine", self.engine, ENGINES),
            ("optimizer", self.optimizer, OPTIMIZERS),
        ):
            if value not in known:
                raise InputError(f"{name}: found {value!r}; accepted: {', '.join(known)}.{nearest(str(value), known)}")
        self._options(0)  # checks the rest

    def _options(self, random_state: int) -> EmbeddingOptions:
        return EmbeddingOptions(
            kernel=self.kernel,
            rank=self.rank,
            bandwidth=self.bandwidth,
            scaling=self.scaling,
            n_neighbors=self.n_neighbors,
            time=self.time,
            random_state=random_state,
        )

    def settings(self, labelled: bool) -> list[Tupi]:
        """Return complete settings: one without labels, a grid over what is None with them, cautious ones first."""
        if not labelled:
            return [replace(self, lam=self.lam or 0.3, sigma_w2=self.sigma_w2 or 0.1, n_iter=self.n_iter or 20)]
        lams = LAM_GRID if self.lam is None else (self.lam,)
        widths = SIGMA_W2_GRID if self.sigma_w2 is None else (self.sigma_w2,)
        return [
            replace(self, lam=lam, sigma_w2=sigma_w2, n_iter=self.n_iter or 50)
            for lam, sigma_w2 in itertools.product(lams, widths)
        ]

    def _engine(self, prepared: Prepared, column: int) -> Engine:
        f = prepared.f[:, column]
        sigma2 = squared_bandwidth(np.sort(f)[:, None], self.prediction_bandwidth)
        options = self._options(prepared.random_state)
        if self.engine == "exact":
            if len(f) > EXACT_LIMIT:
                raise InputError(
                    f"engine: 'exact' needs n x n matrices; found n = {len(f)}, accepted: at most {EXACT_LIMIT}."
                )
            return ExactEngine(prepared.kernels(options), sigma2)
        embedding = prepared.embedding(options)
        if self.engine == "fused":
            return FusedEngine(embedding, f, sigma2, self.rank)
        return LowRankEngine(embedding, sigma2, self.rank)

    def steps(self, prepared: Prepared) -> Iterator[Step]:
        """Yield the steps of Algorithm 1, the columns of class scores side by side; the setting must be complete."""
        assert self.lam is not None
        assert self.sigma_w2 is not None
        assert self.n_iter is not None
        columns = [
            denoise_steps(
                prepared.once(("engine", self.engine_key(), c), partial(self._engine, prepared, c)),
                prepared.f[:, c],
                self.lam,
                self.sigma_w2,
                self.n_iter,
                self.optimizer,
                self.inner_iter,
            )
            for c in range(prepared.f.shape[1])
        ]
        for together in zip(*columns, strict=True):
            yield Step(
                t=together[0].t,
                f=np.column_stack([step.f for step in together]),
                weights=np.mean([step.weights for step in together], axis=0),
                dependence=np.mean([step.dependence for step in together], axis=0),
                energies=together[0].energies,
            )

    def engine_key(self) -> tuple[object, ...]:
        """Return what an engine depends on, so that settings can share it."""
        skip = ("lam", "sigma_w2", "n_iter", "inner_iter", "optimizer", "patience", "n_threads")
        return tuple(value for name, value in self.params().items() if name not in skip)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Run Algorithm 1; with labels, under all settings that are left open, and return the best step."""

        def path_of(setting: Tupi) -> Path:
            return prepared.once(setting, lambda: Path(prepared, setting.steps(prepared)))

        with threads_for(self.n_threads, len(prepared.items) * len(prepared.problem.views) * self.rank):
            settings = self.settings(labels is not None)
            if labels is None:
                return self._unlabelled(settings[0], path_of(settings[0]), watch)
            choice = choose(settings, path_of, prepared, labels, self.patience, watch)
        chosen = replace(choice.setting, n_iter=choice.t) if choice.t else choice.setting
        step = choice.path.upto(choice.t)[-1]
        note = (
            f"lam={chosen.lam:g}, sigma_w2={chosen.sigma_w2:g} and {choice.t} steps scored best "
            f"of {choice.tried} settings on the labels."
            if choice.t
            else f"None of {choice.tried} settings scored better on the labels than the initial predictions."
        )
        params = chosen.params() | {"n_iter": choice.t}
        return Fit(step.f, params, choice.path.upto(choice.t), choice.scores[: choice.t + 1], (note,))

    def _unlabelled(self, setting: Tupi, path: Path, watch: Watch | None) -> Fit:
        t = 0
        try:
            while path.step(t + 1, watch) is not None:
                t += 1
        except Stopped:
            t += 1  # the step that the watcher saw counts
        steps = path.upto(t)
        return Fit(steps[-1].f, setting.params() | {"n_iter": len(steps) - 1}, steps, [])
