"""What counts as a number, whoever asks: masked means missing, and other kinds get a sentence."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tupi.inputs.numbers import as_numbers, check_positive, unmasked

TRUTH, SCORES, VIEWS = make_problem_arrays(60)
QUICK = {"method": "tupi", "n_iter": 2}
DATES = pd.date_range("2020-01-01", periods=60)


def masked(array, where):
    result = np.ma.masked_array(array, mask=False)
    result[where] = np.ma.masked
    return result


def with_nan(array, where):
    result = np.array(array, dtype=float)
    result[where] = np.nan
    return result


# Masks


def test_masked_labels_are_unknown():
    hidden = masked(TRUTH, slice(20, None))
    found = tupi.denoise(SCORES, VIEWS, labels=hidden, **QUICK)
    expected = tupi.denoise(SCORES, VIEWS, labels=with_nan(TRUTH, slice(20, None)), **QUICK)
    assert found.evidence.n_labels == 20
    np.testing.assert_array_equal(found.predictions, expected.predictions)
    values = tupi.Values(np.arange(60), hidden)
    assert tupi.denoise(SCORES, VIEWS, labels=values, **QUICK).evidence.n_labels == 20
    with pytest.raises(tupi.InputError, match=r"labels\.index: found masked positions"):
        tupi.denoise(SCORES, VIEWS, labels=tupi.Values(masked(np.arange(30), [3]), TRUTH[:30]))


def test_nullable_arrays_are_labels():
    values = pd.array(np.where(np.arange(60) < 20, TRUTH, np.nan), dtype="Float64")
    assert tupi.denoise(SCORES, VIEWS, labels=values, **QUICK).evidence.n_labels == 20
    known = tupi.Values(pd.array(range(20)), values[:20])
    assert tupi.denoise(SCORES, VIEWS, labels=known, **QUICK).evidence.n_labels == 20


def test_masked_class_names_are_unknown():
    frame = pd.DataFrame(np.random.default_rng(0).dirichlet([1, 1], size=60), columns=["no", "yes"])
    names = np.where(TRUTH > 0, "yes", "no")
    found = tupi.denoise(frame, VIEWS, labels=masked(names, slice(25, None)), task="classification", **QUICK)
    assert found.evidence.n_labels == 25


def test_masked_rows_of_a_view_are_missing():
    rows = slice(10, 15)
    expected = tupi.denoise(SCORES, VIEWS | {"near": with_nan(VIEWS["near"], rows)}, **QUICK).predictions
    for hidden in (masked(VIEWS["near"], rows), list(masked(VIEWS["near"], rows))):
        found = tupi.denoise(SCORES, VIEWS | {"near": hidden}, **QUICK).predictions
        np.testing.assert_array_equal(found, expected)
    listed = tupi.denoise(SCORES, [masked(VIEWS["near"], rows), VIEWS["bent"], VIEWS["junk"]], **QUICK).predictions
    np.testing.assert_array_equal(listed, expected)
    chunks = iter([masked(VIEWS["near"], rows)[:30], VIEWS["near"][30:]])
    np.testing.assert_array_equal(tupi.denoise(SCORES, VIEWS | {"near": chunks}, **QUICK).predictions, expected)


def test_single_masked_values_of_a_view_must_be_imputed():
    hidden = masked(VIEWS["near"], (4, 1))
    with pytest.raises(tupi.InputError, match=r"view 'features' lacks 1 single value\(s\), in 1 row\(s\) \(4\)"):
        tupi.denoise(SCORES, hidden, **QUICK)
    found = tupi.denoise(SCORES, hidden, impute="median", **QUICK)
    expected = tupi.denoise(SCORES, with_nan(VIEWS["near"], (4, 1)), impute="median", **QUICK)
    np.testing.assert_array_equal(found.predictions, expected.predictions)


def test_masked_predictions_are_refused():
    with pytest.raises(tupi.InputError, match=r"predictions: 2 value\(s\) are NaN or infinite \(first at item 3\)"):
        tupi.denoise(masked(SCORES, [3, 7]), VIEWS)
    with pytest.raises(tupi.InputError, match="finite numbers"):
        tupi.pairwise_accuracy(masked(SCORES, [3]), TRUTH)


def test_masked_truth_does_not_count():
    shuffled = np.where(np.arange(60) < 30, TRUTH, TRUTH[::-1])
    expected = tupi.pairwise_accuracy(SCORES[:30], TRUTH[:30])
    assert tupi.pairwise_accuracy(SCORES, masked(shuffled, slice(30, None))) == expected


def test_hsic_sees_masks():
    with pytest.raises(tupi.InputError, match=r"^x: 5 row\(s\) are missing \(first: 10\)"):
        tupi.hsic(masked(VIEWS["near"], slice(10, 15)), SCORES)
    with pytest.raises(tupi.InputError, match=r'^x lacks 1 single value.*accepted: complete rows, or impute="median"'):
        tupi.hsic(masked(VIEWS["near"], (4, 1)), SCORES)
    filled = with_nan(VIEWS["near"], (4, 1))
    filled[4, 1] = np.nanmedian(filled[:, 1])
    found = tupi.hsic(masked(VIEWS["near"], (4, 1)), SCORES, impute="median")
    assert found == pytest.approx(tupi.hsic(filled, SCORES), rel=1e-9)
    with pytest.raises(tupi.InputError, match="impute: found 'mean'"):
        tupi.hsic(SCORES, SCORES, impute="mean")


def test_the_estimator_sees_masks():
    with pytest.raises(ValueError, match="contains NaN"):
        tupi.TupiDenoiser().fit(VIEWS["near"], masked(SCORES, [3]))
    found = tupi.TupiDenoiser().fit(masked(VIEWS["near"], [3]), SCORES).denoised_
    assert found[3] == SCORES[3]


def test_a_mask_that_hides_nothing_changes_nothing():
    whole = np.ma.masked_array(np.arange(3), mask=False)
    assert unmasked(whole).dtype == np.int64
    assert type(unmasked(whole)) is np.ndarray


# Kinds

COMPLEX, DAYS = SCORES + 0j, DATES - DATES[0]
WRONG = {
    "dates": DATES.to_numpy(),
    "series of dates": pd.Series(DATES),
    "dates with a gap": np.array([*DATES.to_numpy()[:59], np.datetime64("NaT")]),
    "objects that are dates": np.array(list(DATES), dtype=object),
    "durations": DAYS.to_numpy(),
    "complex": COMPLEX,
    "series of complex": pd.Series(COMPLEX),
    "objects that are complex": COMPLEX.astype(object),
    "text": SCORES.astype(str),
    "bytes": SCORES.astype("S"),
    "objects that are text": SCORES.astype(str).astype(object),
    "series of text": pd.Series(SCORES.astype(str)),
    "categories": pd.Series(np.arange(60) % 5).astype("category"),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("argument", ["predictions", "features", "view", "labels", "scores", "truth", "x", "points"])
def test_other_kinds_are_refused(argument, kind):
    values = WRONG[kind]
    if argument in ("labels", "truth") and kind == "categories":
        pytest.skip("labels may be categories, of numbers or of names")
    if argument in ("features", "view", "x") and "complex" not in kind:
        pytest.skip("views may have columns of any of these kinds")
    calls = {
        "predictions": lambda: tupi.denoise(values, VIEWS),
        "features": lambda: tupi.denoise(SCORES, values),
        "view": lambda: tupi.denoise(SCORES, {"a": VIEWS["near"], "b": values}),
        "labels": lambda: tupi.denoise(SCORES, VIEWS, labels=values),
        "scores": lambda: tupi.pairwise_accuracy(values, TRUTH),
        "truth": lambda: tupi.pairwise_accuracy(SCORES, values),
        "x": lambda: tupi.hsic(values, SCORES),
        "points": lambda: tupi.denoise_points(values),
    }
    with pytest.raises(tupi.InputError, match="accepted: real numbers"):
        calls[argument]()


@pytest.mark.parametrize("kind", ["dates", "durations", "complex"])
def test_class_labels_of_other_kinds_are_refused(kind):
    frame = pd.DataFrame(np.random.default_rng(0).dirichlet([1, 1], size=60), columns=["no", "yes"])
    for predictions in (frame, frame.to_numpy()):
        with pytest.raises(tupi.InputError, match="labels: found"):
            tupi.denoise(predictions, VIEWS, labels=WRONG[kind], task="classification")


@pytest.mark.parametrize("shape", [(60, 2, 2), ()])
def test_memory_maps_of_other_shapes_are_refused(tmp_path, shape):
    cube = np.memmap(tmp_path / "cube", dtype=np.float64, mode="w+", shape=shape or (1,))
    with pytest.raises(tupi.InputError, match=r"found a memory map of shape"):
        tupi.denoise(SCORES, cube if shape else cube.reshape(()))


def test_memory_maps_of_other_kinds_are_refused(tmp_path):
    numbers = np.memmap(tmp_path / "complex", dtype=np.complex128, mode="w+", shape=(60, 2))
    with pytest.raises(tupi.InputError, match="view 'a': found complex numbers"):
        tupi.denoise(SCORES, {"a": numbers})


def test_views_whose_names_become_one_are_refused():
    with pytest.raises(tupi.InputError, match="two views are called '1' as text"):
        tupi.denoise(SCORES, {1: VIEWS["near"], "1": VIEWS["bent"]})
    columns = pd.MultiIndex.from_tuples([(1, "a"), ("1", "a")])
    with pytest.raises(tupi.InputError, match="two views are called '1' as text"):
        tupi.denoise(SCORES, pd.DataFrame(VIEWS["near"], columns=columns))


@pytest.mark.parametrize(
    "values",
    [
        [1, 2.5, None],
        [Decimal(1), Fraction(5, 2), None],
        np.array([True, 2.5, pd.NA], dtype=object),
        pd.Series([1, 2.5, None], dtype="Float64"),
        pd.array([1, 2.5, None], dtype="Float64"),
        pd.Series([1, Decimal("2.5"), None], dtype=object),
        np.ma.masked_array([1, 2.5, 7], mask=[False, False, True]),
        [1.0, 2.5, np.ma.masked],
    ],
)
def test_numbers_of_all_kinds_are_numbers(values):
    np.testing.assert_array_equal(as_numbers("x", values).astype(float), [1.0, 2.5, np.nan])


def test_rows_of_different_lengths_are_said():
    with pytest.raises(tupi.InputError, match="x: found rows of different lengths"):
        as_numbers("x", [[1], [1, 2]])


@pytest.mark.parametrize(
    ("value", "bounds", "accepted"),
    [
        (0, {}, "a number above 0"),
        (True, {}, "a number above 0"),
        (np.inf, {}, "a number above 0"),
        ("1", {}, "a number above 0"),
        (None, {"optional": False}, "a number above 0"),
        (1, {"whole": True, "least": 2}, "a whole number of at least 2"),
        (2.5, {"whole": True, "least": 2}, "a whole number of at least 2"),
        (1.1, {"most": 1}, "a number above 0 and at most 1"),
    ],
)
def test_settings_that_are_not_positive_are_refused_in_the_same_words(value, bounds, accepted):
    with pytest.raises(tupi.InputError, match=rf"^share: found .*; accepted: {accepted}\.$"):
        check_positive("share", value, **bounds)
    for good in (None, 1, 0.5, np.float32(1)):
        check_positive("share", good, most=1)


def test_the_papers_method_refuses_settings_of_its_graph_in_these_words():
    for name, value, accepted in (
        ("time", True, "a number above 0"),
        ("n_neighbors", 1, "a whole number of at least 2"),
    ):
        with pytest.raises(tupi.InputError, match=f"^{name}: found {value}; accepted: {accepted}"):
            tupi.methods.Tupi(**{name: value})
