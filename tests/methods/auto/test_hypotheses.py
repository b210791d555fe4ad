"""Hypotheses about values, against the equations of `tupi.methods.auto.hypotheses` written out."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, stdtrit
from scipy.stats import multivariate_normal

import tupi
from tests.methods.auto.test_experts import ROWS, setting
from tupi.embedding.relevance import evenly
from tupi.methods.auto import hypotheses as module
from tupi.methods.auto.fitting import both_sides, scales_of
from tupi.methods.auto.guard import mean_shares
from tupi.methods.auto.hypotheses import AtLabels, averaged, hypotheses
from tupi.methods.auto.process import JITTER

LINES = (0.7, 0.3), (0.6, 0.2)  # slope and height by which the label-free answer, and f, would be the labels


def labels(m=14, seed=0, q=4, tables=2, lines=None):
    """Return labelled items with kernels of all kinds, and all hypotheses about them."""
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(q, m))
    shared = []
    for _ in range(tables + 4):
        X = rng.normal(size=(m, 5))
        K = X @ X.T
        shared.append(K / np.mean(np.diag(K)))
    z = columns[0] + 0.5 * rng.normal(size=m)
    z = (z - z.mean()) / z.std()
    known = AtLabels(columns, np.array(shared), np.ones((m, m)), np.ones(m), z)
    return known, hypotheses(columns, 0.4, tables, related=True, rest=True, lines=lines)


def dense(known, tried, number):
    """Return the mean and the covariance of labels under one hypothesis, straight from its definition."""
    q = len(known.columns)
    mean = sum(b * (column - column.mean()) for b, column in zip(tried.slopes[number], known.columns, strict=True))
    mean = mean + tried.heights[number]
    K = tried.shifts[number] * known.fixed + (JITTER + tried.noise[number]) * np.eye(len(known.z))
    for v, column in zip(tried.variances[number][:q], known.columns, strict=True):
        K = K + v * np.outer(column, column)
    for v, kernel in zip(tried.variances[number][q:], known.shared, strict=True):
        K = K + v * kernel
    if tried.subset[number] >= 0:
        X = known.subsets[tried.subset[number]]
        K = K + tried.of_subset[number] * X @ X.T
    return mean, K


def slow_left_out(known, tried, out, asked):
    """Return the mean over hypotheses of one label's prediction, without some labels."""
    kept = np.setdiff1d(np.arange(len(known.z)), out)
    logs, said = [], []
    for number in range(len(tried.logs)):
        mean, K = dense(known, tried, number)
        here = K[np.ix_(kept, kept)]
        logs.append(tried.logs[number] + multivariate_normal(mean[kept], here).logpdf(known.z[kept]))
        said.append(mean[asked] + K[asked, kept] @ np.linalg.solve(here, (known.z - mean)[kept]))
    return np.exp(np.array(logs) - logsumexp(logs)) @ np.array(said)


def sizes_of(known):
    """Return the mean variances of columns and kernels."""
    return np.array([*np.mean(known.columns**2, axis=1), *(np.mean(np.diag(K)) for K in known.shared)])


def slow_nothing(known, tried, sizes):
    """Return the evidence of the same mean functions if all that they leave is noise, one after the other."""
    logs, m = [], len(known.z)
    for number, slopes in enumerate(tried.slopes):
        (k,) = np.flatnonzero(slopes)
        v = tried.variances[number]
        noise = (
            tried.noise[number] + v @ sizes - v[k] * sizes[k] + (tried.subset[number] >= 0) * tried.of_subset[number]
        )
        mean = tried.heights[number] + slopes[k] * (known.columns[k] - known.columns[k].mean())
        K = tried.shifts[number] * known.fixed + v[k] * np.outer(known.columns[k], known.columns[k])
        logs.append(tried.logs[number] + multivariate_normal(mean, K + (JITTER + noise) * np.eye(m)).logpdf(known.z))
    return logsumexp(logs) + 0.5 * m * np.log(2 * np.pi)  # a constant that is left out everywhere


@pytest.mark.parametrize("lines", [None, LINES])
def test_each_hypothesis_counts_as_it_makes_the_labels_likely(lines):
    known, tried = labels(lines=lines)
    after, duals, _, nothing = averaged(known, tried)
    logs = []
    for number in range(len(tried.logs)):
        mean, K = dense(known, tried, number)
        logs.append(tried.logs[number] + multivariate_normal(mean, K).logpdf(known.z))
    shares = np.exp(np.array(logs) - logsumexp(logs))
    kept = np.flatnonzero(shares > module.LEAST_SHARE * shares.max())
    np.testing.assert_allclose(after.shares, shares[kept] / shares[kept].sum(), rtol=1e-6)
    mean, K = dense(known, tried, kept[0])
    np.testing.assert_allclose(duals[0], np.linalg.solve(K, known.z - mean), atol=1e-6)
    assert nothing == pytest.approx(slow_nothing(known, tried, sizes_of(known)), abs=1e-6)


@pytest.mark.parametrize("lines", [None, LINES])
def test_a_label_that_is_left_out_has_no_part_in_its_prediction(lines):
    known, tried = labels(lines=lines)
    found = averaged(known, tried)[2]
    for i, j in ((0, 5), (5, 0), (3, 12)):
        assert found.held_out[i, 0] == pytest.approx(slow_left_out(known, tried, [i], i), abs=1e-6)
        assert found.twice[i, j] == pytest.approx(slow_left_out(known, tried, [i, j], i), abs=1e-6)
    np.testing.assert_allclose(found.differences, found.twice - found.twice.T)
    np.testing.assert_array_equal(np.diag(found.twice), found.held_out[:, 0])


def test_whole_groups_are_left_out():
    known, tried = labels()
    groups = np.arange(14) % 4
    known = known._replace(fixed=np.equal.outer(groups, groups).astype(float))  # each has a constant of its own
    found = averaged(known, tried, groups)[2]
    for i, j in ((0, 5), (6, 1), (3, 7)):
        own = np.flatnonzero(groups == groups[i])
        assert found.held_out[i, 0] == pytest.approx(slow_left_out(known, tried, own, i), abs=1e-6)
        assert found.twice[i, j] == pytest.approx(slow_left_out(known, tried, np.union1d(own, [j]), i), abs=1e-6)


def test_the_noise_of_a_value_is_less_by_its_weight():
    known, tried = labels()
    sure = np.linspace(0.5, 3.0, len(known.z))
    v, noise = tried.variances[0], tried.noise[0]
    more = known._replace(sure=sure).covariance(v, noise) - known.covariance(v, noise)
    np.testing.assert_allclose(more, np.diag(noise / sure - noise), atol=1e-12)


@pytest.mark.parametrize("trust", [0.0, 0.3, 1.0])
def test_the_more_of_a_difference_is_error_the_more_alike_items_share(trust):
    """How likely each share is, among averages; columns alone are asked the same whatever averages tell."""
    columns = labels(m=30)[0].columns
    tried = hypotheses(columns, trust, 2, related=True, rest=True)
    upward = tried.slopes.sum(axis=1) > 0
    for plain, levels in ((False, module.EXPLAINED), (True, module.EXPLAINED_BY_COLUMNS)):
        some = np.flatnonzero((tried.plain == plain) & upward)
        along = np.flatnonzero(tried.slopes[some[0]])[0]
        rest = np.maximum(1 - tried.slopes[some, along] ** 2 * columns[along].var(), module.LEAST_REST)
        explained = 1 - tried.noise[some] / rest
        chances = np.exp(tried.logs[some] - logsumexp(tried.logs[some]))
        found = [chances[np.isclose(explained, level)].sum() for level in levels]
        believed = 0.0 if plain else trust
        expected = [(1 - believed) * one + believed / len(levels) for one in module.HOW_LIKELY]
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_hypotheses_say():
    """Shares of what is explained, the rest and the noise make up the labels' variance."""
    known, tried = labels(m=30)
    assert np.exp(logsumexp(tried.logs)) == pytest.approx(1 + np.exp(-module.REVERSAL), rel=1e-9)
    sizes = np.append(np.mean(known.columns**2, axis=1), np.ones(6))
    for slopes, v, noise in zip(tried.slopes, tried.variances, tried.noise, strict=True):
        column = np.flatnonzero(slopes)[0]
        b, explained = slopes[column], v.copy()
        explained[column] -= module.SLOPE_VARIANCE * b**2 + module.LEAST_SLOPE_VARIANCE
        rest = max(1 - b**2 * known.columns[column].var(), module.LEAST_REST)
        assert explained @ sizes + noise == pytest.approx(rest)
    assert set(np.flatnonzero(tried.slopes.any(axis=0))) == {0, 3}  # the label-free answer, and f
    plain = tried.variances[tried.plain]
    assert not plain[:, :3].any()  # no averages over alike items
    assert not plain[:, 4:6].any()
    assert (plain[:, [6, 8]] > 0).all()  # linear kernels; smooth ones have a part in some
    assert (plain[:, [7, 9]] > 0).any(axis=0).all()


def test_values_in_the_units_of_predictions():
    """Most hypotheses then say that labels are predictions and a rest, with neither slope nor height to learn."""
    known, tried = labels(m=30, lines=LINES)
    of_line = tried.heights != 0
    assert np.exp(logsumexp(tried.logs[of_line])) == pytest.approx(module.AS_THEY_ARE, rel=1e-9)
    assert set(tried.shifts[of_line]) == {module.SHIFT_OF_UNITS}
    assert set(tried.shifts[~of_line]) == {1.0}
    for number in np.flatnonzero(of_line):
        column = 3 if tried.plain[number] else 0
        slope, height = LINES[int(tried.plain[number])]
        expected = slope * known.columns[column] + height
        np.testing.assert_allclose(known.mean(tried.slopes[number], tried.heights[number]), expected, atol=1e-12)
        rest = tried.variances[number].copy()
        rest[column] -= module.SLOPE_OF_UNITS * slope**2
        sizes = np.append(np.mean(known.columns**2, axis=1), np.ones(6))
        rests = 1 - np.array(module.CORRELATIONS) ** 2
        assert np.isclose(rest @ sizes + tried.noise[number], rests, rtol=1e-9).any()


def test_labels_that_are_all_high_do_not_raise_predictions_in_their_units():
    """The mean of ten labels says little of the level, which predictions in the labels' units know better."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=400)
    views = {"a": truth[:, None] + rng.normal(size=(400, 1)), "b": truth[:, None] + rng.normal(size=(400, 1))}
    f = 100 + 10 * (truth + 0.5 * rng.normal(size=400))
    high = np.argsort(-truth)[:100:10]
    found = tupi.denoise(f, views, tupi.Values(high, 100 + 10 * truth[high]), task="regression", guard=False)
    assert abs(found.predictions.mean() - f.mean()) < 2
    assert np.mean((found.predictions - 100 - 10 * truth) ** 2) < np.mean((f - 100 - 10 * truth) ** 2)


@pytest.mark.parametrize(("size", "level"), [(1e3, 0.0), (1e13, 0.0), (1e45, 0.0), (1.0, 1e10)])
def test_predictions_that_are_in_other_units_than_the_labels(size, level):
    """Numbers of such size in a covariance leave nothing but rounding, so that these hypotheses are left out."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=60)
    views = {"a": truth[:, None] + rng.normal(size=(60, 1))}
    f = size * (truth + 0.5 * rng.normal(size=60)) + level
    labels = tupi.Values(np.arange(9), 1e-8 * truth[:9])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = tupi.denoise(f, views, labels, task="regression", guard=False)
    assert np.isfinite(found.predictions).all()
    assert np.abs(found.predictions).max() < 1e-10 * np.abs(f).max()  # labels are near zero in these units


def test_a_saved_file_of_an_earlier_version_has_neither_heights_nor_shifts():
    tried = labels()[1]
    earlier = module.Hypotheses(tried.slopes, tried.variances, tried.noise, tried.logs, tried.plain)
    np.testing.assert_array_equal(earlier.heights, 0)
    np.testing.assert_array_equal(earlier.shifts, 1)


@pytest.mark.parametrize(("m", "turned"), [(19, False), (20, True)])
def test_only_enough_labels_may_turn_a_ranking_over(m, turned):
    tried = labels(m=m)[1]
    assert (tried.slopes < 0).any() == turned


def test_few_labels_say_nothing_of_the_views_own_columns():
    assert not labels(m=4)[1].plain.any()
    assert labels(m=5)[1].plain.any()
    without_tables = hypotheses(np.random.default_rng(0).normal(size=(3, 7)), 0.0, 0, related=False, rest=True)
    assert without_tables.plain.all()


def test_many_labels_meet_fewer_hypotheses_and_nearly_the_same_predictions(monkeypatch):
    known, tried = labels(m=60)
    exact = averaged(known, tried)[2].held_out
    monkeypatch.setattr(module, "MOST_TRIED", 30)
    np.testing.assert_allclose(averaged(known, tried)[2].held_out, exact, atol=1e-3)
    monkeypatch.setattr(module, "CHOOSING_LABELS", 40)
    after, duals, found, nothing = averaged(known, tried)
    assert len(after.logs) == len(duals) <= module.FEWER
    weighing = known.among(evenly(60, 40))
    assert nothing == pytest.approx(slow_nothing(weighing, tried, sizes_of(known)), abs=1e-6)
    assert np.abs(found.held_out - exact).mean() < 0.1


def test_labels_follow_f_in_one_of_its_forms():
    columns = np.random.default_rng(0).normal(size=(5, 30))
    one, two, none = (
        hypotheses(columns, 0.4, 2, True, True, of_f=forms) for forms in ((1.0,), (0.25, 0.75), (0.0, 1.0))
    )
    for forms, tried in (((0.0, 1.0), one), ((0.25, 0.75), two), ((0.0, 1.0), none)):
        by_form = [np.exp(logsumexp(tried.logs[tried.slopes[:, k] != 0])) for k in (3, 4)]
        plain = np.exp(logsumexp(tried.logs[tried.plain]))
        np.testing.assert_allclose(np.array(by_form) / plain, forms, atol=1e-12)
        families = tried.plain & (tried.slopes[:, 4] == 0) | ~tried.plain
        assert (tried.variances[families, 4] == 0).all()  # what is f itself explains nothing beside a mean function
    assert (two.variances[~two.plain, 3] == 0).all()
    assert (one.variances[~one.plain, 3] > 0).all()  # there it is a smoothed column


def test_a_reversed_predictor_is_turned_over_by_many_labels():
    fused = setting(sign=-1.0)[1]
    assert fused.average.hypotheses.shares @ (fused.average.hypotheses.slopes < 0).any(axis=1) > 0.5
    few = setting(sign=-1.0, rows=ROWS[:10])[1]
    assert not (few.average.hypotheses.slopes < 0).any()


def test_shares_of_some_hypotheses():
    tried = labels()[1]
    some = replace(tried, logs=np.linspace(0.0, -20.0, len(tried.logs)))
    kept = some.standing()
    assert (some.logs[kept] > np.log(module.LEAST_SHARE)).all()
    assert len(some.standing(2)) == 2
    assert some[kept].shares.sum() == pytest.approx(1.0)


def test_usual_values_have_one_scale_and_prices_two():
    rng = np.random.default_rng(0)
    assert len(scales_of(rng.uniform(size=50))) == 1
    assert len(scales_of(np.exp(2 * rng.normal(size=50)))) == 2
    assert len(scales_of(np.exp(2 * rng.normal(size=4)))) == 1
    assert len(scales_of(np.exp(2 * rng.normal(size=50)), np.ones(50))) == 1  # weights have no normal scores
    for z, _ in scales_of(np.exp(2 * rng.normal(size=50))):
        assert (z.mean(), z.std()) == pytest.approx((0.0, 1.0))


def test_the_stretch_of_a_scale_is_its_derivative():
    """Of many values of a heavy-tailed law, by differences of neighbours along the curve between both scales."""
    values = stdtrit(3, (np.arange(4000) + 0.5) / 4000)
    (first, _), (second, stretched) = scales_of(values)
    some = np.round(np.linspace(0, 3999, module.CHOOSING_LABELS)).astype(int)
    slopes = np.log(np.gradient(second, first))[some]
    assert stretched / len(some) == pytest.approx(slopes.mean(), abs=0.05)


def test_values_most_of_which_are_equal_stretch_nothing_beyond_measure():
    values = np.r_[np.zeros(40), 1.0, 2.0, 3.0, 50.0]
    assert scales_of(values)[1][1] < 3 * len(values)


def test_both_sides_count_as_labels_left_out_say():
    known, tried = labels(m=30)
    parts = [averaged(known, tried[np.flatnonzero(tried.plain == plain)])[:3] for plain in (False, True)]
    after, duals, left_out = both_sides(parts, known, 0.3)
    errors = np.array([known.z - one.held_out[:, 0] for _, _, one in parts])
    share = mean_shares(errors, 0.3)[1]
    assert after.shares @ after.plain == pytest.approx(share)
    np.testing.assert_allclose(after.shares[after.plain], share * parts[1][0].shares)
    assert after.evidence == pytest.approx(np.logaddexp(parts[0][0].evidence, parts[1][0].evidence))
    np.testing.assert_array_equal(duals, np.concatenate([parts[0][1], parts[1][1]]))
    low, high = np.sort([one.held_out[:, 0] for _, _, one in parts], axis=0)
    assert ((left_out.held_out[:, 0] >= low - 1e-9) & (left_out.held_out[:, 0] <= high + 1e-9)).all()
    assert both_sides(parts[:1], known, 0.3) is parts[0]
