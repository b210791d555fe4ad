"""Finding a dataset's files: the folder in ``TUPI_DATA``, an installed package, the cache, the web."""

from __future__ import annotations

import hashlib
import http.client
import importlib.util
import os
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import rich.progress
from rich.console import Console

from tupi.runtime.errors import InputError

DATA_VARIABLE = "TUPI_DATA"
CACHE_VARIABLE = "TUPI_CACHE"
TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 20

#: Called after each chunk with the bytes received and, where the server says it, the bytes to come in all.
Received = Callable[[int, int | None], None]


class DatasetUnavailableError(OSError):
    """A dataset's file is neither here nor to be had: the message says why, and which file to provide."""


def unavailable(expected: str, reason: str) -> DatasetUnavailableError:
    """Return the error that tells why `expected` is missing and how to provide it."""
    return DatasetUnavailableError(f"{reason}; set {DATA_VARIABLE} to a folder that holds {expected}.")


def in_data_folder(name: str) -> Path | None:
    """Return the file or folder `name` of the folder in ``TUPI_DATA``, or None where there is none."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return None
    if not Path(folder).is_dir():
        raise InputError(f"{DATA_VARIABLE}: found {folder!r}, the path of an existing folder is accepted")
    path = Path(folder) / name
    return path if path.exists() else None


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package without importing it, or None if it is not installed.

    Some packages ship data but do not import any more with current versions of what they need.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def cache_folder() -> Path:
    """Return the folder for downloads: ``TUPI_CACHE``, or ``tupi`` in the user's cache folder."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "tupi"


def find_or_download(
    name: str, urls: Sequence[str], *, expected: str | None = None, progress: Received | None = None
) -> Path:
    """Return the path of file `name`: from ``TUPI_DATA``, from the cache, or downloaded into the cache.

    Parameters
    ----------
    name : str
        File name, the same in all three places.
    urls : sequence of str
        Addresses of the file; the first that answers is used.
    expected : str, optional
        What the error asks for where it is not `name`, such as ``"pubfig.npz"``.
    progress : callable, optional
        Called with (bytes received, bytes in all or None); by default a bar on an interactive terminal.

    Raises
    ------
    DatasetUnavailableError
        No address answers, or the file is not the one that was first seen.
    """
    if path := in_data_folder(name):
        return path
    target = cache_folder() / name
    if target.exists():
        _check_or_record(target, _sha256(target))
        return target
    failures = []
    for url in urls:
        try:
            if progress is None:
                with _bar(name) as bar:
                    download(url, target, progress=bar)
            else:
                download(url, target, progress=progress)
        except DatasetUnavailableError:
            raise
        # An answer that is not HTTP, or stops early, is no OSError.
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"{url} ({error})")
        else:
            return target
    raise unavailable(expected or name, f"{name} could not be downloaded from {' or '.join(failures)}")


def download(url: str, target: Path, *, progress: Received | None = None) -> None:
    """Download `url` to `target`: the whole file with the checksum first seen, or nothing.

    The bytes go to a temporary folder beside `target`, and the finished file is moved in one step, so that
    neither an interruption nor a second process can leave or meet half a file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as folder:
        part = Path(folder) / target.name
        digest = hashlib.sha256()
        request = urllib.request.Request(url, headers={"User-Agent": "tupi"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response, part.open("wb") as file:
            if response.headers.get_content_type() == "text/html":
                # A log-in page or a moved home must not be kept as the file that was first seen.
                raise ConnectionError("the answer is a web page, not the file")
            length = response.headers.get("Content-Length")
            total = int(length) if length else None
            done = 0
            while chunk := response.read(CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
        # read() returns what came before a closed connection without an error.
        if total is not None and done != total:
            raise ConnectionError(f"the connection closed after {done} of {total} bytes")
        _check_or_record(target, digest.hexdigest())
        os.replace(part, target)


def _check_or_record(target: Path, found: str) -> None:
    """Compare a file's SHA-256 with the one first seen, kept in ``<file>.sha256``; the first is recorded."""
    record = target.with_name(target.name + ".sha256")
    if not record.exists():
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".checksum-") as folder:
            part = Path(folder) / record.name
            part.write_text(f"{found}  {target.name}\n", encoding="ascii")
            os.replace(part, record)
        return
    seen = record.read_text(encoding="ascii").split()[0]
    if found != seen:
        raise DatasetUnavailableError(
            f"{target.name} has SHA-256 {found}, but {seen} was recorded when it was first seen: delete "
            f"{target} and {record.name} beside it if the new file is to be trusted."
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _bar(name: str) -> Iterator[Received]:
    """Show a bar on the terminal's stderr; show nothing where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:  # older versions of rich end a bar that is not shown with an empty line
        yield lambda done, total: None
        return
    columns = (
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.DownloadColumn(),
        rich.progress.TimeRemainingColumn(),
    )
    with rich.progress.Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
