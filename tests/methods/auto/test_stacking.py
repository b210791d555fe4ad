import numpy as np
import pytest
from scipy.integrate import quad
from tupi.methods.auto.stacking import PRIOR_LABELS, PRIOR_VARIANCE, mean_share

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(2, 12))


@pytest.mark.parametrize("expected", [0.5, 0.2])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_share_is_the_mean_of_its_posterior(expected, scale):
    """By numerical integration of the likelihood against the Beta density."""

    def likelihood(s):
        sse = np.sum(((1 - s) * FIRST + s * scale * SECOND) ** 2) + PRIOR_LABELS * PRIOR_VARIANCE
        return sse ** (-(len(FIRST) + PRIOR_LABELS) / 2)

    def integral(function):
        return quad(function, 0, 1, weight="alg", wvar=(expected - 1, -expected))[0]

    mean = integral(lambda s: s * likelihood(s)) / integral(likelihood)
    assert mean_share(FIRST, scale * SECOND, expected) == pytest.approx(mean, abs=0.005)


def test_predictions_that_err_alike_keep_the_expected_share():
    assert mean_share(FIRST, FIRST, 0.3) == pytest.approx(0.3, abs=0.005)


def test_clearly_worse_predictions_get_next_to_nothing():
    errors = RNG.normal(size=50)
    assert mean_share(0.3 * errors, RNG.normal(size=50), 0.5) < 0.1
    assert mean_share(RNG.normal(size=50), 0.3 * errors, 0.5) > 0.85


def test_columns_are_separate_questions_and_nan_does_not_count():
    first, second = RNG.normal(size=(2, 12, 5))
    first[3, 2] = second[3, 2] = np.nan
    found = mean_share(first, second, 0.4)
    kept = np.delete(np.arange(12), 3)
    assert found[0] == pytest.approx(mean_share(first[:, 0], second[:, 0], 0.4))
    assert found[2] == pytest.approx(mean_share(first[kept, 2], second[kept, 2], 0.4))
