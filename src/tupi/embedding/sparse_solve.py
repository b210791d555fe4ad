"""Conjugate gradients for positive definite systems that are known by their products alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MAX_ITER = 10_000


def conjugate_gradients(
    times: Callable[[Array], Array],
    diagonal: Array,
    B: Array,
    start: Array | None = None,
    tol: float = 1e-10,
    max_iter: int | None = None,
) -> Array:
    """Solve A X = B for a positive definite A, preconditioned by its diagonal (Jacobi).

    Only products with A are needed, so memory grows with the number of items. Columns of B are solved side by side:
    one pass over A serves all of them.

    Parameters
    ----------
    times : callable
        V -> A V for V of the shape of B.
    diagonal : ndarray of shape (n,)
        The diagonal of A.
    B : ndarray of shape (n,) or (n, c)
        The right-hand side, or several.
    start : ndarray of the shape of B, optional
        Where to begin; zero by default. What no right-hand side reaches then stays exactly zero.
    tol : float
        Stop when every column's residual is below this share of its right-hand side, both in the norm of the
        inverse diagonal.
    max_iter : int, optional
        Iterations after which an inexact solution is good enough. None: many, and falling short is warned of.
    """
    inverse = (1.0 / diagonal).reshape(-1, *(1,) * (B.ndim - 1))
    X = np.zeros_like(B) if start is None else start.astype(np.float64)
    R = B.copy() if start is None else B - times(X)
    Z = inverse * R
    target = tol**2 * np.einsum("i...,i...->...", B, inverse * B)
    energy = np.einsum("i...,i...->...", R, Z)
    P = Z
    for _ in range(MAX_ITER if max_iter is None else max_iter):
        if np.all(energy <= target):
            return X
        product = times(P)
        curvature = np.einsum("i...,i...->...", P, product)
        # A column that is solved exactly has no direction left; it must not divide zero by zero.
        size = np.divide(energy, curvature, out=np.zeros_like(energy), where=curvature > 0)
        X += size * P
        R -= size * product
        Z = inverse * R
        previous, energy = energy, np.einsum("i...,i...->...", R, Z)
        P = Z + np.divide(energy, previous, out=np.zeros_like(energy), where=previous > 0) * P
    if max_iter is None:
        message = f"Conjugate gradients stopped after {MAX_ITER} iterations short of tol={tol:g}."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return X
