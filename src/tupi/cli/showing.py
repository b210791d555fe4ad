"""Text from files as a terminal may see it."""

from __future__ import annotations


def shown(text: object) -> str:
    """Return text in which whatever is not printable, such as a terminal's escape codes, is spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))
