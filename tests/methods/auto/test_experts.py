from dataclasses import replace

import numpy as np
import pytest
from tupi.methods.auto.leftout import LeftOut, dealt, judged_apart

import tupi
from tests.conftest import make_problem_arrays
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.auto import experts
from tupi.methods.auto.experts import fit_plain, plain_kernels, with_expert
from tupi.methods.auto.fitting import fit_values
from tupi.methods.auto.labelfree import label_free
from tupi.methods.auto.process import labelled_model, posterior

TRUTH, SCORES, VIEWS = make_problem_arrays(200)
ROWS = np.arange(3, 200, 6)


def setting(scores=SCORES, views=VIEWS, truth=TRUTH, rows=ROWS):
    """Return the label-free answer, the process, and the labels in content order."""
    prepared = Prepared(make_problem(scores, views))
    base = label_free(prepared)
    y = truth[base.order[rows]]
    z = ((y - y.mean()) / y.std())[:, None]
    return base, fit_values(base, prepared, rows, z), z


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
    found = plain_kernels(base, fused.belief.kernels)
    g, _ = fit_plain(base, found, z)
    f = base.columns[1][:, 0]
    mean = (f - f[ROWS].mean()) / np.sqrt(f[ROWS].var() + (1 - 0.8**2) / 0.8**2)
    model = labelled_model(found.columns[:, :, ROWS], found.within(), found.prior)
    v = model.most_likely(z - mean[ROWS][:, None])
    K = found.cross(v[:-1], 0, slice(None)) + 1.0
    dual = np.linalg.solve(K[ROWS] + v[-1] * np.eye(len(ROWS)), z[:, 0] - mean[ROWS])
    np.testing.assert_allclose(g[:, 0], mean + K @ dual, atol=1e-3)


def test_its_kernels_are_f_and_the_views_own():
    base, fused, _ = setting()
    found = plain_kernels(base, fused.belief.kernels)
    assert len(found.shared) == len(found.prior.mean) - 1 == 4  # linear and Gaussian: related views, junk
    related = base.side_by_side(base.views.related)
    linear = related @ related[ROWS].T
    np.testing.assert_allclose(found.shared[0], linear / np.mean(np.diag(linear[ROWS])), atol=1e-6)
    np.testing.assert_allclose(found.columns[0, 0], base.f[:, 0], atol=1e-6)


def test_leaving_out_equals_fitting_without_the_labels():
    """Predictions without i and j, under variances that the fold of j had no part in."""
    base, fused, z = setting()
    found = plain_kernels(base, fused.belief.kernels)
    model = labelled_model(found.columns[:, :, ROWS], found.within(), found.prior)
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
    found = plain_kernels(base, fused.belief.kernels)
    model = labelled_model(found.columns[:, :, ROWS], found.within(), found.prior)
    top = int(np.argmax(z))  # stays the largest, so that folds stay as they are
    changed = z.copy()
    changed[top] += 100.0

    def combined(labels):
        parts = []
        for scale in (1.0, 0.1):  # two different processes
            one = replace(model, columns=scale * model.columns)
            zero = np.zeros_like(labels)
            parts.append(judged_apart(one, posterior(one, one.most_likely(labels), labels), labels, zero))
        return experts.combined_left_out(parts[0], parts[1], labels, 0.4)

    before, after = combined(z), combined(changed)
    assert after.held_out[top, 0] == pytest.approx(before.held_out[top, 0], abs=1e-9)
    assert not np.allclose(after.held_out, before.held_out)


def test_a_table_gains_what_a_linear_fit_gains():
    truth, scores, views = table()
    items = np.arange(30)
    labels, judging = Values(items, truth[items]), Values(np.arange(30, 400), truth[30:])
    found = tupi.denoise(scores, views, labels=labels)
    assert found.params["plain_share"] > 0.5
    assert "of them by a plain process" in found.notes[0]
    linear = tupi.denoise(scores, views, labels=labels, method="ridge")
    assert pairwise_accuracy(found.predictions, judging) > pairwise_accuracy(linear.predictions, judging) - 0.01


def test_few_labels_and_no_views_leave_the_process_alone():
    base, fused, z = setting(rows=ROWS[:5])
    assert with_expert(base, fused, z) is fused
    base, fused, z = setting(views={"copy": SCORES[:, None]})
    assert with_expert(base, fused, z) is fused


def test_the_combination_lies_between_its_parts():
    base, fused, z = setting()
    found = with_expert(base, fused, z)
    g, plain = fit_plain(base, plain_kernels(base, fused.belief.kernels), z)
    assert isinstance(plain, LeftOut)
    assert 0 < found.plain_share < 1
    share = found.plain_share
    np.testing.assert_allclose(found.g, (1 - share) * fused.g + share * g)
    np.testing.assert_allclose(found.differences, -found.differences.T)
    low, high = np.minimum(fused.held_out, plain.held_out), np.maximum(fused.held_out, plain.held_out)
    assert ((found.held_out >= low - 1e-9) & (found.held_out <= high + 1e-9)).all()
