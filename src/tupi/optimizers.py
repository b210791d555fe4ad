"""Minimisation within one step of Algorithm 1. No way ever accepts a point of higher energy.

Vectors are measured by their root mean square, so that the number of items does not change the path: a data set and
two copies of it take the same steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from tupi.energy import Objective, Vector

MEMORY = 8  # curvature pairs of L-BFGS
FIRST_MOVE = 0.05  # root mean square of the first trial step; predictions have deviation one
SUFFICIENT = 1e-4  # Armijo's constant
MAX_HALVINGS = 25
Minimizer = Callable[[Objective, Vector, int], tuple[Vector, list[float]]]


def lbfgs(objective: Objective, f: Vector, max_iter: int, tol: float = 1e-9) -> tuple[Vector, list[float]]:
    """Minimise by limited-memory BFGS with a backtracking line search.

    Parameters
    ----------
    objective : callable
        f -> (energy, gradient).
    f : ndarray of shape (n,)
        Where to begin.
    max_iter : int
        How many points to accept at most; one costs one evaluation as a rule.
    tol : float
        Stop when an accepted step lowers the energy by less than this share.

    Returns
    -------
    f : ndarray of shape (n,)
        The last accepted point.
    energies : list of float
        Energy at the start and at each accepted point; it never rises.
    """
    energy, gradient = objective(f)
    energies = [energy]
    pairs: deque[tuple[Vector, Vector, float]] = deque(maxlen=MEMORY)
    for _ in range(max_iter):
        direction = -_inverse_hessian_times(gradient, pairs)
        slope = float(gradient @ direction)
        if not slope < 0:
            break
        step = 1.0 if pairs else FIRST_MOVE * np.sqrt(len(f)) / float(np.linalg.norm(direction))
        accepted = _backtrack(objective, f, energy, direction, slope, step)
        if accepted is None:
            break
        new_f, new_energy, new_gradient = accepted
        s, y = new_f - f, new_gradient - gradient
        curvature = float(s @ y)
        if curvature > 1e-10 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs.append((s, y, 1.0 / curvature))
        decrease = energy - new_energy
        f, energy, gradient = new_f, new_energy, new_gradient
        energies.append(energy)
        if decrease <= tol * max(abs(energy), tol):
            break
    return f, energies


class BarzilaiBorwein:
    """Gradient steps whose length comes from the curvature met two steps before, and at first from the last time.

    The delay (Barzilai and Borwein's rule with a retard) lets a step be decided before its gradient is known, so that
    an engine can compute the gradient, move, and sum up for the next energy in a single read of the embedding.
    """

    def __init__(self) -> None:
        self.length: float | None = None

    def __call__(self, objective: Objective, f: Vector, max_iter: int) -> tuple[Vector, list[float]]:
        """Minimise; see `lbfgs`."""
        energy = objective.energy(f)
        energies = [energy]
        length = self.length
        if length is None:
            size = float(np.linalg.norm(objective(f)[1]))
            length = FIRST_MOVE * np.sqrt(len(f)) / max(size, np.finfo(float).tiny)
        before: tuple[Vector, Vector] | None = None
        for _ in range(max_iter):
            gradient, new_f, new_energy = objective.move(f, length)
            following = 2 * length
            if before is not None:  # the pair of the step before is complete now; it serves the step after this one
                s, y = f - before[0], gradient - before[1]
                curvature = float(s @ y)
                following = curvature / float(y @ y) if curvature > 0 else 5 * length
            for _ in range(MAX_HALVINGS):
                if new_energy <= energy:
                    break
                length *= 0.4
                new_f = f - length * gradient
                new_energy = objective.energy(new_f)
            else:
                break
            before = (f, gradient)
            f, energy, self.length = new_f, new_energy, length
            energies.append(energy)
            length = float(np.clip(following, length / 5, length * 5))
        return f, energies


def gradient_descent(objective: Objective, f: Vector, max_iter: int, tol: float = 1e-9) -> tuple[Vector, list[float]]:
    """Minimise by plain gradient descent, as the paper does; the step is halved whenever the energy would rise."""
    energy, gradient = objective(f)
    energies = [energy]
    step = FIRST_MOVE * np.sqrt(len(f)) / max(float(np.linalg.norm(gradient)), np.finfo(float).tiny)
    for _ in range(max_iter):
        slope = -float(gradient @ gradient)
        accepted = _backtrack(objective, f, energy, -gradient, slope, step)
        if accepted is None:
            break
        step = float(np.linalg.norm(accepted[0] - f) / np.sqrt(-slope))
        decrease = energy - accepted[1]
        f, energy, gradient = accepted
        energies.append(energy)
        if decrease <= tol * max(abs(energy), tol):
            break
    return f, energies


def _inverse_hessian_times(gradient: Vector, pairs: deque[tuple[Vector, Vector, float]]) -> Vector:
    """Return H g by the two-loop recursion; with no pairs yet, g itself."""
    q = gradient.copy()
    if not pairs:
        return q
    alphas = []
    for s, y, rho in reversed(pairs):
        alpha = rho * float(s @ q)
        alphas.append(alpha)
        q -= alpha * y
    s, y, rho = pairs[-1]
    q *= 1.0 / (rho * float(y @ y))
    for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - rho * float(y @ q)) * s
    return q


def _backtrack(
    objective: Objective, f: Vector, energy: float, direction: Vector, slope: float, step: float
) -> tuple[Vector, float, Vector] | None:
    """Return the first point along the direction that lowers the energy enough, or None."""
    for _ in range(MAX_HALVINGS):
        trial = f + step * direction
        new_energy, new_gradient = objective(trial)
        if new_energy <= energy + SUFFICIENT * step * slope:
            return trial, new_energy, new_gradient
        step *= 0.5
    return None


# What makes a minimiser for one path: it may remember something from step to step.
OPTIMIZERS: dict[str, Callable[[], Minimizer]] = {
    "bb": BarzilaiBorwein,
    "lbfgs": lambda: lbfgs,
    "gradient": lambda: gradient_descent,
}
