"""Folds over labels for searches of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.model_selection import BaseCrossValidator, KFold

from tupi.inputs.numbers import as_plain, check_positive
from tupi.runtime.errors import InputError


class LabelledKFold(BaseCrossValidator):
    """Folds over the labels, for searches with few of them: all items without a label are in every training set.

    In each fold some of the labelled items are left out of the fit, are then predicted as new items, and are scored.
    Plain folds over all items would leave out as large a share of the items without labels, for nothing. If items have
    groups, such as queries, whole groups that have labels are left out, since a group is predicted together.

    Parameters
    ----------
    n_splits : int
        How many folds.
    random_state : int
        Seed of the order in which labels are dealt out.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, np.nan, 2.0, np.nan])
    >>> [(train.tolist(), test.tolist()) for train, test in LabelledKFold(2).split(np.zeros((4, 1)), y)]
    [([0, 1, 3], [2]), ([1, 2, 3], [0])]
    """

    __metadata_request__split: ClassVar = {"groups": True}  # scikit-learn passes them on wherever they are given

    def __init__(self, n_splits: int = 5, *, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the positions of the items to fit and of the labelled items to score, fold by fold.

        Parameters
        ----------
        X
            Not looked at.
        y : array_like of shape (n,)
            Labels, NaN or None where they are not known.
        groups : array_like of shape (n,), optional
            The group of each item.
        """
        if y is None:
            raise InputError("y: found None; accepted: labels, NaN or None where they are not known.")
        check_positive("n_splits", self.n_splits, whole=True, least=2, optional=False)
        values = as_plain("y", y)
        if values.ndim != 1:
            raise InputError(f"y: found shape {values.shape}; accepted: one label for each item.")
        labelled, what = np.flatnonzero(~pd.isna(values)), "label(s)"
        group = np.arange(len(values))
        if groups is not None:
            given, what = as_plain("groups", groups), "group(s) with labels"
            if given.shape != values.shape:
                raise InputError(f"groups: found shape {given.shape} for {len(values)} items; accepted: one for each.")
            group = pd.factorize(given, sort=True, use_na_sentinel=False)[0]
        dealt = np.unique(group[labelled])
        if len(dealt) < self.n_splits:
            raise InputError(f"y: found {len(dealt)} {what}; accepted: one or more for each of {self.n_splits} folds.")
        folds = KFold(self.n_splits, shuffle=True, random_state=self.random_state)
        for _, places in folds.split(dealt):
            out = np.isin(group, dealt[places])
            yield np.flatnonzero(~out), np.flatnonzero(out)
