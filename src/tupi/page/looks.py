"""What a person looks at: a method, its kernel, and where the sliders are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.embedding.embedding import KERNELS
from tupi.inputs.groups import Groups
from tupi.methods import METHODS
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

# Settings that the sliders offer: the defaults of `Tupi`, and most of those that it tries.
LAMS = (0.03, 0.1, 0.2, 0.3, 0.4, 0.7, 1.5, 3.0, 10.0)
WIDTHS = (0.003, 0.01, 0.03, 0.05, 0.1, 0.3, 1.0)
LAST = 30  # steps of a path
Array = NDArray[Any]


@dataclass(frozen=True)
class Look:
    """One position of menus and sliders.

    Attributes
    ----------
    method : str
        A name from `tupi.methods`.
    kernel : str
        Kernels of the views; for the paper's method and its kin.
    lam, sigma_w2 : float
        The paper's settings.
    t : int
        The step.
    column : int
        For classification: the class whose scores are shown.
    """

    method: str = "tupi"
    kernel: str = "gaussian"
    lam: float = 0.3
    sigma_w2: float = 0.1
    t: int = 8
    column: int = 0

    @property
    def has_steps(self) -> bool:
        """Whether the method is the paper's or a kin of it, whose every step can be looked at."""
        return issubclass(METHODS[self.method], Tupi)

    def setting(self, base: Tupi) -> Tupi:
        """Return the method's complete setting."""
        return _setting(self.method, self.kernel, self.lam, self.sigma_w2, base)

    def moved(self, lam: float, sigma_w2: float) -> Look:
        """Return the look with other sliders."""
        return replace(self, lam=lam, sigma_w2=sigma_w2)


@lru_cache(maxsize=1_000)  # asked before every step, for all that anybody looks at
def _setting(method: str, kernel: str, lam: float, sigma_w2: float, base: Tupi) -> Tupi:
    kind = METHODS[method]
    assert issubclass(kind, Tupi)
    chosen = {"lam": lam, "sigma_w2": sigma_w2, "n_iter": LAST, "kernel": kernel}
    return kind(**base.params() | chosen).settings(labelled=False)[0]


def read_look(words: Mapping[str, str], n_columns: int) -> Look:
    """Return a look from the words of a request."""
    method, kernel = words.get("method", "tupi"), words.get("kernel", "gaussian")
    for name, value, known in (("method", method, METHODS), ("kernel", kernel, KERNELS)):
        if value not in known:
            raise InputError(f"{name}: found {value[:40]!r}; accepted: {', '.join(known)}.")
    lam, sigma_w2 = (_number(words, name, float, 1e-4, 1e4) for name in ("lam", "sigma_w2"))
    t = _number(words, "t", int, 0, LAST)
    column = _number(words, "column", int, 0, n_columns - 1)
    return Look(method, kernel, lam, sigma_w2, int(t), int(column))


def _number(words: Mapping[str, str], name: str, kind: type, low: float, high: float) -> float:
    text = words.get(name)
    if text is None:
        return getattr(Look(), name)
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise InputError(f"{name}: found {text[:40]!r}; accepted: a number from {low:g} to {high:g}.")
    return value


def columns_of(predictions: Array, column: int, groups: Groups | None = None) -> dict[str, Array]:
    """Return what the page shows of each item: its score, its place and, among several classes, the likeliest one."""
    values = predictions if predictions.ndim == 1 else predictions[:, column]
    found = {"score": values.astype(np.float32), "rank": ranks(values, groups)}
    if predictions.ndim == 2:
        found["top"] = predictions.argmax(axis=1).astype(np.int32)
    return found


def ranks(values: Array, groups: Groups | None = None) -> NDArray[np.int32]:
    """Return each item's place, 1 for the highest score; equal scores share the best of their places.

    With groups it is the place within the item's group.
    """
    numbers = np.zeros(len(values), np.int64) if groups is None else groups.numbers
    order = np.lexsort((-values, numbers))
    first = np.ones(len(values), dtype=bool)
    first[1:] = numbers[order][1:] != numbers[order][:-1]
    fresh = first.copy()
    fresh[1:] |= values[order][1:] != values[order][:-1]
    places = np.arange(len(values))
    latest, start = (np.maximum.accumulate(np.where(which, places, 0)) for which in (fresh, first))
    result = np.empty(len(values), np.int32)
    result[order] = latest - start + 1
    return result
