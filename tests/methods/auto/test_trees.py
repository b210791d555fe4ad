from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor

from tupi.methods.auto.trees import LEAF, LEAST_LEAF, TREES, grow, left_out

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6)).astype(np.float32)
Y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + 0.1 * RNG.normal(size=80)
NEW = RNG.normal(size=(300, 6)).astype(np.float32)
FOREST = grow(X, Y)


def leaf(forest, root, row):
    """Walk down a tree, straight from its definition."""
    node = int(root)
    while forest.divided[node] != LEAF:
        column = forest.divided[node]
        goes_right = forest.signs[column] * row[column] > forest.thresholds[node]
        node = int(forest.left[node]) + int(goes_right)
    return node


def test_a_forest_is_the_mean_over_trees_of_the_mean_label_in_a_leaf():
    expected = []
    for row in NEW[:40]:
        means = []
        for root in FOREST.roots:
            here = leaf(FOREST, root, row)
            means.append(np.mean([y for y, other in zip(Y, X, strict=True) if leaf(FOREST, root, other) == here]))
        expected.append(np.mean(means))
    np.testing.assert_allclose(FOREST(NEW[:40]), expected, atol=1e-12)


def test_weights_of_labels_give_what_is_said():
    weights = FOREST.weights(NEW, X)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    np.testing.assert_allclose(weights @ Y, FOREST(NEW), atol=1e-12)


def test_parts_are_as_large_as_asked_for_and_divisions_lower_the_variance():
    assert len(FOREST.roots) == TREES
    left = []
    for root in FOREST.roots:
        ends = np.array([leaf(FOREST, root, row) for row in X])
        counts = np.unique(ends, return_counts=True)[1]
        assert counts.min() >= LEAST_LEAF
        within = sum(np.var(Y[ends == one]) * np.sum(ends == one) for one in np.unique(ends))
        left.append(within / (np.var(Y) * len(Y)))
        thresholds = FOREST.thresholds[root : root + 5]
        assert np.isfinite(thresholds).all()
    assert np.mean(left) < 0.4
    assert np.mean(np.array(left) < 0.5) > 0.9  # a division looks at few columns, so that single trees may be poorer
    assert np.max(left) < 0.7


def test_forests_say_as_much_as_those_of_scikit_learn():
    truth = np.sin(2 * NEW[:, 0]) + NEW[:, 1] * (NEW[:, 2] > 0)
    peer = ExtraTreesRegressor(TREES, min_samples_leaf=LEAST_LEAF, max_features=0.5, random_state=0).fit(X, Y)
    ours, theirs = (np.mean((one - truth) ** 2) for one in (FOREST(NEW), peer.predict(NEW)))
    assert ours < 1.1 * theirs
    assert theirs < 0.8 * np.var(truth)


@settings(max_examples=20, deadline=None)
@given(
    st.permutations(range(6)), st.permutations(range(80)), st.lists(st.sampled_from([-1, 1]), min_size=7, max_size=7)
)
def test_neither_order_nor_direction_matters(columns, rows, signs):
    """Of columns, of items and of labels."""
    columns, rows, signs = list(columns), list(rows), np.array(signs, np.float32)

    def seen(items):
        return (items * signs[:6])[:, columns]

    again = grow(seen(X)[rows], signs[6] * Y[rows])
    np.testing.assert_allclose(again(seen(NEW)), signs[6] * FOREST(NEW), atol=1e-12)


def test_constant_columns_are_not_looked_at():
    found = grow(np.column_stack([X, np.ones(len(X), np.float32)]), Y)
    assert 6 not in found.divided


def test_equal_labels_and_equal_items_are_not_divided():
    same = grow(X, np.full(80, 3.0))
    assert (same.divided == LEAF).all()
    np.testing.assert_allclose(same(NEW), 3.0)
    alone = grow(np.ones((20, 2), np.float32), Y[:20])
    np.testing.assert_allclose(alone(NEW[:, :2]), Y[:20].mean())


def test_left_out_labels_were_not_seen():
    fold = np.arange(80) % 5
    before = left_out(X, Y, fold)
    changed = Y.copy()
    changed[fold == 2] += 100.0
    after = left_out(X, changed, fold)
    np.testing.assert_array_equal(after[fold == 2], before[fold == 2])
    assert (after[fold != 2] > before[fold != 2] + 1).any()
    assert np.corrcoef(before, Y)[0, 1] > 0.3


@pytest.mark.parametrize(
    "changes",
    [
        {"divided": np.where(FOREST.divided == LEAF, LEAF, 6).astype(np.int32)},
        {"left": np.zeros_like(FOREST.left)},
        {"left": np.full_like(FOREST.left, len(FOREST.left))},
        {"values": FOREST.values[:-1]},
        {"roots": FOREST.roots + len(FOREST.left)},
        {"roots": FOREST.roots[:0]},
    ],
)
def test_changed_nodes_are_refused(changes):
    with pytest.raises(ValueError, match=r"trees|nodes"):
        replace(FOREST, **changes)
    with pytest.raises(ValueError, match="other columns"):
        FOREST(NEW[:, :5])


def test_units_of_columns_do_not_matter():
    """More items change the deviations by which columns are divided; with other draws, forests would differ wholly."""
    units, shift = np.linspace(0.5, 2.0, X.shape[1]), np.linspace(-3.0, 3.0, X.shape[1])
    other = grow((X * units + shift).astype(np.float32), Y)
    np.testing.assert_allclose(other((NEW * units + shift).astype(np.float32)), FOREST(NEW), atol=1e-3)
    np.testing.assert_array_equal(other.roots, FOREST.roots)


def test_parts_side_by_side_are_one_table():
    np.testing.assert_array_equal(FOREST(NEW[:, :2].astype(np.float64), NEW[:, 2:]), FOREST(NEW))
    with pytest.raises(ValueError, match="items with other columns"):
        FOREST(NEW[:, :2])


CLASSES = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
SIZES = np.array([1.0, 2.0, 0.5])
MEMBERS = np.eye(3)[CLASSES] * SIZES
BY_CLASS = grow(X, SIZES[CLASSES], classes=CLASSES, n_classes=3)


def test_of_classes_a_forest_says_the_mean_of_each():
    expected = []
    for row in NEW[:40]:
        same = [
            [leaf(BY_CLASS, root, other) == leaf(BY_CLASS, root, row) for other in X] for root in BY_CLASS.roots[:8]
        ]
        expected.append(np.mean([MEMBERS[one].mean(axis=0) for one in same], axis=0))
    first = replace(BY_CLASS, roots=BY_CLASS.roots[:8])
    np.testing.assert_allclose(first(NEW[:40]), expected, atol=1e-12)
    np.testing.assert_allclose(BY_CLASS.weights(NEW, X) @ MEMBERS, BY_CLASS(NEW), atol=1e-12)


def test_of_classes_divisions_lower_the_variance_of_all_together_as_those_of_scikit_learn_do():
    peer = ExtraTreesRegressor(TREES, min_samples_leaf=LEAST_LEAF, max_features=0.5, random_state=0).fit(X, MEMBERS)
    ours = [[leaf(BY_CLASS, root, row) for row in X] for root in BY_CLASS.roots]
    left = []
    for trees in (ours, peer.apply(X).T.tolist()):
        within = []
        for ends in map(np.array, trees):
            parts = [MEMBERS[ends == one] for one in np.unique(ends)]
            assert min(len(part) for part in parts) >= LEAST_LEAF
            within.append(sum(part.var(axis=0).sum() * len(part) for part in parts))
        left.append(np.mean(within) / (MEMBERS.var(axis=0).sum() * len(X)))
    assert left[0] < 1.1 * left[1] < 0.7


def test_of_classes_forests_are_right_as_often_as_those_of_scikit_learn():
    truth = np.sin(2 * NEW[:, 0]) + NEW[:, 1] * (NEW[:, 2] > 0)
    classes = np.digitize(truth, np.quantile(Y, [0.3, 0.7]))
    peer = ExtraTreesRegressor(TREES, min_samples_leaf=LEAST_LEAF, max_features=0.5, random_state=0).fit(X, MEMBERS)
    ours, theirs = ((one / SIZES).argmax(axis=1) == classes for one in (BY_CLASS(NEW), peer.predict(NEW)))
    assert ours.mean() > theirs.mean() - 0.03
    assert theirs.mean() > 0.45


def test_one_class_is_a_value():
    same = grow(X, Y, classes=np.zeros(80, np.int64))
    np.testing.assert_array_equal(same(NEW)[:, 0], FOREST(NEW))


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(3)), st.permutations(range(80)))
def test_the_order_of_classes_does_not_matter(names, rows):
    names, rows = np.array(names), list(rows)
    again = grow(X[rows], SIZES[CLASSES][rows], classes=names[CLASSES][rows], n_classes=3)
    np.testing.assert_allclose(again(NEW)[:, names], BY_CLASS(NEW), atol=1e-12)


def test_left_out_classes_were_not_seen():
    fold = np.arange(80) % 5
    before = left_out(X, SIZES[CLASSES], fold, CLASSES, 3)
    changed = np.where(fold == 2, (CLASSES + 1) % 3, CLASSES)
    after = left_out(X, SIZES[CLASSES], fold, changed, 3)
    np.testing.assert_array_equal(after[fold == 2], before[fold == 2])
    assert not np.allclose(after, before)
