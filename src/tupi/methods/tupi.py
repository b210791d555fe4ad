"""The paper's method: denoising on the manifold of kernels by statistical dependence (Algorithm 1)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import MOMENTA, Engine, Run, Step
from tupi.algorithm.energy import Vector
from tupi.algorithm.engines import ENGINES
from tupi.algorithm.engines.fused import FusedEngine
from tupi.algorithm.engines.passes import descend_parts
from tupi.algorithm.engines.plain import ExactEngine, LowRankEngine
from tupi.algorithm.trajectory import InMemory, Shelf, Trajectory, Watch, choose, follow
from tupi.embedding.embedding import KERNELS, NORMALIZATIONS, EmbeddingOptions, embed, exact_kernel
from tupi.embedding.gaussian import check_bandwidth, squared_bandwidth
from tupi.embedding.joint_graph import joint_view
from tupi.embedding.prepared import Prepared, standardize
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.inputs.views import View
from tupi.methods.base import Fit, Method, from_shares, nearest_shares
from tupi.methods.explicit import explicit_model
from tupi.methods.reach import SHORT_LAM, compared, lam_of, most_steps, moved, reach_of, why_so_far
from tupi.runtime.computing import must_compile, threads_for
from tupi.runtime.errors import InputError, nearest

#: What labels choose from. The paper names no grid: `tupi reproduce readings` compares this one with others.
LAM_GRID = (0.1, 0.4, 1.5, 6.0)
SIGMA_W2_GRID = (0.01, 0.3, 10.0)
MAX_STEPS = 50  # the paper's T
#: Without labels: nearly even weights; `tupi.methods.reach` says how long steps are, and when to stop.
QUIET_SIGMA_W2 = 10.0
QUIET_STEPS = 3  # where nothing says when to stop
RESTORING = ("safe", "paper")
EXACT_LIMIT = 20_000  # items: three n x n matrices of doubles are then 10 GB


@dataclass(frozen=True, kw_only=True)
class Tupi(Method):
    """Settings of the paper's method; names follow the paper.

    Parameters
    ----------
    lam : float, optional
        lambda: how strongly each step pulls towards the views. None: with labels chosen from 0.1 to 6, without them
        0.1, or 0.3 where predictions may move far (`tupi.methods.reach`).
    sigma_w2 : float, optional
        sigma_w^2: how evenly the views are weighted; small picks the most dependent one. None: with labels chosen from
        0.01 to 10, without them 10.
    n_iter : int, optional
        T: the number of steps; with labels at most so many, and the best of them is returned. None: 50 with labels.
        Without them, steps end when the predictions have moved by what views take for error
        (`tupi.methods.reach`), at the latest when ``lam`` times T is 7.5; on Dask after 3.
    kernel : {"gaussian", "diffusion"}, optional
        Kernels of the views. None: with labels chosen from both, without them diffusion.
    rank : int
        K: basis points per view.
    bandwidth : str or float
        Width rule of the views' Gaussian kernels, see `tupi.embedding.gaussian`.
    prediction_bandwidth : str or float
        Width rule of the predictions' kernel.
    engine : {"fused", "reference", "exact", "dask"}
        How sums over items are computed: compiled, numpy, whole n x n matrices, or compiled on a Dask cluster.
    discount : bool
        Whether views count only for what they have beyond the initial predictions, so that copies of those do not
        hold the result back. The paper's weights (label ``e:wupdate``) do not.
    joint : bool
        Whether all views form one kernel, in place of one each with the weights of label ``e:wupdate``. Views that say
        little alone, such as other rankers' scores, may say much together; there are no weights then.
    restore : {"safe", "paper"}
        How denoised columns become values or probabilities again. ``"paper"``: means and scales are stored, columns are
        normalised and denoised, and both are restored; probabilities then go to the nearest ones. ``"safe"`` is what
        `tupi.embedding.prepared` does, and better. For rankings both are the same.
    n_threads : int, optional
        Threads to use; None for all cores that this process may use.

    Advanced
    --------
    What follows has defaults that nothing in this repository changes.

    scaling : {"columns", "view"}
        Whether columns of a view are scaled each or all together.
    n_neighbors, time : int, float
        Graph and duration of diffusion kernels.
    optimizer : {"gradient", "momentum"}
        How each step's energy is minimised: the paper's plain descent, or one with momentum, for many moves per step.
    inner_iter : int
        Moves of each minimisation.
    patience : int
        With labels: leave a path when the score has not increased for so many steps; the paper's rule is 1.
    normalization : {"supplement", "main"}
        Whether kernels are divided by ||C K C||_F, as in the paper's supplement, or by ||K C||_F, as in its main text;
        the latter with ``engine="exact"`` only.
    """

    name: ClassVar[str] = "tupi"

    lam: float | None = None
    sigma_w2: float | None = None
    n_iter: int | None = None
    kernel: str | None = "gaussian"
    rank: int = 50
    bandwidth: str | float = "std-as-sigma"
    prediction_bandwidth: str | float = "std-as-sigma"
    scaling: str = "columns"
    n_neighbors: int = 10
    time: float = 5.0
    engine: str = "fused"
    optimizer: str = "gradient"
    inner_iter: int = 4
    discount: bool = False
    joint: bool = False
    patience: int = 1
    restore: str = "safe"
    normalization: str = "supplement"
    n_threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("lam", "sigma_w2"):
            check_positive(name, getattr(self, name))
        for name in ("n_iter", "inner_iter", "patience", "n_threads"):
            optional = name in ("n_iter", "n_threads")
            check_positive(name, getattr(self, name), whole=True, least=1, optional=optional)
        check_bandwidth(self.prediction_bandwidth, "prediction_bandwidth")
        for name, value, known in (
            ("engine", self.engine, ENGINES),
            ("optimizer", self.optimizer, MOMENTA),
            ("restore", self.restore, RESTORING),
            ("normalization", self.normalization, NORMALIZATIONS),
        ):
            if value not in known:
                raise InputError(f"{name}: found {value!r}; accepted: {', '.join(known)}.{nearest(str(value), known)}")
        if self.normalization == "main" and self.engine != "exact":
            raise InputError(
                f"normalization: found 'main' with engine {self.engine!r}; accepted with whole matrices only, that is "
                "with engine 'exact'."
            )
        self._options(0)  # checks the rest

    def _options(self, random_state: int) -> EmbeddingOptions:
        return EmbeddingOptions(
            kernel=KERNELS[0] if self.kernel is None else self.kernel,
            rank=self.rank,
            bandwidth=self.bandwidth,
            scaling="view" if self.joint else self.scaling,  # joint columns are scaled already
            n_neighbors=self.n_neighbors,
            time=self.time,
            random_state=random_state,
            normalization=self.normalization,
        )

    def settings(self, labelled: bool) -> list[Tupi]:
        """Return complete settings: one without labels, a grid over what is None with them, cautious ones first."""
        if not labelled:
            kernel = self.kernel or "diffusion"
            lam, sigma_w2 = self.lam or SHORT_LAM, self.sigma_w2 or QUIET_SIGMA_W2
            return [replace(self, kernel=kernel, lam=lam, sigma_w2=sigma_w2, n_iter=self.n_iter or QUIET_STEPS)]
        lams = LAM_GRID if self.lam is None else (self.lam,)
        widths = SIGMA_W2_GRID if self.sigma_w2 is None else (self.sigma_w2,)
        if self.joint:  # one view has weight one whatever the width
            widths = widths[:1]
        kernels = KERNELS if self.kernel is None else (self.kernel,)
        return [
            replace(self, kernel=kernel, lam=lam, sigma_w2=sigma_w2, n_iter=self.n_iter or MAX_STEPS)
            for kernel, lam, sigma_w2 in itertools.product(kernels, lams, widths)
        ]

    def _start(self, prepared: Prepared) -> NDArray[np.float64]:
        """Return the columns that Algorithm 1 begins with, standardised: in the paper's recipe those that came in."""
        if self.restore == "paper" and prepared.problem.are_probabilities:
            return standardize(prepared.problem.initial, prepared.problem.covered)[0]
        return prepared.f

    def _engine(self, prepared: Prepared, column: int) -> Engine:
        f = self._start(prepared)[prepared.order, column]
        sigma2 = squared_bandwidth(np.sort(f)[:, None], self.prediction_bandwidth)
        options = self._options(prepared.random_state)
        if self.engine == "dask":
            raise InputError("engine: 'dask' is for tupi.denoise alone; accepted here: fused, reference, exact.")
        if self.engine == "exact":
            if len(f) > EXACT_LIMIT:
                raise InputError(
                    f"engine: 'exact' needs n x n matrices; found n = {len(f)}, accepted: at most {EXACT_LIMIT}."
                )
            if self.joint:
                whole = exact_kernel(self._joint(prepared, column), options)
                return ExactEngine([whole[np.ix_(prepared.order, prepared.order)]], sigma2, self.normalization)
            return ExactEngine(prepared.kernels(options), sigma2, self.normalization)
        if self.engine == "reference":
            options = replace(options, spared=0.0, dtype="float64")
        if self.joint:
            embedding = embed([self._joint(prepared, column)], options, prepared.order)
        else:
            embedding = prepared.embedding(options)
        if self.engine == "fused":
            must_compile(descend_parts, prepared.progress)
            return FusedEngine(embedding, f, sigma2, self.rank)
        return LowRankEngine(embedding, sigma2, self.rank)

    def _joint(self, prepared: Prepared, column: int) -> View:
        """Return all views as one; if copies are to be discounted, each by its own dependence on the predictions."""
        if not self.discount:
            return prepared.once("joint view", lambda: joint_view(prepared))
        alone = replace(self, joint=False, discount=False, kernel="gaussian", scaling="columns")
        dependence = alone.engine_of(prepared, column).begin(self._start(prepared)[prepared.order, column]).dependence
        return joint_view(prepared, np.clip(1.0 - dependence, 0.0, 1.0))

    def run(self, engine: Engine, f: Vector) -> Run:
        """Return the run of Algorithm 1 from some predictions on an engine; the setting must be complete."""
        assert self.lam is not None
        assert self.sigma_w2 is not None
        assert self.n_iter is not None
        discount = self.discount and not self.joint
        return Run(engine, f, self.lam, self.sigma_w2, self.n_iter, self.optimizer, self.inner_iter, discount)

    def runs(self, prepared: Prepared) -> list[Run]:
        """Return the runs of Algorithm 1, one per class column that varies; the setting must be complete."""
        start = self._start(prepared)
        return [self.run(self.engine_of(prepared, c), start[prepared.order, c]) for c in _varying(prepared)]

    def trajectory(self, prepared: Prepared, shelf: Shelf | None = None) -> Trajectory:
        """Return the trajectory of this setting, which must be complete, before its first step."""
        shelf = shelf or InMemory(prepared, calibrated=self.restore == "paper")
        return Trajectory(shelf, self.runs(prepared), partial(self._joined, prepared))

    def _joined(self, prepared: Prepared, columns: Sequence[Step]) -> Step:
        """Return the step of all class columns side by side, with the items in their own order."""
        m = len(prepared.problem.views)
        start = self._start(prepared)
        f = start.copy()
        f[np.ix_(prepared.order, _varying(prepared))] = np.column_stack([step.f for step in columns])
        if start is not prepared.f:
            f = from_shares(prepared, nearest_shares(_unscaled(prepared, f))) if columns[0].t else prepared.f
        weights = np.mean([step.weights for step in columns], axis=0)
        dependence = np.mean([step.dependence for step in columns], axis=0)
        return Step(
            t=columns[0].t,
            f=f,
            weights=np.full(m, 1.0 / m) if self.joint else weights,
            dependence=np.full(m, np.nan) if self.joint else dependence,
            energies=columns[0].energies,
        )

    def engine_key(self) -> tuple[object, ...]:
        """Return what an engine depends on, so that settings can share it."""
        skip = ("lam", "sigma_w2", "n_iter", "inner_iter", "optimizer", "patience", "n_threads")
        return tuple(value for name, value in self.params().items() if name not in skip)

    def engine_of(self, prepared: Prepared, column: int) -> Engine:
        """Return the engine of a column, which is made once for all settings that can share it."""
        return prepared.once(("engine", self.engine_key(), column), lambda: self._engine(prepared, column))

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Run Algorithm 1; with labels, under all settings that are left open, and return the best step."""

        def trajectory_of(setting: Tupi) -> Trajectory:
            key = replace(setting, patience=1)  # how long labels wait changes no step
            return prepared.once(key, lambda: setting.trajectory(prepared))

        with threads_for(self.n_threads, len(prepared.items) * len(prepared.problem.views) * self.rank):
            settings = self.settings(labels is not None)
            if labels is None:
                return self._fit_quietly(prepared, settings[0], trajectory_of, watch)
            choice = choose(settings, trajectory_of, prepared, labels, self.patience, watch)
        chosen = replace(choice.setting, n_iter=choice.t) if choice.t else choice.setting
        steps = choice.trajectory.steps[: choice.t + 1]
        note = chosen.why(choice.t, choice.tried)
        return self._finished(prepared, steps, chosen, choice.t, choice.scores[: choice.t + 1], (note,))

    def _finished(
        self,
        prepared: Prepared,
        steps: list[Step],
        setting: Tupi,
        t: int,
        scores: Sequence[float] = (),
        notes: tuple[str, ...] = (),
    ) -> Fit:
        """Return the fit that ends with the last of these steps, with a function of items that come later."""
        params = setting.params() | {"n_iter": t}
        fit = Fit(steps[-1].f, params, steps, list(scores), notes, calibrated=self.restore == "paper")
        options = setting._options(prepared.random_state)
        return replace(fit, model=lambda: explicit_model(prepared, fit.predictions(prepared), options))

    def _fit_quietly(
        self, prepared: Prepared, setting: Tupi, trajectory_of: Callable[[Tupi], Trajectory], watch: Watch | None
    ) -> Fit:
        """Run Algorithm 1 without labels: as many steps as were asked for, or as views give reason for."""
        if self.n_iter is not None:
            trajectory = trajectory_of(setting)
            follow([trajectory], watch=watch)
            steps = list(trajectory.steps)
            return self._finished(prepared, steps, setting, len(steps) - 1)
        reach = prepared.once(("reach", self.joint), lambda: reach_of(prepared, self.joint))
        lam = self.lam or lam_of(reach)
        setting = replace(setting, lam=lam, n_iter=most_steps(lam))
        trajectory = trajectory_of(setting)

        initial = compared(prepared, prepared.f)

        def within(step: Step) -> bool:
            return moved(initial, compared(prepared, step.f)) <= reach

        follow([trajectory], watch=lambda step: (watch is not None and watch(step) is True) or not within(step))
        first, *later = trajectory.steps
        steps = [first, *itertools.takewhile(within, later)]
        return self._finished(prepared, steps, setting, len(steps) - 1, notes=(why_so_far(reach),))

    def why(self, t: int, tried: int) -> str:
        """Return the sentence that says why this setting and ``t`` steps were chosen out of so many settings."""
        if not t:
            return f"None of {tried} settings scored better on the labels than the initial predictions."
        best = f"lam={self.lam:g}, sigma_w2={self.sigma_w2:g} and {t} steps"
        return f"{best} scored best of {tried} settings on the labels."


@dataclass(frozen=True, kw_only=True)
class TupiJoint(Tupi):
    """The paper's method as we recommend it: one kernel of all views, copies of the predictions discounted.

    The parameters are those of `Tupi`, three of which have other defaults: ``joint`` and ``discount`` are True, and
    ``kernel`` is None, so that labels choose between Gaussian and diffusion kernels. `tupi reproduce significance`
    compares both methods with the initial predictions.
    """

    name: ClassVar[str] = "tupi-joint"

    kernel: str | None = None
    discount: bool = True
    joint: bool = True


def _unscaled(prepared: Prepared, f: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return standardised probabilities with the means and scales of those that came in."""
    _, scale, shift = standardize(prepared.problem.initial, prepared.problem.covered)
    return f * scale + shift


def _varying(prepared: Prepared) -> NDArray[np.int64]:
    """Return the class columns that differ between items: a class that is never predicted has no kernel to align."""
    return np.flatnonzero(prepared.f.any(axis=0))  # standardised, so that what does not vary is zero
