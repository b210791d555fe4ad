from __future__ import annotations

from collections import Counter

import numpy as np

from tupi.page.pairs import SOFTNESS, AllPairs, candidate_weights, information, next_pair, random_pair


def test_information_is_the_mutual_information_of_answer_and_candidate() -> None:
    rng = np.random.default_rng(0)
    candidates, weights = rng.normal(size=(4, 6)), np.array([0.1, 0.2, 0.3, 0.4])
    found = information(candidates, weights, np.array([0, 2]), np.array([1, 5]))
    for value, (i, j) in zip(found, [(0, 1), (2, 5)], strict=True):
        chances = [1 / (1 + np.exp(-(c[i] - c[j]) / SOFTNESS)) for c in candidates]
        joint = sum(
            w
            * (p * np.log2(p / np.dot(weights, chances)) + (1 - p) * np.log2((1 - p) / (1 - np.dot(weights, chances))))
            for w, p in zip(weights, chances, strict=True)
        )
        np.testing.assert_allclose(value, joint, rtol=1e-9)


def test_agreement_and_closeness_tell_nothing_and_sure_disagreement_the_most() -> None:
    candidates = np.array([[0.0, 3.0, 0.1, 3.0], [0.0, 3.0, -0.1, -3.0]])
    agreed, close, opposed = information(candidates, np.array([0.5, 0.5]), np.zeros(3, int), np.array([1, 2, 3]))
    assert agreed < 1e-9
    assert close < 0.02
    assert opposed > 0.9


def test_the_pair_that_tells_candidates_apart_is_chosen() -> None:
    candidates = np.array([[0.0, 3.0, 6.0], [0.0, 6.0, 3.0]])
    chosen = [next_pair(candidates, np.array([0.5, 0.5]), set(), np.random.default_rng(seed)) for seed in range(20)]
    assert (
        sum({1, 2} == set(pair or ()) for pair in chosen) >= 14
    )  # the pools of the others lack it; by chance it would be 7


def test_taken_pairs_are_never_asked_and_all_pairs_are_asked_in_the_end() -> None:
    rng = np.random.default_rng(0)
    candidates, weights = rng.normal(size=(3, 7)), np.full(3, 1 / 3)
    taken: set[tuple[int, int]] = set()
    while (pair := next_pair(candidates, weights, taken, rng)) is not None:
        key = (min(pair), max(pair))
        assert key not in taken
        assert key[0] != key[1]
        taken.add(key)
    assert len(taken) == 21


def test_random_pairs_are_drawn_evenly_from_those_that_are_left() -> None:
    rng = np.random.default_rng(0)
    taken = {(0, 1), (2, 4)}
    drawn = [random_pair(AllPairs(5), taken, rng) for _ in range(1600)]
    ordered = Counter((min(pair), max(pair)) for pair in drawn if pair is not None)
    assert len(ordered) == 8
    assert not taken & set(ordered)
    assert all(150 < count < 250 for count in ordered.values())
    assert 700 < sum(i > j for i, j in (pair for pair in drawn if pair is not None)) < 900
    nearly_all = {(i, j) for i in range(60) for j in range(i + 1, 60)} - {(3, 7), (8, 9)}
    assert {tuple(sorted(random_pair(AllPairs(60), nearly_all, rng) or ())) for _ in range(30)} == {(3, 7), (8, 9)}
    assert random_pair(AllPairs(60), nearly_all | {(3, 7), (8, 9)}, rng) is None


def test_left_and_right_are_not_given_away_by_the_order() -> None:
    candidates = np.array([np.arange(50.0), -np.arange(50.0)])
    pairs = [next_pair(candidates, np.array([0.5, 0.5]), set(), np.random.default_rng(seed)) for seed in range(200)]
    assert 70 < sum(i > j for i, j in pairs) < 130


def test_candidates_that_agree_with_labels_gain_weight_but_never_all_of_it() -> None:
    few = candidate_weights(np.array([0.9, 0.6]), 5)
    many = candidate_weights(np.array([0.9, 0.6]), 30)
    endless = candidate_weights(np.array([0.9, 0.6]), 10**6)
    assert 0.5 < few[0] < many[0] < endless[0] < 1
    np.testing.assert_allclose(candidate_weights(np.array([0.7, 0.7]), 20), 0.5)
