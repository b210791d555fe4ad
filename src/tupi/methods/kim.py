"""Predictor combination after Kim, Tompkin and Richardt (2017): the views are predictions of related tasks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import InMemory, Trajectory, Watch, choose, follow
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method
from tupi.runtime.errors import InputError

LAM_GRID = (0.1, 0.3, 1.0)
SIGMA2_GRID = (0.1, 0.3, 1.0)
DEFAULT_LAM, DEFAULT_SIGMA2, DEFAULT_STEPS, MAX_STEPS = 0.1, 0.3, 3, 20
Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Kim(Method):
    """Settings of predictor combination.

    This is an adaptation: the original method is described in the paper in words only, and its code is not public. It
    penalises the Kullback-Leibler divergence between predictive distributions. Two Gaussians with means m1 and m2 and
    one covariance S have the symmetric divergence (m1 - m2)^T S^-1 (m1 - m2). Here a predictor's mean is its
    standardised scores, and S is n times the identity, so that the divergence is the mean squared difference of scores:
    0 for the same scores, 2 for unrelated ones, 4 for their negative. Each step minimises label ``e:impliciteuler``,

        ||f - f(t)||^2 + lam sum_i a_i(t) ||f - h_i||^2,    a_i = e_i / (1 + sum_j e_j),    e_i = exp(-KL_i / sigma2),

    whose minimiser is a weighted mean, and scales it to deviation one. The 1 in a_i is f's own similarity to itself: a
    view that is far from f gets little weight even if it is the only one. Comparing scores by their values, the method
    cannot use a view that is the truth's negative, however much it says.

    Parameters
    ----------
    lam : float, optional
        How strongly each step pulls towards the views. None: with labels chosen from 0.1, 0.3 and 1, without them 0.1.
    sigma2 : float, optional
        How far views may be to count. None: with labels chosen from 0.1, 0.3 and 1, without them 0.3.
    n_iter : int, optional
        Steps; with labels at most so many, and the best of them is returned. None: 20 with labels, 3 without.
    """

    name: ClassVar[str] = "kim"

    lam: float | None = None
    sigma2: float | None = None
    n_iter: int | None = None

    def __post_init__(self) -> None:
        check_positive("lam", self.lam)
        check_positive("sigma2", self.sigma2)
        check_positive("n_iter", self.n_iter, whole=True, least=1)

    def settings(self, labelled: bool) -> list[Kim]:
        """Return complete settings, cautious ones first."""
        lams = LAM_GRID if labelled else (DEFAULT_LAM,)
        widths = SIGMA2_GRID if labelled else (DEFAULT_SIGMA2,)
        return [
            replace(self, lam=lam, sigma2=sigma2, n_iter=self.n_iter or (MAX_STEPS if labelled else DEFAULT_STEPS))
            for lam, sigma2 in itertools.product(
                lams if self.lam is None else (self.lam,), widths if self.sigma2 is None else (self.sigma2,)
            )
        ]

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Combine; with labels, under all settings that are left open, and return the best step."""
        predictors = prepared.once("one-dimensional views", lambda: predictors_of(prepared))

        def trajectory_of(setting: Kim) -> Trajectory:
            def begin() -> Trajectory:
                return Trajectory(InMemory(prepared), ahead=setting.steps(prepared.f[:, 0], predictors))

            return prepared.once(setting, begin)

        settings = self.settings(labels is not None)
        if labels is None:
            trajectory = trajectory_of(settings[0])
            follow([trajectory], watch=watch)
            steps = list(trajectory.steps)
            return Fit(steps[-1].f, settings[0].params() | {"n_iter": len(steps) - 1}, steps, [])
        choice = choose(settings, trajectory_of, prepared, labels, patience=MAX_STEPS, watch=watch)
        steps, setting = choice.trajectory.steps[: choice.t + 1], choice.setting
        note = (
            f"lam={setting.lam:g}, sigma2={setting.sigma2:g} and {choice.t} steps scored best "
            f"of {choice.tried} settings on the labels."
            if choice.t
            else f"None of {choice.tried} settings scored better on the labels than the initial predictions."
        )
        params = setting.params() | {"n_iter": choice.t}
        return Fit(steps[-1].f, params, steps, choice.scores[: choice.t + 1], (note,))

    def steps(self, f: Array, predictors: Array) -> Iterator[Step]:
        """Yield f(0), f(1), ...; the setting must be complete.

        Parameters
        ----------
        f : ndarray of shape (n,)
            Initial predictions, standardised.
        predictors : ndarray of shape (n, m)
            The views, standardised; NaN where an item lacks one.
        """
        assert self.lam is not None
        assert self.sigma2 is not None
        assert self.n_iter is not None
        present = np.isfinite(predictors)
        H = np.where(present, predictors, 0.0)
        unknown = np.full(predictors.shape[1], np.nan)
        for t in range(self.n_iter + 1):
            # An item that lacks a view says nothing about that view.
            divergence = np.sum(present * (f[:, None] - H) ** 2, axis=0) / present.sum(axis=0)
            similar = np.exp(-divergence / self.sigma2)
            weights = similar / (1.0 + similar.sum())
            yield Step(t, f[:, None], weights, unknown)
            pull = self.lam * weights
            f = (f + H @ pull) / (1.0 + present @ pull)
            f = (f - f.mean()) / f.std()


def predictors_of(prepared: Prepared) -> Array:
    """Return the views as standardised columns, NaN where an item lacks one; complain unless each is one column."""
    if prepared.problem.task == "classification":
        raise InputError(
            "task: found 'classification'; method 'kim' combines scores, and accepts ranking or regression."
        )
    columns = np.full((len(prepared.items), len(prepared.problem.views)), np.nan)
    for i, view in enumerate(prepared.problem.views):
        if view.d > 1:
            raise InputError(
                f"features: view {view.name!r} has {view.d} columns; method 'kim' takes views for predictions of "
                "related tasks, and accepts views of one column only."
            )
        has = view.present[prepared.items]
        columns[has, i] = view.rows(prepared.items[has])[:, 0]
    return columns
