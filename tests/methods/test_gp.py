import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from tests.methods.rows import (
    JUDGING,
    KNOWN,
    LABELLED,
    SCORES,
    TRUTH,
    class_problem,
    predict,
    prepare,
    stacked,
    standard,
)
from tupi.embedding.gaussian import kernel_matrix
from tupi.inputs.labels import Pairs, Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods import gp
from tupi.methods.gp import GP, restricted_likelihood, solve
from tupi.runtime.errors import InputError


def dense(f, H, y, everyone, length, ratio):
    """Return the predictive mean as the formula has it: generalised least squares, then the process on the rest."""
    K = np.exp(-cdist(H, H, "sqeuclidean") / (2 * length**2))
    inverse = np.linalg.inv(ratio * K + np.eye(len(y)))
    F = np.column_stack([np.ones(len(f)), f])
    beta = np.linalg.inv(F.T @ inverse @ F) @ F.T @ inverse @ y
    all_f, all_H = everyone
    cross = ratio * np.exp(-cdist(all_H, H, "sqeuclidean") / (2 * length**2))
    return np.column_stack([np.ones(len(all_f)), all_f]) @ beta + cross @ inverse @ (y - F @ beta)


@pytest.mark.parametrize(("length", "ratio"), [(0.5, 0.1), (1.0, 3.0), (4.0, 1000.0)])
def test_equals_the_dense_formula(length, ratio):
    f, H = standard(SCORES), stacked()
    unit = np.median(pdist(H[LABELLED]))
    expected = dense(f[LABELLED], H[LABELLED], TRUTH[LABELLED], (f, H), length * unit, ratio)
    found = predict(GP(length=length, ratio=ratio), task="regression")
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_restricted_likelihood_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    f, H = rng.normal(size=20), rng.normal(size=(20, 3))
    y, ratios = f + np.sin(H[:, 0]) + 0.1 * rng.normal(size=20), [0.01, 1.0, 50.0]
    K = np.exp(-cdist(H, H, "sqeuclidean") / 2)
    F = np.column_stack([np.ones(20), f])
    expected = []
    for ratio in ratios:
        V = ratio * K + np.eye(20)
        inverse = np.linalg.inv(V)
        middle = F.T @ inverse @ F
        P = inverse - inverse @ F @ np.linalg.inv(middle) @ F.T @ inverse
        determinants = np.linalg.slogdet(V)[1] + np.linalg.slogdet(middle)[1]
        expected.append(-0.5 * (18 * np.log(y @ P @ y / 18) + determinants))
    found = restricted_likelihood(K, f, y, ratios)
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], atol=1e-8)


def test_chooses_the_most_likely_setting():
    prepared = prepare()
    fit = GP().fit(prepared, KNOWN)
    f, H, y = prepared.f[np.sort(LABELLED)], stacked()[np.sort(LABELLED)], TRUTH[np.sort(LABELLED)]
    H = H / np.median(pdist(H))
    best = max(
        (restricted_likelihood(kernel_matrix(H, H, 2 * length**2), f[:, 0], y, [ratio])[0], length, ratio)
        for length in gp.LENGTH_GRID
        for ratio in gp.RATIO_GRID
    )
    assert fit.params == {"length": best[1], "ratio": best[2]}


def test_noise_alone_leaves_the_ranking():
    """Labels that are f itself leave nothing for the views to explain."""
    found = predict(GP(), labels=Values(LABELLED, SCORES[LABELLED]))
    np.testing.assert_allclose(found, SCORES, atol=1e-3)


def test_a_useful_view_helps():
    assert pairwise_accuracy(predict(GP()), JUDGING) > pairwise_accuracy(SCORES, JUDGING) + 0.05


def test_classes_and_class_scores():
    chances, views, truth = class_problem()
    known, unseen = Values(np.arange(40), truth[:40]), np.arange(40, 150)
    before = np.mean(chances[unseen].argmax(axis=1) == truth[unseen])
    for scores in (chances, 3 * np.log(chances) + 5):
        found = predict(GP(), labels=known, scores=scores, views=views, task="classification")
        assert np.mean(found[unseen].argmax(axis=1) == truth[unseen]) > before + 0.1
    # Class scores that are no probabilities come back with the mean and deviation that they had.
    assert found.mean() == pytest.approx(scores.mean())
    assert found.std() == pytest.approx(scores.std())


def test_of_many_labels_some_are_drawn(monkeypatch):
    monkeypatch.setattr(gp, "MAX_LABELS", 12)
    prepared = prepare()
    first, second = GP().fit(prepared, KNOWN), GP().fit(prepared, KNOWN)
    assert first.notes[-1] == "12 of 30 labels were drawn and used."
    np.testing.assert_array_equal(first.columns, second.columns)


@pytest.mark.parametrize("size", [2, 3])
def test_very_few_labels(size):
    assert np.isfinite(predict(GP(), labels=Values(LABELLED[:size], TRUTH[LABELLED[:size]]))).all()


def test_identical_rows():
    views = {"same": np.repeat([[0.0], [1.0]], 60, axis=0)}
    assert np.isfinite(predict(GP(), labels=Values(np.arange(20), TRUTH[:20]), views=views)).all()


def test_pairs_do_not_apply():
    with pytest.raises(InputError, match=r"labels: found pairs, and method 'gp' is fitted to values"):
        predict(GP(), labels=Pairs(np.array([0, 1]), np.array([2, 3])))


def test_bad_settings():
    with pytest.raises(InputError, match="length: found 0"):
        GP(length=0)
    with pytest.raises(InputError, match="ratio: found -1"):
        GP(ratio=-1)


def test_a_kernel_with_negative_eigenvalues_by_rounding():
    """Distances among rows of very different size are rounded, and the kernel is then as its positive part is."""
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    eigenvalues = np.append(np.linspace(0.5, 2, 11), -0.01)
    f, y = rng.normal(size=(2, 12))
    found, expected = (
        solve((vectors * one) @ vectors.T, f, y, 1e3) for one in (eigenvalues, np.maximum(eigenvalues, 0))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-8)
