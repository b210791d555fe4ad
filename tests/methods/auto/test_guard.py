import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import logit
from scipy.stats import norm

from tupi.judging.evidence import LEAST_CONFIRMED, Gain, mean_gain, pair_gain
from tupi.methods.auto import guard
from tupi.methods.auto.guard import (
    Blend,
    blend_of,
    confirmation,
    odds_of_views,
    probability_of_gain,
    share_of_new,
    weight_of,
    wrong_before,
)

PROBABILITY = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("asked", "of_order", "of_values", "of_classes"),
    [
        ((0.0, 3, 0.3, 3), 0.959883, 0.477515, 0.939913),
        ((0.3, 40, 0.4, 40), 0.395339, 0.248879, 0.150757),
        ((0.0, 10, 0.2, 10), 0.685329, 0.122921, 0.631126),
        ((0.5, 8, 0.8, 20), 0.533570, 0.265297, 0.434504),
        ((0.2, 100, 0.1, 100), 0.437490, 0.272388, 0.534339),
    ],
)
def test_labels_are_confirmed_with_the_figures_that_were_measured_with(asked, of_order, of_values, of_classes):
    """The other tests take these figures from the module, and would follow a wrong one."""
    found = [confirmation(*asked), *(confirmation(*asked, one) for one in (guard.OF_VALUES, guard.OF_CLASSES))]
    assert found == pytest.approx([of_order, of_values, of_classes], abs=1e-6)


@pytest.mark.parametrize(
    ("gain", "promise", "of_shares", "of_errors"),
    [
        (Gain(0.5, 0.5, np.inf), 1.0, 0.841345, 0.549738),
        (Gain(0.5, 0.52, 0.001), 0.5, 0.977914, 0.656605),
        (Gain(0.5, 0.48, 0.1), 0.0, 0.443769, 0.421128),
    ],
)
def test_a_gain_is_expected_with_the_figures_that_were_measured_with(gain, promise, of_shares, of_errors):
    found = [probability_of_gain(gain, promise, prior, 0.25) for prior in (guard.OF_SHARES, guard.OF_ERRORS)]
    assert found == pytest.approx([of_shares, of_errors], abs=1e-6)


@pytest.mark.parametrize(("promise", "better", "worse"), [(1.0, 0.724391, 0.521948), (0.5, 0.430306, 0.246193)])
def test_a_share_is_expected_with_the_figures_that_were_measured_with(promise, better, worse):
    errors = np.array([1.0, -0.5, 0.8, -1.2, 0.3])
    found = [share_of_new(errors, after, promise, 0.97) for after in (0.9 * errors + 0.1, 1.6 * errors)]
    assert found == pytest.approx([better, worse], abs=1e-6)


def test_a_share_where_no_view_is_related():
    errors = np.array([1.0, -0.5, 0.8, -1.2, 0.3])
    assert share_of_new(errors, 0.9 * errors + 0.1, 0.0, 0.97) == pytest.approx(0.112291, abs=1e-6)
    assert share_of_new(errors, 0.9 * errors + 0.1, 0.0, 0.95) > 0
    assert share_of_new(errors, 0.9 * errors + 0.1, 0.0, 0.949) == 0.0
    assert share_of_new(errors, 1.6 * errors, 0.0, 0.97) == 0.0  # less than a tenth is nothing


def test_the_gain_over_pairs_and_its_jackknife_equal_their_definition():
    rng = np.random.default_rng(0)
    m = 9
    truth, old, new = rng.integers(0, 4, m), rng.integers(0, 5, m), rng.normal(size=m)

    def accuracies(items):
        pairs = [(i, j) for i in items for j in items if truth[i] > truth[j]]
        return [np.mean([(s[i] > s[j]) + 0.5 * (s[i] == s[j]) for i, j in pairs]) for s in (old, new)]

    first, second = np.nonzero(truth[:, None] > truth)
    found = pair_gain((old[first] - old[second]).astype(float), new[first] - new[second], first, second, m)
    before, after = accuracies(range(m))
    assert (found.before, found.after) == pytest.approx((before, after))
    without = [np.subtract(*accuracies([k for k in range(m) if k != i])[::-1]) for i in range(m)]
    assert found.error == pytest.approx(np.sqrt((m - 1) * np.var(without)))


def test_two_labels_cannot_tell():
    found = pair_gain(np.array([1.0]), np.array([-1.0]), np.array([0]), np.array([1]), 2)
    assert (found.before, found.after, found.error) == (1.0, 0.0, np.inf)


def test_three_labels_can_tell():
    before, after = np.array([0.0, 1, 1]), np.array([1.0, 1, 1])
    assert mean_gain(before, after).error == pytest.approx(1 / 3)
    assert mean_gain(before[:2], after[:2]).error == np.inf
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    gained = pair_gain(np.array([1.0, -1, 1]), np.array([1.0, 1, 1]), first, second, 3)
    # Without an item one pair is left, and only without the second one is it the pair that was gained.
    assert gained.error == pytest.approx(np.sqrt(2 / 3 * (4 / 9 + 1 / 9 + 1 / 9)))


def test_items_in_no_pair_or_in_all_pairs_say_nothing_of_the_error():
    first, second = np.array([0, 0, 0]), np.array([1, 2, 3])
    before, after = np.array([1.0, -1, 1]), np.array([1.0, 1, 1])
    four = pair_gain(before, after, first, second, 4)
    # Without the first item no pair is left, so that the jackknife goes over the other three.
    assert four.error == pytest.approx(np.sqrt(2 / 3 * (2 * (1 / 2 - 1 / 3) ** 2 + (1 / 3) ** 2)))
    assert pair_gain(before, after, first, second, 9) == four


def test_the_gain_of_a_mean():
    before, after = np.array([0.0, 1, 1, 0]), np.array([1.0, 1, 1, 0])
    found = mean_gain(before, after)
    assert found.points == pytest.approx(25)
    assert found.error == pytest.approx(0.25)


@pytest.mark.parametrize("related", [True, False])
@pytest.mark.parametrize(("gain", "error"), [(0.03, 0.02), (-0.05, 0.03), (0.01, 0.001)])
def test_the_probability_is_that_of_bayes_rule(gain, error, related):
    prior = guard.OF_SHARES
    expected_gain, sd = (prior.mean, prior.sd) if related else (0.0, guard.WIDER * prior.sd)
    error_points = max(100 * error, prior.least_error)

    def density(x):
        return norm.pdf(x, expected_gain, sd) * norm.pdf(100 * gain, x, error_points)

    expected = quad(density, 0, 40)[0] / quad(density, -40, 40)[0]
    found = probability_of_gain(Gain(0.5, 0.5 + gain, error), related)
    assert found == pytest.approx(expected, abs=1e-6)


def test_no_credible_gain_has_no_weight():
    def weight(gain, error, related):
        probability = probability_of_gain(Gain(0.8, 0.8 + gain, error), related, wrong=0.24)
        return weight_of(probability, related, 0.24, 40)

    assert weight(-0.1, 0.02, True) == 0.0
    assert weight(0.02, 0.01, True) > 0.5
    assert weight(0.02, 0.02, False) == 0.0
    assert weight(0.15, 0.02, False) > 0.95
    assert 0.5 < weight(-0.1, np.inf, True) < 1


def test_a_gain_in_squared_error_has_no_units():
    """Predictions in wrong units have a hugely negative R²; half of the error gone is half in any units."""
    for before in (-1000.0, 0.2):
        found = Gain(before, before + 0.5 * (1 - before), 0.1 * (1 - before)).of_error()
        assert (found.after - found.before, found.error) == pytest.approx((0.5, 0.1))


def test_a_few_labels_that_are_all_right_do_not_make_a_perfect_predictor():
    """The share that is wrong before counts a quarter of 20 labels as wrong, on top of what was seen."""
    assert wrong_before(Gain(1.0, 1.0, 0.1), 0) == pytest.approx(0.25)
    assert wrong_before(Gain(1.0, 1.0, 0.1), 20) == pytest.approx(0.125)
    assert wrong_before(Gain(0.9, 1.0, 0.1), 80) == pytest.approx((80 * 0.1 + 20 * 0.25) / 100)
    assert wrong_before(Gain(0.9, 1.0, 0.1), 100_000) == pytest.approx(0.1, abs=1e-3)


def test_less_is_expected_where_less_is_wrong_or_promised():
    unknown = Gain(0.9, 0.9, np.inf)
    by_wrong = [probability_of_gain(unknown, 1.0, wrong=wrong) for wrong in (0.0, 0.1, 0.25, 0.5)]
    by_promise = [probability_of_gain(unknown, promise, wrong=0.25) for promise in (0.0, 0.5, 1.0)]
    assert by_wrong[0] == by_promise[0] == 0.5
    assert (np.diff(by_wrong) > 0).all()
    assert (np.diff(by_promise) > 0).all()
    # 8 per cent of a quarter is 2 points, one deviation.
    assert by_wrong[2] == pytest.approx(norm.cdf(1))


@pytest.mark.parametrize(
    ("probability", "strong", "weak"),
    [(0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.49, 0.0, 0.225), (0.5, 0.5, 0.5), (0.7, 0.7, 0.75), (0.8, 0.8, 1.0)],
)
@pytest.mark.parametrize("promise", [0.5, 1.0])
def test_the_more_credible_a_gain_is_the_more_is_taken(probability, strong, weak, promise):
    many = 10**6
    assert weight_of(probability, promise, 0.24, many) == pytest.approx(strong, abs=1e-6)
    assert weight_of(probability, promise, 0.25, many) == pytest.approx(weak, abs=1e-6)


def test_with_fewer_labels_a_lower_probability_is_enough_to_take_some():
    assert weight_of(0.26, 1.0, 0.24, 50) == pytest.approx(0.26 * 0.96**0.2)
    assert weight_of(0.24, 1.0, 0.24, 50) == 0.0
    assert weight_of(0.49, 1.0, 0.24, 100) == 0.0
    assert [weight_of(p, 1.0, 0.25, 50) for p in (0.24, 0.26, 0.6, 0.7)] == pytest.approx([0.0, 0.26, 0.6, 0.75])


def test_where_views_promise_nothing_a_gain_must_be_nearly_certain():
    assert weight_of(0.949, 0.0, 0.3, 50) == 0.0
    assert weight_of(0.95, 0.0, 0.3, 50) == 1.0


def test_labels_may_speak_for_views_that_promise_nothing():
    """A weak predictor then changes, by the product of both probabilities; a strong one needs a certain gain."""
    views = [None, *logit([0.5, 0.75, 0.875, 1.0])]
    assert [weight_of(0.8, 0.0, 0.3, 50, one) for one in views] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert weight_of(0.949, 0.0, 0.24, 50, np.inf) == 0.0
    errors = np.array([1.0, -0.5, 0.8, -1.2, 0.3])
    usual = share_of_new(errors, 0.5 * errors, 0.5, 0.8)
    found = [share_of_new(errors, 0.5 * errors, 0.0, 0.8, views=one) for one in views]
    assert found == pytest.approx([0.0, 0.0, 0.5 * usual, usual, usual])


def test_a_strong_predictor_and_values_change_as_far_as_labels_speak_for_views():
    errors = np.array([1.0, -0.5, 0.8, -1.2, 0.3])
    for promise in (0.5, 1.0):
        for labels, even in ((5, 2.0), (10, 2.0), (50, 0.4)):  # at these log odds views speak half of the time
            whole, part = (weight_of(0.9, promise, 0.1, labels, views) for views in (None, even))
            assert part == pytest.approx(0.5 * whole)
        assert weight_of(0.9, promise, 0.3, 50, -9.0) == 1.0
        whole, part = (share_of_new(errors, 0.5 * errors, promise, 0.9, views=views) for views in (None, logit(0.6)))
        assert part == pytest.approx(0.6 * whole)
        assert share_of_new(errors, 0.5 * errors, promise, 0.9, views=-9.0) == 0.0  # less than a tenth is nothing


def test_how_likely_views_explain_something():
    """As likely as not before any label if they promise nothing, and certainly if they move predictions without one."""
    assert [odds_of_views(0.0, promise) for promise in (0.0, 0.5, 1.0)] == [0.0, 1.0, 50.0]
    assert odds_of_views(-2.0, 0.5) == -1.0
    assert odds_of_views(None, 0.5) is None


def test_labels_that_speak_for_views_are_likelier_to_belong_to_the_items():
    """For values in units; rankings were judged better without."""

    def odds(found):
        return np.log(found / (1 - found))

    plain, with_views = (confirmation(0.3, 20, 0.4, 20, guard.OF_VALUES, views) for views in (0.0, 3.0))
    assert odds(with_views) - odds(plain) == pytest.approx(1.5)
    assert confirmation(0.3, 20, 0.4, 20, guard.OF_ORDER, 3.0) == confirmation(0.3, 20, 0.4, 20)


def test_few_labels_change_a_strong_predictor_less():
    assert weight_of(1.0, 1.0, 0.1, 10) == pytest.approx(0.1 / 0.25)
    assert weight_of(0.75, 1.0, 0.1, 3) == pytest.approx(0.75 * 0.1 / 0.25)
    assert weight_of(1.0, 1.0, 0.1, 50) == pytest.approx((0.1 / 0.25) ** 0.2)


@pytest.mark.parametrize("change", [0.0, 0.1, 1.0, 2.0])
@pytest.mark.parametrize("size", [4, 10, 40, 150])
@pytest.mark.parametrize("correlation", [-0.7, -0.2, 0.0, 0.3, 0.8])
@pytest.mark.parametrize("doubt", [guard.OF_ORDER, guard.OF_VALUES, guard.OF_CLASSES])
def test_confirmation_is_bayes_rule(correlation, size, change, doubt):
    """Of labels that belong to the items against labels in any order, by arctanh of their correlation."""
    z, error = np.arctanh(correlation), 1 / np.sqrt(size - 3)

    def among_related(zeta):
        usual = (1 - doubt.weak) * norm.pdf(zeta, guard.EXPECTED, guard.EXPECTED_SD)
        return usual + doubt.weak / guard.MOST * (zeta < guard.MOST)

    def density(zeta):
        return among_related(zeta) * norm.pdf(z, zeta, error)

    points = [guard.MOST, guard.EXPECTED, max(z, 0.0)]
    related = quad(density, 0, 4, points=points, epsabs=0, epsrel=1e-10, limit=200)[0]
    cost = doubt.cost * (doubt.slight + min(change, change**doubt.power)) * 25 / guard.FULL_COST
    odds = np.exp(doubt.odds - cost) * related / norm.pdf(z, 0, error)
    assert confirmation(correlation, size, change, 25, doubt) == pytest.approx(odds / (1 + odds), rel=1e-6)


def test_a_small_change_costs_little_and_a_reversal_as_much_as_two_changes():
    """Without labels enough to compare, log odds are what is expected less the cost."""
    odds = [np.log(found / (1 - found)) for found in (confirmation(0.0, 3, c, 40) for c in (0.0, 0.1, 0.5, 1.0, 2.0))]
    np.testing.assert_allclose(odds[0] - odds, np.array([0.0, 0.01, 0.25, 1.0, 2.0]) * 10, atol=1e-6)


@pytest.mark.parametrize("size", [4, 15, 40, 400])
def test_labels_that_agree_more_are_confirmed_more(size):
    """Labels that contradict predictions altogether are not confirmed by being far from chance."""
    found = [confirmation(r, size, 0.2, 40) for r in np.linspace(-1, 1, 201)]
    assert (np.diff(found) >= -1e-12).all()
    assert found[0] < 0.2 < found[-1]


def test_a_larger_change_takes_labels_that_agree_more():
    for correlation in (-0.3, 0.0, 0.4, 0.8):
        found = [confirmation(correlation, 40, change, 40) for change in np.linspace(0, 2, 21)]
        assert (np.diff(found) <= 0).all()
    assert confirmation(0.6, 40, 0.1, 40) > 0.99
    assert confirmation(0.0, 40, 0.3, 40) < LEAST_CONFIRMED
    assert confirmation(0.6, 40, 2.0, 40) < 0.05 < 0.95 < confirmation(0.6, 150, 2.0, 150)


def test_differences_of_tiny_probabilities_keep_their_digits():
    """Labels that agree altogether, or not at all, are far in the tails."""
    with np.errstate(divide="raise", invalid="raise"):
        assert confirmation(1.0, 400, 0.2, 40) == pytest.approx(1)
        assert confirmation(-1.0, 400, 0.2, 40) < LEAST_CONFIRMED


def test_without_enough_labels_only_the_change_counts():
    assert confirmation(-1.0, 3, 0.0, 3) == confirmation(1.0, 3, 0.0, 3) > 0.95
    assert confirmation(1.0, 3, 2.0, 3) < 0.2


def test_a_change_that_many_labels_ask_for_costs_more():
    """Ids go astray in files; a few answers that somebody typed in seldom belong to other items."""
    found = [confirmation(0.3, 10, 1.0, given) for given in (10, 20, 30, 40)]
    assert (np.diff(found) < 0).all()
    assert [confirmation(0.3, 10, 1.0, given) for given in (5, 1000)] == [found[0], found[-1]]


@given(PROBABILITY, PROBABILITY, PROBABILITY)
def test_shares_of_a_blend_sum_to_one(new, label_free, confirmed):
    found = blend_of(new, label_free, confirmed)
    shares = (found.new, found.initial, found.label_free)
    assert sum(shares) == pytest.approx(1)
    assert min(shares) >= 0


def test_what_comes_back_for_what_labels_say():
    assert blend_of(0.9, 0.8, 0.04) == Blend(0.0, 0.0, 1.0)  # labels that nothing confirms
    assert blend_of(0.0, 0.0, 0.6) == Blend(0.0, 1.0, 0.0)  # labels that say no gain, and are believed
    assert blend_of(0.0, 0.0, 0.4) == Blend(0.0, 0.4, 0.6)
    assert blend_of(0.0, 0.0, 0.5) == Blend(0.0, 0.5, 0.5)  # as likely as not is no belief
    assert blend_of(0.5, 0.0, 0.05) == Blend(0.025, 0.025, 0.95)  # just confirmed
    assert blend_of(0.9, 0.0, 1.0) == Blend(0.9, pytest.approx(0.1), 0.0)
    found = blend_of(0.9, 0.8, 0.5)
    assert (found.new, found.initial, found.label_free) == pytest.approx((0.45, 0.01, 0.54))


def test_a_blend_of_predictions():
    new, initial, label_free = np.random.default_rng(0).normal(size=(3, 7))
    np.testing.assert_allclose(
        Blend(0.5, 0.3, 0.2).of(new, initial, label_free), 0.5 * new + 0.3 * initial + 0.2 * label_free
    )
