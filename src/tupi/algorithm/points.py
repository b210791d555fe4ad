"""Manifold denoising of point sets (Hein and Maier): diffusion on the points' own neighbour graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.embedding.graphs import Graph, larger_width_graph, nearest_rows
from tupi.embedding.sparse_solve import conjugate_gradients
from tupi.inputs.numbers import as_numbers
from tupi.runtime.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenoisedPoints:
    """What `denoise_points` returns.

    Attributes
    ----------
    points : ndarray of shape (n, d)
        The points after the last step.
    history : DataFrame
        One row per step, the first for the points as they came: ``moved``, the root mean square distance that a point
        moved in this step, and ``reach``, the mean distance of a point to its neighbours.
    """

    points: Array
    history: pd.DataFrame


def denoise_points(
    points: Any,
    n_iter: int = 5,
    *,
    n_neighbors: int = 10,
    gamma: float = 1.0,
    callback: Callable[[int, Array], object] | None = None,
) -> DenoisedPoints:
    """Move noisy samples of a manifold towards it.

    Each step builds the graph of the points (label ``e:gaussiankernel``), with Delta = I - D^-1 W, and takes one
    implicit Euler step of the diffusion dP/dt = -gamma Delta P (labels ``e:diffusionequation``, ``e:impliciteuler``):
    (I + gamma Delta) P(t + 1) = P(t). Multiplied by D that is a symmetric positive definite sparse system. The
    diffusion is not linear: weights follow the points.

    The width of the kernel suits itself: W_ij = exp(-||p_i - p_j||^2 / s^2), with s the larger of s_i and s_j, and s_i
    twice the mean distance of point i to its neighbours. Points are connected if either is among the other's nearest.

    Parameters
    ----------
    points : array_like of shape (n, d)
        The samples, at least 3 of them. Coordinates are compared as they are: scale them first if their units differ.
    n_iter : int
        How many steps. Too many shrink the manifold itself.
    n_neighbors : int
        Neighbours of each point.
    gamma : float
        How far each step diffuses; stable for any positive number.
    callback : callable, optional
        Called with (t, points) after each step; returning True stops.

    Returns
    -------
    DenoisedPoints
        The points and a history.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 400)
    >>> noisy = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(400, 2))
    >>> result = denoise_points(noisy)
    >>> bool(np.linalg.norm(result.points, axis=1).std() < 0.5 * np.linalg.norm(noisy, axis=1).std())
    True
    """
    P = _check(points, n_iter, n_neighbors, gamma)
    near = nearest_rows(P, n_neighbors)
    rows = [(np.nan, float(near.distances.mean()))]
    for t in range(1, n_iter + 1):
        before, P = P, euler_step(P, larger_width_graph(near), gamma)
        near = nearest_rows(P, n_neighbors)
        moved = float(np.sqrt(np.mean(np.sum((P - before) ** 2, axis=1))))
        rows.append((moved, float(near.distances.mean())))
        if callback is not None and callback(t, P) is True:
            break
    history = pd.DataFrame(rows, columns=["moved", "reach"], index=pd.RangeIndex(len(rows), name="step"))
    return DenoisedPoints(P, history)


def euler_step(P: Array, edges: Graph, gamma: float) -> Array:
    """Return the solution Q of (I + gamma Delta) Q = P, as (D + gamma L) Q = D P with L = D - W."""
    degrees = edges.degrees
    return conjugate_gradients(
        lambda Q: degrees[:, None] * Q + gamma * edges.laplacian_times(Q),
        (1.0 + gamma) * degrees,
        degrees[:, None] * P,
        start=P,
    )


def _check(points: Any, n_iter: int, n_neighbors: int, gamma: float) -> Array:
    P = np.array(as_numbers("points", points), np.float64)
    if P.ndim != 2 or P.shape[0] < 3 or P.shape[1] < 1:
        raise InputError(f"points: found shape {P.shape}; accepted: (n, d) with at least 3 rows and a column.")
    if not np.isfinite(P).all():
        row = np.argwhere(~np.isfinite(P))[0][0]
        raise InputError(f"points: row {row} holds NaN or infinity; accepted: finite numbers.")
    for name, value in (("n_iter", n_iter), ("n_neighbors", n_neighbors)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise InputError(f"{name}: found {value!r}; accepted: a whole number of at least 1.")
    if not np.isfinite(gamma) or gamma <= 0:
        raise InputError(f"gamma: found {gamma!r}; accepted: a number above 0.")
    return P
