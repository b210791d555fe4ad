"""Whether a call is one for Dask, said without importing it."""

from __future__ import annotations

import importlib.util
from typing import Any

from tupi.inputs.views import named_views
from tupi.runtime.errors import InputError

LAZY = ("dask", "distributed", "zarr")  # packages whose collections are larger than memory


def is_lazy(values: Any) -> bool:
    """Whether these values are a Dask collection or a Zarr array."""
    return type(values).__module__.partition(".")[0] in LAZY


def wants_dask(predictions: Any, features: Any, method: Any, client: Any) -> bool:
    """Whether predictions or a view are Dask collections or Zarr arrays, or the engine or a client is asked for."""
    if getattr(method, "engine", None) == "dask" or client is not None or is_lazy(predictions) or is_lazy(features):
        return True
    return features is not None and any(is_lazy(values) for values in named_views(features).values())


def check_installed() -> None:
    """Complain if Dask is missing."""
    for package in ("dask", "distributed"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"engine: 'dask' needs {package}: pip install 'tupi[distributed]'.")
