"""Bad input gets one clear sentence; good input of any kind works and is never changed."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.conftest import make_problem_arrays

TRUTH, SCORES, VIEWS = make_problem_arrays(60)
QUICK = {"method": "tupi", "n_iter": 2}


def changed(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


def bad_frame():
    return pd.DataFrame({"a": SCORES, "tags": [["x"]] * 60})


BAD = [
    ({"predictions": changed(SCORES, 3, np.nan)}, ["predictions", "NaN or infinite", "item 3"]),
    ({"predictions": changed(SCORES, 3, np.inf)}, ["predictions", "NaN or infinite", "item 3"]),
    ({"predictions": np.ones(60)}, ["predictions", "all are equal"]),
    ({"predictions": ["a"] * 60}, ["predictions", "not numbers"]),
    ({"predictions": SCORES[:9], "features": VIEWS["near"][:9]}, ["predictions", "9 item(s)", "at least 10"]),
    ({"predictions": np.column_stack([SCORES, SCORES])}, ["predictions", "shape (60, 2)"]),
    ({"predictions": SCORES, "task": "classification"}, ["predictions", "one probability per item"]),
    ({"predictions": pd.Series(SCORES, index=[0, 0, *range(2, 60)])}, ["index holds 0 more than once"]),
    ({"features": {}}, ["features", "no views"]),
    ({"features": None}, ["features", "None"]),
    ({"features": {"c": np.ones((60, 2))}}, ["features", "every view is constant"]),
    ({"features": {"a": VIEWS["near"][:50]}}, ["view 'a'", "50 rows for 60 predictions"]),
    ({"features": bad_frame()}, ["column 'tags'", "found a list such as", "accepted: real numbers, truth values"]),
    ({"features": np.array([["x", "y"]] * 60)}, ["features: every view is constant"]),
    ({"features": VIEWS["near"] + 1j}, ["features", "accepted: real numbers"]),
    ({"features": np.zeros((60, 0))}, ["at least one column"]),
    ({"features": np.zeros((60, 2, 2))}, ["shape (60, 2, 2)"]),
    ({"features": changed(VIEWS["near"], (4, 1), np.nan)}, ["lacks 1 single value(s)", "(4)", 'impute="median"']),
    ({"features": changed(VIEWS["near"], (4, 1), np.inf)}, ["infinite at row 4, column 1"]),
    ({"labels": np.arange(7)}, ["labels", "7 entries for 60 items"]),
    ({"labels": tupi.Values([0, 60], [1, 2])}, ["labels", "position 60"]),
    ({"labels": tupi.Values([0, 1], ["a", "b"])}, ["labels", "text"]),
    ({"labels": tupi.Pairs([0, 1], [1, 1])}, ["item 1 is compared with itself"]),
    ({"method": "tupy"}, ["method", "Did you mean 'tupi'?"]),
    ({"lamb": 1.0}, ["lamb", "Did you mean 'lam'?"]),
    ({"lam": -1.0}, ["lam: found -1.0", "above 0"]),
    ({"lam": "big"}, ["lam: found 'big'"]),
    ({"n_iter": 2.5}, ["n_iter", "whole number"]),
    ({"kernel": "gausian"}, ["kernel", "Did you mean 'gaussian'?"]),
    ({"engine": "fast"}, ["engine"]),
    ({"bandwidth": "medium"}, ["bandwidth"]),
    ({"task": "rank"}, ["task", "Did you mean 'ranking'?"]),
    ({"impute": "mean"}, ["impute", "'median'"]),
    ({"rank": 1}, ["rank", "from 2 to 2000"]),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[words[-1][:40] for _, words in BAD])
def test_bad_input_gets_a_sentence(arguments, words):
    arguments = {"predictions": SCORES, "features": VIEWS, "method": "tupi", **arguments}
    with pytest.raises(tupi.InputError) as caught:
        tupi.denoise(**arguments)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message


def test_method_object_and_parameters_do_not_mix():
    from tupi.methods.tupi import Tupi

    with pytest.raises(tupi.InputError, match="beside a configured method object"):
        tupi.denoise(SCORES, VIEWS, method=Tupi(n_iter=1), lam=2.0)


def test_constant_view_is_dropped_with_a_warning():
    with pytest.warns(UserWarning, match="'flat' is constant"):
        result = tupi.denoise(SCORES, {**VIEWS, "flat": np.full((60, 2), 7.0)}, **QUICK)
    assert list(result.weights.columns) == list(VIEWS)
    expected = tupi.denoise(SCORES, VIEWS, **QUICK)
    np.testing.assert_array_equal(result.predictions, expected.predictions)


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.float16),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: (x * 100).astype(np.int32),
        lambda x: x.tolist(),
        lambda x: pd.DataFrame(np.atleast_2d(x.T).T),
        lambda x: pd.DataFrame(np.atleast_2d(x.T).T).astype("Float64"),
    ],
    ids=["float32", "float16", "fortran", "strided", "int", "list", "frame", "nullable"],
)
def test_all_kinds_of_numbers_work(convert):
    expected = tupi.denoise(SCORES, VIEWS, **QUICK).predictions
    predictions = convert(SCORES)
    if isinstance(predictions, pd.DataFrame):
        predictions = predictions[0]
    views = {name: convert(values) for name, values in VIEWS.items()}
    result = tupi.denoise(predictions, views, **QUICK)
    assert np.corrcoef(result.predictions, expected)[0, 1] > 0.999


def test_bool_view_works():
    result = tupi.denoise(SCORES, {"flag": TRUTH > 0}, **QUICK)
    assert tupi.pairwise_accuracy(result.predictions, TRUTH) > tupi.pairwise_accuracy(SCORES, TRUTH)


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-310])
def test_extreme_magnitudes_work(scale):
    rounding = 1e-4 if scale < 1e-307 else 1e-6  # numbers below 1e-308 have fewer digits to begin with
    expected = tupi.denoise(SCORES, VIEWS, **QUICK).predictions
    by_scores = tupi.denoise(SCORES * scale, VIEWS, **QUICK).predictions / scale
    np.testing.assert_allclose(by_scores, expected, rtol=rounding, atol=rounding)
    largest = max(np.abs(v).max() for v in VIEWS.values())
    by_views = tupi.denoise(SCORES, {k: v / largest * scale for k, v in VIEWS.items()}, **QUICK).predictions
    np.testing.assert_allclose(by_views, expected, rtol=rounding, atol=rounding)


def test_inputs_are_never_modified_and_may_be_read_only():
    scores, views = SCORES.copy(), {name: values.copy() for name, values in VIEWS.items()}
    labels = np.where(np.arange(60) < 20, TRUTH, np.nan)
    for array in (scores, labels, *views.values()):
        array.setflags(write=False)
    result = tupi.denoise(scores, views, labels=labels, method="tupi", n_iter=2)
    np.testing.assert_array_equal(scores, SCORES)
    result.predictions[0] = 0.0  # what comes back belongs to the caller
    np.testing.assert_array_equal(scores, SCORES)


def test_forms_of_features_agree():
    expected = tupi.denoise(SCORES, VIEWS, **QUICK)
    as_list = tupi.denoise(SCORES, list(VIEWS.values()), **QUICK)
    assert list(as_list.weights.columns) == ["view1", "view2", "view3"]
    frame = pd.concat({name: pd.DataFrame(values) for name, values in VIEWS.items()}, axis=1)
    as_frame = tupi.denoise(SCORES, frame, **QUICK)
    assert list(as_frame.weights.columns) == list(VIEWS)
    for result in (as_list, as_frame):
        np.testing.assert_array_equal(result.predictions, expected.predictions)
    one = tupi.denoise(SCORES, VIEWS["near"], **QUICK)
    flat = tupi.denoise(SCORES, pd.DataFrame(VIEWS["near"], columns=["a", "b"]), **QUICK)
    np.testing.assert_array_equal(one.predictions, flat.predictions)


def test_pandas_inputs_are_matched_by_index():
    ids = pd.Index([f"item{k}" for k in range(60)])
    scores = pd.Series(SCORES, index=ids)
    shuffled = pd.DataFrame(VIEWS["near"], index=ids).sample(frac=1, random_state=1)
    expected = tupi.denoise(SCORES, VIEWS["near"], **QUICK)
    result = tupi.denoise(scores, shuffled, **QUICK)
    np.testing.assert_array_equal(result.predictions, expected.predictions)
    assert result.to_frame().index.equals(ids)
    with pytest.warns(UserWarning, match=r"1 id\(s\) are not among those of the predictions \(first: other\)"):
        partly = tupi.denoise(scores, shuffled.rename(index={"item0": "other"}), **QUICK)
    lacking = tupi.denoise(SCORES, changed(VIEWS["near"], 0, np.nan), **QUICK)  # that item lacks the view
    np.testing.assert_array_equal(partly.predictions, lacking.predictions)
    with pytest.raises(tupi.InputError, match=r"view 'features': none of its ids .*differ only by upper and lower"):
        tupi.denoise(scores, shuffled.rename(index=str.upper), **QUICK)
    with pytest.raises(tupi.InputError, match=r"1 id\(s\) in its index occur more than once \(first: item1\)"):
        tupi.denoise(scores, shuffled.rename(index={"item0": "item1"}), **QUICK)


def test_single_missing_values_can_be_imputed():
    views = {"near": changed(VIEWS["near"], (4, 1), np.nan)}
    result = tupi.denoise(SCORES, views, impute="median", **QUICK)
    filled = {"near": changed(VIEWS["near"], (4, 1), np.nanmedian(views["near"][:, 1]))}
    np.testing.assert_allclose(result.predictions, tupi.denoise(SCORES, filled, **QUICK).predictions, atol=1e-9)


def test_class_names_and_numbers():
    frame = pd.DataFrame(np.random.default_rng(0).dirichlet([1, 1], size=60), columns=["no", "yes"])
    by_name = tupi.denoise(
        frame, VIEWS, labels=tupi.Values([0, 1], ["yes", "no"]), task="classification", method="tupi", n_iter=1
    )
    assert by_name.classes == ("no", "yes")
    with pytest.raises(tupi.InputError, match="found class 'maybe'; accepted: no, yes"):
        tupi.denoise(frame, VIEWS, labels=tupi.Values([0, 1], ["yes", "maybe"]), task="classification")
    with pytest.raises(tupi.InputError, match="found class 2; accepted: column numbers 0 to 1"):
        tupi.denoise(frame.to_numpy(), VIEWS, labels=tupi.Values([0, 1], [0, 2]), task="classification")
    with pytest.raises(tupi.InputError, match="found pairs"):
        tupi.denoise(frame, VIEWS, labels=tupi.Pairs([0], [1]), task="classification")


def test_no_warnings_for_good_input():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tupi.denoise(
            SCORES, VIEWS, labels=np.where(np.arange(60) < 20, TRUTH, np.nan), method="tupi", n_iter=2
        )
    assert np.isfinite(result.predictions).all()
