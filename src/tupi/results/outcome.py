"""What came out of denoising: a plain record on which sentences, figures, reports and files are built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tupi.algorithm.denoiser import Step
from tupi.inputs.new_items import Foreseen, Known, NewItems
from tupi.inputs.numbers import PANDAS, in_library
from tupi.inputs.seen import Seen
from tupi.inputs.tables import ColumnEncoding, Encoding
from tupi.judging.evidence import Evidence

FIELDS = ("view", "column", "kind", "became", "note")
# Fields that may be given as functions, which are called when somebody first looks.
WHEN_ASKED = ("weights", "history", "columns", "dependence", "uncertainty", "suggested", "model", "seen")


class Model(Protocol):
    """An answer as a function of an item."""

    @property
    def known(self) -> Known:
        """What the problem knew of its views."""

    def foresee(self, items: NewItems, sure: bool = True) -> Foreseen:
        """Return what is said of items that came later."""

    def to_store(self) -> Any:
        """Return a dataclass of all that a file has to hold."""


class Origin(Protocol):
    """The problem that a result came from, with all that was computed of it, so that the result can go on."""

    def update(self, labels: Any, predictions: Any, features: Any) -> Any:
        """Return a new result with more labels or items."""

    def reasons(self, position: int) -> Any:
        """Return why an item moved; None if the method cannot tell."""

    @property
    def view_gains(self) -> pd.DataFrame:
        """What each view is worth, computed once."""

    @property
    def knows_view_gains(self) -> bool:
        """Whether that was computed already."""

    @property
    def quick_view_gains(self) -> bool:
        """Whether it takes no more than a few times as long as the result took."""


def when_asked(place: str) -> property:
    """Return a field that may be given as a function, which is called when somebody first looks at the field.

    The value, or the function that gives it, is kept under another name.
    """

    def look(outcome: Any) -> Any:
        kept = vars(outcome)
        if callable(kept[place]):
            kept[place] = kept[place]()
        return kept[place]

    return property(look, lambda outcome, value: vars(outcome).update({place: value}))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Predictions before and after, with everything that explains them; `tupi.Denoised` says what each field is."""

    predictions: NDArray[np.float64]
    initial: NDArray[np.float64]
    weights: pd.DataFrame
    dependence: pd.DataFrame
    evidence: Evidence | None
    method: str
    params: dict[str, Any]
    history: pd.DataFrame
    task: str = "ranking"
    index: pd.Index | None = None
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = field(default=())
    uncertainty: NDArray[np.float64] | None = None
    suggested: NDArray[np.int64] | None = None
    left_out_errors: NDArray[np.float64] | None = None
    expected: NDArray[np.float64] | None = None
    columns: pd.DataFrame = field(default_factory=lambda: columns_table(()))
    library: str = PANDAS
    groups: NDArray[Any] | None = None
    seen: Seen | None = None
    model: Model | None = None
    origin: Origin | None = None
    kept_gains: pd.DataFrame | None = None
    raters: pd.DataFrame | None = None
    agreement: pd.DataFrame | None = None
    in_blocks: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: what is computed when asked for, and not the problem behind."""
        asked = {f"_{name}": getattr(self, name) for name in WHEN_ASKED}
        return vars(self) | asked | {"origin": None, "kept_gains": self.known_gains}

    @property
    def view_gains(self) -> pd.DataFrame | None:
        """What each view is worth; None from a result that was loaded or copied before somebody looked."""
        return self.kept_gains if self.origin is None else self.origin.view_gains

    @property
    def known_gains(self) -> pd.DataFrame | None:
        """The same if somebody looked already."""
        return self.view_gains if self.origin is None or self.origin.knows_view_gains else None

    @property
    def quick_gains(self) -> pd.DataFrame | None:
        """The same if somebody looked already, or if it does not take long."""
        return self.view_gains if self.origin is not None and self.origin.quick_view_gains else self.known_gains

    @property
    def changed(self) -> bool:
        """Whether any prediction differs from the initial one."""
        return not np.array_equal(self.predictions, self.initial)

    @property
    def binary(self) -> bool:
        """Whether predictions are one probability per item, that of the second class."""
        return self.task == "classification" and self.initial.ndim == 1

    def to_frame(self) -> Any:
        """Return a table with one row per item: initial, prediction, and for scores the rank before and after.

        With groups there is a column ``group``, and ranks are within it.
        It is one of the dataframe library that the input was of; of pandas, if it was of none.
        """
        return in_library(self.table(), self.library)

    def table(self) -> pd.DataFrame:
        """Return what `to_frame` does as a table of pandas, whatever came in."""
        if self.initial.ndim == 1:
            frame = pd.DataFrame({"initial": self.initial, "prediction": self.predictions}, index=self.index)
            if self.groups is not None:
                frame.insert(0, "group", self.groups)
            for column, source in (("rank_before", "initial"), ("rank_after", "prediction")):
                scores = frame[source] if self.groups is None else frame.groupby("group", sort=False)[source]
                frame[column] = scores.rank(ascending=False, method="min").astype(int)
            return frame
        names = self.classes or tuple(range(self.initial.shape[1]))
        before = pd.DataFrame(self.initial, columns=[f"initial_{c}" for c in names], index=self.index)
        after = pd.DataFrame(self.predictions, columns=[f"prediction_{c}" for c in names], index=self.index)
        return before.join(after)


for name in WHEN_ASKED:  # here, so that the fields have no default, or keep theirs
    setattr(Outcome, name, when_asked(f"_{name}"))


def without_items(outcome: Outcome) -> Outcome:
    """Return an outcome without what belongs to single items."""
    nothing: dict[str, Any] = {"index": None, "suggested": None, "uncertainty": None, "expected": None}
    return replace(outcome, predictions=outcome.predictions[:0], initial=outcome.initial[:0], **nothing)


def weights_table(steps: Sequence[Step], names: Sequence[str], changed: bool) -> pd.DataFrame:
    """Return the weights of the views, one row per step; zero if nothing changed, since then no view was used."""
    rows = np.array([step.weights for step in steps]) if changed else np.zeros((len(steps), len(names)))
    return pd.DataFrame(rows, columns=list(names), index=pd.RangeIndex(len(rows), name="step"))


def history_table(steps: Sequence[Step], scores: Sequence[float]) -> pd.DataFrame:
    """Return the energy before and after each step and, if there are any, the scores on the labels."""
    frame = pd.DataFrame(
        {
            "energy_start": [step.energies[0] if step.energies else np.nan for step in steps],
            "energy_end": [step.energies[-1] if step.energies else np.nan for step in steps],
        },
        index=pd.RangeIndex(len(steps), name="step"),
    )
    if scores:
        frame["score"] = scores
    return frame


def columns_table(encodings: Iterable[Encoding]) -> pd.DataFrame:
    """Return what became of each column: view, column, kind, became (how many columns, of what) and a note."""
    rows = []
    for encoding in encodings:
        for column in encoding.columns:
            kind = column.dropped if column.kind is None else column.kind.name
            rows.append((encoding.view, column.name, kind, _became(column), column.note))
    return pd.DataFrame(rows, columns=list(FIELDS))


def _became(column: ColumnEncoding) -> str:
    names = [name.removeprefix(column.name).strip() or "number" for name in column.outputs]
    if not names:
        return "dropped"
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return f"{len(names)} column{'s' if len(names) > 1 else ''}: {shown}"
