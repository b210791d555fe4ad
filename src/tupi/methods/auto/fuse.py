"""One Gaussian process on the labels, built on the label-free answer, with a guard against harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, Values
from tupi.methods.auto.answers import NEW, RegressionAnswer, answer_of
from tupi.methods.auto.guard import LEAST_CONFIRMED, Blend
from tupi.methods.auto.labelfree import label_free
from tupi.methods.auto.smooth import describe_views, two_steps
from tupi.methods.base import Fit, Method
from tupi.methods.supervised import known_items
from tupi.runtime.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Fuse(Method):
    """A Gaussian process whose kernel is a sum of simple ones, with variances by marginal likelihood under a prior.

    Its mean function is the label-free answer (`tupi.methods.auto.smooth`) with a positive slope; its kernels are those
    of `tupi.methods.auto.kernels`. Labels are values or pairs. Of more than 2,000 labelled items (fewer beyond 67,000
    items, but at least 200) a part is used, evenly spread over their values.

    Parameters
    ----------
    guard : bool
        Return (1 - w) f + w g, with w the probability of a gain judged by labels that were left out, and f itself where
        a gain is not credible; as far as the labels are not confirmed by predictions that did not see them, what comes
        back without labels. Without the guard, g.
    """

    name: ClassVar[str] = "fuse"

    guard: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.guard, (bool, np.bool_)):
            raise InputError(f"guard: found {self.guard!r}; accepted: True or False.")

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Fit the process to the labels, judge it on labels left out, and blend it with f accordingly."""
        known = known_items(self, prepared, labels)
        base = label_free(prepared)
        answer = answer_of(known, base, prepared)
        blend, probability, confirmed = answer.guarded()
        if not self.guard:
            blend = NEW
        changed = blend.new > 0 or (blend.label_free > 0 and base.moves)
        given = len(known.labels.values) if isinstance(known.labels, Values) else len(known.labels.higher)
        kind = "labels" if isinstance(known.labels, Values) else "comparisons"
        used = f"{answer.n_used:,} {kind}" if answer.n_used == given else f"{answer.n_used:,} of {given:,} {kind}"
        plain = answer.fused.plain_share
        aside = self.guard and confirmed < LEAST_CONFIRMED
        # The probability is of what the labels say and of what is usual; labels that are left aside say nothing.
        better = (
            f"better with probability {probability:.2f} by the {kind} left out and by what such views usually gain; "
        )
        note = (
            f"{describe_views(base, prepared)} A Gaussian process on {used} made new predictions, {_of_plain(plain)}"
            f"{'' if aside else better}{self._verdict(blend, aside, changed, kind)}."
        )
        return two_steps(
            prepared,
            base,
            base.in_order(answer.columns(blend)) if changed else prepared.f,
            self.params()
            | {"weight": blend.new, "confirmed": confirmed, "signal_share": base.share.c, "plain_share": plain},
            (note,),
            watch,
            gain=answer.gain(blend if changed else NEW),
            uncertainty=base.in_order(answer.uncertainty()),
            calibrated=isinstance(answer, RegressionAnswer) and changed,
            expected=None if (expected := answer.expected()) is None else base.in_order(expected),
            left_out_errors=answer.left_out_errors(blend),
            # Fits to some of the labels only judge; suggestions are for a person.
            suggested=base.order[answer.suggest()] if labels is prepared.problem.labels else None,
        )

    def _verdict(self, blend: Blend, aside: bool, changed: bool, kind: str) -> str:
        """Return what became of the new predictions, as the end of a sentence."""
        if not self.guard:
            return "they came back as they are, since the guard is off"
        if aside:
            instead = "the answer without labels" if changed else "the initial predictions"
            return (
                f"but the {kind} agree with nothing better than chance would (do their ids match those of the "
                f"predictions?), so they are left aside, and {instead} came back"
            )
        if not changed:
            return "no credible gain, so the initial predictions stay as they are"
        return f"they make up {100 * blend.new:.0f}% of what came back"


def _of_plain(share: float) -> str:
    """Return how much of the new predictions is that of the plain process, as part of a sentence."""
    if round(100 * share) == 0:
        return ""
    return f"{100 * share:.0f}% of them by a plain process of the predictions and the views' columns, "
