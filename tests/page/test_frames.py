from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.page.conftest import decode
from tupi.page.frames import encode, text_arrays
from tupi.runtime.json_values import numbers


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False)), st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_what_is_encoded_is_decoded(floats: list[float], wholes: list[int]) -> None:
    frame = encode({"t": 3, "note": "é"}, a=np.array(floats, np.float32), b=np.array(wholes, np.int32))
    facts, arrays = decode(frame)
    assert facts == {"t": 3, "note": "é"}
    np.testing.assert_array_equal(arrays["a"], np.array(floats, np.float32))
    np.testing.assert_array_equal(arrays["b"], np.array(wholes, np.int32))


def test_the_first_number_is_the_frames_length_and_arrays_are_aligned() -> None:
    frame = encode({"x": "abc"}, bytes=np.arange(5, dtype=np.uint8), score=np.ones(3, np.float32))
    assert int.from_bytes(frame[:4], "little") == len(frame)
    assert int.from_bytes(frame[4:8], "little") % 4 == 0
    assert len(frame) % 4 == 0


@given(st.lists(st.text()))
def test_texts_come_back(texts: list[str]) -> None:
    arrays = text_arrays(texts)
    data, starts = arrays["bytes"].tobytes(), arrays["starts"]
    back = [data[i:j].decode() for i, j in itertools.pairwise(starts)]
    assert back == [text.encode("utf-8", "backslashreplace").decode() for text in texts]


def test_what_json_cannot_hold_becomes_none() -> None:
    assert numbers(np.array([1.0, np.nan, np.inf])) == [1.0, None, None]
    with pytest.raises(ValueError, match="JSON"):
        encode({"x": float("nan")})
