import json
import math

import numpy as np

from tupi.runtime.json_values import finite, numbers, plain

VALUE = {1: (np.float32(0.5), np.int64(3), [True, None]), "far": math.inf, "text": "a", "kind": complex(0, 1)}


def test_whatever_is_inside_becomes_strict_json():
    expected = {"1": [0.5, 3, [True, None]], "far": None, "text": "a", "kind": "1j"}
    assert plain(VALUE) == expected
    assert json.loads(json.dumps(plain(VALUE), allow_nan=False)) == expected


def test_infinite_numbers_may_stay():
    assert plain(VALUE, strict=False)["far"] == math.inf
    assert math.isnan(plain([np.nan], strict=False)[0])


def test_numbers_that_are_not_finite_become_none():
    assert numbers(np.array([1.0, np.nan, -np.inf])) == [1.0, None, None]
    assert (finite(None), finite(math.nan), finite(2)) == (None, None, 2.0)
