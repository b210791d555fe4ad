"""Checks and statistics that items in memory and on workers share, as sums over blocks."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tupi
from tupi.inputs.features import varying_views
from tupi.inputs.views import Gaps, Statistics, View, examine, examine_later

cuts_of_40 = st.lists(st.integers(0, 40), min_size=1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-300, 1.0, 1e300]), cuts_of_40)
def test_statistics_of_blocks_add_up(seed, size, cuts):
    X = np.random.default_rng(seed).normal(size=(40, 3))
    X[:, 1] += 5.0
    X[:, 2] = 7.0
    X *= size / 10
    bounds = sorted({0, 40, *cuts})
    parts = [Statistics.of(X[a:b]) for a, b in pairwise(bounds)]
    unit, center, scale = reduce(Statistics.__add__, parts).standard
    np.testing.assert_array_equal(unit, np.abs(X).max(axis=0))
    np.testing.assert_allclose(center, (X / unit).mean(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scale[:2], (X / unit).std(axis=0)[:2], rtol=1e-9, atol=1e-12)
    assert scale[2] == 0


@given(st.integers(0, 2**32 - 1), cuts_of_40)
def test_what_blocks_lack_adds_up(seed, cuts):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    X[rng.random(40) < 0.2] = np.nan
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    bounds = sorted({0, 40, *cuts})
    parts = [examine(X[a:b], first=a) for a, b in pairwise(bounds)]
    present, gaps, _ = examine(X)
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), present)
    np.testing.assert_array_equal(present, ~np.isnan(X).all(axis=1))
    later = examine_later(X.astype(np.float32))
    np.testing.assert_array_equal(later[0], present)
    assert later[1] == gaps
    assert sum((part[1] for part in parts), Gaps()) == gaps
    partly = np.isnan(X).any(axis=1) & present
    assert (gaps.rows, gaps.values) == (partly.sum(), np.isnan(X[partly]).sum())
    assert gaps.first == tuple(np.flatnonzero(partly)[:3])
    assert gaps.infinite == next(iter(map(tuple, np.argwhere(np.isinf(X)))), None)


def test_a_view_of_several_blocks_is_that_of_one(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) + np.array([0.0, 1e6, -3.0])
    X[5:30] = np.nan  # whole blocks among them
    holes = X.copy()
    holes[40::7, 1] = np.nan
    items = np.arange(40, 100)
    expected = [View("x", values, "median").rows(items) for values in (X, holes)]
    monkeypatch.setattr("tupi.inputs.views.BLOCK", 8)
    for values, rows in zip((X, holes), expected, strict=True):
        np.testing.assert_allclose(View("x", values, "median").rows(items), rows, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "features", [{}, [], (), pd.DataFrame(columns=pd.MultiIndex.from_tuples([], names=["a", "b"]))]
)
def test_no_views_are_said(features):
    with pytest.raises(tupi.InputError, match="features: found no views; accepted: "):
        tupi.denoise(np.arange(20.0), features)


def test_constant_views_are_dropped_in_order():
    with pytest.warns(UserWarning, match="is constant") as caught:
        assert varying_views({"a": True, "b": False, "c": True}) == ["b"]
    assert [str(each.message)[:8] for each in caught] == ["View 'a'", "View 'c'"]


def test_the_warning_of_a_constant_view_points_at_the_call():
    rng = np.random.default_rng(0)
    scores, views = rng.normal(size=60), {"flat": np.ones((60, 2)), "a": rng.normal(size=(60, 2))}
    with pytest.warns(UserWarning, match="'flat' is constant") as caught:
        tupi.denoise(scores, views, method="knn", labels=np.where(np.arange(60) < 20, scores, np.nan))
    assert {each.filename for each in caught if "constant" in str(each.message)} == {__file__}
