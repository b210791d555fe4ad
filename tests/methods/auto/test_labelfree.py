import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax
from scipy.stats import norm, rankdata

import tupi
from tests.conftest import make_problem_arrays
from tests.methods.auto.dense import dense_weights, everyone
from tupi.blocks import home as blocks
from tupi.blocks.home import Memory
from tupi.embedding import anchors
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.items import content_order, drawing_order, normal_scores
from tupi.methods.auto.labelfree import STRENGTHS, unit
from tupi.methods.worth import relations_of

TRUTH, SCORES, VIEWS = make_problem_arrays(150)
HOLED = {name: view.copy() for name, view in VIEWS.items()}
HOLED["near"][::4] = np.nan
HOLED["bent"][1::5] = np.nan
ALONE = np.arange(16, 150, 20)  # these have junk alone, which nothing depends on


def answer_for(views=VIEWS, scores=SCORES, task="ranking"):
    return label_free_of(Prepared(make_problem(scores, views, task=task)))


def columns_of(base, coefficients):
    """Return a column that is made of one and the base columns, at all items."""
    return np.einsum("ck,nck->nc", coefficients, everyone(base).base)


def average_slowly(W, f, initial):
    """Return each item's average over the others, one pair at a time."""
    found = initial.copy()
    for i in range(len(f)):
        others = [j for j in range(len(f)) if j != i]
        total = sum(W[i, j] for j in others)
        if total > 1e-3:
            found[i] = sum(W[i, j] * f[j] for j in others) / total
    return found


@pytest.mark.parametrize("views", [VIEWS, HOLED], ids=["whole", "missing"])
def test_averages_are_twice_over_alike_items_without_oneself(views):
    base = answer_for(views)
    W, columns = dense_weights(base), everyone(base).base[:, 0, 1:]
    f = columns[:, 0]
    once = average_slowly(W, f, f)
    np.testing.assert_allclose(columns[:, 1], average_slowly(W, once, f), atol=1e-5)
    np.testing.assert_array_equal(np.flatnonzero(~W.any(axis=1)), [] if views is VIEWS else ALONE)


def test_an_item_without_anchors_keeps_its_prediction_in_all_columns():
    base = answer_for(HOLED)
    f, *others = everyone(base).base[ALONE, 0, 1:-1].T  # the last one is scores as they came
    for column in others:
        np.testing.assert_array_equal(column, f)


@pytest.mark.parametrize("views", [VIEWS, HOLED], ids=["whole", "missing"])
def test_low_passes_solve_their_equation(views):
    base = answer_for(views)
    W, columns = dense_weights(base), everyone(base).base[:, 0, 1:]
    here = W.any(axis=1)
    for c, found in zip(STRENGTHS, columns.T[2:-1], strict=True):
        expected = np.linalg.solve(np.eye(len(W)) + c * (np.eye(len(W)) - W), columns[:, 0])
        np.testing.assert_allclose(found[here], expected[here], atol=1e-4)  # single precision


@pytest.mark.parametrize("views", [VIEWS, {"junk": np.random.default_rng(0).normal(size=(150, 2))}], ids=["some", "no"])
def test_scores_as_they_came_are_a_column_of_rankings(views):
    scores = SCORES.copy()
    scores[3] = 50.0  # far from all others
    base, of_values = (answer_for(views, scores, task) for task in ("ranking", "regression"))
    assert base.scored
    expected = np.clip((scores - scores.mean()) / scores.std(), -4, 4)
    np.testing.assert_allclose(everyone(base).base[:, 0, -1], expected, atol=1e-12)
    assert not of_values.scored
    assert everyone(of_values).base.shape[2] == everyone(base).base.shape[2] - 1


def test_items_that_coincide_are_averaged_without_oneself():
    """All anchors of such an item are its copies, each of which counts as much as any other."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 40)
    view = rng.normal(size=(4, 2))[groups]
    scores = view[:, 0] + 0.5 * rng.normal(size=160)
    base = answer_for({"v": view}, scores)
    columns = everyone(base).base[:, 0, 1:]
    once = average_slowly(dense_weights(base), columns[:, 0], columns[:, 0])
    np.testing.assert_allclose(columns[:, 1], average_slowly(dense_weights(base), once, columns[:, 0]), atol=1e-5)


def test_moments_are_means_over_all_items():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 150)
    chances = softmax(2 * np.eye(3)[truth] + rng.normal(size=(150, 3)), axis=1)
    views = {f"look{k}": np.eye(3)[truth] + 0.5 * rng.normal(size=(150, 3)) for k in range(3)}
    base = answer_for(views, chances, "classification")
    full = everyone(base).base
    assert base.moments.shape == (3, 6, 6)
    for c in range(3):
        for k in range(6):
            for j in range(6):
                assert base.moments[c, k, j] == pytest.approx(np.mean(full[:, c, k] * full[:, c, j]), abs=1e-12)


def test_unit_has_mean_zero_and_deviation_one():
    base = answer_for()
    coefficients = np.random.default_rng(0).normal(size=(1, 7))
    before, after = (columns_of(base, one) for one in (coefficients, base.unit(coefficients)))
    np.testing.assert_allclose(after, (before - before.mean()) / before.std(), atol=1e-9)
    constant = np.array([[3.0, 0, 0, 0, 0, 0, 0]])
    np.testing.assert_array_equal(unit(constant, base.moments), np.zeros((1, 7)))


def test_the_answer_lies_between_f_and_its_average_times_the_slope_for_f():
    base = answer_for()
    f, p = everyone(base).base[:, 0, 1], everyone(base).base[:, 0, 2]
    p = p - p.mean()
    p *= (p @ f) / (p @ p)
    np.testing.assert_allclose(columns_of(base, base.smoothed)[:, 0], p, atol=1e-9)
    np.testing.assert_allclose(columns_of(base, base.answer)[:, 0], p + base.share.c * (f - p), atol=1e-9)
    assert 0 < base.share.c < 1
    assert base.moves
    assert base.share.c < base.share.kept == pytest.approx(2 / 3), "two views are judged by their columns"
    np.testing.assert_allclose(columns_of(base, base.careful)[:, 0], p + 2 / 3 * (f - p), atol=1e-9)


def test_ranked_predictions_are_normal_scores():
    scores = np.round(SCORES, 1)
    found = normal_scores(scores[:, None])[:, 0]
    expected = norm.ppf((rankdata(scores) - 0.5) / len(scores))
    np.testing.assert_allclose(found, (expected - expected.mean()) / expected.std())
    np.testing.assert_allclose(everyone(answer_for(scores=scores)).base[:, 0, 1], found)
    raw = everyone(answer_for(scores=scores, task="regression")).base[:, 0, 1]
    np.testing.assert_allclose(raw, (scores - scores.mean()) / scores.std())


@pytest.mark.parametrize("views", [VIEWS, HOLED], ids=["whole", "missing"])
@pytest.mark.parametrize("most", [anchors.MOST, 40], ids=["each an anchor", "few anchors"])
def test_many_blocks_give_the_same_as_one(monkeypatch, views, most):
    monkeypatch.setattr(anchors, "MOST", most)
    one = answer_for(views)
    monkeypatch.setattr(blocks, "BLOCK", 37)
    many = answer_for(views)
    assert len(one.home.bounds) == 2
    assert len(many.home.bounds) == 6
    assert len(one.space.anchors.columns) == min(most, 150)
    np.testing.assert_array_equal(one.order, many.order)
    np.testing.assert_allclose(many.home.joined(many.base), one.home.joined(one.base), atol=1e-6)
    np.testing.assert_allclose(many.answer, one.answer, atol=1e-6)
    np.testing.assert_allclose(many.columns, one.columns, atol=1e-5)
    assert many.share.c == pytest.approx(one.share.c, abs=1e-6)


@pytest.mark.parametrize("labelled", [False, True])
def test_predictions_do_not_depend_on_the_blocks(monkeypatch, labelled):
    labels = Values(np.arange(0, 150, 5), TRUTH[::5]) if labelled else None
    expected = tupi.denoise(SCORES, HOLED, labels=labels)
    monkeypatch.setattr(blocks, "BLOCK", 37)
    found = tupi.denoise(SCORES, HOLED, labels=labels)
    assert found.changed
    assert expected.changed
    np.testing.assert_allclose(found.predictions, expected.predictions, atol=1e-5)
    np.testing.assert_array_equal(found.suggest(5), expected.suggest(5))


def test_content_decides_the_order_of_equal_predictions():
    """By f, then by the mean square of the features, summed over views."""
    views = {name: VIEWS[name] for name in ("near", "junk")}
    f = np.round(SCORES)[:, None]
    problem = make_problem(SCORES, views)
    figures = sum(((v - v.mean(0)) / v.std(0)) ** 2 @ np.full(v.shape[1], 1 / v.shape[1]) for v in views.values())
    expected = sorted(range(150), key=lambda i: (f[i, 0], figures[i]))
    np.testing.assert_array_equal(content_order(Memory(problem.views, np.arange(150)), f), expected)


@pytest.mark.parametrize("ties", [False, True])
def test_items_are_drawn_by_their_content_and_as_if_at_random(ties):
    """Neither the order in which items came nor those that came later change who is drawn before whom."""
    rng = np.random.default_rng(0)
    given = (rng.integers(0, 3, size=4000).astype(float) if ties else rng.normal(size=4000))[:, None]
    order = np.lexsort([np.arange(4000), given[:, 0]])
    found = drawing_order(order, given)
    np.testing.assert_array_equal(np.sort(found), np.arange(4000))
    shuffled = rng.permutation(4000)
    back = drawing_order(np.argsort(shuffled)[order], given[shuffled])
    np.testing.assert_array_equal(shuffled[back], found)
    ranks = np.argsort(np.argsort(given[:, 0]))
    for first in (100, 1000):  # the first ones are no others than the rest
        assert abs(ranks[found[:first]].mean() - 1999.5) < 4 * 1155 / np.sqrt(first)
        assert abs(found[:first].mean() - 1999.5) < 4 * 1155 / np.sqrt(first)
    if not ties:
        later = drawing_order(np.argsort(given[:3900, 0]), given[:3900])
        np.testing.assert_array_equal(later, found[found < 3900])


def test_p_values_are_those_that_decided():
    problem = make_problem(SCORES, VIEWS)
    alone, together = Prepared(problem), Prepared(problem)
    found = label_free_of(together).relations
    np.testing.assert_array_equal(relations_of(alone).p_values, found.p_values)
    np.testing.assert_array_equal(relations_of(together).p_values, found.p_values)
    assert not alone.has("label-free")
    assert found.related == [0, 1]


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "values", "missing"]), st.sampled_from([anchors.MOST, 40]))
def test_neither_order_of_items_nor_of_views_matters(seed, kind, most):
    rng = np.random.default_rng(seed)
    shuffle = rng.permutation(150)
    place = np.argsort(shuffle)
    views = HOLED if kind == "missing" else VIEWS
    scores = np.round(SCORES, 1)  # with equal predictions
    items = np.arange(0, 150, 5)
    labels, moved = (None if kind == "none" else Values(index, TRUTH[items]) for index in (items, place[items]))
    names = [list(views)[k] for k in rng.permutation(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchors, "MOST", most)
        expected = tupi.denoise(scores, views, labels=labels)
        found = tupi.denoise(scores[shuffle], {name: views[name][shuffle] for name in names}, labels=moved)
    assert expected.changed
    np.testing.assert_allclose(found.predictions, expected.predictions[shuffle], atol=1e-6)


def test_the_order_of_items_does_not_matter_where_many_share_their_features():
    """Grades and counts: dozens of anchors are equally far, and more of them than an item may have."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=600)
    views = {f"grade{k}": 0.3 * np.round(truth + 0.5 * rng.normal(size=600))[:, None] + 0.1 for k in range(3)}
    scores, shuffle = truth + 0.6 * rng.normal(size=600), rng.permutation(600)
    expected = tupi.denoise(scores, views)
    found = tupi.denoise(scores[shuffle], {name: view[shuffle] for name, view in views.items()})
    assert expected.changed
    np.testing.assert_allclose(found.predictions, expected.predictions[shuffle], atol=1e-6)
