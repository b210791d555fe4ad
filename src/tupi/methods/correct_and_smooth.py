"""Correct and smooth (Huang et al.): labelled errors spread on the neighbour graph, then everything is smoothed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from tupi.algorithm.trajectory import Watch
from tupi.embedding.graphs import Graph, conjugate_gradients
from tupi.embedding.joint_graph import graph
from tupi.embedding.prepared import Prepared
from tupi.inputs.groups import relative_labels
from tupi.inputs.labels import Labels, Values
from tupi.inputs.numbers import check_positive
from tupi.methods.base import Fit, Method, initial_values
from tupi.methods.spreading import best_setting, check_alpha, kernel_blocks, labelled_kernel
from tupi.methods.supervised import finished, in_columns, known_items

CORRECT_GRID = (0.99, 0.9)
SCALE_GRID = (1.0, 0.5, 0.25)
SMOOTH_GRID = (0.0, 0.5, 0.9)
DEFAULT_K = 10
Array = NDArray[np.float64]


class Setting(NamedTuple):
    """Complete settings."""

    alpha_correct: float
    scale: float
    alpha_smooth: float


@dataclass(frozen=True, kw_only=True)
class CorrectAndSmooth(Method):
    """Settings of correct-and-smooth. Labels are needed, and must be values.

    First the predictions are put into the labels' units, y ~ a + b f, with b not negative (for regression and for
    probabilities they are taken as they are). Correct: the labelled errors e stay fixed, and every other item's is
    alpha_correct times the weighted mean of its neighbours', which is the authors' "FDiff-scale" with some loss on the
    way; ``scale`` times that is added. Smooth: labelled items take their labels, and G minimises the sum of
    squared distances to the corrected predictions, (1 - alpha_smooth) sum d_i (G_i - Z_i)^2 + alpha_smooth G^T L G.
    Both steps divide by degrees on one side, D^-1 W, where the authors' second one uses both: what is constant stays
    constant, and no item's score grows with its number of neighbours.

    Parameters
    ----------
    alpha_correct : float, optional
        How far errors spread, between 0 and 1. None: chosen from 0.9 and 0.99.
    scale : float, optional
        How much of the spread errors is added. None: chosen from 1/4, 1/2 and 1.
    alpha_smooth : float, optional
        How far the second step smooths, from 0 (not at all: labelled items then keep their corrected prediction) to 1.
        None: chosen from 0, 0.5 and 0.9. All are chosen by repeated five-fold cross-validation.
    n_neighbors : int
        Neighbours of each item.
    """

    name: ClassVar[str] = "correct-and-smooth"

    alpha_correct: float | None = None
    scale: float | None = None
    alpha_smooth: float | None = None
    n_neighbors: int = DEFAULT_K

    def __post_init__(self) -> None:
        check_alpha("alpha_correct", self.alpha_correct)
        check_positive("scale", self.scale)
        if self.alpha_smooth != 0:
            check_alpha("alpha_smooth", self.alpha_smooth)
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1, optional=False)

    def settings(self) -> list[Setting]:
        """Return complete settings."""
        return [
            Setting(*values)
            for values in itertools.product(
                CORRECT_GRID if self.alpha_correct is None else (self.alpha_correct,),
                SCALE_GRID if self.scale is None else (self.scale,),
                SMOOTH_GRID if self.alpha_smooth is None else (self.alpha_smooth,),
            )
        ]

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Correct and smooth, under the setting that predicts held-out labels best."""
        known = known_items(self, prepared, labels, pairs=False)
        assert isinstance(known.labels, Values)
        assert labels is not None
        settings, notes, best = self.settings(), [], 0
        if len(settings) > 1:
            best = best_setting(settings, partial(self._predictor, prepared), labels, prepared)
            listed = ", ".join(f"{name}={value:g}" for name, value in settings[best]._asdict().items())
            notes.append(f"{listed} scored best of {len(settings)} in cross-validation.")
        chosen = settings[best]
        rows, targets = known.rows[known.labels.index], in_columns(known.labels.values, prepared)
        f = _initial(prepared)
        a, b = _calibration(prepared, f[rows], targets)
        new = correct_and_smooth(graph(prepared, self.n_neighbors), a + b * f, rows, targets, chosen)
        if prepared.problem.task != "classification":
            new = new[:, 0]
        return finished(
            prepared,
            new,
            chosen._asdict() | {"n_neighbors": self.n_neighbors},
            weights=np.ones(len(prepared.problem.views)),
            notes=tuple(notes),
            watch=watch,
        )

    def _predictor(self, prepared: Prepared, setting: Setting, rows: NDArray[np.int64]) -> Callable[[Labels], Array]:
        """Return a function that gives the result at the rows from labels of some of them, by small dense algebra.

        The fixed errors' extension to all items is K_.L K_LL^-1 e with K = (D - alpha W)^-1, and smoothing is the
        linear map M = (1 - beta) (D - beta W)^-1 D: what is needed of both are their entries between the rows.
        """
        k, alpha, beta = self.n_neighbors, setting.alpha_correct, setting.alpha_smooth
        edges, f = graph(prepared, k), _initial(prepared)
        K = labelled_kernel(prepared, k, alpha, rows)
        f_rows, smooth_f, M, M_K = f[rows], f[rows], np.zeros_like(K), K
        if beta:
            key = (k, alpha, beta, rows.tobytes())
            smooth_f = prepared.once(("smoothed f", key), lambda: smooth(edges, f, beta))[rows]
            M = (1.0 - beta) * labelled_kernel(prepared, k, beta, rows) * edges.reach()[rows]
            M_K = prepared.once(
                ("smoothed kernel", key),
                lambda: kernel_blocks(prepared, k, alpha, rows, lambda K: smooth(edges, K, beta)[rows]),
            )

        def predict(train: Labels) -> Array:
            train = relative_labels(train, prepared.problem.groups)
            assert isinstance(train, Values)
            at, targets = train.index, in_columns(train.values, prepared)
            a, b = _calibration(prepared, f_rows[at], targets)
            errors = targets - (a + b * f_rows[at])
            dual = setting.scale * scipy.linalg.solve(K[np.ix_(at, at)], errors, assume_a="pos")
            new = a + b * smooth_f + M_K[:, at] @ dual + M[:, at] @ ((1.0 - setting.scale) * errors)
            return new if prepared.problem.task == "classification" else new[:, 0]

        return predict


def correct_and_smooth(edges: Graph, f: Array, rows: NDArray[np.int64], targets: Array, setting: Setting) -> Array:
    """Return corrected and smoothed predictions from those in the labels' units."""
    errors = np.zeros_like(f)
    errors[rows] = targets - f[rows]
    Z = f + setting.scale * extend(edges, errors, rows, setting.alpha_correct)
    if setting.alpha_smooth:
        Z[rows] = targets
        Z = smooth(edges, Z, setting.alpha_smooth)
    return Z


def extend(edges: Graph, errors: Array, rows: NDArray[np.int64], alpha: float) -> Array:
    """Return errors that stay fixed at the rows and elsewhere are alpha D^-1 W times themselves."""
    free = np.ones((len(errors), 1))
    free[rows] = 0.0
    degrees = edges.reach()[:, None]
    fixed = errors * (1.0 - free)
    # The fixed rows are taken out of the system by an identity in their place.
    spread = conjugate_gradients(
        lambda V: degrees * V - alpha * free * (edges.weights @ (free * V)),
        degrees[:, 0],
        alpha * free * (edges.weights @ fixed),
    )
    return fixed + spread


def smooth(edges: Graph, Z: Array, beta: float) -> Array:
    """Return (1 - beta) (D - beta W)^-1 D Z."""
    return (1.0 - beta) * edges.spread(edges.reach()[:, None] * Z, beta)


def _initial(prepared: Prepared) -> Array:
    """Return the predictions of the items that take part: probabilities as such, anything else in its own units."""
    if prepared.problem.are_probabilities:
        return prepared.problem.initial[prepared.items]
    return initial_values(prepared)


def _calibration(prepared: Prepared, f: Array, targets: Array) -> tuple[float, float]:
    """Return a and b of targets ~ a + b f over all labelled entries, b not negative."""
    if prepared.problem.task == "regression" or prepared.problem.are_probabilities:
        return 0.0, 1.0
    deviation = f - f.mean()
    spread = float(np.sum(deviation**2))
    b = max(0.0, float(np.sum(deviation * targets)) / spread) if spread > 0 else 0.0
    return float(targets.mean() - b * f.mean()), b
