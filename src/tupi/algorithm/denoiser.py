"""Algorithm 1 of the paper (label ``a:mainalg``), for one setting or for many side by side: see `advance`."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tupi.algorithm.energy import Objective, Vector

ROUNDING = 1e-7  # of the energy, as a share of the most that it can be: sums of float32
MOMENTA = {"gradient": 0.0, "momentum": 0.6}  # the paper's plain descent, and a faster one for many moves per step
MEMORY = 5  # curvatures that are remembered, across steps of Algorithm 1
FIRST_MOVE = 0.05  # root mean square of the first move; predictions have deviation one
MAX_HALVINGS = 25
LEAST = 1e-200  # length: a run may reject every move, step after step, and must not divide by zero


class State(Protocol):
    """Where a run stands between two steps."""

    @property
    def f(self) -> Vector:
        """The predictions f(t), with mean 0 and deviation 1."""

    @property
    def dependence(self) -> Vector:
        """Normalised HSIC of f(t) with each view."""


class Descent(Protocol):
    """The energies of one step of Algorithm 1 while they are minimised, for several runs."""

    @property
    def energies(self) -> Vector:
        """The energy of each run where it stands."""

    def move(self, lengths: Vector, momenta: Vector) -> tuple[Vector, Vector]:
        """Try momentum * last move - length * gradient.

        Returns
        -------
        energies : ndarray of shape (runs,)
            The energy there.
        products : ndarray of shape (runs, 3)
            With gradient g, its change y and the last move s: g.g, s.y and y.y.
        """

    def shorten(self, runs: Sequence[int], lengths: Sequence[float]) -> Vector:
        """Try other lengths from the same points without momentum, for some runs; return the energies there."""

    def accept(self, runs: Sequence[int]) -> None:
        """Go where these runs tried to; the others stay."""

    def finish(self) -> list[Any]:
        """Return the states that were reached, standardised."""


class Engine(Protocol):
    """How sums over items are computed."""

    def begin(self, f: Vector) -> Any:
        """Return the state at the initial predictions."""

    def descent(
        self, states: list[Any], weights: list[Vector], lams: list[float], extra: Objective | None = None
    ) -> Descent:
        """Return the energies of the step that begins at these states (label ``e:denoisingalgorithm``).

        ``extra`` is added to each, a function of f with its gradient.
        """


@dataclass(frozen=True, eq=False)
class Step:
    """The state after t steps.

    Attributes
    ----------
    t : int
        How many steps were taken; 0 is the initial prediction.
    f : ndarray of shape (n,)
        The predictions f(t), with deviation one.
    weights : ndarray of shape (m,)
        w_i(t), by which the next step would be taken.
    dependence : ndarray of shape (m,)
        Normalised HSIC of f(t) with each view.
    energies : tuple of float
        The energy along the minimisation that led here; empty for t = 0.
    """

    t: int
    f: Vector
    weights: Vector
    dependence: Vector
    energies: tuple[float, ...] = ()


@dataclass(eq=False)
class Run:
    """One setting of Algorithm 1 and where it stands; `advance` takes it further.

    Each step's energy is minimised by gradient steps that never raise it. How long these are is decided before the
    gradient is known, from the curvature met so far, so that an engine can compute the gradient, move, and sum up for
    the next energy in a single read of the embedding. A length is the inverse of the largest recent curvature: unlike
    rules that chase the last curvature (Barzilai and Borwein's), it varies smoothly with the data, so that two engines,
    or two machines, stay on the same path. Vectors are measured per item, so that the number of items does not change
    the path: a data set and two copies of it take the same steps.

    Attributes
    ----------
    engine : Engine
        Computes dependences and energies.
    initial : ndarray of shape (n,)
        The initial predictions f^I with mean 0 and deviation 1.
    lam, sigma_w2 : float
        lambda of label ``e:denoisingalgorithm``, sigma_w^2 of label ``e:wupdate``.
    n_iter : int
        T, the number of steps.
    optimizer : {"gradient", "momentum"}
        How each step's energy is minimised.
    inner_iter : int
        How many moves each minimisation makes.
    discount : bool
        Whether views count only for what they have beyond f^I, which is 1 minus their normalised HSIC with it.
    t : int
        How many steps were taken.
    state : State
        Where the run stands; None before it has begun.
    energies : tuple of float
        The energy along the minimisation that led there.
    length : float or None
        What the next gradient is multiplied by; None until a gradient was seen.
    curvatures : deque of float
        The last few that were met.
    """

    engine: Engine
    initial: Vector
    lam: float
    sigma_w2: float
    n_iter: int
    optimizer: str = "gradient"
    inner_iter: int = 4
    discount: bool = False
    t: int = field(default=0, init=False)
    state: Any = field(default=None, init=False)
    energies: tuple[float, ...] = field(default=(), init=False)
    length: float | None = field(default=None, init=False)
    curvatures: deque[float] = field(default_factory=lambda: deque(maxlen=MEMORY), init=False)
    _news: Vector | None = field(default=None, init=False)

    def begin(self) -> None:
        """Stand at the initial predictions."""
        self.state = self.engine.begin(self.initial)
        if self.discount:
            self._news = np.clip(1.0 - self.state.dependence, 0.0, 1.0)

    @property
    def weights(self) -> Vector:
        """w_i(t) (label ``e:wupdate``)."""
        return view_weights(self.state.dependence, self.sigma_w2, self._news)

    def step(self) -> Step:
        """Return where the run stands."""
        f = self.state.f if self.t else self.initial  # exactly what came in, not through a grid and back
        return Step(self.t, f, self.weights, self.state.dependence, self.energies)

    @property
    def momentum(self) -> float:
        """Share of the last move that is repeated, from 0 to 1."""
        return MOMENTA[self.optimizer]

    def first_length(self, gg: float) -> None:
        """Set the first length from the squared norm of the first gradient."""
        self.length = FIRST_MOVE * np.sqrt(len(self.initial)) / max(np.sqrt(gg), np.finfo(float).tiny)

    def learn(self, sy: float, yy: float) -> None:
        """Take in the curvature between two points, a move s apart whose gradients differ by y."""
        if sy > 0:
            self.curvatures.append(yy / sy)

    def accepted(self) -> None:
        """Choose the next length after a move that lowered the energy."""
        assert self.length is not None
        self.length = 1.0 / max(self.curvatures) if self.curvatures else 2 * self.length

    def rejected(self) -> float:
        """Return a shorter length after a move that raised the energy; it stands for all that was learned before."""
        assert self.length is not None
        self.length = max(0.5 * self.length, LEAST)
        self.curvatures.clear()
        self.curvatures.append(1.0 / self.length)
        return self.length


def view_weights(dependence: Vector, sigma_w2: float, news: Vector | None = None) -> Vector:
    """Return w_i(t) of each view from its normalised HSIC with f(t) (label ``e:wupdate``).

    The squared distance is d^2 = 1 - HSIC; differences are taken first, so that a tiny ``sigma_w2`` picks the single
    most dependent view instead of dividing zero by zero.

    Parameters
    ----------
    dependence : ndarray of shape (m,)
        Normalised HSIC of f(t) with each view.
    sigma_w2 : float
        sigma_w^2.
    news : ndarray of shape (m,), optional
        What each view has beyond f^I, from 0 for a copy to 1. Then w_i is proportional to
        news_i exp(-(1 - news_i HSIC_i) / sigma_w2): to be a copy helps as little as to be unrelated.
    """
    if news is None:
        news = np.ones_like(dependence)
    merit = news * dependence
    weights = news * np.exp((merit - merit.max()) / sigma_w2)
    return weights / weights.sum() if weights.any() else np.full(len(weights), 1.0 / len(weights))


def advance(runs: Sequence[Run]) -> list[Step]:
    """Take each run once through the loop of Algorithm 1, and return the steps that they come to.

    ::

        t = 0; f(0) = f^I
        repeat
            calculate the weights w_i(t)                    (label e:wupdate)
            let f(t + 1) minimise the energy O(f; t)        (label e:denoisingalgorithm)
            t = t + 1
        until a termination condition is met, at the latest t = T

    The first call of a run does what stands before the loop, and each further call what stands in it. When to end is up
    to the caller, such as `tupi.algorithm.trajectory.follow`. The runs must share their engine and the number of moves
    per step: then the embedding is read as often for all of them as for one.
    """
    going = [run for run in runs if run.state is not None]
    for run in runs:
        if run.state is None:
            run.begin()
    if going:
        weights, lams = [run.weights for run in going], [run.lam for run in going]
        energy = going[0].engine.descent([run.state for run in going], weights, lams)
        falls = _minimize(energy, going)
        for run, state, fall in zip(going, energy.finish(), falls, strict=True):
            run.t, run.state, run.energies = run.t + 1, state, tuple(fall)
    return [run.step() for run in runs]


def _minimize(descent: Descent, runs: Sequence[Run]) -> list[list[float]]:
    """Minimise the energies of all runs side by side; return how each went down.

    Where a move raises the energy by no more than rounding may, nobody can tell whether it does: the run stays until
    the next step, and keeps its length. A move that raises it by more is shortened.
    """
    energies = [[float(energy)] for energy in descent.energies]
    rounding = [ROUNDING * (1.0 + run.lam) for run in runs]
    if any(run.length is None for run in runs):
        zero = np.zeros(len(runs))
        _, products = descent.move(zero, zero)
        for run, (gg, _, _) in zip(runs, products, strict=True):
            if run.length is None:
                run.first_length(float(gg))
    going = set(range(len(runs)))
    for iteration in range(runs[0].inner_iter):
        moving = np.array([m in going for m in range(len(runs))])
        lengths = np.array([run.length for run in runs]) * moving
        momenta = np.array([run.momentum for run in runs]) * moving
        new_energies, products = descent.move(lengths, momenta)
        if iteration > 0:
            for m in going:
                runs[m].learn(float(products[m, 1]), float(products[m, 2]))
        rising = sorted(going)
        for halvings in range(1 + MAX_HALVINGS):
            rise = {m: new_energies[m] - energies[m][-1] for m in rising}
            going -= {m for m in rising if 0 < rise[m] <= rounding[m]}
            rising = [m for m in rising if m in going and not rise[m] <= 0]
            if not rising or halvings == MAX_HALVINGS:
                break
            new_energies[rising] = descent.shorten(rising, [runs[m].rejected() for m in rising])
        going -= set(rising)
        if not going:
            break
        for m in going:
            runs[m].accepted()
            energies[m].append(float(new_energies[m]))
        descent.accept(sorted(going))
    return energies
