import pickle

import numpy as np
import pytest

from tupi.research.datasets import Dataset
from tupi.runtime.errors import InputError


def small(**changes):
    arguments = {
        "name": "small",
        "views": {"a": np.arange(6.0).reshape(3, 2), "b": np.ones((3, 1))},
        "targets": {"t": np.array([1.0, 2.0, 3.0])},
        "baseline": ("a",),
        "note": "made up",
        "real": False,
    }
    return Dataset(**(arguments | changes))


def test_splits_views_into_baseline_and_extras():
    data = small()
    np.testing.assert_array_equal(data.g, data.views["a"])
    assert list(data.extras) == ["b"]
    both = small(baseline=("b", "a"))
    np.testing.assert_array_equal(both.g, np.hstack([data.views["b"], data.views["a"]]))
    assert both.extras == {}


def test_arrays_are_read_only_and_the_callers_are_not():
    mine = np.ones((3, 2))
    data = small(views={"a": mine}, classes=np.arange(3), pairs={"t": (np.array([0]), np.array([1]))})
    mine[0, 0] = 5.0
    for array in (data.views["a"], data.targets["t"], data.classes, data.pairs["t"][0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_integer_features_become_float_and_single_precision_stays():
    data = small(views={"a": np.ones((3, 2), dtype=int), "b": np.ones((3, 2), dtype=np.float32)})
    assert data.views["a"].dtype == np.float64
    assert data.views["b"].dtype == np.float32


def test_survives_pickling():
    again = pickle.loads(pickle.dumps(small()))
    np.testing.assert_array_equal(again.g, small().g)


def test_repr_is_short():
    assert repr(small()) == (
        "Dataset('small', n=3, views={'a': 2, 'b': 1}, baseline=('a',), targets=['t'], real=False)"
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"views": {}}, "views: found none"),
        ({"views": {"a": np.ones(3)}}, r"views\['a'\]: found shape \(3,\)"),
        ({"views": {"a": np.ones((3, 2)), "b": np.ones((4, 2))}}, r"views\['b'\]: found 4 items"),
        ({"views": {"a": np.full((3, 2), np.nan)}}, r"views\['a'\]: found values that are not finite"),
        ({"targets": {"t": np.array([1.0, np.inf, 2.0])}}, r"targets\['t'\]: found values"),
        ({"targets": {"t": np.ones(2)}}, r"targets\['t'\]: found 2 items"),
        ({"baseline": ("c",)}, r"baseline: found \['c'\]"),
        ({"baseline": ()}, r"baseline: found \[\]"),
        ({"classes": np.zeros(5, dtype=int)}, "classes: found 5 items"),
        ({"ids": ("x",)}, "ids: found 1 items"),
        ({"pairs": {"t": (np.array([0]), np.array([3]))}}, "positions 0 to 3, 0 to 2 are accepted"),
        ({"pairs": {"t": (np.array([0, 1]), np.array([2]))}}, "found 2 higher and 1 lower"),
    ],
)
def test_bad_content_gets_a_sentence(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        small(**changes)
