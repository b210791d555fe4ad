"""Linear and kernel models that follow their denoised predictions."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import tupi

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 8))
TRUTH = X[:, 0] + X[:, 1] + np.sin(X[:, 2])
VIEW = {"view": np.column_stack([TRUTH, TRUTH, TRUTH]) + 0.4 * RNG.normal(size=(700, 3))}
TRAIN, TUNED, LATER = slice(0, 40), slice(40, 400), slice(400, 700)
NOISY = TRUTH[TRAIN] + 2 * RNG.normal(size=40)
KNOWN = tupi.Values(np.arange(40), TRUTH[40:80])
VIEWS = {"view": VIEW["view"][TUNED]}


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(StandardScaler(), Ridge()),
        make_pipeline(StandardScaler(), KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1)),
        GaussianProcessRegressor(2.0 * RBF(3.0) + WhiteKernel(0.3), optimizer=None, normalize_y=True),
        LogisticRegression(),
    ],
)
def test_a_tuned_model_is_better_on_items_without_the_view(model):
    classifies = isinstance(model, LogisticRegression)
    model.fit(X[TRAIN], NOISY > 0 if classifies else NOISY)
    tuned = tupi.tune(model, X[TUNED], VIEWS, KNOWN)

    def accuracy(one):
        said = one.decision_function if classifies else one.predict
        return tupi.pairwise_accuracy(said(X[LATER]), TRUTH[LATER])

    before = accuracy(model)
    assert accuracy(tuned) > before + 0.03
    assert accuracy(model) == before  # it is left as it is


@pytest.mark.parametrize("kernel", [False, True])
def test_what_moves_is_the_ridge_regression_of_the_change(kernel):
    """By the formula: predictions of the tuned model are the old ones and the regression of what denoising changed."""
    model = (KernelRidge(alpha=0.3, kernel="rbf", gamma=0.1) if kernel else Ridge()).fit(X[TRAIN], NOISY)
    before = model.predict(X[TUNED])
    change = tupi.denoise(before, VIEWS, KNOWN).predictions - before
    phi = X[TUNED]
    if kernel:
        values, vectors = np.linalg.eigh(model._get_kernel(X[TRAIN]))
        phi = model._get_kernel(X[TUNED], X[TRAIN]) @ vectors / np.sqrt(values)
    else:
        phi = phi / phi.std(axis=0)
    ridge = RidgeCV(np.logspace(-4, 6, 31), fit_intercept=not kernel).fit(phi, change)
    expected = before + ridge.predict(phi)
    found = tupi.tune(model, X[TUNED], VIEWS, KNOWN).predict(X[TUNED])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_where_denoising_changes_nothing_the_model_stays():
    model = Ridge().fit(X[TRAIN], NOISY)
    junk = {"junk": np.random.default_rng(5).normal(size=(360, 3))}
    np.testing.assert_array_equal(tupi.tune(model, X[TUNED], junk).coef_, model.coef_)


@pytest.mark.parametrize("model", [DecisionTreeRegressor(), SVR(), Ridge()])
def test_models_of_other_kinds_are_refused(model):
    several = isinstance(model, Ridge)
    model.fit(X[TRAIN], np.column_stack([NOISY, NOISY]) if several else NOISY)
    with pytest.raises(tupi.InputError, match=f"model: found {type(model).__name__}; accepted: a fitted model"):
        tupi.tune(model, X[TUNED], VIEWS)


@pytest.mark.parametrize(
    ("model", "rows", "sentence"),
    [
        (None, X[TUNED], "model: found NoneType; accepted: a fitted model"),
        (Ridge(), X[TUNED], "model: found Ridge that was not fitted; accepted: a fitted model"),
        (Ridge().fit(X[TRAIN], NOISY), X[TUNED][:, :3], r"X: found shape \(\d+, 3\); accepted: \(n, \d+\)"),
        (Ridge().fit(X[TRAIN], NOISY), X[TUNED][:, 0], r"X: found shape \(\d+,\)"),
        (
            KernelRidge(kernel="rbf").fit(X[TRAIN], NOISY),
            X[TUNED][:, :3],
            "X: KernelRidge refuses it .*; accepted: what",
        ),
        (make_pipeline(StandardScaler(), Ridge()).fit(X[TRAIN], NOISY), X[TUNED][:, :3], "X: Pipeline refuses it"),
    ],
)
def test_what_scikit_learn_would_say_is_a_sentence_of_ours(model, rows, sentence):
    with pytest.raises(tupi.InputError, match=sentence):
        tupi.tune(model, rows, VIEWS)


def test_a_pipeline_of_the_model_alone():
    alone = Ridge().fit(X[TRAIN], NOISY)
    found = tupi.tune(make_pipeline(alone), X[TUNED], VIEWS, KNOWN).predict(X[LATER])
    np.testing.assert_array_equal(found, tupi.tune(alone, X[TUNED], VIEWS, KNOWN).predict(X[LATER]))
