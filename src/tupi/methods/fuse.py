"""One Gaussian process on the labels, built on the label-free answer, with a guard against harm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tupi.errors import InputError
from tupi.fusion.guard import weight_of
from tupi.fusion.labelfree import label_free
from tupi.labels import Labels, Values
from tupi.methods.answers import RegressionAnswer, answer_of
from tupi.methods.base import Fit, Method
from tupi.methods.smooth import describe_views, two_steps
from tupi.methods.supervised import CalibratedFit, known_items
from tupi.paths import Watch
from tupi.prepared import Prepared


@dataclass(frozen=True, kw_only=True)
class Fuse(Method):
    """A Gaussian process whose kernel is a sum of simple ones, with variances by marginal likelihood under a prior.

    Its mean function is the label-free answer (`tupi.methods.smooth`) with a positive slope; its kernels are those of
    `tupi.fusion.kernels`. Labels are values or pairs. Of more than 2,000 labelled items (fewer beyond 67,000 items, but
    at least 200) a part is used, evenly spread over their values.

    Parameters
    ----------
    guard : bool
        Return (1 - w) f + w g, with w the probability of a gain judged by labels that were left out, and f itself where
        a gain is not credible. Without the guard, g.
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
        probability = answer.probability()
        w = weight_of(probability, bool(base.views.related)) if self.guard else 1.0
        given = len(known.labels.values) if isinstance(known.labels, Values) else len(known.labels.higher)
        noun = "labels" if isinstance(known.labels, Values) else "comparisons"
        used = f"{answer.n_used:,} {noun}" if answer.n_used == given else f"{answer.n_used:,} of {given:,} {noun}"
        if not self.guard:
            verdict = "they came back as they are, since the guard is off"
        elif w == 0:
            verdict = "no credible gain, so the initial predictions stay as they are"
        else:
            verdict = f"they make up {100 * w:.0f}% of what came back"
        note = (
            f"{describe_views(base, prepared)} A Gaussian process on {used} made new predictions, better with "
            f"probability {probability:.2f} by the {noun} left out; {verdict}."
        )
        calibrated = isinstance(answer, RegressionAnswer) and w > 0
        return two_steps(
            CalibratedFit if calibrated else Fit,
            prepared,
            base,
            prepared.f if w == 0 else base.in_order(answer.columns(w)),
            self.params() | {"weight": w, "signal_share": base.share.c},
            (note,),
            watch,
            gain=answer.gain(w or 1.0),
            uncertainty=base.in_order(answer.uncertainty()),
            left_out_errors=answer.left_out_errors(w),
            # Fits to some of the labels only judge; suggestions are for a person.
            suggested=base.order[answer.suggest()] if labels is prepared.problem.labels else None,
        )
