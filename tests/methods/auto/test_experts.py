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
from tupi.methods.auto import fitting, trees
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.fitting import fit_values, with_trees
from tupi.methods.auto.guard import mean_shares
from tupi.methods.auto.hypotheses import AtLabels, averaged, hypotheses
from tupi.methods.auto.items import scale_of
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.trees import EXPECTED_OF_TREES, LEAST_FOR_ORDER, LEAST_FOR_TREES, LEAST_OF_TREES

TRUTH, SCORES, VIEWS = make_problem_arrays(200)
ROWS = np.arange(3, 200, 6)


def setting(scores=SCORES, views=VIEWS, truth=TRUTH, rows=ROWS, sign=1.0):
    """Return the label-free answer, what values make of all hypotheses, and the values."""
    base = label_free_of(Prepared(make_problem(scores, views)))
    z = sign * (truth[rows] - truth[rows].mean()) / truth[rows].std()
    return base, fit_values(base, pick_features(base, rows), z), z


def table(n=400, seed=0):
    """A plain table: the target is linear in columns, most of which the predictor does not know."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    truth = X @ np.linspace(0.2, 1.2, 12)
    scores = X[:, :4] @ np.linspace(0.2, 0.5, 4) + 0.6 * rng.normal(size=n)
    return truth, scores, {"a": X[:, :6], "b": X[:, 6:]}


def test_left_out_predictions_do_not_see_their_own_label():
    """Nor does the share by which they are combined: a label changed hugely leaves its own prediction where it was."""
    _, fused, z = setting()
    columns, shared = fused.process.at_labels[0], fused.kernels.within()
    top = int(np.argmax(z))
    changed = z.copy()
    changed[top] += 100.0

    def combined(labels):
        parts = []
        for scale in (1.0, 0.1):  # two different sets of hypotheses
            known = AtLabels(scale * columns, shared, np.ones((len(z), len(z))), np.ones(len(z)), labels)
            tried = hypotheses(columns, 0.4, len(fused.kernels.tables), related=True, rest=True)
            parts.append(averaged(known, tried)[2])
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


def test_the_combination_lies_between_its_parts():
    truth, scores, views = steps()
    base, fused, z = setting(scores, views, truth, np.arange(0, 400, 4))
    found, items = with_trees(fused, z), everyone(base)
    np.testing.assert_array_equal(found(items)[1], fused(items)[1])
    np.testing.assert_allclose(found.left_out.differences, -found.left_out.differences.T)
    dealt = np.arange(len(z)) % fitting.FOLDS
    trees = fitting.trees.left_out(fused.seen_by_trees(fused.labelled), z, dealt)[:, None]
    either = np.array([fused.left_out.held_out, trees])
    assert (found.left_out.held_out >= either.min(axis=0) - 1e-9).all()
    assert (found.left_out.held_out <= either.max(axis=0) + 1e-9).all()
    assert found.plain_share == pytest.approx((1 - found.forest_share) * fused.plain_share)


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


@pytest.mark.parametrize("with_answer", [False, True])
def test_the_combination_with_trees_is_what_it_says(with_answer):
    truth, scores, views = steps()
    base, fused, z = setting(scores, views, truth, np.arange(0, 400, 4))
    found = with_trees(fused, z, with_answer=with_answer)
    assert found.forest is not None
    items = everyone(base)
    known = [np.einsum("k,nk->n", base.columns[0, k], items.base[:, 0]) for k in (0, 2) if with_answer]
    by_trees = found.forest(np.column_stack([*items.views, items.base[:, 0, 1], *known]).astype(np.float32))[:, None]
    expected = (1 - found.forest_share) * fused(items)[0] + found.forest_share * by_trees
    np.testing.assert_allclose(found(items)[0], expected, atol=1e-9)


def test_trees_look_at_the_label_free_answer_where_it_may_come_back():
    rng = np.random.default_rng(0)
    known = rng.normal(size=400)
    looks = {f"look{k}": np.column_stack([known, known**2]) + 0.4 * rng.normal(size=(400, 2)) for k in range(4)}
    for moves, truth, scores, views in ((True, known, known + 0.7 * rng.normal(size=400), looks), (False, *steps())):
        prepared, rows = Prepared(make_problem(scores, views)), np.arange(0, 400, 4)
        base = label_free_of(prepared)
        assert base.moves == moves
        fused = fitting.fitted(base, Values(rows, truth[rows]), scale_of(prepared)).fused
        assert len(fused.forest.signs) == sum(X.shape[1] for X in fused.labelled.views) + (3 if moves else 1)


def test_few_labels_and_labels_with_weights_grow_no_trees():
    truth, scores, views = steps()
    _, fused, z = setting(scores, views, truth, np.arange(LEAST_FOR_TREES))
    assert with_trees(fused, z).forest is not None
    assert with_trees(replace(fused, weights=np.ones(len(z))), z).forest is None
    _, fused, z = setting(scores, views, truth, np.arange(LEAST_FOR_TREES - 1))
    assert with_trees(fused, z) is fused
    _, fused, z = setting(scores, {"copy": scores[:, None]}, truth, np.arange(LEAST_FOR_TREES))
    assert with_trees(fused, z) is fused


@pytest.mark.parametrize("labels", [LEAST_FOR_ORDER, 20, 30])
def test_rankings_grow_trees_of_few_labels_and_expect_less_of_them(labels):
    truth, scores, views = steps()
    _, fused, z = setting(scores, views, truth, np.arange(1, 400, 400 // labels)[:labels])
    found = with_trees(fused, z, ranked=True)
    by_trees = trees.left_out(fused.seen_by_trees(fused.labelled), z, np.arange(labels) % 5)
    errors = np.array([z - fused.left_out.held_out[:, 0], z - by_trees])
    few = labels / LEAST_FOR_TREES
    expected = mean_shares(errors, EXPECTED_OF_TREES * few, 1 / few)[1]
    assert expected > LEAST_OF_TREES
    assert found.forest_share == pytest.approx(expected)
    assert found.forest is not None
    assert with_trees(fused, z) is fused  # values with units take more labels


def test_still_fewer_labels_grow_no_trees_for_rankings_either():
    truth, scores, views = steps()
    _, fused, z = setting(scores, views, truth, np.arange(LEAST_FOR_ORDER - 1))
    assert with_trees(fused, z, ranked=True) is fused


@pytest.mark.parametrize(("task", "grown"), [("ranking", True), ("classification", True), ("regression", False)])
def test_tasks_that_ask_for_an_order_grow_trees_of_few_labels(task, grown):
    truth, scores, views = steps()
    high = (truth > np.median(truth)).astype(float)
    labels = Values(np.arange(30), high[:30])
    found = tupi.denoise(1 / (1 + np.exp(-scores)), views, labels=labels, task=task)
    assert (found.params["trees_share"] > 0) == grown


def test_trees_are_judged_by_whole_groups(monkeypatch):
    """Results of one query are alike: whoever saw some of them knows too much of the others."""
    truth, scores, views = steps()
    folds = []

    def watched(columns, z, fold):
        folds.append(fold)
        return np.zeros(len(z))

    monkeypatch.setattr(fitting.trees, "left_out", watched)
    _, fused, z = setting(scores, views, truth, np.arange(60))
    groups = np.random.default_rng(0).integers(0, 12, 60)
    with_trees(replace(fused, groups=groups), z)
    assert all(len(set(folds[0][groups == one])) == 1 for one in range(12))
    assert len(set(folds[0])) > 1
    with_trees(replace(fused, groups=groups % 2), z)  # of two groups, none can be left out
    assert len(set(folds[1][groups % 2 == 0])) > 1
