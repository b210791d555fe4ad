import numpy as np
import pytest
from scipy.special import softmax

import tupi
from tests.conftest import make_problem_arrays
from tests.methods.auto.dense import everyone, whole_kernel
from tests.methods.rows import class_problem
from tupi.embedding.prepared import Prepared
from tupi.inputs.labels import Values
from tupi.inputs.problem import make_problem
from tupi.methods.auto.auto import label_free_of
from tupi.methods.auto.fitting import (
    CLASS_SHIFT,
    LEAST_SLOPE,
    fit_pairs,
    fit_values,
    fitted,
    label_free_chances,
    most_labels,
)
from tupi.methods.auto.items import Scale
from tupi.methods.auto.kernels import pick_features
from tupi.methods.auto.preferences import Answers
from tupi.methods.auto.process import JITTER, RHO

TRUTH, SCORES, VIEWS = make_problem_arrays(120)
BASE = label_free_of(Prepared(make_problem(SCORES, VIEWS)))
ITEMS = everyone(BASE)
F = ITEMS.base[:, :, 1]


def standard(columns):
    return (columns - columns.mean(axis=0)) / columns.std(axis=0)


@pytest.mark.parametrize("constant", [1.0, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_said_of_labelled_items_fits_their_labels_under_any_prior_of_a_shift(sign, constant):
    """The mean of the process misses a label by the noise times its dual; few labels against f are fitted anew."""
    labelled = pick_features(BASE, BASE.order[5:120:10])
    z = standard(sign * labelled.base[:, :, 1]) + 0.5
    found = fit_values(BASE, labelled, z, constant=constant)
    duals = (z - found.left_out.held_out)[:, 0] * np.diag(found.middles[0])
    np.testing.assert_allclose(z - found(labelled)[0], (found.noise + JITTER) * duals[:, None], atol=1e-4)


def label_free_mean(rows, factor=1.0):
    """Return the label-free answer with the slope that is expected, at all items."""
    average = ITEMS.base[:, :, 2] - ITEMS.base[:, :, 2].mean(axis=0)
    average *= (average * F).sum(axis=0) / (average**2).sum(axis=0)
    answer = standard(average + BASE.share.c * (F - average))
    return factor * (answer - answer[rows].mean(axis=0)) / np.sqrt(answer[rows].var(axis=0) + 1 / RHO**2 - 1)


def test_mean_and_variance_are_those_of_a_dense_gaussian_process():
    """Given the variances that were found: m + K_x (K + noise)^-1 (z - m), and k - K_x (K + noise)^-1 K_x^T."""
    rows = BASE.order[3:120:4]
    z = standard(TRUTH[rows][:, None])
    found = fit_values(BASE, pick_features(BASE, rows), z)
    mean, K = label_free_mean(rows), whole_kernel(found, ITEMS)
    inside = K[np.ix_(rows, rows)] + (found.noise + JITTER) * np.eye(len(rows))
    g, variance = found(ITEMS)
    np.testing.assert_allclose(g, mean + K[:, rows] @ np.linalg.solve(inside, z - mean[rows]), atol=1e-4)
    np.testing.assert_allclose(variance, np.diag(K - K[:, rows] @ np.linalg.solve(inside, K[rows])), atol=1e-4)
    some = np.array([100, 4, 63])
    np.testing.assert_allclose(found(ITEMS[some])[0], g[some], atol=1e-9)  # what is said of an item is its own function
    np.testing.assert_allclose(found(ITEMS[some])[1], variance[some], atol=1e-9)


def test_the_noise_of_a_value_is_less_by_its_weight():
    """The same dense process, with noise / weight in place of the noise; left-out values and the plain expert alike."""
    rows = BASE.order[3:120:4]
    z, weights = standard(TRUTH[rows][:, None]), np.linspace(0.2, 3.0, len(rows))
    found = fit_values(BASE, pick_features(BASE, rows), z, weights=weights)
    mean, K = label_free_mean(rows), whole_kernel(found, ITEMS)
    inside = K[np.ix_(rows, rows)] + np.diag(found.noise / weights + JITTER)
    g, variance = found(ITEMS)
    np.testing.assert_allclose(g, mean + K[:, rows] @ np.linalg.solve(inside, z - mean[rows]), atol=1e-4)
    np.testing.assert_allclose(variance, np.diag(K - K[:, rows] @ np.linalg.solve(inside, K[rows])), atol=1e-4)
    even = fit_values(BASE, pick_features(BASE, rows), z, weights=np.ones(len(rows)))
    np.testing.assert_allclose(even(ITEMS)[0], fit_values(BASE, pick_features(BASE, rows), z)(ITEMS)[0], atol=1e-9)


def test_few_labels_against_the_answer_leave_it_a_small_slope():
    """The answer's own kernel has no part then: its slope is fixed."""
    rows = BASE.order[5:120:10]
    z = standard(-F[rows])
    found = fit_values(BASE, pick_features(BASE, rows), z)
    mean, K = label_free_mean(rows, LEAST_SLOPE), whole_kernel(found, ITEMS)
    assert (found.kernels.of_columns(ITEMS)[0, 0] == 0).all()
    inside = K[np.ix_(rows, rows)] + (found.noise + JITTER) * np.eye(len(rows))
    expected = mean + K[:, rows] @ np.linalg.solve(inside, z - mean[rows])
    np.testing.assert_allclose(found(ITEMS)[0], expected, atol=1e-4)


def test_many_labels_against_the_answer_turn_it_over():
    rows = BASE.order[::2]
    found = fit_values(BASE, pick_features(BASE, rows), standard(-F[rows]))
    assert np.corrcoef(found(ITEMS)[0][:, 0], F[:, 0])[0, 1] < -0.8


def test_classes_are_fitted_around_label_free_probabilities():
    """One-vs-rest: each class with its own columns, all with the same variances; the mean of their variances."""
    chances, views, truth = class_problem(120)
    labels = Values(np.arange(0, 120, 3), truth[::3])
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
    fused, items = fit_values(BASE, pick_features(BASE, rows), standard(TRUTH[rows][:, None])), ITEMS
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
