"""What methods that are fitted to labels share: labelled items as rows of numbers, and a fit made of predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.embedding.joint_graph import side_by_side
from tupi.embedding.prepared import Prepared, standardize
from tupi.inputs.groups import pairs_within, relative_labels
from tupi.inputs.labels import Labels, Pairs, Values, labelled_items, relabel, subset
from tupi.inputs.views import BLOCK
from tupi.methods.base import Fit, Method, from_shares, from_values, nearest_shares
from tupi.runtime.errors import InputError

Array = NDArray[np.float64]
Positions = NDArray[np.int64]

CACHED_ENTRIES = 2**27  # one gigabyte of doubles: beyond it views are read again rather than kept side by side


@dataclass(frozen=True, eq=False)
class KnownItems:
    """The labelled items that have features.

    Attributes
    ----------
    rows : ndarray of int
        Where they are among the items that take part, in ascending order.
    labels : Values or Pairs
        Their labels, with positions counted within ``rows``.
    """

    rows: Positions
    labels: Labels

    @property
    def values(self) -> Array:
        """The labels of ``rows`` in their order, where labels are values."""
        assert isinstance(self.labels, Values)
        return self.labels.values[np.argsort(self.labels.index)]


@dataclass(frozen=True, eq=False)
class TargetColumns:
    """What least squares are fitted to: one column of standardised values, or one of zeros and ones per class.

    Attributes
    ----------
    columns : ndarray of shape (n_labelled, c)
        The targets.
    scale, shift : float
        How predictions of them become predictions of the labels: ``prediction * scale + shift``.
    """

    columns: Array
    scale: float
    shift: float


def in_columns(values: Array, prepared: Prepared) -> Array:
    """Return labels as columns: values in one, or an indicator of each class."""
    return np.eye(prepared.f.shape[1])[values] if prepared.problem.task == "classification" else values[:, None]


def targets_of(known: KnownItems, prepared: Prepared) -> TargetColumns:
    """Return the targets of labels that are values."""
    columns = in_columns(known.values, prepared)
    if prepared.problem.task == "classification":
        return TargetColumns(columns, 1.0, 0.0)
    columns, scale, shift = standardize(columns)
    return TargetColumns(columns, float(scale[0]), float(shift[0]))


def known_items(method: Method, prepared: Prepared, labels: Labels | None, pairs: bool = True) -> KnownItems:
    """Return the labelled items that have features, or complain.

    Parameters
    ----------
    method : Method
        The method that is to be fitted, for messages.
    prepared : Prepared
        The problem.
    labels : Values, Pairs or None
        The labels that may be used.
    pairs : bool
        Whether the method can be fitted to pairs.
    """
    forms = "tupi.Values(index, values), an array with NaN where unknown" + (", or tupi.Pairs" if pairs else "")
    if labels is None:
        raise InputError(f"labels: found none, and method {method.name!r} is fitted to labels; accepted: {forms}.")
    if isinstance(labels, Pairs) and not pairs:
        raise InputError(f"labels: found pairs, and method {method.name!r} is fitted to values; accepted: {forms}.")
    useful = subset(labels, prepared.items)
    if useful is None:
        raise InputError(
            f"labels: method {method.name!r} needs labelled items that have features; found none whose labels differ."
        )
    among = relabel(relative_labels(useful, prepared.problem.groups), prepared.items)
    rows = labelled_items(among)
    return KnownItems(rows, relabel(among, rows))


def stacked_views(prepared: Prepared, rows: slice | Positions) -> Array:
    """Return H: all views side by side, for some of the items that take part.

    Columns are standardised, and divided so that each view has the same mean squared length, and all together length
    one: a view does not count more for having more columns. A view that an item lacks is filled with zero, its mean.
    """
    if len(prepared.items) * sum(view.d for view in prepared.problem.views) > CACHED_ENTRIES:
        return _stack(prepared, prepared.items[rows])
    return prepared.once("stacked views", lambda: _stack(prepared, prepared.items))[rows]


def _stack(prepared: Prepared, items: Positions) -> Array:
    views = prepared.problem.views
    return side_by_side(views, items).columns / np.sqrt(len(views))


def view_columns(prepared: Prepared) -> list[slice]:
    """Return which columns of `stacked_views` belong to each view."""
    widths = [view.rows(slice(0, 0)).shape[1] for view in prepared.problem.views]
    ends = np.cumsum(widths)
    return [slice(end - width, end) for width, end in zip(widths, ends, strict=True)]


def view_shares(prepared: Prepared, rows: Positions, w: Array) -> Array:
    """Return how far what each view adds to a linear score ``H @ w`` varies over some items."""
    H = stacked_views(prepared, rows)
    return np.array([np.std(H[:, columns] @ w[columns], axis=0).sum() for columns in view_columns(prepared)])


def rank_svm_path(X: Array, labels: Labels, C_grid: Sequence[float]) -> list[Array]:
    """Return the weights of a rank SVM on rows of X at each C, each minimisation started from the previous one."""
    # The rankers bring scikit-learn along, which takes longer to import than the default method takes.
    from tupi.rankers.rank_loss import PairLoss, RankLoss, ValueLoss
    from tupi.rankers.rank_svm import minimise

    if isinstance(labels, Values) and labels.groups is not None:
        labels = pairs_within(labels)
    if isinstance(labels, Pairs):
        loss: RankLoss = PairLoss(labels.higher, labels.lower)
    else:
        X, loss = X[labels.index], ValueLoss(labels.values)
    w, found = np.zeros(X.shape[1]), []
    for C in C_grid:
        w = minimise(X, loss, C, w, tol=1e-12, max_iter=100).w
        found.append(w)
    return found


def predict_all(prepared: Prepared, predict: Callable[[Array, Array], Array]) -> Array:
    """Return predictions for all items that take part, in blocks of rows that fit into memory.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    predict : callable
        Takes f and H of some items, and returns a number or a row of class scores for each.
    """
    n = len(prepared.items)
    blocks = [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]
    return np.concatenate([predict(prepared.f[rows], stacked_views(prepared, rows)) for rows in blocks])


def finished(
    prepared: Prepared,
    predictions: Array,
    params: dict[str, Any],
    weights: Array | None = None,
    notes: tuple[str, ...] = (),
    watch: Watch | None = None,
    calibrated: bool = True,
) -> Fit:
    """Return a fit of two steps: the initial predictions and the new ones.

    Parameters
    ----------
    prepared : Prepared
        The problem.
    predictions : ndarray of shape (n_items,) or (n_items, c)
        New scores, values, or class scores that compare between classes; higher means more.
    params : dict
        All settings that were used.
    weights : ndarray of shape (m,), optional
        How much each view counts; they are made to sum to one. None: the method cannot tell.
    notes : tuple of str
        Sentences for a person.
    watch : callable, optional
        Sees both steps. Nothing is left to stop by then.
    calibrated : bool
        For regression: whether the predictions are values in the labels' units, and not merely scores.
    """
    task = prepared.problem.task
    calibrated = calibrated and task == "regression"
    if task == "classification":
        shares = nearest_shares(predictions) if prepared.problem.are_probabilities else predictions
        columns = from_shares(prepared, shares)
    elif calibrated:
        columns = from_values(prepared, predictions[:, None])
    else:
        columns = standardize(predictions[:, None])[0]  # the units of scores mean nothing
    unknown = np.full(len(prepared.problem.views), np.nan)
    if weights is None:
        weights = unknown
    elif weights.sum() > 0:
        weights = weights / weights.sum()
    steps = [Step(t, f, weights, unknown) for t, f in enumerate((prepared.f, columns))]
    if watch is not None:
        for step in steps:
            watch(step)
    return Fit(columns, params, steps, [], notes, calibrated=calibrated)
