import numpy as np
from scipy.special import softmax

import tupi
from tests.conftest import make_problem_arrays
from tests.methods.auto.dense import everyone, whole_kernel
from tests.methods.rows import class_problem
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.class_answers import CLASS_SHIFT, label_free_chances
from tupi.methods.auto.comparisons import fit_pairs
from tupi.methods.auto.fitting import fit_values, fitted, most_labels
from tupi.methods.auto.items import RHO, Scale
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.preferences import Answers
from tupi.methods.auto.process import JITTER

TRUTH, SCORES, VIEWS = make_problem_arrays(120)
BASE = label_free_of(Prepared(make_problem(SCORES, VIEWS)))
ITEMS = everyone(BASE)
F = ITEMS.base[:, :, 1]


def standard(columns):
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


def label_free_mean(rows, factor=1.0):
    """Return the label-free answer with the slope that is expected, at all items."""
    average = ITEMS.base[:, :, 2] - ITEMS.base[:, :, 2].mean(axis=0)
    average *= (average * F).sum(axis=0) / (average**2).sum(axis=0)
    answer = standard(average + BASE.share.c * (F - average))
    return factor * (answer - answer[rows].mean(axis=0)) / np.sqrt(answer[rows].var(axis=0) + 1 / RHO**2 - 1)


def test_variances_are_those_of_a_dense_gaussian_process():
    """Given the mean of all hypotheses' variances: k - K_x (K + noise)^-1 K_x^T; the mean function is lf's."""
    rows = BASE.order[3:120:4]
    found = fit_values(BASE, pick_features(BASE, rows), standard(TRUTH[rows]))
    K = whole_kernel(found, ITEMS)
    inside = K[np.ix_(rows, rows)] + (found.noise + JITTER) * np.eye(len(rows))
    g, variance = found(ITEMS)
    np.testing.assert_allclose(variance, np.diag(K - K[:, rows] @ np.linalg.solve(inside, K[rows])), atol=1e-4)
    np.testing.assert_allclose(found.process.mean(ITEMS.base), label_free_mean(rows), atol=1e-6)
    some = np.array([100, 4, 63])
    np.testing.assert_allclose(found(ITEMS[some])[0], g[some], atol=1e-9)  # what is said of an item is its own function
    np.testing.assert_allclose(found(ITEMS[some])[1], variance[some], atol=1e-9)


def test_the_noise_of_a_value_is_less_by_its_weight():
    """The same dense process, with noise / weight in place of the noise; even weights change nothing."""
    rows = BASE.order[3:120:4]
    z, weights = standard(TRUTH[rows]), np.linspace(0.2, 3.0, len(rows))
    found = fit_values(BASE, pick_features(BASE, rows), z, weights=weights)
    K = whole_kernel(found, ITEMS)
    inside = K[np.ix_(rows, rows)] + np.diag(found.noise / weights + JITTER)
    variance = found(ITEMS)[1]
    np.testing.assert_allclose(variance, np.diag(K - K[:, rows] @ np.linalg.solve(inside, K[rows])), atol=1e-4)
    without = fit_values(BASE, pick_features(BASE, rows), z)
    even = fit_values(BASE, pick_features(BASE, rows), z, weights=np.ones(len(rows)))
    np.testing.assert_allclose(even(ITEMS)[0], without(ITEMS)[0], atol=1e-9)
    assert not np.allclose(found(ITEMS)[0], without(ITEMS)[0], atol=1e-3)


def test_few_labels_against_the_answer_do_not_turn_it_over():
    rows = BASE.order[5:120:10]
    found = fit_values(BASE, pick_features(BASE, rows), standard(-F[rows, 0]))
    assert (found.average.hypotheses.slopes >= 0).all()


def test_many_labels_against_the_answer_turn_it_over():
    rows = BASE.order[::2]
    found = fit_values(BASE, pick_features(BASE, rows), standard(-F[rows, 0]))
    assert np.corrcoef(found(ITEMS)[0][:, 0], F[:, 0])[0, 1] < -0.8


def test_classes_are_fitted_around_label_free_probabilities(without_clouds):
    """One-vs-rest: each class with its own columns, all with the same variances; the mean of their variances.

    The labels are too few for trees, which `test_class_trees.py` is about; `test_with_clouds.py` is about clouds.
    """
    chances, views, truth = class_problem(120)
    labels = Values(np.arange(0, 120, 4), truth[::4])
    prepared = Prepared(make_problem(chances, views, labels, "classification"))
    base = label_free_of(prepared)
    scale = Scale("classification", prepared.scale, prepared.shift, True)
    answer = fitted(base, labels, scale)
    rows = answer.rows
    items, found = everyone(base), label_free_chances(base, scale)
    average = items.base[:, :, 2] - items.base[:, :, 2].mean(axis=0)
    average *= (average * prepared.f).sum(axis=0) / (average**2).sum(axis=0)
    shares = softmax((average + base.share.c * (prepared.f - average)) * prepared.scale + prepared.shift, axis=1)
    frequency = shares.mean(axis=0)
    unit = np.sqrt(frequency * (1 - frequency))
    np.testing.assert_allclose(found.frequency, frequency, atol=1e-9)
    mean, z = (shares - frequency) / unit, (np.eye(3)[truth[rows].astype(int)] - frequency) / unit
    g, variance = answer.fused(items)
    assert answer.fused.process.constant == CLASS_SHIFT
    variances = []
    for output in range(3):
        K = whole_kernel(answer.fused, items, output)
        inside = K[np.ix_(rows, rows)] + (answer.fused.noise + JITTER) * np.eye(len(rows))
        expected = mean[:, output] + K[:, rows] @ np.linalg.solve(inside, z[:, output] - mean[rows, output])
        np.testing.assert_allclose(g[:, output], expected, atol=1e-4)
        variances.append(np.diag(K - K[:, rows] @ np.linalg.solve(inside, K[rows])))
    np.testing.assert_allclose(variance, np.mean(variances, axis=0), atol=1e-4)


def test_a_class_that_nobody_has_labelled_is_left_by_the_process_as_it_was(without_clouds):
    """That no label is of a class is no sign that it is rare; so it is, too, without the only label of a class."""
    chances, views, truth = class_problem(120)
    some = np.flatnonzero(truth != 2)[:9]
    rows = np.append(some, np.flatnonzero(truth == 2)[0])
    prepared = Prepared(make_problem(chances, views, Values(rows, truth[rows]), "classification"))
    base = label_free_of(prepared)
    scale = Scale("classification", prepared.scale, prepared.shift, True)
    items = everyone(base)
    unseen = fitted(base, Values(some, truth[some]), scale)
    g, mean = unseen.fused.said(items), unseen.fused.process.mean(items.base)
    np.testing.assert_allclose(g[:, 2], mean[:, 2], atol=1e-9)
    assert not np.allclose(g[:, 0], mean[:, 0], atol=0.05)
    np.testing.assert_allclose(unseen.fused.left_out.held_out[:, 2], mean[unseen.rows, 2], atol=1e-9)
    once = fitted(base, Values(rows, truth[rows]), scale)
    alone = np.flatnonzero(truth[once.rows] == 2)
    np.testing.assert_allclose(once.fused.left_out.held_out[alone, 2], mean[once.rows[alone], 2], atol=1e-9)
    seen = once.fused.said(items)[:, 2]
    assert not np.allclose(seen, mean[:, 2], atol=0.01)


def test_comparisons_move_the_mean_towards_what_they_say():
    """At the compared items the process is at its mode, where the pull of the prior and of the comparisons agree."""
    rows = np.sort(np.random.default_rng(0).permutation(120)[:40])
    first, second = np.arange(0, 40, 2), np.arange(1, 40, 2)
    up = TRUTH[rows[first]] > TRUTH[rows[second]]
    higher, lower = np.where(up, first, second), np.where(up, second, first)
    found = fit_pairs(BASE, pick_features(BASE, rows), Answers.of(higher, lower))
    g, mean = found(ITEMS)[0][:, 0], label_free_mean(rows)[:, 0]
    K = whole_kernel(found, ITEMS)
    pull = np.zeros(40)
    chance = 1 / (1 + np.exp(-(g[rows[higher]] - g[rows[lower]]) / 0.5))
    e = found.answers.flips[0]  # an answer that nobody expects is likely a slip, and pulls little
    each = (1 - 2 * e) * chance * (1 - chance) / ((1 - e) * chance + e * (1 - chance)) / 0.5
    np.add.at(pull, higher, each)
    np.add.at(pull, lower, -each)
    np.testing.assert_allclose(g, mean + K[:, rows] @ pull, atol=1e-4)


def test_how_many_labels_are_used_falls_with_the_number_of_items():
    assert most_labels(1000) == 2000
    assert most_labels(134_000) == 1001
    assert most_labels(10**8) == 200


def test_kernels_applied_to_weights_are_their_products():
    rows = BASE.order[3:120:4]
    fused, items = fit_values(BASE, pick_features(BASE, rows), standard(TRUTH[rows])), ITEMS
    m, shared = len(rows), fused.kernels.shared(items)
    weights = [np.random.default_rng(k).normal(size=(m, 1)) for k in range(len(shared))]
    expected = sum(K @ w for K, w in zip(shared, weights, strict=True))
    np.testing.assert_allclose(fused.kernels.applied(items, weights), expected, atol=1e-9)
    process = fused.process
    direct = process.mean(items.base) + process.covariances(items, shared, 0) @ process.duals
    np.testing.assert_allclose(
        process.apart(items) + fused.kernels.applied(items, process.weights()), direct, atol=1e-9
    )


def test_other_methods_say_that_they_count_each_comparison_once(small):
    _, scores, views = small
    pairs = tupi.Pairs(range(0, 20), range(20, 40), weights=np.arange(1, 21))
    assert "counts each comparison once" in tupi.denoise(scores, views, pairs, method="ridge").notes[-1]
    assert not any("counts each" in note for note in tupi.denoise(scores, views, pairs).notes)
