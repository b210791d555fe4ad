"""What the rankers share: how they check their input, and how they are scored."""

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from tupi.rankers.targets import Targets, check_targets
from tupi.runtime.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
TrainAndJudge = tuple[Floats, Targets, Floats, Targets]  # what trains, and what judges


def standardiser(X: Floats) -> StandardScaler:
    """Return the scaler of the columns of X, which sets constant columns to zero: they get no weight."""
    # A user's global `transform_output="pandas"` must not reach the compiled code.
    return StandardScaler().set_output(transform="default").fit(X)


class Ranker(BaseEstimator, ABC):
    """A scikit-learn estimator that learns scores from values or from pairs."""

    def predict(self, X: ArrayLike) -> Floats:
        """Return one score per row of `X`: the larger, the higher the row ranks."""
        check_is_fitted(self)
        return self._predict(validate_data(self, X, dtype=np.float64, reset=False))

    def score(self, X: ArrayLike, y: ArrayLike | None = None, *, pairs: Any = None) -> float:
        """Return the fraction of ordered pairs that the predictions rank right; ties count half."""
        scores = self.predict(X)
        return check_targets(len(scores), y, pairs).accuracy(scores)

    @abstractmethod
    def _predict(self, X: Floats) -> Floats:
        """Return one score per row of checked features."""

    def _check_training(self, X: ArrayLike, y: ArrayLike | None, pairs: Any) -> tuple[Floats, Targets]:
        """Validate what is trained on, and remember the number and names of the columns."""
        features = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        return features, check_targets(len(features), y, pairs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class ValidatedRanker(Ranker):
    """A ranker whose settings are chosen by labels that it is not trained on."""

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        pairs: Any = None,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        pairs_val: Any = None,
    ) -> Self:
        """Choose the settings by held-out labels, and fit to values or to pairs.

        Parameters
        ----------
        X, y, pairs
            As in `tupi.rankers.RankSVM.fit`.
        X_val, y_val, pairs_val : optional
            Held-out items and their values, or pairs of rows of `X_val`; they choose the settings and are never
            trained on. Without them some of the labelled items of X are held out for it.
        """
        self._check_settings()
        features, targets = self._check_training(X, y, pairs)
        return self._fit(features, targets, self._check_validation(X_val, y_val, pairs_val))

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise unless all settings can be used."""

    @abstractmethod
    def _fit(self, features: Floats, targets: Targets, validation: tuple[Floats, Targets] | None) -> Self:
        """Choose the settings and fit to checked features and targets."""

    def _check_validation(
        self, X_val: ArrayLike | None, y_val: ArrayLike | None, pairs_val: Any
    ) -> tuple[Floats, Targets] | None:
        """Validate what is held out, if anything is given."""
        if X_val is None:
            if y_val is not None or pairs_val is not None:
                raise InputError("X_val must be given with y_val or pairs_val, which label its rows: found none.")
            return None
        features = validate_data(self, X_val, dtype=np.float64, reset=False)
        return features, check_targets(len(features), y_val, pairs_val, "_val")


def without(held_out: Integers, X: Floats, targets: Targets) -> TrainAndJudge | None:
    """Return features and targets without some items, and those of these items; None if either has no pair left."""
    mask = np.zeros(len(X), dtype=bool)
    mask[held_out] = True
    rows, train, judged_rows, judge = targets.split(mask)
    return (X[rows], train, X[judged_rows], judge) if train.n_pairs and judge.n_pairs else None
