"""Folds over labels, and what is chosen by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tupi.inputs.labels import Pairs, Values, entries, labelled_items
from tupi.inputs.problem import Problem
from tupi.judging.evidence import MIN_LABELS
from tupi.judging.folds import judge, judge_settings, label_folds


def random_pairs(n_items, n_pairs, seed):
    rng = np.random.default_rng(seed)
    higher = rng.integers(0, n_items - 1, n_pairs)
    return Pairs(higher + 1 + rng.integers(0, n_items - 1 - higher), higher)


@given(size=st.integers(4, 40), n_folds=st.integers(2, 8), seed=st.integers(0, 99))
def test_each_value_judges_once_and_is_never_fitted_in_its_fold(size, n_folds, seed):
    rng = np.random.default_rng(seed)
    labels = Values(rng.permutation(100)[:size], np.arange(size, dtype=float))
    folds = list(label_folds(labels, n_folds, seed))
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.held for fold in folds])), np.arange(size))
    for fold in folds:
        held = entries(labels, fold.held)
        assert not np.isin(held.index, fold.train.index).any()
        assert len(held.index) + len(fold.train.index) == size
        known = dict(zip(labels.index, labels.values, strict=True))
        assert all(known[i] == v for i, v in zip(fold.train.index, fold.train.values, strict=True))


@given(n_items=st.integers(4, 30), n_pairs=st.integers(2, 60), seed=st.integers(0, 99))
def test_no_item_is_on_both_sides_of_a_fold_of_pairs(n_items, n_pairs, seed):
    labels = random_pairs(n_items, n_pairs, seed)
    for fold in label_folds(labels, random_state=seed):
        held = entries(labels, fold.held)
        assert not np.intersect1d(labelled_items(held), labelled_items(fold.train)).size


def test_pairs_that_share_no_item_all_judge():
    labels = Pairs(np.arange(40), np.arange(40, 80))
    held = np.concatenate([fold.held for fold in label_folds(labels)])
    assert len(np.unique(held)) >= 36  # a fold's border may cut a pair in two


def test_close_values_are_held_out_together_too():
    labels = Values(np.arange(20), np.arange(20.0))
    together = {tuple(sorted(fold.held[:2])) for seed in range(30) for fold in label_folds(labels, 5, seed)}
    assert (0, 1) in together


def test_same_seed_same_folds():
    labels = Values(np.arange(20), np.arange(20.0))
    first, again, other = (
        np.concatenate([fold.held for fold in label_folds(labels, random_state=seed)]) for seed in (0, 0, (0, 1))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_folds_that_leave_nothing_to_fit_with_are_skipped():
    labels = Values(np.arange(5), np.array([0.0, 1, 1, 1, 1]))  # without item 0, all values are equal
    assert len(list(label_folds(labels))) == 4
    assert not list(label_folds(Pairs(np.array([0]), np.array([1]))))
    assert not list(label_folds(Pairs(np.array([0]), np.array([1])), 1))  # the only pair judges, and none fits
    assert not list(label_folds(Pairs(np.array([0, 0]), np.array([1, 2])), 3))  # one pair fits, and none judges


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_the_better_setting_wins(task):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40)
    labels = Values(np.arange(40), truth)
    guesses = [truth + scale * rng.normal(size=40) for scale in (1.0, 0.1, 2.0)]
    judged = judge_settings(lambda train: guesses, labels, task)
    assert judged.best == 1
    for kept, guess in zip(judged.held_out, guesses, strict=True):
        np.testing.assert_array_equal(kept, guess)


def test_scores_are_those_of_all_held_out_labels_together():
    rng = np.random.default_rng(1)
    truth, guess = rng.normal(size=23), rng.normal(size=23)
    labels = Values(np.arange(23), truth)
    judged = judge_settings(lambda train: [guess], labels, "regression")
    assert judged.scores[0] == pytest.approx(1 - np.mean((guess - truth) ** 2) / np.var(truth))
    right = pairs = 0
    for fold in label_folds(labels):
        for i in fold.held:
            for j in fold.held:
                if truth[i] > truth[j]:
                    right, pairs = right + (guess[i] > guess[j]), pairs + 1
    assert judge_settings(lambda train: [guess], labels, "ranking").scores[0] == pytest.approx(right / pairs)


def test_classes_and_pairs():
    truth = np.arange(30) % 3
    labels = Values(np.arange(30), truth)
    right, wrong = np.eye(3)[truth], np.eye(3)[(truth + 1) % 3]
    assert list(judge_settings(lambda train: [wrong, right], labels, "classification").scores) == [0, 1]
    pairs = Pairs(np.arange(15, 30), np.arange(15))
    up, flat = np.arange(30.0), np.zeros(30)
    assert list(judge_settings(lambda train: [flat, up], pairs, "ranking").scores) == [0.5, 1]


def test_what_fits_is_never_what_judges():
    """A setting that knows all labels it was given, and nothing else, ranks no better than chance."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=30)
    labels = Values(np.arange(30), truth)

    def memory(train):
        scores = np.zeros(30)
        scores[train.index] = train.values
        return [scores]

    assert judge_settings(memory, labels, "ranking").scores[0] == 0.5


def test_the_first_of_equal_settings_wins_and_of_settings_that_nobody_can_judge():
    labels = Values(np.arange(10), np.arange(10.0))
    same = np.arange(10.0)
    assert judge_settings(lambda train: [same, same], labels, "ranking").best == 0
    three = Values(np.arange(3), np.arange(3.0))  # each fold holds out one: no pair
    judged = judge_settings(lambda train: [np.zeros(3), np.ones(3)], three, "ranking")
    assert np.isnan(judged.scores).all()
    assert judged.best == 0
    assert judge_settings(lambda train: [same], Pairs(np.array([1]), np.array([0])), "ranking").best == 0


def test_there_are_five_folds_dealt_by_the_seed_zero():
    labels = Values(np.arange(20), np.arange(20.0))
    expected = [fold.held.tolist() for fold in label_folds(labels, 5, 0)]
    assert [len(held) for held in expected] == [4] * 5
    assert [fold.held.tolist() for fold in label_folds(labels)] == expected
    shown = []

    def predict(train):
        shown.append(np.setdiff1d(labels.index, train.index).tolist())
        return [np.zeros(20)]

    judge_settings(predict, labels, "ranking")
    assert shown == expected


def test_pairs_with_both_ends_in_a_fold_judge_and_those_with_none_there_fit():
    labels = Pairs(np.array([0, 2, 4, 0]), np.array([1, 3, 5, 2]))
    for fold in label_folds(labels, 3, 0):
        held = set(labelled_items(entries(labels, fold.held)).tolist())
        assert held
        ends = [{int(i), int(j)} for i, j in zip(labels.higher, labels.lower, strict=True)]
        assert len(fold.train.higher) <= sum(not pair & held for pair in ends)
        assert all(ends[k] <= held for k in fold.held)
    two = Pairs(np.array([0, 2]), np.array([1, 3]))  # each of two folds holds one pair, and fits with the other
    found = [(fold.held.tolist(), fold.train.higher.tolist()) for fold in label_folds(two, 2, 0)]
    assert sorted(found) == [([0], [2]), ([1], [0])]


def test_fewer_groups_than_folds_are_not_left_out_whole():
    labels = Values(np.arange(9), np.arange(9.0), groups=np.repeat([0, 1, 2], 3))
    whole = [np.unique(labels.groups[fold.held]).tolist() for fold in label_folds(labels, 3, 0)]
    assert sorted(whole) == [[0], [1], [2]]
    assert sum(len(fold.held) for fold in label_folds(labels, 4, 0)) == 9
    assert len(list(label_folds(labels, 4, 0))) == 4


def test_scores_of_few_pairs_and_settings_that_get_lost():
    """Two folds hold two values each: two pairs, of which a guess has one right."""
    labels = Values(np.arange(4), np.arange(4.0))
    held = [fold.held for fold in label_folds(labels, 2, 0)]
    guess = np.arange(4.0)
    guess[held[0]] = guess[held[0]][::-1]
    judged = judge_settings(lambda train: [guess, -guess, np.zeros(4)], labels, "ranking", 2)
    np.testing.assert_array_equal(judged.scores, [0.5, 0.5, 0.5])
    best = judge_settings(lambda train: [guess, np.arange(4.0)], labels, "ranking", 2)
    assert (best.scores.tolist(), best.best) == ([0.5, 1.0], 1)
    three = Values(np.arange(3), np.arange(3.0))  # only the fold that holds one of them leaves enough to fit with
    assert judge_settings(lambda train: [np.arange(3.0)], three, "regression", 2).scores.tolist() == [1.0]
    answers = iter([[guess, guess], [guess]])
    with pytest.raises(ValueError, match="shorter"):
        judge_settings(lambda train: next(answers), labels, "ranking", 2)


@pytest.mark.parametrize("options", [{}, {"random_state": 3}])
@pytest.mark.parametrize("few", [False, True])
def test_a_judge_fits_to_each_fold_of_four_rounds_and_to_nothing_where_labels_are_too_few(few, options):
    labels = Values(np.arange(MIN_LABELS - few), np.arange(MIN_LABELS - few) % 3)
    seed, fitted = options.get("random_state", 0), []

    def predict(train):
        fitted.append(train.index.tolist())
        return np.arange(20.0)

    found = judge(predict, Problem(np.zeros(20), ()), labels, True, **options)
    folds = [fold for repeat in range(4) for fold in label_folds(labels, random_state=(seed, repeat))]
    assert fitted == ([] if few else [fold.train.index.tolist() for fold in folds])
    assert ("too few" in found.sentence) == few
