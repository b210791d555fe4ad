"""Groups: what is relative to them, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import tupi
from tupi.inputs.groups import Groups, as_groups, pairs_within, relative_labels
from tupi.inputs.labels import Pairs, Values
from tupi.inputs.problem import make_problem
from tupi.inputs.sources import Source

NAMES = np.array(["a", "b", "a", "c", "b", "a"])


def grouped(names=NAMES):
    return as_groups(names, len(names), None)


def test_rows_are_relative_to_the_mean_of_what_is_known_of_their_group():
    rng = np.random.default_rng(0)
    groups, rows = rng.integers(0, 40, 500), rng.normal(size=(500, 3)) + 1e6
    rows[rng.random(rows.shape) < 0.1] = np.nan
    found = as_groups(groups, 500, None).relative(rows)
    for group in np.unique(groups):
        own = groups == group
        np.testing.assert_allclose(found[own], rows[own] - np.nanmean(rows[own], axis=0), atol=1e-8)


def test_what_a_group_shares_is_zero_to_the_last_bit():
    assert not grouped().relative(np.array([0.1, 0.3, 0.1, 0.7, 0.3, 0.1])).any()


def test_views_in_files_are_relative_when_they_are_read(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows, groups = rng.normal(size=(300, 4)), np.arange(300) // 7
    np.save(tmp_path / "view.npy", rows)
    monkeypatch.setattr("tupi.inputs.features.IN_MEMORY", 0)
    views = [
        make_problem(rows[:, 0], {"view": one}, groups=groups).views[0] for one in (rows, str(tmp_path / "view.npy"))
    ]
    assert isinstance(views[1].source, Source)
    some = np.array([250, 3, 77])
    np.testing.assert_allclose(views[0].rows(some), views[1].rows(some), atol=1e-12)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (list("aabb"), r"shape \(4,\) for 6 items"),
        (["a", None, "a", "b", "b", "b"], r"1 item\(s\) have none \(first: 1\)"),
        (range(6), "each item is a group of its own"),
    ],
)
def test_bad_groups_get_a_sentence(groups, words):
    with pytest.raises(tupi.InputError, match=f"groups: .*{words}.*; accepted"):
        as_groups(groups, 6, None)


def test_a_series_of_groups_is_matched_by_id():
    index = pd.Index(list("uvwxyz"))
    found = as_groups(pd.Series(NAMES, index=index)[::-1], 6, index)
    assert found.ids.tolist() == NAMES.tolist()
    assert found.numbers.tolist() == [0, 1, 0, 2, 1, 0]


def test_pairs_of_two_groups_are_refused():
    with pytest.raises(
        tupi.InputError, match=r"1 pair\(s\) .*items 1 and 3, in groups b and c.*accepted: pairs within"
    ):
        grouped().of(Pairs(np.array([0, 1]), np.array([2, 3])))


def test_labels_that_are_alone_in_their_group_are_counted_and_rank_nothing():
    labels = Values(np.array([0, 2, 3, 4]), np.array([1.0, 4.0, 9.0, 2.0]))
    with pytest.warns(UserWarning, match="2 of 4 labels are the only one of their group"):
        found = grouped().of(labels)
    used = relative_labels(found, grouped())
    assert used.index.tolist() == [0, 2]
    assert used.values.tolist() == [-1.5, 1.5]
    with pytest.raises(tupi.InputError, match="no two labelled items of one group differ"):
        grouped().of(Values(np.array([0, 1]), np.array([1.0, 2.0])))


def test_values_imply_comparisons_within_their_group_only():
    labels = Values(np.arange(6), np.array([3.0, 1.0, 2.0, 9.0, 1.0, 2.0]), groups=grouped().numbers)
    found = pairs_within(labels)
    assert sorted(zip(found.higher.tolist(), found.lower.tolist(), strict=True)) == [(0, 2), (0, 5)]


def test_only_rankings_have_groups():
    with pytest.raises(tupi.InputError, match="groups: found with task 'regression'; accepted: with task 'ranking'"):
        make_problem(np.arange(6.0), np.arange(6.0), task="regression", groups=NAMES)


def test_a_view_that_only_tells_groups_apart_is_dropped():
    rng = np.random.default_rng(0)
    groups = np.arange(60) // 6
    with pytest.warns(UserWarning, match="'query' is constant"):
        problem = make_problem(rng.normal(size=60), {"query": 0.1 * groups, "own": rng.normal(size=60)}, groups=groups)
    assert problem.names == ["own"]
    assert isinstance(problem.groups, Groups)
