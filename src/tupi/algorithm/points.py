"""Manifold denoising of point sets (Hein and Maier): diffusion on the points' own neighbour graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.embedding.graphs import Graph, conjugate_gradients, fixed_width_graph, larger_width_graph, nearest_rows
from tupi.inputs.numbers import as_numbers, check_positive
from tupi.inputs.types import Table
from tupi.runtime.errors import InputError

LARGEST = 1e100  # of coordinates, whose squares are summed
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
    points: Table,
    n_iter: int = 5,
    *,
    n_neighbors: int = 10,
    gamma: float = 1.0,
    sigma2: float | None = None,
    callback: Callable[[int, Array], object] | None = None,
) -> DenoisedPoints:
    """Move noisy samples of a manifold towards it.

    Each step builds the graph of the points (label ``e:gaussiankernel``), with Delta = I - D^-1 W, and takes one
    implicit Euler step of the diffusion dP/dt = -gamma Delta P (labels ``e:diffusionequation``, ``e:impliciteuler``):
    (I + gamma Delta) P(t + 1) = P(t). Multiplied by D that is a symmetric positive definite sparse system. The
    diffusion is not linear: weights follow the points.

    The width of the kernel suits itself: W_ij = exp(-||p_i - p_j||^2 / s^2), with s the larger of s_i and s_j, and s_i
    twice the mean distance of point i to its neighbours. Points are connected if either is among the other's nearest.
    With ``sigma2`` the width is the same for all, the paper's sigma_P^2, and the sums that normalise W hold W_ii = 1.

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
    sigma2 : float, optional
        A fixed sigma_P^2 (label ``e:gaussiankernel``), in squared units of the points. With ``n_neighbors=n - 1`` all
        points are connected, as the paper writes it.
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
    P = _check(points, n_iter, n_neighbors, gamma, sigma2)
    near = nearest_rows(P, n_neighbors)
    rows = [(np.nan, float(near.distances.mean()))]
    for t in range(1, n_iter + 1):
        before = P
        if sigma2 is None:
            P = euler_step(P, larger_width_graph(near), gamma)
        else:
            P = euler_step(P, fixed_width_graph(near, sigma2), gamma, own=1.0)
        near = nearest_rows(P, n_neighbors)
        moved = float(np.sqrt(np.mean(np.sum((P - before) ** 2, axis=1))))
        rows.append((moved, float(near.distances.mean())))
        if callback is not None and callback(t, P) is True:
            break
    history = pd.DataFrame(rows, columns=["moved", "reach"], index=pd.RangeIndex(len(rows), name="step"))
    return DenoisedPoints(P, history)


def denoise_point(
    point: Any, others: Any, n_iter: int = 1, *, lam: float = 1.0, sigma2: float | None = None
) -> NDArray[np.float64]:
    """Move one point towards others that stay where they are: the paper's single-point energy.

    Each step goes to the minimum of ||p - p_0(t)||^2 + lam sum_i alpha_i ||p - p_i||^2 (label ``e:impliciteuler``),
    which is the weighted mean (p_0(t) + lam sum_i alpha_i p_i) / (1 + lam sum_i alpha_i). With W_0i =
    exp(-||p_0(t) - p_i||^2 / sigma2), alpha_i is W_0i divided by the sum over all points, p_0 with W_00 = 1 among them.

    Parameters
    ----------
    point : array_like of shape (d,)
        p_0(0), such as the predictions f^I.
    others : array_like of shape (m, d)
        p_1 to p_m, such as one-dimensional views, one row each.
    n_iter : int
        How many steps.
    lam : float
        lambda.
    sigma2 : float, optional
        sigma_P^2; None for the mean squared distance between ``point`` and the others as they come.

    Examples
    --------
    >>> denoise_point([0.0], [[1.0], [1.0]], lam=3.0, sigma2=1e9).round(6)
    array([0.666667])
    """
    p = np.array(as_numbers("point", point), np.float64)
    rows = np.array(as_numbers("others", others), np.float64)
    if p.ndim != 1 or rows.ndim != 2 or not rows.size or rows.shape[1] != len(p):
        raise InputError(f"others: found shape {rows.shape} for a point of shape {p.shape}; accepted: (m, {p.size}).")
    if not (np.isfinite(p).all() and np.isfinite(rows).all()):
        raise InputError("point, others: found NaN or infinity; accepted: finite numbers.")
    check_positive("n_iter", n_iter, whole=True, least=1, optional=False)
    check_positive("lam", lam, optional=False)
    check_positive("sigma2", sigma2)
    if sigma2 is None:
        sigma2 = float(np.mean(np.sum((rows - p) ** 2, axis=1))) or 1.0
    for _ in range(n_iter):
        W = np.exp(np.sum((rows - p) ** 2, axis=1) / -sigma2)
        alpha = W / (1.0 + W.sum())
        p = (p + lam * (alpha @ rows)) / (1.0 + lam * alpha.sum())
    return p


def euler_step(P: Array, edges: Graph, gamma: float, own: float = 0.0) -> Array:
    """Return the solution Q of (I + gamma Delta) Q = P, as (D + gamma L) Q = D P with L = D - W.

    ``own`` is W_ii, which counts in D and leaves L as it is.
    """
    degrees = edges.degrees + own
    return conjugate_gradients(
        lambda Q: degrees[:, None] * Q + gamma * edges.laplacian_times(Q),
        degrees + gamma * edges.degrees,
        degrees[:, None] * P,
        start=P,
    )


def _check(points: Any, n_iter: int, n_neighbors: int, gamma: float, sigma2: float | None) -> Array:
    P = np.array(as_numbers("points", points), np.float64)
    if P.ndim != 2 or P.shape[0] < 3 or P.shape[1] < 1:
        raise InputError(f"points: found shape {P.shape}; accepted: (n, d) with at least 3 rows and a column.")
    if not np.isfinite(P).all():
        row = np.argwhere(~np.isfinite(P))[0][0]
        raise InputError(f"points: row {row} holds NaN or infinity; accepted: finite numbers.")
    if (largest := float(np.abs(P).max())) > LARGEST:
        raise InputError(f"points: the largest magnitude is {largest:.3g}; accepted: at most {LARGEST:g}.")
    for name, value in (("n_iter", n_iter), ("n_neighbors", n_neighbors)):
        check_positive(name, value, whole=True, least=1, optional=False)
    check_positive("gamma", gamma, optional=False)
    check_positive("sigma2", sigma2)
    return P
