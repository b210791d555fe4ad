"""What every loader returns: the items' feature sets, the truth, and where both come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tupi.runtime.errors import InputError

FloatArray = NDArray[np.floating]
IntArray = NDArray[np.integer]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """``n`` items seen through several feature sets, with the truth that experiments score against.

    Arrays are read-only, rows are in the order of the source files: shuffle by index in the experiment.

    Parameters
    ----------
    name : str
        Short name, as in ``load_<name>``.
    views : mapping of str to (n, d) float array
        Feature sets, the baseline's included.
    targets : mapping of str to (n,) float array
        The truth of each target (an attribute, a torque, a digit); larger is stronger. Only the order
        matters for class-wise attributes. Empty where the truth is known as comparisons alone.
    baseline : tuple of str
        Names of the views that form the predictor's own features g. The other views are the extra
        features {H^i}.
    note : str
        Where the data come from, and what to beware of.
    real : bool
        False when the files do not have the published number of items, as files made for a test.
    pairs : mapping of str to (higher, lower), optional
        Per target, two int arrays of item positions: ``higher[k]`` was judged stronger than ``lower[k]``.
    classes : (n,) int array, optional
        Class of each item, counted from zero.
    ids : tuple of str, optional
        Name of each item, such as its image's file name.
    images : Path, optional
        A zip archive that holds a picture per entry of `ids`.
    """

    name: str
    views: Mapping[str, FloatArray]
    targets: Mapping[str, FloatArray]
    baseline: tuple[str, ...]
    note: str
    real: bool
    pairs: Mapping[str, tuple[IntArray, IntArray]] | None = None
    classes: IntArray | None = None
    ids: tuple[str, ...] | None = None
    images: Path | None = None

    def __post_init__(self) -> None:
        views = {name: _features(name, view) for name, view in self.views.items()}
        object.__setattr__(self, "views", views)
        if not views:
            raise InputError("views: found none, at least one feature set is needed")
        unknown = [name for name in self.baseline if name not in views]
        if unknown or not self.baseline:
            raise InputError(
                f"baseline: found {list(self.baseline)}, one or more of the views {list(views)} are accepted"
            )
        for name, view in views.items():
            _check_length(f"views[{name!r}]", len(view), self.n)

        targets = {name: _read_only(np.asarray(truth, dtype=float)) for name, truth in self.targets.items()}
        object.__setattr__(self, "targets", targets)
        for name, truth in targets.items():
            _check_length(f"targets[{name!r}]", len(truth), self.n)
            if not np.isfinite(truth).all():
                raise InputError(f"targets[{name!r}]: found values that are not finite")
        if self.classes is not None:
            _check_length("classes", len(self.classes), self.n)
            object.__setattr__(self, "classes", _read_only(np.asarray(self.classes)))
        if self.ids is not None:
            _check_length("ids", len(self.ids), self.n)
        if self.pairs is not None:
            pairs = {name: self._checked_pairs(name, *pair) for name, pair in self.pairs.items()}
            object.__setattr__(self, "pairs", pairs)

    def _checked_pairs(self, name: str, higher: IntArray, lower: IntArray) -> tuple[IntArray, IntArray]:
        if len(higher) != len(lower):
            raise InputError(f"pairs[{name!r}]: found {len(higher)} higher and {len(lower)} lower items")
        both = np.concatenate([higher, lower])
        if len(both) and (both.min() < 0 or both.max() >= self.n):
            raise InputError(
                f"pairs[{name!r}]: found positions {both.min()} to {both.max()}, 0 to {self.n - 1} are accepted"
            )
        return _read_only(np.asarray(higher)), _read_only(np.asarray(lower))

    @property
    def n(self) -> int:
        """Number of items."""
        return len(next(iter(self.views.values())))

    @property
    def g(self) -> FloatArray:
        """The baseline features g: the baseline views side by side."""
        return np.hstack([self.views[name] for name in self.baseline])

    @property
    def extras(self) -> dict[str, FloatArray]:
        """The extra feature sets {H^i}: every view outside the baseline."""
        return {name: view for name, view in self.views.items() if name not in self.baseline}

    def __repr__(self) -> str:
        widths = {name: view.shape[1] for name, view in self.views.items()}
        return (
            f"Dataset({self.name!r}, n={self.n}, views={widths}, baseline={self.baseline}, "
            f"targets={list(self.targets or self.pairs or ())}, real={self.real})"
        )


def _features(name: str, view: FloatArray) -> FloatArray:
    view = np.asarray(view)
    if not np.issubdtype(view.dtype, np.floating):
        view = view.astype(float)
    if view.ndim != 2:
        raise InputError(f"views[{name!r}]: found shape {view.shape}, (n, d) is accepted")
    if not np.isfinite(view).all():
        raise InputError(f"views[{name!r}]: found values that are not finite")
    return _read_only(view)


def _read_only(array: NDArray) -> NDArray:
    # A view, so that the caller's own array stays writable.
    array = array.view()
    array.flags.writeable = False
    return array


def _check_length(what: str, found: int, n: int) -> None:
    if found != n:
        raise InputError(f"{what}: found {found} items, the first view has {n}")
