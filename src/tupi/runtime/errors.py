"""The one error that bad input raises."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """Input that cannot be used: the message says which argument, what was found and what is accepted."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ``" Did you mean 'lam'?"`` for a misspelt name, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""
