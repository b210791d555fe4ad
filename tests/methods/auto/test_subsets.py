"""Hypotheses about columns that lead, against the equations of `tupi.methods.auto.subsets` written out."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import tupi
from tests.methods.auto.dense import everyone
from tests.methods.auto.test_experts import setting
from tests.methods.auto.test_hypotheses import dense, labels, slow_left_out
from tupi.methods.auto import subsets as module
from tupi.methods.auto.hypotheses import averaged
from tupi.methods.auto.items import Layout
from tupi.methods.auto.kernels import Features
from tupi.methods.auto.process import JITTER
from tupi.methods.auto.subsets import subsets_of, with_subsets

LAYOUT = Layout((0, 2), (1,), [np.ones(2, bool), np.ones(1, bool), np.array([True, False, True])], single=False)


def led(m=24, seed=1):
    """Return labels of which one column explains a lot, all hypotheses about columns, and the subsets."""
    rng = np.random.default_rng(seed)
    known, tried = labels(m=m, seed=seed)
    views = [rng.normal(size=(m, 4)), rng.normal(size=(m, 1))]
    subsets = subsets_of(LAYOUT, Features(np.zeros((m, 1, 1)), None, views))
    z = known.z + 1.5 * views[0][:, 1]
    leading = [subsets.of(Features(np.zeros((m, 1, 1)), None, views), k) for k in range(len(subsets.where))]
    known = known._replace(z=(z - z.mean()) / z.std(), subsets=leading)
    return known, tried[np.flatnonzero(tried.plain)], subsets


def test_views_and_columns_are_subsets():
    rng = np.random.default_rng(0)
    items = Features(np.zeros((30, 1, 1)), None, [rng.normal(size=(30, 4)), rng.normal(size=(30, 1))])
    found = subsets_of(LAYOUT, items)
    views, columns = [(0, 0, 2), (0, 2, 4), (1, 0, 1)], [(0, 0, 1), (0, 1, 2), (0, 2, 3), (0, 3, 4)]
    assert [tuple(one) for one in found.where] == [*views, *columns]  # the only column of a view is there once
    for k in range(len(found.where)):
        assert np.sum(found.of(items, k) ** 2, axis=1).mean() == pytest.approx(1.0)


def test_what_is_no_subset(monkeypatch):
    views = [np.random.default_rng(0).normal(size=(30, 4)), np.ones((30, 1))]
    views[0][:, 3] = 0.0  # constant among all items, and so zero
    items = Features(np.zeros((30, 1, 1)), None, views)
    assert (0, 3, 4) not in [tuple(one) for one in subsets_of(LAYOUT, items).where]
    assert subsets_of(LAYOUT, items[np.arange(module.FEW - 1)]) is None  # too few labels
    monkeypatch.setattr(module, "MOST_COLUMNS", 3)
    assert len(subsets_of(LAYOUT, items).where) == 3  # views alone
    one = Layout((0,), (), [np.ones(4, bool)], single=False)
    assert subsets_of(one, Features(items.base, None, views[:1])) is None  # one view, whose columns are too many


def test_chances_of_subsets():
    """All together are as likely as before; half of that is in subsets, and half of these in columns."""
    known, tried, subsets = led()
    module_logs = replace(tried, logs=tried.logs - logsumexp(tried.logs))
    found = with_subsets(known, module_logs, subsets)
    at_once = found[np.flatnonzero(found.subset < 0)]
    assert np.exp(logsumexp(at_once.logs)) == pytest.approx(1 - module.OF_SUBSETS)
    np.testing.assert_array_equal(at_once.variances, tried.variances)
    leading = np.flatnonzero(found.subset >= 0)
    base = tried[np.arange(len(tried.logs) // 2, len(tried.logs))]
    q, explained = len(known.columns), base.variances[:, len(known.columns) :].sum(axis=1)
    for number in leading:
        matches = np.isclose(found.of_subset[number], module.LED * explained) & np.isclose(
            found.noise[number], base.noise
        )
        which = np.flatnonzero(matches & (found.slopes[number] == base.slopes).all(axis=1))
        assert len(which) == 1
        expected = (1 - module.LED) * base.variances[which[0], q:]
        np.testing.assert_allclose(found.variances[number, q:], expected)


def test_no_subset_is_ruled_out_that_labels_speak_for(monkeypatch):
    """The quick way to many likelihoods gives what the definition gives."""
    known, tried, subsets = led()
    monkeypatch.setattr(module, "MOST_STANDING", 100_000)
    found = with_subsets(known, tried, subsets)
    monkeypatch.setattr(module, "HOPELESS", np.inf)
    everything = with_subsets(known, tried, subsets)
    leading = np.flatnonzero(everything.subset >= 0)
    assert len(leading) == len(tried.logs) // 2 * len(subsets.where)
    logs = np.array(
        [everything.logs[k] + multivariate_normal(*dense(known, everything, k)).logpdf(known.z) for k in leading]
    )
    standing = logs > logs.max() - 10.0
    assert 0 < standing.sum() < len(leading)
    assert (found.subset >= 0).sum() == standing.sum()
    np.testing.assert_array_equal(np.sort(found.logs[found.subset >= 0]), np.sort(everything.logs[leading][standing]))
    assert everything.subset[leading[logs.argmax()]] == 4  # the column that they were made of


def test_a_label_that_is_left_out_has_no_part_in_its_prediction():
    known, tried, subsets = led()
    found = with_subsets(known, tried, subsets)
    said = averaged(known, found)[2]
    for i, j in ((0, 5), (3, 12)):
        assert said.held_out[i, 0] == pytest.approx(slow_left_out(known, found, [i], i), abs=1e-6)
        assert said.twice[i, j] == pytest.approx(slow_left_out(known, found, [i, j], i), abs=1e-6)


def test_what_is_said_of_items_is_the_mean_over_hypotheses():
    base, fused, z = setting()
    rows, h, items = np.arange(3, 200, 6), fused.average.hypotheses, everyone(base)
    assert (h.subset >= 0).any()
    columns, shared = fused.kernels.of_columns(items)[0], fused.kernels.shared(items)
    said, q = np.zeros(len(items.base)), len(columns)
    for k, (share, slopes, v, noise) in enumerate(zip(h.shares, h.slopes, h.variances, h.noise, strict=True)):
        mean = slopes @ (columns - columns[:, rows].mean(axis=1, keepdims=True))
        C = 1 + (columns.T * v[:q]) @ columns[:, rows] + sum(a * K for a, K in zip(v[q:], shared, strict=True))
        if h.subset[k] >= 0:
            block, first, end = fused.average.subsets.where[h.subset[k]]
            X = items.views[block][:, first:end]
            C = C + h.of_subset[k] * X @ X[rows].T / np.mean(np.sum(X[rows] ** 2, axis=1))
        K = C[rows] + (noise + JITTER) * np.eye(len(rows))
        said += share * (mean + C @ np.linalg.solve(K, z - mean[rows]))
    np.testing.assert_allclose(fused.said(items)[:, 0], said, atol=1e-5)


def test_one_column_of_forty_is_found():
    """Thirty labels find the one that matters, which a regression on all of them does not."""
    rng = np.random.default_rng(0)
    X, n = rng.normal(size=(500, 40)), 500
    truth = X[:, 7] + 0.3 * rng.normal(size=n)
    scores, views = truth + 2.0 * rng.normal(size=n), {"a": X[:, :20], "b": X[:, 20:]}
    known = tupi.Values(np.arange(30), truth[:30])
    found, plain = (tupi.denoise(scores, views, known, method=one) for one in ("auto", "ridge"))
    after, rival = (tupi.pairwise_accuracy(one.predictions[30:], truth[30:]) for one in (found, plain))
    assert after > rival + 0.05


def test_a_model_without_subsets_of_an_earlier_file():
    tried = labels()[1]
    earlier = type(tried)(tried.slopes, tried.variances, tried.noise, tried.logs, tried.plain)
    np.testing.assert_array_equal(earlier.subset, -1)
    np.testing.assert_array_equal(earlier.of_subset, 0)


def test_values_stay_near_labels_and_predictions():
    """A line may lead anywhere for an item that is far from all labelled ones; the initial prediction may, too."""
    rng = np.random.default_rng(0)
    truth = 50 + 3 * rng.normal(size=400)
    views = {"a": truth[:, None] + rng.normal(size=(400, 1)), "b": truth[:, None] + 2 * rng.normal(size=(400, 1))}
    scores = truth + 3 * rng.normal(size=400)
    views["a"][300], views["b"][300] = 500.0, 500.0
    scores[300], scores[301] = 50.0, 90.0
    views["a"][301], views["b"][301] = 90.0, 90.0
    known = tupi.Values(np.arange(30), truth[:30])
    found = tupi.denoise(scores, views, known, task="regression", guard=False)
    beyond = 0.25 * np.ptp(truth[:30])
    assert found.predictions[300] == pytest.approx(truth[:30].max() + beyond, abs=1e-6)
    highest = np.maximum(scores, truth[:30].max() + beyond)
    assert (found.predictions <= highest + 1e-6).all()
    assert found.predictions[301] > truth[:30].max() + beyond
    new = found.predict(scores[299:302], {name: view[299:302] for name, view in views.items()})
    assert (new <= highest[299:302] + 1e-6).all()
