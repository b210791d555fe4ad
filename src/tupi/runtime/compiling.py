"""Whether compiled functions are there already: compiling them takes seconds, of which people want to know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

COMPILING = "Compiling, only this first time"


def is_compiled(function: Any) -> bool:
    """Return whether a function of numba was called or was compiled by an earlier process.

    Parameters
    ----------
    function : numba.core.dispatcher.Dispatcher
        The function; its compiled code must be cached.
    """
    if function.signatures:
        return True
    code = function.py_func.__code__
    folder, stem = Path(function.stats.cache_path or "."), Path(code.co_filename).stem
    return any(folder.glob(f"{stem}.{function.py_func.__qualname__}-{code.co_firstlineno}.*.nbi"))
