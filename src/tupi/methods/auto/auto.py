"""The default: one Gaussian process with labels, careful averaging without."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from tupi.algorithm.trajectory import Watch
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Labels, subset
from tupi.methods.auto.fuse import Fuse
from tupi.methods.auto.smooth import Smooth
from tupi.methods.base import Fit, Method


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Everything automatic: `Fuse` with labels, `Smooth` without.

    Parameters
    ----------
    guard : bool
        With labels: leave the predictions alone where they show no credible gain, see `Fuse`.
    """

    name: ClassVar[str] = "auto"

    guard: bool = True

    def __post_init__(self) -> None:
        Fuse(guard=self.guard)  # checks it

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Fit the method that suits the problem."""
        useful = None if labels is None else subset(labels, prepared.items)
        if useful is not None:
            fit, why = Fuse(guard=self.guard).fit(prepared, labels, watch), "there are labels"
            chosen = Fuse.name
        else:
            fit, chosen = Smooth().fit(prepared, None, watch), Smooth.name
            why = "there are no labels" if labels is None else "no labelled items with features differ in their label"
        note = f"Chose {chosen!r} because {why}. {fit.notes[0]}"
        return replace(fit, params={"chosen": chosen} | fit.params, notes=(note,))
