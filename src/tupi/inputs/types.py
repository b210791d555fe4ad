"""The types in public signatures: what people may give for predictions, features and labels, and a client of Dask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pandas as pd
from narwhals.typing import IntoDataFrame, IntoSeries
from numpy.typing import ArrayLike


class Lazy(Protocol):
    """A Dask collection or a Zarr array: larger than memory, and packages that need not be installed."""

    @property
    def shape(self) -> tuple[Any, ...]:
        """Length of each dimension; Dask may not know it yet."""


class DaskClient(Protocol):
    """A `distributed.Client`, of a package that need not be installed."""

    def submit(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Let a worker call a function."""

    def gather(self, futures: Any) -> Any:
        """Return what workers have computed."""


Column: TypeAlias = ArrayLike | pd.Series | pd.Index | IntoSeries  # one value per item
Table: TypeAlias = ArrayLike | pd.Series | pd.DataFrame | IntoSeries | IntoDataFrame  # one row per item
ViewLike: TypeAlias = Table | Path | Iterable[ArrayLike] | Lazy  # in memory, in a file, in chunks, or elsewhere
FeaturesLike: TypeAlias = ViewLike | Mapping[Any, ViewLike] | Sequence[ViewLike]  # names count as text
