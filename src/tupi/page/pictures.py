"""Pictures of items, found when the page starts and served by item number alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tupi.runtime.errors import InputError

MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".bmp": "image/bmp",
    ".avif": "image/avif",
}  # no SVG, which can hold scripts
MAX_BYTES = 20 * 2**20


class Pictures:
    """At most one picture file per item.

    Parameters
    ----------
    paths : sequence of Path or None
        The files, in the order of the items.
    """

    def __init__(self, paths: Sequence[Path | None]) -> None:
        self._paths = list(paths)
        self.n_found = sum(path is not None for path in paths)

    def read(self, item: int) -> tuple[bytes, str] | None:
        """Return a picture and its media type; None if the item has none, or one that is gone or too large."""
        path = self._paths[item] if 0 <= item < len(self._paths) else None
        try:
            if path is None or path.stat().st_size > MAX_BYTES:
                return None
            return path.read_bytes(), MEDIA_TYPES[path.suffix.lower()]
        except OSError:
            return None


def find_pictures(folder: str | Path, names: Sequence[str], option: str = "--images") -> Pictures:
    """Return the pictures in a folder that are called like the items, with or without the suffix.

    Names may lead into folders inside it, never out of it: a table could come from anywhere.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{option}: there is no folder {root}; accepted: a folder of pictures.")
    root = root.resolve()
    found = Pictures([_find(root, name) for name in names])
    if not found.n_found:
        raise InputError(
            f"{option}: {folder} holds no picture for any of {len(names)} items (the first is called {names[0]!r}); "
            f"accepted: files called like the items, with a suffix of {', '.join(MEDIA_TYPES)}."
        )
    return found


def _find(root: Path, name: str) -> Path | None:
    if not name or "\0" in name:
        return None
    for suffix in ("", *MEDIA_TYPES):
        path = root / f"{name}{suffix}"
        if path.suffix.lower() not in MEDIA_TYPES:
            continue
        try:
            path = path.resolve()
            if path.is_relative_to(root) and path.is_file():
                return path
        except OSError:  # a name too long for a file
            return None
    return None
