"""Input at the edge of what can be computed: a sentence, or a result that is finite."""

import time
import warnings

import numpy as np
import pytest

import tupi
from tupi.runtime.errors import InputError

N = 30
rng = np.random.default_rng(0)
TRUTH = rng.normal(size=N)
SCORES = TRUTH + rng.normal(size=N)
VIEWS = {"good": TRUTH[:, None] + 0.1 * rng.normal(size=(N, 2)), "junk": rng.normal(size=(N, 3))}
LABELS = np.where(np.arange(N) < 12, TRUTH, np.nan)
CLASSES = np.where(np.arange(N) < 12, np.arange(N) % 3, np.nan)


@pytest.mark.parametrize("constant", [0.0, 0.1])  # the mean of thirty times 0.1 is not 0.1
@pytest.mark.parametrize("method", ["tupi", "tupi+coconut", "select"])
def test_a_class_that_is_never_predicted(method, constant):
    scores = np.column_stack([SCORES, -SCORES, np.full(N, constant)])
    params = {} if method == "select" else {"lam": 0.3, "sigma_w2": 0.1, "n_iter": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tupi.denoise(scores, VIEWS, CLASSES, method, task="classification", **params)
    assert np.isfinite(result.predictions).all()
    if method == "tupi":
        np.testing.assert_allclose(result.predictions[:, 2], constant, atol=1e-15)


@pytest.mark.parametrize("covered", [2, 3, 9])
def test_features_of_few_items(covered):
    few = np.where(np.arange(N)[:, None] < covered, VIEWS["good"], np.nan)
    with pytest.raises(InputError, match=rf"features: {covered} item\(s\) have any; accepted: .* at least 10"):
        tupi.denoise(SCORES, {"few": few})


def test_predictions_that_differ_only_where_there_are_no_features():
    half = np.where(np.arange(N)[:, None] < 15, VIEWS["good"], np.nan)
    with pytest.raises(InputError, match="predictions: those of the items that have features are all equal"):
        tupi.denoise(np.where(np.arange(N) < 15, 0.1, SCORES), {"half": half})


def test_an_item_without_features_does_not_set_the_scale():
    """A prediction of 1e300 that takes no part once made all others vanish beside it."""
    views = {"good": np.where(np.arange(N)[:, None] > 0, VIEWS["good"], np.nan)}
    scores = np.where(np.arange(N) > 0, SCORES, 1e300)
    quick = {"method": "tupi", "lam": 0.3, "sigma_w2": 0.1, "n_iter": 3}
    expected = tupi.denoise(SCORES, views, **quick).predictions[1:]
    np.testing.assert_allclose(tupi.denoise(scores, views, **quick).predictions[1:], expected, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e-310, 1e200])
@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_labels_of_extreme_magnitude(scale, task):
    with pytest.raises(InputError, match=r"labels: the largest magnitude is .*; accepted: from 1e-100 to 1e\+100"):
        tupi.denoise(SCORES, VIEWS, LABELS * scale, task=task)


def test_predictions_of_extreme_magnitude():
    with pytest.raises(InputError, match=r"predictions: found a number of magnitude 1.79e\+308; accepted: at most"):
        tupi.denoise(np.where(np.arange(N) == 3, 1.79e308, SCORES), VIEWS)
    with pytest.raises(InputError, match=r"predictions: the largest magnitude is .* for regression with labels"):
        tupi.denoise(SCORES * 1e-310, VIEWS, LABELS, task="regression")
    with pytest.raises(InputError, match=r"predictions: the largest magnitude is .* for class scores"):
        tupi.denoise(np.column_stack([SCORES * 1e300, TRUTH]), VIEWS, task="classification")


@pytest.mark.parametrize("seed", [None, -1, 1.5, "a", [1], True, 2**32])
def test_seeds(seed):
    calls = (
        lambda: tupi.denoise(SCORES, VIEWS, random_state=seed),
        lambda: tupi.hsic(VIEWS["good"], VIEWS["junk"], random_state=seed),
        lambda: tupi.compare(SCORES, VIEWS, LABELS, ["ridge"], random_state=seed),
    )
    for call in calls:
        with pytest.raises(InputError, match=r"random_state: found .*; accepted: a whole number from 0 to 4294967295"):
            call()


@pytest.mark.parametrize("method", [[], {}, ["auto"], np.zeros(3), None])
def test_methods_that_are_no_names(method):
    with pytest.raises(InputError, match=r"method: found .*; accepted: auto, "):
        tupi.denoise(SCORES, VIEWS, method=method)


@pytest.mark.parametrize(
    ("views", "said"),
    [
        ([0], r"views: found \[0\]; accepted: a mapping"),
        ("good", "views: found 'good'; accepted: a mapping"),
        ({"a": [9]}, r"views: 'a' is \[9\]; accepted: numbers of columns from 0 to 1"),
        ({"a": None}, "views: 'a' names columns, but X has no column names"),
        ({"a": [[0]]}, r"views: 'a' is \[\[0\]\]; accepted: a list"),
        ({"a": [1.5]}, r"views: 'a' is \[1.5\]; accepted: a list"),
        ({"a": [True]}, r"views: 'a' is \[True\]; accepted: a list"),
    ],
)
def test_views_of_the_estimator(views, said):
    with pytest.raises(InputError, match=said):
        tupi.TupiDenoiser(views=views).fit(VIEWS["good"], SCORES)


@pytest.mark.parametrize(("method", "name"), [("trees", "n_estimators"), ("tupi", "patience")])
def test_none_where_nothing_is_chosen(method, name):
    with pytest.raises(InputError, match=f"{name}: found None; accepted: a whole number of at least 1"):
        tupi.denoise(SCORES, VIEWS, method=method, **{name: None})


def test_as_many_basis_points_as_take_no_minutes():
    began = time.perf_counter()
    for call in (
        lambda: tupi.hsic(SCORES, TRUTH, rank=10**9),
        lambda: tupi.denoise(SCORES, VIEWS, method="tupi", rank=10**9),
    ):
        with pytest.raises(InputError, match=r"rank: found 1000000000; accepted: .*a whole number from 2 to 2000"):
            call()
    assert time.perf_counter() - began < 1


@pytest.mark.parametrize("name", ["bandwidth", "prediction_bandwidth"])
@pytest.mark.parametrize("width", [1e-300, 1e300, True])
def test_widths_that_make_all_items_alike_or_none(name, width):
    with pytest.raises(InputError, match=rf"{name}: found .*; accepted: .* a number from 0.001 to 1e\+06"):
        tupi.denoise(SCORES, VIEWS, method="tupi", **{name: width})


@pytest.mark.parametrize("engine", ["fused", "reference", "exact"])
@pytest.mark.parametrize("width", [1e-3, 1e6])
def test_the_extreme_widths_that_are_accepted(engine, width):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tupi.denoise(
            SCORES, VIEWS, method="tupi", prediction_bandwidth=width, bandwidth=width, engine=engine, n_iter=2
        )
    assert np.isfinite(result.predictions).all()


def test_normalised_hsic_stays_within_its_bounds():
    """With kernels this wide nearly all is rounding, which once made it negative."""
    x, y = np.random.default_rng(136).normal(size=N), np.where(np.arange(N) == 0, 2.0, 1.0)
    assert 0 <= tupi.hsic(x, y, normalized=True, rank=None, bandwidth=1e6) <= 1


@pytest.mark.parametrize("tail", [1e-12, 1e-13, 1e-14, 1e-15])
def test_dependence_on_nearly_constant_columns(tail):
    nearly = 1.0 + tail * TRUTH
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the view is constant but for rounding, and dropped
        result = tupi.denoise(SCORES, {"good": VIEWS["good"], "nearly": nearly}, method="tupi", n_iter=2)
    assert result.dependence[["before", "after"]].to_numpy().max() <= 1 + 1e-6


@pytest.mark.parametrize("values", [[[1], [1, 2]], [[1.0], 2.0]])
def test_labels_in_rows_of_different_lengths(values):
    for labels in (values, tupi.Values([0, 1], values)):
        with pytest.raises(InputError, match="labels: found rows of different lengths; accepted: a one-dimensional"):
            tupi.denoise(SCORES, VIEWS, labels)


def test_class_scores_of_very_different_magnitude():
    """In units of the smallest column, new scores are numbers of which squares are not finite."""
    scores = np.column_stack([SCORES, -SCORES, 1e-200 * TRUTH])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tupi.denoise(scores, VIEWS, CLASSES, "ridge", task="classification")
    assert np.isfinite(result.predictions).all()
    assert np.isfinite(result.dependence["after"]).all()


@pytest.mark.parametrize("method", ["correct-and-smooth", "auto"])
def test_class_scores_that_no_number_relates(method):
    scores = np.column_stack([np.exp(20 * SCORES), 1e-310 * TRUTH, np.zeros(N)])
    with pytest.raises(InputError, match=r"predictions: found a deviation of .* on one scale\.$"):
        tupi.denoise(scores, VIEWS, CLASSES, method, task="classification")


@pytest.mark.parametrize("kernel", [[], "", 0])
def test_kernels_that_are_no_names(kernel):
    with pytest.raises(InputError, match="kernel: found"):
        tupi.denoise(SCORES, VIEWS, method="tupi", kernel=kernel)
