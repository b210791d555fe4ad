"""Parts 1 to 3: a gradient step, the whole call and a sweep at n = 50,000, five 64-dimensional views, K = 50."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

import tupi
from benchmarks.measure import Clock, Contestant, Figure, Part, compiled, matrices, ratio, side_by_side
from benchmarks.paper_gradient import PaperGradient
from benchmarks.workload import make
from tupi.algorithm.denoiser import Run, advance
from tupi.algorithm.engines.fused import FusedEngine
from tupi.algorithm.trajectory import Trajectory, follow
from tupi.blocks.home import Memory
from tupi.embedding.gaussian import SAMPLE, basis_points, kernel_matrix, sample_views, squared_bandwidth
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi

LAMS, WIDTHS = (0.05, 0.1, 0.3, 0.8, 2.0), (0.01, 0.03, 0.1, 0.3, 1.0)
SETTING = Tupi(lam=0.3, sigma_w2=0.1, n_iter=50)
REFERENCE = replace(SETTING, engine="reference")
WARM_UP = 3  # steps of Algorithm 1 before gradients are timed: predictions are no longer sorted exactly
PARTS = 16  # of the rows, for the plain read: as many as the engine has
Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Subject:
    """Data, embedded for all contestants.

    Attributes
    ----------
    scores, views : ndarray, dict
        What a user has.
    prepared : Prepared
        The same, embedded.
    threads : int
        What everyone may use.
    clock : callable
        What times are taken with.
    """

    scores: Array
    views: dict[str, Array]
    prepared: Prepared
    threads: int
    clock: Clock = time.perf_counter

    @classmethod
    def of(cls, n: int, threads: int, columns: int = 64, clock: Clock = time.perf_counter) -> Subject:
        """Make data and embed them."""
        scores, views = make(n, columns)
        return cls(scores, views, Prepared(make_problem(scores, views)), threads, clock)

    def run(self, method: Tupi) -> Run:
        """Return a run of Algorithm 1 under a setting."""
        return method.runs(self.prepared)[0]

    def paper_gradient(self, f: Array, weights: Array) -> PaperGradient:
        """Return the paper's gradient at f(t), with the engine's own basis points and widths."""
        items, views = self.prepared.items[self.prepared.order], []
        for view in self.prepared.problem.views:
            sample = sample_views(Memory((view,), items), SAMPLE, SETTING.scaling)[0]
            sigma2 = squared_bandwidth(sample, SETTING.bandwidth)
            basis = basis_points(sample, SETTING.rank, self.prepared.random_state)
            K_iB = np.array(kernel_matrix(view.rows(items, SETTING.scaling), basis, sigma2))
            views.append((K_iB, kernel_matrix(basis, basis, sigma2)))
        width = squared_bandwidth(np.sort(self.prepared.f[:, 0])[:, None], SETTING.prediction_bandwidth)
        assert SETTING.lam is not None
        return PaperGradient(f, views, weights, SETTING.lam, width, SETTING.rank)


@numba.njit(parallel=True, fastmath=True)
def plain_read(U: Array) -> float:
    """Return the sum of all entries: the least that a pass over the embedding can do."""
    rows = len(U)
    totals = np.zeros(PARTS)
    for part in numba.prange(PARTS):
        entries = U[part * rows // PARTS : (part + 1) * rows // PARTS].reshape(-1)
        total = np.float32(0.0)
        for j in range(len(entries)):
            total += entries[j]
        totals[part] = total
    return totals.sum()


def gradient_step(subject: Subject, rounds: int) -> Part:
    """Part 1: one move of the fused engine against a plain read, the paper's gradient and the reference's."""
    with compiled(subject.threads)():
        run = subject.run(SETTING)
        for _ in range(1 + WARM_UP):
            advance([run])
        engine, state, weights = run.engine, run.state, run.weights
        assert isinstance(engine, FusedEngine)
        descent = engine.descent([state], [weights], [run.lam])
    lengths, momenta = np.array([run.length]), np.array([run.momentum])
    U = engine.embedding.blocks[0].rows
    paper = subject.paper_gradient(state.f, weights)
    reference = subject.run(REFERENCE).engine
    objective = reference.objective(state.f, weights, run.lam)
    contestants = {
        "fused": Contestant(lambda: descent.move(lengths, momenta), compiled(subject.threads)),
        "read": Contestant(lambda: plain_read(U), compiled(subject.threads)),
        "numpy sum": Contestant(lambda: U.sum()),
        "reference": Contestant(lambda: objective(state.f), matrices(subject.threads)),
        "paper": Contestant(lambda: paper(state.f), matrices(subject.threads)),
    }
    side_by_side(contestants, 1)  # compiles
    times = side_by_side(contestants, rounds, calls=3, clock=subject.clock)
    fused = times["fused"]
    figures = [
        ratio("1", "gradient step / plain read of the embedding, U.sum()", fused, times["numpy sum"], 2.5, "at most"),
        ratio("1", "gradient step / compiled read on as many threads", fused, times["read"], 2.5, "at most"),
        ratio("1", "paper's gradient / gradient step", times["paper"], fused, 20, "at least"),
        Figure("1", "reference engine's gradient / gradient step", times["reference"].median / fused.median,
               best=times["reference"].least / fused.least, form="{:.3g} x"),
    ]  # fmt: skip
    for name, label in (
        ("fused", "gradient step"),
        ("numpy sum", "plain read, U.sum()"),
        ("read", "compiled read on as many threads"),
        ("paper", "paper's gradient"),
    ):
        figures.append(Figure("1", label, 1e3 * times[name].median, best=1e3 * times[name].least, form="{:.2f} ms"))
    details = {name: each.summary() for name, each in times.items()}
    shape = {"n": engine.embedding.n, "columns": engine.embedding.width, "bytes": U.nbytes, "grid": engine.points}
    return Part(figures, {"seconds": details, "embedding": shape})


def whole_call(subject: Subject, rounds: int) -> Part:
    """Part 2: `tupi.denoise` from raw arrays, T = 50, in units of the paper's gradient."""
    f = subject.prepared.f[subject.prepared.order, 0]
    paper = subject.paper_gradient(f, np.full(len(subject.views), 1 / len(subject.views)))
    settings = {"lam": SETTING.lam, "sigma_w2": SETTING.sigma_w2, "n_iter": SETTING.n_iter}

    def call() -> object:
        return tupi.denoise(subject.scores, subject.views, method="tupi", n_threads=subject.threads, **settings)

    call()  # compiles
    times = side_by_side(
        {"paper": Contestant(lambda: paper(f), matrices(subject.threads)), "call": Contestant(call)},
        rounds,
        clock=subject.clock,
    )
    figures = [
        ratio("2", "whole call, T = 50, in paper's gradients", times["call"], times["paper"], 15, "at most", "{:.3g}"),
        Figure("2", "whole call, T = 50", times["call"].median, best=times["call"].least, form="{:.2f} s"),
    ]
    return Part(figures, {"seconds": {k: v.summary() for k, v in times.items()}, "stages": _stages(subject)})


def _stages(subject: Subject) -> dict[str, float]:
    """Return the seconds that each stage of the whole call takes, once."""
    marks = [subject.clock()]

    def lap() -> float:
        marks.append(subject.clock())
        return marks[-1] - marks[-2]

    seconds = {}
    prepared = Prepared(make_problem(subject.scores, subject.views))
    seconds["checks"] = lap()
    with compiled(subject.threads)():
        trajectory = SETTING.trajectory(prepared)
        seconds["embedding"] = lap()
        follow([trajectory])
        seconds["steps"] = lap()
    return seconds


def sweep(subject: Subject, rounds: int, n_iter: int = 20) -> Part:
    """Part 3: 25 settings side by side, all steps kept, against one: from raw arrays, and once embedded."""
    settings = [replace(SETTING, lam=lam, sigma_w2=width, n_iter=n_iter) for lam in LAMS for width in WIDTHS]

    def followed(chosen: list[Tupi], prepared: Prepared) -> list[Trajectory]:
        trajectories = [setting.trajectory(prepared) for setting in chosen]
        follow(trajectories)
        return trajectories

    middle = [settings[len(settings) // 2]]
    context = compiled(subject.threads)
    with context():
        followed(middle, subject.prepared)  # embeds and compiles

    def raw() -> Prepared:
        return Prepared(make_problem(subject.scores, subject.views))

    times = side_by_side(
        {
            "one": Contestant(lambda: followed(middle, raw()), context),
            "sweep": Contestant(lambda: followed(settings, raw()), context),
            "one, embedded": Contestant(lambda: followed(middle, subject.prepared), context),
            "sweep, embedded": Contestant(lambda: followed(settings, subject.prepared), context),
        },
        rounds,
        clock=subject.clock,
    )
    figures = []
    for suffix, meaning in (("", "from raw arrays"), (", embedded", "once embedded")):
        one, all_of_them = times[f"one{suffix}"], times[f"sweep{suffix}"]
        name = f"sweep of {len(settings)} settings / one run, {meaning}"
        figures.append(ratio("3", name, all_of_them, one, 12, "at most"))
        figures.append(Figure("3", f"one run, T = {n_iter}, {meaning}", one.median, best=one.least, form="{:.2f} s"))
    return Part(figures, {"seconds": {name: each.summary() for name, each in times.items()}})
