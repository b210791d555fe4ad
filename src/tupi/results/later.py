"""What a result needs of the method that made it, so that it can go on: the shapes of a model and of an origin."""

from __future__ import annotations

from typing import Any, Protocol

import pandas as pd

from tupi.inputs.new_items import Foreseen, Known, NewItems


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
    """The problem that a result came from, with all that was computed of it."""

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
