import numpy as np
from scipy.special import softmax

import tupi
from tupi.judging.metrics import pairwise_accuracy
from tupi.results.summary import summary


def redundant_problem(n=800, seed=0):
    """Return truth, noisy scores, and views that are alike looks at the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    views = {f"look{k}": np.column_stack([truth, truth**2]) + 0.2 * rng.normal(size=(n, 2)) for k in range(4)}
    return truth, truth + 0.6 * rng.normal(size=n), views


TRUTH, SCORES, VIEWS = redundant_problem()


def test_redundant_views_help():
    found = tupi.denoise(SCORES, VIEWS, method="smooth")
    assert pairwise_accuracy(found.predictions, TRUTH) > pairwise_accuracy(SCORES, TRUTH) + 0.05
    assert found.params["signal_share"] < 0.5
    assert found.weights.shape == (2, 4)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1)


def test_complementary_views_leave_everything():
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(800, 6))
    scores = parts.sum(axis=1) + 0.3 * rng.normal(size=800)
    found = tupi.denoise(scores, {f"part{k}": parts[:, [k]] for k in range(4)}, method="smooth")
    np.testing.assert_array_equal(found.predictions, scores)
    assert "the predictions stay" in found.notes[0]


def test_one_view_is_not_said_to_add_to_others_nor_to_have_been_used():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=300)
    scores = truth + rng.normal(size=300)
    found = tupi.denoise(scores, {"p": (truth + 0.3 * rng.normal(size=300))[:, None]})
    assert not found.changed
    assert "1 of 1 view depends" in found.notes[0]
    assert "others" not in found.notes[0]
    assert found.notes[0].endswith("cannot tell error from truth, so the predictions stay as they are.")
    assert found.weights["p"].tolist() == [0, 0]
    assert "The only view, p, was not used" in summary(found)[1]


def test_junk_leaves_everything():
    rng = np.random.default_rng(0)
    found = tupi.denoise(SCORES, {f"junk{k}": rng.normal(size=(800, 3)) for k in range(3)}, method="smooth")
    np.testing.assert_array_equal(found.predictions, SCORES)
    assert "0 of 3 views depend" in found.notes[0]


def test_junk_and_copies_change_nothing():
    rng = np.random.default_rng(0)
    more = VIEWS | {f"junk{k}": rng.normal(size=(800, 3)) for k in range(3)} | {"f": 2 * SCORES[:, None] + 1}
    expected = tupi.denoise(SCORES, VIEWS, method="smooth").predictions
    found = tupi.denoise(SCORES, more | {"again": VIEWS["look0"]}, method="smooth")
    np.testing.assert_allclose(found.predictions, expected, atol=1e-9)
    assert "Views f, again repeat the predictions or other views." in found.notes[0]
    assert found.weights["again"].tolist() == [0, 0]


def test_the_order_of_items_and_views_does_not_matter():
    expected = tupi.denoise(SCORES, VIEWS, method="smooth").predictions
    shuffle = np.random.default_rng(0).permutation(800)
    moved = {name: VIEWS[name][shuffle] for name in reversed(VIEWS)}
    found = tupi.denoise(SCORES[shuffle], moved, method="smooth").predictions
    np.testing.assert_allclose(found, expected[shuffle], atol=1e-6)


def test_missing_views():
    views = {name: view.copy() for name, view in VIEWS.items()}
    views["look0"][:200] = np.nan
    for view in views.values():
        view[5] = np.nan
    found = tupi.denoise(SCORES, views, method="smooth")
    assert found.predictions[5] == SCORES[5]
    assert pairwise_accuracy(found.predictions, TRUTH) > pairwise_accuracy(SCORES, TRUTH) + 0.05


def test_regression_lowers_errors():
    found = tupi.denoise(SCORES, VIEWS, method="smooth", task="regression")
    assert np.mean((found.predictions - TRUTH) ** 2) < 0.7 * np.mean((SCORES - TRUTH) ** 2)


def test_class_probabilities_stay_probabilities():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    chances = softmax(3 * np.eye(3)[truth] + 1.5 * rng.normal(size=(400, 3)), axis=1)
    views = {f"look{k}": np.eye(3)[truth] + 0.4 * rng.normal(size=(400, 3)) for k in range(3)}
    found = tupi.denoise(chances, views, method="smooth", task="classification").predictions
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert np.mean(found.argmax(axis=1) == truth) > np.mean(chances.argmax(axis=1) == truth) + 0.03


def test_few_items():
    assert np.isfinite(tupi.denoise(SCORES[:10], {"v": VIEWS["look0"][:10]}, method="smooth").predictions).all()
