"""Options of the paper's method that the paper does not have: discounted copies, one joint kernel, either kernel."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tupi
from tests.conftest import make_problem_arrays
from tupi.algorithm.denoiser import view_weights
from tupi.algorithm.trajectory import follow
from tupi.embedding.joint_graph import joint_view
from tupi.embedding.prepared import Prepared
from tupi.inputs.problem import make_problem
from tupi.methods.tupi import Tupi

shares = st.floats(0.0, 1.0)


def weights_by_formula(dependence, sigma_w2, news):
    """w_i = news_i kappa(1 - news_i HSIC_i, sigma_w^2), divided by their sum, one view after the other."""
    raw = [s * math.exp(-(1.0 - s * h) / sigma_w2) for h, s in zip(dependence, news, strict=True)]
    return [one / sum(raw) for one in raw]


@given(st.lists(st.tuples(shares, st.floats(0.01, 1.0)), min_size=1, max_size=6), st.floats(0.05, 3.0))
def test_discounted_weights_are_the_formula(views, sigma_w2):
    dependence, news = np.array(views).T
    np.testing.assert_allclose(
        view_weights(dependence, sigma_w2, news), weights_by_formula(dependence, sigma_w2, news), atol=1e-12
    )


@given(st.lists(shares, min_size=1, max_size=6), st.floats(0.01, 3.0))
def test_without_a_discount_the_weights_are_the_paper_s(dependence, sigma_w2):
    plain = view_weights(np.array(dependence), sigma_w2)
    np.testing.assert_array_equal(plain, view_weights(np.array(dependence), sigma_w2, np.ones(len(dependence))))
    assert plain.sum() == pytest.approx(1.0)


def test_a_copy_has_no_weight_however_narrow_the_widths():
    dependence, news = np.array([1.0, 0.1, 0.02]), np.array([0.0, 0.9, 0.98])
    for sigma_w2 in (1e-4, 0.01, 1.0, 100.0):
        weights = view_weights(dependence, sigma_w2, news)
        assert weights[0] == 0.0
        assert weights.sum() == pytest.approx(1.0)
        assert weights[1] > weights[2] or sigma_w2 > 0.5


def test_where_all_views_are_copies_they_weigh_alike():
    np.testing.assert_array_equal(view_weights(np.ones(4), 0.1, np.zeros(4)), np.full(4, 0.25))


def dense_kernel(X, sigma2):
    """The normalised centred kernel matrix by its definition, entry by entry."""
    n = len(X)
    K = np.array([[math.exp(-np.sum((X[k] - X[l]) ** 2) / sigma2) for l in range(n)] for k in range(n)])  # noqa: E741
    C = np.eye(n) - 1.0 / n
    return C @ K @ C / np.linalg.norm(C @ K @ C)


def width(X):
    """Return (2 std of all pairwise distances)^2."""
    return 4 * np.var([np.linalg.norm(a - b) for a in X for b in X])


def test_the_discount_is_one_minus_the_dependence_on_the_initial_predictions():
    _, scores, views = make_problem_arrays(n=40)
    prepared = Prepared(make_problem(scores, views))
    setting = Tupi(lam=0.4, sigma_w2=0.1, n_iter=2, engine="exact", discount=True)
    trajectory = setting.trajectory(prepared)
    follow([trajectory])
    f0, *later = trajectory.steps
    kernels = []
    for X in views.values():
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        kernels.append(dense_kernel(standard, width(standard)))
    f = f0.f
    own = width(f)
    news = [1.0 - np.sum(dense_kernel(f, own) * K) for K in kernels]
    for step in (f0, *later):
        dependence = [np.sum(dense_kernel(step.f, own) * K) for K in kernels]
        np.testing.assert_allclose(step.weights, weights_by_formula(dependence, 0.1, news), rtol=1e-6)


def test_copies_change_nothing_once_they_are_discounted():
    _, scores, views = make_problem_arrays()
    copies = views | {f"copy{k}": scores[:, None] * (k + 1.0) for k in range(5)}
    params = {"method": "tupi", "lam": 0.4, "sigma_w2": 0.05, "n_iter": 5}
    plain, discounted = (
        [tupi.denoise(scores, some, discount=discount, **params).predictions for some in (views, copies)]
        for discount in (False, True)
    )
    moved = np.abs(discounted[0] - scores).max()
    np.testing.assert_allclose(discounted[1], discounted[0], atol=0.01 * moved)
    assert np.abs(plain[1] - scores).max() < 0.2 * np.abs(plain[0] - scores).max()  # as published, copies hold it back


def side_by_side(views):
    return np.hstack([(X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(X.shape[1]) for X in views.values()])


@pytest.mark.parametrize("engine", ["fused", "reference", "exact"])
@pytest.mark.parametrize("kernel", ["gaussian", "diffusion"])
def test_a_joint_kernel_is_that_of_all_columns_side_by_side(engine, kernel):
    _, scores, views = make_problem_arrays()
    params = {"method": "tupi", "lam": 0.4, "sigma_w2": 0.1, "n_iter": 3, "engine": engine, "kernel": kernel}
    joint = tupi.denoise(scores, views, joint=True, **params)
    by_hand = tupi.denoise(scores, {"all": side_by_side(views)}, scaling="view", **params)
    np.testing.assert_allclose(joint.predictions, by_hand.predictions, atol=1e-8)
    np.testing.assert_allclose(joint.weights, 1 / 3)
    assert list(joint.weights.columns) == list(views)


def test_the_order_of_views_does_not_matter_to_a_joint_kernel():
    _, scores, views = make_problem_arrays()
    params = {"method": "tupi", "joint": True, "lam": 0.4, "n_iter": 3, "engine": "exact"}
    first = tupi.denoise(scores, views, **params).predictions
    second = tupi.denoise(scores, dict(reversed(views.items())), **params).predictions
    np.testing.assert_allclose(first, second, atol=1e-8)


def test_joint_view_scales_what_is_news_and_puts_missing_items_at_the_mean():
    _, scores, views = make_problem_arrays()
    views["near"][3] = np.nan
    prepared = Prepared(make_problem(scores, views))
    plain, scaled = joint_view(prepared).source, joint_view(prepared, np.array([0.0, 0.25, 1.0])).source
    assert (plain[3, :2] == 0).all()
    assert (scaled[:, :2] == 0).all()
    np.testing.assert_allclose(scaled[:, 2:5], 0.5 * plain[:, 2:5])
    np.testing.assert_array_equal(scaled[:, 5:], plain[:, 5:])
    for start, stop in ((2, 5), (5, 9)):  # each view contributes the same mean square
        assert np.sum(plain[:, start:stop] ** 2) / len(scores) == pytest.approx(1.0)


def test_copies_change_little_in_a_joint_kernel_once_they_are_discounted():
    _, scores, views = make_problem_arrays()
    copies = views | {f"copy{k}": scores[:, None] for k in range(9)}
    params = {"method": "tupi", "joint": True, "discount": True, "lam": 0.4, "n_iter": 4}
    first, second = (tupi.denoise(scores, some, **params).predictions for some in (views, copies))
    np.testing.assert_allclose(second, first, atol=0.02 * np.abs(first - scores).max())


def test_class_scores_share_a_joint_kernel():
    truth, _, views = make_problem_arrays()
    classes = np.digitize(truth, [-0.5, 0.5])
    scores = np.eye(3)[classes] + 0.8 * np.random.default_rng(0).normal(size=(len(truth), 3))
    result = tupi.denoise(
        scores, views, task="classification", method="tupi", joint=True, discount=True, lam=0.3, n_iter=3
    )
    assert result.predictions.shape == scores.shape
    assert np.mean(result.predictions.argmax(axis=1) == classes) > np.mean(scores.argmax(axis=1) == classes)


def test_either_kernel_is_tried_with_labels_and_diffusion_taken_without():
    assert [one.kernel for one in Tupi(kernel=None).settings(labelled=False)] == ["diffusion"]
    assert [one.kernel for one in Tupi(kernel=None, lam=0.1, sigma_w2=0.1).settings(labelled=True)] == [
        "gaussian", "diffusion",
    ]  # fmt: skip
    truth, scores, views = make_problem_arrays()
    labels = tupi.Values(range(40), truth[:40])
    found = {
        kernel: tupi.denoise(scores, views, labels=labels, method="tupi", kernel=kernel, lam=0.4, sigma_w2=0.1)
        for kernel in (None, "gaussian", "diffusion")
    }
    chosen = found[None].params["kernel"]
    np.testing.assert_array_equal(found[None].predictions, found[chosen].predictions)


def test_a_joint_kernel_needs_no_weights_to_be_tuned():
    assert len({one.sigma_w2 for one in Tupi(joint=True).settings(labelled=True)}) == 1
