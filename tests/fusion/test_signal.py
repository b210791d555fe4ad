import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from tupi.fusion import signal
from tupi.fusion.relevance import Block
from tupi.fusion.signal import error_share, explained, leading_directions, signal_share


@given(st.floats(0.0, 0.9), st.floats(0.01, 20.0), st.integers(2, 10))
def test_the_law_is_inverted(nu, s, m):
    """Shares made by the hyperbolic law give its share of error back."""
    r, r_less = ((1 - nu) * k * s / (1 + k * s) for k in (m, m - 1))
    assert error_share(r, r_less, m) == pytest.approx(nu, abs=1e-6)


def test_views_that_each_add_as_much_as_the_first_leave_no_error():
    assert error_share(0.6, 0.4, 3) == 0.0
    assert error_share(0.6, 0.3, 3) == 0.0


def test_views_that_add_nothing_leave_all_the_rest_as_error():
    assert error_share(0.7, 0.7, 4) == pytest.approx(0.3)
    assert error_share(0.7, 0.75, 4) == pytest.approx(0.3)


def test_explained_equals_its_definition():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    f = np.column_stack([X[:, 0] + 0.1 * rng.normal(size=80), rng.normal(size=80)])
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    means = f[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
    expected = [max(0, np.corrcoef(means[:, c], f[:, c])[0, 1]) ** 2 for c in range(2)]
    np.testing.assert_allclose(explained(f, X, 5), expected)


def blocks(arrays):
    return [
        Block(k, (v - v.mean(0)) / v.std(0) / np.sqrt(v.shape[1]), np.ones(len(v), bool)) for k, v in enumerate(arrays)
    ]


def test_redundant_views_say_error_and_complementary_ones_say_signal():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=2000)
    f = truth + 0.5 * rng.normal(size=2000)
    looks = [np.column_stack([truth, truth]) + 0.1 * rng.normal(size=(2000, 2)) for _ in range(4)]
    redundant = signal_share((f / f.std())[:, None], blocks(looks), 15)
    parts = rng.normal(size=(2000, 4))
    g = parts.sum(axis=1)
    complementary = signal_share((g / g.std())[:, None], blocks([parts[:, [k]] for k in range(4)]), 15)
    assert redundant.c < 0.3
    assert complementary.c == 1.0


def test_one_column_cannot_be_judged():
    rng = np.random.default_rng(0)
    assert signal_share(rng.normal(size=(50, 1)), blocks([rng.normal(size=(50, 1))]), 5).c == 1.0


def test_error_is_at_most_a_share_of_what_is_confirmed(monkeypatch):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=1000)
    f = (truth + rng.normal(size=1000))[:, None] / np.sqrt(2)
    looks = blocks([truth[:, None] + 0.1 * rng.normal(size=(1000, 1)) for _ in range(3)])
    found = signal_share(f, looks, 15)
    assert found.c == pytest.approx(1 - signal.MAX_ERROR * found.explained / (1 - found.explained))


def test_leading_directions_keep_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5)) @ rng.normal(size=(5, 60))
    np.testing.assert_allclose(cdist(leading_directions(X), leading_directions(X)), cdist(X, X), rtol=0.2, atol=1)
    assert leading_directions(X).shape[1] <= 5
    assert leading_directions(X[:, :40]) is not None
