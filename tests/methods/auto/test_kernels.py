import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.methods.auto.dense import dense_weights, everyone, whole_kernel
from tests.methods.rows import KNOWN, LABELLED, SCORES, VIEWS
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.comparisons import fit_pairs
from tupi.methods.auto.design import suggest_first, suggest_items, suggest_pairs
from tupi.methods.auto.fitting import fit_values
from tupi.methods.auto.kernels import (
    LEAST_TRUST,
    LOG_PRIOR,
    LOG_PRIOR_REST,
    LOG_PRIOR_VIEW,
    SD_REST,
    kernels,
    pick_features,
)
from tupi.methods.auto.preferences import Answers
from tupi.methods.auto.process import LOG_PRIOR_NOISE, PRIOR_SD

N = len(SCORES)
BASE = label_free_of(Prepared(make_problem(SCORES, VIEWS, KNOWN)))
ROWS = np.sort(LABELLED)
ITEMS, AMONG = everyone(BASE), pick_features(BASE, ROWS)
FOUND = kernels(BASE, AMONG)


def side_by_side(names):
    """Return views side by side, each with the same total variance, all together with variance one."""
    columns = [(VIEWS[name] - VIEWS[name].mean(axis=0)) / VIEWS[name].std(axis=0) for name in names]
    return np.hstack([X / np.sqrt(X.shape[1] * len(names)) for X in columns])


@pytest.mark.parametrize(("number", "strength"), [(0, 10.0), (1, 100.0)])
def test_the_graph_kernel_is_a_squared_resolvent(number, strength):
    """Without what it says of an item itself, with mean diagonal one on the labelled items."""
    M = np.linalg.inv(np.eye(N) + strength * (np.eye(N) - dense_weights(BASE)))
    K = M @ M - np.eye(N) / (1 + strength) ** 2
    np.testing.assert_allclose(FOUND.shared(ITEMS)[number], K[:, ROWS] / np.mean(np.diag(K)[ROWS]), atol=1e-3)


@pytest.mark.parametrize(("first", "names"), [(2, ["near", "bent"]), (4, ["junk"])])
def test_view_kernels(first, names):
    H = side_by_side(names)
    linear, gaussian = FOUND.shared(ITEMS)[first : first + 2]
    expected = H @ H[ROWS].T
    np.testing.assert_allclose(linear, expected / np.mean(np.diag(expected[ROWS])))
    distances = cdist(H, H[ROWS], "sqeuclidean")
    np.testing.assert_allclose(gaussian, np.exp(-distances / (2 * np.median(distances))), atol=1e-9)


def test_columns_are_what_f_is_through_the_views_without_its_part_along_the_answer():
    columns = FOUND.of_columns(ITEMS)[0]
    np.testing.assert_allclose(columns[0].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(columns[0].std(), 1)
    np.testing.assert_allclose(columns[1:] @ columns[0], 0, atol=1e-6)
    # Whatever was along the answer is a multiple of it: together they span f and the smoothed columns.
    base = ITEMS.base[:, 0, 1:]
    for one in base.T[[0, 2, 3, 4]]:
        space = np.column_stack([np.ones(N), columns.T])
        np.testing.assert_allclose(space @ np.linalg.lstsq(space, one, rcond=None)[0], one, atol=1e-6)


def test_what_is_expected_of_each_variance():
    """Smoothed columns are trusted as far as the label-free sign says that f has errors."""
    trust = np.log(1 - BASE.share.c + LEAST_TRUST)
    expected = [LOG_PRIOR] * 2 + [LOG_PRIOR + trust] * 4 + [LOG_PRIOR] * 2 + [LOG_PRIOR_VIEW] * 2 + [LOG_PRIOR_REST] * 2
    np.testing.assert_allclose(FOUND.prior.mean, expected)
    np.testing.assert_allclose(FOUND.prior.sd, [PRIOR_SD] * 10 + [SD_REST] * 2)


def test_kernels_between_items_are_those_to_labelled_ones():
    for among, whole in zip(FOUND.shared(ITEMS), FOUND.shared(ITEMS, ITEMS), strict=True):
        np.testing.assert_allclose(whole[:, ROWS], among, atol=1e-6)
    for among, within in zip(FOUND.shared(ITEMS), FOUND.within(), strict=True):
        np.testing.assert_allclose(within, among[ROWS], atol=1e-6)
        np.testing.assert_array_equal(within, within.T)


def test_features_of_some_items_are_those_of_all():
    chosen = np.array([80, 3, 41])
    found, expected = pick_features(BASE, chosen), ITEMS[chosen]
    np.testing.assert_allclose(found.base, expected.base)
    np.testing.assert_array_equal(found.near.numbers, expected.near.numbers)
    np.testing.assert_array_equal(found.near.weights, expected.near.weights)
    for one, other in zip(found.views, expected.views, strict=True):
        np.testing.assert_allclose(one, other)


@pytest.fixture(scope="module")
def after():
    """What labels that go with the scores made of it, and the whole prior covariance of all items."""
    f = pick_features(BASE, ROWS).base[:, 0, 1]
    z = f + np.random.default_rng(0).normal(size=len(ROWS))
    fused = fit_values(BASE, AMONG, (z - z.mean()) / z.std())
    return fused, whole_kernel(fused, ITEMS)


def test_covariances_are_those_of_the_dense_posterior(after):
    fused, K = after
    expected = K - K[:, ROWS] @ fused.middles[0] @ K[ROWS]
    np.testing.assert_allclose(fused.covariance(ITEMS), expected, atol=1e-5)
    np.testing.assert_allclose(fused(ITEMS)[1], np.diag(expected), atol=1e-5)
    np.testing.assert_allclose(fused.prior_variances(ITEMS), np.diag(K), atol=1e-5)


def lowered(K, noise, known, among=slice(None)):
    """Return the sum of the variances of some items after labels of others."""
    inside = K[np.ix_(known, known)] + noise * np.eye(len(known))
    return np.diag(K - K[:, known] @ np.linalg.solve(inside, K[known]))[among].sum()


def test_suggestions_lower_the_variance_more_than_others(after):
    """Of the items that have no label yet; each one as far as any does after those before, since all are looked at."""
    fused, K = after
    chosen = suggest_items(BASE, fused, fused.noise, ROWS)[:5]
    others = np.setdiff1d(np.arange(N), ROWS)
    assert np.isin(chosen, others).all()

    def left(items):
        return lowered(K, fused.noise, np.append(ROWS, items), others)

    for k in range(3):
        each = [left(np.append(chosen[:k], one)) for one in np.setdiff1d(others, chosen[:k])]
        assert left(chosen[: k + 1]) == pytest.approx(min(each), rel=1e-5)
    rng = np.random.default_rng(0)
    assert left(chosen) < np.quantile([left(rng.choice(others, 5, replace=False)) for _ in range(50)], 0.1)


def test_first_suggestions_lower_the_variance_more_than_others():
    labelled = pick_features(BASE, BASE.evenly(16))
    found = kernels(BASE, labelled)
    v, columns = np.exp(found.prior.mean), found.of_columns(ITEMS)[0]
    K = 1.0 + (columns.T * v[: len(columns)]) @ columns
    K = K + sum(a * one for a, one in zip(v[len(columns) :], found.shared(ITEMS, ITEMS), strict=True))
    noise = np.exp(LOG_PRIOR_NOISE)
    chosen = suggest_first(BASE)
    assert len(np.unique(chosen)) == len(chosen)
    assert chosen[0] == np.argmin([lowered(K, noise, np.array([one])) for one in range(N)])
    rng = np.random.default_rng(0)
    random = [lowered(K, noise, rng.choice(N, 5, replace=False)) for _ in range(50)]
    assert lowered(K, noise, chosen[:5]) < np.min(random)


def test_suggested_pairs_were_not_compared():
    """The first one lowers the sum of all variances most among all pairs that were not asked."""
    rng = np.random.default_rng(0)
    higher, lower = np.arange(0, 30, 2), np.arange(1, 30, 2)
    fused = fit_pairs(BASE, AMONG, Answers.of(higher, lower))
    asked = np.column_stack([ROWS[higher], ROWS[lower]])
    asked = np.concatenate([asked, suggest_pairs(BASE, fused, asked)[:3, ::-1]])
    found = suggest_pairs(BASE, fused, asked)
    assert not {frozenset(pair) for pair in found.tolist()} & {frozenset(pair) for pair in asked.tolist()}
    C, mean = fused.covariance(ITEMS), fused(ITEMS)[0][:, 0]

    def left(i, j):
        s = 1 / (1 + np.exp(-(mean[i] - mean[j]) / 0.5))
        d = np.eye(N)[i] - np.eye(N)[j]
        return np.trace(C) - (C @ d) @ (C @ d) / (0.5**2 / (s * (1 - s)) + d @ C @ d)

    random = [left(*rng.choice(N, 2, replace=False)) for _ in range(300)]
    assert left(*found[0]) <= min(random)


def test_nothing_related_leaves_f_and_the_views():
    rng = np.random.default_rng(0)
    prepared = Prepared(make_problem(SCORES, {"junk": rng.normal(size=(N, 3))}, KNOWN))
    base = label_free_of(prepared)
    assert base.near is None
    assert base.tables == []
    labelled = pick_features(base, np.arange(30))
    np.testing.assert_array_equal(base.answer, base.only(0))
    found = fit_values(base, labelled, rng.normal(size=30))
    assert len(found.kernels.within()) == 2
    items = everyone(base)
    K = whole_kernel(found, items)
    np.testing.assert_allclose(found(items)[1], np.diag(K - K[:, :30] @ found.middles[0] @ K[:30]), atol=1e-5)
