"""Algorithm 1 of the paper (label ``a:mainalg``): a generator of steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tupi.energy import Objective, Vector, view_weights
from tupi.optimizers import OPTIMIZERS


class Engine(Protocol):
    """What Algorithm 1 asks of an engine."""

    def dependence(self, f: Vector) -> Vector:
        """Return the normalised HSIC of f with each view."""

    def objective(self, f: Vector, weights: Vector, lam: float) -> Objective:
        """Return the energy of the step that begins at f, as a function with its gradient."""


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


def denoise_steps(
    engine: Engine,
    f: Vector,
    lam: float,
    sigma_w2: float,
    n_iter: int,
    optimizer: str = "bb",
    inner_iter: int = 6,
) -> Iterator[Step]:
    """Yield f(0), f(1), ..., f(T) of Algorithm 1.

    Parameters
    ----------
    engine : Engine
        Computes dependences and energies.
    f : ndarray of shape (n,)
        Initial predictions f^I with mean 0 and deviation 1.
    lam, sigma_w2 : float
        lambda of label ``e:denoisingalgorithm``, sigma_w^2 of label ``e:wupdate``.
    n_iter : int
        T, the number of steps.
    optimizer : {"bb", "lbfgs", "gradient"}
        How each step's energy is minimised.
    inner_iter : int
        How many points each minimisation may accept.
    """
    minimize = OPTIMIZERS[optimizer]()
    dependence = engine.dependence(f)
    yield Step(0, f, view_weights(dependence, sigma_w2), dependence)
    for t in range(1, n_iter + 1):
        weights = view_weights(dependence, sigma_w2)
        f, energies = minimize(engine.objective(f, weights, lam), f, inner_iter)
        # The energy hardly sees shift and scale; without this they drift, and the width of the kernel with them.
        f = (f - f.mean()) / f.std()
        dependence = engine.dependence(f)
        yield Step(t, f, view_weights(dependence, sigma_w2), dependence, tuple(energies))
