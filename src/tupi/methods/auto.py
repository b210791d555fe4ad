"""The default: the paper's method with the kernels that suit the situation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tupi.labels import Labels
from tupi.methods.base import Fit, Method
from tupi.methods.tupi import Tupi
from tupi.paths import Watch
from tupi.prepared import Prepared


@dataclass(frozen=True, kw_only=True)
class Auto(Method):
    """Everything automatic: `Tupi` tuned when there are labels, with diffusion kernels when there are none.

    Without labels nothing can be tuned, and diffusion kernels are the ones that rarely do harm at fixed settings.
    """

    name: ClassVar[str] = "auto"

    def fit(self, prepared: Prepared, labels: Labels | None, watch: Watch | None = None) -> Fit:
        """Fit the method that suits the problem."""
        method = Tupi() if labels is not None else Tupi(kernel="diffusion")
        return method.fit(prepared, labels, watch)
