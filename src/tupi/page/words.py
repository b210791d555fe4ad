"""Words that come in with a request, and words for what was found and for what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tupi.judging.catalogue import words_of
from tupi.judging.evidence import Evidence
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain


def text(words: Mapping[str, Any], name: str) -> str:
    """Return a word that is text, or complain."""
    value = words.get(name)
    if not isinstance(value, str):
        raise InputError(f"{name}: found {type(value).__name__}; accepted: text.")
    if any(0xD800 <= ord(sign) <= 0xDFFF for sign in value):
        raise InputError(f"{name}: found half a sign, which no file can hold; accepted: Unicode text.")
    return value


def whole(words: Mapping[str, Any], name: str) -> int:
    """Return a word that is a whole number, or complain."""
    value = words.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InputError(f"{name}: found {type(value).__name__}; accepted: a whole number.")
    return value


def in_words(problem: Exception) -> str:
    """Return what went wrong without saying where on this machine."""
    if isinstance(problem, InputError):
        return str(problem)
    if isinstance(problem, MemoryError):
        return "There is not enough memory for this."
    return "This could not be computed; the terminal that runs tupi serve says why."


def facts_of(evidence: Evidence) -> dict[str, Any]:
    """Return what the page shows of evidence, with the words in which its metric is told."""
    words = words_of(evidence.metric)
    return plain(asdict(evidence) | {"gain": evidence.gain, "unit": words.unit, "factor": words.factor})
