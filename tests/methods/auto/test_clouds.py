"""Clouds of items around labels of the same value, against their equations written with loops and plain inverses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.stats import beta, multivariate_normal, norm

from tests.conftest import make_group_arrays
from tupi.methods.auto import clouds
from tupi.methods.auto.clouds import found, left_out, world_of
from tupi.methods.auto.guard import TRIED

TRUTH, _, VIEWS = make_group_arrays()
COLUMNS = np.hstack(list(VIEWS.values()))
WHICH = TRUTH[:40].astype(int)
VALUES = np.linspace(-1.5, 1.5, 8)[:, None]
NEW = np.random.default_rng(1).normal(scale=2.0, size=(30, 8))


def between_of(W, T):
    """Return B = T - W, but in no direction less than LEAST_BETWEEN times W: a function of the matrix W^-1/2 T W^-1/2.

    No axes in which both are diagonal are needed: max(a, b) = (a + b + |a - b|) / 2, and |A| is the root of A A.
    """
    root = np.real(sqrtm(W))
    least = (1 + clouds.LEAST_BETWEEN) * np.eye(len(W))
    beyond = np.linalg.inv(root) @ T @ np.linalg.inv(root) - least
    return root @ ((beyond + np.real(sqrtm(beyond @ beyond))) / 2 + clouds.LEAST_BETWEEN * np.eye(len(W))) @ root


def slow_chances(items, W, T, counts, sums, likely):
    """Return the probabilities of clouds by Bayes' rule, item by item; the last is the cloud of unknown values."""
    B, logs = between_of(W, T), np.empty((len(items), len(counts) + 1))
    for v, (count, total) in enumerate(zip(counts, sums, strict=True)):
        unsure = np.linalg.inv(np.linalg.inv(B) + count * np.linalg.inv(W))
        middle = unsure @ np.linalg.inv(W) @ total
        logs[:, v] = np.log(likely[v]) + multivariate_normal(middle, W + unsure).logpdf(items)
    logs[:, -1] = np.log(likely[-1]) + multivariate_normal(np.zeros(len(W)), W + B).logpdf(items)
    chances = np.exp(logs - logs.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)


def scatter(items, weights, middles):
    """Return the sum of outer products of differences between items and middles, each pair as often as it counts."""
    total = np.zeros((items.shape[1], items.shape[1]))
    for i, item in enumerate(items):
        for v, middle in enumerate(middles):
            total += weights[i, v] * np.outer(item - middle, item - middle)
    return total


def slow(world, labelled, which, n_values, items):
    """Return the probabilities of clouds for items, by expectation and maximisation with loops."""
    X, L, Q = ((one - world.middle) @ world.directions for one in (COLUMNS, labelled, items))
    m, k = L.shape
    members = np.array([[float(one == v) for v in range(n_values)] for one in which])
    counts, sums = members.sum(axis=0), np.array([L[which == v].sum(axis=0) for v in range(n_values)])
    new = (sum(count == 1 for count in counts) + 0.5) / (m + 1)
    likely = np.append([(1 - new) * count / m for count in counts], new)
    alike = min(1.0, clouds.COUNTED * m / len(X))
    # The shape of clouds comes from nearest items, their size from both these and labels.
    inverse, free = np.linalg.inv(world.total), m - n_values
    own = scatter(L, members, sums / counts[:, None])
    expected = np.trace(inverse @ world.within)
    size = (np.trace(inverse @ own) + 2 * expected) / ((free + 2) * expected)
    prior = k * size * world.within
    W = (prior + own) / (k + free)
    for _ in range(clouds.ROUNDS):
        chances = alike * slow_chances(X, W, world.total, counts, sums, likely)[:, :-1]
        there = members.sum(axis=0) + chances.sum(axis=0)
        together = np.array([L[which == v].sum(axis=0) + chances[:, v] @ X for v in range(n_values)])
        middles = together / there[:, None]
        W = (prior + scatter(L, members, middles) + scatter(X, chances, middles)) / (k + there.sum())
        counts, sums = there, together
    return slow_chances(Q, W, world.total, counts, sums, likely)


@pytest.mark.parametrize("labels", [12, 40, 70])
def test_clouds_are_those_of_loops_and_plain_inverses(labels):
    """With 70 labels of 300 items, these count in full; with 40 and fewer in part."""
    world, which = world_of(COLUMNS), np.unique(TRUTH[:labels], return_inverse=True)[1]
    assert (labels * clouds.COUNTED >= len(COLUMNS)) == (labels == 70)
    values = VALUES[: which.max() + 1]
    expected = slow(world, COLUMNS[:labels], which, len(values), NEW)
    one = found(world, COLUMNS[:labels], which, values)
    np.testing.assert_allclose(one.chances(NEW), expected, atol=1e-9)
    said, far = one(NEW)
    np.testing.assert_allclose(said, expected[:, :-1] @ values, atol=1e-9)
    np.testing.assert_allclose(far, 1 - expected[:, -1], atol=1e-9)


def test_how_items_lie_is_what_loops_find():
    """Nearest are items in directions of equal variance; of a direction that is hardly there nothing is said."""
    flat = np.column_stack([COLUMNS, COLUMNS[:, 0] + 1e-8 * COLUMNS[:, 1]])
    world = world_of(flat)
    assert world.directions.shape == (9, 8)
    X = (flat - flat.mean(axis=0)) @ world.directions
    np.testing.assert_allclose(world.items, X, atol=1e-9)
    np.testing.assert_allclose(world.total, np.cov(X.T, bias=True), atol=1e-9)
    np.testing.assert_allclose(world.total, np.diag(np.diag(world.total)), atol=1e-9)
    within = np.zeros((8, 8))
    for i, own in enumerate(X):
        away = [np.sum((own - other) ** 2 / np.diag(world.total)) if j != i else np.inf for j, other in enumerate(X)]
        for j in np.argsort(away)[: clouds.NEAREST]:
            within += np.outer(own - X[j], own - X[j]) / (2 * clouds.NEAREST * len(X))
    np.testing.assert_allclose(world.within, within + clouds.OF_ALL * world.total, atol=1e-9)


def test_of_many_columns_the_first_principal_directions_count():
    wide = np.random.default_rng(0).normal(size=(100, 60)) * np.linspace(3, 1, 60)
    directions = world_of(wide).directions
    assert directions.shape == (60, clouds.DIRECTIONS)
    vectors = np.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)[2][: clouds.DIRECTIONS]
    np.testing.assert_allclose(directions @ directions.T, vectors.T @ vectors, atol=1e-9)


def test_how_likely_the_next_label_is_new_is_told_by_those_that_occur_once():
    assert clouds.chance_of_new(np.array([0, 0, 1, 2, 2, 2, 3])) == pytest.approx(2.5 / 8)
    rng, likely = np.random.default_rng(0), 1 / np.arange(1, 31)
    likely /= likely.sum()
    told, true = [], []
    for _ in range(2000):
        drawn = rng.choice(30, size=20, p=likely)
        told.append(clouds.chance_of_new(np.unique(drawn, return_inverse=True)[1]))
        true.append(1 - likely[np.unique(drawn)].sum())
    assert np.mean(told) == pytest.approx(np.mean(true), abs=0.03)


@pytest.mark.parametrize(
    ("which", "said"),
    [([0, 1, 2, 3], False), ([0, 0, 1, 2, 3], False), ([0, 0, 1, 2], True), ([0, 0, 1], True), ([0, 0, 1, 1], True)],
)
def test_clouds_speak_where_at_most_half_of_the_labels_are_alone(which, said):
    assert clouds.repeat(np.array(which)) == said


def test_less_is_expected_of_few_labels_that_repeat():
    assert clouds.prior_share(np.array([0, 0, 1, 1, 1])) == pytest.approx((clouds.EXPECTED_OF_CLOUDS / 10, 100))
    assert clouds.prior_share(np.repeat([0, 1], 50)) == (clouds.EXPECTED_OF_CLOUDS, 1)


def test_weights_of_labels_give_what_is_said():
    one = found(world_of(COLUMNS), COLUMNS[:40], WHICH, VALUES)
    weights, (said, far) = one.weights(NEW, WHICH), one(NEW)
    np.testing.assert_allclose(weights @ VALUES[WHICH], said, atol=1e-12)
    np.testing.assert_allclose(weights.sum(axis=1), far, atol=1e-12)
    assert weights.min() >= 0


def spoken(columns, which, values, new, order=slice(None)):
    """Return the probabilities of clouds for new items, and what is said of them."""
    one = found(world_of(columns[order]), columns[: len(which)], which, values)
    return one.chances(new), one(new)[0]


BEFORE, SAID = spoken(COLUMNS, WHICH, VALUES, NEW)


@settings(max_examples=20)
@given(st.permutations(range(300)), st.permutations(range(40)), st.permutations(range(8)))
def test_no_order_matters(items, labels, names):
    """Of all items, of labels, and of the numbers by which values go."""
    items, labels, names = (np.array(one) for one in (items, labels, names))
    values = np.empty_like(VALUES)
    values[names] = VALUES
    one = found(world_of(COLUMNS[items]), COLUMNS[:40][labels], names[WHICH[labels]], values)
    np.testing.assert_allclose(one.chances(NEW)[:, np.append(names, 8)], BEFORE, atol=1e-9)
    np.testing.assert_allclose(one(NEW)[0], SAID, atol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.lists(st.floats(0.2, 5.0), min_size=8, max_size=8), st.floats(-100.0, 100.0))
def test_columns_may_be_turned_stretched_and_moved(seed, units, shift):
    """All of it is normal distributions: any columns from which the old ones follow tell the same."""
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(8, 8)))[0] * units
    chances, said = spoken(COLUMNS @ turn + shift, WHICH, VALUES, NEW @ turn + shift)
    np.testing.assert_allclose(chances, BEFORE, atol=1e-7)
    np.testing.assert_allclose(said, SAID, atol=1e-7)


@settings(max_examples=20)
@given(st.floats(-100.0, 100.0), st.floats(-100.0, 100.0))
def test_values_are_said_in_their_own_units(unit, level):
    chances, said = spoken(COLUMNS, WHICH, unit * VALUES + level, NEW)
    np.testing.assert_array_equal(chances, BEFORE)
    far = 1 - chances[:, -1:]
    np.testing.assert_allclose(said, unit * SAID + level * far, atol=1e-9)


def test_whoever_is_in_a_cloud_gets_its_value_and_whoever_is_in_none_is_left_to_others():
    rng, corners = np.random.default_rng(0), 8 * np.eye(5)
    group = rng.integers(3, size=300)  # of five corners, two have no items
    columns = corners[group] + rng.normal(size=(300, 5))
    one = found(world_of(columns), columns[:30], group[:30], np.array([[0.3], [-1.2], [0.9]]))
    said, far = one(corners)
    np.testing.assert_allclose(said[:3, 0], [0.3, -1.2, 0.9], atol=0.01)
    assert far[:3].min() > 0.99
    assert far[3:].max() < 1e-4
    away = one(np.outer([1, 3, 10], 4 * columns[0]))[1]
    assert (np.diff(away) <= 0).all()
    assert away[-1] < 1e-9


def test_left_out_predictions_do_not_see_their_own_label():
    world = world_of(COLUMNS)
    said, far = left_out(world, COLUMNS[:40], WHICH, VALUES)[:2]
    for changed in (3, 17):
        part = np.arange(40) % clouds.LEFT_OUT == changed % clouds.LEFT_OUT
        others = WHICH.copy()
        others[changed] = (WHICH[changed] + 1) % 8
        again, how_far = left_out(world, COLUMNS[:40], others, VALUES)[:2]
        np.testing.assert_array_equal(again[part], said[part])
        np.testing.assert_array_equal(how_far[part], far[part])
        assert not np.isclose(again[~part], said[~part]).all()
        one = found(world, COLUMNS[:40][~part], WHICH[~part], VALUES)(COLUMNS[:40][part])
        np.testing.assert_allclose(said[part], one[0], atol=1e-12)
        np.testing.assert_allclose(far[part], one[1], atol=1e-12)


def test_a_value_whose_only_label_is_left_out_is_none_of_those_that_others_have():
    which = np.append(np.where(WHICH == 3, 2, WHICH), 3)
    assert np.sum(which == 3) == 1
    rows = np.append(np.arange(40), np.flatnonzero(TRUTH[40:] == 3)[0] + 40)
    told = left_out(world_of(COLUMNS), COLUMNS[rows], which, VALUES)
    others = np.arange(41) % clouds.LEFT_OUT != 40 % clouds.LEFT_OUT
    names = np.unique(which[others], return_inverse=True)[1]
    one = found(world_of(COLUMNS), COLUMNS[rows][others], names, np.delete(VALUES, 3, axis=0))(COLUMNS[rows[[40]]])
    np.testing.assert_allclose(told.said[[40]], one[0], atol=1e-12)
    np.testing.assert_allclose(told.far[[40]], one[1], atol=1e-12)
    assert told.chances[40, 3] == told.usual[40, 3] == 0
    np.testing.assert_allclose(told.usual[40, [0, 2]], np.array([np.sum(which[others] == v) for v in (0, 2)]) / 36)
    assert told.new[40] == pytest.approx(clouds.chance_of_new(names))
    assert told.chances[40].sum() == pytest.approx(told.far[40])


def slow_belief(told, which, values, predicted, left=None):
    """Return the mean share of clouds in the mixture that makes labels likely, in that which is expected, at most 1."""
    variance = np.mean([(values[v] - g) ** 2 for v, g in zip(which, predicted, strict=True)])
    s = beta.ppf((np.arange(TRIED) + 0.5) / TRIED, clouds.EXPECTED_OF_CLOUDS, 1 - clouds.EXPECTED_OF_CLOUDS)
    logs = np.zeros(TRIED)
    for i, v in enumerate(which):
        if i == left:
            continue
        if told.usual[i, v] > 0:
            near = told.usual[i] * norm.pdf(values, predicted[i], np.sqrt(variance))
            first, second = (1 - told.new[i]) * near[v] / near.sum(), told.chances[i, v]
        else:
            first, second = told.new[i], 1 - told.far[i]
        logs += np.log((1 - s) * first + s * second)
    likely = np.exp(logs - logs.max())
    return min(1.0, s @ likely / likely.sum() / clouds.EXPECTED_OF_CLOUDS)


@pytest.mark.parametrize("error", [0.2, 1.0])
def test_clouds_are_believed_as_far_as_a_mixture_with_them_makes_values_likely(error):
    """Beside predictions that are nearly right clouds are believed less than beside bad ones."""
    predicted = VALUES[WHICH, 0] + error * np.random.default_rng(3).normal(size=40)
    told = left_out(world_of(COLUMNS), COLUMNS[:40], WHICH, VALUES)
    told = told._replace(chances=0.7 * told.chances, far=0.7 * told.far)  # so that they err
    by_all, without = clouds.belief(told, WHICH, VALUES[:, 0], predicted)
    assert by_all == pytest.approx(slow_belief(told, WHICH, VALUES[:, 0], predicted), abs=1e-9)
    for i in (0, 12, 39):
        assert without[i] == pytest.approx(slow_belief(told, WHICH, VALUES[:, 0], predicted, left=i), abs=1e-9)
    assert (by_all == 1.0) == (error == 1.0)


def test_values_that_come_in_steps_make_no_clouds():
    """Rates in steps of a quarter follow a line; that items of a step lie nowhere in particular is noticed."""
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(600, 6))
    values, which = np.unique(np.round(1.5 * (columns[:60, 0] + 0.5 * rng.normal(size=60))), return_inverse=True)
    told = left_out(world_of(columns), columns[:60], which, values[:, None])
    assert clouds.repeat(which)
    assert clouds.belief(told, which, values, 1.5 * columns[:60, 0])[0] < 0.3
    group = rng.integers(len(values), size=600)
    corners = 6 * rng.normal(size=(len(values), 6))[group] + columns
    told = left_out(world_of(corners), corners[:60], group[:60], values[:, None])
    assert clouds.belief(told, group[:60], values, np.full(60, values.mean()))[0] == 1.0


def test_of_two_values_errors_alone_tell():
    """The squared error of a probability is a proper score; the likelihood would ask for the same once more."""
    which = np.minimum(WHICH, 1)
    told = left_out(world_of(COLUMNS), COLUMNS[:40], which, VALUES[:2])
    by_all, without = clouds.belief(told._replace(chances=0 * told.chances), which, VALUES[:2, 0], VALUES[which, 0])
    assert by_all == 1.0
    np.testing.assert_array_equal(without, np.ones(40))
