"""What goes between page and browser: words that come in, words for what went wrong, and arrays that go out.

An array is a small JSON header, then little-endian numbers.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tupi.judging.catalogue import words_of
from tupi.judging.evidence import Evidence
from tupi.runtime.errors import InputError
from tupi.runtime.json_values import plain

TYPES = {"f4": "<f4", "i4": "<i4", "u1": "u1"}
KINDS = {"f": "f4", "i": "i4", "u": "u1"}


def encode(facts: dict[str, Any], **arrays: NDArray[Any]) -> bytes:
    """Return one frame: its length, the header's length, the header, and the arrays in the header's order.

    The header is padded so that each array begins at a multiple of four, where a browser can use it in place; the
    length at the front lets frames follow one another in one stream.
    """
    parts, listed = [], []
    for name, array in arrays.items():
        kind = KINDS[array.dtype.kind]
        data = np.ascontiguousarray(array, dtype=TYPES[kind]).tobytes()
        listed.append({"name": name, "type": kind, "length": len(array)})
        parts.append(data + b"\0" * (-len(data) % 4))
    header = json.dumps(facts | {"arrays": listed}, allow_nan=False, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 4)
    body = b"".join(parts)
    return struct.pack("<II", 8 + len(header) + len(body), len(header)) + header + body


def text_arrays(texts: list[str]) -> dict[str, NDArray[Any]]:
    """Return texts as two arrays: where each begins, and all bytes."""
    encoded = [text.encode("utf-8", "backslashreplace") for text in texts]
    starts = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(one) for one in encoded], out=starts[1:])
    return {"starts": starts, "bytes": np.frombuffer(b"".join(encoded), np.uint8)}


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
