import numpy as np
import pytest

from tests.methods.dense import assert_order_free, fitted
from tests.methods.rows import COMPARED, JUDGING, KNOWN, SCORES, TRUTH, VIEWS, class_problem, prepare
from tupi.inputs.labels import Values
from tupi.judging.metrics import pairwise_accuracy
from tupi.methods.kim import Kim
from tupi.methods.tupi import Tupi
from tupi.runtime.errors import InputError

rng = np.random.default_rng(5)
TASKS = {
    "related": (TRUTH + 0.5 * rng.normal(size=120))[:, None],
    "far": (0.3 * TRUTH + rng.normal(size=120))[:, None],
    "junk": rng.normal(size=(120, 1)),
}
GAPPY = {name: np.array(view) for name, view in TASKS.items()}
GAPPY["related"][:30] = np.nan
GAPPY["junk"][20:50] = np.nan


def standard(x):
    return (x - np.nanmean(x)) / np.nanstd(x)


def slow_steps(views, lam, sigma2, n_iter):
    """Weighted means of standardised predictors, one item and one view at a time."""
    f, H = standard(SCORES), [standard(view[:, 0]) for view in views.values()]
    for _ in range(n_iter):
        divergences = [np.nanmean((f - h) ** 2) for h in H]
        similar = np.exp(-np.array(divergences) / sigma2)
        weights = similar / (1 + similar.sum())
        new = np.empty_like(f)
        for j in range(len(f)):
            above, below = f[j], 1.0
            for w, h in zip(weights, H, strict=True):
                if np.isfinite(h[j]):
                    above, below = above + lam * w * h[j], below + lam * w
            new[j] = above / below
        f = standard(new)
    return f, weights


@pytest.mark.parametrize("views", [TASKS, GAPPY], ids=["complete", "gaps"])
@pytest.mark.parametrize(("lam", "sigma2", "n_iter"), [(0.3, 0.3, 1), (1.0, 0.1, 4), (0.1, 2.0, 10)])
def test_equals_weighted_means(views, lam, sigma2, n_iter):
    fit = Kim(lam=lam, sigma2=sigma2, n_iter=n_iter).fit(prepare(None, views=views), None)
    f, weights = slow_steps(views, lam, sigma2, n_iter)
    np.testing.assert_allclose(fit.columns[:, 0], f, atol=1e-10)
    np.testing.assert_allclose(fit.steps[-2].weights, weights, atol=1e-10)


def test_divergence_is_that_of_gaussians_with_one_covariance():
    """The symmetric divergence of N(m1, S) and N(m2, S), S = n I, by the general formula."""
    n = 6
    m1, m2 = np.random.default_rng(0).normal(size=(2, n))
    S = n * np.eye(n)

    def divergence(p, q):
        d = q - p
        return 0.5 * (np.trace(np.linalg.solve(S, S)) + d @ np.linalg.solve(S, d) - n)

    assert divergence(m1, m2) + divergence(m2, m1) == pytest.approx(np.mean((m1 - m2) ** 2))


def test_a_negated_truth_is_used_by_tupi_and_not_by_kim():
    views = {"negated": -TRUTH[:, None]}
    before = pairwise_accuracy(SCORES, TRUTH)
    for labels in (None, KNOWN):
        kim = Kim().fit(prepare(labels, views=views), labels)
        assert kim.steps[-1].weights[0] < 0.01
        assert abs(pairwise_accuracy(kim.columns[:, 0], TRUTH) - before) < 0.02
        given = {} if labels is not None else {"lam": 0.3, "n_iter": 20}  # one view does not say how far to go
        tupi = Tupi(**given).fit(prepare(labels, views=views), labels)
        assert pairwise_accuracy(tupi.columns[:, 0], TRUTH) > before + 0.05
    positive = Kim().fit(prepare(KNOWN, views={"truth": TRUTH[:, None]}), KNOWN)
    assert pairwise_accuracy(positive.columns[:, 0], TRUTH) > before + 0.1


@pytest.mark.parametrize("labels", [KNOWN, COMPARED, None], ids=["values", "pairs", "none"])
@pytest.mark.parametrize("views", [TASKS, GAPPY], ids=["complete", "gaps"])
def test_improves_and_does_not_depend_on_order(labels, views):
    new = fitted(Kim(), labels, views=views)
    assert pairwise_accuracy(new, JUDGING) > pairwise_accuracy(SCORES, JUDGING)
    assert_order_free(Kim(), labels, views=views)


def test_labels_may_keep_the_predictions():
    prepared = prepare(Values(np.arange(120), SCORES), views=TASKS)
    fit = Kim().fit(prepared, prepared.problem.labels)
    np.testing.assert_array_equal(fit.columns, prepared.f)
    assert fit.params["n_iter"] == 0


def test_a_watcher_may_stop():
    fit = Kim().fit(prepare(None, views=TASKS), None, watch=lambda step: step.t == 1)
    assert fit.params["n_iter"] == 1


def test_bad_input_gets_a_sentence():
    with pytest.raises(InputError, match=r"view 'near' has 2 columns.*one column only"):
        fitted(Kim(), None, views={"one": TASKS["far"], **VIEWS})
    chances, _, _ = class_problem(120)
    with pytest.raises(InputError, match="task: found 'classification'"):
        fitted(Kim(), None, chances, TASKS, "classification")
    with pytest.raises(InputError, match="sigma2: found -1"):
        Kim(sigma2=-1)
    with pytest.raises(InputError, match="n_iter: found 0"):
        Kim(n_iter=0)
