"""Trees beside the process that learns classes; clouds, which are mixed in after them, are in `test_with_clouds.py`."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax

import tupi
from tests.methods.auto.dense import everyone
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto import trees
from tupi.methods.auto.answers import LABEL_FREE, NEW, correlation
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.class_answers import POWERS, SHARPNESS_SD, best_power
from tupi.methods.auto.class_fitting import fit_classes, with_class_trees
from tupi.methods.auto.fitting import fitted
from tupi.methods.auto.guard import mean_share_of_logs, shares_by
from tupi.methods.auto.items import scale_of
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.process import FOLDS
from tupi.methods.auto.trees import EXPECTED_OF_TREES, LEAST_FOR_TREES


def boxes(n=900, seed=0, n_classes=4):
    """Classes by thresholds of columns with long tails, which no sum of smooth functions knows; a weak predictor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(n, 8))
    truth = 2 * (X[:, 0] > 0) + (X[:, 5] > 0)
    logits = 0.6 * np.eye(n_classes)[truth] + rng.normal(size=(n, n_classes))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return chances, truth, {"a": X[:, :4], "b": X[:, 4:]}


def answered(labels, chances, views, truth):
    prepared = Prepared(make_problem(chances, views, Values(labels, truth[labels]), "classification"))
    return fitted(label_free_of(prepared), Values(labels, truth[labels]), scale_of(prepared))


def parts_of(answer):
    """Return what the process alone says, and left-out predictions by trees, straight from the definitions."""
    problem, chances, classes = answer.problem, answer.chances, answer.classes
    z = (np.eye(len(chances.unit))[classes] - chances.frequency) / chances.unit
    process = fit_classes(problem, pick_features(problem, answer.rows), z, chances)
    named = list(dict.fromkeys(classes.tolist()))  # in the order in which labels name them
    cards = [place for one in named for place in np.flatnonzero(classes == one)]
    fold = np.empty(len(classes), int)
    fold[cards] = np.arange(len(classes)) % FOLDS
    columns = process.seen_by_trees(process.labelled)
    held_out = np.empty_like(z)
    for k in range(FOLDS):
        others = fold != k
        members = np.eye(len(chances.unit))[classes[others]] / chances.unit
        forest = trees.grow(columns[others], 1 / chances.unit[classes[others]], 1, classes[others], len(chances.unit))
        weights = forest.weights(columns[~others], columns[others])
        held_out[~others] = weights @ (members - chances.frequency / chances.unit)
    return z, process, held_out


def test_what_is_said_is_a_mean_of_the_process_and_of_trees(without_clouds):
    chances, truth, views = boxes()
    answer = answered(np.arange(120), chances, views, truth)
    fused, items = answer.fused, everyone(answer.problem)
    _, process, _ = parts_of(answer)
    labels = (np.eye(4)[answer.classes] - answer.chances.frequency) / answer.chances.unit
    weights = fused.forest.weights(fused.seen_by_trees(items), fused.seen_by_trees(fused.labelled))
    expected = (1 - fused.forest_share) * process.said(items) + fused.forest_share * weights @ labels
    np.testing.assert_allclose(fused.said(items), expected, atol=1e-9)
    assert 0.3 < fused.forest_share < 1


def test_shares_are_chosen_by_labels_that_were_left_out_and_judge_none_of_their_own(without_clouds):
    chances, truth, views = boxes()
    answer = answered(np.arange(60), chances, views, truth)
    z, process, held_out = parts_of(answer)
    unit = answer.chances.unit
    errors = np.array([unit * (z - one) for one in (process.left_out.held_out, held_out)]) / np.sqrt(np.sum(unit**2))
    products = np.array([[np.sum(a * b) for b in errors] for a in errors])
    assert answer.fused.forest_share == pytest.approx(shares_by(products, 60, EXPECTED_OF_TREES)[1])
    for i in (0, 17, 59):
        others = np.delete(errors, i, axis=1)
        share = shares_by(np.einsum("aic,bic->ab", others, others), 59, EXPECTED_OF_TREES)[1]
        expected = (1 - share) * process.left_out.held_out[i] + share * held_out[i]
        np.testing.assert_allclose(answer.fused.left_out.held_out[i], expected, atol=1e-9)


def test_thresholds_are_found():
    gains = []
    for seed in range(3):
        chances, truth, views = boxes(seed=seed)
        found = tupi.denoise(chances, views, labels=Values(np.arange(150), truth[:150]), task="classification")
        assert found.params["trees_share"] > 0.3
        assert "by decision trees" in found.notes[0]
        alone = with_process_alone(chances, views, truth)
        right = [np.mean(one[150:].argmax(axis=1) == truth[150:]) for one in (found.predictions, alone)]
        gains.append(right[0] - right[1])
    assert min(gains) > 0
    assert np.mean(gains) > 0.05


def with_process_alone(chances, views, truth):
    answer = answered(np.arange(150), chances, views, truth)
    _, process, _ = parts_of(answer)
    return answer.chances.frequency + answer.chances.unit * process.said(everyone(answer.problem))


def test_a_class_without_labels_is_left_to_the_process(without_clouds):
    chances, truth, views = boxes()
    labels = np.flatnonzero(truth[:200] != 2)[:80]
    answer = answered(labels, chances, views, truth)
    assert answer.fused.forest_share > 0.1
    _, process, _ = parts_of(answer)
    items = everyone(answer.problem)
    together, alone = answer.fused.said(items), process.said(items)
    np.testing.assert_array_equal(together[:, 2], alone[:, 2])
    assert not np.allclose(together[:, 1], alone[:, 1])
    np.testing.assert_array_equal(answer.fused.left_out.held_out[:, 2], process.left_out.held_out[:, 2])


def test_the_only_label_of_a_class_is_judged_as_if_there_were_none(without_clouds):
    chances, truth, views = boxes()
    one, others = np.flatnonzero(truth == 2)[0], np.flatnonzero(truth[:200] != 2)[:60]
    answer = answered(np.append(others, one), chances, views, truth)
    _, process, _ = parts_of(answer)
    place = int(np.flatnonzero(answer.classes == 2)[0])
    assert answer.fused.left_out.held_out[place, 2] == process.left_out.held_out[place, 2]


@pytest.mark.parametrize("labels", [LEAST_FOR_TREES - 1, LEAST_FOR_TREES])
def test_few_labels_grow_no_trees(labels):
    chances, truth, views = boxes()
    answer = answered(np.arange(labels), chances, views, truth)
    assert (answer.fused.forest is not None) == (labels >= LEAST_FOR_TREES)


def test_labels_with_weights_grow_no_trees():
    chances, truth, views = boxes()
    answer = answered(np.arange(60), chances, views, truth)
    _, process, _ = parts_of(answer)
    weighed = replace(process, weights=np.ones(60))
    assert with_class_trees(weighed, answer.classes, answer.chances) is weighed


def test_shuffled_classes_agree_as_much_as_so_many_values_would():
    """The size of an agreement is that of values whose correlation varies as much if labels are shuffled."""
    chances, truth, views = boxes()
    answer = answered(np.arange(60), chances, views, truth)
    size = answer.agreement()[1]
    said, rng = answer.chances.unit * answer.fused.left_out.held_out, np.random.default_rng(0)
    members = np.eye(4)[answer.classes] - answer.chances.frequency
    members, said = members - members.mean(axis=0), said - said.mean(axis=0)
    found = [correlation(said, members[rng.permutation(60)]) for _ in range(4000)]
    assert 1 / np.var(found) == pytest.approx(size - 1, rel=0.1)
    assert size > 100  # of four classes nearly three times as many as there are labels


def test_left_out_classes_are_not_seen_by_what_judges_them():
    """A label that is changed changes its own left-out prediction only through how much of trees others take."""
    chances, truth, views = boxes()
    before = answered(np.arange(60), chances, views, truth)
    changed = truth.copy()
    changed[before.rows[5]] = (truth[before.rows[5]] + 1) % 4
    after = answered(np.arange(60), chances, views, changed)
    own, others = (np.abs(after.left_out(NEW) - before.left_out(NEW))[rows].max() for rows in ([5], np.arange(6, 60)))
    assert own < 0.25
    assert others > 0


def test_pulls_of_labels_add_up_to_what_they_say_of_a_class():
    chances, truth, views = boxes()
    found = tupi.denoise(chances, views, Values(np.arange(80), truth[:80]), task="classification", guard=False)
    explanation = found.origin.fit.moved.__self__
    answer = explanation.answer
    assert answer.fused.forest_share > 0.1
    for item in (100, 101):
        target = explanation.moved(item).target
        features = pick_features(answer.problem, np.array([item]))
        added = (answer.fused.said(features) - answer.chances(features.base))[0, target] * answer.chances.unit[target]
        assert found.reasons(item).neighbours["pull"].sum() == pytest.approx(added, abs=1e-8)


def test_what_labels_taught_is_saved(tmp_path):
    chances, truth, views = boxes()
    told = Values(np.arange(80), truth[:80])
    found = tupi.denoise(chances[:600], {name: one[:600] for name, one in views.items()}, told, task="classification")
    assert found.params["trees_share"] > 0.1
    found.save(tmp_path / "run.npz")
    later = chances[600:], {name: one[600:] for name, one in views.items()}
    np.testing.assert_array_equal(tupi.load(tmp_path / "run.npz").predict(*later), found.predict(*later))


def test_how_much_to_take_is_what_makes_left_out_classes_likely_and_accuracy_more_likely_to_rise():
    chances, truth, views = boxes()
    answer = answered(np.arange(60), chances, views, truth)
    logs = np.log(chances[answer.rows])
    powers = [
        (
            log_softmax(power * logs, axis=1)[np.arange(60), answer.classes].sum()
            - 0.5 * (np.log(power) / SHARPNESS_SD) ** 2
        )
        for power in POWERS
    ]
    before = log_softmax(POWERS[int(np.argmax(powers))] * logs, axis=1)
    new = np.log(answer.left_out(NEW))
    assert answer.problem.promise == 0  # of views that say nothing of the predictions a little is expected
    expected = mean_share_of_logs(before, new, answer.classes, 0.1, 3.0)
    assert answer.share(NEW, 0.96) == pytest.approx(0.96 * expected, abs=1e-6)
    assert answer.share(NEW, 0.94) == 0
    assert answer.share(NEW, 1.0) > answer.share(LABEL_FREE, 1.0)


def test_probabilities_that_are_too_sure_become_less_so():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(4000, 3))
    classes = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    assert best_power(4 * logits, classes, POWERS) == 0.25
    assert best_power(0.5 * logits, classes, POWERS) == 2.0
    assert best_power(4 * logits[:2], classes[:2], POWERS) > 0.25  # two labels know little of that


def test_mere_scores_of_classes_are_taken_as_far_as_a_gain_is_likely():
    chances, truth, views = boxes()
    answer = answered(np.arange(60), 3 * np.log(chances) + 100, views, truth)
    assert not answer.scale.probabilities
    assert answer.problem.promise == 0
    assert answer.share(NEW, 0.94) == 0
    assert 0.7 < answer.share(NEW, 0.97) <= 1


def test_the_order_of_classes_means_nothing():
    chances, truth, views = boxes(400)
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    one = tupi.denoise(chances, views, Values(np.arange(60), truth[:60]), task="classification")
    other = tupi.denoise(chances[:, order], views, Values(np.arange(60), place[truth[:60]]), task="classification")
    assert one.params["trees_share"] > 0.1
    np.testing.assert_allclose(other.predictions[:, place], one.predictions, atol=1e-6)
