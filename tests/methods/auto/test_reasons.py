"""Why items moved: parts that add up, by all orders of the views, and pulls of labelled items."""

import pickle
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit

import tupi
from tests.conftest import group_chances, make_group_arrays, make_problem_arrays
from tupi.methods.auto import reasons
from tupi.methods.auto.process import JITTER
from tupi.results.report import render
from tupi.runtime.errors import InputError

N, HELD = 200, 40
TRUTH, SCORES, VIEWS = make_problem_arrays(N)
THIRDS = np.digitize(TRUTH, [-0.5, 0.5])
CLASS_SCORES = np.column_stack([-SCORES, -np.abs(SCORES), SCORES])
CHANCES = np.exp(CLASS_SCORES) / np.exp(CLASS_SCORES).sum(axis=1, keepdims=True)
ENDS = np.random.default_rng(0).permutation(N)[:120].reshape(2, 60)


def values(of):
    return tupi.Values(range(HELD), of[:HELD])


CASES = {
    "ranking": (SCORES, values(TRUTH), "ranking"),
    "comparisons": (SCORES, tupi.Pairs(*np.where(TRUTH[ENDS[0]] > TRUTH[ENDS[1]], ENDS, ENDS[::-1])), "ranking"),
    "ranking alone": (SCORES, None, "ranking"),
    "regression": (SCORES, values(TRUTH), "regression"),
    "regression alone": (SCORES, None, "regression"),
    "two classes": (1 / (1 + np.exp(-SCORES)), values((TRUTH > 0).astype(int)), "classification"),
    "two classes alone": (1 / (1 + np.exp(-SCORES)), None, "classification"),
    "classes": (CHANCES, values(THIRDS), "classification"),
    "classes alone": (CHANCES, None, "classification"),
    "class scores": (CLASS_SCORES, values(THIRDS), "classification"),
}


def told(result, item, target):
    """Return the prediction of an item before and after in the units that are explained."""
    pair = result.initial[item], result.predictions[item]
    if result.initial.ndim == 2:
        pair = pair[0][target], pair[1][target]
    chances = result.task == "classification" and result.initial.min() >= 0
    return [float(logit(one)) if chances else float(one) for one in pair]


@pytest.mark.parametrize("case", CASES)
def test_parts_add_up_to_the_change(case):
    predictions, labels, task = CASES[case]
    result = tupi.denoise(predictions, VIEWS, labels, task=task)
    assert result.changed
    explained = result.origin.fit.moved
    for item in (0, 5, 150):
        found = result.reasons(item)
        assert list(found.parts["part"]) == ["own prediction", *VIEWS]
        np.testing.assert_allclose(found.parts["amount"].sum(), found.change, atol=1e-8)
        before, after = told(result, item, explained(item).target)
        np.testing.assert_allclose([found.before, found.after], [before, after], atol=1e-8)
        assert found.parts["amount"].abs().max() > 0
        if "class" not in case or case == "two classes":  # pulls on more classes are in shares of them
            np.testing.assert_allclose(found.neighbours["pull"].sum(), found.parts["labels"].sum(), atol=1e-8)


def test_what_is_said_of_a_whole_item_is_what_came_back(monkeypatch):
    """The parts would add up whatever is said of the last set, since what came back takes its place."""
    seen = []
    said = reasons.Explanation._said
    monkeypatch.setattr(reasons.Explanation, "_said", lambda *some: seen.append(said(*some).copy()) or seen[-1].copy())
    for predictions, labels, task in CASES.values():
        found = tupi.denoise(predictions, VIEWS, labels, task=task).reasons(7)
        np.testing.assert_allclose(seen[-1][-1, 0], found.after, atol=1e-8)


@pytest.mark.parametrize("case", ["ranking", "classes", "regression alone"])
def test_views_get_what_they_add_over_all_orders(case):
    predictions, labels, task = CASES[case]
    result = tupi.denoise(predictions, VIEWS, labels, task=task)
    found = result.reasons(3)
    explanation = result.origin.fit.moved.__self__
    columns = [view.rows(np.array([3])) for view in result.origin.prepared.problem.views]

    def said(known):
        present = np.array([[k in known for k in range(3)], [True] * 3])
        rows = reasons.Variants(columns, present)
        return explanation._said(3, rows, explanation.moved(3).target)[0, 0] if len(known) < 3 else found.after

    expected = np.zeros(3)
    for order in permutations(range(3)):
        for k, view in enumerate(order):
            expected[view] += (said(order[: k + 1]) - said(order[:k])) / 6
    used = [k for k, name in enumerate(VIEWS) if case != "regression alone" or name != "junk"]
    np.testing.assert_allclose(found.parts["amount"][1:].to_numpy()[used], expected[used], atol=1e-8)
    np.testing.assert_allclose(found.parts["amount"][0], said(()) - found.before, atol=1e-8)


def test_an_average_leaves_the_item_itself_out():
    """With one view less than known, as with all, an item is no neighbour of its own."""
    result = tupi.denoise(SCORES, VIEWS)
    explanation = result.origin.fit.moved.__self__
    base = explanation.base
    near, item = base.home.fetched(base.near)[0], 11
    Z = np.zeros((N, len(base.graph.sizes)))
    for row in range(N):
        np.add.at(Z[row], near.numbers[row], near.weights[row].astype(float))
    W = Z @ (Z / base.graph.sizes).T
    f = base.home.joined(base.base)[:, 0, 0]
    once = (W @ f - np.diag(W) * f) / (1 - np.diag(W))
    other = 12  # a variant that stands where another item does
    whole = reasons.pick_features(base, np.array([item]))
    both = near[np.array([other, item])]
    found = explanation._averages(whole, both, np.full((2, 1), f[item]))[:, 0]
    weights = np.delete(W[other], item)
    np.testing.assert_allclose(found[0], weights @ np.delete(once, item) / weights.sum(), atol=1e-6)
    np.testing.assert_allclose(found[1], base.home.joined(base.base)[item, 0, 1], atol=1e-12)


def test_pulls_are_what_changes_with_a_label():
    """The process is linear in the residuals: a label's pull is its weight times what it is beyond its expectation."""
    result = tupi.denoise(SCORES, VIEWS, CASES["regression"][1], task="regression", guard=False)
    explanation = result.origin.fit.moved.__self__
    found = result.reasons(90)
    fused = explanation.answer.fused
    whole = reasons.pick_features(explanation.base, np.array([90]))
    z = (TRUTH[explanation.answer.rows] - TRUTH[:HELD].mean()) / TRUTH[:HELD].std()
    expected, shared = np.zeros(HELD), list(fused.kernels.within())
    h = fused.average.hypotheses
    each = zip(h.shares, h.slopes, h.heights, h.variances, h.noise, h.shifts, strict=True)
    for number, (share, slopes, height, v, noise, shift) in enumerate(each):
        process = replace(fused.process, v=v, constant=shift)
        K = process.covariances(fused.labelled, shared, 0) + (noise + JITTER) * np.eye(HELD)
        mean = slopes @ (fused.process.at_labels[0] - fused.process.at_labels[0].mean(axis=1, keepdims=True))
        row = process.covariances(whole, fused.kernels.shared(whole), 0)[0]
        if h.subset[number] >= 0:  # columns that lead
            block, first, end = fused.average.subsets.where[h.subset[number]]
            X, x = (items.views[block][:, first:end] for items in (fused.labelled, whole))
            scale = h.of_subset[number] / np.mean(np.sum(X**2, axis=1))
            K, row = K + scale * X @ X.T, row + scale * X @ x[0]
        expected += share * np.linalg.solve(K, row) * (z - mean - height) * TRUTH[:HELD].std()
    pulls = found.neighbours.set_index("item")["pull"]
    np.testing.assert_allclose(pulls[explanation.answer.rows].to_numpy(), expected, atol=1e-8)
    assert list(found.neighbours["label"]) == [TRUTH[k] for k in found.neighbours["item"]]
    assert found.neighbours["alike"].is_monotonic_decreasing
    own = result.reasons(4).neighbours.iloc[0]
    assert own["item"] == 4
    np.testing.assert_allclose(own["alike"], 1.0)


@pytest.mark.parametrize("case", ["ranking", "regression", "classes"])
def test_labels_that_repeat_pull_through_clouds_too(case):
    """An item in a cloud is of its labels; of as much as that is what the others say, and so are their pulls."""
    truth, predictions, views = make_group_arrays()
    task, known = case, truth[:50]
    if case == "classes":
        task, known, predictions = "classification", known.astype(int), group_chances(predictions)
    result = tupi.denoise(predictions, views, tupi.Values(range(50), known), task=task, guard=False)
    explanation = result.origin.fit.moved.__self__
    answer, fused = explanation.answer, explanation.answer.fused
    assert fused.clouds_share > 0.3
    assert fused.forest_share > 0
    without = replace(answer, fused=replace(fused, clouds=None, clouds_share=0.0))
    for item in (3, 101, 170):
        found, target = result.reasons(item), explanation.moved(item).target
        np.testing.assert_allclose(found.parts["amount"].sum(), found.change, atol=1e-8)
        whole = reasons.pick_features(explanation.base, np.array([item]))
        output = 0 if target is None else target
        by_mean = explanation._mean(whole.base)[0, output]
        unit = explanation._unit(answer, explanation.blend, output)
        pulls = found.neighbours.set_index("item")["pull"]
        np.testing.assert_allclose(pulls.sum(), unit * (fused.said(whole)[0, output] - by_mean), atol=1e-8)
        if case != "classes":
            np.testing.assert_allclose(pulls.sum(), found.parts["labels"].sum(), atol=1e-8)
        others = replace(explanation, answer=without)._neighbours(item, target)
        by_others = others[2] * unit / explanation._unit(without, explanation.blend, output)
        chances = fused.clouds.chances(fused.seen_by_trees(whole, with_answer=False))[0]
        for row, pull in zip(others[0], by_others, strict=True):
            label = explanation._labels(output)[answer.rows == row][0]
            cloud = sorted(set(known)).index(truth[row])
            weight = chances[cloud] / np.sum(known == truth[row])
            expected = (1 - fused.clouds_share * (1 - chances[-1])) * pull
            expected += unit * fused.clouds_share * weight * (label - by_mean)
            np.testing.assert_allclose(pulls[row], expected, atol=1e-8)


def test_more_views_than_can_be_tried_in_all_orders_add_up_too(monkeypatch):
    exact = tupi.denoise(SCORES, VIEWS, CASES["ranking"][1])
    before = exact.reasons(8).parts
    monkeypatch.setattr(reasons, "EXACT", 1)
    found = exact.reasons(8)
    np.testing.assert_allclose(found.parts["amount"].sum(), found.change, atol=1e-8)
    np.testing.assert_allclose(found.parts["amount"], before["amount"], atol=0.1 * before["amount"].abs().sum())


def test_items_and_views_that_are_not_there_have_no_part():
    gaps = {name: columns.copy() for name, columns in VIEWS.items()}
    gaps["near"][[3, 9]] = np.nan
    for columns in gaps.values():
        columns[9] = np.nan
    result = tupi.denoise(SCORES, gaps, CASES["ranking"][1])
    parts = result.reasons(3).parts.set_index("part")["amount"]
    assert parts["near"] == 0
    assert parts["bent"] != 0
    np.testing.assert_allclose(parts.sum(), result.predictions[3] - result.initial[3], atol=1e-8)
    nothing = result.reasons(9)
    assert nothing.change == 0
    assert not nothing.parts["amount"].any()
    assert nothing.sentence == f"The score of item 9 stayed at {SCORES[9]:.4g}."


@pytest.mark.parametrize("case", ["two classes", "classes"])
def test_classes_are_named_as_classes(case):
    """The sentence was about "the log odds of 1 of item 3"."""
    scores, labels, task = CASES[case]
    assert repr(tupi.denoise(scores, VIEWS, labels, task=task).reasons(3)).startswith("The log odds of class ")


def test_what_stayed_has_no_parts():
    junk = np.random.default_rng(1).normal(size=(N, 2))
    result = tupi.denoise(SCORES, {"junk": junk}, CASES["ranking"][1])
    assert not result.changed
    found = result.reasons(2)
    assert not found.parts[["amount", "labels"]].any(axis=None)
    assert len(found.neighbours) == 0


def test_items_are_named_by_id_or_position():
    named = pd.Series(SCORES, index=[f"i{k}" for k in range(N)])
    result = tupi.denoise(named, VIEWS, pd.Series(TRUTH[:HELD], index=named.index[:HELD]))
    by_id, by_position = result.reasons("i5"), result.reasons(5)
    assert by_id.item == by_position.item == "i5"
    pd.testing.assert_frame_equal(by_id.parts, by_position.parts)
    assert by_id.neighbours["item"][0] == "i5"
    assert repr(by_id).startswith("The score of item i5 went from")
    assert f". Its own label, {TRUTH[5]:.4g}, pulled by " in repr(by_id)
    assert ". The nearest labelled item is i" in repr(result.reasons(HELD))
    numbered = tupi.denoise(pd.Series(SCORES, index=np.arange(N) + 1000), VIEWS)
    assert numbered.reasons(1005).item == 1005
    for wrong, accepted in (
        (lambda: numbered.reasons(5), "accepted: one of the ids"),
        (lambda: result.reasons("nobody"), "one of the ids, or a position from 0 to 199"),
        (lambda: result.reasons(N), "item: found 200"),
        (lambda: result.reasons([1]), "item: found"),
        (lambda: result.reasons(True), "item: found True"),
    ):
        with pytest.raises(InputError, match=accepted):
            wrong()


def test_who_cannot_tell_says_who_can():
    with pytest.raises(InputError, match=r"reasons: method 'ridge' does not tell.*'auto', 'fuse' and 'smooth'"):
        tupi.denoise(SCORES, VIEWS, CASES["ranking"][1], method="ridge").reasons(0)
    with pytest.raises(InputError, match="reasons: found a result that was loaded or copied"):
        pickle.loads(pickle.dumps(tupi.denoise(SCORES, VIEWS))).reasons(0)


def test_the_report_says_why_the_biggest_movers_moved():
    html = render(tupi.denoise(SCORES, VIEWS, CASES["ranking"][1]))
    assert "main reasons" in html
    assert "own prediction +" in html
