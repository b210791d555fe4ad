from dataclasses import replace

import numpy as np
import pytest

import tupi
from tests.conftest import make_problem_arrays
from tests.methods.auto.dense import everyone
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.auto import fitting
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.fitting import LEAST_FOR_TREES, fit_plain, fit_values, with_experts
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.process import PRIOR_SD, LogPrior, dealt, judged_apart, labelled_model, posterior

TRUTH, SCORES, VIEWS = make_problem_arrays(200)
ROWS = np.arange(3, 200, 6)


def setting(scores=SCORES, views=VIEWS, truth=TRUTH, rows=ROWS):
    """Return the label-free answer, the process, and the labels."""
    base = label_free_of(Prepared(make_problem(scores, views)))
    z = ((truth[rows] - truth[rows].mean()) / truth[rows].std())[:, None]
    return base, fit_values(base, pick_features(base, rows), z), z


def plain_model(base, fused):
    """Return the model of f and the views' own kernels, and f and these kernels for all items."""
    items = everyone(base)
    f, shared = items.base[:, 0, 1], np.array(fused.kernels.shared(items)[2:])
    prior = LogPrior(np.array([-2.0, -1.0, -2.0, -2.0, -3.0]), np.full(5, PRIOR_SD))
    return labelled_model(f[None, None, ROWS], shared[:, ROWS], prior), f, shared


def table(n=400, seed=0):
    """A plain table: the target is linear in columns, most of which the predictor does not know."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    truth = X @ np.linspace(0.2, 1.2, 12)
    scores = X[:, :4] @ np.linspace(0.2, 0.5, 4) + 0.6 * rng.normal(size=n)
    return truth, scores, {"a": X[:, :6], "b": X[:, 6:]}


def test_the_plain_process_equals_its_dense_solution():
    """With given variances: y = mean + constant + v0 f f^T + views' kernels + noise."""
    base, fused, z = setting()
    plain, _ = fit_plain(base, fused, z)
    model, f, shared = plain_model(base, fused)
    mean = (f - f[ROWS].mean()) / np.sqrt(f[ROWS].var() + (1 - 0.8**2) / 0.8**2)
    v = model.most_likely(z - mean[ROWS][:, None])
    K = v[0] * np.outer(f, f[ROWS]) + np.tensordot(v[1:-1], shared, 1) + 1.0
    dual = np.linalg.solve(K[ROWS] + v[-1] * np.eye(len(ROWS)), z[:, 0] - mean[ROWS])
    items = everyone(base)
    said = plain.apart(items) + fused.kernels.applied(items, plain.weights())
    np.testing.assert_allclose(said[:, 0], mean + K @ dual, atol=1e-3)


def test_its_kernels_are_f_and_the_views_own():
    base, fused, z = setting()
    plain, _ = fit_plain(base, fused, z)
    items = everyone(base)
    shared = fused.kernels.shared(items)[plain.first :]
    assert len(shared) == len(plain.v) - 1 == 4  # linear and Gaussian: related views, junk
    columns = [(view - view.mean(axis=0)) / view.std(axis=0) / np.sqrt(view.shape[1]) for view in VIEWS.values()]
    related = np.hstack(columns[:2])
    linear = related @ related[ROWS].T
    np.testing.assert_allclose(shared[0], linear / np.mean(np.diag(linear[ROWS])), atol=1e-6)
    covariance = plain.v[0] * np.outer(items.base[:, 0, 1], items.base[ROWS, 0, 1]) + 1.0
    covariance += sum(a * K for a, K in zip(plain.v[1:], shared, strict=True))
    np.testing.assert_allclose(plain.covariances(items, fused.kernels.shared(items), 0), covariance, atol=1e-6)


def test_leaving_out_equals_fitting_without_the_labels():
    """Predictions without i and j, under variances that the fold of j had no part in."""
    base, fused, z = setting()
    model, _, _ = plain_model(base, fused)
    zero = np.zeros_like(z)
    after = posterior(model, model.most_likely(z), z)
    twice = judged_apart(model, after, z, zero).twice
    fold = dealt(z[:, 0])
    for i, j in ((0, 5), (7, 3), (20, 11)):
        v = model.among(np.flatnonzero(fold != fold[j])).most_likely(z[fold != fold[j]])
        K = model.covariance(v, 0)
        kept = np.setdiff1d(np.arange(len(z)), [i, j])
        expected = K[i, kept] @ np.linalg.solve(K[np.ix_(kept, kept)], z[kept, 0])
        assert twice[i, j] == pytest.approx(expected, abs=1e-6)


def test_left_out_predictions_do_not_see_their_own_label():
    """Nor does the share by which they are combined: a label changed hugely leaves its own prediction where it was."""
    base, fused, z = setting()
    model, _, _ = plain_model(base, fused)
    top = int(np.argmax(z))  # stays the largest, so that folds stay as they are
    changed = z.copy()
    changed[top] += 100.0

    def combined(labels):
        parts = []
        for scale in (1.0, 0.1):  # two different processes
            one = replace(model, columns=scale * model.columns)
            zero = np.zeros_like(labels)
            parts.append(judged_apart(one, posterior(one, one.most_likely(labels), labels), labels, zero))
        return fitting.combined_left_out(parts, labels, 0.4)

    before, after = combined(z), combined(changed)
    assert after.held_out[top, 0] == pytest.approx(before.held_out[top, 0], abs=1e-9)
    assert not np.allclose(after.held_out, before.held_out)


def test_a_table_gains_what_a_linear_fit_gains():
    truth, scores, views = table()
    items = np.arange(30)
    labels, judging = Values(items, truth[items]), Values(np.arange(30, 400), truth[30:])
    found = tupi.denoise(scores, views, labels=labels)
    assert found.params["plain_share"] > 0.5
    assert "by a plain regression" in found.notes[0]
    linear = tupi.denoise(scores, views, labels=labels, method="ridge")
    assert pairwise_accuracy(found.predictions, judging) > pairwise_accuracy(linear.predictions, judging) - 0.01


def test_few_labels_and_no_views_leave_the_process_alone():
    base, fused, z = setting(rows=ROWS[:5])
    assert with_experts(base, fused, z) is fused
    base, fused, z = setting(views={"copy": SCORES[:, None]})
    assert with_experts(base, fused, z) is fused


def test_the_combination_lies_between_its_parts():
    base, fused, z = setting()
    found = with_experts(base, fused, z)
    plain, left_out = fit_plain(base, fused, z)
    assert 0 < found.plain_share < 1
    items, share = everyone(base), found.plain_share
    expected = (1 - share) * fused(items)[0] + share * (
        plain.apart(items) + fused.kernels.applied(items, plain.weights())
    )
    np.testing.assert_allclose(found(items)[0], expected)
    np.testing.assert_array_equal(found(items)[1], fused(items)[1])
    np.testing.assert_allclose(found.left_out.differences, -found.left_out.differences.T)
    either = np.array([fused.left_out.held_out, left_out.held_out])
    assert (found.left_out.held_out >= either.min(axis=0) - 1e-9).all()
    assert (found.left_out.held_out <= either.max(axis=0) + 1e-9).all()


def steps(n=400, seed=0):
    """A table of thresholds and products, which trees know and smooth functions do not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 6))
    truth = 2.0 * (X[:, 0] > 0.2) * (X[:, 1] > -0.3) + 1.5 * (X[:, 2] > 0.5)
    return truth, truth + rng.normal(size=n), {"a": X[:, :3], "b": X[:, 3:]}


def test_trees_take_part_where_they_err_less():
    truth, scores, views = steps()
    items = np.arange(120)
    found = tupi.denoise(scores, views, labels=Values(items, truth[items]), task="regression")
    assert found.params["trees_share"] > 0.15
    assert "% by decision trees" in found.notes[0]
    truth, scores, views = table()
    plain = tupi.denoise(scores, views, labels=Values(items, truth[items]), task="regression")
    assert plain.params["trees_share"] == 0.0
    assert "trees" not in plain.notes[0]


def test_the_combination_of_three_is_what_it_says():
    truth, scores, views = steps()
    base, fused, z = setting(scores, views, truth, np.arange(0, 400, 4))
    found = with_experts(base, fused, z)
    assert found.forest is not None
    items = everyone(base)
    plain = found.plain.apart(items) + fused.kernels.applied(items, found.plain.weights())
    trees = found.forest(np.column_stack([*items.views, items.base[:, 0, 1]]).astype(np.float32))[:, None]
    rest = 1 - found.plain_share - found.forest_share
    expected = rest * fused(items)[0] + found.plain_share * plain + found.forest_share * trees
    np.testing.assert_allclose(found(items)[0], expected, atol=1e-9)


def test_few_labels_grow_no_trees(monkeypatch):
    truth, scores, views = steps()
    counts = []

    def even(errors, *_):
        counts.append(len(errors))
        return np.full(errors.shape[:1] + errors.shape[2:], 0.2)

    monkeypatch.setattr(fitting, "mean_shares", even)
    for m in (LEAST_FOR_TREES - 1, LEAST_FOR_TREES):
        with_experts(*setting(scores, views, truth, np.arange(m)))
    assert counts == [2, 2, 3, 3]


def test_trees_are_judged_by_whole_groups(monkeypatch):
    """Results of one query are alike: whoever saw some of them knows too much of the others."""
    truth, scores, views = steps()
    folds = []

    def watched(columns, z, fold):
        folds.append(fold)
        return np.zeros(len(z))

    monkeypatch.setattr(fitting.trees, "left_out", watched)
    base, fused, z = setting(scores, views, truth, np.arange(60))
    groups = np.random.default_rng(0).integers(0, 12, 60)
    with_experts(base, replace(fused, groups=groups), z)
    assert all(len(set(folds[0][groups == one])) == 1 for one in range(12))
    assert len(set(folds[0])) > 1
    with_experts(base, replace(fused, groups=groups % 2), z)  # of two groups, none can be left out
    assert len(set(folds[1][groups % 2 == 0])) > 1
