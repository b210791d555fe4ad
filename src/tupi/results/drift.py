"""Whether items that came later still look like those that a result was made on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tupi.embedding.two_samples import difference
from tupi.inputs.classes import check_called
from tupi.inputs.new_items import by_class
from tupi.inputs.numbers import as_numbers, as_pandas
from tupi.inputs.problem import MIN_ITEMS
from tupi.inputs.seen import MOST
from tupi.results.outcome import Outcome
from tupi.results.readable import shortened
from tupi.runtime.errors import InputError

LEVEL = 0.05  # share of sets of unchanged items for which a drift is reported by chance
PREDICTIONS = "predictions"  # the row of the table about the initial predictions


@dataclass(frozen=True, eq=False)
class Drift:
    """What `tupi.Denoised.drift` returns; as text it is one sentence.

    Attributes
    ----------
    table : DataFrame
        One row for the initial predictions, and one for each view. ``p_value`` is that of the hypothesis that new items
        come from where the earlier ones came from, times the number of rows; ``drifted`` says whether it is below 0.05.
        ``distance`` is that of the two means in the space of a Gaussian kernel (the maximum mean discrepancy), from 0
        to about 1.4; ``shift`` is the largest difference of a column's means, in deviations of that column;
        ``missing_before`` and ``missing_now`` are the shares of items that lack the view.
    drifted : bool
        Whether anything differs.
    ask_for_labels : bool
        Whether something differs that the result rests on: the predictions, or a view with a weight.
    sentence : str
        What the text is.
    """

    table: pd.DataFrame
    drifted: bool
    ask_for_labels: bool
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.table}"


def drift(result: Outcome, predictions: Any, features: Any) -> Drift:
    """Compare items that came later with those of a result: see `tupi.Denoised.drift`."""
    seen = result.seen
    if seen is None:
        raise InputError(
            "drift: found a result without a sample of its items; accepted: one that tupi.denoise returned in memory."
        )
    index = predictions.index if isinstance(predictions, (pd.Series, pd.DataFrame)) else None
    before, predictions = seen.predictions, as_pandas("predictions", predictions)
    if isinstance(predictions, pd.DataFrame) and result.classes is not None and before.ndim == 2:
        predictions = by_class(predictions, result.classes)
    elif result.task == "classification" and before.ndim == 1:
        check_called(predictions, result.classes)
    new = np.asarray(as_numbers("predictions", predictions), np.float64)
    if new.ndim == 2 and new.shape[1] == 1 and before.ndim == 1:
        new = new[:, 0]
    if not new.ndim or new.shape[1:] != before.shape[1:] or len(new) < MIN_ITEMS or not np.isfinite(new).all():
        raise InputError(
            f"predictions: found shape {new.shape}, all finite: {bool(np.isfinite(new).all())}; accepted: finite "
            f"numbers of at least {MIN_ITEMS} items, in the form in which they came before."
        )
    rows = seen.later(features, len(new), index)
    some = np.unique(np.linspace(0, len(new) - 1, min(MOST, len(new))).astype(int))
    found = [(PREDICTIONS, before.reshape(len(before), -1), new[some].reshape(len(some), -1))]
    found += [(name, old, now[some]) for name, old, now in zip(seen.names, seen.rows, rows, strict=True)]
    table = _table(found)
    weights = result.weights.iloc[-1]
    unused = [name for name in seen.names if weights.get(name, np.nan) == 0]
    return _said(table, unused, len(new), seen.n)


def _table(found: list[tuple[str, Any, Any]]) -> pd.DataFrame:
    lines = []
    for _, old, now in found:
        one = difference(old, now)
        missing = [float(np.isnan(rows).all(axis=1).mean()) for rows in (old, now)]
        p_value = min(1.0, one.p_value * len(found))
        lines.append((one.distance, one.shift, *missing, p_value, p_value < LEVEL))
    names = pd.Index([name for name, _, _ in found], name="what")
    return pd.DataFrame(
        lines, names, columns=["distance", "shift", "missing_before", "missing_now", "p_value", "drifted"]
    )


def _said(table: pd.DataFrame, unused: list[str], n_new: int, n_before: int) -> Drift:
    """Return the table with its sentence."""
    start = f"The {n_new:,} new items"
    which = list(table.index[table["drifted"]])
    if not which:
        least = f"the smallest p-value, times {len(table)} for as many tests, is {table['p_value'].min():.2g}"
        return Drift(
            table,
            False,
            False,
            f"{start} look like the {n_before:,} that the result was made on, in their predictions and in all views "
            f"({least}): they are no reason to ask for new labels.",
        )
    views = [name for name in which if name != PREDICTIONS]
    where = ["their predictions"] if PREDICTIONS in which else []
    if views:
        where.append(f"{'views' if len(views) > 1 else 'view'} {', '.join(map(shortened, views))}")
    ask = PREDICTIONS in which or any(name not in unused for name in views)
    then = (
        "ask for labels of some of them, and denoise again with these"
        if ask
        else "the result does not use what differs, so that they are no reason to ask for new labels"
    )
    return Drift(
        table,
        True,
        ask,
        f"{start} differ from the {n_before:,} that the result was made on in {' and in '.join(where)} (p-values below "
        f"{LEVEL} after multiplication by {len(table)}, for as many tests): {then}.",
    )
