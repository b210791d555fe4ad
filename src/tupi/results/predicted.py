"""What a result says of items that came later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.inputs.features import any_lazy
from tupi.inputs.numbers import PANDAS, as_pandas, in_library, library_of
from tupi.results.coverage import class_sets, interval
from tupi.results.outcome import Outcome
from tupi.runtime.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of items that came later.

    Attributes
    ----------
    predictions, initial : ndarray of shape (n,) or (n, c)
        The better predictions, and what came in.
    familiar : ndarray of shape (n,)
        How much each item is like those that the result was made of: 1 for one that is as near to them as they are to
        one another, and towards 0 for one that is far from all of them or has no view. Such an item keeps its own
        prediction, to that degree.
    method, task : str
        Those of the result.
    index : pandas.Index or None
        The items' ids.
    classes : tuple or None
        Names of class columns.
    uncertainty, expected, left_out_errors : ndarray or None
        As in `tupi.Denoised`.
    library : str
        The dataframe library that the predictions were of.
    """

    predictions: Array
    initial: Array
    familiar: Array
    method: str
    task: str
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    uncertainty: Array | None = None
    expected: Array | None = None
    left_out_errors: Array | None = None
    library: str = PANDAS

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return bounds between which the label of each item is expected, see `tupi.Denoised.interval`."""
        center = self.expected if self.task == "ranking" else self.predictions
        return interval(level, center, self.uncertainty, self.left_out_errors, self.method, self.task)

    def class_sets(self, level: float = 0.95, empty: bool = True) -> pd.DataFrame:
        """Return which classes each item may well have, see `tupi.Denoised.class_sets`."""
        known = self.left_out_errors, self.classes, self.index
        return class_sets(level, self.predictions, *known, empty, self.method, self.task)

    def to_frame(self) -> Any:
        """Return a table with one row per item: initial, prediction and familiar, in the library that came in."""
        return in_library(self.table(), self.library)

    def table(self) -> pd.DataFrame:
        """Return what `to_frame` does as a table of pandas, whatever came in."""
        if self.initial.ndim == 1:
            found = {"initial": self.initial, "prediction": self.predictions}
        else:
            names = self.classes or tuple(range(self.initial.shape[1]))
            found = {f"initial_{name}": column for name, column in zip(names, self.initial.T, strict=True)}
            found |= {f"prediction_{name}": column for name, column in zip(names, self.predictions.T, strict=True)}
        return pd.DataFrame(found | {"familiar": self.familiar}, index=self.index)


def predict(result: Outcome, predictions: Any, features: Any, details: bool, groups: Any) -> Any:
    """Return better predictions of items that came later, see `tupi.Denoised.predict`."""
    if result.model is None:
        raise InputError(
            f"predict: found a result of method {result.method!r} that has no function of new items; accepted: "
            "results of 'auto', 'fuse', 'smooth' and 'tupi', saved by this version or a later one."
        )
    if result.in_blocks is not None and any_lazy(predictions, features):
        return result.in_blocks(result, predictions, features, details, groups)
    try:
        items = result.model.known.items(predictions, features, groups)
        found = result.model.foresee(items, sure=details)
        better = items.as_given(found.predictions)
        if result.origin is None and not np.isfinite(better).all():
            raise ArithmeticError("what it predicts is not finite")
    except InputError:
        raise
    except Exception as why:
        if result.origin is not None:
            raise
        said = " ".join(str(why).split()) or type(why).__name__
        raise InputError(
            f"predict: the parts of the model that was loaded do not belong together ({said}); accepted: a result "
            "as `save` wrote it."
        ) from why
    if details:
        return Predicted(
            predictions=better,
            initial=items.as_given(np.array(items.initial)),
            familiar=found.familiar,
            method=result.method,
            task=result.task,
            index=items.index,
            classes=items.classes,
            uncertainty=found.uncertainty,
            expected=found.expected,
            left_out_errors=result.left_out_errors,
            library=library_of(predictions),
        )
    given, library = as_pandas("predictions", predictions), library_of(predictions)
    if isinstance(given, pd.Series):
        return in_library(pd.Series(better, index=items.index, name=getattr(predictions, "name", None)), library)
    if isinstance(given, pd.DataFrame):
        names = given.columns if items.classes is None or items.binary else list(items.classes)
        return in_library(pd.DataFrame(better, index=items.index, columns=names), library)
    return better
