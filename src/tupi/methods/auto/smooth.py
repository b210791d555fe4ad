"""Without labels: scores of alike items averaged, as far as the views give reason to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tupi.algorithm.denoiser import Step
from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels
from tupi.methods.auto.design import suggest_first
from tupi.methods.auto.labelfree import N_NEIGHBORS, LabelFree, label_free, unit
from tupi.methods.base import Fit, Method, check_positive


@dataclass(frozen=True, kw_only=True)
class Smooth(Method):
    """The label-free choice: neighbours' averages, shrunk towards f by the share of signal in the difference.

    Views that do not depend on the predictions, and copies, are left out. See `tupi.methods.auto.signal` for the share.
    Labels are not used.

    Parameters
    ----------
    n_neighbors : int
        Neighbours that are averaged, twice.
    """

    name: ClassVar[str] = "smooth"

    n_neighbors: int = N_NEIGHBORS

    def __post_init__(self) -> None:
        check_positive("n_neighbors", self.n_neighbors, whole=True, least=1, optional=False)

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Average and shrink."""
        base = label_free(prepared, self.n_neighbors)
        params = self.params() | {"signal_share": base.share.c}
        note = (describe_views(base, prepared) + " " + describe_share(base),)
        task = prepared.problem.task
        # Averages vary less than scores. For regression and classes f's units stay: there they mean something.
        moved = unit(base.careful) if task == "ranking" else base.careful
        columns = base.in_order(moved) if base.moves else prepared.f
        calibrated = task == "regression" and base.moves
        # Whoever has labels asks a method that uses them.
        first = base.order[suggest_first(base, prepared)] if prepared.problem.labels is None else None
        return two_steps(prepared, base, columns, params, note, watch, suggested=first, calibrated=calibrated)


def two_steps(
    prepared: Prepared,
    base: LabelFree,
    columns: np.ndarray,
    params: dict[str, Any],
    notes: tuple[str, ...],
    watch: Watch | None,
    **more: Any,
) -> Fit:
    """Return a fit of two steps, f and the answer, weighted by what each view explains in either."""
    m = len(prepared.problem.views)
    unknown = np.full(m, np.nan)
    steps = [Step(t, f, base.view_shares(f[base.order], m), unknown) for t, f in enumerate((prepared.f, columns))]
    if watch is not None:
        for step in steps:
            watch(step)
    return Fit(columns, params, steps, [], notes, **more)


def describe_views(base: LabelFree, prepared: Prepared) -> str:
    """Return a sentence on which views were used."""
    names = prepared.problem.names
    views = base.views
    said = f"{len(views.related) - len(views.through)} of {len(names)} views depend on the predictions"
    for numbers, what in (
        (views.through, "on one of those views"),
        ([block.view for block in views.rest], "unrelated"),
        (views.copies, "copies"),
    ):
        if numbers:
            listed = ", ".join(names[k] for k in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
            said += f"; {what}: {listed}"
    return said + "."


def describe_share(base: LabelFree) -> str:
    """Return a sentence on how far averages of alike items are trusted."""
    if not base.views.related:
        return "Nothing to learn from without labels: the predictions stay as they are."
    if base.moves:
        return (
            f"Of what alike items do not share, {100 * base.share.c:.0f}% is taken to be signal and kept, "
            "the rest is averaged away."
        )
    if base.share.c == 1.0 and len(base.views.related) == 1:
        return "The one view that depends on them does not tell error from signal: the predictions stay as they are."
    if base.share.c == 1.0:
        why = "each view adds to what the others explain, so nothing is known to be error"
    else:
        why = "nothing shows that what the views agree about is what is predicted"
    return f"Without labels {why}: the predictions stay as they are."
