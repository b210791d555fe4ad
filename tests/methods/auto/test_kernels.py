import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.methods.rows import KNOWN, LABELLED, SCORES, VIEWS
from tupi.embedding.graphs import Neighbors
from tupi.embedding.prepared import Prepared
from tupi.embedding.relevance import evenly
from tupi.inputs.problem import make_problem
from tupi.methods.auto import design
from tupi.methods.auto import kernels as fused_kernels
from tupi.methods.auto.design import Belief, first_belief, sketches, suggest_first, suggest_items
from tupi.methods.auto.fitting import fit_values, kernels_to
from tupi.methods.auto.kernels import graph_kernel, kernels, view_kernels
from tupi.methods.auto.labelfree import label_free, self_tuning_graph, smooth, unit
from tupi.methods.auto.process import LOG_PRIOR_NOISE

PREPARED = Prepared(make_problem(SCORES, VIEWS, KNOWN))
BASE = label_free(PREPARED)
ROWS = np.sort(np.argsort(BASE.order)[LABELLED])


def laplacian():
    W = BASE.graph.weights.toarray()
    return np.diag(W.sum(axis=1)) - W


def test_the_graph_is_self_tuning():
    near = BASE.near.first(10)
    n = len(SCORES)
    widths = near.distances[:, 6]
    expected = np.zeros((n, n))
    for i in range(n):
        for j, d in zip(near.indices[i], near.distances[i], strict=True):
            expected[i, j] = np.exp(-(d**2) / (widths[i] * widths[j])) + 1e-6
    expected = np.maximum(expected, expected.T)
    np.testing.assert_allclose(BASE.graph.weights.toarray(), expected / expected.sum(axis=1).mean(), rtol=1e-6)


def test_neighbours_are_averaged_twice_and_rescaled():
    near = BASE.near.first(15)
    W = np.zeros((len(SCORES), len(SCORES)))
    np.put_along_axis(W, near.indices.astype(int), 1 / 15, axis=1)
    p = W @ W @ BASE.f[:, 0]
    p -= p.mean()
    expected = p * (p @ BASE.f[:, 0]) / (p @ p)
    np.testing.assert_allclose(BASE.smoothed[:, 0], expected, atol=1e-12)
    np.testing.assert_allclose(BASE.answer, BASE.smoothed + BASE.share.c * (BASE.f - BASE.smoothed))


def test_an_item_without_neighbours_keeps_its_prediction():
    near = Neighbors(np.array([[1], [0], [0]], np.int32), np.array([[1.0], [1.0], [np.inf]]))
    p = smooth(np.array([[1.0], [-2.0], [1.0]]), near)
    assert np.isfinite(p).all()
    assert self_tuning_graph(near).degrees[2] == 0


def test_columns_are_smoothed_at_each_strength():
    f = BASE.f[:, 0]
    expected = [np.linalg.solve(np.eye(len(f)) + s * laplacian(), f) for s in (1, 10, 100)]
    for column, one in zip(BASE.columns[3:], expected, strict=True):
        np.testing.assert_allclose(column[:, 0], unit(one[:, None])[:, 0], atol=1e-3)


@pytest.mark.parametrize("strength", [10.0, 100.0])
def test_the_graph_kernel_is_a_squared_resolvent(strength):
    M = np.linalg.inv(np.eye(len(SCORES)) + strength * laplacian())
    K = M @ M
    found, scale = graph_kernel(BASE.graph, strength, ROWS)
    assert scale == pytest.approx(np.mean(np.diag(K)[ROWS]), rel=1e-3)
    np.testing.assert_allclose(found, K[:, ROWS] / np.mean(np.diag(K)[ROWS]), atol=1e-3)


@pytest.mark.parametrize(("count", "closeness"), [(10, 0.9), (60, 0.995)])
def test_of_many_rows_only_landmarks_are_solved_for(monkeypatch, count, closeness):
    """A low pass has a low rank, so few landmarks are close and more are closer."""
    rows = np.arange(0, len(SCORES), 2)
    expected, _ = graph_kernel(BASE.graph, 100.0, rows)
    monkeypatch.setattr(fused_kernels, "LEAST_LANDMARKS", count)
    monkeypatch.setattr(fused_kernels, "SOLVED_IN_ALL", 0)
    found, _ = graph_kernel(BASE.graph, 100.0, rows)
    assert found.shape == expected.shape
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > closeness
    landmarks = evenly(len(rows), count)
    ratio = found[:, landmarks] / expected[:, landmarks]  # theirs are exact but for the scale
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=0.02)


def test_view_kernels():
    H = BASE.side_by_side(BASE.views.related)
    linear, scale, gaussian, width = view_kernels(H, ROWS)
    np.testing.assert_allclose(linear * scale, H @ H[ROWS].T)
    assert np.mean(np.diag(linear[ROWS])) == pytest.approx(1)
    distances = cdist(H, H[ROWS], "sqeuclidean")
    assert width == pytest.approx(np.median(distances))
    np.testing.assert_allclose(gaussian, np.exp(-distances / (2 * np.median(distances))))


def test_products_equal_the_whole_kernel():
    found = kernels(BASE, ROWS, PREPARED)
    v = np.exp(found.prior.mean)
    whole = found.cross(v, 0, slice(None))
    dual = np.random.default_rng(0).normal(size=len(ROWS))
    np.testing.assert_allclose(found.times(v, dual, 0), whole @ dual, rtol=1e-9)
    columns = found.columns[0]
    expected = sum(v[k] * np.outer(columns[k], columns[k][ROWS]) for k in range(len(columns)))
    expected = expected + sum(weight * K for weight, K in zip(v[len(columns) :], found.shared, strict=True))
    np.testing.assert_allclose(whole, expected, rtol=1e-9)


def test_kernels_of_some_labels_come_from_those_of_all():
    some = kernels_to(BASE, PREPARED, ROWS[::2])
    everyone = kernels_to(BASE, PREPARED, ROWS)
    for K, whole in zip(some.shared, everyone.shared, strict=True):
        np.testing.assert_array_equal(K, whole[:, ::2])


def belief_and_kernel(prepared=PREPARED):
    """Return the belief after some labels that go with the scores, and the whole prior covariance of all items."""
    z = unit(BASE.f[ROWS] + np.random.default_rng(0).normal(size=(len(ROWS), 1)))
    belief = fit_values(BASE, prepared, ROWS, z).belief
    everyone = np.arange(len(SCORES))
    whole = kernels(BASE, everyone, prepared)
    v, q = belief.v, belief.kernels.columns.shape[1]
    K = 1.0 + sum(v[k] * np.outer(c, c) for k, c in enumerate(belief.kernels.columns[0]))
    for weight, one, own, scale in zip(v[q:], whole.shared, whole.scales, belief.kernels.scales, strict=True):
        is_gaussian = np.allclose(np.diag(one), 1)
        K = K + weight * (one if is_gaussian else one * own / scale)
    return belief, K


def test_variances_are_those_of_the_dense_posterior():
    belief, K = belief_and_kernel()
    middle = belief.middles[0]
    expected = np.diag(K - K[:, ROWS] @ middle @ K[ROWS])
    found = belief.variances()
    # The graph's share of the diagonal is known from random right-hand sides only.
    assert np.median(np.abs(found - expected) / np.diag(K)) < 0.05
    assert (found > 0).all()


@pytest.mark.parametrize(("probes", "closeness"), [(design.PROBES, 0.8), (5000, 0.98)])
def test_covariances_are_about_those_of_the_dense_posterior(monkeypatch, probes, closeness):
    """More random right-hand sides are closer."""
    monkeypatch.setattr(design, "PROBES", probes)
    belief, K = belief_and_kernel(Prepared(PREPARED.problem))
    expected = K - K[:, ROWS] @ belief.middles[0] @ K[ROWS]
    found = belief.covariance(np.arange(len(SCORES)))
    assert np.linalg.eigvalsh(found)[0] > -1e-9
    assert np.corrcoef(found.ravel(), expected.ravel())[0, 1] > closeness


def test_suggestions_lower_the_variance_more_than_others():
    belief, K = belief_and_kernel()
    noise = 0.1
    chosen = suggest_items(belief, noise, ROWS)[:5]
    assert not np.isin(chosen, ROWS).any()

    def left(items):
        known = np.concatenate([ROWS, items])
        inside = K[np.ix_(known, known)] + noise * np.eye(len(known))
        return np.trace(K - K[:, known] @ np.linalg.solve(inside, K[known]))

    others = np.setdiff1d(np.arange(len(SCORES)), ROWS)
    rng = np.random.default_rng(0)
    random = [left(rng.choice(others, 5, replace=False)) for _ in range(50)]
    assert left(chosen) < np.quantile(random, 0.1)


def test_first_suggestions_lower_the_variance_more_than_others(monkeypatch):
    belief = first_belief(BASE, PREPARED)
    K = belief.covariance(np.arange(len(SCORES)))
    noise = np.exp(LOG_PRIOR_NOISE)

    def left(items):
        inside = K[np.ix_(items, items)] + noise * np.eye(len(items))
        return np.trace(K - K[:, items] @ np.linalg.solve(inside, K[items]))

    rng = np.random.default_rng(0)
    random = [left(rng.choice(len(SCORES), 5, replace=False)) for _ in range(50)]
    assert left(suggest_first(BASE, PREPARED)[:5]) < np.min(random)
    monkeypatch.setattr(design, "FIRST", len(SCORES) // 2)  # of many items some are looked at
    assert left(suggest_first(BASE, PREPARED)[:5]) < np.quantile(random, 0.1)


def test_nothing_related_leaves_no_sketches():
    rng = np.random.default_rng(0)
    prepared = Prepared(make_problem(SCORES, {"junk": rng.normal(size=(len(SCORES), 3))}, KNOWN))
    base = label_free(prepared)
    assert base.near is None
    assert sketches(base, prepared) == []
    np.testing.assert_array_equal(base.answer, base.f)
    assert isinstance(fit_values(base, prepared, np.arange(30), np.ones((30, 1))).belief, Belief)
