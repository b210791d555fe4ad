"""Compiled functions: how they are made, where their code is kept, and whether it is there already."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

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


def must_compile(function: Any, progress: Callable[[str], None]) -> bool:
    """Return whether a function has to be compiled, and say so before it is: that takes seconds."""
    if is_compiled(function):
        return False
    progress(COMPILING)
    return True


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function when it is first called, and keeps the code for later processes.

    Other threads run meanwhile (see `tupi.runtime.threads.on_threads`). Nobody calls these functions from C, and the
    door for that would have to be compiled too.

    Parameters
    ----------
    **options : Any
        Of ``numba.njit``, such as ``fastmath``. What is called by compiled functions only has
        ``no_cpython_wrapper=True``, which leaves out the door for calls from Python.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        common = {"nogil": True, "no_cfunc_wrapper": True, **options}
        try:
            return numba.njit(cache=True, **common)(function)
        except RuntimeError:  # numba found no folder that it may write to: neither the package's nor the user's
            config: Any = numba.config
            before, folder = config.CACHE_DIR, private_folder()
            if folder is None:
                return numba.njit(**common)(function)
            config.CACHE_DIR = str(folder)
            try:
                return numba.njit(cache=True, **common)(function)
            finally:
                config.CACHE_DIR = before

    return decorate


def private_folder() -> Path | None:
    """Return a folder for compiled code among the temporary files that nobody else can write to; None without one.

    Whoever could write there could run code as this user, so a folder of somebody else is not taken.
    """
    if not hasattr(os, "getuid"):
        return None
    folder = Path(tempfile.gettempdir()) / f"tupi-compiled-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    return folder if found.st_uid == os.getuid() and found.st_mode & 0o170077 == 0o040000 else None
