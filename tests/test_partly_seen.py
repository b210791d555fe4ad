"""Views that cover different subsets of the items, up to no item with all of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tupi
from tests.conftest import make_problem_arrays

N = 60
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
METHODS = {"auto": {}, "tupi": {"method": "tupi", "n_iter": 3}}


def covered(views, kept):
    """Return views whose rows are NaN where ``kept``, of shape (n, views), says so."""
    return {name: np.where(kept[:, [k]], view, np.nan) for k, (name, view) in enumerate(views.items())}


@st.composite
def coverage(draw):
    """Which item has which view: each view at its own rate, and sometimes no item with all of them."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rates = draw(st.lists(st.sampled_from([0.25, 0.5, 0.75, 1.0]), min_size=3, max_size=3))
    kept = rng.random((N, 3)) < rates
    if draw(st.booleans()):
        kept[np.arange(N), rng.integers(3, size=N)] = False
    return kept


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labelled", [False, True])
@settings(max_examples=8)
@given(kept=coverage(), seed=st.integers(0, 100))
def test_any_coverage_gives_predictions_that_do_not_depend_on_order(method, labelled, kept, seed):
    labels = np.where(np.arange(N) % 3 == 0, TRUTH, np.nan) if labelled else None
    views = covered(VIEWS, kept)
    found = tupi.denoise(SCORES, views, labels, **METHODS[method]).predictions
    assert np.isfinite(found).all()
    bare = ~kept.any(axis=1)
    np.testing.assert_array_equal(found[bare], SCORES[bare])
    order = np.random.default_rng(seed).permutation(N)
    shuffled = tupi.denoise(
        SCORES[order],
        {name: views[name][order] for name in reversed(views)},
        None if labels is None else labels[order],
        **METHODS[method],
    ).predictions
    np.testing.assert_allclose(shuffled, found[order], atol=1e-5)


@pytest.mark.parametrize(("method", "labelled"), [("auto", True), ("tupi", False), ("tupi", True)])
def test_views_of_different_items_help_their_items(method, labelled):
    truth, scores, views = make_problem_arrays(500, seed=1)
    kept = np.random.default_rng(0).integers(3, size=500)[:, None] == np.arange(3)  # each item has one view
    labels = np.where(np.arange(500) < 40, truth, np.nan) if labelled else None
    found = tupi.denoise(scores, covered(views, kept), labels, **METHODS[method]).predictions
    judged = np.arange(500) >= 40
    for items in (judged, judged & kept[:, 0]):  # all of them, and those that have the view that is near the truth
        before, after = (tupi.pairwise_accuracy(each[items], truth[items]) for each in (scores, found))
        assert after > before + (0.01 if labelled or method == "auto" else 0.0)  # small steps without labels


@pytest.mark.parametrize("share", [0.75, 0.5])
def test_without_labels_auto_helps_where_views_overlap_and_stays_where_they_hardly_do(share):
    truth, scores, views = make_problem_arrays(500, seed=1)
    kept = np.random.default_rng(0).random((500, 3)) < share
    found = tupi.denoise(scores, covered(views, kept)).predictions
    before, after = (tupi.pairwise_accuracy(each, truth) for each in (scores, found))
    assert after > before + 0.02 if share == 0.75 else after >= before
