from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tupi.methods.auto import signal
from tupi.methods.auto.signal import (
    agreement,
    error_share,
    explained,
    leading_directions,
    resampled_error_share,
    sets_left_out,
    signal_share,
)


@given(st.floats(0.0, 0.9), st.floats(0.01, 20.0), st.integers(3, 10), st.integers(1, 2))
def test_the_law_is_inverted(nu, s, m, out):
    """Shares made by the hyperbolic law give its share of error back."""
    r, r_less = ((1 - nu) * k * s / (1 + k * s) for k in (m, m - out))
    assert error_share(r, r_less, m, m - out) == pytest.approx(nu, abs=1e-6)


def test_views_that_each_add_as_much_as_the_first_leave_no_error():
    assert error_share(0.6, 0.4, 3, 2) == 0.0
    assert error_share(0.6, 0.3, 3, 2) == 0.0
    assert error_share(0.6, 0.3, 4, 2) == 0.0


def test_views_that_add_nothing_leave_all_the_rest_as_error():
    assert error_share(0.7, 0.7, 4, 2) == pytest.approx(0.3)
    assert error_share(0.7, 0.75, 4, 3) == pytest.approx(0.3)


def test_many_shares_at_once():
    less = np.array([0.4, 0.55, 0.6, 0.7])
    np.testing.assert_allclose(error_share(0.6, less, 3, 2), [error_share(0.6, one, 3, 2) for one in less])


def test_resampling_averages_over_views():
    """All draws of two among three views, each as likely."""
    less = [0.5, 0.58, 0.6]
    draws = [(a + b) / 2 for a in less for b in less]
    found = resampled_error_share(0.6, less, [(0,), (1,), (2,)], 3)
    assert found == pytest.approx(error_share(0.6, draws, 3, 2).mean(), abs=0.01)


def test_resampled_pairs_count_as_often_as_both_were_drawn():
    out = list(combinations(range(4), 2))
    less = [0.3 + 0.05 * i + 0.02 * j for i, j in out]
    shares = []
    for drawn in product(range(4), repeat=3):
        counts = [drawn.count(i) * drawn.count(j) for i, j in out]
        if any(counts):
            shares.append(error_share(0.6, np.average(less, weights=counts), 4, 2))
    assert resampled_error_share(0.6, less, out, 4) == pytest.approx(np.mean(shares), abs=0.01)


def test_sets_left_out():
    assert sorted(sets_left_out(3)) == [(0,), (1,), (2,)]
    assert sorted(sets_left_out(4)) == list(combinations(range(4), 2))
    assert len(set(sets_left_out(10))) == signal.MAX_SETS


def test_explained_equals_its_definition():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    f = np.column_stack([X[:, 0] + 0.1 * rng.normal(size=80), rng.normal(size=80)])
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    means = f[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
    expected = [max(0, np.corrcoef(means[:, c], f[:, c])[0, 1]) ** 2 for c in range(2)]
    np.testing.assert_allclose(explained(f, X, 5), expected)


def standard(columns):
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def blocks(arrays):
    return [standard(v) / np.sqrt(v.shape[1]) for v in arrays]


def away(f, p):
    """Return the mean square of what averages leave of f."""
    return float(np.mean((f - p) ** 2))


def test_redundant_views_say_error_and_complementary_ones_say_signal():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=2000)
    f = truth + 0.5 * rng.normal(size=2000)
    looks = [np.column_stack([truth, truth]) + 0.1 * rng.normal(size=(2000, 2)) for _ in range(4)]
    f = (f / f.std())[:, None]
    p = (truth / truth.std() * 0.8)[:, None]
    redundant = signal_share(f, blocks(looks), 15, away(f, p))
    parts = rng.normal(size=(2000, 4))
    g = parts.sum(axis=1)
    g = (g / g.std())[:, None]
    complementary = signal_share(g, blocks([parts[:, [k]] for k in range(4)]), 15, away(g, 0.0))
    assert redundant.c < 0.3
    assert complementary.c > 0.97


def test_one_column_cannot_be_judged():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(50, 1))
    assert signal_share(f, blocks([rng.normal(size=(50, 1))]), 5, away(f, 0.0)).c == 1.0


def test_error_is_at_most_a_share_of_what_is_confirmed(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=1000)
    f = (truth + rng.normal(size=1000))[:, None] / np.sqrt(2)
    looks = blocks([truth[:, None] + 0.1 * rng.normal(size=(1000, 1)) for _ in range(3)])
    monkeypatch.setattr(signal, "MAX_ERROR", 0.3)
    found = signal_share(f, looks, 15, away(f, 0.0))
    # Of averages that explain nothing at all, the whole of f is the residual.
    assert found.c == pytest.approx(1 - 0.3 * found.explained / np.mean(f**2))
    found = signal_share(f, looks, 15, away(f, f))
    assert found.c == pytest.approx(1 - 0.3 * found.explained / (1 - found.explained))


def test_leading_directions_keep_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 60))
    directions = leading_directions(X)
    np.testing.assert_allclose(cdist(X @ directions, X @ directions), cdist(X, X), rtol=0.2, atol=1)
    assert directions.shape[1] <= 5
    np.testing.assert_allclose(directions.T @ directions, np.eye(directions.shape[1]), atol=1e-9)


def test_few_columns_are_left_as_they_are():
    X = np.random.default_rng(0).normal(size=(100, signal.DIMENSIONS + 20))
    assert leading_directions(X[:, : signal.DIMENSIONS]) is None
    assert leading_directions(X).shape == (signal.DIMENSIONS + 20, signal.DIMENSIONS)


def test_agreement_equals_its_definition():
    """The first principal component of each group, predicted by the five nearest others by all other groups."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(90, 1))
    groups = [shared + s * rng.normal(size=(90, d)) for s, d in ((0.2, 1), (0.5, 3), (1.0, 2))]
    shares = []
    for i, X in enumerate(groups):
        component = np.linalg.svd(X - X.mean(axis=0))[0][:, 0]
        distances = cdist(*2 * [np.hstack(groups[:i] + groups[i + 1 :])])
        np.fill_diagonal(distances, np.inf)
        means = component[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
        shares.append(max(0, np.corrcoef(means, component)[0, 1]) ** 2)
    together = np.hstack(groups) - np.hstack(groups).mean(axis=0)
    assert agreement(groups, together.T @ together, 5) == pytest.approx(np.mean(shares))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("as_views", [True, False])
def test_views_are_credible_if_they_explain_f_about_as_well_as_one_another(seed, as_views):
    """Noisy looks at the truth of f are; noisy looks at another factor, on which f depends in part, are not."""
    rng = np.random.default_rng(seed)
    other, own = rng.normal(size=(2, 1000))
    looks = [other[:, None] + 0.3 * rng.normal(size=(1000, 2)) for _ in range(4)]
    views = blocks(looks if as_views else [np.hstack(looks)])

    def credible(truth):
        f = (truth + 0.4 * rng.normal(size=1000))[:, None]
        f = (f - f.mean()) / f.std()
        p = np.sqrt(explained(f, np.hstack(looks), 15)) * standard(other[:, None])
        found = signal_share(f, views, 15, away(f, p))
        assert found.c < 1.0
        return found.credible

    assert credible(other)
    assert not credible(0.6 * other + 0.8 * own)


def test_a_faint_sign_is_not_credible(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(1000, 1))
    f = standard(truth + 0.3 * rng.normal(size=(1000, 1)))
    looks = blocks([truth + 0.2 * rng.normal(size=(1000, 1)) for _ in range(4)])
    assert signal_share(f, looks, 15, away(f, truth)).credible
    monkeypatch.setattr(signal, "LEAST_SIGN", 1.1)
    assert not signal_share(f, looks, 15, away(f, truth)).credible


def test_averages_over_too_wide_circles_leave_f_alone():
    """Two views know all of a truth that changes quickly; its averages miss it, and that is no error of f."""
    rng = np.random.default_rng(0)
    place = rng.uniform(-3, 3, size=(1000, 2))
    looks = blocks([place + 0.01 * rng.normal(size=place.shape) for _ in range(4)])
    quick = standard(np.sin(4 * place[:, :1]) * np.sin(4 * place[:, 1:]))
    found = signal_share(quick, looks, 15, 0.0)
    assert found.coarse
    assert not found.credible
    assert (found.c, found.kept) == (1.0, 1.0)
    slow = signal_share(standard(place[:, :1] + 0.5 * rng.normal(size=(1000, 1))), looks, 15, 0.0)
    assert not slow.coarse
    assert slow.c < 0.5


def test_columns_that_stand_for_views_move_f_less_without_labels():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=1000)
    f = standard((truth + 0.5 * rng.normal(size=1000))[:, None])
    columns = np.column_stack([truth] * 6) + 0.1 * rng.normal(size=(1000, 6))
    as_views = signal_share(f, blocks(np.hsplit(columns, 3)), 15, 0.0)
    as_columns = signal_share(f, blocks([columns]), 15, 0.0)
    assert as_views.kept == as_views.c < 0.5
    assert as_columns.c < 0.5
    assert as_columns.kept == pytest.approx(2 / 3)
