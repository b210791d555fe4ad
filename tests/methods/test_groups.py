"""Rankings within groups, by every method."""

import numpy as np
import pytest

import tupi
from tests.methods.battery import settings
from tupi.embedding.prepared import Prepared
from tupi.inputs.groups import as_groups, explained_shares, members
from tupi.inputs.problem import make_problem
from tupi.judging.folds import judge, label_folds
from tupi.judging.metrics import metric_of
from tupi.methods import METHODS

N, SIZE = 120, 8


def queries(seed=0, n=N, size=SIZE):
    """Return the query of each item, its truth within it, scores and views; a query shares what says nothing."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(n) // size)
    truth = rng.normal(size=n)
    scores = truth + rng.normal(size=n) + 5 * rng.normal(size=n)[groups]
    views = {
        "near": truth[:, None] + 0.4 * rng.normal(size=(n, 2)) + 3 * rng.normal(size=(n, 2))[groups],
        "junk": rng.normal(size=(n, 3)),
    }
    return groups, truth, scores, views


def solved(name, groups, scores, views, labels):
    return tupi.denoise(scores, views, labels, method=settings(name), groups=groups)


def known(groups, truth, some=6):
    rows = np.flatnonzero(groups < some)
    return tupi.Values(rows, truth[rows])


@pytest.mark.parametrize("name", [name for name in METHODS if name != "trees"])  # random splits see the last bit
def test_what_a_group_shares_changes_no_ranking(name):
    groups, truth, scores, views = queries()
    labels = known(groups, truth)
    shift = np.random.default_rng(1).normal(size=N)[groups]
    if name == "kim":  # takes views of one column
        views = {name: view[:, :1] for name, view in views.items()}
    moved = {"near": views["near"] - 2 * shift[:, None], "junk": views["junk"] + shift[:, None]}
    again = tupi.Values(labels.index, labels.values + shift[labels.index])
    before, after = (
        settings(name).fit(prepared, prepared.problem.labels).predictions(prepared)
        for prepared in (
            Prepared(make_problem(scores, views, labels, groups=groups)),
            Prepared(make_problem(scores + shift, moved, again, groups=groups)),
        )
    )
    np.testing.assert_allclose(after - shift, before, atol=1e-4 * scores.std())


@pytest.mark.parametrize("name", ["auto", "ridge", "tupi"])
def test_queries_without_labels_gain_too(name):
    groups, truth, scores, views = queries(n=400)
    result = solved(name, groups, scores, views, known(groups, truth, 15))
    rest = groups >= 15
    before, after = (
        tupi.pairwise_accuracy(one[rest], truth[rest], groups=groups[rest]) for one in (scores, result.predictions)
    )
    assert after > before + 0.05
    assert "pairwise accuracy within groups went from" in result.evidence.sentence
    assert result.evidence.low < after - before < result.evidence.high


def test_without_labels_rankings_within_queries_gain():
    groups, truth, scores, _ = queries(n=400)
    rng = np.random.default_rng(5)
    weak = {name: truth[:, None] + rng.normal(size=(400, 4)) + groups[:, None] for name in "abc"}
    result = tupi.denoise(scores, weak, groups=groups)
    accuracies = [tupi.pairwise_accuracy(one, truth, groups=groups) for one in (scores, result.predictions)]
    assert accuracies[1] > accuracies[0] + 0.02


def test_levels_that_mean_something_are_kept():
    """Scores and views on one scale: what differs between queries teaches, too."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 6)
    truth = rng.normal(size=360) + 2 * rng.normal(size=60)[groups]
    scores, view = truth + rng.normal(size=360), truth + 0.3 * rng.normal(size=360)
    problem = make_problem(scores, {"view": view}, groups=groups)
    assert problem.groups.levels
    np.testing.assert_array_equal(problem.columns[:, 0], scores)
    shift = 5 * rng.normal(size=60)[groups]
    assert not make_problem(scores + shift, {"view": view}, groups=groups).groups.levels
    assert not make_problem(scores, {"view": view + shift}, groups=groups).groups.levels
    labels = tupi.Values(np.arange(120), truth[:120])
    assert make_problem(scores, {"view": view}, labels, groups=groups).groups.levels
    moved = tupi.Values(np.arange(120), truth[:120] + shift[:120])
    assert not make_problem(scores, {"view": view}, moved, groups=groups).groups.levels
    for given in (labels, moved):
        result = tupi.denoise(scores, {"view": view}, given, groups=groups)
        before, after = (tupi.pairwise_accuracy(one, truth, groups=groups) for one in (scores, result.predictions))
        assert after > before + 0.04


def test_the_order_of_items_changes_nothing_about_levels():
    groups, _, scores, views = queries(n=400)
    near = {"near": views["near"]}
    order = np.random.default_rng(0).permutation(400)
    found = [
        explained_shares(f, make_problem(f, {"near": H}).views, as_groups(g, 400, None).numbers)
        for f, H, g in ((scores, near["near"], groups), (scores[order], near["near"][order], groups[order]))
    ]
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_one_group_of_all_is_no_group():
    groups, truth, scores, views = queries()
    labels = known(groups, truth)
    for given in (labels, tupi.Pairs(labels.index[:-1], labels.index[1:])):
        one, none = (tupi.denoise(scores, views, given, groups=each).predictions for each in (np.zeros(N), None))
        np.testing.assert_allclose(one, none, atol=1e-3 * scores.std())


def test_comparisons_and_suggestions_are_within_groups():
    groups, truth, scores, views = queries()
    rng = np.random.default_rng(2)
    first, second = np.array([rng.choice(np.flatnonzero(groups == g), 2, False) for g in range(12) for _ in range(3)]).T
    above = truth[first] > truth[second]
    pairs = tupi.Pairs(np.where(above, first, second), np.where(above, second, first))
    result = tupi.denoise(scores, views, pairs, groups=groups)
    asked = result.suggest(20)
    assert len(asked) == 20
    assert (groups[asked[:, 0]] == groups[asked[:, 1]]).all()
    accuracies = [tupi.pairwise_accuracy(one, truth, groups=groups) for one in (scores, result.predictions)]
    assert accuracies[1] > accuracies[0] + 0.05


def test_pairs_across_groups_never_count():
    groups, truth, scores, _ = queries()
    right = [
        (scores[i] > scores[j]) == (truth[i] > truth[j]) for i in range(N) for j in range(i) if groups[i] == groups[j]
    ]
    assert tupi.pairwise_accuracy(scores, truth, groups=groups) == pytest.approx(np.mean(right))


def test_folds_hold_out_whole_groups():
    groups, truth, scores, views = queries()
    problem = make_problem(scores, views, known(groups, truth), groups=groups)
    folds = list(label_folds(problem.labels))
    assert len(folds) == 5
    for fold in folds:
        assert not set(fold.train.groups) & set(problem.labels.groups[fold.held])
    assert sorted(np.concatenate([fold.held for fold in folds])) == list(range(len(problem.labels.values)))


def test_the_judges_interval_is_wider_where_groups_differ():
    groups, truth, scores, views = queries()
    labels = make_problem(scores, views, known(groups, truth, 15), groups=groups).labels
    metric = metric_of("ranking", labels)
    gains = np.where(labels.groups % 2, 0.3, -0.3)  # all items of a group agree
    assert metric.error(gains, labels) > metric.error(np.random.default_rng(0).permutation(gains), labels)


def test_methods_are_judged_within_groups():
    groups, truth, scores, views = queries()
    problem = make_problem(scores, views, known(groups, truth, 15), groups=groups)
    shift = 100.0 * problem.groups.numbers  # would rank all pairs of two groups by their number
    evidence = judge(lambda labels: truth + shift, problem, problem.labels, True)
    assert evidence.after == 1.0


def test_results_keep_groups(tmp_path):
    groups, truth, scores, views = queries()
    names = np.array([f"q{k}" for k in groups])
    result = tupi.denoise(scores, views, known(groups, truth), groups=names)
    table = result.to_frame()
    assert table["group"].tolist() == names.tolist()
    assert table["rank_after"].max() == SIZE
    assert (table.groupby("group")["rank_before"].min() == 1).all()
    loaded = tupi.load(result.save(tmp_path / "result.npz"))
    assert loaded.groups.tolist() == names.tolist()
    assert tupi.denoise(scores, views).groups is None
    with pytest.raises(tupi.InputError, match="interval"):
        result.interval()


def test_dask_refuses_groups():
    pytest.importorskip("dask")
    groups, _, scores, views = queries()
    with pytest.raises(tupi.InputError, match="groups: found with Dask; accepted: without"):
        tupi.denoise(scores, views, method="tupi", engine="dask", groups=groups)


def test_compare_is_within_groups():
    groups, truth, scores, views = queries()
    found = tupi.compare(scores, views, known(groups, truth, 15), ["ridge"], n_repeats=1, groups=groups)
    assert found.table["before"][0] == pytest.approx(tupi.pairwise_accuracy(scores, truth, groups=groups), abs=0.02)


def test_prepared_predictions_are_relative():
    groups, _, scores, views = queries()
    prepared = Prepared(make_problem(scores, views, groups=groups))
    assert np.abs(np.bincount(groups, prepared.f[:, 0])).max() < 1e-9


@pytest.fixture(scope="module")
def later():
    """A result on the first 40 queries of 60, and everything of all of them."""
    groups, truth, scores, views = queries(3, 480)
    first = groups < 40
    labels = tupi.Values(np.arange(first.sum())[:160], truth[first][:160])
    result = tupi.denoise(scores[first], {k: v[first] for k, v in views.items()}, labels, groups=groups[first])
    return result, first, groups, truth, scores, views


def test_new_queries_are_predicted_relative_to_their_own_mean(later, tmp_path):
    result, first, groups, truth, scores, views = later
    new = {name: view[~first] for name, view in views.items()}
    better = result.predict(scores[~first], new, groups=groups[~first])
    before, after = (tupi.pairwise_accuracy(one, truth[~first], groups[~first]) for one in (scores[~first], better))
    assert after > before + 0.05
    shift = np.random.default_rng(0).normal(size=60)[groups[~first]]
    moved = {name: view + shift[:, None] for name, view in new.items()}
    again = result.predict(scores[~first] + shift, moved, groups=groups[~first])
    np.testing.assert_allclose(again, better + shift, atol=1e-6)
    loaded = tupi.load(result.save(tmp_path / "result.npz"))
    np.testing.assert_allclose(loaded.predict(scores[~first], new, groups=groups[~first]), better, atol=1e-5)
    sure, again = (one.predict(scores[~first], new, True, groups[~first]) for one in (result, loaded))
    np.testing.assert_allclose(again.uncertainty, sure.uncertainty, rtol=1e-3)


def test_items_of_the_fit_nearly_get_what_they_got_with_groups(later):
    result, first, groups, _, scores, views = later
    own = {name: view[first] for name, view in views.items()}
    again = result.predict(scores[first], own, groups=groups[first])
    within = [np.corrcoef(again[some], result.predictions[some])[0, 1] for some in members(groups[first])]
    assert np.median(within) > 0.98


def test_what_comes_later_needs_groups_only_where_items_are_relative_to_them(later):
    result, first, groups, _, scores, views = later
    new = {name: view[~first] for name, view in views.items()}
    with pytest.raises(tupi.InputError, match="groups: found None, and earlier items counted relative to the mean"):
        result.predict(scores[~first], new)
    with pytest.raises(tupi.InputError, match="drift: found a result whose items count relative"):
        result.drift(scores[~first], new)
    with pytest.raises(tupi.InputError, match="update: found more items for a result with groups"):
        result.update(predictions=scores[~first], features=new)
    plain = tupi.denoise(scores, views)
    with pytest.raises(tupi.InputError, match="groups: found for items that come later, and earlier ones had none"):
        plain.predict(scores[~first], new, groups=groups[~first])


def test_the_papers_method_predicts_within_groups_too():
    groups, _, scores, views = queries(4)
    result = tupi.denoise(scores, views, method="tupi", n_iter=2, groups=groups)
    moved = scores + np.arange(N)[groups]
    both = [result.predict(one, views, groups=groups) for one in (scores, moved)]
    np.testing.assert_allclose(both[1] - both[0], moved - scores, atol=1e-6)


def test_more_labels_know_their_groups():
    groups, truth, scores, views = queries()
    rows = np.flatnonzero(groups < 6)
    half = len(rows) // 2
    first = tupi.denoise(scores, views, tupi.Values(rows[:half], truth[rows[:half]]), groups=groups)
    found = first.update(tupi.Values(rows[half:], truth[rows[half:]]))
    whole = tupi.denoise(scores, views, tupi.Values(rows, truth[rows]), groups=groups)
    assert "within groups" in found.evidence.sentence
    np.testing.assert_allclose(found.predictions, whole.predictions, atol=1e-9)


def test_weights_of_comparisons_stay_when_more_come():
    _, _, scores, views = queries()
    higher, lower, weights = np.arange(0, 40), np.arange(40, 80), 1.0 + np.arange(40) % 3
    first = tupi.denoise(scores, views, tupi.Pairs(higher[:20], lower[:20], weights=weights[:20]))
    found = first.update(tupi.Pairs(higher[20:], lower[20:], weights=weights[20:]))
    whole = tupi.denoise(scores, views, tupi.Pairs(higher, lower, weights=weights))
    np.testing.assert_allclose(found.predictions, whole.predictions, atol=1e-9)
    mixed = first.update(tupi.Pairs(higher[20:], lower[20:]))
    plain = tupi.denoise(scores, views, tupi.Pairs(higher, lower, weights=np.where(np.arange(40) < 20, weights, 1)))
    np.testing.assert_allclose(mixed.predictions, plain.predictions, atol=1e-9)
