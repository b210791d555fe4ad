"""Memory that one step of Algorithm 1 leaves to the next: fresh memory costs as much as working in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.storage import aligned


class Workspace:
    """Arrays by name. Whoever has one has it alone, until the next one with that name is asked for."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float32) -> NDArray[Any]:
        """Return an array with anything in it: the last one with this name, if it fits."""
        known = self._arrays.get(name)
        if known is None or known.shape != shape or known.dtype != dtype:
            known = self._arrays[name] = aligned(shape, dtype, clear=False)
        return known
