"""Normalised discounted cumulative gain: how good the first results of each query are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.inputs.groups import as_groups, members
from tupi.inputs.numbers import as_numbers, check_positive
from tupi.inputs.types import Column
from tupi.judging.metrics import as_scores
from tupi.runtime.errors import InputError

MOST_RELEVANT = 50  # more is no grade: 2^relevance then says that nothing else counts
Array = NDArray[Any]


def ndcg(scores: Column, relevance: Column, groups: Column | None = None, k: int = 10) -> float:
    """Return NDCG@k: what the first k of each query are worth, of what they could be worth, averaged over queries.

    A result of relevance r at place p is worth (2^r - 1) / log2(p + 1). Results with equal scores share their places:
    each counts as the mean of them. Items of unknown relevance are not there. A query in which all are of equal
    relevance has only one ranking, and does not count.

    Parameters
    ----------
    scores : array_like of shape (n,)
        The scores to judge, higher meaning earlier.
    relevance : array_like of shape (n,)
        How relevant each item is: grades from 0, NaN where unknown.
    groups : array_like of shape (n,), optional
        The query of each item; None: all are of one.
    k : int
        How many places count.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(ndcg([3.0, 2.0, 1.0, 0.2, 0.1], [2, 0, 1, 0, 1], ["a", "a", "a", "b", "b"]), 3)
    0.797
    """
    found = as_scores(scores)
    grades = as_numbers("relevance", relevance).astype(np.float64)
    if grades.shape != found.shape:
        raise InputError(f"relevance: found shape {grades.shape} for {len(found)} scores; accepted: one for each.")
    known = np.flatnonzero(~np.isnan(grades))
    if (wrong := ~((grades[known] >= 0) & (grades[known] <= MOST_RELEVANT))).any():
        raise InputError(
            f"relevance: found {grades[known][wrong][0]:g}; accepted: grades from 0 to {MOST_RELEVANT}, or NaN."
        )
    check_positive("k", k, whole=True, least=1, optional=False)
    grouped = as_groups(groups, len(found), None)
    numbers = np.zeros(len(found), np.int64) if grouped is None else grouped.numbers
    each = ndcg_of_groups(found[known], grades[known], numbers[known], int(k))
    if not (~np.isnan(each)).any():
        raise InputError("relevance: no query has items of different relevance; accepted: grades that rank something.")
    return float(np.nanmean(each))


def ndcg_of_groups(scores: Array, relevance: Array, groups: NDArray[np.int64], k: int = 10) -> Array:
    """Return NDCG@k of each group, in ascending order; NaN where all items are of equal relevance."""
    if not len(scores):
        return np.empty(0)
    return np.array([_ndcg(scores[own], 2.0 ** relevance[own] - 1, k) for own in members(groups)])


def _ndcg(scores: Array, gains: Array, k: int) -> float:
    if (gains == gains[0]).all():
        return float("nan")
    worth = np.where(np.arange(len(gains)) < k, 1 / np.log2(np.arange(len(gains)) + 2), 0.0)
    _, level, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    shared = np.bincount(np.sort(level), worth) / counts  # what a place of each score is worth
    return float(gains @ shared[level] / (np.sort(gains)[::-1] @ worth))
