"""Minimisation within one step of Algorithm 1: gradient steps, with momentum or without; none raises the energy.

Lengths are decided before the gradient is known, from the curvature met so far, so that an engine can compute the
gradient, move, and sum up for the next energy in a single read of the embedding. A length is the inverse of the largest
recent curvature: unlike rules that chase the last curvature (Barzilai and Borwein's), it varies smoothly with the data,
so that two engines, or two machines, stay on the same path.
"""

from __future__ import annotations

from collections import deque

import numpy as np

MOMENTA = {"gradient": 0.0, "momentum": 0.6}  # the paper's plain descent, and a faster one for many moves per step
MEMORY = 5  # curvatures that are remembered, across steps of Algorithm 1
FIRST_MOVE = 0.05  # root mean square of the first move; predictions have deviation one
MAX_HALVINGS = 25
LEAST = 1e-200  # length: a run may reject every move, step after step, and must not divide by zero


class HeavyBall:
    """How far to go: the state of one run's minimiser.

    Vectors are measured per item, so that the number of items does not change the path: a data set and two copies of it
    take the same steps.

    Parameters
    ----------
    momentum : float
        Share of the last move that is repeated, from 0 to 1.

    Attributes
    ----------
    length : float or None
        What the next gradient is multiplied by; None until a gradient was seen.
    """

    def __init__(self, momentum: float) -> None:
        self.momentum = momentum
        self.length: float | None = None
        self._curvatures: deque[float] = deque(maxlen=MEMORY)

    def begin(self, gg: float, n: int) -> None:
        """Set the first length from the squared norm of the first gradient."""
        self.length = FIRST_MOVE * np.sqrt(n) / max(np.sqrt(gg), np.finfo(float).tiny)

    def learn(self, sy: float, yy: float) -> None:
        """Take in the curvature between two points, a move s apart whose gradients differ by y."""
        if sy > 0:
            self._curvatures.append(yy / sy)

    def accepted(self) -> None:
        """Choose the next length after a move that lowered the energy."""
        assert self.length is not None
        self.length = 1.0 / max(self._curvatures) if self._curvatures else 2 * self.length

    def rejected(self) -> float:
        """Return a shorter length after a move that raised the energy; it stands for all that was learned before."""
        assert self.length is not None
        self.length = max(0.5 * self.length, LEAST)
        self._curvatures.clear()
        self._curvatures.append(1.0 / self.length)
        return self.length
