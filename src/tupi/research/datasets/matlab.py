"""Reading the MATLAB files in which most of the datasets are published."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from numpy.typing import NDArray

from tupi.runtime.errors import InputError


def read_mat(source: Path | bytes, name: str, variables: tuple[str, ...]) -> dict[str, NDArray]:
    """Return the named variables of a MATLAB file.

    Parameters
    ----------
    source : Path or bytes
        The file, or its content where it lies in an archive.
    name : str
        The file's name, for the error.
    variables : tuple of str
        What the file must hold.
    """
    file: Any = io.BytesIO(source) if isinstance(source, bytes) else source
    with _readable(name):
        content = scipy.io.loadmat(file, variable_names=list(variables))
    missing = [variable for variable in variables if variable not in content]
    if missing:
        raise InputError(f"{name}: found no variable {', '.join(missing)}, {', '.join(variables)} are needed")
    return {variable: content[variable] for variable in variables}


def has_variable(path: Path, name: str, variable: str) -> bool:
    """Return whether a MATLAB file holds a variable; ``name`` is the file's, for the error."""
    with _readable(name):
        return any(found == variable for found, _, _ in scipy.io.whosmat(path))


@contextmanager
def _readable(name: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, NotImplementedError, zlib.error, scipy.io.matlab.MatReadError) as error:
        raise InputError(f"{name}: found no readable MATLAB file ({error})") from error


def read_zip_member(archive: Path, member: str) -> bytes:
    """Return the content of the one file of a zip archive whose path ends in `member`."""
    if not zipfile.is_zipfile(archive):
        raise InputError(f"{archive}: found no zip archive")
    with zipfile.ZipFile(archive) as file:
        # Archives made on a Mac carry a shadow of each file in __MACOSX.
        names = [
            name for name in file.namelist() if f"/{name}".endswith(f"/{member}") and not name.startswith("__MACOSX")
        ]
        if len(names) != 1:
            raise InputError(f"{archive.name}: found {len(names)} files named {member}, exactly one is needed")
        return file.read(names[0])


def cell_strings(cells: NDArray) -> tuple[str, ...]:
    """Return a MATLAB cell array of strings, of any shape, as a tuple."""
    return tuple(str(np.squeeze(cell)) for cell in cells.ravel())
