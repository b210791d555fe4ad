import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tupi
from tupi.inputs.checked_labels import as_labels
from tupi.inputs.labels import Pairs, Values, implied_pairs
from tupi.inputs.raters import Opinions, weighed_classes, weighed_values


def values_of_three(seed=0, m=40):
    """Return answers of three raters about the same items: the second says one more, the third errs much."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=m)
    index, raters = np.repeat(np.arange(m), 3), np.tile(np.arange(3), m)
    errors = np.array([0.2, 0.2, 2.0])[raters] * rng.normal(size=3 * m)
    return truth, index, truth[index] + np.array([0.0, 1.0, 0.0])[raters] + errors, raters


def test_raters_who_err_more_count_less_and_biases_are_taken_off():
    truth, index, values, raters = values_of_three()
    found = weighed_values(index, values, np.ones(len(index)), raters)
    assert found.errors[2] > 4 * found.errors[:2].max()
    plain = np.bincount(index, values) / 3
    error = [np.std(one - truth) for one in (found.values, plain)]
    assert error[0] < 0.4 * error[1]
    np.testing.assert_allclose(found.weights.sum(), len(index))  # the usual answer counts once


def test_the_weighed_values_are_where_expectation_maximisation_stands_still():
    """The last round by its equations: means of unbiased answers, biases and variances, each given the others."""
    _, index, values, raters = values_of_three(seed=1, m=15)
    asked = index % 3 != raters  # two of the three about each item: where all are asked, biases cancel out
    index, values, raters = index[asked], values[asked], raters[asked]
    found = weighed_values(index, values, np.ones(len(index)), raters)
    variance = found.errors**2
    precision = 1 / variance[raters]
    bias, total = np.zeros(3), np.bincount(index, precision)
    for _ in range(500):
        mean = np.bincount(index, precision * (values - bias[raters])) / total
        bias = np.array([np.sum((values - mean[index])[raters == r]) / (10 + 4) for r in range(3)])
    np.testing.assert_allclose(found.values, mean, atol=1e-6)
    square = (values - mean[index] - bias[raters]) ** 2 + 1 / total[index]
    sums = np.array([square[raters == r].sum() for r in range(3)])
    usual = np.exp(np.mean(np.log(sums / 10)))
    np.testing.assert_allclose(variance, (sums + 4 * usual) / (10 + 4), rtol=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3), st.floats(-5, 5))
def test_units_and_order_of_answers_do_not_matter(seed, scale, shift):
    _, index, values, raters = values_of_three(seed, m=10)
    once = weighed_values(index, values, np.ones(30), raters)
    order = np.random.default_rng(seed).permutation(30)
    again = weighed_values(index[order], scale * values[order] + shift, np.ones(30), raters[order])
    np.testing.assert_allclose(again.values, scale * once.values + shift, atol=1e-5 * scale)
    np.testing.assert_allclose(again.weights, once.weights, rtol=1e-4)


def test_raters_of_different_items_are_alike():
    found = weighed_values(np.arange(6), np.array([1.0, 2, 3, 90, 10, 50]), np.ones(6), np.array([0, 0, 0, 1, 1, 1]))
    assert found.values.tolist() == [1, 2, 3, 90, 10, 50]
    assert found.weights.tolist() == [1] * 6
    assert np.isnan(found.errors).all()


def test_a_rater_who_guesses_classes_is_outvoted_by_one_who_does_not():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    index, raters = np.repeat(np.arange(60), 4), np.tile(np.arange(4), 60)
    said = np.where(raters < 2, truth[index], rng.integers(0, 3, 240))  # two know, two guess
    found = weighed_classes(index, said, np.ones(240), raters)
    assert found.errors[:2].max() < 0.1
    assert found.errors[2:].min() > 0.5
    assert np.mean(found.values == truth) == 1.0
    votes = np.zeros((60, 3))
    np.add.at(votes, (index, said), 1)
    assert np.mean(votes.argmax(axis=1) == truth) < 1.0  # which a majority does not manage


def test_who_agrees_with_whom():
    raters = np.array(["ann", "bob", "ann", "bob", "ann", "cy"])
    pairs = Opinions.of_pairs(raters, np.array([0, 1, 2, 2, 4, 6]), np.array([1, 0, 3, 3, 5, 7]), None)
    assert pairs.agreement().values.tolist() == [["ann", "bob", 2, 0.5]]
    table = pairs.table({"ann": 0.1})
    assert table.loc["ann", ["answers", "common", "agree", "error"]].tolist() == [3, 2, 0.5, 0.1]
    assert table.loc["cy", ["answers", "common"]].tolist() == [1, 0]
    assert np.isnan(table.loc["cy", "agree"])
    tied = Opinions.of_pairs(raters[:2], np.array([0, 0]), np.array([1, 1]), np.array([False, True]))
    assert tied.agreement()["agree"].tolist() == [0.5]
    values = Opinions(np.repeat(["ann", "bob"], 3), np.tile([0, 1, 2], 2), np.array([1.0, 2, 3, 5, 9, 7]), "values")
    assert values.agreement()["agree"].tolist() == [2 / 3]
    classes = Opinions(np.repeat(["ann", "bob"], 3), np.tile([0, 1, 2], 2), np.array([0, 1, 2, 0, 1, 1]), "classes")
    assert classes.agreement()["agree"].tolist() == [2 / 3]


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    scores = pd.Series(truth + rng.normal(size=200), index=[f"i{k}" for k in range(200)])
    return truth, scores, {"sharp": truth[:, None] + 0.5 * rng.normal(size=(200, 2))}


def test_a_rater_who_turns_comparisons_around_is_found(made, tmp_path):
    truth, scores, views = made
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 60, (2, 200))
    first, second = first[first != second], second[first != second]
    raters = np.array(["ann", "bob", "cy", "dan"])[np.arange(len(first)) % 4]
    up = (truth[first] > truth[second]) ^ (raters == "dan")
    ids = scores.index.to_numpy()
    higher, lower = ids[np.where(up, first, second)], ids[np.where(up, second, first)]
    named, unnamed = (tupi.denoise(scores, views, Pairs(higher, lower, raters=who)) for who in (raters, None))
    assert named.raters["error"].idxmax() == "dan"
    assert named.raters.loc["dan", "error"] > 0.4
    assert named.raters["error"].drop("dan").max() < 0.15
    assert tupi.pairwise_accuracy(named.predictions, truth) > tupi.pairwise_accuracy(unnamed.predictions, truth)
    assert unnamed.raters is None
    loaded = tupi.load(named.save(tmp_path / "named.npz"))
    pd.testing.assert_frame_equal(loaded.raters, named.raters)
    pd.testing.assert_frame_equal(loaded.agreement, named.agreement)
    more = named.update(labels=Pairs(["i1"], ["i2"], raters=["eve"]))
    assert more.raters.loc["eve", "answers"] == 1


def test_raters_who_are_wrong_do_not_judge(made):
    truth, scores, views = made
    rng = np.random.default_rng(5)
    first, second = rng.integers(40, size=(2, 400))
    first, second = first[first != second][:200], second[first != second][:200]
    up = truth[first] > truth[second]
    raters = np.arange(200) % 10
    wrong = raters < 3  # all that these three say is wrong
    higher, lower = np.where(up != wrong, first, second), np.where(up != wrong, second, first)
    named, alone = Pairs(higher, lower, raters=raters), Pairs(higher[~wrong], lower[~wrong])
    found, rest = (tupi.denoise(scores, views, labels) for labels in (named, alone))
    assert (found.raters["error"].iloc[:3] > 0.4).all()
    # The gain is nearly that of the answers without theirs, not that of all answers as they are.
    assert abs(found.evidence.gain - rest.evidence.gain) < 0.03
    assert found.params["weight"] > rest.params["weight"] - 0.1


@pytest.mark.parametrize("related", [True, False])
def test_many_answers_teach_though_three_in_ten_are_wrong(related):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    scores, views = truth + 0.9 * rng.normal(size=200), {"sharp": truth[:, None] + 0.4 * rng.normal(size=(200, 2))}
    first, second = rng.integers(40, size=(2, 1100))
    first, second = first[first != second][:1000], second[first != second][:1000]
    told = truth[first] > truth[second] if related else rng.random(1000) < 0.5
    up = told ^ (rng.random(1000) < 0.3)
    result = tupi.denoise(scores, views, Pairs(np.where(up, first, second), np.where(up, second, first)))
    gain = tupi.pairwise_accuracy(result.predictions, truth) - tupi.pairwise_accuracy(scores, truth)
    assert gain > 0.1 if related else gain > -0.02


def test_values_of_several_raters_in_one_call(made):
    truth, scores, views = made
    _, index, values, raters = values_of_three()
    values = values - values_of_three()[0][index] + truth[index]
    names = np.array(["ann", "bob", "cy"])[raters]
    result = tupi.denoise(scores, views, Values(scores.index[index], values, raters=names))
    assert result.raters["error"].idxmax() == "cy"
    assert len(result.agreement) == 3
    assert "rater 'cy' agrees least with the others" in result.notes[-1]


def test_nobody_is_said_to_disagree_about_one_answer(made):
    truth, scores, views = made
    raters = ["ann"] * 20 + ["bob"] * 20
    asked = np.append(np.arange(20), [0, *range(20, 39)])  # both were asked about one item
    result = tupi.denoise(scores, views, Values(asked, truth[asked], raters=raters))
    assert (result.raters["common"] < 5).all()
    assert not any("agrees least" in note for note in result.notes)


def test_weights_of_values_make_them_count(made):
    truth, scores, views = made
    wrong = truth[:40].copy()
    wrong[20:] = -3 * wrong[20:]
    fits = {w: tupi.denoise(scores, views, Values(range(40), wrong, weights=[1] * 20 + [w] * 20)) for w in (1, 1e-4)}
    even, few = (tupi.pairwise_accuracy(fits[w].predictions, truth) for w in (1, 1e-4))
    assert few > even + 0.05
    twice = as_labels(Values([0, 1, 1], [1.0, 2.0, 4.0], weights=[1, 1, 3]), 10)
    assert (twice.values.tolist(), twice.weights.tolist()) == ([1.0, 3.5], [1.0, 4.0])
    assert "counts each value once" in tupi.denoise(scores, views, twice, method="ridge").notes[-1]


def test_values_and_pairs_together(made):
    truth, scores, views = made
    values = Values(range(100, 130), truth[100:130])
    first, second = np.arange(0, 60, 2), np.arange(1, 60, 2)
    up = truth[first] > truth[second]
    pairs = Pairs(np.where(up, first, second), np.where(up, second, first))
    result = tupi.denoise(scores, views, [values, pairs])
    assert "the values count as" in result.notes[0]
    alone = tupi.denoise(scores, views, pairs)
    both, one = (tupi.pairwise_accuracy(found.predictions, truth) for found in (result, alone))
    assert both > one
    again = tupi.denoise(scores, views, pairs).update(labels=values)
    assert again.evidence.n_labels == result.evidence.n_labels
    with pytest.raises(tupi.InputError, match="values and pairs together for task 'regression'"):
        tupi.denoise(scores, views, [values, pairs], task="regression")
    with pytest.raises(tupi.InputError, match="a list with ndarray"):
        tupi.denoise(scores, views, [values, truth])
    lists = as_labels([Values([0, 1], [1.0, 2.0]), Values([2], [3.0], weights=[2])], 10)
    assert (lists.index.tolist(), lists.weights.tolist()) == ([0, 1, 2], [1.0, 1.0, 2.0])


def test_what_values_imply_is_right_within_groups_and_counts_as_often_as_there_are_differences():
    rng = np.random.default_rng(0)
    values = Values(np.arange(60), rng.permutation(60).astype(float))
    pairs = implied_pairs(values, None)
    assert (values.values[pairs.higher] > values.values[pairs.lower]).all()
    assert pairs.weights.sum() == pytest.approx(59)
    assert len(np.unique(np.concatenate([pairs.higher, pairs.lower]))) == 60
    groups = np.arange(60) % 3
    within = implied_pairs(values, groups)
    assert (groups[within.higher] == groups[within.lower]).all()
    assert within.weights.sum() == pytest.approx(57)


def test_bad_raters_get_a_sentence():
    with pytest.raises(tupi.InputError, match=r"labels\.raters: found shape \(1,\) for 2 labels"):
        as_labels(Values([0, 1], [1.0, 2.0], raters=["ann"]), 10)
    with pytest.raises(tupi.InputError, match=r"labels\.weights: found -1; accepted: finite numbers above 0"):
        as_labels(Values([0, 1], [1.0, 2.0], weights=[1, -1]), 10)


def test_what_is_masked_in_one_of_several_lists_is_unknown():
    """A mask once vanished when lists were put together, and what it hid counted as a label."""
    hidden = np.ma.masked_array([1.0, 2.0, 99.0], [False, False, True])
    found = as_labels([Values([0, 1, 2], hidden, raters=["a", "b", "c"]), Values([3], [4.0])], 10)
    assert (found.index.tolist(), found.values.tolist()) == ([0, 1, 3], [1.0, 2.0, 4.0])


def test_several_lists_may_name_items_by_their_ids():
    index = pd.Index(["a", "b", "c", "7"])
    found = as_labels([Values(["b", "c"], [1.0, 2.0]), Values(np.array(["7"]), [3.0])], 4, index)
    assert (found.index.tolist(), found.values.tolist()) == ([1, 2, 3], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("one", "sentence"),
    [
        (Values([0, 1], [1.0]), r"labels.values: found 1 for 2 item\(s\); accepted: one for each"),
        (Values([0, 1], [1.0, 2.0], weights=3), r"labels.weights: found an array of shape \(\)"),
        (Values([0, 1], [1.0, 2.0], weights=[3]), r"labels.weights: found 1 for 2 item\(s\)"),
        (Values([0, 1], [1.0, 2.0], raters=["a"]), r"labels.raters: found 1 for 2 item\(s\)"),
        (Values([[0], [1, 2]], [1.0, 2.0]), "labels.index: found rows of different lengths"),
        (Values(np.ma.masked_array([0, 1], [0, 1]), [1.0, 2.0]), "labels.index: found masked positions"),
    ],
)
def test_lists_that_do_not_fit_are_refused_one_by_one(one, sentence):
    """One entry too many in one list does not make up for one too few in another."""
    more = {"weights": [1, 1]} if one.weights is not None else {"raters": ["b", "c"]}
    too_many = Values([2], [3.0] if len(one.values) == 2 else [3.0, 4.0], **more)
    with pytest.raises(tupi.InputError, match=sentence):
        as_labels([one, too_many], 10)


def test_ragged_raters_and_positions_are_refused():
    with pytest.raises(tupi.InputError, match=r"labels.raters: found rows of different lengths"):
        as_labels(Values([0, 1], [1.0, 2.0], raters=[["a"], ["b", "c"]]), 10)
    with pytest.raises(tupi.InputError, match=r"labels.raters: found shape \(\) for 2 labels"):
        as_labels(Values([0, 1], [1.0, 2.0], raters=np.array("a")), 10)
    with pytest.raises(tupi.InputError, match=r"labels.index: found rows of different lengths"):
        as_labels(Values([[0], [1, 2]], [1.0, 2.0]), 10)


def test_later_opinions_follow_earlier_ones():
    first = as_labels(Values([0, 1, 0], [1.0, 2.0, 3.0], raters=["a", "a", "b"]), 10)
    both = as_labels(Values([2, 3], [1.0, 5.0], raters=["b", "b"]), 10, before=first)
    assert both.opinions.items.tolist() == [0, 1, 0, 2, 3]
    assert both.opinions.raters.tolist() == ["a", "a", "b", "b", "b"]
    assert both.errors.keys() == {"a", "b"}
    unnamed = as_labels(Values([4, 5], [7.0, 8.0]), 10, before=first)
    assert unnamed.opinions.items.tolist() == [0, 1, 0]  # nobody said who gave the later ones
    later = as_labels(
        Values([4, 5], [7.0, 8.0], raters=["c", "c"]), 10, before=as_labels(Values([0, 1], [1.0, 2.0]), 10)
    )
    assert later.opinions.items.tolist() == [4, 5]


def test_classes_that_nobody_else_spoke_of_stay_as_they_are():
    found = weighed_classes(np.array([3, 1]), np.array([0, 2]), np.ones(2), np.array([0, 1]))
    assert (found.index.tolist(), found.values.tolist()) == ([1, 3], [2, 0])
    assert np.isnan(found.errors).all()
    np.testing.assert_allclose(found.weights, 1.0)


def test_labels_that_count_once_each_have_no_weights():
    for weighted in (Values([0, 1], [3.0, 4.0], weights=[1, 1]), Pairs([0], [1], weights=[1.0])):
        assert as_labels(weighted, 3).weights is None


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_what_hardly_counts_hardly_matters(task):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=200)
    scores, view = truth + rng.normal(size=200), truth[:, None] + 0.5 * rng.normal(size=(200, 2))
    alone = tupi.denoise(scores, view, Values(range(30), truth[:30]), task=task)
    weights = np.where(np.arange(40) < 30, 2.0, 1e-9)
    beside = [
        tupi.denoise(scores, view, Values(range(40), np.r_[truth[:30], said], weights=weights), task=task)
        for said in (truth[30:40], np.full(10, 100.0), np.full(10, -1e4))
    ]
    usual = np.abs(beside[0].predictions - alone.predictions).max()
    for one in beside[1:]:
        assert np.abs(one.predictions - alone.predictions).max() < usual + 0.02
        assert np.corrcoef(one.predictions, truth)[0, 1] > 0.85


def test_values_of_which_no_mean_can_be_weighed_get_a_sentence(recwarn):
    with pytest.raises(tupi.runtime.errors.InputError, match=r"labels: the largest magnitude is 1.7e\+308; accepted"):
        as_labels(Values([0, 0, 1], [1.0, 1.7e308, 2.0]), 3)
    assert not recwarn
