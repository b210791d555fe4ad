import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, softmax
from scipy.stats import beta

from tupi.methods.auto import guard
from tupi.methods.auto.guard import (
    EXPECTED_SHARES,
    LABELS_OF_SHARE,
    LEAST_SHARE,
    PRIOR_LABELS,
    PRIOR_VARIANCE,
    mean_share_of_logs,
    mean_shares,
    share_of_new,
    shares_by,
)

RNG = np.random.default_rng(0)
FIRST, SECOND, THIRD = RNG.normal(size=(3, 12))


def share(first, second, expected, weight=1.0):
    return mean_shares(np.array([first, second]), expected, weight)[1]


def likelihood(errors):
    return (np.sum(errors**2) + PRIOR_LABELS * PRIOR_VARIANCE) ** (-(len(errors) + PRIOR_LABELS) / 2)


@pytest.mark.parametrize("weight", [1.0, 3.0])
@pytest.mark.parametrize("expected", [0.5, 0.2])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_share_is_the_mean_of_its_posterior(expected, scale, weight):
    """By numerical integration of the likelihood against the Beta density."""

    def of(s):
        return likelihood((1 - s) * FIRST + s * scale * SECOND)

    def integral(function):
        powers = (weight * expected - 1, weight * (1 - expected) - 1)
        return quad(function, 0, 1, weight="alg", wvar=powers)[0]

    mean = integral(lambda s: s * of(s)) / integral(of)
    assert share(FIRST, scale * SECOND, expected, weight) == pytest.approx(mean, abs=0.005)


def test_predictions_that_err_alike_keep_the_expected_share():
    assert share(FIRST, FIRST, 0.3) == pytest.approx(0.3, abs=0.005)


def test_clearly_worse_predictions_get_next_to_nothing():
    errors = RNG.normal(size=50)
    assert share(0.25 * errors, RNG.normal(size=50), 0.5) < 0.1
    assert share(RNG.normal(size=50), 0.3 * errors, 0.5) > 0.85


def test_columns_are_separate_questions_and_nan_does_not_count():
    first, second = RNG.normal(size=(2, 12, 5))
    first[3, 2] = second[3, 2] = np.nan
    found = share(first, second, 0.4)
    kept = np.delete(np.arange(12), 3)
    assert found[0] == pytest.approx(share(first[:, 0], second[:, 0], 0.4))
    assert found[2] == pytest.approx(share(first[kept, 2], second[kept, 2], 0.4))


@pytest.mark.parametrize("promise", [1.0, 0.5])
def test_the_guard_of_values_takes_the_mean_share(promise):
    errors = RNG.normal(size=40)
    expected = share(errors, 0.8 * errors, EXPECTED_SHARES[promise], LABELS_OF_SHARE)
    assert share_of_new(errors, 0.8 * errors, promise, 0.4) == expected > 0.1


def test_the_guard_of_values_leaves_alone_what_labels_speak_against():
    small, large = 0.2 * RNG.normal(size=40), 3 * RNG.normal(size=40)
    assert share(small, large, EXPECTED_SHARES[0.5], LABELS_OF_SHARE) < LEAST_SHARE
    assert share_of_new(small, large, 0.5, 0.1) == 0.0


def test_the_guard_of_values_asks_for_more_where_no_view_is_related():
    large, small = RNG.normal(size=40), 0.5 * RNG.normal(size=40)
    assert share_of_new(large, small, 0.0, 0.94) == 0.0
    assert share_of_new(large, small, 0.0, 0.96) > 0.5


def test_the_share_of_log_odds_is_the_mean_of_its_posterior():
    before, after = RNG.normal(size=(2, 30))
    ones = (RNG.random(30) < expit(0.3 * before + 0.7 * after)).astype(float)

    def likely(s):
        p = expit((1 - s) * before + s * after)
        return beta(2.1, 0.9).pdf(s) * np.prod(np.where(ones, p, 1 - p))

    mean = quad(lambda s: s * likely(s), 0, 1)[0] / quad(likely, 0, 1)[0]
    logs = (np.column_stack([np.zeros(30), one]) for one in (before, after))
    assert mean_share_of_logs(*logs, ones.astype(int), 0.7, 3.0) == pytest.approx(mean, abs=0.003)


def test_the_guard_of_two_classes_asks_which_log_odds_make_labels_likely():
    ones = np.arange(40) % 2
    right, wrong = (np.column_stack([np.zeros(40), one]) for one in (4.0 * ones - 2, 2 - 4.0 * ones))
    assert share_of_new(wrong, right, 0.5, 0.9, ones) > 0.8
    assert share_of_new(right, wrong, 0.5, 0.9, ones) == 0.0
    assert share_of_new(wrong, right, 0.0, 0.9, ones) == 0.0


def test_small_errors_count_as_small_as_they_are():
    first, second = 0.1 * FIRST, 0.2 * SECOND

    def of(s):
        return likelihood((1 - s) * first + s * second)

    mean = quad(lambda s: s * of(s), 0, 1)[0] / quad(of, 0, 1)[0]  # half of two labels: any share is as likely
    assert share(first, second, 0.5, 2.0) == pytest.approx(mean, abs=0.001)
    assert mean < 0.4


def test_the_share_of_several_classes_is_the_mean_of_its_posterior():
    before, after = RNG.normal(size=(2, 30, 4))
    classes = (0.3 * before + 0.7 * after + RNG.gumbel(size=(30, 4))).argmax(axis=1)

    def likely(s):
        p = softmax((1 - s) * before + s * after, axis=1)
        return beta(2.1, 0.9).pdf(s) * np.prod(p[np.arange(30), classes])

    mean = quad(lambda s: s * likely(s), 0, 1)[0] / quad(likely, 0, 1)[0]
    assert mean_share_of_logs(before, after, classes, 0.7, 3.0) == pytest.approx(mean, abs=0.003)


def test_an_expectation_counts_as_one_label_unless_said_otherwise():
    errors = np.array([FIRST, 0.5 * SECOND])
    np.testing.assert_array_equal(mean_shares(errors, 0.3), mean_shares(errors, 0.3, 1.0))
    assert mean_shares(errors, 0.3)[1] != mean_shares(errors, 0.3, 2.0)[1]


def test_thousands_of_labels_have_likelihoods_beyond_the_range_of_numbers():
    """With so many labels the share is that of the least squared error, and that of the odds which were drawn from."""
    first, second = RNG.normal(size=(2, 6000))
    assert share(first, second, 0.5) == pytest.approx(0.5, abs=0.03)
    assert share(0.001 * first, 0.001 * second, 0.5) == pytest.approx(0.5, abs=0.03)
    before, after = (np.column_stack([np.zeros(6000), 3 * one]) for one in (first, second))
    ones = (RNG.random(6000) < expit((0.3 * before + 0.7 * after)[:, 1])).astype(int)
    assert mean_share_of_logs(before, after, ones, 0.7, 3.0) == pytest.approx(0.7, abs=0.03)


def test_a_tenth_of_new_predictions_is_taken_and_less_is_not(monkeypatch):
    for found, expected in ((LEAST_SHARE, LEAST_SHARE), (0.0999, 0.0)):
        monkeypatch.setattr(guard, "mean_shares", lambda *_, found=found: np.array([1 - found, found]))
        assert share_of_new(FIRST, SECOND, 1.0, 0.9) == expected


def test_sums_of_products_say_the_same_as_errors():
    errors = np.array([FIRST, 0.5 * SECOND])
    products = np.array([[one @ other for other in errors] for one in errors])
    np.testing.assert_allclose(shares_by(products, len(FIRST), 0.3), mean_shares(errors, 0.3))
    np.testing.assert_allclose(shares_by(products, len(FIRST), 0.3, 2.0), mean_shares(errors, 0.3, 2.0))
