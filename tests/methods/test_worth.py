"""What views are worth: the gain over the answer without them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

import tupi
from tests.conftest import make_problem_arrays
from tupi.methods import worth
from tupi.results.report import render
from tupi.results.summary import views_worth

TRUTH, SCORES, VIEWS = make_problem_arrays(200)
HELD = 50
VALUES = tupi.Values(range(HELD), TRUTH[:HELD])


def pairs(k=60):
    ends = np.random.default_rng(0).permutation(200)[: 2 * k].reshape(2, k)
    return tupi.Pairs(*np.where(TRUTH[ends[0]] > TRUTH[ends[1]], ends, ends[::-1]))


def without(view):
    return {name: columns for name, columns in VIEWS.items() if name != view}


def test_the_gain_in_squared_error_is_that_of_two_runs():
    result = tupi.denoise(SCORES, VIEWS, VALUES, task="regression")
    table = result.view_gains
    assert list(table.columns) == ["gain", "low", "high", "kind"]
    assert list(table.index) == list(VIEWS)
    for view in VIEWS:
        less = tupi.denoise(SCORES, without(view), VALUES, task="regression")
        assert result.changed
        assert less.changed
        gain = result.evidence.after - less.evidence.after
        np.testing.assert_allclose(table.loc[view, "gain"], gain, atol=1e-9)
    np.testing.assert_allclose(table["gain"] - table["low"], table["high"] - table["gain"])
    assert (table["kind"] == "gain").all()


@pytest.mark.parametrize("labels", [VALUES, pairs()], ids=["values", "pairs"])
def test_the_gain_in_pairs_is_that_of_two_runs(labels):
    result = tupi.denoise(SCORES, VIEWS, labels)
    less = tupi.denoise(SCORES, without("near"), labels)
    gain = result.evidence.after - less.evidence.after
    np.testing.assert_allclose(result.view_gains.loc["near", "gain"], gain, atol=1e-9)
    assert abs(result.view_gains.loc["junk", "gain"]) < 0.02 < result.view_gains["gain"].max()


def test_the_error_is_that_of_the_differences_between_labels():
    result = tupi.denoise(SCORES, VIEWS, VALUES, task="regression")
    both = [result, tupi.denoise(SCORES, without("bent"), VALUES, task="regression")]
    errors = []
    for one in both:
        used, predictions = one.origin.fit.left_out
        order = np.argsort(used)
        errors.append((predictions[order, 0] - TRUTH[used[order]]) ** 2)
    gains = (errors[1] - errors[0]) / TRUTH[:HELD].var()
    row = result.view_gains.loc["bent"]
    np.testing.assert_allclose(row["gain"], gains.mean(), rtol=1e-9)
    half = t.ppf(0.975, HELD - 1) * gains.std() / np.sqrt(HELD)
    np.testing.assert_allclose([row["high"] - row["gain"], row["gain"] - row["low"]], half, rtol=1e-9)


def test_other_methods_are_fitted_to_folds():
    table = tupi.denoise(SCORES, VIEWS, VALUES, method="ridge").view_gains
    assert table["gain"].idxmax() == "near"
    assert (table["low"] < table["high"]).all()


def test_the_metric_is_that_of_the_evidence():
    chances, sides = 1 / (1 + np.exp(-SCORES)), (TRUTH[:HELD] > 0).astype(int)
    result = tupi.denoise(chances, VIEWS, tupi.Values(range(HELD), sides), task="classification", metric="log_loss")
    less = tupi.denoise(
        chances, without("bent"), tupi.Values(range(HELD), sides), task="classification", metric="log_loss"
    )
    gain = less.evidence.after - result.evidence.after  # less is better
    np.testing.assert_allclose(result.view_gains.loc["bent", "gain"], gain, atol=1e-9)


def test_without_the_only_view_the_initial_predictions_are_left():
    """The worth of an only view was the gain, but its interval was narrower than that of the gain."""
    for task in ("ranking", "regression"):
        result = tupi.denoise(SCORES, {"near": VIEWS["near"]}, VALUES, task=task)
        known = result.evidence
        found = result.view_gains.loc["near", ["gain", "low", "high"]].astype(float)
        np.testing.assert_allclose(found, [known.gain, known.low, known.high], atol=1e-9)


def test_what_was_not_used_is_worth_nothing():
    junk = {name: np.random.default_rng(seed).normal(size=(200, 2)) for seed, name in enumerate("ab")}
    result = tupi.denoise(SCORES, junk, VALUES)
    assert not result.changed
    assert (result.view_gains[["gain", "low", "high"]] == 0).all(axis=None)


def test_labels_that_see_no_difference_are_not_sure_that_there_is_none():
    """Of 40 labels none changed its class without the view "far", and its worth was 0 with an interval from 0 to 0."""
    rng = np.random.default_rng(0)
    kind = rng.integers(2, size=300)
    chances = np.clip(0.5 + 0.2 * (kind - 0.5) + 0.05 * rng.normal(size=300), 0.05, 0.95)
    views = {"near": kind[:, None] + 0.02 * rng.normal(size=(300, 2)), "far": kind[:, None] + rng.normal(size=(300, 2))}
    known = tupi.Values(range(40), kind[:40])
    result = tupi.denoise(np.column_stack([1 - chances, chances, 0 * chances]), views, known, task="classification")
    far = result.view_gains.loc["far"]
    assert far["gain"] == 0
    assert -far["low"] == far["high"] == pytest.approx(3 / 40)


def test_items_that_only_this_view_covers_keep_their_predictions_without_it():
    gaps = VIEWS["near"].copy()
    gaps[20:] = np.nan
    result = tupi.denoise(SCORES, {"gaps": gaps, "bent": VIEWS["bent"]}, VALUES)
    assert np.isfinite(result.view_gains["gain"]).all()
    assert result.view_gains.loc["bent", "gain"] > 0.02  # 30 labels are of items that nothing moves without it


@pytest.mark.parametrize("labels", [None, tupi.Values(range(5), TRUTH[:5])], ids=["none", "too few"])
@pytest.mark.parametrize("method", ["auto", "smooth"])
def test_without_labels_it_is_what_a_view_explains(labels, method):
    table = tupi.denoise(SCORES, VIEWS, labels, method=method).view_gains
    assert (table["kind"] == "explains").all()
    assert table.loc["near", "low"] > 0.2
    assert table.loc["junk", "gain"] < 0.05
    assert ((table["low"] <= table["gain"]) & (table["gain"] <= table["high"])).all()


def test_a_repeated_prediction_explains_nothing():
    table = tupi.denoise(SCORES, {"own": SCORES[:, None], "near": VIEWS["near"]}).view_gains
    assert table.loc["own", "gain"] == 0 < table.loc["near", "gain"]


def test_of_many_views_those_that_count_most_are_left_out(monkeypatch):
    monkeypatch.setattr(worth, "MOST_VIEWS", 2)
    result = tupi.denoise(SCORES, VIEWS, VALUES)
    known = result.view_gains["gain"].notna()
    assert set(known.index[known]) == set(result.weights.iloc[-1].nlargest(2).index)


def test_progress_says_what_is_left_out():
    said = []
    result = tupi.denoise(SCORES, VIEWS, VALUES, progress=said.append)
    del said[:]
    assert result.view_gains is result.view_gains
    assert said == [f"Fitting again without view {name} ({k} of 3)" for k, name in enumerate(VIEWS, 1)]


def test_files_and_copies_keep_what_was_computed(tmp_path):
    result = tupi.denoise(SCORES, VIEWS, VALUES)
    for other in (tupi.load(result.save(tmp_path / "before.npz")), pickle.loads(pickle.dumps(result))):
        assert other.view_gains is None
    gains = result.view_gains
    for other in (tupi.load(result.save(tmp_path / "after.npz")), pickle.loads(pickle.dumps(result))):
        pd.testing.assert_frame_equal(other.view_gains, gains)


def test_sentences_and_report_tell_what_views_are_worth():
    result = tupi.denoise(SCORES, VIEWS, VALUES)
    assert views_worth(result) == ""
    assert "worth" not in repr(result)
    html = render(result)
    assert "What each view is worth" in html
    assert "gain in pairwise accuracy, points" in html
    assert "How much better the answer is with each view than without it, in points of pairwise accuracy" in repr(
        result
    )
    alone = tupi.denoise(SCORES, VIEWS)
    assert "What each view explains" in render(alone)
    assert "Only labels tell whether" in repr(alone)


def test_a_report_does_not_wait_for_what_is_slow(monkeypatch):
    monkeypatch.setattr("tupi.api.QUICK", 100)
    result = tupi.denoise(SCORES, VIEWS, VALUES)
    monkeypatch.setattr(worth, "without_view", lambda *arguments: pytest.fail("fitted again"))
    assert "What each view is worth" not in render(result)


def test_answers_of_several_people_about_the_same_pairs():
    """Each answer counts: those of one pair are not mixed up with those of others."""
    once, rng = pairs(30), np.random.default_rng(1)
    repeated = rng.permutation(np.repeat(np.arange(30), rng.integers(1, 4, 30)))
    higher, lower = (np.asarray(side)[repeated] for side in (once.higher, once.lower))
    problem = tupi.denoise(SCORES, VIEWS, once).origin.prepared.problem
    old, new = rng.normal(size=(2, 30))
    chosen = rng.permutation(len(repeated))  # the same answers in another order
    gain = worth._gain_in_pairs(
        worth.AsJudged([], (higher, lower, old[repeated])),
        worth.AsJudged([], (higher[chosen], lower[chosen], new[repeated][chosen])),
        problem,
    )
    expected = np.mean(new[repeated] > 0) - np.mean(old[repeated] > 0)
    assert gain.points == pytest.approx(100 * expected)
    several = tupi.Pairs(higher, lower, raters=["ann", "bob"] * (len(higher) // 2) + ["ann"] * (len(higher) % 2))
    assert np.isfinite(tupi.denoise(SCORES, VIEWS, several).view_gains["gain"]).all()
