"""What a method is: settings, and a way to turn a prepared problem into better columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared, restore
from tupi.inputs.labels import Labels
from tupi.inputs.problem import SMALLEST_PROBABILITY
from tupi.judging.evidence import Gain
from tupi.runtime.errors import InputError

USUAL = 0.99  # share of the items of the fit that are within the usual distance
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moved:
    """What moved one item, in the units of the predictions; of probabilities, in log odds of a class.

    Attributes
    ----------
    before, after : float
        The initial prediction, and what came back.
    own : float
        The part of the prediction itself.
    views : ndarray of shape (v,)
        The part of each view. All parts add up to the change.
    labels : ndarray of shape (1 + v,)
        How much of each of these parts is due to labels.
    target : int or None
        The class that it is about.
    labelled : ndarray of shape (m,)
        Labelled items, the nearest first, numbered as in the problem.
    alike, pull : ndarray of shape (m,)
        How alike each is to the item, from 0 to 1, and by how much it moved it; with more than two classes in shares of
        the class. Pulls add up to what labels did.
    """

    before: float
    after: float
    own: float
    views: NDArray[np.float64]
    labels: NDArray[np.float64]
    target: int | None
    labelled: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    alike: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    pull: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method made of a problem.

    Attributes
    ----------
    columns : ndarray of shape (n_items, c)
        Better columns for the items that take part, standardised.
    params : dict
        All settings that were used, chosen ones included.
    steps : list of Step
        How it came about, step 0 first; methods without steps give the first and the last.
    scores : list of float
        With labels: the score at each step, on the labels that chose it.
    notes : tuple of str
        Sentences for a person.
    gain : Gain, optional
        From methods that judge themselves: the score before and after on labels that were left out.
    uncertainty : callable, optional
        Returns the standard deviation of the label of each item, shape (n_items,): in the units of the labels if these
        are values, else in those of the final predictions.
    expected : ndarray of shape (n_items,), optional
        For ranking by values: the label that each item is expected to get.
    left_out_errors : ndarray, optional
        Absolute errors of labels that were left out, in units of their uncertainty; of classes, scores as in
        `tupi.judging.conformal.class_scores`.
    left_out : tuple of ndarray, optional
        From methods that judge themselves by values: the labelled items that were used, numbered as in the problem, and
        predictions of them, each made without the item's own label, in the input's scale.
    left_out_pairs : callable, optional
        From methods that judge themselves: returns items among those that take part, others that are truly lower, and
        the predicted differences between them, each made without the labels of both; None if pairs do not judge.
    suggested : callable, optional
        Returns items, or pairs, among those that take part, whose labels would teach most; shape (k,) or (k, 2), the
        best first.
    calibrated : bool
        For regression: whether the columns are values that labels have calibrated. Otherwise they only say who is
        alike, and `tupi.embedding.prepared` finds values for them.
    model : callable, optional
        Returns the same answer as a function of an item, what `tupi.results.outcome.Model` says; None if there is none.
    moved : callable, optional
        Returns what moved an item, numbered as in the problem.
    rater_errors : dict of str to float, optional
        From methods that learn it from comparisons: the share of wrong answers of each rater.
    """

    columns: NDArray[np.float64]
    params: dict[str, Any]
    steps: list[Step]
    scores: list[float]
    notes: tuple[str, ...] = ()
    gain: Gain | None = None
    uncertainty: Callable[[], NDArray[np.float64]] | None = None
    expected: NDArray[np.float64] | None = None
    left_out_errors: NDArray[np.float64] | None = None
    suggested: Callable[[], NDArray[np.int64]] | None = None
    left_out: tuple[NDArray[np.int64], NDArray[np.float64]] | None = None
    left_out_pairs: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None] | None = None
    calibrated: bool = False
    model: Callable[[], Any] | None = None
    moved: Callable[[int], Moved] | None = None
    rater_errors: dict[str, float] | None = None

    def predictions(self, prepared: Prepared) -> NDArray[np.float64]:
        """Return what this stands for: predictions of all items, in the input's scale."""
        return restore(prepared, self.columns, self.calibrated)


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method's settings. A setting left at None is chosen: with labels by trying, without by a default."""

    name: ClassVar[str]

    @abstractmethod
    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Return better columns.

        Parameters
        ----------
        prepared : Prepared
            The problem; its own labels may be more than the ones to use.
        labels : Values, Pairs or None
            The labels that may be used.
        watch : callable, optional
            Called with each Step; returning True asks to stop.
        """

    def predictor(self, prepared: Prepared) -> Callable[[Labels], NDArray[np.float64]]:
        """Return a function from labels that may be used to predictions of all items, such as judges ask for."""
        return lambda labels: self.fit(prepared, labels).predictions(prepared)

    def params(self) -> dict[str, Any]:
        """Return the settings by name."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def usual_distance(distances: Array) -> float:
    """Return the distance within which nearly all items of the fit are."""
    return float(np.quantile(distances, USUAL))


def familiarity(distances: Sequence[Array], usual: Sequence[float]) -> Array:
    """Return 1 for items within all usual distances, exp(-1) for those twice as far, exp(-4) for four times.

    Parameters
    ----------
    distances : sequence of ndarray of shape (n,)
        From the items of the fit, measured in one or more ways.
    usual : sequence of float
        What `usual_distance` said of each of them; 0 if it says nothing.
    """
    times = np.ones(len(distances[0]))
    for distance, one in zip(distances, usual, strict=True):
        times = np.maximum(times, distance / one if one > 0 else 1.0)
    found: Array = np.exp(-(np.log2(times) ** 2))
    return found


def initial_values(prepared: Prepared) -> Array:
    """Return the predictions of the items that take part, in the units of ``problem.columns``."""
    return prepared.f * prepared.scale + prepared.shift


def from_values(prepared: Prepared, values: Array) -> Array:
    """Return columns from predictions in the units of ``problem.columns``: the inverse of `restore`."""
    with np.errstate(over="ignore"):
        columns: Array = (values - prepared.shift) / prepared.scale
    check_related(columns, prepared.scale, np.abs(values).max())
    return columns


def check_related(ratios: Array, deviations: Array, largest: float) -> None:
    """Complain if values, in deviations of the columns of predictions, are not finite."""
    if not np.isfinite(ratios).all():
        raise InputError(
            f"predictions: found a deviation of {deviations.min():.3g} where new values are up to {largest:.3g}, which "
            "no number can relate; accepted: predictions, and columns of classes, on one scale."
        )


def from_shares(prepared: Prepared, shares: Array) -> Array:
    """Return columns from class shares, rows of which sum to one.

    Probabilities come back as these very shares. Other class scores are moved and stretched by the same amount for all
    classes, to the mean and deviation that the initial scores had: the largest share stays the largest score.
    """
    if prepared.problem.are_probabilities:
        logs = np.log(np.maximum(shares, SMALLEST_PROBABILITY))
        return from_values(prepared, logs - logs.mean(axis=1, keepdims=True))
    initial = initial_values(prepared)
    spread = shares.std()
    unit = initial.std() / spread if spread > 0 else 1.0
    return from_values(prepared, (shares - shares.mean()) * unit + initial.mean())


def nearest_shares(scores: Array) -> Array:
    """Return the nearest shares to each row: not negative, with sum one; the highest score stays the highest."""
    descending = -np.sort(-scores, axis=1)
    excess = (np.cumsum(descending, axis=1) - 1) / np.arange(1, scores.shape[1] + 1)
    last = (descending > excess).sum(axis=1) - 1
    return np.maximum(scores - np.take_along_axis(excess, last[:, None], axis=1), 0.0)
